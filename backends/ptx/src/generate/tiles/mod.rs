//! Tiles of the outermost level: scans along it, and appends, carry from tile to tile by look-back.
//!
//! A block takes the next tile by ticket, so that it waits only for tiles that another has begun. It finds the total of its tile and publishes
//! it, goes back to the nearest tile whose carry is known, adds the totals since then strictly from the left, publishes its own carry, and
//! goes through the tile once more. An append is a scan of how many elements each step puts.

mod gangs;
mod look_back;

use fusebox_ir::{
    Action, Binary, Constant, ElementType, Instruction, Kernel, Lambda, Local, LocalId, Name, Place, ScalarOp,
    analysis::kernels::totals_only, association::BLOCK,
};

use fusebox_schedule::grid;
use gangs::{apply, chain, prefix};

use super::{
    Building,
    fold::stop_if_failed,
    is_once, once, prologue,
    rows::{Feeder, Shared, agree, block_of, feed_own, fold, own_of, phase, reset_all, results, shared, tree},
};
use crate::{
    emit::{Axis, Emitter, Result, What, parts},
    module::{Argument, Quantity},
    statement::{
        Staged, Together,
        reduce::{Accumulator, Maybe},
    },
    team::Team,
    text::{Class, Reg, Space},
    value::Val,
};

/// Lanes of a gang where every order is right.
const GANG: u32 = 16;
/// Bytes of shared memory for elements of a chunk.
const STAGED_BYTES: u64 = 24 << 10;
/// The state of a tile whose total is there.
const TOTAL: i64 = 1;
/// The state of a tile behind which what is carried is there.
const CARRY: i64 = 2;

/// What carries from tile to tile.
struct Carried<'k> {
    position: usize,
    combine: &'k Lambda,
    down: bool,
    exclusive: bool,
    types: Vec<ElementType>,
    /// None: the append.
    seeds: Option<&'k [fusebox_ir::ScalarOperand]>,
    gang: u32,
    /// In scratch memory: totals of tiles, and what is carried behind them.
    totals: Argument,
    carries: Argument,
}

/// What a block has of it.
struct Own {
    /// Elements of a chunk.
    staged: Reg,
    /// Where the element under way is.
    place: Reg,
    /// What each gang starts from.
    starts: Reg,
    /// In the first thread: what is carried so far.
    running: Accumulator,
}

impl Carried<'_> {
    fn stride(&self) -> u64 {
        8 * self.types.len() as u64 + 8
    }

    fn absent(&self, e: &mut Emitter<'_>) -> Accumulator {
        let values = self.types.iter().map(|&ty| e.c.variable(Constant::zero(ty).into())).collect();
        Accumulator { values, present: Some(e.c.variable(Constant::from(false).into())) }
    }

    /// What is carried into the first tile.
    fn first(&self, e: &mut Emitter<'_>) -> Result<Maybe> {
        match self.seeds {
            None => Ok(Maybe { values: vec![0i64.into()], present: None }),
            Some(seeds) if !seeds.is_empty() => Ok(Maybe { values: e.operands(seeds)?, present: None }),
            Some(_) => Ok(self.absent(e).maybe(self.types.iter().copied())),
        }
    }

    fn maybe(&self, of: &Accumulator) -> Maybe {
        of.maybe(self.types.iter().copied())
    }
}

/// The function that adds numbers of elements put.
fn sum() -> Lambda {
    let local = |at: u32| Local { id: LocalId(u32::MAX - at), ty: ElementType::I64, name: Name::default() };
    let (a, b, c) = (local(0), local(1), local(2));
    let op = ScalarOp::Binary { function: Binary::Add, a: a.id.into(), b: b.id.into() };
    let results = vec![c.id.into()];
    let instruction = Instruction { results: vec![c], op, place: Place::default() };
    Lambda { params: vec![a, b], instructions: vec![instruction], results }
}

