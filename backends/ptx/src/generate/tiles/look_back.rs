//! From the total of a tile to what is carried into it.

use super::{
    carried::{CARRY, TOTAL},
    pass::Pass,
};
use crate::{
    emit::{Emitter, Result},
    generate::shared::Shared,
    module::Argument,
    text::Class,
    value::Val,
};
use fusebox_ir::ElementType;

impl<'k> Pass<'_, 'k> {
    /// The first thread publishes the totals of the tile, finds what is carried into it, and publishes what is carried on.
    pub(super) fn look_back(
        &mut self,
        e: &mut Emitter<'k>,
        totals: &mut [Shared<'k>],
        (number, status): (Val, Argument),
    ) -> Result {
        let status = e.argument(status);
        let state = e.address(status, number, 8);
        let mut found = Vec::new();
        for (each, total) in self.carried.iter().zip(totals.iter_mut()) {
            let total = total.combined(e)?;
            let base = e.argument(each.totals);
            let place = e.address(base, number, each.stride());
            e.write_maybe("global", place, &total);
            found.push(total);
        }
        for (each, own) in self.carried.iter().zip(&self.own) {
            let first = each.first(e)?;
            e.set_maybe(&own.running, &first);
        }
        let later = e.c.compare("gt", number, 0i64.into());
        let error = e.argument(Argument::Error);
        e.only_if(later, |e| {
            e.c.op(format_args!("st.release.gpu.global.u64 [{state}], {TOTAL}"));
            let before = e.c.add(number, (-1i64).into());
            let nearest = e.c.variable(before);
            let at = Val::new(ElementType::I64, nearest);
            let (again, known) = (e.c.label(), e.c.label());
            e.c.place(again);
            let place = e.address(status, at, 8);
            let seen = e.c.reg(Class::Double);
            e.c.op(format_args!("ld.acquire.gpu.global.u64 {seen}, [{place}]"));
            let seen = Val::new(ElementType::I64, seen);
            let carry = e.c.compare("eq", seen, CARRY.into());
            e.c.op(format_args!("@{carry} bra {known}"));
            let total = e.c.compare("eq", seen, TOTAL.into());
            e.only_if(total, |e| {
                e.c.op(format_args!("add.s64 {nearest}, {nearest}, -1"));
                e.c.op(format_args!("bra {again}"));
                Ok(())
            })?;
            // Whoever has failed publishes nothing.
            let slot = e.c.reg(Class::Double);
            e.c.op(format_args!("ld.relaxed.gpu.global.u64 {slot}, [{error}]"));
            let fine = e.c.test("setp.eq.u64", &[&slot.to_string(), "0"]);
            e.c.op(format_args!("@{fine} bra {again}"));
            if let Some(failed) = e.failed {
                e.c.op(format_args!("mov.pred {failed}, -1"));
            }
            let exit = e.exit;
            e.c.op(format_args!("bra {exit}"));
            e.c.place(known);
            for (each, own) in self.carried.iter().zip(&self.own) {
                let (carries, totals) = (e.argument(each.carries), e.argument(each.totals));
                let place = e.address(carries, at, each.stride());
                let known = e.read_maybe("global", place, &each.types);
                e.set_maybe(&own.running, &known);
                let next = e.c.add(at, 1i64.into());
                e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
                e.stride_up(next, number, 1i64.into(), |e, tile| {
                    let place = e.address(totals, tile, each.stride());
                    let total = e.read_maybe("global", place, &each.types);
                    e.combine_into(each.combine, &own.running, &total, each.down)
                })?;
            }
            Ok(())
        })?;
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
    }
}
