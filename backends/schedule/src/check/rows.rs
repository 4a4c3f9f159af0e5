//! Whether rows, and points abreast, stand where they may.

use fusebox_ir::{Action, analysis::kernels::trip_count, association::BLOCK};

use super::bits::Check;
use crate::{
    abreast::{MOST_ABREAST, may_be_abreast},
    rows::{blocks_may_be_rows, may_be_row, may_be_together},
    schedule::{Axis, By, Loop, Remainder, SplitBy},
};

impl Check<'_> {
    /// Points abreast are those of the loop around, which runs over single steps; the level stands alone in it, whole.
    pub(super) fn abreast(&mut self, each: &Loop, points: u32, depth: usize) {
        let level = self.level_of(each.axis);
        if !(2..=MOST_ABREAST).contains(&points) {
            self.fault(format!("{points} points abreast are none of 2 to {MOST_ABREAST}, on a processor"));
        }
        let around = depth.checked_sub(1).map(|around| self.leaf.loops[around]);
        let steps = around.filter(|around| {
            let pieces = self.made_by(around.axis).is_some_and(|(.., pieces)| pieces);
            around.by == By::Serial && !pieces && Some(self.level_of(around.axis)) == level.checked_sub(1)
        });
        if steps.is_none() || each.axis != Axis(level as u32) || depth + 1 != self.leaf.loops.len() || !self.leaf.rest {
            self.fault(format!(
                "points are abreast where level {level} as a whole is right inside of the steps around"
            ));
        }
        let own = self.leaf.choices.iter().filter(|&&(_, _, _, around)| around == depth).copied().collect::<Vec<_>>();
        let short = |least: u32| own == [(level as u32, least, true, depth)];
        if own.len() > 1 || own.iter().any(|&(of, ..)| of as usize != level) {
            self.fault("points abreast are chosen by one length of their level");
        }
        if let Err(why) = may_be_abreast(self.kernel, level, short) {
            self.fault(why);
        }
    }

    /// A row stands alone in the innermost loop, whole, or a block of a level after the other.
    pub(super) fn row(&mut self, each: &Loop, (level, lanes): (usize, u32)) {
        let whole = Axis(level as u32);
        // A share of so few steps is all of them.
        let share = matches!(self.made_by(each.axis), Some((SplitBy::Shares(_), Axis(0), false)));
        let block = level > 0 && self.made_by(each.axis) == Some((SplitBy::Steps(BLOCK as u32), whole, false));
        if !(each.axis == whole || share || block) || !self.leaf.rest {
            self.fault(format!("a masked remainder is that of level {level} as a whole, with all of its statements"));
        }
        if block && let Err(why) = blocks_may_be_rows(self.kernel, level) {
            self.fault(why);
        }
        if let Some((SplitBy::Shares(steps), ..)) = self.made_by(each.axis)
            && self.direct(level).any(|(_, statement)| matches!(statement.action, Action::Reduce { .. }))
            && self.most(level).is_some_and(|most| most > steps.into())
        {
            self.fault(format!("shares of {steps} steps end inside of a row, of which there is one result"));
        }
        if each.border || each.out_of_cache.is_some() {
            self.fault("a row has no border, and no streams");
        }
        let width = i64::from(lanes) * i64::from(each.unroll);
        if each.first_whole && self.least(level) < width {
            self.fault(format!(
                "level {level} may have fewer steps than the {width} of an iteration: the first is not whole"
            ));
        }
        let most = if block { Some(BLOCK) } else { self.most(level) };
        if let Err(why) = may_be_row(self.kernel, level, (lanes, each.unroll), most) {
            self.fault(why);
        }
    }

    /// Rows of the points that are lanes of the level around.
    pub(super) fn together(&mut self, around: &Loop, row: &Loop) {
        let (outer, level) = (self.level_of(around.axis), self.level_of(row.axis));
        let (By::Lanes(points), By::Lanes(lanes)) = (around.by, row.by) else { return };
        if !self.nest.is_row(self.kernel, row) || outer + 1 != level {
            self.fault("two loops around a statement are across lanes, and they are no rows of the points of a level");
            return;
        }
        if points != lanes {
            self.fault(format!("{points} rows in gangs of {lanes} are not folded together: there are as many of both"));
        }
        let plain = around.unroll == 1 && !around.border && around.out_of_cache.is_none() && around.pack.is_empty();
        if !plain || around.remainder == Remainder::Masked {
            self.fault(
                "lanes that are points with rows have no border, no streams, no panels, and no masked remainder",
            );
        }
        if !row.points.is_power_of_two() || row.points > points {
            self.fault(format!("{} points at once are no power of two up to {points}", row.points));
        }
        if let Err(why) = may_be_together(self.kernel, level, lanes) {
            self.fault(why);
        }
    }

    /// Whether a loop runs over a row that has no more steps than an iteration.
    pub(super) fn is_one_iteration(&self, row: &Loop) -> bool {
        let By::Lanes(lanes) = row.by else { return false };
        let width = i64::from(lanes) * i64::from(row.unroll);
        self.nest.is_row(self.kernel, row) && self.most(self.level_of(row.axis)).is_some_and(|most| most <= width)
    }

    /// How many steps a level has at least, as far as is known here.
    fn least(&self, level: usize) -> i64 {
        let long = self.leaf.choices.iter().filter(|&&(of, _, side, _)| of as usize == level && !side);
        let long = long.map(|&(_, fewer, ..)| i64::from(fewer));
        long.chain(trip_count(&self.kernel.levels[level])).max().unwrap_or(0)
    }

    /// How many steps a level has at most, as far as is known here.
    pub(super) fn most(&self, level: usize) -> Option<i64> {
        let short = self.leaf.choices.iter().filter(|&&(of, _, side, _)| of as usize == level && side);
        let short = short.map(|&(_, fewer, ..)| i64::from(fewer) - 1);
        short.chain(trip_count(&self.kernel.levels[level])).min()
    }
}
