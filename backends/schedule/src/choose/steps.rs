//! The loops over the steps of a level, or of a piece of one: in gangs, or one after the other.

use super::{
    Accumulators,
    accumulate::{self, Kept},
    at_once::AtOnce,
    builder::{Builder, Room, Trip},
};
use crate::{
    gangs::{has_border, may_run_twice},
    nest::Gang,
    schedule::{Axis, By, Effects, Loop, Node, OutOfCache, Remainder, SplitBy},
    streams::Streams,
};

/// Steps of a strip: what several batches of accumulators read stays in the innermost cache.
const STRIP: u32 = 1024;

impl Builder<'_> {
    /// The loops over the steps of a piece of a level.
    pub(super) fn steps(&mut self, level: usize, axis: Axis, trip: &Trip) -> Vec<Node> {
        let (cpu, gang) = match self.machine {
            Room::Cores(cpu, Some(gang)) if gang.level == level => (cpu, gang),
            _ => {
                if let Some(AtOnce { steps, .. }) = self.at_once.filter(|at_once| at_once.level == level) {
                    // The level inside is one plain loop.
                    let plain = Trip { no_row: Some(u32::MAX), ..Trip::default() };
                    let body = self.level(level + 1, Axis(level as u32 + 1), &plain);
                    let mut each = Loop::new(axis, By::Serial, self.with_rest(body));
                    each.unroll = steps;
                    return vec![Node::Loop(each)];
                }
                let body = self.body(level);
                let around_window = self.is_in_window(level + 1);
                let abreast = if around_window { None } else { self.abreast(level, axis, trip) };
                let by = abreast.map_or(By::Serial, By::Abreast);
                let mut each = Loop::new(axis, by, body);
                if let Some(tile) = self.tile.filter(|tile| around_window && tile.level == level) {
                    each.unroll = tile.rows;
                } else if by == By::Serial
                    && (!around_window || self.panels.is_some())
                    && let Some(jam) = self.jammed(level, axis, &each.body)
                {
                    jam.apply(&mut each);
                }
                return vec![Node::Loop(each)];
            }
        };
        let by = By::Lanes(gang.lanes);
        let place = accumulate::Level { kernel: self.kernel, level, gang: gang.lanes, cpu };
        let wanted = if self.rows_together { Some(Accumulators::Scratch) } else { self.preferences.accumulators };
        match place.kept(wanted) {
            Kept::Scratch => vec![self.gangs(gang, axis, self.gangs_of_columns)],
            Kept::Unrolled(gangs) => vec![self.gangs(gang, axis, gangs)],
            Kept::Strips { batches, width, rest } => {
                let (strips, strip) = self.split(axis, SplitBy::Steps(STRIP.max(width)));
                let mut nodes = Vec::new();
                for batch in batches {
                    // The groups of accumulators come outside of the steps that feed them.
                    let (turns, turn) = self.split(strip, SplitBy::Steps(width));
                    let (groups, group) = self.split(turn, SplitBy::Steps(batch.gangs * gang.lanes));
                    let positions = batch.positions.iter().map(|&position| position as u32).collect();
                    let mut feed = Loop::new(group, by, vec![Node::Do(Effects::Named(positions))]);
                    feed.unroll = batch.gangs;
                    feed.remainder = if gang.masked { Remainder::Masked } else { Remainder::Scalar };
                    let turns = Loop::new(turns, By::Serial, vec![Node::Loop(feed)]);
                    nodes.push(Node::Loop(Loop::new(groups, By::Serial, vec![Node::Loop(turns)])));
                }
                if rest {
                    nodes.push(self.gangs(gang, strip, 1));
                }
                vec![Node::Loop(Loop::new(strips, By::Serial, nodes))]
            }
        }
    }

    /// A loop in gangs, with its remainder.
    fn gangs(&mut self, gang: Gang, axis: Axis, unroll: u32) -> Node {
        let level = gang.level;
        let mut each = Loop::new(axis, By::Lanes(gang.lanes), self.body(level));
        each.unroll = unroll;
        each.remainder = if gang.masked {
            Remainder::Masked
        } else if self.preferences.overlap != Some(false) && may_run_twice(self.kernel, level) {
            Remainder::Overlapped
        } else {
            Remainder::Scalar
        };
        if self.rows_together {
            return Node::Loop(each);
        }
        each.border = !gang.masked && has_border(self.kernel, level);
        let streams = Streams::of(self.kernel, level, gang.lanes, |_| true);
        // A row of few gangs ends before what it asks for.
        let short = self.short.is_some_and(|(own, _)| own == level);
        if self.interchanged.is_none() && !short && !streams.is_empty() && self.preferences.streams != Some(false) {
            each.out_of_cache = Some(OutOfCache {
                prefetch: streams.loads.into_keys().collect(),
                ahead: self.preferences.ahead.unwrap_or(OutOfCache::AHEAD),
                past_caches: streams.stores.into_keys().collect(),
            });
        }
        Node::Loop(each)
    }

    /// Whether an axis is the steps of a share.
    pub(super) fn is_share(&self, axis: Axis) -> bool {
        let made = self.nest.made_by(self.kernel.levels.len(), axis);
        made.is_some_and(|(split, pieces)| !pieces && matches!(split.by, SplitBy::Shares(_)))
    }
}
