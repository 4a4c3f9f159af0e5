//! Whether steps that run at once stand where they may.

use super::bits::Check;
use crate::{
    jam::{MOST_JAMMED, combines, may_jam},
    schedule::{Axis, By, Loop, Remainder, SplitBy},
};

impl Check<'_> {
    /// Some steps at once are single steps of a serial loop, and each level inside has plain loops over all of it, over its pieces, or over a window of
    /// it, or is a row.
    pub(super) fn jam(&mut self, each: &Loop, depth: usize) {
        if each.by != By::Serial {
            self.fault("only gangs, and steps one after the other on a processor, are unrolled");
            return;
        }
        if each.unroll > MOST_JAMMED {
            self.fault(format!("{} steps at once are more than {MOST_JAMMED}", each.unroll));
        }
        if self.made_by(each.axis).is_some_and(|(.., pieces)| pieces) {
            self.fault("pieces do not run at once: their steps do");
        }
        let level = self.level_of(each.axis);
        let inner = &self.leaf.loops[depth + 1..];
        let plain = inner.iter().all(|inner| {
            let row = self.nest.is_row(self.kernel, inner);
            let gang = matches!(inner.by, By::Lanes(_)) && inner.remainder != Remainder::Masked;
            let whole = Axis(self.level_of(inner.axis) as u32);
            let pieces = matches!(self.made_by(inner.axis), Some((SplitBy::Steps(_), from, _)) if from == whole);
            (inner.axis == whole || pieces)
                && self.level_of(inner.axis) > level
                && (row || gang || inner.by == By::Serial)
                && (row || inner.unroll == 1)
                && (inner.out_of_cache.is_none() || !combines(self.kernel, level))
                && inner.pack.is_empty()
        });
        if !plain {
            self.fault(format!("inside of steps of level {level} that run at once each level has a plain loop"));
        }
        if let Err(why) = may_jam(self.kernel, level, each.border) {
            self.fault(why);
        }
    }
}
