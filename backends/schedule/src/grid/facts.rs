//! What of a kernel depends on what, as far as threads that share levels ask.

use std::ops::Range;

use fusebox_ir::{
    Action, Association, Binary, IndexMap, Instruction, Kernel, KernelArrayId, Lambda, LocalId, ScalarOp,
    ScalarOperand, ScalarPart, ScatterOrder,
    analysis::{
        algebra::algebra,
        kernels::{depths, has_totals},
    },
};

use super::{Lanes, WARP};

/// Whether every order and tree of a function's combinations gives the same bits.
pub fn is_exact(combine: &Lambda) -> bool {
    let algebra = algebra(combine);
    algebra.commutes && !algebra.rounds
}

/// Whether a function fails nowhere.
pub fn cannot_fail(function: &Lambda) -> bool {
    function.instructions.iter().all(instruction_cannot_fail)
}

pub(super) fn instruction_cannot_fail(instruction: &Instruction) -> bool {
    match &instruction.op {
        ScalarOp::Binary { function: Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor, b, .. } => {
            let float = instruction.results.iter().all(|result| result.ty.is_float());
            float || matches!(b, ScalarOperand::Constant(constant) if constant.bits() != 0)
        }
        ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } | ScalarOp::Assert { .. } | ScalarOp::While { .. } => false,
        op => op.parts().into_iter().all(|part| match part {
            ScalarPart::Body(body) => cannot_fail(body),
            ScalarPart::Operand(_) | ScalarPart::Array(_) => true,
        }),
    }
}

/// Whether a kernel scatters.
pub(crate) fn scatters(kernel: &Kernel) -> bool {
    kernel.statements.iter().any(|statement| matches!(statement.action, Action::Scatter { .. }))
}

/// Whether the order of a scatter's elements is free.
fn is_free_order(order: ScatterOrder) -> bool {
    matches!(order, ScatterOrder::Any | ScatterOrder::Unique)
}

/// How many of the first levels have steps that depend on each other in nothing.
pub(crate) fn free_levels(kernel: &Kernel) -> usize {
    (0..kernel.levels.len()).take_while(|&level| is_free(kernel, level)).count()
}

/// Whether the steps of a level depend on each other in nothing.
pub(super) fn is_free(kernel: &Kernel, level: usize) -> bool {
    kernel.statements.iter().all(|statement| {
        let depth = statement.depth as usize;
        match &statement.action {
            Action::Reduce { to, .. } => *to as usize > level || depth <= level,
            Action::Scan { .. } => depth != level + 1,
            Action::Append { .. } => depth <= level,
            Action::Scatter { order, .. } => depth <= level || is_free_order(*order),
            _ => true,
        }
    })
}

/// How many of the first `free` levels can be numbered together.
pub fn flat_levels(kernel: &Kernel, free: usize) -> usize {
    if free == 0 { 0 } else { 1 + (1..free).take_while(|&level| is_flat(kernel, level, 0)).count() }
}

/// Whether a level's points can be numbered together with those of the levels around it, from the one at depth `from` on: its bounds are known there, and
/// what stands around it can be computed at each of its points instead.
pub(crate) fn is_flat(kernel: &Kernel, level: usize, from: usize) -> bool {
    let known = depths(kernel);
    let outer = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(id) => known.get(&id).is_some_and(|&depth| depth <= from),
        ScalarOperand::Constant(_) => true,
        ScalarOperand::Outer(_) => false,
    };
    let bounds = &kernel.levels[level];
    outer(bounds.from)
        && outer(bounds.to)
        && kernel.statements.iter().filter(|statement| statement.depth as usize == level).all(|statement| {
            match &statement.action {
                Action::Load { array, map, outside, .. } => {
                    !map.checked && outside.as_ref().is_none_or(cannot_fail) && !may_be_overwritten(kernel, *array)
                }
                Action::Scalar(instruction) => instruction_cannot_fail(instruction),
                _ => false,
            }
        })
        // A reduce that ends at this depth has its results used here.
        && !kernel.statements.iter().any(|statement| {
            matches!(&statement.action, Action::Reduce { to, .. } if *to as usize == level)
        })
}

/// Whether the kernel may write another array over this one.
pub(super) fn may_be_overwritten(kernel: &Kernel, array: KernelArrayId) -> bool {
    kernel.arrays.iter().any(|other| other.in_place_of == Some(array))
}

