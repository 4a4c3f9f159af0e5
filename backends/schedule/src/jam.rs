//! Unroll and jam: some steps of a level at once, with one loop of each level inside for all of them. Each step has accumulators of its own, and
//! what is the same for all of them is loaded once. With accumulators in registers that is a tile of a matrix product; around rows of points, a tile of rows.

use fusebox_ir::{
    Access, Action, Association, DimBoundary, Kernel, ScalarOperand,
    analysis::kernels::{AcrossLanes, Lanes, depths},
};

use crate::gangs::inside;

/// Steps of a level at once, at most: more accumulators than any machine has registers for.
pub const MOST_JAMMED: u32 = 16;

/// Whether some steps of a level may run at once, all levels inside of it once for all of them.
///
/// # Errors
/// The first reason why not.
pub fn may_jam(kernel: &Kernel, level: usize) -> Result<(), String> {
    if level + 1 >= kernel.levels.len() {
        return Err(format!("steps of level {level} have no loop inside that could run once for several of them"));
    }
    let known = depths(kernel);
    let before = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(id) => known.get(&id).is_some_and(|&depth| depth <= level),
        ScalarOperand::Constant(_) | ScalarOperand::Outer(_) => true,
    };
    if kernel.levels[level + 1..].iter().any(|inner| !before(inner.from) || !before(inner.to)) {
        return Err(format!("a level inside has other bounds at each step of level {level}"));
    }
    for (position, statement) in inside(kernel, level) {
        let fits = match &statement.action {
            Action::Load { map, outside, .. } => {
                outside.is_none() && map.dims.iter().all(|dim| dim.boundary == DimBoundary::None)
            }
            Action::Scalar(_) | Action::Check { .. } => true,
            // Elements of each accumulator come in their order, whatever comes between.
            Action::Reduce { to, association: Association::InOrder | Association::Interleaved { .. }, .. } => {
                *to as usize > level
            }
            // What another step reads is not written over.
            Action::Store { array, .. } => {
                let array = &kernel.arrays[array.index()];
                array.access == Access::Write && array.in_place_of.is_none()
            }
            Action::Reduce { .. } | Action::Scan { .. } | Action::Append { .. } | Action::Scatter { .. } => false,
        };
        if !fits {
            return Err(format!("statement {position} is none that several steps of level {level} do at once"));
        }
    }
    Ok(())
}

/// The loads inside of a level that have the same element at all of its steps: one does for those that run at once.
pub(crate) fn shared_loads(kernel: &Kernel, level: usize) -> usize {
    let lanes = Lanes::of(kernel, level);
    let innermost = kernel.levels.len();
    let shared = inside(kernel, level).filter(|(_, statement)| match &statement.action {
        Action::Load { map, .. } => {
            statement.depth as usize == innermost && lanes.position(map) == AcrossLanes::Uniform
        }
        _ => false,
    });
    shared.count()
}

/// Whether something is combined inside of a level.
pub(crate) fn combines(kernel: &Kernel, level: usize) -> bool {
    inside(kernel, level).any(|(_, statement)| matches!(statement.action, Action::Reduce { .. }))
}
