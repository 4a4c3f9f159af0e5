//! What gangs load again and again, and from elements that lie apart: it is copied once.

use fusebox_ir::{
    Action, Kernel,
    analysis::kernels::{AcrossLanes, Lanes, trip_count},
};

use super::{
    Choice,
    builder::{Builder, Room},
};
use crate::{
    gangs::is_counted_before,
    panels::{PANEL_BYTES, panel},
    schedule::{Nest, Node},
};

/// Kernels of more statements have no panels: they take another version of the code.
const MOST_STATEMENTS: usize = 96;

/// Fewer steps than this of the level between do not pay for a copy.
const LEAST: i64 = 3;

/// The panels of a nest.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    /// The level before whose loops they are made.
    before: usize,
    /// The level that has a gang at each step.
    pub(super) level: usize,
    /// It has fewer steps.
    pub(super) fewer_than: u32,
    /// The loads.
    statements: Vec<u32>,
}

impl Builder<'_> {
    /// All loops and statements, with panels where the level inside has few enough steps for them.
    pub(super) fn packed(&mut self) -> Vec<Node> {
        let Some(panels) = self.panels() else { return self.whole() };
        let (level, fewer_than) = (panels.level, panels.fewer_than);
        self.panels = Some(panels);
        let then = self.by_count();
        self.panels = None;
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

    /// What loads elements that lie apart, in gangs, in the innermost level, and the same ones at each step of the level around it.
    fn panels(&self) -> Option<Panels> {
        let (Room::Cores(..), gang) = (&self.machine, self.gang()?) else { return None };
        let level = self.kernel.levels.len().checked_sub(1)?;
        let before = level.checked_sub(1)?;
        let counted = trip_count(&self.kernel.levels[level]);
        let often = trip_count(&self.kernel.levels[before]).is_none_or(|steps| steps >= LEAST);
        if self.preferences.pack == Some(false)
            || gang.masked
            || self.at_once.is_some()
            || !often
            || counted.is_none() && !is_counted_before(self.kernel, level)
            || self.kernel.statements.len() > MOST_STATEMENTS
        {
            return None;
        }
        let lanes = Lanes::of(self.kernel, gang.level);
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
        let most = (PANEL_BYTES / bytes.max(1)) as i64;
        let fits = !statements.is_empty() && counted.is_none_or(|steps| steps <= most) && most > 1;
        fits.then_some(Panels { before, level, fewer_than: most as u32 + 1, statements })
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
        because: "the same elements are loaded again at each step of a level between, and they lie apart".to_owned(),
        instead_of: vec!["loads one by one for each lane, each time".to_owned()],
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
