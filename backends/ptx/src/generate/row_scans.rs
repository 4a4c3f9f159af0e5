//! Rows that the threads of a warp scan: 32 steps at a time, a step of each thread, whose elements are exchanged through registers.
//!
//! A gang is as many neighbouring threads as it has lanes. Its lanes take those before them, the gangs of a warp follow each other, and what all of them give
//! is carried to the next 32 steps: by every thread, so that nobody has to be told. Between scans threads do what is theirs, each at its step.

use std::ops::Range;

use fusebox_ir::{
    Action, Association, Constant, ElementType, Kernel, Lambda, LocalId, ScalarOperand, association::TILE,
};
use fusebox_schedule::grid::{self, WARP, is_exact};

use super::{
    elements::fold,
    meeting::{agree, phase},
    once, pure,
    shared::Shared,
};
use crate::{
    emit::{Axis, Emitter, Result, What, parts},
    state::{Accumulator, Maybe},
    team::Team,
    text::Reg,
    value::Val,
};

/// The scans along a level.
pub(super) struct Scans<'k> {
    level: usize,
    scans: Vec<Scan<'k>>,
    /// The totals of tiles that are combined by themselves, in the order of those scans that have one, and what the kernel needs for them.
    totals: Vec<Shared<'k>>,
    team: Team,
    sliced: Option<&'k Kernel>,
}

/// One of them.
struct Scan<'k> {
    position: usize,
    combine: &'k Lambda,
    exclusive: bool,
    seeds: &'k [ScalarOperand],
    types: Vec<ElementType>,
    /// Lanes of a gang.
    lanes: u32,
    /// Whether it is in tiles, and whether their totals are combined by themselves.
    tiles: Option<bool>,
    /// Locals of totals.
    totals: Vec<LocalId>,
    /// In all threads alike: what is before the gang.
    running: Accumulator,
    /// What is before the tile.
    carry: Accumulator,
    /// The gangs of the tile without what is before it.
    bare: Accumulator,
    /// What this thread has: its element, then that and what comes before in its gang.
    own: Accumulator,
    /// What is before the gang of this thread.
    before: Accumulator,
}

impl<'k> Scans<'k> {
    /// Those along a level, with totals of so many lanes.
    pub(super) fn new(
        e: &mut Emitter<'k>,
        level: usize,
        (total_lanes, sliced): (Option<u32>, Option<&'k Kernel>),
    ) -> Result<Self> {
        let kernel = e.kernel;
        let team = Team { is_warp: true, ..Team::new(WARP, total_lanes.map(grid::Lanes::Interleaved)) };
        let down = e.is_down(level);
        let (mut scans, mut all_totals) = (Vec::new(), Vec::new());
        for (position, statement) in kernel.statements.iter().enumerate() {
            let Action::Scan { combine, exclusive, seeds, totals, association, .. } = &statement.action else {
                continue;
            };
            if statement.depth as usize != level + 1 {
                continue;
            }
            let types: Vec<ElementType> =
                combine.params.iter().take(combine.results.len()).map(|param| param.ty).collect();
            let (lanes, tiles) = match *association {
                Association::Tiles { lanes, total_lanes } if !is_exact(combine) => (lanes, Some(total_lanes > 0)),
                _ => (WARP, None),
            };
            if tiles == Some(true) {
                all_totals.push(Shared::new(e, position, (combine, down), team, Some(TILE))?);
            }
            let [running, carry, bare, own, before] = [(); 5].map(|()| e.absent(&types));
            let totals = totals.iter().map(|total| total.id).collect();
            let exclusive = *exclusive;
            scans.push(Scan {
                position,
                combine,
                exclusive,
                seeds,
                types,
                lanes,
                tiles,
                totals,
                running,
                carry,
                bare,
                own,
                before,
            });
        }
        for each in &all_totals {
            e.together.remove(&each.position);
        }
        Ok(Self { level, scans, totals: all_totals, team, sliced })
    }
}

impl Scan<'_> {
    /// No value.
    fn nothing(&self, e: &mut Emitter<'_>) -> Maybe {
        let nothing = e.absent(&self.types);
        self.maybe(&nothing)
    }

    fn maybe(&self, of: &Accumulator) -> Maybe {
        of.maybe(self.types.iter().copied())
    }
}

