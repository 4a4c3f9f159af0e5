//! Which form a kernel is carried out in: what threads share, by what depends on what.

use fusebox_ir::{
    Action, Association, Binary, Instruction, Kernel, KernelArrayId, Lambda, ScalarOp, ScalarOperand, ScalarPart,
    ScatterOrder,
    analysis::kernels::{depths, has_totals, trip_count},
};

use crate::statement::{reduce::is_exact, table::Lanes};

/// How a kernel is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One thread does all of it.
    One,
    /// A thread for each point of the first levels, by turns.
    Points {
        /// How many levels.
        levels: usize,
    },
    /// A block of threads for each point of the first levels, by turns; its threads share the steps of the next levels, whose reduces they combine.
    Rows {
        /// How many levels blocks share.
        outer: usize,
        /// How many levels the threads of a block share.
        inner: usize,
        /// Those threads.
        team: Team,
    },
    /// Blocks share blocks of 4,096 elements of the first levels; a second launch combines what they give.
    Fold {
        /// How many levels.
        inner: usize,
        /// The threads of a block.
        team: Team,
    },
    /// A block or thread for each chunk of the outermost level, each with its copy of a scatter's targets; a second launch combines the copies.
    Chunks {
        /// A block of threads makes the elements of a chunk, from so many levels numbered together; 0: one thread does.
        levels: usize,
    },
    /// Blocks share tiles of the outermost level; scans and appends carry from tile to tile.
    Tiles(Tiles),
}

/// The threads of a block that combine together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Team {
    /// How many: at least a warp.
    pub(crate) threads: u32,
    /// The first so many are lanes; what every order is right for, all of them take.
    pub(crate) lanes: Lanes,
}

/// How tiles are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiles {
    /// The threads of a block.
    pub(crate) team: Team,
    /// Whether every order of the scans is right.
    pub(crate) exact: bool,
}

impl Form {
    /// In words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::One => "one thread".to_owned(),
            Self::Points { levels: 1 } => "a thread for each step of the outermost level".to_owned(),
            Self::Points { levels } => format!("a thread for each point of the first {levels} levels"),
            Self::Rows { outer, inner, team: Team { threads, .. } } => {
                format!(
                    "a block of {threads} threads for each point of the first {outer}, which share the next {inner}"
                )
            }
            Self::Fold { inner, team: Team { threads, .. } } => {
                format!("blocks of {threads} threads fold 4,096 elements each of the first {inner}, one folds the rest")
            }
            Self::Chunks { levels: 0 } => "a thread for each chunk of a scatter".to_owned(),
            Self::Chunks { levels } => {
                format!(
                    "a block of threads for each chunk of a scatter, which share the first {levels}, and the targets"
                )
            }
            Self::Tiles(Tiles { team: Team { threads, .. }, .. }) => {
                format!("blocks of {threads} threads take tiles, with look-back")
            }
        }
    }
}

/// Most steps of a level that one thread reduces, where their number is known.
const FEW: i64 = 32;

/// Bytes of shared memory in which the threads of a block exchange what they combine, at most.
const EXCHANGED: u64 = 47 << 10;
/// Threads of a block that makes the elements of a chunk of a scatter.
pub(crate) const CHUNK_THREADS: u32 = 256;
/// The same where elements of a chunk are in shared memory too.
const TILES_EXCHANGED: u64 = 20 << 10;

/// Bytes of shared memory in which threads exchange what they combine: of reduces to a depth, and of what carries from tile to tile.
fn exchanged(kernel: &Kernel, to: usize, threads: u32, tiles: bool) -> u64 {
    let components = kernel.statements.iter().map(|statement| match &statement.action {
        Action::Reduce { to: own, results, .. } if *own as usize == to => results.len() as u64 + 1,
        Action::Scan { results, .. } if tiles && statement.depth == 1 => results.len() as u64 + 1,
        Action::Append { .. } if tiles && statement.depth > 0 => 2,
        _ => 0,
    });
    components.sum::<u64>() * 8 * u64::from(threads)
}

