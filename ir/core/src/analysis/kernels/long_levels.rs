//! What a kernel is where a level is long enough for the lanes of its ragged reduces: these are interleaved there.

use std::{cell::OnceCell, collections::BTreeSet};

use crate::{Action, Association, Kernel, Statement};

/// From how many steps on a reduce along its innermost level is interleaved, and which level that is.
fn threshold(statement: &Statement) -> Option<(usize, u32)> {
    match statement.action {
        Action::Reduce { to, association: Association::Ragged { least, .. }, .. } if statement.depth == to + 1 => {
            Some((to as usize, least))
        }
        _ => None,
    }
}

/// The kernel where a level has at least so many steps; none if no ragged reduce asks for that.
pub fn long_level(kernel: &Kernel, level: usize, least: u32) -> Option<Kernel> {
    let asks = |statement: &Statement| threshold(statement) == Some((level, least));
    kernel.statements.iter().any(asks).then(|| {
        let mut long = kernel.clone();
        for statement in long.statements.iter_mut().filter(|statement| asks(statement)) {
            if let Action::Reduce { association, .. } = &mut statement.action
                && let Association::Ragged { lanes, .. } = *association
            {
                *association = Association::Interleaved { lanes };
            }
        }
        long
    })
}

/// The kernels that a kernel is where levels are long, each made when it is asked for: a plan from outside may have any number of thresholds.
#[derive(Clone, Debug, Default)]
pub struct LongLevels(Vec<Long>);

#[derive(Clone, Debug)]
struct Long {
    level: usize,
    least: u32,
    /// With what is long beside.
    kernel: OnceCell<(Kernel, LongLevels)>,
}

impl LongLevels {
    /// Those of a kernel.
    pub fn of(kernel: &Kernel) -> Self {
        let thresholds: BTreeSet<(usize, u32)> = kernel.statements.iter().filter_map(threshold).collect();
        Self(thresholds.into_iter().map(|(level, least)| Long { level, least, kernel: OnceCell::new() }).collect())
    }

    /// Each level with ragged reduces, with each of their thresholds.
    pub fn thresholds(&self) -> impl Iterator<Item = (usize, u32)> {
        self.0.iter().map(|long| (long.level, long.least))
    }

    /// Of the kernel that these are of: what it is where this level has at least so many steps, and what is long beside; none if no ragged reduce asks
    /// for that.
    pub fn at_least(&self, kernel: &Kernel, level: usize, least: u32) -> Option<(&Kernel, &Self)> {
        let long = self.0.iter().find(|long| (long.level, long.least) == (level, least))?;
        let (kernel, beside) = long.kernel.get_or_init(|| {
            let kernel = long_level(kernel, level, least).unwrap_or_else(|| kernel.clone());
            let beside = Self::of(&kernel);
            (kernel, beside)
        });
        Some((kernel, beside))
    }
}
