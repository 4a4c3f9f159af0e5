//! A thread for each point of the first levels, or for some neighbouring ones.

use super::{Building, around, axes, grid, is_once, neighbours, once, points_of, prologue};
use crate::{
    emit::{Emitter, Result, parts},
    module::Argument,
};

impl Building<'_> {
    pub(super) fn points(&mut self, levels: usize, threads: u32, items: u32) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let locks: Vec<Argument> = self.locks().into_iter().collect();
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &locks);
        e.locks = locks.first().map(|&locks| e.argument(locks));
        let (before, inner, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all)?;
        let axes = axes(&mut e, 0..levels)?;
        let points = e.points(&axes);
        let (thread, stride) = grid(&mut e);
        if items > 1 {
            neighbours::points(&mut e, &axes, (thread, stride, points), inner, items)?;
        } else {
            e.stride_up(thread, points, stride, |e, point| {
                e.enter_all(&axes, point);
                let inner = around(e, 1..levels, inner)?;
                e.depth(levels, inner)
            })?;
        }
        if is_once(kernel, &before, &behind) {
            let first = e.c.compare("eq", thread, 0i64.into());
            e.only_if(first, |e| once(e, before, behind))?;
        }
        let pieces = i64::from(threads) * i64::from(items);
        let made = e.finish("points", points_of(0..levels).pieces(pieces), threads)?;
        self.entries.push(made);
        Ok(())
    }
}
