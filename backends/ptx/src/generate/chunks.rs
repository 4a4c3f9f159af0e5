//! A thread for each chunk of a scatter that rounds, with copies of its targets.

use fusebox_ir::{Action, ElementType, Kernel, KernelArrayId, ScatterOrder, Statement};

use std::ops::Range;

use super::{
    Building, THREADS, around, axes,
    fold::stop_if_failed,
    grid, is_once,
    meeting::{agree, phase},
    once, prologue,
};
use crate::{
    emit::{Emitter, Result, parts},
    module::{Argument, Quantity},
    state::Chunk,
    text::Space,
    value::Val,
};

/// Steps of a chunk, and how many chunks there are, as [`fusebox_ir::association::chunks`] says.
fn chunks(e: &mut Emitter<'_>, steps: Val, of: &Chunked) -> Result<(Val, Val)> {
    if of.in_order {
        let text = e.c.text(steps);
        return Ok((e.c.make(ElementType::I64, "max.s64", &[&text, "1"]), 1i64.into()));
    }
    let targets = e.size(of.array)?;
    let four = e.c.mul(targets, 4i64.into());
    let text = e.c.text(four);
    let least = e.c.make(ElementType::I64, "max.s64", &[&text, "16384"]);
    let (steps_text, least) = (e.c.text(steps), e.c.text(least));
    let count = e.c.make(ElementType::I64, "div.s64", &[&steps_text, &least]);
    let count = e.c.text(count);
    let count = e.c.make(ElementType::I64, "max.s64", &[&count, "1"]);
    let count = e.c.text(count);
    let count = e.c.make(ElementType::I64, "min.s64", &[&count, "64"]);
    let more = e.c.add(steps, count);
    let more = e.c.add(more, (-1i64).into());
    let (more, by) = (e.c.text(more), e.c.text(count));
    let length = e.c.make(ElementType::I64, "div.s64", &[&more, &by]);
    let length = e.c.text(length);
    Ok((e.c.make(ElementType::I64, "max.s64", &[&length, "1"]), count))
}

/// A scatter in chunks: its statement, its first target, bytes of an accumulator of a copy.
#[derive(Clone, Copy)]
pub(super) struct Chunked {
    position: usize,
    array: KernelArrayId,
    stride: u64,
    /// Whether all steps are one chunk.
    in_order: bool,
}

impl Chunked {
    /// How many copies of its targets there are.
    fn copies(&self) -> Quantity {
        if self.in_order { Quantity::Number(0) } else { Quantity::Copies(self.array) }
    }
}

/// The scatters in chunks of steps of the outermost level, or in the order of all of them.
pub(super) fn chunked(kernel: &Kernel) -> Vec<Chunked> {
    let scatter = |(position, statement): (usize, &Statement)| match &statement.action {
        Action::Scatter { arrays, order: order @ (ScatterOrder::Chunks | ScatterOrder::InOrder), .. }
            if statement.depth > 0 =>
        {
            let stride = 8 * arrays.len() as u64 + 8;
            Some(Chunked { position, array: *arrays.first()?, stride, in_order: *order == ScatterOrder::InOrder })
        }
        _ => None,
    };
    kernel.statements.iter().enumerate().filter_map(scatter).collect()
}

impl Building<'_> {
    /// Copies for scatters.
    pub(super) fn copies(&mut self, scatters: &[Chunked]) -> Vec<Argument> {
        let copies = scatters.iter().map(|each| {
            let size = Quantity::Elements(each.array).times(each.stride as i64);
            Quantity::Times(Box::new(each.copies()), Box::new(size))
        });
        let copies: Vec<Quantity> = copies.collect();
        copies.into_iter().map(|bytes| self.scratch(bytes, true)).collect()
    }

    pub(super) fn chunks(&mut self, levels: usize, threads: u32) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let scatters = chunked(kernel);
        let Some(&each) = scatters.first() else {
            return Err(super::unsupported(kernel, "chunks of no scatter"));
        };
        let scratch = self.copies(&scatters);
        let locks = self.locks();
        let more: Vec<Argument> = scratch.iter().copied().chain(locks).collect();

        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &more);
        e.locks = locks.map(|locks| e.argument(locks));
        let (before, inner, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all.clone())?;
        let axis = e.axis(0)?;
        let (length, _) = chunks(&mut e, axis.steps, &each)?;
        let chunk = e.special("ctaid.x");
        let start = e.c.mul(chunk, length);
        let end = e.c.add(start, length);
        let (x, y) = (e.c.text(end), e.c.text(axis.steps));
        let end = e.c.make(ElementType::I64, "min.s64", &[&x, &y]);
        let is_copy = e.c.compare("gt", chunk, 0i64.into());
        let before_this = e.c.add(chunk, (-1i64).into());
        for (each, &argument) in scatters.iter().zip(&scratch) {
            let size = e.size(each.array)?;
            let skipped = e.c.mul(before_this, size);
            let base = e.argument(argument);
            let copy = e.address(base, skipped, each.stride);
            e.chunks.push(Chunk { statement: each.position, is_copy, copy, steps: None });
        }
        let mut first = e.c.not(is_copy);
        if levels == 0 {
            e.stride_up(start, end, 1i64.into(), |e, step| {
                e.enter(&axis, step);
                e.depth(1, inner)
            })?;
        } else {
            let thread = e.special("tid.x");
            e.failed = Some(e.c.variable(fusebox_ir::Constant::from(false).into()));
            by_owners(&mut e, (levels, inner), (start, end), (thread, threads), &scatters)?;
            let alone = e.c.compare("eq", thread, 0i64.into());
            first = e.c.both(first, alone);
        }
        if is_once(kernel, &before, &behind) {
            e.only_if(first, |e| once(e, before, behind))?;
        }
        let (mut entry, text) = e.finish("chunks", each.copies(), threads)?;
        entry.any_blocks = false;
        // One more than copies.
        entry.one_more = true;
        self.entries.push((entry, text));

        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &more);
        stop_if_failed(&mut e);
        prologue(&mut e, all)?;
        let axis = e.axis(0)?;
        let grid = grid(&mut e);
        merge(&mut e, (&scatters, &scratch), axis.steps, grid)?;
        let made = e.finish("copies", Quantity::Elements(each.array).pieces(THREADS.into()), THREADS)?;
        self.entries.push(made);
        Ok(())
    }
}

