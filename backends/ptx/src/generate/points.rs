//! A thread for each point of the first levels, or for some neighbouring ones.

use std::ops::Range;

use fusebox_schedule::Form;

use super::{
    Building, around, axes, grid, is_once, neighbours, once, points_of,
    private::{Copies, Words},
    prologue,
};
use crate::{
    emit::{Axis, Emitter, Result, parts},
    module::Argument,
    value::Val,
};

/// Points that a thread takes where its block has copies of targets: a block combines them all once.
pub(super) const MANY: i64 = 32;

/// Which points a thread takes.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// The number of the thread in the grid, how many threads there are, how many points.
    pub(super) numbers: (Val, Val, Val),
    /// Neighbours at once.
    pub(super) items: u32,
}

impl Building<'_> {
    pub(super) fn points(&mut self, (levels, threads, items): (usize, u32, u32), forms: &[Form]) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let words: Vec<Words> = forms.iter().filter_map(|form| self.words(form)).collect();
        words.iter().try_for_each(|words| self.pack(words))?;
        let locks = self.locks_but(|position| words.iter().any(|words| words.position == position));
        let more: Vec<Argument> = words.iter().map(|words| words.memory).chain(locks).collect();
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &more);
        e.locks = locks.map(|locks| e.argument(locks));
        e.packed = words.iter().map(|words| (words.position, e.argument(words.memory))).collect();
        let (before, inner, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all)?;
        let axes = axes(&mut e, 0..levels)?;
        let points = e.points(&axes);
        let (thread, stride) = grid(&mut e);
        let taken = Taken { numbers: (thread, stride, points), items };
        let copies = forms.iter().filter_map(|form| Copies::of(kernel, form)).collect::<Vec<_>>();
        if copies.is_empty() {
            each(&mut e, &axes, taken, inner)?;
        } else {
            super::private::points(&mut e, &copies, threads, |e| each(e, &axes, taken, inner.clone()))?;
        }
        if is_once(kernel, &before, &behind) {
            let first = e.c.compare("eq", thread, 0i64.into());
            e.only_if(first, |e| once(e, before, behind))?;
        }
        let many = if copies.is_empty() { 1 } else { MANY };
        let pieces = i64::from(threads) * i64::from(items) * many;
        let made = e.finish("points", points_of(0..levels).pieces(pieces), threads)?;
        self.entries.push(made);
        words.iter().try_for_each(|words| self.unpack(words))
    }
}

/// The points of this thread.
pub(super) fn each(e: &mut Emitter<'_>, axes: &[Axis], taken: Taken, inner: Range<usize>) -> Result {
    let levels = axes.len();
    let (thread, stride, points) = taken.numbers;
    if taken.items > 1 {
        return neighbours::points(e, axes, taken.numbers, inner, taken.items);
    }
    e.stride_up(thread, points, stride, |e, point| {
        e.enter_all(axes, point);
        let inner = around(e, 1..levels, inner)?;
        e.depth(levels, inner)
    })
}