/// The lanes of the reduces that end at a depth; none: every order is right.
///
/// # Errors
/// Why threads cannot share their elements: a reduce takes them in order, or two that round have different lanes.
pub fn lanes_of_reduces(kernel: &Kernel, to: usize) -> Result<Option<Lanes>, &'static str> {
    let mut lanes = None;
    for statement in &kernel.statements {
        let Action::Reduce { to: own, association, combine, .. } = &statement.action else { continue };
        if *own as usize != to || is_exact(combine) {
            continue;
        }
        let own = match *association {
            Association::Interleaved { lanes } => Lanes::Interleaved(lanes),
            Association::Runs { lanes } => Lanes::Runs(lanes),
            _ => return Err("a reduce takes its elements in order"),
        };
        if lanes.is_some_and(|lanes| lanes != own) {
            return Err("reduces have different lanes");
        }
        lanes = Some(own);
    }
    Ok(lanes)
}

/// How reduces of rows of different lengths associate: one element after the other in short rows, by lanes in others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ragged {
    /// Lanes in long rows.
    pub lanes: u32,
    /// From how many steps on a row is long.
    pub least: u32,
}

/// How the reduces that end at a depth take short and long rows apart.
///
/// # Errors
/// Why they do not: none does, or not all that have an order do so alike.
pub fn ragged(kernel: &Kernel, to: usize) -> Result<Ragged, &'static str> {
    let mut found = None;
    for statement in &kernel.statements {
        let Action::Reduce { to: own, association, combine, .. } = &statement.action else { continue };
        if *own as usize != to || is_exact(combine) {
            continue;
        }
        let Association::Ragged { lanes, least } = *association else {
            return Err("a reduce has the same order in short rows as in long ones");
        };
        let own = Ragged { lanes, least };
        if found.is_some_and(|found| found != own) {
            return Err("reduces take other rows for short");
        }
        found = Some(own);
    }
    found.ok_or("no reduce takes short and long rows apart")
}

/// How many levels from `from` on threads can share that combine: all reduces then give their results before those levels.
///
/// # Errors
/// Why threads cannot.
pub(crate) fn combined_levels(kernel: &Kernel, from: usize) -> Result<usize, &'static str> {
    let mut deepest = None;
    for statement in &kernel.statements {
        let depth = statement.depth as usize;
        match &statement.action {
            Action::Reduce { to, .. } if *to as usize == from => deepest = deepest.max(Some(depth - 1)),
            Action::Reduce { to, .. } if (*to as usize) < from && depth > from => {
                return Err("a reduce goes over these levels and others around them");
            }
            Action::Scan { .. } if depth == from + 1 => return Err("a scan is along the level"),
            Action::Append { .. } if depth > from => return Err("an append puts elements in order"),
            Action::Scatter { order, .. } if depth > from && !is_free_order(*order) => {
                return Err("a scatter is in an order");
            }
            _ => {}
        }
    }
    let Some(deepest) = deepest else { return Err("nothing is combined along the next level") };
    // Inner levels are numbered together with the first; what is reduced over them all comes from the deepest.
    if !(from + 1..=deepest).all(|level| is_flat(kernel, level, from)) {
        return Err("levels that are combined cannot be numbered together");
    }
    let same = kernel.statements.iter().all(|statement| match &statement.action {
        Action::Reduce { to, .. } if *to as usize == from => statement.depth as usize == deepest + 1,
        Action::Reduce { to, .. } => *to as usize <= from || *to as usize > deepest,
        Action::Scan { .. } => statement.depth as usize > deepest + 1 || statement.depth as usize <= from,
        _ => true,
    });
    if same { Ok(deepest + 1 - from) } else { Err("reduces or scans are at several depths of these levels") }
}

/// Whether scatters are in chunks of the outermost level, or in the order of all its steps, and nothing else is in an order.
pub fn is_in_chunks(kernel: &Kernel) -> bool {
    let mut orders = Vec::new();
    let others = kernel.statements.iter().all(|statement| match &statement.action {
        Action::Scatter { .. } if statement.depth == 0 => true,
        Action::Scatter { order: order @ (ScatterOrder::Chunks | ScatterOrder::InOrder), .. } => {
            orders.push(*order);
            true
        }
        Action::Reduce { to, .. } => *to > 0,
        Action::Scan { .. } => statement.depth > 1,
        Action::Append { .. } => statement.depth == 0,
        _ => true,
    });
    let targets: Vec<KernelArrayId> = kernel
        .statements
        .iter()
        .filter_map(|statement| match &statement.action {
            Action::Scatter { arrays, order: ScatterOrder::Chunks, .. } if statement.depth > 0 => {
                arrays.first().copied()
            }
            _ => None,
        })
        .collect();
    // All have as many chunks.
    let same =
        targets.windows(2).all(|pair| kernel.arrays[pair[0].index()].extents == kernel.arrays[pair[1].index()].extents);
    others
        && !orders.is_empty()
        && orders.iter().all(|order| *order == orders[0])
        && (same || orders[0] == ScatterOrder::InOrder)
}

