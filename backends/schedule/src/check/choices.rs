//! Whether a nest asks for the lengths that its reduces depend on, and where they are known.

use std::collections::BTreeSet;

use fusebox_ir::{Action, Association, Statement};

use super::bits::Check;
use crate::gangs::is_counted_before;

impl<'c> Check<'c> {
    /// The thresholds of the ragged reduces along a level, among these statements.
    fn thresholds(level: usize, statements: impl Iterator<Item = &'c Statement>) -> BTreeSet<u32> {
        let asks = |statement: &Statement| match &statement.action {
            Action::Reduce { to, association: Association::Ragged { least, .. }, .. } => {
                (*to as usize == level && statement.depth as usize == level + 1).then_some(*least)
            }
            _ => None,
        };
        statements.filter_map(asks).collect()
    }

    /// Ragged reduces along the levels from `first` on ask for a choice by their threshold, before the loops of their level. Any level may be asked for
    /// right before its loops, and one whose steps are known before all others outside of all loops.
    pub(super) fn choices(&mut self, first: usize) {
        for level in 0..self.kernel.levels.len() {
            let kernel = self.of_any_length;
            let here = self.leaf.statements.iter().filter_map(|&position| kernel.statements.get(position));
            let asked = Self::thresholds(level, here);
            let may_ask = Self::thresholds(level, kernel.statements.iter());
            let made: Vec<_> = self.leaf.choices.iter().filter(|choice| choice.0 as usize == level).copied().collect();
            for &least in asked.iter().filter(|_| level >= first) {
                if !made.iter().any(|choice| choice.1 == least) {
                    self.fault(format!(
                        "level {level} has a reduce that depends on whether there are fewer than {least} steps: a choice is missing"
                    ));
                }
            }
            for (_, than, _, around) in made {
                let (loops, inner) = self.leaf.loops.split_at(around);
                let known = level > 0 && inner.iter().all(|each| self.level_of(each.axis) >= level);
                if !(may_ask.contains(&than) || known || around == 0 && is_counted_before(self.kernel, level)) {
                    self.fault(format!(
                        "whether level {level} has fewer than {than} steps is asked where it is not known"
                    ));
                }
                if loops.iter().any(|each| self.level_of(each.axis) >= level) {
                    self.fault(format!("the choice by level {level} stands inside of its loops"));
                }
            }
        }
    }
}
