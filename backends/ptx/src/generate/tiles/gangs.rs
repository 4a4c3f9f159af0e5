//! Gangs of a chunk in shared memory: each by the threads of a warp, then what is carried through them, then the results.

use super::carried::{Carried, Own};
use crate::{
    emit::{Emitter, Result},
    generate::meeting::{agree, phase},
    state::{Accumulator, Maybe},
    value::Val,
};
use fusebox_ir::ElementType;
use fusebox_schedule::grid::{WARP, cannot_fail};

/// Totals of gangs that are on their way from other threads at once.
const ON_THE_WAY: u32 = 8;

/// What another thread of the warp has; a lane is a `u32`.
pub(super) fn of_lane(e: &mut Emitter<'_>, of: &Maybe, lane: Val) -> Maybe {
    let values = of.values.iter().map(|&value| e.c.shuffle_from(value, lane)).collect();
    let present = of.present.map(|present| e.c.shuffle_from(Val::new(ElementType::Bool, present), lane));
    Maybe { values, present: present.and_then(Val::register) }
}

/// In a gang lane l takes lane l-1, then l-2, l-4, …: a thread for each element, 32 neighbours at a time.
pub(super) fn prefix(
    e: &mut Emitter<'_>,
    each: &Carried<'_>,
    own: &Own,
    (thread, threads): (Val, u32),
    count: Val,
) -> Result {
    let lane = e.special("laneid");
    let low = e.c.low(lane);
    let in_gang = masked(e, lane, i64::from(each.gang) - 1);
    let first = e.c.sub(thread, lane);
    let mine = each.element(e);
    e.stride_up(first, count, i64::from(threads).into(), |e, base| {
        let at = e.c.add(base, lane);
        let there = e.c.compare("lt", at, count);
        let place = e.address(own.staged, at, each.staged_stride());
        e.only_if(there, |e| {
            let element = each.staged(e, place);
            e.set_maybe(&mine, &element);
            Ok(())
        })?;
        let mut reach = 1;
        while reach < each.gang {
            let text = e.c.text(low);
            let from = e.c.make(ElementType::U32, "sub.u32", &[&text, &reach.to_string()]);
            let other = of_lane(e, &each.maybe(&mine), from);
            let reaches = e.c.compare("ge", in_gang, i64::from(reach).into());
            let takes = e.c.both(there, reaches);
            reach *= 2;
            let element = each.maybe(&mine);
            if each.always && cannot_fail(each.combine) {
                let combined = e.combine(each.combine, &other.values, &element.values, each.down)?;
                let kept = combined.into_iter().zip(&element.values);
                let kept: Vec<Val> = kept.map(|(new, &old)| e.c.select(takes, new, old)).collect();
                e.assign_all(&mine.values, &kept);
                continue;
            }
            phase(e, |e| {
                e.only_if(takes, |e| {
                    let combined = e.combine_maybe(each.combine, &other, &element, each.down)?;
                    e.set_maybe(&mine, &combined);
                    Ok(())
                })
            })?;
            if !cannot_fail(each.combine) {
                agree(e);
            }
        }
        e.only_if(there, |e| {
            e.write_element(place, &each.maybe(&mine), each.always);
            Ok(())
        })
    })
}

/// What is carried goes through the gangs: all threads of a warp do the same, each with the totals of some gangs.
pub(super) fn chain(e: &mut Emitter<'_>, each: &Carried<'_>, own: &Own, lane: Val, count: Val) -> Result {
    let gangs = e.pieces(count, each.gang.into());
    e.stride_up(0i64.into(), gangs, i64::from(WARP).into(), |e, from| {
        let gang = e.c.add(from, lane);
        let there = e.c.compare("lt", gang, gangs);
        let (total, before) = (each.absent(e), each.absent(e));
        e.only_if(there, |e| {
            let start = e.c.mul(gang, i64::from(each.gang).into());
            let end = e.c.add(start, i64::from(each.gang).into());
            let end = lesser(e, end, count);
            let last = e.c.add(end, (-1i64).into());
            let place = e.address(own.staged, last, each.staged_stride());
            let found = each.staged(e, place);
            e.set_maybe(&total, &found);
            Ok(())
        })?;
        let left = e.c.sub(gangs, from);
        let window = lesser(e, left, i64::from(WARP).into());
        in_order(e, each, &own.running, (&total, Some(&before)), (lane, window))?;
        e.only_if(there, |e| {
            let place = e.address(own.starts, gang, each.stride());
            e.write_maybe("shared", place, &each.maybe(&before));
            Ok(())
        })
    })
}