/// Whether scatters are in the order of all steps, so that there is one chunk.
pub(crate) fn is_one_chunk(kernel: &Kernel) -> bool {
    let in_order = |action: &Action| matches!(action, Action::Scatter { order: ScatterOrder::InOrder, .. });
    kernel.statements.iter().any(|statement| statement.depth > 0 && in_order(&statement.action))
}

/// How many levels the threads of a block number together to make the elements of scatters in chunks; 0 where they cannot.
pub fn chunk_levels(kernel: &Kernel) -> usize {
    let mut depths = kernel.statements.iter().filter_map(|statement| match &statement.action {
        Action::Scatter { order: ScatterOrder::Chunks | ScatterOrder::InOrder, .. } if statement.depth > 0 => {
            Some(statement.depth as usize)
        }
        _ => None,
    });
    let Some(depth) = depths.next() else { return 0 };
    let same = depths.all(|other| other == depth);
    if same && (1..depth).all(|level| is_flat(kernel, level, 0)) { depth } else { 0 }
}

/// The lanes of totals and reduces in tiles of the outermost level, and whether every order of what is carried from tile to tile is right.
///
/// # Errors
/// Why the level cannot be in tiles: it can be by scans whose elements do not need each other's results, or by an append, beside reduces
/// that the threads of a block share.
pub fn tiles(kernel: &Kernel) -> Result<(Option<Lanes>, bool), &'static str> {
    let (mut scans, mut appends, mut exact) = (false, false, true);
    let mut lanes: Option<u32> = None;
    let mut agrees = |own: u32| {
        let same = lanes.is_none_or(|lanes| lanes == own);
        lanes = Some(own);
        same
    };
    for statement in &kernel.statements {
        match &statement.action {
            Action::Scan { combine, association, .. } if statement.depth == 1 => {
                scans = true;
                match association {
                    _ if is_exact(combine) => {}
                    Association::Tiles { lanes, .. } if *lanes > WARP => {
                        return Err("a gang of a scan has more lanes than a warp has threads");
                    }
                    Association::Tiles { total_lanes, .. } if *total_lanes > 0 && agrees(*total_lanes) => exact = false,
                    _ => return Err("a scan has no total of its tiles, or another one than others have"),
                }
            }
            Action::Append { .. } if statement.depth > 0 => appends = true,
            Action::Reduce { to: 0, combine, association, .. } if !is_exact(combine) => match association {
                // Its lanes are threads that take every step in turn.
                Association::Interleaved { lanes: own @ WARP.. } if statement.depth == 1 && agrees(*own) => {}
                _ => return Err("a reduce has lanes that threads of a tile do not have"),
            },
            Action::Scatter { order, .. } if statement.depth > 0 && !is_free_order(*order) => {
                return Err("a scatter is in an order");
            }
            _ => {}
        }
    }
    if scans == appends {
        return Err(if scans { "a scan and an append both carry" } else { "nothing is carried along the level" });
    }
    if scans && !has_totals(kernel) {
        return Err("totals of tiles need results of the scan");
    }
    Ok((lanes.map(Lanes::Interleaved), exact))
}

/// Bytes of shared memory in which threads of a block exchange what they combine, eight for a value and for whether there is one: of reduces to a
/// depth, and of what carries from tile to tile.
pub(crate) fn exchanged(kernel: &Kernel, to: usize, threads: u32, tiles: bool) -> u64 {
    let components = kernel.statements.iter().map(|statement| match &statement.action {
        Action::Reduce { to: own, results, .. } if *own as usize == to => results.len() as u64 + 1,
        Action::Scan { results, .. } if tiles && statement.depth == 1 => results.len() as u64 + 1,
        Action::Append { .. } if tiles && statement.depth > 0 => 2,
        _ => 0,
    });
    components.sum::<u64>() * 8 * u64::from(threads)
}

/// The same of elements of scatters in chunks: a target and values of each.
pub(crate) fn staged(kernel: &Kernel, threads: u32) -> u64 {
    let bytes = kernel.statements.iter().map(|statement| match &statement.action {
        Action::Scatter { arrays, order: ScatterOrder::Chunks | ScatterOrder::InOrder, .. } if statement.depth > 0 => {
            8 + 8 * arrays.len() as u64
        }
        _ => 0,
    });
    bytes.sum::<u64>() * u64::from(threads)
}

/// The levels of a range, as axes number them.
pub(crate) fn levels(range: Range<usize>) -> impl DoubleEndedIterator<Item = u32> {
    range.map(|level| level as u32)
}

/// Whether a map is one of indices and what is known before all levels alone.
pub(super) fn is_early(kernel: &Kernel, map: &IndexMap) -> bool {
    let known = depths(kernel);
    let early = |local: LocalId| known.get(&local) == Some(&0) || kernel.levels.iter().any(|own| own.index.id == local);
    map.dims.iter().all(|dim| dim.terms.iter().all(|&(_, local)| early(local)))
}