/// The form of a kernel.
pub(crate) fn form(kernel: &Kernel) -> Form {
    if kernel.levels.is_empty() {
        return Form::One;
    }
    if is_in_chunks(kernel) {
        return Form::Chunks { levels: chunk_levels(kernel) };
    }
    let free = (0..kernel.levels.len()).take_while(|&level| is_free(kernel, level)).count();
    if free == 0 {
        return match shared(kernel, 0) {
            Some((inner, team)) => Form::Fold { inner, team },
            None => tiles(kernel).map_or(Form::One, Form::Tiles),
        };
    }
    let flat = 1 + (1..free).take_while(|&level| is_flat(kernel, level)).count();
    let few = kernel.levels.get(flat).and_then(trip_count).is_some_and(|steps| steps <= FEW);
    if flat == free
        && !few
        && !scatters(kernel)
        && let Some((inner, team)) = shared(kernel, flat)
    {
        return Form::Rows { outer: flat, inner, team };
    }
    Form::Points { levels: flat }
}

fn scatters(kernel: &Kernel) -> bool {
    kernel.statements.iter().any(|statement| matches!(statement.action, Action::Scatter { .. }))
}

/// Whether the steps of a level depend on each other in nothing.
fn is_free(kernel: &Kernel, level: usize) -> bool {
    kernel.statements.iter().all(|statement| {
        let depth = statement.depth as usize;
        match &statement.action {
            Action::Reduce { to, .. } => *to as usize > level || depth <= level,
            Action::Scan { .. } => depth != level + 1,
            Action::Append { .. } => depth <= level,
            Action::Scatter { order, .. } => {
                depth <= level || matches!(order, ScatterOrder::Any | ScatterOrder::Unique)
            }
            _ => true,
        }
    })
}

/// Whether a level's points can be numbered together with those of the levels around it: its bounds are known before all levels, and what
/// stands around it can be computed at each of its points instead.
fn is_flat(kernel: &Kernel, level: usize) -> bool {
    let known = depths(kernel);
    let outer = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(id) => known.get(&id) == Some(&0),
        ScalarOperand::Constant(_) => true,
        ScalarOperand::Outer(_) => false,
    };
    let bounds = &kernel.levels[level];
    outer(bounds.from) && outer(bounds.to)
        && kernel.statements.iter().filter(|statement| statement.depth as usize == level).all(|statement| match &statement.action {
            Action::Load { array, map, outside, .. } => {
                !map.checked && outside.as_ref().is_none_or(cannot_fail) && !may_be_overwritten(kernel, *array)
            }
            Action::Scalar(instruction) => instruction_cannot_fail(instruction),
            _ => false,
        })
        // A reduce that ends at this depth has its results used here.
        && !kernel.statements.iter().any(|statement| {
            matches!(&statement.action, Action::Reduce { to, .. } if *to as usize == level)
        })
}

/// Whether a function fails nowhere.
pub(crate) fn cannot_fail(function: &Lambda) -> bool {
    function.instructions.iter().all(instruction_cannot_fail)
}

