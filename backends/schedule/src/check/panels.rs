//! Whether panels hold what loads inside find, and fit.

use super::bits::Check;
use crate::{
    panels::{PANEL_BYTES, panel},
    schedule::{By, Loop},
};

impl Check<'_> {
    /// What is copied before a loop.
    pub(super) fn pack(&mut self, each: &Loop, depth: usize) {
        let before = self.level_of(each.axis);
        let again = self.leaf.loops[..depth].iter().any(|outer| self.level_of(outer.axis) == before);
        if each.by != By::Serial || each.unroll != 1 || again {
            self.fault("panels are made before all loops of a level, which take one step after the other");
            return;
        }
        let gang = self.leaf.loops[..depth].iter().find_map(|outer| match outer.by {
            By::Lanes(lanes) => Some((self.level_of(outer.axis), lanes)),
            _ => None,
        });
        let Some((level, lanes)) = gang else {
            self.fault("panels are for gangs: no loop around is across lanes");
            return;
        };
        let mut size = 0u64;
        for (number, &position) in each.pack.iter().enumerate() {
            if each.pack[..number].contains(&position) {
                self.fault(format!("statement {position} has two panels"));
            }
            match panel(self.kernel, level, before, position as usize) {
                Err(why) => self.fault(why),
                Ok(panel) => match self.most(panel.level) {
                    None => self.fault(format!("how many steps level {} has at most is not known", panel.level)),
                    Some(most) => size = size.saturating_add(panel.size(lanes, most)),
                },
            }
        }
        if size > PANEL_BYTES {
            self.fault(format!("panels of {size} bytes are larger than {PANEL_BYTES}"));
        }
    }
}
