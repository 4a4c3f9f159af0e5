//! Kernels to modules: the entries of each form.

mod chunks;
mod elements;
mod fold;
mod meeting;
mod neighbours;
mod points;
mod private;
mod row_scans;
mod row_steps;
mod rows;
mod shared;
mod short_rows;
mod tiled;
mod tiles;
mod tree;
mod very_long;

use std::ops::Range;

use fusebox_backend::BackendError;
use fusebox_ir::{
    Access, Action, Kernel, KernelArrayId, KernelExtent, ScalarOperand, ScatterOrder, Statement, StatementPart,
    analysis::algebra::built_ins,
};
use fusebox_schedule::{
    Machine, Preferences, Schedule, Target, check,
    grid::{self, Grid},
    schedule,
};

use crate::{
    emit::{Axis, Emitter, For, Result, What, parts, unsupported},
    failure::Site,
    module::{Argument, Entry, Module, Quantity, Scratch},
    statement::atomic::LOCKS,
    team::Team,
    value::Val,
};

/// Threads of a block where none of them needs to know of the others.
const THREADS: u32 = 256;

/// From how many elements of an array on positions have 64 bits.
pub const WIDE_FROM: i64 = 1 << 31;

/// Bits of positions in arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// 32, for launches in which no array has [`WIDE_FROM`] elements; 64 where the schedule wants them.
    Short,
    /// 64.
    Long,
}

/// The PTX of a kernel for a GPU, by the schedule that the scheduler chooses, with short positions.
///
/// # Errors
/// As [`emit_scheduled`].
pub fn emit(kernel: &Kernel, target: &Target) -> std::result::Result<Module, BackendError> {
    let scheduled = schedule(kernel, target, Preferences::default());
    emit_scheduled(kernel, &scheduled.schedule, target, Positions::Short)
}

/// The PTX of a kernel for a GPU, by a schedule.
///
/// # Errors
/// [`BackendError::Unsupported`] for what is not generated, [`BackendError::Compile`] for a schedule that [`check`] refuses, and a kernel that
/// breaks its own rules.
pub fn emit_scheduled(
    kernel: &Kernel,
    schedule: &Schedule,
    target: &Target,
    positions: Positions,
) -> std::result::Result<Module, BackendError> {
    let Machine::Gpu(gpu) = &target.machine else {
        return Err(unsupported(kernel, &format!("a target that is no GPU, {target}")));
    };
    let refused = |message| BackendError::Compile { kernel: kernel.name.0.clone(), message };
    check(kernel, schedule, target).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        refused(format!("its schedule is refused: {}", faults.join("; ")))
    })?;
    let Some(first) = schedule.versions.first() else { return Err(refused("its schedule is empty".to_owned())) };
    let grid = grid::read(kernel, &first.nest).map_err(refused)?;
    let made_for = For { compute: gpu.compute, narrow: first.narrow && positions == Positions::Short };
    let mut module = Building { kernel, made_for, sites: Vec::new(), entries: Vec::new(), scratch: Vec::new() };
    match grid {
        Grid::One => module.one()?,
        Grid::Points { levels, threads, items } => module.points((levels, threads, items), &first.nest.forms)?,
        Grid::Rows { outer, inner, threads } => {
            module.rows(outer, inner, Team::of_reduces(kernel, outer, threads), 1)?
        }
        Grid::WarpRows { outer, inner, warps } => module.rows(outer, inner, Team::warp(kernel, outer), warps)?,
        Grid::ShortOrLong { outer, threads, least, cut } => {
            module.short_or_long((outer, threads), (least, cut), &first.nest.forms)?
        }
        Grid::Tiled(tiled) => module.tiled(tiled, &first.nest.forms)?,
        Grid::Fold { inner, threads } => module.fold(inner, Team::of_reduces(kernel, 0, threads))?,
        Grid::Chunks { levels, threads } => module.chunks(levels, threads)?,
        Grid::Tiles { steps, threads } => module.tiles(steps, threads)?,
    }
    let levels = match grid {
        Grid::One => usize::from(!chunks::chunked(kernel).is_empty()),
        Grid::Points { levels, .. } => levels,
        Grid::Rows { outer, .. } | Grid::WarpRows { outer, .. } | Grid::ShortOrLong { outer, .. } => outer,
        Grid::Tiled(tiled) => tiled.of().points(),
        Grid::Fold { inner, .. } => inner,
        Grid::Chunks { .. } | Grid::Tiles { .. } => 1,
    };
    let counted = if (0..levels).all(|level| is_known(kernel, level)) { 0 } else { levels };
    let count = if counted > 0 { Some(module.count(counted)?) } else { None };
    let (major, minor) = gpu.compute;
    let mut text = format!(
        "// kernel {}: {}{}\n.version {}\n.target sm_{major}{minor}\n.address_size 64\n",
        kernel.name.0.replace('\n', " "),
        grid,
        if made_for.narrow { ", positions of 32 bits" } else { "" },
        version(gpu.compute)
    );
    for (_, entry) in count.iter().chain(&module.entries) {
        text.push('\n');
        text += entry;
    }
    Ok(Module {
        text,
        count: count.map(|(entry, _)| entry),
        counted,
        entries: module.entries.into_iter().map(|(entry, _)| entry).collect(),
        scratch: module.scratch,
        sites: module.sites,
        narrow: made_for.narrow,
        copied: copied(kernel, &grid),
        form: grid.to_string(),
    })
}

