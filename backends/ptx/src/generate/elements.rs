//! Elements that the threads of a block, or of a warp, make and combine.

use fusebox_ir::{ElementType, association::BLOCK};
use fusebox_schedule::grid::WARP;

use super::{
    meeting::{agree, phase},
    shared::{Blocks, Shared, reset, reset_all, restart},
    tree::tree,
};
use crate::{
    emit::{Emitter, Result},
    state::{Accumulator, Lanes, Maybe},
    team::Team,
    value::Val,
};

/// Threads make the elements of `0..total` by `feed`, and combine them; the first thread has what they give.
pub(super) fn fold<'k>(
    e: &mut Emitter<'k>,
    shared: &mut [Shared<'_>],
    (thread, team): (Val, Team),
    total: Val,
    feed: &mut dyn FnMut(&mut Emitter<'k>, Val) -> Result,
) -> Result {
    let blocks = e.pieces(total, BLOCK);
    for each in shared.iter_mut() {
        restart(e, each, team, blocks)?;
    }
    if shared.iter().all(|each| each.exact) {
        reset_all(e, shared);
        phase(e, |e| e.stride_up(thread, total, i64::from(team.threads).into(), feed))?;
        tree(e, shared, thread, team)?;
        return gather(e, shared, thread);
    }
    e.count_up(blocks, |e, block| {
        let bounds = block_of(e, block, total);
        reset_all(e, shared);
        own_steps_of(e, shared, (thread, team), bounds, feed)?;
        tree(e, shared, thread, team)?;
        gather(e, shared, thread)?;
        agree(e);
        Ok(())
    })
}

/// The elements of a block that are this thread's, those of each of its lanes with the accumulators of the lane; these are combined then.
pub(super) fn own_steps_of<'k>(
    e: &mut Emitter<'k>,
    shared: &[Shared<'_>],
    (thread, team): (Val, Team),
    bounds: (Val, Val),
    feed: &mut dyn FnMut(&mut Emitter<'k>, Val) -> Result,
) -> Result {
    if let (true, Lanes::Interleaved(lanes)) = (team.passes_on(), team.lanes) {
        return passed_on(e, shared, (thread, lanes), bounds, feed);
    }
    let lanes = team.lanes_of_thread();
    if lanes == 1 {
        return own_steps(e, (thread, team), bounds, feed);
    }
    let from = e.c.add(bounds.0, thread);
    phase(e, |e| {
        e.stride_up(from, bounds.1, i64::from(lanes * team.threads).into(), |e, first| {
            let end = e.c.label();
            for lane in 0..lanes {
                let element = e.c.add(first, i64::from(lane * team.threads).into());
                if lane > 0 {
                    let over = e.c.compare("ge", element, bounds.1);
                    e.c.op(format_args!("@{over} bra {end}"));
                }
                shared.iter().for_each(|each| each.meet_in(e, lane as usize));
                feed(e, element)?;
            }
            e.c.place(end);
            Ok(())
        })
    })?;
    shared.iter().for_each(|each| each.meet(e));
    // Of lanes by halves: of four the third goes into the first, the fourth into the second, then the second into the first.
    for each in shared {
        e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
        let all: Vec<&Accumulator> = std::iter::once(&each.own).chain(&each.more).collect();
        let mut half = all.len() / 2;
        while half > 0 {
            for lane in 0..half {
                let right = all[lane + half].maybe(each.types.iter().copied());
                e.combine_into(each.combine, all[lane], &right, each.down)?;
            }
            half /= 2;
        }
    }
    Ok(())
}

/// The elements of a block, made by all threads of a warp at once, so many as they are; then each lane takes those that are its own, in their order.
/// Threads beyond the lanes do as a lane does.
fn passed_on<'k>(
    e: &mut Emitter<'k>,
    shared: &[Shared<'_>],
    (thread, lanes): (Val, u32),
    (start, end): (Val, Val),
    feed: &mut dyn FnMut(&mut Emitter<'k>, Val) -> Result,
) -> Result {
    let low = e.c.low(thread);
    let low = e.c.text(low);
    let lane = e.c.make(ElementType::U32, "and.b32", &[&low, &(lanes - 1).to_string()]);
    let lane = e.c.text(lane);
    let ordered = || shared.iter().filter(|each| !each.exact);
    e.stride_up(start, end, i64::from(WARP).into(), |e, first| {
        let element = e.c.add(first, thread);
        for each in ordered() {
            reset(e, each.combine, &each.more[0]);
            each.meet_in(e, 1);
        }
        phase(e, |e| {
            let there = e.c.compare("lt", element, end);
            e.only_if(there, |e| feed(e, element))
        })?;
        for each in ordered() {
            e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
            let own = each.more[0].maybe(each.types.iter().copied());
            for turn in 0..WARP / lanes {
                let from = e.c.make(ElementType::U32, "or.b32", &[&lane, &(turn * lanes).to_string()]);
                let values = own.values.iter().map(|&value| e.c.shuffle_from(value, from)).collect();
                let present = own.present.map(|present| e.c.shuffle_from(Val::new(ElementType::Bool, present), from));
                let passed = Maybe { values, present: present.and_then(Val::register) };
                e.combine_into(each.combine, &each.own, &passed, each.down)?;
            }
        }
        Ok(())
    })?;
    shared.iter().for_each(|each| each.meet(e));
    Ok(())
}

/// The elements of a block that are this thread's, as its lane has them.
pub(super) fn own_steps<'k>(
    e: &mut Emitter<'k>,
    (thread, team): (Val, Team),
    (start, end): (Val, Val),
    feed: &mut dyn FnMut(&mut Emitter<'k>, Val) -> Result,
) -> Result {
    let (from, to, stride) = match team.lanes {
        Lanes::Interleaved(lanes) => {
            let from = e.c.add(start, thread);
            let stride = Val::from(i64::from(lanes));
            if lanes == team.threads {
                (from, end, stride)
            } else {
                let own = e.c.compare("lt", thread, stride);
                (e.c.select(own, from, end), end, stride)
            }
        }
        Lanes::Runs(lanes) | Lanes::Kept(lanes) => {
            let count = e.c.sub(end, start);
            let length = e.pieces(count, lanes.into());
            let skipped = e.c.mul(length, thread);
            let from = e.c.add(start, skipped);
            let to = e.c.add(from, length);
            let (x, y) = (e.c.text(to), e.c.text(end));
            (from, e.c.make(ElementType::I64, "min.s64", &[&x, &y]), 1i64.into())
        }
    };
    phase(e, |e| e.stride_up(from, to, stride, feed))
}

/// Where a block of 4,096 elements starts and ends.
pub(super) fn block_of(e: &mut Emitter<'_>, block: Val, total: Val) -> (Val, Val) {
    let start = e.c.mul(block, BLOCK.into());
    let end = e.c.add(start, BLOCK.into());
    let (x, y) = (e.c.text(end), e.c.text(total));
    (start, e.c.make(ElementType::I64, "min.s64", &[&x, &y]))
}

/// The first thread takes what a block gave.
fn gather(e: &mut Emitter<'_>, shared: &mut [Shared<'_>], thread: Val) -> Result {
    let first = e.c.compare("eq", thread, 0i64.into());
    phase(e, |e| {
        e.only_if(first, |e| {
            for each in shared.iter_mut() {
                e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
                let own = each.own.maybe(each.types.iter().copied());
                match &mut each.blocks {
                    Blocks::One(into) => {
                        let into = into.clone();
                        e.set_maybe(&into, &own);
                    }
                    Blocks::Any(into) => {
                        let into = into.clone();
                        e.combine_into(each.combine, &into, &own, each.down)?;
                    }
                    Blocks::Table(Some(table)) => e.push(table, each.combine, &own, each.down)?,
                    Blocks::Table(None) => return Err(e.broken("blocks that have not begun")),
                }
            }
            Ok(())
        })
    })
}
