//! Unroll and jam: some steps of a level at once, with one loop of each level inside for all of them. Each step has accumulators of its own, and
//! what is the same for all of them is loaded once. With accumulators in registers that is a tile of a matrix product; around rows of points, a tile of
//! rows; around the gangs of a stencil, each row that is loaded serves for several neighbours.

use fusebox_ir::{
    Access, Action, Association, DimBoundary, DimIndex, Kernel, KernelArrayId, Lambda, ScalarOperand,
    analysis::kernels::{AcrossLanes, Lanes, depths},
};

use crate::gangs::inside;

/// Steps of a level at once, at most: more accumulators than any machine has registers for.
pub const MOST_JAMMED: u32 = 16;

/// Whether some steps of a level may run at once, all levels inside of it once for all of them; with its border `apart`, those at which no boundary
/// applies along it.
///
/// # Errors
/// The first reason why not.
pub fn may_jam(kernel: &Kernel, level: usize, apart: bool) -> Result<(), String> {
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
    let (lanes, own) = (Lanes::of(kernel, level), kernel.levels[level].index.id);
    for (position, statement) in inside(kernel, level) {
        let fits = match &statement.action {
            Action::Load { map, outside, .. } => map.dims.iter().all(|dim| {
                let bounded = outside.is_some() || dim.boundary != DimBoundary::None;
                let stays = dim.terms.iter().all(|&(_, id)| lanes.local(id) == AcrossLanes::Uniform);
                !bounded || apart && (stays || dim.terms == [(1, own)])
            }),
            Action::Scalar(_) | Action::Check { .. } => true,
            // Elements of each accumulator come in their order, whatever comes between.
            Action::Reduce { to, association: Association::InOrder, .. } => *to as usize > level,
            // Accumulators of several steps are folded by one function.
            Action::Reduce { to, association: Association::Interleaved { .. }, combine, .. } => {
                *to as usize > level && is_same_at_all_steps(kernel, combine, &lanes)
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

/// Whether a function that combines uses nothing that differs between the steps of a level.
pub(crate) fn is_same_at_all_steps(kernel: &Kernel, combine: &Lambda, steps: &Lanes) -> bool {
    let known = depths(kernel);
    let mut same = true;
    combine.for_each_operand(&mut |operand| {
        if let ScalarOperand::Local(id) = operand {
            // What the function makes itself is no local of the kernel.
            same &= !known.contains_key(id) || steps.local(*id) == AcrossLanes::Uniform;
        }
    });
    same
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

/// The loads, innermost inside of a level, that differ from step to step of it, and that so many steps at once have together where no boundary applies. Those
/// of one element, as of neighbours in a stencil, are one.
pub(crate) fn loads_together(kernel: &Kernel, level: usize, steps: u32) -> Vec<(KernelArrayId, Vec<DimIndex>)> {
    let (own, innermost) = (kernel.levels[level].index.id, kernel.levels.len());
    let (lanes, steps_of) = (Lanes::of(kernel, innermost - 1), Lanes::of(kernel, level));
    let mut found = Vec::new();
    for (_, statement) in inside(kernel, level) {
        let Action::Load { array, map, .. } = &statement.action else { continue };
        let same = |lanes: &Lanes| lanes.position(map) == AcrossLanes::Uniform;
        if statement.depth as usize != innermost || same(&lanes) || same(&steps_of) {
            continue;
        }
        for step in 0..steps {
            let mut dims = map.dims.clone();
            for dim in &mut dims {
                let ahead = dim.terms.iter().filter(|&&(_, id)| id == own).map(|&(factor, _)| factor).sum::<i64>();
                dim.offset = dim.offset.saturating_add(ahead.saturating_mul(step.into()));
                dim.boundary = DimBoundary::None;
            }
            let load = (*array, dims);
            if !found.contains(&load) {
                found.push(load);
            }
        }
    }
    found
}

/// Whether something is combined inside of a level.
pub(crate) fn combines(kernel: &Kernel, level: usize) -> bool {
    inside(kernel, level).any(|(_, statement)| matches!(statement.action, Action::Reduce { .. }))
}