/// The version of PTX that knows an architecture.
pub(crate) fn version(compute: (u32, u32)) -> &'static str {
    match compute {
        (10.., _) => "8.6",
        (9, _) => "7.8",
        _ => "7.0",
    }
}

/// Whether sizes say how many steps a level has.
fn is_known(kernel: &Kernel, level: usize) -> bool {
    steps(kernel, &vec![0; kernel.sizes.len()], level).is_some()
}

/// How many steps a level has, for sizes of a launch; none where the kernel has to find out.
pub fn steps(kernel: &Kernel, sizes: &[i64], level: usize) -> Option<i64> {
    let number = |operand: ScalarOperand| match operand {
        ScalarOperand::Constant(constant) => constant.as_i64(),
        ScalarOperand::Local(id) => {
            let position = kernel.sizes.iter().position(|size| size.id == id)?;
            sizes.get(position).copied()
        }
        ScalarOperand::Outer(_) => None,
    };
    let level = kernel.levels.get(level)?;
    let (from, to) = (number(level.from)?, number(level.to)?);
    Some(to.checked_sub(from).unwrap_or(0).max(0))
}

/// How many elements an array has, for sizes of a launch.
pub fn elements(kernel: &Kernel, sizes: &[i64], array: KernelArrayId) -> i64 {
    let extent = |extent: &KernelExtent| match extent {
        KernelExtent::Constant(extent) => *extent,
        KernelExtent::Size(id) => {
            let position = kernel.sizes.iter().position(|size| size.id == *id);
            position.and_then(|position| sizes.get(position).copied()).unwrap_or(0)
        }
    };
    kernel.arrays.get(array.index()).map_or(0, |array| array.extents.iter().map(extent).fold(1, i64::saturating_mul))
}

/// Arrays that may be overwritten in place although several threads read the same element of them, or one reads it again.
fn copied(kernel: &Kernel, grid: &Grid) -> Vec<KernelArrayId> {
    if *grid == Grid::One {
        return Vec::new();
    }
    let shared_depth = grid.shared_levels();
    let overwritten = kernel.arrays.iter().filter_map(|array| array.in_place_of);
    let read_around = |array: KernelArrayId| {
        kernel.statements.iter().any(|statement| (statement.depth as usize) < shared_depth && reads(statement, array))
    };
    let mut arrays: Vec<KernelArrayId> = overwritten.filter(|&array| read_around(array)).collect();
    arrays.dedup();
    arrays
}

/// Whether a statement reads an array.
fn reads(statement: &Statement, array: KernelArrayId) -> bool {
    statement.parts().into_iter().any(|part| match part {
        StatementPart::Array(own, access) => own == array && access == Access::Read,
        StatementPart::Body(body) => body.reads(array.in_code()),
        StatementPart::Operand(_) | StatementPart::Index(_) | StatementPart::Result(_) => false,
    })
}

/// A module while its entries are made.
struct Building<'k> {
    kernel: &'k Kernel,
    made_for: For,
    sites: Vec<Site>,
    entries: Vec<(Entry, String)>,
    scratch: Vec<Scratch>,
}

