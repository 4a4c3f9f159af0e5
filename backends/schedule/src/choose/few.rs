//! Which innermost levels have their few steps in a row.

use std::ops::RangeInclusive;

use fusebox_ir::{Action, Association, Kernel, analysis::kernels::trip_count};

use super::{
    Choice,
    builder::{Builder, Room, Trip},
};
use crate::{
    few::may_be_few,
    gangs::{inside, is_counted_before},
    schedule::{Axis, By, Effects, Loop, Nest, Node},
};

/// Steps in a row, at most: coordinates of points, channels of a picture, columns of small matrices.
const FEW: u32 = 8;

/// How many steps are usual: coordinates of points and vectors.
const USUAL: RangeInclusive<u32> = 2..=4;

/// Statements of a step, at most, where there is a nest for each usual number of steps.
const MOST_COUNTED: usize = 16;

/// Statements that stand in a row, at most, all steps together.
const MOST_STATEMENTS: usize = 256;

/// Why steps of the innermost level stand in a row, if they do.
pub(super) fn choice(nest: &Nest, kernel: &Kernel) -> Option<Choice> {
    let level = kernel.levels.len().checked_sub(1)?;
    let steps = in_a_row(&nest.nodes, Axis(level as u32))?;
    Some(Choice {
        about: format!("level {level} of at most {steps} steps"),
        chosen: "its steps in a row, with what they combine in registers".to_owned(),
        because: "each accumulator gets one element at most".to_owned(),
        instead_of: vec![
            "accumulators in scratch memory: to clear, load, store and fold them costs more than few steps".to_owned(),
        ],
    })
}

/// How many steps of an axis stand in a row, in the first place where some do.
fn in_a_row(nodes: &[Node], axis: Axis) -> Option<u32> {
    nodes.iter().find_map(|node| match node {
        Node::Loop(each) if each.axis == axis && each.by == By::Serial && each.unroll > 1 => Some(each.unroll),
        Node::Loop(each) => in_a_row(&each.body, axis),
        Node::Do(_) => None,
        Node::Choose { then, otherwise, .. } => in_a_row(then, axis).or_else(|| in_a_row(otherwise, axis)),
    })
}

impl Builder<'_> {
    /// All loops and statements: where the innermost level has few steps at each step of another, in one nest for each of the numbers of them that
    /// are usual. Steps that are counted ask for nothing.
    pub(super) fn by_count(&mut self) -> Vec<Node> {
        let otherwise = self.whole();
        let Some(level) = self.kernel.levels.len().checked_sub(1) else { return otherwise };
        if !self.counts_steps(level, &otherwise) {
            return otherwise;
        }
        let mut fewer_than = |than: u32| {
            self.count = Some((level, than));
            let nodes = self.whole();
            self.count = None;
            nodes
        };
        let choose = |than: u32, then: Vec<Node>, otherwise: Vec<Node>| {
            vec![Node::Choose { level: level as u32, fewer_than: than, then, otherwise }]
        };
        let mut nodes = fewer_than(*USUAL.start());
        for steps in USUAL {
            nodes = choose(steps, nodes, fewer_than(steps + 1));
        }
        choose(USUAL.end() + 1, nodes, otherwise)
    }

    /// Whether gangs repeat a level that is reduced in order at each step of another level: its loop costs as much as few of its steps.
    fn repeats_in_order(&self, level: usize) -> bool {
        let in_order = inside(self.kernel, level).any(|(_, statement)| match statement.action {
            Action::Reduce { association: Association::InOrder, to, .. } => to as usize == level,
            _ => false,
        });
        in_order && self.panels.is_none() && self.gang().is_some_and(|gang| gang.level + 1 < level)
    }

    /// Whether a level has nests of its own for the usual numbers of steps: where they stand in a row, in lanes of another level.
    fn counts_steps(&self, level: usize, usual: &[Node]) -> bool {
        level > 1
            && (self.panels.is_some() || self.repeats_in_order(level))
            && self.preferences.few.is_none()
            && trip_count(&self.kernel.levels[level]).is_none()
            && is_counted_before(self.kernel, level)
            && inside(self.kernel, level).count() <= MOST_COUNTED
            && in_a_row(usual, Axis(level as u32)).is_some()
    }

    /// A level that is not across lanes, with its steps in a row where they are few.
    pub(super) fn few(&mut self, level: usize, axis: Axis, trip: &Trip) -> Option<Vec<Node>> {
        let Room::Cores(cpu, gang) = self.machine else { return None };
        let counted = trip_count(&self.kernel.levels[level]);
        if trip.many
            || self.long == Some(level)
            || axis != Axis(level as u32)
            || gang.is_some_and(|gang| gang.level == level)
            || self.at_once.is_some()
            || self.preferences.few == Some(false)
        {
            return None;
        }
        let interleaved = inside(self.kernel, level).any(|(_, statement)| {
            matches!(
                statement.action,
                Action::Reduce { association: Association::Interleaved { .. } | Association::Runs { .. }, .. }
            )
        });
        // Reduces in order have their accumulators in registers anyway.
        let combines = interleaved || self.repeats_in_order(level);
        if !combines && self.preferences.few != Some(true) {
            return None;
        }
        // An accumulator for each step, of as many lanes as there are around.
        let lanes = gang.filter(|gang| gang.level < level).map_or(1, |gang| gang.lanes);
        let registers: u32 = inside(self.kernel, level)
            .map(|(_, statement)| match &statement.action {
                Action::Reduce { combine, values, .. } => {
                    let types = combine.params.iter().take(values.len());
                    types.map(|param| cpu.registers_of(lanes, param.ty.bytes()).max(1)).sum()
                }
                _ => 0,
            })
            .sum();
        let statements = inside(self.kernel, level).count();
        let known = self.count.filter(|(own, ..)| *own == level).map(|(_, than)| than);
        let counts = match counted {
            None if known.is_some() => known.map(|than| (than - 1).next_power_of_two()).into_iter().collect(),
            None => vec![FEW, FEW / 2],
            Some(steps @ 2..) if steps <= i64::from(FEW) => vec![(steps as u32).next_power_of_two()],
            Some(_) => Vec::new(),
        };
        let fits = |&count: &u32| {
            registers * count <= cpu.registers
                && statements * count as usize <= MOST_STATEMENTS
                && may_be_few(self.kernel, level, count, Some(counted.unwrap_or(count.into()))).is_ok()
        };
        let count = counts.into_iter().find(fits)?;
        let mut each = Loop::new(axis, By::Serial, vec![Node::Do(Effects::Rest)]);
        each.unroll = count;
        let then = vec![Node::Loop(each)];
        let short = self.short.is_some_and(|(own, than)| own == level && than <= count + 1);
        if counted.is_some() || known.is_some() || short {
            return Some(then);
        }
        let many = Trip { many: true, ..trip.clone() };
        let otherwise = self.level(level, axis, &many);
        let otherwise = self.with_rest(otherwise);
        Some(vec![Node::Choose { level: level as u32, fewer_than: count + 1, then, otherwise }])
    }
}
