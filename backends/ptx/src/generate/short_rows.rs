//! Rows of different lengths: a thread for each short row, the whole warp for each long one that its threads meet.
//!
//! Threads look at neighbouring rows. Each goes through its own, if that is short. Then the warp takes the long ones that it has found, one by
//! one, so that no thread waits for another that has much more to do. What the threads of a warp do together is to combine the steps of a row, to scan
//! them, or each to do its own.

use std::ops::Range;

use fusebox_ir::{Constant, ElementType, Kernel, analysis::kernels::totals_along};
use fusebox_schedule::{
    Form,
    grid::{LongRows, WARP, long_rows},
};

use super::{
    Building, around, axes, is_once,
    meeting::{agree, phase},
    once,
    points::MANY,
    points_of,
    private::{Copies, Words},
    prologue, pure,
    row_scans::{self, Scans},
    row_steps::{apart_steps, team},
    rows::{row, warps},
    shared::{Shared, shared},
    very_long::{Scatters, VeryLong},
};
use crate::{
    emit::{Axis, Emitter, Result, parts},
    module::Argument,
    team::Team,
    text::{Class, Reg},
    value::Val,
};

/// Rows up to which a warp looks at each for itself.
const FEW_ROWS: i64 = 1 << 14;

/// How the warp goes through a long row.
enum Together<'k> {
    Reduced(Team, Vec<Shared<'k>>),
    Scanned(Scans<'k>),
    Apart,
}

impl Building<'_> {
    pub(super) fn short_or_long(
        &mut self,
        (outer, threads): (usize, u32),
        (least, cut): (u32, u32),
        forms: &[Form],
    ) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let long = long_rows(kernel, outer).map_err(|why| super::unsupported(kernel, why))?;
        let sliced = matches!(long, LongRows::Scanned { tiles: true, .. }).then(|| totals_along(kernel, outer));
        let words: Vec<Words> = forms.iter().filter_map(|form| self.words(form)).collect();
        words.iter().try_for_each(|words| self.pack(words))?;
        let locks = self.locks_but(|position| words.iter().any(|words| words.position == position));
        let cut = (cut > 0).then(|| VeryLong::new(self, (outer, threads), (long, cut)));
        let memory = cut.iter().flat_map(VeryLong::memory);
        let more: Vec<Argument> = words.iter().map(|words| words.memory).chain(locks).chain(memory).collect();
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &more);
        let scatters = Scatters { locks, packed: words.iter().map(|words| (words.position, words.memory)).collect() };
        scatters.known_to(&mut e);
        let (before, deeper, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all)?;
        let rows = axes(&mut e, 0..outer)?;
        let points = e.points(&rows);
        let (thread, warp, warps) = warps(&mut e, threads / WARP);
        let numbers = (thread, warp, warps);
        let own = Rows { axes: &rows, least, cut: cut.as_ref(), points, numbers, long, sliced: sliced.as_ref() };
        let copies = forms.iter().filter_map(|form| Copies::of(kernel, form)).collect::<Vec<_>>();
        if copies.is_empty() {
            e.failed = Some(e.c.variable(Constant::from(false).into()));
            e.by_warps = true;
            own.all(&mut e, deeper)?;
        } else {
            super::private::points(&mut e, &copies, threads, |e| {
                let alone = e.failed.is_none();
                if alone {
                    e.failed = Some(e.c.variable(Constant::from(false).into()));
                }
                e.by_warps = true;
                let done = own.all(e, deeper.clone());
                e.by_warps = false;
                if alone {
                    e.failed = None;
                }
                done
            })?;
        }
        if is_once(kernel, &before, &behind) {
            let lowest = e.c.compare("eq", thread, 0i64.into());
            let own = e.c.compare("eq", warp, 0i64.into());
            let one = e.c.both(lowest, own);
            e.only_if(one, |e| once(e, before, behind))?;
        }
        let pieces = i64::from(threads) * if copies.is_empty() { 1 } else { MANY };
        let points = points_of(0..outer);
        // Of few points a warp may take each.
        let few = points.clone().at_most(FEW_ROWS).pieces((threads / WARP).into());
        let made = e.finish("rows", points.pieces(pieces).or_more(few), threads)?;
        self.entries.push(made);
        if let Some(cut) = cut {
            self.very_long(&cut, &more, &scatters)?;
        }
        words.iter().try_for_each(|words| self.unpack(words))
    }
}

/// The rows of a kernel, short and long.
struct Rows<'a, 'k> {
    /// Of the levels around.
    axes: &'a [Axis],
    /// From how many steps on a row is long.
    least: u32,
    /// Where very long ones are left.
    cut: Option<&'a VeryLong>,
    points: Val,
    /// The number of the thread in its warp, that of the warp in the grid, and how many warps there are.
    numbers: (Val, Val, Val),
    long: LongRows,
    /// What totals of scans need of the kernel.
    sliced: Option<&'k Kernel>,
}

