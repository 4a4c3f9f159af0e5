//! A thread for each chunk of a scatter that rounds, with copies of its targets.

use fusebox_ir::{Action, ElementType, Kernel, KernelArrayId, ScatterOrder, Statement};

use super::{Building, THREADS, fold::stop_if_failed, grid, is_once, once, prologue};
use crate::{
    emit::{Emitter, Result, parts},
    module::{Argument, Quantity},
    statement::scatter::Chunk,
    value::Val,
};

/// Steps of a chunk, and how many chunks there are, as [`fusebox_ir::association::chunks`] says.
fn chunks(e: &mut Emitter<'_>, steps: Val, targets: KernelArrayId) -> Result<(Val, Val)> {
    let targets = e.size(targets)?;
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
}

/// The scatters in chunks of steps of the outermost level.
pub(super) fn chunked(kernel: &Kernel) -> Vec<Chunked> {
    let scatter = |(position, statement): (usize, &Statement)| match &statement.action {
        Action::Scatter { arrays, order: ScatterOrder::Chunks, .. } if statement.depth > 0 => {
            Some(Chunked { position, array: *arrays.first()?, stride: 8 * arrays.len() as u64 + 8 })
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
            Quantity::Times(Box::new(Quantity::Copies(each.array)), Box::new(size))
        });
        let copies: Vec<Quantity> = copies.collect();
        copies.into_iter().map(|bytes| self.scratch(bytes, true)).collect()
    }

    pub(super) fn chunks(&mut self) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let scatters = chunked(kernel);
        let Some(&Chunked { array: targets, .. }) = scatters.first() else {
            return Err(super::unsupported(kernel, "chunks of no scatter"));
        };
        let scratch = self.copies(&scatters);
        let locks = self.locks();
        let more: Vec<Argument> = scratch.iter().copied().chain(locks).collect();

        let mut e = Emitter::new(kernel, self.compute, &mut self.sites, &more);
        e.locks = locks.map(|locks| e.argument(locks));
        let (before, inner, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all.clone())?;
        let axis = e.axis(0)?;
        let (length, _) = chunks(&mut e, axis.steps, targets)?;
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
        let first = e.c.not(is_copy);
        e.stride_up(start, end, 1i64.into(), |e, step| {
            e.enter(&axis, step);
            e.depth(1, inner)
        })?;
        if is_once(kernel, &before, &behind) {
            e.only_if(first, |e| once(e, before, behind))?;
        }
        let (mut entry, text) = e.finish("chunks", Quantity::Copies(targets), 1)?;
        entry.any_blocks = false;
        // One more than copies.
        entry.one_more = true;
        self.entries.push((entry, text));

        let mut e = Emitter::new(kernel, self.compute, &mut self.sites, &more);
        stop_if_failed(&mut e);
        prologue(&mut e, all)?;
        let axis = e.axis(0)?;
        let grid = grid(&mut e);
        merge(&mut e, (&scatters, &scratch), axis.steps, grid)?;
        let made = e.finish("copies", Quantity::Elements(targets).pieces(THREADS.into()), THREADS)?;
        self.entries.push(made);
        Ok(())
    }
}

/// Where the one thread that goes through all steps puts the elements of scatters in chunks.
pub(super) fn by_steps(e: &mut Emitter<'_>, (scatters, scratch): (&[Chunked], &[Argument])) -> Result {
    if scatters.is_empty() {
        return Ok(());
    }
    let axis = e.axis(0)?;
    for (each, &argument) in scatters.iter().zip(scratch) {
        let (length, _) = chunks(e, axis.steps, each.array)?;
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
        let (_, count) = chunks(e, steps, each.array)?;
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
