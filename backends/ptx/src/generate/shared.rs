//! Reduces whose elements several threads make: what each combines, and what blocks of 4,096 elements give.

use fusebox_ir::{Action, ElementType, Lambda, association::BLOCK};
use fusebox_schedule::grid::is_exact;

use crate::{
    emit::{Emitter, Result},
    module::Argument,
    state::{Accumulator, Maybe, Table, Together},
    team::Team,
    text::{Reg, Space, Use},
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
    pub(super) own: Accumulator,
    /// What it combines of further lanes; of a warp that has fewer lanes than threads, one element of its own.
    pub(super) more: Vec<Accumulator>,
    /// Where threads exchange what they have; none of a warp.
    exchange: Option<Reg>,
    /// What blocks of 4,096 give, in the first thread.
    pub(super) blocks: Blocks,
}

/// What comes of blocks.
pub(super) enum Blocks {
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
        let further = if exact { 1 } else { team.lanes_of_thread().max(1 + u32::from(team.passes_on())) };
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
    pub(super) fn meet_in(&self, e: &mut Emitter<'_>, lane: usize) {
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

    /// Where threads of a block exchange what they have.
    pub(super) fn exchange(&self, e: &Emitter<'_>) -> Result<Reg> {
        self.exchange.ok_or_else(|| e.broken("a warp that exchanges through memory"))
    }

    /// Bytes of what a block gives.
    pub(super) fn stride(&self) -> u64 {
        8 * self.types.len() as u64 + 8
    }
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

/// Registers become as they are before any element.
pub(super) fn reset(e: &mut Emitter<'_>, combine: &Lambda, accumulator: &Accumulator) {
    let fresh = e.accumulator(combine, &[]);
    for (component, (&to, &from)) in accumulator.values.iter().zip(&fresh.values).enumerate() {
        let ty = combine.params[component].ty;
        e.c.assign(to, Val::new(ty, from));
    }
    if let Some(present) = accumulator.present {
        e.c.assign(present, fusebox_ir::Constant::from(false).into());
    }
}

/// What threads combine starts anew.
pub(super) fn reset_all(e: &mut Emitter<'_>, shared: &[Shared<'_>]) {
    for each in shared {
        each.more.iter().chain([&each.own]).for_each(|own| reset(e, each.combine, own));
    }
}

/// What blocks give starts anew: so many of them come.
pub(super) fn restart(e: &mut Emitter<'_>, shared: &mut Shared<'_>, team: Team, blocks: Val) -> Result {
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

/// What this thread of the first lanes has of a block is left in memory, for a launch that combines blocks.
pub(super) fn leave(e: &mut Emitter<'_>, shared: &[Shared<'_>], partial: &[Argument], block: Val) -> Result {
    for (each, &argument) in shared.iter().zip(partial) {
        let base = e.argument(argument);
        let place = e.address(base, block, each.stride());
        let result = own_of(each);
        e.write_maybe("global", place, &result);
    }
    Ok(())
}
