//! Very long rows: who meets one leaves it in a list, and all warps of the next entry share its pieces of 4,096 steps. What these give, if the row is reduced,
//! is combined by a further entry, as a warp alone would: pieces by themselves, then their results.

use fusebox_ir::{Action, Constant, ElementType, Kernel, KernelArrayId, association::BLOCK};
use fusebox_schedule::grid::{LongRows, WARP};

use super::{
    Building, around, axes,
    elements::{block_of, fold, own_steps_of},
    fold::stop_if_failed,
    meeting::{agree, phase},
    once, prologue, pure,
    row_steps::{apart_steps, team},
    rows::warps,
    shared::{leave, reset_all, results, shared},
    tree::tree,
};
use crate::{
    emit::{Emitter, Result, parts},
    module::{Argument, Quantity},
    state::{Accumulator, Together},
    text::{Class, Reg},
    value::Val,
};

/// Rows that are left at most. Where there are more each warp has rows enough.
const MOST_ROWS: i64 = 1024;
/// Bytes of the list before its rows: how many were met, and pieces of all of them.
const HEAD: i64 = 16;
/// Bytes of a row in the list: its number, its first piece among those of all rows, how many it has.
const ROW: i64 = 24;
/// Blocks that share pieces, at most.
const BLOCKS: i64 = 256;

/// Where very long rows are left.
pub(super) struct VeryLong {
    outer: usize,
    threads: u32,
    long: LongRows,
    /// From how many steps on a row is very long.
    cut: u32,
    list: Argument,
    /// For each reduce what pieces give.
    partial: Vec<Argument>,
}

/// What scatters need beside their targets: locks, and words of packed pairs.
pub(super) struct Scatters {
    pub(super) locks: Option<Argument>,
    pub(super) packed: Vec<(usize, Argument)>,
}

impl Scatters {
    /// An entry that scatters knows where they are.
    pub(super) fn known_to(&self, e: &mut Emitter<'_>) {
        e.locks = self.locks.map(|locks| e.argument(locks));
        e.packed = self.packed.iter().map(|&(position, memory)| (position, e.argument(memory))).collect();
    }
}

/// How many pieces there is room for: what is reduced goes through elements of arrays, mostly each of them once.
fn room(kernel: &Kernel) -> Quantity {
    let arrays = (0..kernel.arrays.len()).map(|at| Quantity::Elements(KernelArrayId::at(at)).pieces(BLOCK).times(2));
    arrays.fold(Quantity::Number(0), Quantity::plus)
}

impl VeryLong {
    pub(super) fn new(
        building: &mut Building<'_>,
        (outer, threads): (usize, u32),
        (long, cut): (LongRows, u32),
    ) -> Self {
        let kernel = building.kernel;
        let list = building.scratch(Quantity::Number(HEAD + ROW * MOST_ROWS), true);
        let reduces = kernel.statements.iter().filter_map(|statement| match &statement.action {
            Action::Reduce { to, results, .. } if *to as usize == outer => Some(8 * results.len() as i64 + 8),
            _ => None,
        });
        let partial = reduces.map(|stride| building.scratch(room(kernel).times(stride), false)).collect();
        Self { outer, threads, long, cut, list, partial }
    }

    /// Memory that entries share.
    pub(super) fn memory(&self) -> impl Iterator<Item = Argument> {
        std::iter::once(self.list).chain(self.partial.iter().copied())
    }

