//! From the total of a tile to what is carried into it.

use super::{
    carried::{CARRY, TOTAL},
    gangs::{in_order, lesser},
    pass::Pass,
};
use crate::{
    emit::{Emitter, Result},
    generate::{
        meeting::{agree, phase},
        shared::Shared,
    },
    module::Argument,
    text::{Class, Reg},
    value::Val,
};
use fusebox_ir::ElementType;
use fusebox_schedule::grid::WARP;

/// All lanes.
const ALL: &str = "0xffffffff";

impl<'k> Pass<'_, 'k> {
    /// The first warp publishes the totals of the tile, finds what is carried into it, and publishes what is carried on. Its lanes look at 32 tiles at a time.
    pub(super) fn look_back(
        &mut self,
        e: &mut Emitter<'k>,
        totals: &mut [Shared<'k>],
        (number, status): (Val, Argument),
        first: Reg,
    ) -> Result {
        let status = e.argument(status);
        let state = e.address(status, number, 8);
        let later = e.c.compare("gt", number, 0i64.into());
        let mut found = Vec::new();
        phase(e, |e| {
            e.only_if(first, |e| {
                for (each, total) in self.carried.iter().zip(totals.iter_mut()) {
                    let total = total.combined(e)?;
                    let base = e.argument(each.totals);
                    let place = e.address(base, number, each.stride());
                    e.write_maybe("global", place, &total);
                    found.push(total);
                }
                e.only_if(later, |e| {
                    e.c.op(format_args!("st.release.gpu.global.u64 [{state}], {TOTAL}"));
                    Ok(())
                })
            })
        })?;
        agree(e);
        for (each, own) in self.carried.iter().zip(&self.own) {
            let first = each.first(e)?;
            e.set_maybe(&own.running, &first);
        }
        let lane = self.thread;
        e.only_if(later, |e| {
            let known = nearest(e, status, number, lane);
            for (each, own) in self.carried.iter().zip(&self.own) {
                let (carries, totals) = (e.argument(each.carries), e.argument(each.totals));
                let place = e.address(carries, known, each.stride());
                let carry = e.read_maybe("global", place, &each.types);
                e.set_maybe(&own.running, &carry);
                let next = e.c.add(known, 1i64.into());
                e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
                e.stride_up(next, number, i64::from(WARP).into(), |e, from| {
                    let tile = e.c.add(from, lane);
                    let there = e.c.compare("lt", tile, number);
                    let mine = each.absent(e);
                    e.only_if(there, |e| {
                        let place = e.address(totals, tile, each.stride());
                        let total = e.read_maybe("global", place, &each.types);
                        e.set_maybe(&mine, &total);
                        Ok(())
                    })?;
                    let left = e.c.sub(number, from);
                    let count = lesser(e, left, i64::from(WARP).into());
                    in_order(e, each, &own.running, (&mine, None), (lane, count))
                })?;
            }
            Ok(())
        })?;
        e.only_if(first, |e| {
            for ((each, own), total) in self.carried.iter().zip(&self.own).zip(&found) {
                e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
                let before = each.maybe(&own.running);
                let carry = e.combine_maybe(each.combine, &before, total, each.down)?;
                let base = e.argument(each.carries);
                let place = e.address(base, number, each.stride());
                e.write_maybe("global", place, &carry);
            }
            e.c.op(format_args!("st.release.gpu.global.u64 [{state}], {CARRY}"));
            Ok(())
        })
    }
}

/// The nearest tile before one whose carry is known, and all totals behind it: the lanes of a warp wait for the state of a tile each, the first for the
/// nearest, and go on to those before where none has a carry. If something has failed, they leave: whoever has failed publishes nothing.
fn nearest(e: &mut Emitter<'_>, status: Reg, number: Val, lane: Val) -> Val {
    let error = e.argument(Argument::Error);
    let end = e.c.variable(number);
    let (again, known) = (e.c.label(), e.c.label());
    e.c.place(again);
    let distance = e.c.add(lane, 1i64.into());
    let at = e.c.sub(Val::new(ElementType::I64, end), distance);
    let seen = e.c.variable(TOTAL.into());
    let inside = e.c.compare("ge", at, 0i64.into());
    let place = e.address(status, at, 8);
    e.c.op(format_args!("@{inside} ld.acquire.gpu.global.u64 {seen}, [{place}]"));
    let seen = Val::new(ElementType::I64, seen);
    let carry = e.c.compare("eq", seen, CARRY.into());
    let unknown = e.c.compare("eq", seen, 0i64.into());
    let [carries, missing, nearer, waits] = [(); 4].map(|()| e.c.reg(Class::Word));
    e.c.op(format_args!("vote.sync.ballot.b32 {carries}, {carry}, {ALL}"));
    e.c.op(format_args!("vote.sync.ballot.b32 {missing}, {unknown}, {ALL}"));
    // The lanes before the first that has a carry; all, if none has.
    e.c.op(format_args!("sub.u32 {nearer}, {carries}, 1"));
    e.c.op(format_args!("not.b32 {waits}, {carries}"));
    e.c.op(format_args!("and.b32 {nearer}, {nearer}, {waits}"));
    e.c.op(format_args!("and.b32 {waits}, {missing}, {nearer}"));
    let there = e.c.test("setp.eq.u32", &[&waits.to_string(), "0"]);
    let (all, failed) = (e.c.label(), e.c.reg(Class::Predicate));
    e.c.op(format_args!("@{there} bra {all}"));
    let slot = e.c.reg(Class::Double);
    e.c.op(format_args!("ld.relaxed.gpu.global.u64 {slot}, [{error}]"));
    let own = e.c.test("setp.ne.u64", &[&slot.to_string(), "0"]);
    e.c.op(format_args!("vote.sync.any.pred {failed}, {own}, {ALL}"));
    e.c.op(format_args!("@!{failed} bra {again}"));
    if let Some(failed) = e.failed {
        e.c.op(format_args!("mov.pred {failed}, -1"));
    }
    let exit = e.exit;
    e.c.op(format_args!("bra {exit}"));
    e.c.place(all);
    let some = e.c.test("setp.ne.u32", &[&carries.to_string(), "0"]);
    e.c.op(format_args!("@{some} bra {known}"));
    e.c.op(format_args!("add.s64 {end}, {end}, -{WARP}"));
    e.c.op(format_args!("bra {again}"));
    e.c.place(known);
    // What one lane has seen published, all may read.
    e.c.op(format_args!("bar.warp.sync {ALL}"));
    let lanes = e.c.make(ElementType::U32, "popc.b32", &[&nearer.to_string()]);
    let lanes = e.c.convert(ElementType::I64, lanes);
    let nearest = e.c.sub(Val::new(ElementType::I64, end), lanes);
    e.c.add(nearest, (-1i64).into())
}
