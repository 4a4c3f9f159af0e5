//! A block of threads, or a warp, for each point of the first levels: its threads combine the steps of the next.

use std::ops::Range;

use fusebox_ir::ElementType;
use fusebox_schedule::grid::WARP;

use super::{
    Building, around, axes,
    elements::fold,
    is_once,
    meeting::{agree, phase},
    once, points_of, prologue,
    shared::{Shared, results, shared},
};
use crate::{
    emit::{Emitter, Result, parts},
    module::Argument,
    team::Team,
    text::Reg,
    value::Val,
};

impl Building<'_> {
    /// Points by blocks, or by warps, so many of a block.
    pub(super) fn rows(&mut self, outer: usize, inner: usize, team: Team, warps_of_block: u32) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let locks: Vec<Argument> = self.locks().into_iter().collect();
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &locks);
        e.locks = locks.first().map(|&locks| e.argument(locks));
        e.failed = Some(e.c.variable(fusebox_ir::Constant::from(false).into()));
        e.by_warps = team.is_warp;
        let (before, deeper, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all)?;
        let rows = axes(&mut e, 0..outer)?;
        let points = e.points(&rows);
        let (thread, block, blocks) = if team.is_warp {
            warps(&mut e, warps_of_block)
        } else {
            (e.special("tid.x"), e.special("ctaid.x"), e.special("nctaid.x"))
        };
        let first = e.c.compare("eq", thread, 0i64.into());
        let most = (inner == 1).then(|| fusebox_ir::analysis::kernels::trip_count(&kernel.levels[outer])).flatten();
        let mut shared = shared(&mut e, outer, team, most)?;
        e.stride_up(block, points, blocks, |e, point| {
            e.enter_all(&rows, point);
            let inside = around(e, 1..outer, deeper)?;
            row(e, (outer, inner), inside, &mut shared, (thread, first, team))
        })?;
        if is_once(kernel, &before, &behind) {
            let own = e.c.compare("eq", block, 0i64.into());
            let one = e.c.both(first, own);
            e.only_if(one, |e| once(e, before, behind))?;
        }
        let threads = if team.is_warp { WARP * warps_of_block } else { team.threads };
        let blocks = points_of(0..outer);
        let blocks = if team.is_warp { blocks.pieces(warps_of_block.into()) } else { blocks };
        let made = e.finish("rows", blocks, threads)?;
        self.entries.push(made);
        Ok(())
    }
}

/// A point that has been entered, by all threads of a team; one of them is the first.
pub(super) fn row<'k>(
    e: &mut Emitter<'k>,
    (outer, inner): (usize, usize),
    inside: Range<usize>,
    shared: &mut [Shared<'k>],
    (thread, first, team): (Val, Reg, Team),
) -> Result {
    let (before, deeper, behind) = parts(e.kernel, outer, inside);
    super::pure(e, before.clone())?;
    let axes = axes(e, outer..outer + inner)?;
    let total = e.points(&axes);
    fold(e, shared, (thread, team), total, &mut |e, point| {
        e.enter_all(&axes, point);
        let inside = around(e, outer + 1..outer + inner, deeper.clone())?;
        e.depth(outer + inner, inside)
    })?;
    phase(e, |e| {
        e.only_if(first, |e| {
            results(e, shared)?;
            once(e, before, behind)
        })
    })?;
    // Nobody writes what threads exchange before all have read it.
    agree(e);
    Ok(())
}

/// The number of this thread in its warp, that of the warp in the grid, and how many warps there are.
pub(super) fn warps(e: &mut Emitter<'_>, of_block: u32) -> (Val, Val, Val) {
    let (thread, block, blocks) = (e.special("tid.x"), e.special("ctaid.x"), e.special("nctaid.x"));
    let text = e.c.text(thread);
    let lane = e.c.make(ElementType::I64, "and.b64", &[&text, &(WARP - 1).to_string()]);
    let own = e.c.make(ElementType::I64, "shr.u64", &[&text, &WARP.ilog2().to_string()]);
    let before = e.c.mul(block, i64::from(of_block).into());
    (lane, e.c.add(before, own), e.c.mul(blocks, i64::from(of_block).into()))
}