    /// Leaves a row to others, if it is very long and there is room: whether it is left.
    pub(super) fn leave(&self, e: &mut Emitter<'_>, (row, steps): (Val, Val), lowest: Reg) -> Result<Reg> {
        let is_left = e.c.variable(Constant::from(false).into());
        let list = e.argument(self.list);
        let very_long = e.c.compare("ge", steps, i64::from(self.cut).into());
        e.only_if(very_long, |e| {
            e.only_if(lowest, |e| {
                let number = added(e, list, 0, 1i64.into());
                let some = e.c.compare("lt", number, MOST_ROWS.into());
                e.only_if(some, |e| {
                    let pieces = e.pieces(steps, BLOCK);
                    let first = if self.partial.is_empty() { 0i64.into() } else { added(e, list, 8, pieces) };
                    let fits = if self.partial.is_empty() {
                        e.c.compare("ge", pieces, 0i64.into())
                    } else {
                        let end = e.c.add(first, pieces);
                        let room = self.room(e)?;
                        e.c.compare("le", end, room)
                    };
                    let place = e.address(list, number, ROW as u64);
                    let pieces = e.c.select(fits, pieces, 0i64.into());
                    for (at, value) in (0u64..).zip([row, first, pieces]) {
                        e.store_to("global", place, HEAD as u64 + 8 * at, value);
                    }
                    e.c.assign(is_left, Val::new(ElementType::Bool, fits));
                    Ok(())
                })
            })?;
            // The lowest thread says it to the others.
            let said = e.c.shuffle_from(Val::new(ElementType::Bool, is_left), Constant::from(0u32).into());
            e.c.assign(is_left, said);
            Ok(())
        })?;
        Ok(is_left)
    }

    /// How many pieces there is room for.
    fn room(&self, e: &mut Emitter<'_>) -> Result<Val> {
        let mut room = Val::from(0i64);
        for at in 0..e.kernel.arrays.len() {
            let size = e.size(KernelArrayId::at(at))?;
            let pieces = e.pieces(size, BLOCK);
            let twice = e.c.add(pieces, pieces);
            room = e.c.add(room, twice);
        }
        Ok(room)
    }

    /// An entry begins that goes through the rows that were left. Mostly none is so long, and nothing is to be done.
    fn begin(&self, e: &mut Emitter<'_>, scatters: &Scatters) -> Result {
        stop_if_failed(e);
        let (list, exit) = (e.argument(self.list), e.exit);
        let met = e.load_from("global", ElementType::I64, list, 0);
        let none = e.c.compare("eq", met, 0i64.into());
        e.c.op(format_args!("@{none} bra {exit}"));
        e.failed = Some(e.c.variable(Constant::from(false).into()));
        e.by_warps = true;
        scatters.known_to(e);
        prologue(e, 0..e.kernel.statements.len())
    }

    /// Goes through the rows that were left, with the first piece and the number of pieces of each; they have been entered.
    fn each<'k>(
        &self,
        e: &mut Emitter<'k>,
        (first, stride): (Val, Val),
        inside: impl FnOnce(&mut Emitter<'k>, std::ops::Range<usize>, (Val, Val)) -> Result,
    ) -> Result {
        let kernel = e.kernel;
        let (_, deeper, _) = parts(kernel, 0, 0..kernel.statements.len());
        let rows = axes(e, 0..self.outer)?;
        let list = e.argument(self.list);
        let met = e.load_from("global", ElementType::I64, list, 0);
        let met = e.c.text(met);
        let count = e.c.make(ElementType::I64, "min.s64", &[&met, &MOST_ROWS.to_string()]);
        e.stride_up(first, count, stride, |e, number| {
            let place = e.address(list, number, ROW as u64);
            let [row, first, pieces] =
                [0, 8, 16].map(|at| e.load_from("global", ElementType::I64, place, HEAD as u64 + at));
            let some = e.c.compare("gt", pieces, 0i64.into());
            e.only_if(some, |e| {
                e.enter_all(&rows, row);
                let range = around(e, 1..self.outer, deeper)?;
                let (before, _, _) = parts(kernel, self.outer, range.clone());
                pure(e, before)?;
                inside(e, range, (first, pieces))
            })
        })
    }
}

/// Adds to a word of 64 bits that all share: gives what was there.
fn added(e: &mut Emitter<'_>, base: Reg, offset: u64, value: Val) -> Val {
    let before = e.c.reg(Class::Double);
    let value = e.c.text(value);
    e.c.op(format_args!("atom.global.add.u64 {before}, [{base}+{offset}], {value}"));
    Val::new(ElementType::I64, before)
}

