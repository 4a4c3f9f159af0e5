//! The passes over a tile: its totals, what is carried into it, then its results, chunk by chunk.

use fusebox_ir::{ElementType, Kernel, association::BLOCK};
use fusebox_schedule::grid::WARP;

use super::{
    carried::{Carried, Own},
    gangs::{by_warp, chain, prefix, result},
};
use crate::{
    emit::{Axis, Emitter, Result, What},
    generate::{
        elements::{block_of, fold},
        meeting::{agree, phase},
        shared::{Feeder, Shared, feed_own, leave, reset_all},
        tree::tree,
    },
    module::Argument,
    state::{Maybe, Staged, Together},
    team::Team,
    text::Reg,
    value::Val,
};

/// The numbers of a kernel in tiles.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) team: Team,
    /// Steps of a tile.
    pub(super) tile: i64,
    /// Steps of a chunk, whose elements are in shared memory at once.
    pub(super) chunk: i64,
}

/// The whole kernel and what totals of tiles need of it.
#[derive(Clone, Copy)]
pub(super) struct Kernels<'k> {
    pub(super) whole: &'k Kernel,
    pub(super) totals: &'k Kernel,
    /// How statements that only count are run.
    pub(super) what: What,
}

/// The passes over a tile.
pub(super) struct Pass<'a, 'k> {
    pub(super) kernels: Kernels<'k>,
    pub(super) sizes: Sizes,
    pub(super) carried: &'a [Carried<'k>],
    pub(super) own: Vec<Own>,
    pub(super) reduces: Vec<Shared<'k>>,
    pub(super) partial: &'a [Argument],
    pub(super) thread: Val,
    pub(super) axis: Axis,
    pub(super) inner: std::ops::Range<usize>,
}

impl<'k> Pass<'_, 'k> {
    /// One tile.
    pub(super) fn tile(
        &mut self,
        e: &mut Emitter<'k>,
        totals: &mut [Shared<'k>],
        (number, status): (Val, Argument),
        first: Reg,
    ) -> Result {
        let team = self.sizes.team;
        let start = e.c.mul(number, self.sizes.tile.into());
        let rest = e.c.sub(self.axis.steps, start);
        let rest = e.c.text(rest);
        let steps = e.c.make(ElementType::I64, "min.s64", &[&rest, &self.sizes.tile.to_string()]);
        totals.iter().for_each(|each| each.meet(e));
        let appends: Vec<Feeder<'_>> = (totals.iter().zip(self.carried))
            .filter(|(_, each)| each.seeds.is_none())
            .map(|(total, _)| Feeder::of(total))
            .collect();
        fold(e, totals, (self.thread, team), steps, &mut |e, step| {
            let at = e.c.add(start, step);
            let count = self.count(e, at)?;
            for feeder in &appends {
                feed_own(e, feeder, &Maybe { values: vec![count], present: None })?;
            }
            Ok(())
        })?;
        agree(e);
        let leads = e.c.compare("lt", self.thread, i64::from(WARP).into());
        phase(e, |e| e.only_if(leads, |e| by_warp(e, |e| self.look_back(e, totals, (number, status), first))))?;
        agree(e);
        let blocks = e.pieces(steps, BLOCK);
        e.count_up(blocks, |e, block| {
            let (from, to) = block_of(e, block, steps);
            reset_all(e, &self.reduces);
            let many = e.c.sub(to, from);
            let chunks = e.pieces(many, self.sizes.chunk);
            let begin = e.c.add(start, from);
            e.count_up(chunks, |e, chunk| {
                let skipped = e.c.mul(chunk, self.sizes.chunk.into());
                let left = e.c.sub(many, skipped);
                let left = e.c.text(left);
                let count = e.c.make(ElementType::I64, "min.s64", &[&left, &self.sizes.chunk.to_string()]);
                let begin = e.c.add(begin, skipped);
                self.chunk(e, begin, count, leads)
            })?;
            if self.reduces.is_empty() {
                return Ok(());
            }
            tree(e, &self.reduces, self.thread, team)?;
            let earlier = e.c.mul(number, (self.sizes.tile / BLOCK).into());
            let at = e.c.add(earlier, block);
            e.only_if(first, |e| leave(e, &self.reduces, self.partial, at))?;
            agree(e);
            Ok(())
        })
    }

    /// A step, as totals need it; how many elements it puts.
    pub(super) fn count(&self, e: &mut Emitter<'k>, step: Val) -> Result<Val> {
        let counter = e.c.variable(0i64.into());
        (e.kernel, e.what) = (self.kernels.totals, self.kernels.what);
        // What is reduced over all steps is so once, when all else is done.
        self.reduces.iter().for_each(|each| e.left_out[each.position] = true);
        let appended = e.appended.replace(counter);
        e.enter(&self.axis, step);
        let result = e.depth(1, self.inner.clone());
        (e.kernel, e.what, e.appended) = (self.kernels.whole, What::All, appended);
        self.reduces.iter().for_each(|each| e.left_out[each.position] = false);
        result?;
        Ok(Val::new(ElementType::I64, counter))
    }

    /// One chunk: elements to shared memory, scanned there, then everything else at each step.
    fn chunk(&mut self, e: &mut Emitter<'k>, begin: Val, count: Val, leads: Reg) -> Result {
        let stride = i64::from(self.sizes.team.threads).into();
        for (each, own) in self.carried.iter().zip(&self.own) {
            e.together.insert(each.position, Together::Put(Staged { place: own.place, always: each.always }));
        }
        phase(e, |e| {
            e.stride_up(self.thread, count, stride, |e, step| {
                self.places(e, step);
                let at = e.c.add(begin, step);
                let count = self.count(e, at)?;
                for (each, own) in self.carried.iter().zip(&self.own) {
                    if each.seeds.is_none() {
                        e.write_element(own.place, &Maybe { values: vec![count], present: None }, each.always);
                    }
                }
                Ok(())
            })
        })?;
        agree(e);
        for (each, own) in self.carried.iter().zip(&self.own) {
            e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
            let threads = (self.thread, self.sizes.team.threads);
            phase(e, |e| by_warp(e, |e| prefix(e, each, own, threads, count)))?;
            agree(e);
            phase(e, |e| e.only_if(leads, |e| by_warp(e, |e| chain(e, each, own, self.thread, count))))?;
        }
        agree(e);
        phase(e, |e| {
            e.stride_up(self.thread, count, stride, |e, step| {
                let at = e.c.add(begin, step);
                e.enter(&self.axis, at);
                for (each, own) in self.carried.iter().zip(&self.own) {
                    e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
                    let found = result(e, each, own, step)?;
                    match (each.seeds, &found.values[..]) {
                        (None, &[before]) => e.appended = Some(e.c.variable(before)),
                        _ => _ = e.together.insert(each.position, Together::Take(found.values)),
                    }
                }
                e.depth(1, self.inner.clone())?;
                e.appended = None;
                Ok(())
            })
        })?;
        agree(e);
        Ok(())
    }

    pub(super) fn places(&self, e: &mut Emitter<'k>, step: Val) {
        for (each, own) in self.carried.iter().zip(&self.own) {
            let place = e.address(own.staged, step, each.staged_stride());
            e.c.assign(own.place, Val::new(ElementType::I64, place));
        }
    }
}
