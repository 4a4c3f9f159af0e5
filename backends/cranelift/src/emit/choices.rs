//! Choices by the length of a level: two nests of which one runs, and what is known of lengths inside of them.

use std::ops::Range;

use fusebox_ir::{Action, Association, LocalId, analysis::kernels::trip_count};
use fusebox_schedule::Node;

use super::{Emitter, Result};
use crate::vector::Value;

impl<'k> Emitter<'k> {
    /// The most steps that a level has, as far as it is a number or the choices around say it.
    pub(super) fn most_steps(&self, level: usize) -> Option<i64> {
        let bounds = self.fewer_than.iter().filter(|(own, _)| *own == level).map(|&(_, than)| i64::from(than) - 1);
        bounds.chain(trip_count(&self.kernel.levels[level])).min()
    }

    /// The fewest steps that a level has, as far as it is a number or the choices around say it.
    pub(super) fn least_steps(&self, level: usize) -> i64 {
        let bounds = self.at_least.iter().filter(|(own, _)| *own == level).map(|&(_, steps)| i64::from(steps));
        bounds.chain(trip_count(&self.kernel.levels[level])).max().unwrap_or(0)
    }

    /// How many steps a level has, where the choices around leave one number.
    pub(super) fn steps_by_choices(&self, level: usize) -> Option<i64> {
        let least = self.at_least.iter().filter(|(own, _)| *own == level).map(|&(_, steps)| i64::from(steps)).max()?;
        self.most_steps(level).filter(|&most| most == least)
    }

    /// The level in two versions: for short trips (fewer than `least` steps) and others. In the first, ragged reduces of this threshold run in
    /// order, else by lanes.
    pub(super) fn short_or_long_trip(
        &mut self,
        (depth, counted): (usize, usize),
        inner: Range<usize>,
        least: u32,
        (short, long): (&'k [Node], &'k [Node]),
        (from, to): (Value, Value),
    ) -> Result {
        let (kernel, long_levels, nodes, gang) = (self.kernel, self.long_levels, self.nodes, self.gang);
        let positions: Vec<usize> = (inner.clone())
            .filter(|&position| match &kernel.statements[position].action {
                Action::Reduce { association: Association::Ragged { least: own, .. }, .. } => {
                    counted == depth && *own == least && kernel.statements[position].depth as usize == depth + 1
                }
                _ => false,
            })
            .collect();
        let steps = self.b.sub(to, from);
        let (known, known_least) = (self.fewer_than.len(), self.at_least.len());
        let bound = self.b.int(least.into());
        let is_short = self.b.less(steps, bound);
        let mut made: Vec<LocalId> = (inner.clone())
            .flat_map(|position| match &kernel.statements[position].action {
                Action::Reduce { results, to, .. } if *to as usize == depth => {
                    results.iter().map(|local| local.id).collect()
                }
                Action::Scan { totals, .. } if kernel.statements[position].depth as usize == depth + 1 => {
                    totals.iter().map(|local| local.id).collect()
                }
                _ => Vec::new(),
            })
            .collect();
        let states = self.states.clone();
        let (mut sides, mut at_once) = (Vec::new(), 0);
        for (side, nodes) in [(true, short), (false, long)] {
            self.states = states.clone();
            self.short_trip.extend(positions.iter().map(|&position| (position, side)));
            let bounds = if side { &mut self.fewer_than } else { &mut self.at_least };
            bounds.push((counted, least));
            if !side
                && let Some((long, beside)) = long_levels.at_least(kernel, counted, least).filter(|_| counted == depth)
            {
                (self.kernel, self.long_levels) = (long, beside);
            }
            self.b.open();
            self.nodes = nodes;
            self.gang = self.nest.gang_of(kernel.levels.len(), nodes).or(gang.filter(|gang| gang.level < depth));
            self.level(depth, inner.clone())?;
            (self.kernel, self.long_levels) = (kernel, long_levels);
            self.fewer_than.truncate(known);
            self.at_least.truncate(known_least);
            let mut values = std::mem::take(&mut self.states);
            // A part that leaves results of blocks makes no locals of them.
            let locals: Vec<Vec<Value>> = made.iter().map(|&id| self.local_of_steps(id)).collect();
            made = made.into_iter().zip(&locals).filter(|(_, values)| !values.is_empty()).map(|(id, _)| id).collect();
            at_once = locals.iter().map(Vec::len).max().unwrap_or(0);
            values.extend(locals.into_iter().flatten());
            sides.push((self.b.close(), values));
        }
        (self.nodes, self.gang) = (nodes, gang);
        self.short_trip.retain(|position, _| !positions.contains(position));
        let (Some(long), Some(short)) = (sides.pop(), sides.pop()) else { unreachable!("both versions were made") };
        let mut values = self.b.end_if(is_short, short, long);
        let locals = values.split_off(states.len());
        self.states = values;
        for (id, values) in made.into_iter().zip(locals.chunks(at_once.max(1))) {
            self.set_local_of_steps(id, values);
        }
        Ok(())
    }
}
