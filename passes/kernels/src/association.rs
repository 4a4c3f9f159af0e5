//! How reduces, scans and scatters associate: by the program and the lengths alone.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Action, Association, DimIndex, Lambda, LevelOrder, LocalId, PermuteOrder, ScalarOp, ScalarOperand, ScalarPart,
    ScatterOrder, Statement,
    analysis::{
        Algebra,
        algebra::{self, algebra},
        need::{free_uses, local},
        work::work,
    },
    association::{ACCUMULATOR_BYTES, GANG_BYTES, GATHER_LANES, RAGGED_LEAST},
};

use crate::nest::{Associates, Commutes, KernelBuilder};

/// Units of work of a function from which on a scan of rows calls it once for each element, and not as often again for each doubling of a gang.
const COSTLY: u64 = 16;

/// What decides, of the loop inside depth `to`.
struct Loop {
    /// Some level, of which the last step need not be the first to run, makes every load contiguous or constant along it.
    vector_along: bool,
    /// The levels inside of some parallel level are as long at each of its steps.
    even_in_parallel: bool,
    /// An index is computed in the loop.
    gathers: bool,
    /// By code that also decides whether it reads at all, or in a loop of its own.
    reads_in_bodies: bool,
    /// The innermost level's length depends on data.
    ragged: bool,
}

fn statements<'n>(nest: &'n KernelBuilder<'_>) -> impl DoubleEndedIterator<Item = &'n Statement> {
    nest.before.iter().flatten().chain(nest.after.iter().rev().flatten())
}

fn inspect(nest: &KernelBuilder<'_>, to: u32, depth_of: u32) -> Loop {
    let depth = |operand: ScalarOperand| local(&operand).map_or(0, |id| nest.depth_of(id));
    let index_of = |id: LocalId| nest.levels.iter().position(|level| level.index.id == id);
    let inner: Vec<&Statement> = statements(nest).filter(|statement| statement.depth > to).collect();
    let dims: Vec<&Vec<DimIndex>> = inner
        .iter()
        .filter_map(|s| if let Action::Load { map, .. } = &s.action { Some(&map.dims) } else { None })
        .collect();
    let computed = |dim: &DimIndex| dim.terms.iter().any(|&(_, id)| index_of(id).is_none() && nest.depth_of(id) > to);
    let reads_in_bodies =
        inner.iter().any(|s| if let Action::Scalar(instruction) = &s.action { reads(&instruction.op) } else { false });
    let gathers = reads_in_bodies || dims.iter().any(|dims| dims.iter().any(computed));
    // Loops of other lengths for each index of the level cannot fill a vector with neighbours along it.
    let even = |level: usize| {
        nest.levels[level + 1..].iter().all(|inner| depth(inner.from).max(depth(inner.to)) as usize <= level)
    };
    let along = |level: usize| {
        let own = nest.levels[level].index.id;
        let depends = |id: LocalId| index_of(id).is_none() && nest.depth_of(id) as usize > level;
        even(level)
            && !reads_in_bodies
            && dims.iter().all(|dims| {
                dims.iter().enumerate().all(|(at, dim)| {
                    let factor = dim.terms.iter().find(|&&(_, id)| id == own).map_or(0, |&(factor, _)| factor);
                    let plain = factor == 0 || factor == 1 && at + 1 == dims.len();
                    plain && !dim.terms.iter().any(|&(_, id)| depends(id))
                })
            })
    };
    let order = |level: usize| nest.levels[level].order;
    // Gangs along a level may fold what they make, but not run from its last step.
    let vector_along = (0..to as usize).any(|level| order(level) != LevelOrder::Down && along(level));
    let even_in_parallel = (0..to as usize).any(|level| order(level) == LevelOrder::Parallel && even(level));
    let ragged =
        nest.levels[to as usize..depth_of as usize].iter().any(|level| depth(level.from).max(depth(level.to)) > 0);
    Loop { vector_along, even_in_parallel, gathers, reads_in_bodies, ragged }
}

fn reads(op: &ScalarOp) -> bool {
    let mut stack = vec![op];
    while let Some(op) = stack.pop() {
        for part in op.parts() {
            match part {
                ScalarPart::Array(_) => return true,
                ScalarPart::Body(body) => stack.extend(body.instructions.iter().map(|instruction| &instruction.op)),
                ScalarPart::Operand(_) => {}
            }
        }
    }
    false
}

fn power_of_two(lanes: usize) -> u32 {
    lanes.max(1) as u32
}

