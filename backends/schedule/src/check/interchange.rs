//! Whether pieces of a level may run outside of the level around it, as a nest says.

use super::bits::Check;
use crate::{
    interchange::may_be_interchanged,
    schedule::{By, Loop, SplitBy},
};

impl Check<'_> {
    /// Loops over outer levels are outside of those over inner ones, but for pieces of one level right around the next outer one.
    pub(super) fn order_of_levels(&mut self, interchange: bool) {
        let loops = &self.leaf.loops;
        let levels: Vec<usize> = loops.iter().map(|each| self.level_of(each.axis)).collect();
        for at in 1..levels.len() {
            if levels[at - 1] <= levels[at] {
                continue;
            }
            if !interchange
                || levels[at - 1] != levels[at] + 1
                || levels[..at - 1].iter().any(|level| *level > levels[at])
            {
                self.fault(
                    "a loop over an outer level is inside of one over an inner level, which no backend carries out",
                );
                return;
            }
            let (pieces, around) = (loops[at - 1], loops[at]);
            self.interchanged(pieces, around, levels[at]);
        }
    }

    /// One loop over pieces of a level around one over the level `outer`.
    fn interchanged(&mut self, pieces: &Loop, around: &Loop, outer: usize) {
        let inner = (outer + 1) as u32;
        let plain = |each: &Loop| each.by == By::Serial && each.unroll == 1 && each.pack.is_empty();
        let of_inner = |each: &Loop, first: bool| matches!(self.made_by(each.axis), Some((SplitBy::Steps(_), from, own)) if from.0 == inner && own == first);
        let whole = around.axis.0 as usize == outer
            || matches!(self.made_by(around.axis), Some((SplitBy::Shares(_), from, false)) if from.0 as usize == outer);
        // Of a level that runs inside of a window there is one loop, over the steps of the window.
        let steps: Vec<&Loop> = (self.leaf.loops.iter().copied())
            .filter(|each| self.level_of(each.axis) == inner as usize && each.axis != pieces.axis)
            .collect();
        let in_window = match steps[..] {
            [each] => {
                let row = self.nest.is_row(self.kernel, each);
                of_inner(each, false) && !row && each.out_of_cache.is_none() && !matches!(each.by, By::Abreast(_))
            }
            _ => false,
        };
        let in_lanes = matches!(around.by, By::Lanes(_)) && around.unroll == 1 && around.out_of_cache.is_none();
        // Steps at once, and panels, have rules of their own.
        let serial = around.by == By::Serial;
        if !of_inner(pieces, true) || !plain(pieces) || !whole || !(serial || in_lanes) || !in_window {
            self.fault("pieces of a level run outside of the whole level around it, and their steps inside, all in plain loops");
        }
        if self.nest.partitioned().is_some() {
            self.fault("elements are put aside in the order of all levels");
        }
        if let Err(why) = may_be_interchanged(self.kernel, outer) {
            self.fault(format!("pieces of level {inner} cannot run outside of level {outer}: {why}"));
        }
    }
}