/// What is carried takes what each thread of a warp has, one thread after the other, in all of them alike; so many threads have something.
/// Each learns what was carried before its own.
pub(super) fn in_order(
    e: &mut Emitter<'_>,
    each: &Carried<'_>,
    running: &Accumulator,
    (mine, before): (&Accumulator, Option<&Accumulator>),
    (lane, count): (Val, Val),
) -> Result {
    let low = e.c.low(lane);
    e.stride_up(0i64.into(), count, i64::from(ON_THE_WAY).into(), |e, first| {
        let first = e.c.low(first);
        let mut others = Vec::new();
        for further in 0..ON_THE_WAY {
            let text = e.c.text(first);
            let from = e.c.make(ElementType::U32, "add.u32", &[&text, &further.to_string()]);
            others.push((from, of_lane(e, &each.maybe(mine), from)));
        }
        for (from, other) in others {
            if let Some(before) = before {
                let own = e.c.compare("eq", low, from);
                for (&to, &now) in before.values.iter().zip(&each.maybe(running).values) {
                    let kept = e.c.select(own, now, Val::new(now.ty, to));
                    e.c.assign(to, kept);
                }
                if let (Some(to), Some(now)) = (before.present, running.present) {
                    let [now, kept] = [now, to].map(|reg| Val::new(ElementType::Bool, reg));
                    let kept = e.c.select(own, now, kept);
                    e.c.assign(to, kept);
                }
            }
            e.combine_into(each.combine, running, &other, each.down)?;
        }
        Ok(())
    })
}

/// The result of a step of the chunk: what its gang starts from with its lane, or with the lane before.
pub(super) fn result(e: &mut Emitter<'_>, each: &Carried<'_>, own: &Own, step: Val) -> Result<Maybe> {
    let text = e.c.text(step);
    let gang = e.c.make(ElementType::I64, "shr.s64", &[&text, &each.gang.ilog2().to_string()]);
    let place = e.address(own.starts, gang, each.stride());
    let before = e.read_maybe("shared", place, &each.types);
    if !each.exclusive {
        let place = e.address(own.staged, step, each.staged_stride());
        let element = each.staged(e, place);
        return e.combine_maybe(each.combine, &before, &element, each.down);
    }
    let result = e.copied(&before);
    let in_gang = masked(e, step, i64::from(each.gang) - 1);
    let later = e.c.compare("gt", in_gang, 0i64.into());
    e.only_if(later, |e| {
        let earlier = e.c.add(step, (-1i64).into());
        let place = e.address(own.staged, earlier, each.staged_stride());
        let element = each.staged(e, place);
        e.combine_into(each.combine, &result, &element, each.down)
    })?;
    Ok(each.maybe(&result))
}

/// The lowest bits of a number.
fn masked(e: &mut Emitter<'_>, number: Val, mask: i64) -> Val {
    let text = e.c.text(number);
    e.c.make(ElementType::I64, "and.b64", &[&text, &mask.to_string()])
}

/// The lesser of two numbers.
pub(super) fn lesser(e: &mut Emitter<'_>, a: Val, b: Val) -> Val {
    let (a, b) = (e.c.text(a), e.c.text(b));
    e.c.make(ElementType::I64, "min.s64", &[&a, &b])
}

/// Code that the threads of a warp go through together.
pub(super) fn by_warp<'k>(e: &mut Emitter<'k>, inside: impl FnOnce(&mut Emitter<'k>) -> Result) -> Result {
    let around = std::mem::replace(&mut e.by_warps, true);
    inside(e)?;
    e.by_warps = around;
    Ok(())
}
