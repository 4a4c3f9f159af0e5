//! Tiles of the outermost level: scans along it, and appends, carry from tile to tile by look-back.
//!
//! A block takes the next tile by ticket, so that it waits only for tiles that another has begun. It finds the total of its tile and publishes
//! it, goes back to the nearest tile whose carry is known, adds the totals since then strictly from the left, publishes its own carry, and
//! goes through the tile once more. An append is a scan of how many elements each step puts.

mod carried;
mod gangs;
mod look_back;
mod pass;

use fusebox_ir::{Action, Constant, ElementType, analysis::kernels::totals_only, association::BLOCK};
use fusebox_schedule::grid;

use carried::{Carried, GANG, Own, sum};
use pass::{Kernels, Pass, Sizes};

use super::{
    Building,
    elements::fold,
    fold::stop_if_failed,
    is_once,
    meeting::phase,
    once, prologue,
    shared::{Feeder, Shared, feed_own, results, shared},
};
use crate::{
    emit::{Emitter, Result, What, parts},
    module::{Argument, Quantity},
    team::Team,
    text::{Class, Space},
    value::Val,
};

/// Bytes of shared memory for elements of a chunk.
const STAGED_BYTES: u64 = 24 << 10;
impl Building<'_> {
    pub(super) fn tiles(&mut self, steps: u32, threads: u32) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let (sum, sliced) = (sum(), totals_only(kernel));
        let (lanes, exact) = grid::tiles(kernel).map_err(|why| super::unsupported(kernel, why))?;
        let team = Team::new(threads, lanes);
        let tile = i64::from(steps);
        let count = Quantity::Steps(0).pieces(tile);
        let (status, ticket) = (self.scratch(count.clone().times(8), true), self.scratch(Quantity::Number(8), true));
        let mut carried = Vec::new();
        let mut appends = false;
        for (position, statement) in kernel.statements.iter().enumerate() {
            let (combine, seeds, exclusive, types, gang, always) = match &statement.action {
                Action::Scan { combine, seeds, exclusive, association, .. } if statement.depth == 1 => {
                    let types = combine.params.iter().take(combine.results.len()).map(|param| param.ty).collect();
                    let gang = match association {
                        fusebox_ir::Association::Tiles { lanes, .. } if !exact => *lanes,
                        _ => GANG,
                    };
                    (combine, Some(&seeds[..]), *exclusive, types, gang, statement.when.is_none())
                }
                Action::Append { .. } if statement.depth > 0 => {
                    appends = true;
                    (&sum, None, true, vec![ElementType::I64], GANG, true)
                }
                _ => continue,
            };
            let bytes = count.clone().times(8 * types.len() as i64 + 8);
            let (totals, carries) = (self.scratch(bytes.clone(), false), self.scratch(bytes, false));
            let down = kernel.levels[0].order == fusebox_ir::LevelOrder::Down && seeds.is_some();
            carried.push(Carried { position, combine, down, exclusive, types, seeds, gang, always, totals, carries });
        }
        let partial: Vec<Argument> = (kernel.statements.iter())
            .filter_map(|statement| match &statement.action {
                Action::Reduce { to: 0, results, .. } => Some(8 * results.len() as i64 + 8),
                _ => None,
            })
            .map(|stride| self.scratch(Quantity::Steps(0).pieces(BLOCK).times(stride), false))
            .collect();
        let locks = self.locks();
        let mut more = vec![status, ticket];
        more.extend(carried.iter().flat_map(|each| [each.totals, each.carries]));
        more.extend(partial.iter().chain(&locks));
        let staged: u64 = carried.iter().map(Carried::staged_stride).sum();
        let chunk = (STAGED_BYTES / staged.max(1)).clamp(64, 1024);
        let chunk = 1i64 << chunk.ilog2();
        let sizes = Sizes { team, tile, chunk };
        let kernels = Kernels {
            whole: kernel,
            totals: if appends { kernel } else { &sliced },
            what: if appends { What::Counts } else { What::Pure },
        };

        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &more);
        e.locks = locks.map(|locks| e.argument(locks));
        e.failed = Some(e.c.variable(Constant::from(false).into()));
        let (before, deeper, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all.clone())?;
        let axis = e.axis(0)?;
        let tiles = e.pieces(axis.steps, tile);
        let thread = e.special("tid.x");
        let reduces = shared(&mut e, 0, team, Some(BLOCK))?;
        let mut totals = Vec::new();
        for each in &carried {
            totals.push(Shared::new(&mut e, each.position, (each.combine, each.down), team, Some(tile))?);
        }
        let mut own = Vec::new();
        for each in &carried {
            let staged = e.c.memory(Space::Shared, each.staged_stride() * chunk as u64);
            let starts = e.c.memory(Space::Shared, each.stride() * (chunk as u64 / u64::from(each.gang)).max(1));
            let (place, running) = (e.c.variable(0i64.into()), each.absent(&mut e));
            own.push(Own { staged, place, starts, running });
        }
        let mut pass =
            Pass { kernels, sizes, carried: &carried, own, reduces, partial: &partial, thread, axis, inner: deeper };
        let word = e.c.memory(Space::Shared, 8);
        let (again, done) = (e.c.label(), e.c.label());
        let first = e.c.compare("eq", thread, 0i64.into());
        let ticket = e.argument(ticket);
        e.c.place(again);
        e.only_if(first, |e| {
            let number = e.c.reg(Class::Double);
            e.c.op(format_args!("atom.global.add.u64 {number}, [{ticket}], 1"));
            e.c.op(format_args!("st.shared.u64 [{word}], {number}"));
            Ok(())
        })?;
        e.c.op("bar.sync 0");
        let number = e.load_from("shared", ElementType::I64, word, 0);
        let over = e.c.compare("ge", number, tiles);
        e.c.op(format_args!("@{over} bra {done}"));
        pass.tile(&mut e, &mut totals, (number, status), first)?;
        e.c.op(format_args!("bra {again}"));
        e.c.place(done);
        let made = e.finish("tiles", count, team.threads)?;
        self.entries.push(made);

        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &more);
        e.locks = locks.map(|locks| e.argument(locks));
        e.failed = Some(e.c.variable(Constant::from(false).into()));
        stop_if_failed(&mut e);
        prologue(&mut e, all)?;
        let axis = e.axis(0)?;
        let thread = e.special("tid.x");
        let first = e.c.compare("eq", thread, 0i64.into());
        let mut reduces = shared(&mut e, 0, team, None)?;
        let blocks = e.pieces(axis.steps, BLOCK);
        let feeders: Vec<_> = (reduces.iter().zip(&partial))
            .map(|(each, &argument)| (Feeder::of(each), each.stride(), each.types.clone(), e.argument(argument)))
            .collect();
        if !reduces.is_empty() {
            fold(&mut e, &mut reduces, (thread, team), blocks, &mut |e, piece| {
                for (feeder, stride, types, base) in &feeders {
                    let place = e.address(*base, piece, *stride);
                    let element = e.read_maybe("global", place, types);
                    feed_own(e, feeder, &element)?;
                }
                Ok(())
            })?;
        }
        let tiles = e.pieces(axis.steps, tile);
        phase(&mut e, |e| {
            e.only_if(first, |e| {
                results(e, &mut reduces)?;
                for each in &carried {
                    last_carry(e, each, tiles)?;
                }
                e.end_append()?;
                e.appended = None;
                if is_once(kernel, &before, &behind) { once(e, before, behind) } else { Ok(()) }
            })
        })?;
        let made = e.finish("rest", Quantity::Number(1), team.threads)?;
        self.entries.push(made);
        Ok(())
    }
}

/// What is carried behind the last tile: totals of scans, the number of elements put.
fn last_carry(e: &mut Emitter<'_>, each: &Carried<'_>, tiles: Val) -> Result {
    let first = each.first(e)?;
    let carry = each.absent(e);
    e.set_maybe(&carry, &first);
    let some = e.c.compare("gt", tiles, 0i64.into());
    let base = e.argument(each.carries);
    e.only_if(some, |e| {
        let last = e.c.add(tiles, (-1i64).into());
        let place = e.address(base, last, each.stride());
        let known = e.read_maybe("global", place, &each.types);
        e.set_maybe(&carry, &known);
        Ok(())
    })?;
    match &e.kernel.statements[each.position].action {
        Action::Scan { totals, .. } => {
            for (local, &reg) in totals.iter().zip(&carry.values) {
                e.locals.insert(local.id, Val::new(local.ty, reg));
            }
        }
        _ => e.appended = carry.values.first().copied(),
    }
    Ok(())
}
