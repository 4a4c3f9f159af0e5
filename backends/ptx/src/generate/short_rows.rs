//! Rows of different lengths: a thread for each short row, the whole warp for each long one that its threads meet.
//!
//! Threads look at neighbouring rows. Each goes through its own, if that is short. Then the warp takes the long ones that it has found, one by
//! one, so that no thread waits for another that has much more to do.

use std::ops::Range;

use fusebox_ir::{Constant, ElementType};
use fusebox_schedule::grid::{WARP, ragged};

use super::{
    Building, around, axes, is_once,
    meeting::{agree, phase},
    once, points_of, prologue, pure,
    rows::{row, warps},
    shared::shared,
};
use crate::{
    emit::{Axis, Emitter, Result, parts},
    module::Argument,
    team::Team,
    text::{Class, Reg},
    value::Val,
};

impl Building<'_> {
    pub(super) fn short_or_long(&mut self, outer: usize, threads: u32) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let own = ragged(kernel, outer).map_err(|why| super::unsupported(kernel, why))?;
        let team = Team::long_rows(own.lanes);
        let locks: Vec<Argument> = self.locks().into_iter().collect();
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &locks);
        e.locks = locks.first().map(|&locks| e.argument(locks));
        e.failed = Some(e.c.variable(Constant::from(false).into()));
        e.by_warps = true;
        let (before, deeper, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all)?;
        let rows = axes(&mut e, 0..outer)?;
        let points = e.points(&rows);
        let (thread, warp, warps) = warps(&mut e, threads / WARP);
        let lowest = e.c.compare("eq", thread, 0i64.into());
        let mut shared = shared(&mut e, outer, team, None)?;
        let groups = e.pieces(points, WARP.into());
        e.stride_up(warp, groups, warps, |e, group| {
            let first = e.c.mul(group, i64::from(WARP).into());
            let point = e.c.add(first, thread);
            let is_long = e.c.variable(Constant::from(false).into());
            let together = std::mem::take(&mut e.together);
            phase(e, |e| {
                let there = e.c.compare("lt", point, points);
                e.only_if(there, |e| short_row(e, &rows, (point, deeper.clone()), own.least, is_long))
            })?;
            e.together = together;
            agree(e);
            each_long(e, is_long, |e, lane| {
                let point = e.c.add(first, lane);
                e.enter_all(&rows, point);
                let inside = around(e, 1..outer, deeper)?;
                row(e, (outer, 1), inside, &mut shared, (thread, lowest, team))
            })
        })?;
        if is_once(kernel, &before, &behind) {
            let own = e.c.compare("eq", warp, 0i64.into());
            let one = e.c.both(lowest, own);
            e.only_if(one, |e| once(e, before, behind))?;
        }
        let made = e.finish("rows", points_of(0..outer).pieces(threads.into()), threads)?;
        self.entries.push(made);
        Ok(())
    }
}

/// This thread's row, if it is short; else it is said to be long.
fn short_row(
    e: &mut Emitter<'_>,
    rows: &[Axis],
    (point, deeper): (Val, Range<usize>),
    least: u32,
    is_long: Reg,
) -> Result {
    let outer = rows.len();
    e.enter_all(rows, point);
    let inside = around(e, 1..outer, deeper)?;
    let (before, deeper, behind) = parts(e.kernel, outer, inside);
    pure(e, before.clone())?;
    let axis = e.axis(outer)?;
    let long = e.c.compare("ge", axis.steps, i64::from(least).into());
    e.c.assign(is_long, Val::new(ElementType::Bool, long));
    let short = e.c.not(long);
    e.only_if(short, |e| {
        e.short_rows = true;
        e.level(outer, deeper)?;
        e.short_rows = false;
        once(e, before, behind)
    })
}

/// Something is done by the whole warp for each of its threads of which a predicate holds; it gets the thread's number in the warp.
fn each_long<'k>(e: &mut Emitter<'k>, holds: Reg, inside: impl FnOnce(&mut Emitter<'k>, Val) -> Result) -> Result {
    let left = e.c.reg(Class::Word);
    e.c.op(format_args!("vote.sync.ballot.b32 {left}, {holds}, 0xffffffff"));
    let (again, behind) = (e.c.label(), e.c.label());
    e.c.place(again);
    let over = e.c.test("setp.eq.u32", &[&left.to_string(), "0"]);
    e.c.op(format_args!("@{over} bra {behind}"));
    // The lowest.
    let turned = e.c.make(ElementType::U32, "brev.b32", &[&left.to_string()]);
    let turned = e.c.text(turned);
    let lane = e.c.make(ElementType::U32, "clz.b32", &[&turned]);
    let lower = e.c.make(ElementType::U32, "sub.u32", &[&left.to_string(), "1"]);
    let lower = e.c.text(lower);
    e.c.op(format_args!("and.b32 {left}, {left}, {lower}"));
    let lane = e.c.convert(ElementType::I64, lane);
    inside(e, lane)?;
    e.c.op(format_args!("bra {again}"));
    e.c.place(behind);
    Ok(())
}
