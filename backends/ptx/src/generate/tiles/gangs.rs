//! Gangs of a chunk in shared memory: each by itself, then what is carried through them, then the results.

use super::carried::{Carried, Own};
use crate::{
    emit::{Emitter, Result},
    value::Val,
};
use fusebox_ir::ElementType;

/// The first lane of a gang, and how many it has.
fn lanes(e: &mut Emitter<'_>, each: &Carried<'_>, gang: Val, count: Val) -> (Val, Val) {
    let start = e.c.mul(gang, i64::from(each.gang).into());
    let rest = e.c.sub(count, start);
    let rest = e.c.text(rest);
    (start, e.c.make(ElementType::I64, "min.s64", &[&rest, &each.gang.to_string()]))
}

/// The lane that comes `step` before the end of so many lanes from `start` on.
fn from_end(e: &mut Emitter<'_>, lanes: Val, step: Val) -> Val {
    let last = e.c.add(lanes, (-1i64).into());
    e.c.sub(last, step)
}

/// In a gang lane l takes lane l-1, then l-2, l-4, …; lanes from the last, so that each takes what was there before.
pub(super) fn prefix(e: &mut Emitter<'_>, each: &Carried<'_>, own: &Own, gang: Val, count: Val) -> Result {
    let (start, lanes) = lanes(e, each, gang, count);
    let base = e.address(own.staged, start, each.stride());
    let step = e.c.variable(1i64.into());
    let reach = Val::new(ElementType::I64, step);
    let (again, behind) = (e.c.label(), e.c.label());
    e.c.place(again);
    let over = e.c.compare("ge", reach, lanes);
    e.c.op(format_args!("@{over} bra {behind}"));
    let taking = e.c.sub(lanes, reach);
    e.count_up(taking, |e, at| {
        let lane = from_end(e, lanes, at);
        let other = e.c.sub(lane, reach);
        let (to, from) = (e.address(base, lane, each.stride()), e.address(base, other, each.stride()));
        let (left, right) = (e.read_maybe("shared", from, &each.types), e.read_maybe("shared", to, &each.types));
        let combined = e.combine_maybe(each.combine, &left, &right, each.down)?;
        e.write_maybe("shared", to, &combined);
        Ok(())
    })?;
    e.c.op(format_args!("shl.b64 {step}, {step}, 1"));
    e.c.op(format_args!("bra {again}"));
    e.c.place(behind);
    Ok(())
}

/// What is carried goes through the gangs.
pub(super) fn chain(e: &mut Emitter<'_>, each: &Carried<'_>, own: &Own, gangs: Val, count: Val) -> Result {
    e.count_up(gangs, |e, gang| {
        let place = e.address(own.starts, gang, each.stride());
        let before = each.maybe(&own.running);
        e.write_maybe("shared", place, &before);
        let (start, lanes) = lanes(e, each, gang, count);
        let last = from_end(e, lanes, 0i64.into());
        let last = e.c.add(start, last);
        let place = e.address(own.staged, last, each.stride());
        let total = e.read_maybe("shared", place, &each.types);
        e.combine_into(each.combine, &own.running, &total, each.down)
    })
}

/// Results of a gang: what it starts from with each lane, or with the lane before.
pub(super) fn apply(e: &mut Emitter<'_>, each: &Carried<'_>, own: &Own, gang: Val, count: Val) -> Result {
    let place = e.address(own.starts, gang, each.stride());
    let before = e.read_maybe("shared", place, &each.types);
    let (start, lanes) = lanes(e, each, gang, count);
    let base = e.address(own.staged, start, each.stride());
    e.count_up(lanes, |e, at| {
        let lane = from_end(e, lanes, at);
        let to = e.address(base, lane, each.stride());
        if !each.exclusive {
            let element = e.read_maybe("shared", to, &each.types);
            let result = e.combine_maybe(each.combine, &before, &element, each.down)?;
            e.write_maybe("shared", to, &result);
            return Ok(());
        }
        let (other, behind) = (e.c.label(), e.c.label());
        let later = e.c.compare("gt", lane, 0i64.into());
        e.c.op(format_args!("@{later} bra {other}"));
        e.write_maybe("shared", to, &before);
        e.c.op(format_args!("bra {behind}"));
        e.c.place(other);
        let earlier = e.c.add(lane, (-1i64).into());
        let from = e.address(base, earlier, each.stride());
        let element = e.read_maybe("shared", from, &each.types);
        let result = e.combine_maybe(each.combine, &before, &element, each.down)?;
        e.write_maybe("shared", to, &result);
        e.c.place(behind);
        Ok(())
    })
}
