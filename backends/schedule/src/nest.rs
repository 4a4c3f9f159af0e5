//! What a nest says: the level across lanes, how axes were split and of which level they are, and the forms of statements.

use std::collections::BTreeSet;

use crate::{
    form::Form,
    schedule::{Axis, By, Loop, Nest, Node, Remainder, Split, SplitBy},
};

/// The level across lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gang {
    /// Which level.
    pub level: usize,
    /// Lanes of a gang.
    pub lanes: u32,
    /// Whether a short gang at the end is masked.
    pub masked: bool,
}

impl Nest {
    /// The level across lanes, in a nest that [`crate::check`] accepts for a kernel with so many levels.
    pub fn gang(&self, levels: usize) -> Option<Gang> {
        self.gang_of(levels, &self.nodes)
    }

    /// The level across lanes among some of its nodes: where a nest chooses between others, that of the first.
    pub fn gang_of(&self, levels: usize, nodes: &[Node]) -> Option<Gang> {
        let mut nodes: Vec<&Node> = nodes.iter().rev().collect();
        while let Some(node) = nodes.pop() {
            match node {
                Node::Loop(each) => {
                    if let By::Lanes(lanes) = each.by {
                        let masked = each.remainder == Remainder::Masked;
                        return Some(Gang { level: self.level_of(levels, each.axis)?, lanes, masked });
                    }
                    nodes.extend(each.body.iter().rev());
                }
                Node::Do(_) => {}
                Node::Choose { then, otherwise, .. } => nodes.extend(otherwise.iter().rev().chain(then.iter().rev())),
            }
        }
        None
    }

    /// The levels that are across lanes somewhere, outermost of their lanes.
    pub fn gangs(&self, levels: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut nodes: Vec<&Node> = self.nodes.iter().collect();
        while let Some(node) = nodes.pop() {
            match node {
                Node::Loop(Loop { axis, by: By::Lanes(_), .. }) => found.extend(self.level_of(levels, *axis)),
                Node::Loop(each) => nodes.extend(&each.body),
                Node::Do(_) => {}
                Node::Choose { then, otherwise, .. } => nodes.extend(then.iter().chain(otherwise)),
            }
        }
        found
    }

    /// The fewest steps of the level across lanes at which they go across lanes: with fewer, a nest of single steps is chosen.
    pub fn gangs_from(&self, levels: usize) -> u32 {
        let mut nodes: Vec<&Node> = self.nodes.iter().collect();
        while let Some(node) = nodes.pop() {
            match node {
                Node::Loop(each) => nodes.extend(&each.body),
                Node::Do(_) => {}
                Node::Choose { fewer_than, then, .. } => {
                    return if self.gang_of(levels, then).is_none() { *fewer_than } else { 0 };
                }
            }
        }
        0
    }

    /// Whether threads or blocks share the outermost level.
    pub fn is_shared(&self) -> bool {
        let mut nodes: Vec<&Node> = self.nodes.iter().collect();
        while let Some(node) = nodes.pop() {
            match node {
                Node::Loop(each) if matches!(each.by, By::Threads | By::Blocks | By::GridThreads(_) | By::Warps(_)) => {
                    return true;
                }
                Node::Loop(_) | Node::Do(_) => {}
                Node::Choose { then, otherwise, .. } => nodes.extend(then.iter().chain(otherwise)),
            }
        }
        false
    }

    /// Whether all rows of a share of the outermost level, which are across lanes, are gone through again for each piece of the level inside, and nothing
    /// is copied for a piece.
    pub fn goes_over_rows_again(&self, levels: usize) -> bool {
        self.inside_of_pieces(levels).any(|steps| self.gang_of(levels, &steps.body).is_some_and(|gang| gang.level > 1))
    }

    /// Whether single lines of all steps of a share of the outermost level are gone through again for each piece of the level inside, as in a transposition.
    pub fn goes_over_lines_again(&self, levels: usize) -> bool {
        self.inside_of_pieces(levels).any(|steps| self.gang_of(levels, &steps.body).is_none_or(|gang| gang.level <= 1))
    }

    /// Loops over the steps of a share of the outermost level, inside of loops over pieces of the level inside for which nothing is copied.
    fn inside_of_pieces(&self, levels: usize) -> impl Iterator<Item = &Loop> {
        let mut found = Vec::new();
        let mut nodes: Vec<&Node> = self.nodes.iter().collect();
        while let Some(node) = nodes.pop() {
            match node {
                Node::Loop(threads) if threads.by == By::Threads => {
                    if let [Node::Loop(pieces), ..] = threads.body.as_slice()
                        && let [Node::Loop(steps), ..] = pieces.body.as_slice()
                        && self.level_of(levels, pieces.axis) == Some(1)
                        && self.level_of(levels, steps.axis) == Some(0)
                        && steps.pack.is_empty()
                    {
                        found.push(steps);
                    }
                }
                Node::Loop(_) | Node::Do(_) => {}
                Node::Choose { then, otherwise, .. } => nodes.extend(then.iter().chain(otherwise)),
            }
        }
        found.into_iter()
    }

