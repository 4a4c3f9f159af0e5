//! What gangs load again and again, and from elements that lie apart: it is copied once.

use fusebox_ir::{
    Action, Kernel,
    analysis::kernels::{AcrossLanes, Lanes, trip_count},
};

use super::{
    Choice,
    builder::{Builder, Panels, Room},
};
use crate::{
    gangs::is_counted_before,
    interchange::may_be_interchanged,
    jam::{combines, may_jam},
    nest::Gang,
    panels::{PANEL_BYTES, WINDOW_PANEL_BYTES, panel},
    schedule::{Nest, Node},
};

/// Kernels of more statements have no panels: they take another version of the code.
const MOST_STATEMENTS: usize = 96;

/// Fewer steps than this of the level between do not pay for a copy.
const LEAST: i64 = 3;

/// Fewer steps than this of the level around, which threads share, do not pay for a copy in each of them.
const LEAST_AROUND: u32 = 256;

/// Where panels may be.
struct Place {
    /// The level before whose loops they are made.
    before: usize,
    /// The level along which elements lie apart that are worth copying.
    apart: usize,
    /// Fewer steps of the level before whose loops they are made do not pay for a copy.
    least: i64,
    /// Bytes of all of them.
    room: u64,
    /// As of [`Panels`].
    window: Option<u32>,
}

impl Builder<'_> {
    /// All loops and statements, with panels where the level inside has few enough steps for them, and the level around enough.
    pub(super) fn packed(&mut self) -> Vec<Node> {
        let Some(panels) = self.panels() else { return self.by_count() };
        let (level, before, fewer_than) = (panels.level, panels.before, panels.fewer_than);
        let in_window = panels.window.is_some();
        self.panels = Some(panels);
        let then = self.by_count();
        self.panels = None;
        let then = if in_window && trip_count(&self.kernel.levels[before]).is_none() {
            let few = self.whole();
            vec![Node::Choose { level: before as u32, fewer_than: LEAST_AROUND, then: few, otherwise: then }]
        } else {
            then
        };
        let short = self.short.is_some_and(|(own, than)| own == level && than <= fewer_than);
        if short || trip_count(&self.kernel.levels[level]).is_some() {
            return then;
        }
        self.long = Some(level);
        let otherwise = self.whole();
        self.long = None;
        vec![Node::Choose { level: level as u32, fewer_than, then, otherwise }]
    }

    /// The loads before a level's loops.
    pub(super) fn packed_before(&self, level: usize) -> Vec<u32> {
        match &self.panels {
            Some(panels) if panels.before == level => panels.statements.clone(),
            _ => Vec::new(),
        }
    }

    /// Where a gang may have panels of what it loads in the innermost level: for the steps of the level around that, or of the level around the gang's own,
    /// outside of which each gang is a window.
    fn place(&self, gang: Gang) -> Option<Place> {
        let level = self.kernel.levels.len().checked_sub(1)?;
        if gang.level + 1 != level {
            let before = level.checked_sub(1)?;
            return Some(Place { before, apart: gang.level, least: LEAST, room: PANEL_BYTES, window: None });
        }
        let before = gang.level.checked_sub(1)?;
        let (least, room, window) = (LEAST_AROUND.into(), WINDOW_PANEL_BYTES, Some(gang.lanes));
        self.may_be_window(gang).then_some(Place { before, apart: level, least, room, window })
    }

    /// What is loaded in gangs in the innermost level, the same at each step of another, from elements that lie apart.
    fn panels(&self) -> Option<Panels> {
        let (Room::Cores(..), gang) = (&self.machine, self.gang()?) else { return None };
        let Place { before, apart, least, room, window } = self.place(gang)?;
        let level = self.kernel.levels.len() - 1;
        let counted = trip_count(&self.kernel.levels[level]);
        let often = trip_count(&self.kernel.levels[before]).is_none_or(|steps| steps >= least);
        if self.preferences.pack == Some(false)
            || gang.masked
            || self.at_once.is_some()
            || !often
            || counted.is_none() && !is_counted_before(self.kernel, level)
            || self.kernel.statements.len() > MOST_STATEMENTS
        {
            return None;
        }
        let lanes = Lanes::of(self.kernel, apart);
        let mut statements = Vec::new();
        let mut bytes = 0;
        for (position, statement) in self.kernel.statements.iter().enumerate() {
            let Action::Load { map, .. } = &statement.action else { continue };
            let apart = !matches!(lanes.position(map), AcrossLanes::Uniform | AcrossLanes::Linear(Some(1)));
            if let (true, Ok(panel)) = (apart, panel(self.kernel, gang.level, before, position)) {
                statements.push(position as u32);
                bytes += panel.size(gang.lanes, 1);
            }
        }
        let most = (room / bytes.max(1)) as i64;
        let fits = !statements.is_empty() && counted.is_none_or(|steps| steps <= most) && most > 1;
        fits.then_some(Panels { before, level, fewer_than: most as u32 + 1, statements, window })
    }

    /// Whether each gang may be a window, outside of the level around, of which several steps run at once.
    fn may_be_window(&self, gang: Gang) -> bool {
        let outer = gang.level - 1;
        let chosen = [self.preferences.interchanged, self.preferences.together].iter().all(|wanted| wanted.is_none())
            && self.preferences.jam != Some(1)
            && !self.rows_together
            && self.nest.partitioned().is_none();
        chosen
            && combines(self.kernel, outer)
            && may_be_interchanged(self.kernel, outer).is_ok()
            && may_jam(self.kernel, outer, false).is_ok()
    }
}

/// What is copied in a nest, and why.
pub(super) fn choice(nest: &Nest, kernel: &Kernel) -> Option<Choice> {
    let statements = copied(&nest.nodes)?;
    let arrays: Vec<&str> = (statements.iter())
        .filter_map(|&position| match &kernel.statements.get(position as usize)?.action {
            Action::Load { array, .. } => Some(kernel.arrays[array.index()].name.as_str()),
            _ => None,
        })
        .collect();
    Some(Choice {
        about: format!("loads of {}", arrays.join(", ")),
        chosen: "they are copied once for each gang, side by side".to_owned(),
        because: "the same elements are loaded again at each step of another level, and they lie apart".to_owned(),
        instead_of: vec!["loads from where they are, each time".to_owned()],
    })
}

/// The loads that the first loop with panels copies.
fn copied(nodes: &[Node]) -> Option<&[u32]> {
    nodes.iter().find_map(|node| match node {
        Node::Loop(each) if !each.pack.is_empty() => Some(each.pack.as_slice()),
        Node::Loop(each) => copied(&each.body),
        Node::Do(_) => None,
        Node::Choose { then, otherwise, .. } => copied(then).or_else(|| copied(otherwise)),
    })
}
