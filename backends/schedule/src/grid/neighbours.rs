//! Neighbouring points that one thread takes at once, so that what lies together in memory is loaded and stored together.

use std::collections::BTreeSet;

use fusebox_ir::{
    Action, DimBoundary, IndexMap, Kernel, KernelArrayId, LevelOrder, LocalId, ScalarOp, ScalarPart, Statement,
    analysis::kernels::depths,
};

/// Most bytes of one access of memory.
const MOST_BYTES: usize = 16;
/// Most elements of one access of memory.
const MOST_ELEMENTS: usize = 4;
/// Scalar instructions of a point, at most: values of each of the points are in registers at once.
const MOST_INSTRUCTIONS: usize = 48;

/// The array and the map of a load or store that goes from point to point of the innermost level through neighbouring elements; where the first of them is
/// can be computed before all statements at the points.
pub fn contiguous<'k>(
    kernel: &'k Kernel,
    levels: usize,
    statement: &'k Statement,
) -> Option<(KernelArrayId, &'k IndexMap)> {
    let (array, map) = match &statement.action {
        Action::Load { array, map, outside: None, .. } => (array, map),
        Action::Store { array, map, .. } if statement.when.is_none() => (array, map),
        _ => return None,
    };
    let known = depths(kernel);
    let indices: BTreeSet<LocalId> = kernel.levels[..levels].iter().map(|level| level.index.id).collect();
    let innermost = kernel.levels.get(levels.checked_sub(1)?)?.index.id;
    let early = |local: LocalId| known.get(&local) == Some(&0) || indices.contains(&local);
    let (last, outer) = map.dims.split_last()?;
    let plain = map
        .dims
        .iter()
        .all(|dim| dim.boundary == DimBoundary::None && dim.terms.iter().all(|&(_, local)| early(local)));
    let step: i64 = last.terms.iter().filter(|(_, local)| *local == innermost).map(|(factor, _)| *factor).sum();
    let fixed = outer.iter().all(|dim| dim.terms.iter().all(|&(_, local)| local != innermost));
    (statement.depth as usize == levels && !map.checked && plain && step == 1 && fixed).then_some((*array, map))
}

/// How many neighbouring points a thread takes best: as many elements as one access of memory has.
///
/// # Errors
/// Why one point at a time is better, or all that is possible.
pub fn items(kernel: &Kernel, levels: usize) -> Result<u32, &'static str> {
    may_take_neighbours(kernel, levels)?;
    let at_points = kernel.statements.iter().filter(|statement| statement.depth as usize == levels);
    let instructions: usize = at_points.map(instructions).sum();
    if instructions > MOST_INSTRUCTIONS {
        return Err("what is computed at several points at once takes too many registers");
    }
    let accesses = kernel.statements.iter().filter_map(|statement| contiguous(kernel, levels, statement));
    let widest = accesses.map(|(array, _)| kernel.arrays[array.index()].element.bytes()).max();
    let widest = widest.ok_or("no load and no store goes through neighbouring elements")?;
    Ok((MOST_BYTES / widest).min(MOST_ELEMENTS) as u32)
}

/// Whether a thread may take neighbouring points of the innermost level at once, one statement of all of them after the other.
///
/// # Errors
/// Why not.
pub fn may_take_neighbours(kernel: &Kernel, levels: usize) -> Result<(), &'static str> {
    if levels != kernel.levels.len() {
        return Err("a level is inside of the points");
    }
    if levels.checked_sub(1).is_none_or(|level| kernel.levels[level].order == LevelOrder::Down) {
        return Err("the innermost level runs down");
    }
    let plain = kernel.statements.iter().filter(|statement| statement.depth as usize == levels).all(|statement| {
        matches!(
            statement.action,
            Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } | Action::Store { .. }
        )
    });
    if plain { Ok(()) } else { Err("points do more than load, compute and store") }
}

/// Scalar instructions of a statement; those of a loop count several times.
fn instructions(statement: &Statement) -> usize {
    match &statement.action {
        Action::Scalar(instruction) => of(&instruction.op),
        _ => 1,
    }
}

fn of(op: &ScalarOp) -> usize {
    let inside = op.parts().into_iter().map(|part| match part {
        ScalarPart::Body(body) => body.instructions.iter().map(|instruction| of(&instruction.op)).sum(),
        ScalarPart::Operand(_) | ScalarPart::Array(_) => 0,
    });
    let inside: usize = inside.sum();
    1 + if matches!(op, ScalarOp::While { .. }) { 4 * inside } else { inside }
}
