//! Whether panels hold what loads inside find, and fit.

use super::bits::Check;
use crate::{
    panels::{PANEL_BYTES, WINDOW_PANEL_BYTES, panel},
    schedule::{By, Loop, SplitBy},
};

impl Check<'_> {
    /// What is copied before a loop.
    pub(super) fn pack(&mut self, each: &Loop, depth: usize) {
        let before = self.level_of(each.axis);
        let (outer, inner) = (&self.leaf.loops[..depth], &self.leaf.loops[depth + 1..]);
        let again = outer.iter().any(|outer| outer.by != By::Threads && self.level_of(outer.axis) == before);
        let gang = |each: &Loop| match each.by {
            By::Lanes(lanes) => Some((self.level_of(each.axis), lanes)),
            _ => None,
        };
        let around = outer.iter().find_map(|each| gang(each));
        // Gangs that are windows: the loop right outside is over their pieces.
        let windows = outer.last().and_then(|pieces| match self.made_by(pieces.axis) {
            Some((SplitBy::Steps(steps), from, true)) => Some((from.0 as usize, steps)),
            _ => None,
        });
        let window =
            (inner.iter()).find_map(|each| gang(each)).filter(|gang| around.is_none() && windows == Some(*gang));
        let Some((level, lanes)) = around.or(window) else {
            self.fault("panels are for gangs: no loop around is across lanes, and no gang is a window");
            return;
        };
        if each.by != By::Serial || again || window.is_none() && each.unroll != 1 {
            self.fault("panels are made before all loops of a level, which take one step after the other");
            return;
        }
        let most_bytes = if window.is_some() { WINDOW_PANEL_BYTES } else { PANEL_BYTES };
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
        if size > most_bytes {
            self.fault(format!("panels of {size} bytes are larger than {most_bytes}"));
        }
    }
}