/// The threads of a block make the elements of a chunk, as many at a time as there are threads. Then each combines those whose targets are its
/// own, in source order: the target's number modulo the threads says whose it is.
fn by_owners(
    e: &mut Emitter<'_>,
    (levels, inner): (usize, Range<usize>),
    (start, end): (Val, Val),
    (thread, threads): (Val, u32),
    scatters: &[Chunked],
) -> Result {
    let kernel = e.kernel;
    let axes = axes(e, 0..levels)?;
    let points = e.points(&axes[1..]);
    let (first, last) = (e.c.mul(start, points), e.c.mul(end, points));
    let mut staged = Vec::new();
    for each in scatters {
        let base = e.c.memory(Space::Shared, each.stride * u64::from(threads));
        let place = e.address(base, thread, each.stride);
        staged.push((base, place));
        e.staged.insert(each.position, place);
    }
    e.stride_up(first, last, i64::from(threads).into(), |e, batch| {
        for &(_, place) in &staged {
            e.store_to("shared", place, 0, (-1i64).into());
        }
        let point = e.c.add(batch, thread);
        phase(e, |e| {
            let there = e.c.compare("lt", point, last);
            e.only_if(there, |e| {
                e.enter_all(&axes, point);
                let inside = around(e, 1..levels, inner)?;
                e.depth(levels, inside)
            })
        })?;
        agree(e);
        let rest = e.c.sub(last, batch);
        let rest = e.c.text(rest);
        let count = e.c.make(ElementType::I64, "min.s64", &[&rest, &threads.to_string()]);
        for (each, &(base, _)) in scatters.iter().zip(&staged) {
            let statement = &kernel.statements[each.position];
            let Action::Scatter { arrays, combine, .. } = &statement.action else { continue };
            e.operation = kernel.operation(statement);
            let Some(&chunk) = e.chunks.iter().find(|chunk| chunk.statement == each.position) else { continue };
            phase(e, |e| {
                e.count_up(count, |e, at| {
                    let place = e.address(base, at, each.stride);
                    let target = e.load_from("shared", ElementType::I64, place, 0);
                    let text = e.c.text(target);
                    // What takes no part has no target: its sign stays.
                    let mask = (u64::from(threads) - 1) | 1 << 63;
                    let owner = e.c.make(ElementType::I64, "and.b64", &[&text, &format!("{mask:#x}")]);
                    let own = e.c.compare("eq", owner, thread);
                    e.only_if(own, |e| {
                        let load = |(component, array): (usize, &KernelArrayId)| {
                            let ty = kernel.arrays[array.index()].element;
                            e.load_from("shared", ty, place, 8 + 8 * component as u64)
                        };
                        let values: Vec<Val> = arrays.iter().enumerate().map(load).collect();
                        e.scatter_to_chunk(arrays, target, (chunk.is_copy, chunk.copy), combine, &values)
                    })
                })
            })?;
        }
        agree(e);
        Ok(())
    })
}

/// Where the one thread that goes through all steps puts the elements of scatters in chunks.
pub(super) fn by_steps(e: &mut Emitter<'_>, (scatters, scratch): (&[Chunked], &[Argument])) -> Result {
    if scatters.is_empty() {
        return Ok(());
    }
    let axis = e.axis(0)?;
    for (each, &argument) in scatters.iter().zip(scratch) {
        let (length, _) = chunks(e, axis.steps, each)?;
        let (size, base) = (e.size(each.array)?, e.argument(argument));
        let is_copy = e.c.variable(fusebox_ir::Constant::from(false).into());
        let copy = e.c.variable(0i64.into());
        e.chunks.push(Chunk { statement: each.position, is_copy, copy, steps: Some((length, base, size)) });
    }
    Ok(())
}

/// Combines copies into the targets, in order: threads share the targets.
pub(super) fn merge(
    e: &mut Emitter<'_>,
    (scatters, scratch): (&[Chunked], &[Argument]),
    steps: Val,
    (thread, threads): (Val, Val),
) -> Result {
    let kernel = e.kernel;
    for (each, &argument) in scatters.iter().zip(scratch) {
        let statement = &kernel.statements[each.position];
        let Action::Scatter { arrays, combine, .. } = &statement.action else { continue };
        e.operation = kernel.operation(statement);
        let (_, count) = chunks(e, steps, each)?;
        let copies = e.c.add(count, (-1i64).into());
        let types: Vec<ElementType> = arrays.iter().map(|array| kernel.arrays[array.index()].element).collect();
        let (size, base) = (e.size(each.array)?, e.argument(argument));
        e.stride_up(thread, size, threads, |e, target| {
            e.count_up(copies, |e, copy| {
                let row = e.c.mul(copy, size);
                let at = e.c.add(row, target);
                let place = e.address(base, at, each.stride);
                let new = e.read_maybe("global", place, &types);
                let put = |e: &mut Emitter<'_>| e.scatter_alone(arrays, target, combine, &new.values);
                match new.present {
                    Some(present) => e.only_if(present, put),
                    None => put(e),
                }
            })
        })?;
    }
    Ok(())
}
