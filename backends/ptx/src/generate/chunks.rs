//! A thread for each chunk of a scatter that rounds, with copies of its targets.

use fusebox_ir::{Action, ElementType, KernelArrayId, ScatterOrder};

use super::{Building, THREADS, fold::stop_if_failed, grid, is_once, once, prologue};
use crate::{
    emit::{Emitter, Result, parts},
    module::Quantity,
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

impl Building<'_> {
    pub(super) fn chunks(&mut self) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let scatters: Vec<(usize, KernelArrayId, u64)> = (kernel.statements.iter().enumerate())
            .filter_map(|(position, statement)| match &statement.action {
                Action::Scatter { arrays, order: ScatterOrder::Chunks, .. } => {
                    Some((position, *arrays.first()?, 8 * arrays.len() as u64 + 8))
                }
                _ => None,
            })
            .collect();
        let Some(&(_, targets, _)) = scatters.first() else {
            return Err(super::unsupported(kernel, "chunks of no scatter"));
        };
        let copies = Quantity::Copies(targets);
        let mut more = Vec::new();
        for &(_, array, stride) in &scatters {
            let size = Quantity::Elements(array).times(stride as i64);
            more.push(self.scratch(Quantity::Times(Box::new(copies.clone()), Box::new(size)), true));
        }
        let scratch = more.clone();
        let locks = self.locks();
        more.extend(locks);

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
        let mut places = Vec::new();
        for (&(position, array, stride), &argument) in scatters.iter().zip(&scratch) {
            let size = e.size(array)?;
            let skipped = e.c.mul(before_this, size);
            let base = e.argument(argument);
            places.push((position, e.address(base, skipped, stride)));
        }
        e.chunk = Some(Chunk { is_copy, copies: places });
        let first = e.c.not(is_copy);
        e.stride_up(start, end, 1i64.into(), |e, step| {
            e.enter(&axis, step);
            e.depth(1, inner)
        })?;
        if is_once(kernel, &before, &behind) {
            e.only_if(first, |e| once(e, before, behind))?;
        }
        // One more than copies.
        let (mut entry, text) = e.finish("chunks", Quantity::Pieces(Box::new(copies), 1), 1);
        entry.any_blocks = false;
        entry.one_more = true;
        self.entries.push((entry, text));

        let mut e = Emitter::new(kernel, self.compute, &mut self.sites, &more);
        stop_if_failed(&mut e);
        prologue(&mut e, all)?;
        let axis = e.axis(0)?;
        let (_, count) = chunks(&mut e, axis.steps, targets)?;
        let copies = e.c.add(count, (-1i64).into());
        let (thread, threads) = grid(&mut e);
        for (&(position, array, stride), &argument) in scatters.iter().zip(&scratch) {
            let statement = &kernel.statements[position];
            let Action::Scatter { arrays, combine, .. } = &statement.action else { continue };
            e.operation = kernel.operation(statement);
            let types: Vec<ElementType> = arrays.iter().map(|array| kernel.arrays[array.index()].element).collect();
            let (size, base) = (e.size(array)?, e.argument(argument));
            e.stride_up(thread, size, threads, |e, target| {
                e.count_up(copies, |e, copy| {
                    let row = e.c.mul(copy, size);
                    let at = e.c.add(row, target);
                    let place = e.address(base, at, stride);
                    let new = e.read_maybe("global", place, &types);
                    let put = |e: &mut Emitter<'_>| e.scatter_alone(arrays, target, combine, &new.values);
                    match new.present {
                        Some(present) => e.only_if(present, put),
                        None => put(e),
                    }
                })
            })?;
        }
        let made = e.finish("copies", Quantity::Elements(targets).pieces(THREADS.into()), THREADS);
        self.entries.push(made);
        Ok(())
    }
}
