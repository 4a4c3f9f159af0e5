//! What a kernel is where a level is long enough for the lanes of its ragged reduces: these are interleaved there.

use crate::{Action, Association, Kernel};

/// For each level with ragged reduces, and each of their thresholds, the kernel where the level has as many steps.
#[derive(Clone, Debug, Default)]
pub struct LongLevels(Vec<Long>);

#[derive(Clone, Debug)]
struct Long {
    level: usize,
    least: u32,
    kernel: Kernel,
    /// What is long beside.
    beside: LongLevels,
}

impl LongLevels {
    /// Those of a kernel.
    pub fn of(kernel: &Kernel) -> Self {
        let mut thresholds: Vec<(usize, u32)> = kernel
            .statements
            .iter()
            .filter_map(|statement| match statement.action {
                Action::Reduce { to, association: Association::Ragged { least, .. }, .. }
                    if statement.depth == to + 1 =>
                {
                    Some((to as usize, least))
                }
                _ => None,
            })
            .collect();
        thresholds.sort_unstable();
        thresholds.dedup();
        let long = |(level, least)| {
            let mut kernel = kernel.clone();
            for statement in &mut kernel.statements {
                let direct = statement.depth as usize == level + 1;
                if let Action::Reduce { to, association, .. } = &mut statement.action
                    && let Association::Ragged { lanes, least: own } = *association
                    && (direct, *to as usize, own) == (true, level, least)
                {
                    *association = Association::Interleaved { lanes };
                }
            }
            let beside = Self::of(&kernel);
            Long { level, least, kernel, beside }
        };
        Self(thresholds.into_iter().map(long).collect())
    }

    /// Each level with ragged reduces, with each of their thresholds.
    pub fn thresholds(&self) -> impl Iterator<Item = (usize, u32)> {
        self.0.iter().map(|long| (long.level, long.least))
    }

    /// The kernel where this level has at least so many steps, and what is long beside; none if no ragged reduce asks for that.
    pub fn at_least(&self, level: usize, least: u32) -> Option<(&Kernel, &Self)> {
        let long = self.0.iter().find(|long| (long.level, long.least) == (level, least))?;
        Some((&long.kernel, &long.beside))
    }
}
