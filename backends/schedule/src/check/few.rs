//! Whether steps that stand in a row are few enough.

use super::bits::Check;
use crate::{few::may_be_few, schedule::Loop};

impl Check<'_> {
    /// All steps of an innermost level in a row.
    pub(super) fn few(&mut self, each: &Loop) {
        let level = self.level_of(each.axis);
        if each.axis.0 as usize != level {
            self.fault(format!(
                "pieces do not run at once, and steps of a part of level {level} do not stand in a row: all of them do"
            ));
            return;
        }
        if let Err(why) = may_be_few(self.kernel, level, each.unroll, self.most(level)) {
            self.fault(why);
        }
    }
}