impl Building<'_> {
    /// The entries that go through the rows that were left.
    pub(super) fn very_long(&mut self, cut: &VeryLong, more: &[Argument], scatters: &Scatters) -> Result {
        let (kernel, outer) = (self.kernel, cut.outer);
        let team = team(kernel, outer, cut.long);
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, more);
        cut.begin(&mut e, scatters)?;
        let (thread, warp, warps_of_grid) = warps(&mut e, cut.threads / WARP);
        let lowest = e.c.compare("eq", thread, 0i64.into());
        let own = if cut.partial.is_empty() { Vec::new() } else { shared(&mut e, outer, team, Some(BLOCK))? };
        cut.each(&mut e, (0i64.into(), 1i64.into()), |e, range, (first, pieces)| {
            let (_, steps, _) = parts(kernel, outer, range);
            let axis = e.axis(outer)?;
            // The pieces of each row begin with another warp.
            let turns = e.quotient(first, warps_of_grid);
            let skipped = e.c.mul(turns, warps_of_grid);
            let skipped = e.c.sub(first, skipped);
            let from = e.c.sub(warp, skipped);
            let later = e.c.add(from, warps_of_grid);
            let before = e.c.compare("lt", from, 0i64.into());
            let from = e.c.select(before, later, from);
            e.stride_up(from, pieces, warps_of_grid, |e, piece| {
                let bounds = block_of(e, piece, axis.steps);
                if own.is_empty() {
                    let from = e.c.add(bounds.0, thread);
                    apart_steps(e, &axis, steps, (from, bounds.1))?;
                } else {
                    reset_all(e, &own);
                    own_steps_of(e, &own, (thread, team), bounds, &mut |e, step| {
                        e.enter(&axis, step);
                        e.depth(outer + 1, steps.clone())
                    })?;
                    tree(e, &own, thread, team)?;
                    let at = e.c.add(first, piece);
                    e.only_if(lowest, |e| leave(e, &own, &cut.partial, at))?;
                }
                agree(e);
                Ok(())
            })
        })?;
        let warps = i64::from(cut.threads / WARP);
        let blocks = if cut.partial.is_empty() { Quantity::Number(BLOCKS) } else { room(kernel).pieces(warps) };
        let blocks = blocks.at_most(BLOCKS);
        let made = e.finish("pieces", blocks, cut.threads)?;
        self.entries.push(made);
        if cut.partial.is_empty() { Ok(()) } else { self.combined_pieces(cut, more, scatters) }
    }

    /// The entry that combines what pieces gave: a warp for each row.
    fn combined_pieces(&mut self, cut: &VeryLong, more: &[Argument], scatters: &Scatters) -> Result {
        let (kernel, outer) = (self.kernel, cut.outer);
        let team = team(kernel, outer, cut.long);
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, more);
        cut.begin(&mut e, scatters)?;
        let (thread, warp, warps) = warps(&mut e, cut.threads / WARP);
        let lowest = e.c.compare("eq", thread, 0i64.into());
        let mut own = shared(&mut e, outer, team, None)?;
        let sources: Vec<_> = (own.iter().zip(&cut.partial))
            .map(|(each, &argument)| {
                (each.position, each.combine, each.down, each.stride(), each.types.clone(), e.argument(argument))
            })
            .collect();
        cut.each(&mut e, (warp, warps), |e, range, (first, pieces)| {
            let (before, _, behind) = parts(kernel, outer, range);
            fold(e, &mut own, (thread, team), pieces, &mut |e, piece| {
                let at = e.c.add(first, piece);
                for (position, combine, down, stride, types, base) in &sources {
                    let place = e.address(*base, at, *stride);
                    let element = e.read_maybe("global", place, types);
                    // Into the lane whose turn it is.
                    let Some(Together::Own { accumulators, present }) = e.together.get(position).cloned() else {
                        return Err(e.broken("a reduce that nobody combines"));
                    };
                    e.combine_into(combine, &Accumulator { values: accumulators, present }, &element, *down)?;
                }
                Ok(())
            })?;
            phase(e, |e| {
                e.only_if(lowest, |e| {
                    results(e, &mut own)?;
                    once(e, before, behind)
                })
            })?;
            agree(e);
            Ok(())
        })?;
        // A very long row has more than one piece.
        let of_block = i64::from(cut.threads / WARP) * (i64::from(cut.cut) / BLOCK).max(1);
        let blocks = room(kernel).pieces(of_block).at_most(MOST_ROWS);
        let made = e.finish("pieces_combined", blocks, cut.threads)?;
        self.entries.push(made);
        Ok(())
    }
}