impl<'k> Rows<'_, 'k> {
    /// Those of all points.
    fn all(&self, e: &mut Emitter<'k>, deeper: Range<usize>) -> Result {
        let outer = self.axes.len();
        let (thread, warp, warps) = self.numbers;
        let lowest = e.c.compare("eq", thread, 0i64.into());
        let mut long = match self.long {
            LongRows::Reduced(_) => {
                let team = team(e.kernel, outer, self.long);
                Together::Reduced(team, shared(e, outer, team, None)?)
            }
            LongRows::Scanned { total_lanes, .. } => {
                Together::Scanned(Scans::new(e, outer, (total_lanes, self.sliced))?)
            }
            LongRows::Apart => Together::Apart,
        };
        // Threads look at their rows. Long ones are taken by the warp that has found them, or, where there are few rows, once all short ones are done: then
        // warps look at each row for themselves, so that long neighbours go to several of them.
        let groups = e.pieces(self.points, WARP.into());
        let few = e.c.compare("le", self.points, FEW_ROWS.into());
        let width = e.c.variable(i64::from(WARP).into());
        let width = Val::new(ElementType::I64, width);
        let count = e.c.variable(groups);
        let again = e.c.label();
        e.c.place(again);
        let alone = e.c.compare("eq", width, 1i64.into());
        e.stride_up(warp, Val::new(ElementType::I64, count), warps, |e, group| {
            let first = e.c.mul(group, width);
            let point = e.c.add(first, thread);
            let is_long = e.c.variable(Constant::from(false).into());
            let together = std::mem::take(&mut e.together);
            phase(e, |e| {
                let there = e.c.compare("lt", point, self.points);
                let grouped = e.c.not(alone);
                let there = e.c.both(there, grouped);
                e.only_if(there, |e| short_row(e, self.axes, (point, deeper.clone()), self.least, is_long))
            })?;
            e.together = together;
            agree(e);
            let one = e.c.both(alone, lowest);
            let not_few = e.c.not(few);
            let found = e.c.both(is_long, not_few);
            let taken = e.c.either(one, found);
            each_long(e, taken, |e, lane| {
                let point = e.c.add(first, lane);
                e.enter_all(self.axes, point);
                let inside = around(e, 1..outer, deeper)?;
                let (before, _, _) = parts(e.kernel, outer, inside.clone());
                pure(e, before)?;
                let axis = e.axis(outer)?;
                let is_long = e.c.compare("ge", axis.steps, i64::from(self.least).into());
                e.only_if(is_long, |e| {
                    let left = match self.cut {
                        Some(cut) => Some(cut.leave(e, (point, axis.steps), lowest)?),
                        None => None,
                    };
                    match &mut long {
                        Together::Apart => apart(e, outer, inside, left, (thread, lowest)),
                        Together::Scanned(scans) => row_scans::row(e, scans, inside, (thread, lowest)),
                        Together::Reduced(team, shared) => {
                            let take =
                                |e: &mut Emitter<'k>| row(e, (outer, 1), inside, shared, (thread, lowest, *team));
                            match left {
                                None => take(e),
                                Some(left) => {
                                    let own = e.c.not(left);
                                    e.only_if(own, take)
                                }
                            }
                        }
                    }
                })
            })
        })?;
        let behind = e.c.label();
        e.c.op(format_args!("@!{few} bra {behind}"));
        e.c.op(format_args!("@{alone} bra {behind}"));
        let (Some(width), Some(count)) = (width.register(), Some(count)) else {
            return Err(e.broken("a width that is known"));
        };
        e.c.assign(width, 1i64.into());
        e.c.assign(count, self.points);
        e.c.op(format_args!("bra {again}"));
        e.c.place(behind);
        Ok(())
    }
}

/// A row whose steps do not depend on each other, by all threads of a warp; all but the steps where those are left to others.
fn apart(
    e: &mut Emitter<'_>,
    outer: usize,
    inside: Range<usize>,
    left: Option<Reg>,
    (thread, lowest): (Val, Reg),
) -> Result {
    let (before, deeper, behind) = parts(e.kernel, outer, inside);
    pure(e, before.clone())?;
    let axis = e.axis(outer)?;
    let own = left.map_or(axis.steps, |left| e.c.select(left, 0i64.into(), axis.steps));
    apart_steps(e, &axis, deeper, (thread, own))?;
    phase(e, |e| e.only_if(lowest, |e| once(e, before, behind)))?;
    agree(e);
    Ok(())
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
        e.short_rows = Some(least);
        e.level(outer, deeper)?;
        e.short_rows = None;
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
