//! A block of threads for each point of the first levels: its threads combine the steps of the next.

use fusebox_ir::{Action, ElementType, Lambda, association::BLOCK};

use fusebox_schedule::grid::{WARP, cannot_fail, is_exact};

use super::{Building, around, axes, is_once, once, points_of, prologue};
use crate::{
    emit::{Emitter, Result, parts},
    module::Argument,
    statement::{
        Together,
        reduce::{Accumulator, Maybe},
        table::{Lanes, Table},
    },
    team::Team,
    text::{Class, Reg, Space, Use},
    value::Val,
};

/// A reduce whose elements the threads of a block make.
pub(super) struct Shared<'k> {
    pub(super) position: usize,
    pub(super) combine: &'k Lambda,
    pub(super) down: bool,
    pub(super) exact: bool,
    pub(super) types: Vec<ElementType>,
    /// What this thread combines.
    own: Accumulator,
    /// What it combines of further lanes.
    more: Vec<Accumulator>,
    /// Where threads exchange what they have; none of a warp.
    exchange: Option<Reg>,
    /// What blocks of 4,096 give, in the first thread.
    blocks: Blocks,
}

/// What comes of blocks.
enum Blocks {
    /// There is one at most.
    One(Accumulator),
    /// Every order is right.
    Any(Accumulator),
    /// As elements of another such reduce; none before the first.
    Table(Option<Table>),
}

impl<'k> Shared<'k> {
    /// The elements of a statement, combined by so many threads of a block; at most so many of them, where that is known.
    pub(super) fn new(
        e: &mut Emitter<'_>,
        position: usize,
        (combine, down): (&'k Lambda, bool),
        team: Team,
        most: Option<i64>,
    ) -> Result<Self> {
        let types: Vec<ElementType> = combine.params.iter().take(combine.results.len()).map(|param| param.ty).collect();
        let exact = is_exact(combine);
        let own = e.accumulator(combine, &[]);
        let stride = 8 * types.len() as u64 + 8;
        let further = if exact { 1 } else { team.lanes_of_thread() };
        let more = (1..further).map(|_| e.accumulator(combine, &[])).collect();
        let exchange = (!team.is_warp).then(|| e.c.memory(Space::Shared, stride * u64::from(team.threads)));
        let blocks = if exact {
            Blocks::Any(e.accumulator(combine, &[]))
        } else if most.is_some_and(|most| most <= BLOCK) {
            Blocks::One(e.accumulator(combine, &[]))
        } else {
            Blocks::Table(None)
        };
        let each = Self { position, combine, down, exact, types, own, more, exchange, blocks };
        each.meet(e);
        Ok(each)
    }

    /// The statement's elements go to what this thread combines.
    pub(super) fn meet(&self, e: &mut Emitter<'_>) {
        self.meet_in(e, 0);
    }

    /// The same, of one of its lanes.
    fn meet_in(&self, e: &mut Emitter<'_>, lane: usize) {
        let own = lane.checked_sub(1).and_then(|lane| self.more.get(lane)).unwrap_or(&self.own);
        let together = Together::Own { accumulators: own.values.clone(), present: own.present };
        e.together.insert(self.position, together);
    }

    /// What blocks gave so far, in the first thread; they start anew.
    pub(super) fn combined(&mut self, e: &mut Emitter<'_>) -> Result<Maybe> {
        match &mut self.blocks {
            Blocks::One(into) | Blocks::Any(into) => Ok(into.clone().maybe(self.types.iter().copied())),
            Blocks::Table(Some(table)) => e.table_result(table, self.combine, self.down),
            Blocks::Table(None) => Err(e.broken("blocks that have not begun")),
        }
    }

    fn exchange(&self, e: &Emitter<'_>) -> Result<Reg> {
        self.exchange.ok_or_else(|| e.broken("a warp that exchanges through memory"))
    }

    /// Bytes of what a block gives.
    pub(super) fn stride(&self) -> u64 {
        8 * self.types.len() as u64 + 8
    }
}

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
            let (before, deeper, behind) = parts(e.kernel, outer, inside);
            super::pure(e, before.clone())?;
            let axes = axes(e, outer..outer + inner)?;
            let total = e.points(&axes);
            fold(e, &mut shared, (thread, team), total, &mut |e, point| {
                e.enter_all(&axes, point);
                let inside = around(e, outer + 1..outer + inner, deeper.clone())?;
                e.depth(outer + inner, inside)
            })?;
            phase(e, |e| {
                e.only_if(first, |e| {
                    results(e, &mut shared)?;
                    once(e, before, behind)
                })
            })?;
            // Nobody writes what threads exchange before all have read it.
            agree(e);
            Ok(())
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

/// The number of this thread in its warp, that of the warp in the grid, and how many warps there are.
fn warps(e: &mut Emitter<'_>, of_block: u32) -> (Val, Val, Val) {
    let (thread, block, blocks) = (e.special("tid.x"), e.special("ctaid.x"), e.special("nctaid.x"));
    let text = e.c.text(thread);
    let lane = e.c.make(ElementType::I64, "and.b64", &[&text, &(WARP - 1).to_string()]);
    let own = e.c.make(ElementType::I64, "shr.u64", &[&text, &WARP.ilog2().to_string()]);
    let before = e.c.mul(block, i64::from(of_block).into());
    (lane, e.c.add(before, own), e.c.mul(blocks, i64::from(of_block).into()))
}

/// The reduces to a depth, as threads of a block share them.
pub(super) fn shared<'k>(e: &mut Emitter<'k>, to: usize, team: Team, most: Option<i64>) -> Result<Vec<Shared<'k>>> {
    let kernel = e.kernel;
    let is_down = e.is_down(to);
    let mut shared = Vec::new();
    for (position, statement) in kernel.statements.iter().enumerate() {
        let Action::Reduce { to: own, combine, .. } = &statement.action else { continue };
        if *own as usize != to {
            continue;
        }
        let each = Shared::new(e, position, (combine, is_down), team, most)?;
        shared.push(each);
    }
    Ok(shared)
}

