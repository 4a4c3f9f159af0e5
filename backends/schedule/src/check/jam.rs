//! Whether steps that run at once stand where they may.

use super::bits::Check;
use crate::{
    jam::{MOST_JAMMED, combines, may_jam},
    schedule::{Axis, By, Loop, Remainder, SplitBy},
};

impl Check<'_> {
    /// Some gangs at once are those of a level whose levels inside have plain loops.
    pub(super) fn gangs_at_once(&mut self, each: &Loop, inside: &[&Loop]) {
        let level = self.level_of(each.axis);
        if each.unroll > MOST_JAMMED {
            self.fault(format!("{} gangs at once are more than {MOST_JAMMED}", each.unroll));
        }
        let plain = |inner: &&Loop| {
            inner.by == By::Serial
                && inner.unroll == 1
                && inner.pack.is_empty()
                && self.level_of(inner.axis) > level
                && matches!(self.made_by(inner.axis), None | Some((SplitBy::Steps(_), ..)))
        };
        let own = each.remainder != Remainder::Masked && !each.border && each.out_of_cache.is_none();
        if !own || !inside.iter().all(plain) {
            self.fault(format!(
                "gangs of level {level} that run at once have no border, no streams and no masked remainder, and each level inside has a plain loop"
            ));
        }
        if let Err(why) = may_jam(self.kernel, level, false) {
            self.fault(why);
        }
    }

    /// Some steps at once are single steps of a serial loop, and each level inside has plain loops over all of it, over its pieces, or over a window of
    /// it, or is a row. Right around rows, the level inside may have several steps at once, too: that is a tile of rows and columns.
    pub(super) fn jam(&mut self, each: &Loop, depth: usize) {
        if each.by != By::Serial {
            self.fault("only gangs, and steps one after the other on a processor, are unrolled");
            return;
        }
        let level = self.level_of(each.axis);
        let inner = &self.leaf.loops[depth + 1..];
        let columns = match inner {
            [columns, .., row] if self.nest.is_row(self.kernel, row) => Some(columns).filter(|columns| {
                columns.by == By::Serial
                    && !columns.border
                    && columns.up_to.is_none()
                    && self.level_of(columns.axis) == level + 1
            }),
            _ => None,
        };
        let all = each.unroll.saturating_mul(columns.map_or(1, |columns| columns.unroll));
        if all > MOST_JAMMED {
            self.fault(format!("{all} steps at once are more than {MOST_JAMMED}"));
        }
        if self.made_by(each.axis).is_some_and(|(.., pieces)| pieces) {
            self.fault("pieces do not run at once: their steps do");
        }
        let plain = inner.iter().all(|inner| {
            let row = self.nest.is_row(self.kernel, inner);
            let gang = matches!(inner.by, By::Lanes(_)) && inner.remainder != Remainder::Masked;
            let whole = Axis(self.level_of(inner.axis) as u32);
            let pieces = matches!(self.made_by(inner.axis), Some((SplitBy::Steps(_), from, _)) if from == whole);
            (inner.axis == whole || pieces)
                && self.level_of(inner.axis) > level
                && (row || gang || inner.by == By::Serial)
                && (row || inner.unroll == 1 || columns.is_some_and(|columns| columns.axis == inner.axis))
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