impl Building<'_> {
    fn all(&self) -> Range<usize> {
        0..self.kernel.statements.len()
    }

    /// Scratch memory of so many bytes.
    fn scratch(&mut self, bytes: Quantity, zeros: bool) -> Argument {
        self.scratch.push(Scratch { bytes, zeros });
        Argument::Scratch(self.scratch.len() - 1)
    }

    /// Locks, if a scatter by several threads at once needs them.
    fn locks(&mut self) -> Option<Argument> {
        self.locks_but(|_| false)
    }

    /// The same, of scatters that are not at some positions.
    fn locks_but(&mut self, without: impl Fn(usize) -> bool) -> Option<Argument> {
        let needs = self.kernel.statements.iter().enumerate().any(|(position, statement)| match &statement.action {
            Action::Scatter { arrays, combine, order: ScatterOrder::Any, .. } => {
                arrays.len() > 1 && built_ins(combine).is_none() && !without(position)
            }
            _ => false,
        });
        needs.then(|| self.scratch(Quantity::Number(4 * LOCKS), true))
    }

    /// The whole kernel by one thread.
    fn one(&mut self) -> Result {
        let kernel = self.kernel;
        let all = self.all();
        let scatters = chunks::chunked(kernel);
        let scratch = self.copies(&scatters);
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &scratch);
        e.contended = false;
        e.begin_append();
        let (before, inner, behind) = parts(kernel, 0, all);
        e.statements(before)?;
        chunks::by_steps(&mut e, (&scatters, &scratch))?;
        if !inner.is_empty() {
            e.level(0, inner)?;
        }
        e.statements(behind)?;
        e.end_append()?;
        if !scatters.is_empty() {
            let steps = e.axis(0)?.steps;
            chunks::merge(&mut e, (&scatters, &scratch), steps, (0i64.into(), 1i64.into()))?;
        }
        let made = e.finish("one", Quantity::Number(1), 1)?;
        self.entries.push(made);
        Ok(())
    }

    /// The entry that counts the steps of the outer levels.
    fn count(&mut self, levels: usize) -> Result<(Entry, String)> {
        let kernel = self.kernel;
        let all = self.all();
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &[Argument::Steps]);
        let counts = e.argument(Argument::Steps);
        prologue(&mut e, all)?;
        for level in 0..levels {
            let axis = e.axis(level)?;
            e.store_to("global", counts, 8 * level as u64, axis.steps);
        }
        e.finish("count", Quantity::Number(1), 1)
    }
}

/// What stands before all levels and only computes, as every thread does it.
fn prologue(e: &mut Emitter<'_>, all: Range<usize>) -> Result {
    let (before, _, _) = parts(e.kernel, 0, all);
    pure(e, before)
}

fn pure(e: &mut Emitter<'_>, range: Range<usize>) -> Result {
    let what = std::mem::replace(&mut e.what, What::Pure);
    let result = e.statements(range);
    e.what = what;
    result
}

/// What is done once: effects of statements whose values are known already, and all of those behind.
fn once(e: &mut Emitter<'_>, before: Range<usize>, behind: Range<usize>) -> Result {
    // An append that is done once is done here.
    let appends = before
        .clone()
        .chain(behind.clone())
        .any(|position| matches!(e.kernel.statements[position].action, Action::Append { .. }));
    if appends {
        e.begin_append();
    }
    let what = std::mem::replace(&mut e.what, What::Effects);
    e.statements(before)?;
    e.what = what;
    e.statements(behind)?;
    if appends {
        e.end_append()?;
    }
    Ok(())
}

/// Whether [`once`] does anything.
fn is_once(kernel: &Kernel, before: &Range<usize>, behind: &Range<usize>) -> bool {
    let effect = |position: usize| {
        matches!(
            kernel.statements[position].action,
            Action::Store { .. } | Action::Append { .. } | Action::Scatter { .. }
        )
    };
    before.clone().any(effect) || !behind.is_empty()
}

/// The axes of levels whose bounds are known where the code stands.
fn axes(e: &mut Emitter<'_>, levels: Range<usize>) -> Result<Vec<Axis>> {
    levels.map(|level| e.axis(level)).collect()
}

/// Statements around levels that are numbered together, down to a depth: gives what is inside.
fn around(e: &mut Emitter<'_>, depths: Range<usize>, range: Range<usize>) -> Result<Range<usize>> {
    let mut range = range;
    for depth in depths {
        let (before, inner, _) = parts(e.kernel, depth, range);
        pure(e, before)?;
        range = inner;
    }
    Ok(range)
}

/// The number of this thread in the grid, and how many there are.
fn grid(e: &mut Emitter<'_>) -> (Val, Val) {
    let (block, width, thread, blocks) =
        (e.special("ctaid.x"), e.special("ntid.x"), e.special("tid.x"), e.special("nctaid.x"));
    let start = e.c.mul(block, width);
    (e.c.add(start, thread), e.c.mul(blocks, width))
}

/// A product of the steps of levels.
fn points_of(levels: Range<usize>) -> Quantity {
    let steps = levels.map(Quantity::Steps);
    steps.reduce(|a, b| Quantity::Times(Box::new(a), Box::new(b))).unwrap_or(Quantity::Number(1))
}
