//! Panels: what a gang loads at each step of an inner level, again for each step of another level, is copied once to memory of the thread, a gang
//! behind the other. Elements that lie apart in the array are side by side there. The other level is between the two, or it is around both, where
//! each gang is a window that runs outside of it ([`crate::interchange`]): so a matrix product has the columns of a gang side by side for all of its rows.

use fusebox_ir::{
    Access, Action, DimBoundary, Kernel, ScalarOperand,
    analysis::kernels::{AcrossLanes, Lanes, depths},
};

/// Bytes of all panels that are there at once: half of the smallest innermost cache.
pub const PANEL_BYTES: u64 = 16 << 10;

/// The same where the gang is a window. Each element is loaded for several steps of the level around at once, so that it may come from the cache that
/// all cores share: without a copy, each gang is on a page of its own (`docs/performance.md`, "long panels").
pub const WINDOW_PANEL_BYTES: u64 = 4 << 20;

/// What a panel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// The level that has a gang of it at each step.
    pub level: usize,
    /// Bytes of an element.
    pub bytes: usize,
}

impl Panel {
    /// How much memory it takes, in gangs of so many lanes, if its level has at most so many steps.
    pub fn size(self, lanes: u32, most: i64) -> u64 {
        (most.max(0) as u64).saturating_mul(u64::from(lanes) * self.bytes as u64)
    }
}

/// The level that has an element of a panel at each step: the one inside of both.
pub fn level_of_panel(gang: usize, before: usize) -> usize {
    gang.max(before) + 1
}

/// Whether what a statement loads in gangs along level `gang` may be copied before the loops of the level `before`, which is inside, or right around it:
/// then a gang is a window.
///
/// # Errors
/// The first reason why not.
pub fn panel(kernel: &Kernel, gang: usize, before: usize, position: usize) -> Result<Panel, String> {
    let level = level_of_panel(gang, before);
    let Some(statement) = kernel.statements.get(position) else {
        return Err(format!("there is no statement {position} to copy before level {before}"));
    };
    let Action::Load { array, map, outside: None, .. } = &statement.action else {
        return Err(format!("statement {position} is no load of elements that are all inside of an array"));
    };
    let in_order = gang < before || gang == before + 1;
    if !in_order || statement.depth as usize != level + 1 || level >= kernel.levels.len() {
        return Err(format!("statement {position} does not load in the level inside of levels {gang} and {before}"));
    }
    let own = &kernel.arrays[array.index()];
    let stays = own.access == Access::Read && kernel.arrays.iter().all(|other| other.in_place_of != Some(*array));
    if !stays {
        return Err(format!("the array of statement {position} is written"));
    }
    if statement.when.is_some() || map.checked || map.dims.iter().any(|dim| dim.boundary != DimBoundary::None) {
        return Err(format!(
            "statement {position} loads nothing where an index is outside, or where a condition is not met"
        ));
    }
    // What a check lets through may be what makes an index one that is inside.
    let checks = kernel.statements[..position].iter().any(|other| {
        let checks = match &other.action {
            Action::Check { .. } => true,
            Action::Load { map, .. } => map.checked,
            _ => false,
        };
        checks && other.depth as usize > before
    });
    if checks {
        return Err(format!("something is checked inside of level {before} before statement {position} loads"));
    }
    let known = depths(kernel);
    let early = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(id) => known.get(&id).is_some_and(|&depth| depth <= before),
        ScalarOperand::Constant(_) | ScalarOperand::Outer(_) => true,
    };
    for inside in before + 1..=level {
        if !early(kernel.levels[inside].from) || !early(kernel.levels[inside].to) {
            return Err(format!("level {inside} has other bounds at each step of level {before}"));
        }
    }
    let (steps, across) = (kernel.levels[level].index.id, kernel.levels[gang].index.id);
    let mut terms = map.dims.iter().flat_map(|dim| &dim.terms);
    if !terms.clone().any(|&(_, id)| id == steps)
        || !terms.all(|&(_, id)| id == steps || id == across || early(id.into()))
    {
        return Err(format!("what statement {position} loads is not the same at each step of level {before}"));
    }
    if Lanes::of(kernel, gang).position(map) == AcrossLanes::Uniform {
        return Err(format!("what statement {position} loads is the same in all lanes"));
    }
    Ok(Panel { level, bytes: own.element.bytes() })
}