/// A point that has been entered, by all threads of a warp; one of them is the lowest.
pub(super) fn row<'k>(
    e: &mut Emitter<'k>,
    scans: &mut Scans<'k>,
    inside: Range<usize>,
    (lane, lowest): (Val, Reg),
) -> Result {
    let level = scans.level;
    let (before, deeper, behind) = parts(e.kernel, level, inside.clone());
    pure(e, before.clone())?;
    let axis = e.axis(level)?;
    for scan in &scans.scans {
        let start = match scan.seeds {
            [] => scan.nothing(e),
            seeds => Maybe { values: e.operands(seeds)?, present: None },
        };
        e.set_maybe(&scan.running, &start);
        e.set_maybe(&scan.carry, &start);
    }
    // Without tiles all steps are one piece.
    let tiled = scans.scans.iter().any(|scan| scan.tiles.is_some());
    let tile = if tiled { TILE.into() } else { e.c.add(axis.steps, 1i64.into()) };
    e.stride_up(0i64.into(), axis.steps, tile, |e, from| {
        let end = e.c.add(from, tile);
        let to = lesser(e, end, axis.steps);
        for scan in &scans.scans {
            let nothing = scan.nothing(e);
            e.set_maybe(&scan.bare, &nothing);
        }
        totals(e, scans, inside, (&axis, from, to), lane)?;
        e.stride_up(from, to, i64::from(WARP).into(), |e, first| {
            some_steps(e, &scans.scans, deeper, (&axis, first, to), lane)
        })?;
        for scan in scans.scans.iter().filter(|scan| scan.tiles.is_some()) {
            e.operation = e.kernel.operation(&e.kernel.statements[scan.position]);
            let down = e.is_down(level);
            e.combine_into(scan.combine, &scan.carry, &scan.maybe(&scan.bare), down)?;
            let carry = scan.maybe(&scan.carry);
            e.set_maybe(&scan.running, &carry);
        }
        Ok(())
    })?;
    for scan in &scans.scans {
        let last = if scan.tiles.is_some() { &scan.carry } else { &scan.running };
        for (&local, (&reg, &ty)) in scan.totals.iter().zip(last.values.iter().zip(&scan.types)) {
            e.locals.insert(local, Val::new(ty, reg));
        }
    }
    phase(e, |e| e.only_if(lowest, |e| once(e, before, behind)))?;
    agree(e);
    Ok(())
}

/// The totals of a tile that are combined by themselves, where something follows that needs them.
fn totals<'k>(
    e: &mut Emitter<'k>,
    scans: &mut Scans<'k>,
    inside: Range<usize>,
    (axis, from, to): (&Axis, Val, Val),
    lane: Val,
) -> Result {
    let (Some(sliced), false) = (scans.sliced, scans.totals.is_empty()) else { return Ok(()) };
    let behind = e.c.label();
    if scans.scans.iter().all(|scan| scan.totals.is_empty()) {
        let last = e.c.compare("ge", to, axis.steps);
        e.c.op(format_args!("@{last} bra {behind}"));
    }
    let whole = std::mem::replace(&mut e.kernel, sliced);
    let what = std::mem::replace(&mut e.what, What::Pure);
    scans.totals.iter().for_each(|each| each.meet(e));
    // Others have no total, or that of their gangs.
    let others = || scans.scans.iter().filter(|scan| scan.tiles != Some(true)).map(|scan| scan.position);
    others().for_each(|position| e.left_out[position] = true);
    let (_, deeper, _) = parts(sliced, scans.level, inside);
    let (level, count) = (scans.level, e.c.sub(to, from));
    let done = fold(e, &mut scans.totals, (lane, scans.team), count, &mut |e, step| {
        let step = e.c.add(from, step);
        e.enter(axis, step);
        e.depth(level + 1, deeper.clone())
    });
    (e.kernel, e.what) = (whole, what);
    others().for_each(|position| e.left_out[position] = false);
    done?;
    let by_itself = scans.scans.iter().filter(|scan| scan.tiles == Some(true));
    for (scan, total) in by_itself.zip(&mut scans.totals) {
        e.together.remove(&scan.position);
        // The lowest thread has it. Where there is nothing the others have nothing either.
        let found = total.combined(e)?;
        let lowest = Val::from(Constant::from(0u32));
        let values = found.values.iter().map(|&value| e.c.shuffle_from(value, lowest)).collect();
        let present = found.present.map(|present| e.c.shuffle_from(Val::new(ElementType::Bool, present), lowest));
        let total = Maybe { values, present: present.and_then(Val::register) };
        e.set_maybe(&scan.bare, &total);
    }
    e.c.place(behind);
    Ok(())
}