/// The numbers of a kernel in tiles.
#[derive(Clone, Copy)]
struct Sizes {
    team: Team,
    /// Steps of a tile.
    tile: i64,
    /// Steps of a chunk, whose elements are in shared memory at once.
    chunk: i64,
}

/// The whole kernel and what totals of tiles need of it.
#[derive(Clone, Copy)]
struct Kernels<'k> {
    whole: &'k Kernel,
    totals: &'k Kernel,
    /// How statements that only count are run.
    what: What,
}

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
            let (combine, seeds, exclusive, types, gang) = match &statement.action {
                Action::Scan { combine, seeds, exclusive, association, .. } if statement.depth == 1 => {
                    let types = combine.params.iter().take(combine.results.len()).map(|param| param.ty).collect();
                    let gang = match association {
                        fusebox_ir::Association::Tiles { lanes, .. } if !exact => *lanes,
                        _ => GANG,
                    };
                    (combine, Some(&seeds[..]), *exclusive, types, gang)
                }
                Action::Append { .. } if statement.depth > 0 => {
                    appends = true;
                    (&sum, None, true, vec![ElementType::I64], GANG)
                }
                _ => continue,
            };
            let bytes = count.clone().times(8 * types.len() as i64 + 8);
            let (totals, carries) = (self.scratch(bytes.clone(), false), self.scratch(bytes, false));
            let down = kernel.levels[0].order == fusebox_ir::LevelOrder::Down && seeds.is_some();
            carried.push(Carried { position, combine, down, exclusive, types, seeds, gang, totals, carries });
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
        let staged: u64 = carried.iter().map(Carried::stride).sum();
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
            let staged = e.c.memory(Space::Shared, each.stride() * chunk as u64);
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

/// The passes over a tile.
struct Pass<'a, 'k> {
    kernels: Kernels<'k>,
    sizes: Sizes,
    carried: &'a [Carried<'k>],
    own: Vec<Own>,
    reduces: Vec<Shared<'k>>,
    partial: &'a [Argument],
    thread: Val,
    axis: Axis,
    inner: std::ops::Range<usize>,
}