/// Code after which the threads of a block meet: one that fails goes to its end.
pub(super) fn phase<'k>(e: &mut Emitter<'k>, inside: impl FnOnce(&mut Emitter<'k>) -> Result) -> Result {
    let end = e.c.label();
    let exit = std::mem::replace(&mut e.exit, end);
    inside(e)?;
    e.exit = exit;
    e.c.place(end);
    Ok(())
}

/// All threads of a block meet, and leave together if one has failed.
pub(super) fn agree(e: &mut Emitter<'_>) {
    if let Some(failed) = e.failed {
        let any = e.c.reg(Class::Predicate);
        if e.by_warps {
            e.c.op(format_args!("vote.sync.any.pred {any}, {failed}, 0xffffffff"));
        } else {
            e.c.op(format_args!("bar.red.or.pred {any}, 0, {failed}"));
        }
        let exit = e.exit;
        e.c.op(format_args!("@{any} bra {exit}"));
    } else {
        e.c.op("bar.sync 0");
    }
}

/// Registers become as they are before any element.
fn reset(e: &mut Emitter<'_>, combine: &Lambda, accumulator: &Accumulator) {
    let fresh = e.accumulator(combine, &[]);
    for (component, (&to, &from)) in accumulator.values.iter().zip(&fresh.values).enumerate() {
        let ty = combine.params[component].ty;
        e.c.assign(to, Val::new(ty, from));
    }
    if let Some(present) = accumulator.present {
        e.c.assign(present, fusebox_ir::Constant::from(false).into());
    }
}

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
        shared.iter().for_each(|each| reset(e, each.combine, &each.own));
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
fn own_steps_of<'k>(
    e: &mut Emitter<'k>,
    shared: &[Shared<'_>],
    (thread, team): (Val, Team),
    bounds: (Val, Val),
    feed: &mut dyn FnMut(&mut Emitter<'k>, Val) -> Result,
) -> Result {
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

/// What blocks give starts anew: so many of them come.
fn restart(e: &mut Emitter<'_>, shared: &mut Shared<'_>, team: Team, blocks: Val) -> Result {
    match &mut shared.blocks {
        Blocks::One(into) | Blocks::Any(into) => {
            let into = into.clone();
            reset(e, shared.combine, &into);
        }
        Blocks::Table(table) => {
            let memory = (shared.position, Use::Blocks);
            *table = Some(e.table(memory, shared.combine, team.lanes, Some(BLOCK * BLOCK), Some(blocks))?);
        }
    }
    Ok(())
}

/// Lanes are folded until one is left, that of the first thread: of interleaved ones the upper half into the lower, of runs neighbours.
pub(super) fn tree(e: &mut Emitter<'_>, shared: &[Shared<'_>], thread: Val, team: Team) -> Result {
    // Who fails in a warp would leave the others waiting.
    let shuffled = matches!(team.lanes, Lanes::Interleaved(_)) && shared.iter().all(|each| cannot_fail(each.combine));
    if !shuffled || team.threads > WARP {
        for each in shared {
            let place = e.address(each.exchange(e)?, thread, each.stride());
            let own = own_of(each);
            e.write_maybe("shared", place, &own);
        }
    }
    // What every order is right for all threads have combined, also those that are no lane.
    let rounds = team.threads.ilog2() - if shuffled { WARP.ilog2() } else { 0 };
    for round in 0..rounds {
        e.c.op("bar.sync 0");
        let (distance, takes) = match team.lanes {
            Lanes::Interleaved(_) => {
                let half = i64::from(team.threads >> (round + 1));
                (half, e.c.compare("lt", thread, half.into()))
            }
            Lanes::Runs(_) | Lanes::Kept(_) => {
                let step = 1i64 << round;
                let text = e.c.text(thread);
                let within = e.c.make(ElementType::I64, "and.b64", &[&text, &(2 * step - 1).to_string()]);
                (step, e.c.compare("eq", within, 0i64.into()))
            }
        };
        phase(e, |e| {
            e.only_if(takes, |e| {
                for each in shared {
                    e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
                    let other = e.c.add(thread, distance.into());
                    let place = e.address(each.exchange(e)?, other, each.stride());
                    let right = e.read_maybe("shared", place, &each.types);
                    let right = if each.own.present.is_none() { Maybe { present: None, ..right } } else { right };
                    e.combine_into(each.combine, &each.own, &right, each.down)?;
                    let place = e.address(each.exchange(e)?, thread, each.stride());
                    let own = each.own.maybe(each.types.iter().copied());
                    e.write_maybe("shared", place, &own);
                }
                Ok(())
            })
        })?;
    }
    if shuffled {
        let first_warp = e.c.compare("lt", thread, i64::from(WARP).into());
        e.only_if(first_warp, |e| shared.iter().try_for_each(|each| shuffle(e, each, thread)))?;
    }
    Ok(())
}

/// The lanes of the first warp are folded by halves, through registers.
fn shuffle(e: &mut Emitter<'_>, each: &Shared<'_>, thread: Val) -> Result {
    e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
    let mut half = WARP / 2;
    while half > 0 {
        let own = own_of(each);
        let values = own.values.iter().map(|&value| e.c.shuffle_down(value, half)).collect();
        let present = own.present.map(|present| e.c.shuffle_down(Val::new(ElementType::Bool, present), half));
        let right = Maybe { values, present: present.and_then(Val::register) };
        let lower = e.c.compare("lt", thread, i64::from(half).into());
        e.only_if(lower, |e| e.combine_into(each.combine, &each.own, &right, each.down))?;
        half /= 2;
    }
    Ok(())
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

/// What this thread of the first lanes has of a block.
pub(super) fn own_of(shared: &Shared<'_>) -> Maybe {
    shared.own.maybe(shared.types.iter().copied())
}

/// What an element of a reduce goes into, where it comes from somewhere else than its statement.
pub(super) struct Feeder<'k> {
    combine: &'k Lambda,
    own: Accumulator,
    down: bool,
}

impl<'k> Feeder<'k> {
    pub(super) fn of(shared: &Shared<'k>) -> Self {
        Self { combine: shared.combine, own: shared.own.clone(), down: shared.down }
    }
}

/// An element for a reduce from somewhere else than its statement.
pub(super) fn feed_own(e: &mut Emitter<'_>, feeder: &Feeder<'_>, element: &Maybe) -> Result {
    e.combine_into(feeder.combine, &feeder.own, element, feeder.down)
}

/// What threads combine starts anew.
pub(super) fn reset_all(e: &mut Emitter<'_>, shared: &[Shared<'_>]) {
    for each in shared {
        each.more.iter().chain([&each.own]).for_each(|own| reset(e, each.combine, own));
    }
}

/// The results of reduces, in the first thread.
pub(super) fn results(e: &mut Emitter<'_>, shared: &mut [Shared<'_>]) -> Result {
    let kernel = e.kernel;
    for each in shared {
        let Action::Reduce { results, seeds, .. } = &kernel.statements[each.position].action else { continue };
        e.operation = kernel.operation(&kernel.statements[each.position]);
        let combined = each.combined(e)?;
        let seeds = e.operands(seeds)?;
        let values = e.seeded(each.combine, &seeds, &combined, each.down)?;
        for (local, reg) in results.iter().zip(values) {
            e.locals.insert(local.id, Val::new(local.ty, reg));
        }
    }
    Ok(())
}