/// As many steps from the first of them on as a warp has threads, or as there are before an end.
fn some_steps<'k>(
    e: &mut Emitter<'k>,
    scans: &[Scan<'k>],
    steps: Range<usize>,
    (axis, first, end): (&Axis, Val, Val),
    lane: Val,
) -> Result {
    let step = e.c.add(first, lane);
    let there = e.c.compare("lt", step, end);
    let left = e.c.sub(end, first);
    let count = lesser(e, left, i64::from(WARP).into());
    let mut next = steps.start;
    for scan in scans {
        if let Some(present) = scan.own.present {
            e.c.assign(present, Constant::from(false).into());
        }
        phase(e, |e| {
            e.only_if(there, |e| {
                e.enter(axis, step);
                e.depth(axis.level + 1, next..scan.position)?;
                let Action::Scan { values, .. } = &e.kernel.statements[scan.position].action else { return Ok(()) };
                let when = e.kernel.statements[scan.position].when;
                let present = when.map(|when| e.condition(when)).transpose()?;
                let element = Maybe { values: e.operands(values)?, present };
                e.set_maybe(&scan.own, &element);
                Ok(())
            })
        })?;
        agree(e);
        next = scan.position + 1;
        e.operation = e.kernel.operation(&e.kernel.statements[scan.position]);
        gangs(e, scan, (axis, lane, count))?;
    }
    phase(e, |e| {
        e.only_if(there, |e| {
            e.enter(axis, step);
            e.depth(axis.level + 1, next..steps.end)
        })
    })?;
    agree(e);
    Ok(())
}

/// The gangs of a warp, of which so many lanes have a step: results become locals.
fn gangs(e: &mut Emitter<'_>, scan: &Scan<'_>, (axis, lane, count): (&Axis, Val, Val)) -> Result {
    let down = e.is_down(axis.level);
    let lanes = i64::from(scan.lanes);
    let low = e.c.low(lane);
    let text = e.c.text(lane);
    let in_gang = e.c.make(ElementType::I64, "and.b64", &[&text, &(lanes - 1).to_string()]);
    let of_lane = |e: &mut Emitter<'_>, from: Val| {
        let own = scan.maybe(&scan.own);
        let values = own.values.iter().map(|&value| e.c.shuffle_from(value, from)).collect();
        let present = own.present.map(|present| e.c.shuffle_from(Val::new(ElementType::Bool, present), from));
        Maybe { values, present: present.and_then(Val::register) }
    };
    let before = |e: &mut Emitter<'_>, by: u32| {
        let low = e.c.text(low);
        let from = e.c.make(ElementType::U32, "sub.u32", &[&low, &by.to_string()]);
        of_lane(e, from)
    };
    let mut reach = 1;
    while reach < scan.lanes {
        let other = before(e, reach);
        let takes = e.c.compare("ge", in_gang, i64::from(reach).into());
        e.only_if(takes, |e| {
            let own = scan.maybe(&scan.own);
            let combined = e.combine_maybe(scan.combine, &other, &own, down)?;
            e.set_maybe(&scan.own, &combined);
            Ok(())
        })?;
        reach *= 2;
    }
    for gang in 0..WARP / scan.lanes {
        let begin = i64::from(gang * scan.lanes);
        let behind = e.c.label();
        let none = e.c.compare("le", count, begin.into());
        e.c.op(format_args!("@{none} bra {behind}"));
        let ours = e.c.compare("ge", lane, begin.into());
        e.only_if(ours, |e| {
            let running = scan.maybe(&scan.running);
            e.set_maybe(&scan.before, &running);
            Ok(())
        })?;
        let full = lesser(e, count, (begin + lanes).into());
        let last = e.c.add(full, (-1i64).into());
        let last = e.c.low(last);
        let total = of_lane(e, last);
        e.combine_into(scan.combine, &scan.running, &total, down)?;
        if scan.tiles == Some(false) {
            e.combine_into(scan.combine, &scan.bare, &total, down)?;
        }
        e.c.place(behind);
    }
    let with = if scan.exclusive {
        let other = before(e, 1);
        let first = e.c.compare("eq", in_gang, 0i64.into());
        let nothing = scan.nothing(e);
        let chosen = e.copied(&other);
        let chosen = Accumulator {
            present: Some(chosen.present.unwrap_or_else(|| e.c.variable(Constant::from(true).into()))),
            ..chosen
        };
        e.only_if(first, |e| {
            e.set_maybe(&chosen, &nothing);
            Ok(())
        })?;
        scan.maybe(&chosen)
    } else {
        scan.maybe(&scan.own)
    };
    let result = e.combine_maybe(scan.combine, &scan.maybe(&scan.before), &with, down)?;
    if let Action::Scan { results, .. } = &e.kernel.statements[scan.position].action {
        for (local, value) in results.iter().zip(result.values) {
            e.locals.insert(local.id, value);
        }
    }
    Ok(())
}

/// The lesser of two numbers.
fn lesser(e: &mut Emitter<'_>, a: Val, b: Val) -> Val {
    let (a, b) = (e.c.text(a), e.c.text(b));
    e.c.make(ElementType::I64, "min.s64", &[&a, &b])
}