/// Looks up how the reduces and scans of a finished nest associate: all its loads are known.
pub(crate) fn put(nest: &mut KernelBuilder<'_>) {
    let mut found: HashMap<LocalId, (Association, Option<Lambda>)> = HashMap::new();
    for statement in statements(nest) {
        let (results, to) = match &statement.action {
            Action::Reduce { results, to, .. } => (results, *to),
            Action::Scan { results, .. } => (results, statement.depth.saturating_sub(1)),
            _ => continue,
        };
        let Some((first, associates)) =
            results.first().and_then(|first| Some((first.id, nest.associates.get(&first.id)?)))
        else {
            continue;
        };
        let association = match &statement.action {
            Action::Scan { values, combine, .. } => of_scan(nest, statement.depth, (combine, values), associates),
            Action::Reduce { values, combine, .. } => {
                of_reduce(nest, to, statement.depth, (combine, values), associates)
            }
            _ => continue,
        };
        let by_lanes = matches!(association, Association::Interleaved { .. } | Association::Ragged { .. });
        let commuting = match &associates.commutes {
            Commutes::As(combine) if by_lanes => Some(combine.clone()),
            Commutes::Yes | Commutes::No | Commutes::As(_) => None,
        };
        found.insert(first, (association, commuting));
    }
    for statement in nest.before.iter_mut().chain(&mut nest.after).flatten() {
        if let Action::Reduce { results, association, combine, .. } | Action::Scan { results, association, combine, .. } =
            &mut statement.action
            && let Some((looked_up, commuting)) = results.first().and_then(|first| found.remove(&first.id))
        {
            *association = looked_up;
            *combine = commuting.unwrap_or_else(|| std::mem::take(combine));
        }
    }
}

/// How a reduce to depth `to` associates (rules 2 and 4).
fn of_reduce(
    nest: &KernelBuilder<'_>,
    to: u32,
    depth: u32,
    (combine, values): (&Lambda, &[ScalarOperand]),
    associates: &Associates,
) -> Association {
    let Loop { vector_along, gathers, reads_in_bodies, ragged, .. } = inspect(nest, to, depth);
    if vector_along {
        return Association::InOrder;
    }
    // However elements are grouped, the bits are the same: gangs may go along levels of any length, and there are no more accumulators than gangs of
    // the widest type fill.
    let regroups = algebra::regroups(combine);
    let own = associates.types.iter().map(|ty| ty.bytes()).max().unwrap_or(8);
    let widest = if regroups { widest_in(nest, to, values).max(own) } else { own };
    let gathers = gathers && !(ragged && !reads_in_bodies && regroups);
    let lanes = if gathers { GATHER_LANES } else { power_of_two(ACCUMULATOR_BYTES / widest) };
    match associates.commutes {
        Commutes::No => Association::Runs { lanes },
        _ if gathers && ragged => Association::Ragged { lanes, least: RAGGED_LEAST },
        Commutes::Yes | Commutes::As(_) => Association::Interleaved { lanes },
    }
}

/// How a scan at a depth, along the level around it, associates (rule 5).
fn of_scan(
    nest: &KernelBuilder<'_>,
    depth: u32,
    (combine, values): (&Lambda, &[ScalarOperand]),
    associates: &Associates,
) -> Association {
    let to = depth.saturating_sub(1);
    let Loop { vector_along, even_in_parallel, .. } = inspect(nest, to, depth);
    // In tiles a gang of n combines log n + 1 times, for each row by itself; in order once for each element, in as many rows at once.
    if vector_along || even_in_parallel && work(combine) >= COSTLY {
        return Association::InOrder;
    }
    let own = associates.types.iter().map(|ty| ty.bytes()).max().unwrap_or(8);
    let widest = widest_in(nest, to, values).max(own);
    let commutes = matches!(associates.commutes, Commutes::Yes);
    let total_lanes = if commutes { power_of_two(ACCUMULATOR_BYTES / own) } else { 0 };
    Association::Tiles { lanes: power_of_two(GANG_BYTES / widest), total_lanes }
}

/// Bytes of the widest type that goes into `values` inside depth `to`; arithmetic of indices is not counted (rule 1).
fn widest_in(nest: &KernelBuilder<'_>, to: u32, values: &[ScalarOperand]) -> usize {
    let mut used: HashSet<LocalId> = values.iter().filter_map(local).collect();
    let mut widest = 1;
    for statement in statements(nest).rev().filter(|statement| statement.depth > to) {
        match &statement.action {
            Action::Load { result, .. } if used.contains(&result.id) => widest = widest.max(result.ty.bytes()),
            Action::Scalar(instruction) if instruction.results.iter().any(|result| used.contains(&result.id)) => {
                widest = instruction.results.iter().map(|result| result.ty.bytes()).fold(widest, usize::max);
                used.extend(free_uses(instruction));
            }
            Action::Scan { results, values, .. } if results.iter().any(|result| used.contains(&result.id)) => {
                widest = results.iter().map(|result| result.ty.bytes()).fold(widest, usize::max);
                used.extend(values.iter().filter_map(local));
            }
            Action::Reduce { results, values, .. } if results.iter().any(|result| used.contains(&result.id)) => {
                widest = results.iter().map(|result| result.ty.bytes()).fold(widest, usize::max);
                used.extend(values.iter().filter_map(local));
            }
            _ => {}
        }
    }
    widest
}

/// In which order a scatter combines (rule 6).
pub(crate) fn of_scatter(combine: &Lambda, order: PermuteOrder) -> ScatterOrder {
    match order {
        PermuteOrder::Unique => ScatterOrder::Unique,
        PermuteOrder::Ordered => ScatterOrder::InOrder,
        PermuteOrder::Source => match algebra(combine) {
            Algebra { commutes: true, rounds: false, .. } => ScatterOrder::Any,
            Algebra { commutes: true, rounds: true, .. } => ScatterOrder::Chunks,
            Algebra { commutes: false, .. } => ScatterOrder::InOrder,
        },
    }
}