impl<'k> Pass<'_, 'k> {
    /// One tile.
    fn tile(
        &mut self,
        e: &mut Emitter<'k>,
        totals: &mut [Shared<'k>],
        (number, status): (Val, Argument),
        first: Reg,
    ) -> Result {
        let team = self.sizes.team;
        let start = e.c.mul(number, self.sizes.tile.into());
        let rest = e.c.sub(self.axis.steps, start);
        let rest = e.c.text(rest);
        let steps = e.c.make(ElementType::I64, "min.s64", &[&rest, &self.sizes.tile.to_string()]);
        totals.iter().for_each(|each| each.meet(e));
        let appends: Vec<Feeder<'_>> = (totals.iter().zip(self.carried))
            .filter(|(_, each)| each.seeds.is_none())
            .map(|(total, _)| Feeder::of(total))
            .collect();
        fold(e, totals, (self.thread, team), steps, &mut |e, step| {
            let at = e.c.add(start, step);
            let count = self.count(e, at)?;
            for feeder in &appends {
                feed_own(e, feeder, &Maybe { values: vec![count], present: None })?;
            }
            Ok(())
        })?;
        agree(e);
        phase(e, |e| e.only_if(first, |e| self.look_back(e, totals, (number, status))))?;
        agree(e);
        let blocks = e.pieces(steps, BLOCK);
        e.count_up(blocks, |e, block| {
            let (from, to) = block_of(e, block, steps);
            reset_all(e, &self.reduces);
            let many = e.c.sub(to, from);
            let chunks = e.pieces(many, self.sizes.chunk);
            let begin = e.c.add(start, from);
            e.count_up(chunks, |e, chunk| {
                let skipped = e.c.mul(chunk, self.sizes.chunk.into());
                let left = e.c.sub(many, skipped);
                let left = e.c.text(left);
                let count = e.c.make(ElementType::I64, "min.s64", &[&left, &self.sizes.chunk.to_string()]);
                let begin = e.c.add(begin, skipped);
                self.chunk(e, begin, count, first)
            })?;
            if self.reduces.is_empty() {
                return Ok(());
            }
            tree(e, &self.reduces, self.thread, team)?;
            let earlier = e.c.mul(number, (self.sizes.tile / BLOCK).into());
            let at = e.c.add(earlier, block);
            e.only_if(first, |e| {
                for (each, &argument) in self.reduces.iter().zip(self.partial) {
                    let base = e.argument(argument);
                    let place = e.address(base, at, each.stride());
                    let result = own_of(each);
                    e.write_maybe("global", place, &result);
                }
                Ok(())
            })?;
            agree(e);
            Ok(())
        })
    }

    /// A step, as totals need it; how many elements it puts.
    fn count(&self, e: &mut Emitter<'k>, step: Val) -> Result<Val> {
        let counter = e.c.variable(0i64.into());
        (e.kernel, e.what) = (self.kernels.totals, self.kernels.what);
        // What is reduced over all steps is so once, when all else is done.
        self.reduces.iter().for_each(|each| e.left_out[each.position] = true);
        let appended = e.appended.replace(counter);
        e.enter(&self.axis, step);
        let result = e.depth(1, self.inner.clone());
        (e.kernel, e.what, e.appended) = (self.kernels.whole, What::All, appended);
        self.reduces.iter().for_each(|each| e.left_out[each.position] = false);
        result?;
        Ok(Val::new(ElementType::I64, counter))
    }

    /// One chunk: elements to shared memory, scanned there, then everything else at each step.
    fn chunk(&mut self, e: &mut Emitter<'k>, begin: Val, count: Val, first: Reg) -> Result {
        let stride = i64::from(self.sizes.team.threads).into();
        for (each, own) in self.carried.iter().zip(&self.own) {
            e.together.insert(each.position, Together::Put(Staged { place: own.place }));
        }
        phase(e, |e| {
            e.stride_up(self.thread, count, stride, |e, step| {
                self.places(e, step);
                let at = e.c.add(begin, step);
                let count = self.count(e, at)?;
                for (each, own) in self.carried.iter().zip(&self.own) {
                    if each.seeds.is_none() {
                        e.write_maybe("shared", own.place, &Maybe { values: vec![count], present: None });
                    }
                }
                Ok(())
            })
        })?;
        agree(e);
        for (each, own) in self.carried.iter().zip(&self.own) {
            e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
            let gangs = e.pieces(count, each.gang.into());
            phase(e, |e| e.stride_up(self.thread, gangs, stride, |e, gang| prefix(e, each, own, gang, count)))?;
            agree(e);
            phase(e, |e| e.only_if(first, |e| chain(e, each, own, gangs, count)))?;
            agree(e);
            phase(e, |e| e.stride_up(self.thread, gangs, stride, |e, gang| apply(e, each, own, gang, count)))?;
            e.together.insert(each.position, Together::Take(Staged { place: own.place }));
        }
        agree(e);
        phase(e, |e| {
            e.stride_up(self.thread, count, stride, |e, step| {
                self.places(e, step);
                let at = e.c.add(begin, step);
                e.enter(&self.axis, at);
                for (each, own) in self.carried.iter().zip(&self.own) {
                    if each.seeds.is_none() {
                        let value = e.load_from("shared", ElementType::I64, own.place, 0);
                        e.appended = Some(e.c.variable(value));
                    }
                }
                e.depth(1, self.inner.clone())?;
                e.appended = None;
                Ok(())
            })
        })?;
        agree(e);
        Ok(())
    }

    fn places(&self, e: &mut Emitter<'k>, step: Val) {
        for (each, own) in self.carried.iter().zip(&self.own) {
            let place = e.address(own.staged, step, each.stride());
            e.c.assign(own.place, Val::new(ElementType::I64, place));
        }
    }
}