fn instruction_cannot_fail(instruction: &Instruction) -> bool {
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

/// Whether the kernel may write another array over this one.
fn may_be_overwritten(kernel: &Kernel, array: KernelArrayId) -> bool {
    kernel.arrays.iter().any(|other| other.in_place_of == Some(array))
}

/// Whether the levels from `from` on can be shared by threads that combine: how many of them, and by which threads. All reduces then give
/// their results before those levels, in the same lanes, or so that every order is right.
fn shared(kernel: &Kernel, from: usize) -> Option<(usize, Team)> {
    let mut deepest = from;
    let mut lanes = None;
    let mut any = false;
    for statement in &kernel.statements {
        let depth = statement.depth as usize;
        match &statement.action {
            Action::Reduce { to, association, combine, .. } if *to as usize == from => {
                any = true;
                deepest = deepest.max(depth - 1);
                if is_exact(combine) {
                    continue;
                }
                let own = match *association {
                    Association::Interleaved { lanes } => Lanes::Interleaved(lanes),
                    Association::Runs { lanes } => Lanes::Runs(lanes),
                    _ => return None,
                };
                if lanes.is_some_and(|lanes| lanes != own) {
                    return None;
                }
                lanes = Some(own);
            }
            Action::Reduce { to, .. } if (*to as usize) < from && depth > from => return None,
            Action::Scan { .. } if depth == from + 1 => return None,
            Action::Append { .. } if depth > from => return None,
            Action::Scatter { order, .. }
                if depth > from && !matches!(order, ScatterOrder::Any | ScatterOrder::Unique) =>
            {
                return None;
            }
            _ => {}
        }
    }
    let team = team(lanes, if from == 0 { 256 } else { 64 })?;
    if !any || exchanged(kernel, from, team.threads, false) > EXCHANGED {
        return None;
    }
    // Inner levels are numbered together with the first; what is reduced over them all comes from the deepest.
    let flat = (from + 1..=deepest).all(|level| is_flat_in(kernel, level, from));
    let same = kernel.statements.iter().all(|statement| match &statement.action {
        Action::Reduce { to, .. } if *to as usize == from => statement.depth as usize == deepest + 1,
        Action::Reduce { to, .. } => *to as usize <= from || *to as usize > deepest,
        Action::Scan { .. } => statement.depth as usize > deepest + 1 || statement.depth as usize <= from,
        _ => true,
    });
    (flat && same).then_some((deepest + 1 - from, team))
}

/// The threads that have these lanes, or as many as are wanted where every order is right; none if there would be too many.
fn team(lanes: Option<Lanes>, wanted: u32) -> Option<Team> {
    let Some(lanes) = lanes else { return Some(Team { threads: wanted, lanes: Lanes::Interleaved(wanted) }) };
    let (Lanes::Interleaved(count) | Lanes::Runs(count) | Lanes::Kept(count)) = lanes;
    (count <= 1024).then_some(Team { threads: count.max(32), lanes })
}

/// As [`is_flat`], where bounds may be made at depths up to `from`.
fn is_flat_in(kernel: &Kernel, level: usize, from: usize) -> bool {
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
}

/// Whether scatters are in chunks of the outermost level, and nothing else is in an order.
fn is_in_chunks(kernel: &Kernel) -> bool {
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

/// How many levels the threads of a block number together to make the elements of scatters in chunks; 0 where they cannot.
fn chunk_levels(kernel: &Kernel) -> usize {
    let mut depths = kernel.statements.iter().filter_map(|statement| match &statement.action {
        Action::Scatter { arrays, order: ScatterOrder::Chunks | ScatterOrder::InOrder, .. } if statement.depth > 0 => {
            Some((statement.depth as usize, 8 + 8 * arrays.len() as u64))
        }
        _ => None,
    });
    let Some((depth, mut bytes)) = depths.next() else { return 0 };
    let mut same = true;
    depths.for_each(|(other, more)| {
        same &= other == depth;
        bytes += more;
    });
    let fits = bytes * u64::from(CHUNK_THREADS) <= EXCHANGED;
    if same && fits && (1..depth).all(|level| is_flat(kernel, level)) { depth } else { 0 }
}

/// How the outermost level is in tiles, if it can be: by scans whose elements do not need each other's results, or by an append, beside reduces
/// that the threads of a block share.
fn tiles(kernel: &Kernel) -> Option<Tiles> {
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
                    Association::Tiles { total_lanes, .. } if *total_lanes > 0 && agrees(*total_lanes) => exact = false,
                    _ => return None,
                }
            }
            Action::Append { .. } if statement.depth > 0 => appends = true,
            Action::Reduce { to: 0, combine, association, .. } if !is_exact(combine) => match association {
                // Its lanes are threads that take every step in turn.
                Association::Interleaved { lanes: own @ 32.. } if statement.depth == 1 && agrees(*own) => {}
                _ => return None,
            },
            Action::Scatter { order, .. }
                if statement.depth > 0 && !matches!(order, ScatterOrder::Any | ScatterOrder::Unique) =>
            {
                return None;
            }
            _ => {}
        }
    }
    if scans == appends || (scans && !has_totals(kernel)) {
        return None;
    }
    let team = team(lanes.map(Lanes::Interleaved), 256)?;
    (exchanged(kernel, 0, team.threads, true) <= TILES_EXCHANGED).then_some(Tiles { team, exact })
}