    /// Whether threads take as many steps of the level inside of the outermost one each.
    pub fn by_elements(&self) -> bool {
        self.splits.iter().any(|split| split.by == SplitBy::Elements)
    }

    /// Splits an axis of a kernel with so many levels: the pieces, and the steps of a piece.
    pub fn split(&mut self, levels: usize, axis: Axis, by: SplitBy) -> (Axis, Axis) {
        let first = (levels + 2 * self.splits.len()) as u32;
        self.splits.push(Split { axis, more: 0, by });
        (Axis(first), Axis(first + 1))
    }

    /// Splits so many levels, the first of them `first`, numbered together: the pieces, and the steps of a piece.
    pub fn split_together(&mut self, levels: usize, first: usize, count: usize, by: SplitBy) -> (Axis, Axis) {
        let axes = self.split(levels, Axis(first as u32), by);
        if let Some(split) = self.splits.last_mut() {
            split.more = (count as u32).saturating_sub(1);
        }
        axes
    }

    /// The split that made an axis, and whether the axis is its pieces; none of levels and of axes that there are not.
    pub fn made_by(&self, levels: usize, axis: Axis) -> Option<(&Split, bool)> {
        let number = (axis.0 as usize).checked_sub(levels)?;
        Some((self.splits.get(number / 2)?, number.is_multiple_of(2)))
    }

    /// The levels of which an axis is a part: more than one where they were numbered together. None of axes that there are not.
    pub fn levels_of(&self, levels: usize, axis: Axis) -> Option<std::ops::RangeInclusive<usize>> {
        let first = self.level_of(levels, axis)?;
        let mut axis = axis;
        for _ in 0..=self.splits.len() {
            let Some((split, _)) = self.made_by(levels, axis) else { break };
            if (split.axis.0 as usize) < levels {
                return Some(first..=first + split.more as usize);
            }
            axis = split.axis;
        }
        Some(first..=first)
    }

    /// The first level of which an axis is a part; none of axes that there are not.
    pub fn level_of(&self, levels: usize, axis: Axis) -> Option<usize> {
        let mut axis = axis;
        // Splits name earlier axes, so that this ends; an edited schedule may be otherwise.
        for _ in 0..=self.splits.len() {
            if (axis.0 as usize) < levels {
                return Some(axis.0 as usize);
            }
            axis = self.made_by(levels, axis)?.0.axis;
        }
        None
    }
}

/// Forms.
impl Nest {
    /// How many times the body of a statement's loop stands in a row; none: it is a loop.
    pub fn unrolled(&self, statement: usize) -> Option<u32> {
        self.forms.iter().find_map(|form| match *form {
            Form::Unrolled { statement: own, turns } => (own as usize == statement).then_some(turns),
            _ => None,
        })
    }

    /// The scatter whose elements are put aside, with the targets of a part, and the bytes of all targets from which on that is done.
    pub fn partitioned(&self) -> Option<(usize, u32, u64)> {
        self.forms.iter().find_map(|form| match *form {
            Form::Partitioned { statement, targets, from } => Some((statement as usize, targets, from)),
            _ => None,
        })
    }

    /// The scatters of which threads have copies, with the targets that all copies have for each element at most.
    pub fn copied(&self) -> impl Iterator<Item = (usize, u32)> {
        self.forms.iter().filter_map(|form| match *form {
            Form::Copied { statement, targets } => Some((statement as usize, targets)),
            _ => None,
        })
    }

    /// The reduces that have one accumulator.
    pub fn chains(&self) -> impl Iterator<Item = usize> {
        self.forms.iter().filter_map(|form| match *form {
            Form::Chain { statement } => Some(statement as usize),
            _ => None,
        })
    }

    /// The appends that store whole vectors.
    pub fn whole(&self) -> impl Iterator<Item = usize> {
        self.forms.iter().filter_map(|form| match *form {
            Form::Whole { statement } => Some(statement as usize),
            _ => None,
        })
    }

    /// The scatters whose elements are packed and stored in runs.
    pub fn in_runs(&self) -> impl Iterator<Item = usize> {
        self.forms.iter().filter_map(|form| match *form {
            Form::Runs { statement } => Some(statement as usize),
            _ => None,
        })
    }
}
