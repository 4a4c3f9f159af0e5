//! Reduces: accumulators by association, blocks of 4,096 elements, and blocks of their results.
//!
//! Interleaved accumulators, runs and the results of blocks live in scratch memory, on the three levels of a tree: elements, blocks, blocks of blocks.
//! An accumulator is one value, or a gang where the reduce is inside the level across lanes.

mod accumulate;
mod fold;
mod fold_points;
mod peeled;
mod runs;
mod scratch;
mod state;
mod tree;

use fusebox_ir::{Action, Association, Constant, ElementType, Lambda, LevelOrder, analysis::function_can_fail};

use crate::{
    emit::{Emitter, Part, Result, Val, identities},
    vector::Value,
};
use peeled::Peeled;
pub use state::{Maybe, Reduce};
use state::{Presence, ReduceKind, ScratchLayout};

const TREE_LEVELS: usize = 3;

impl Emitter<'_> {
    /// Opens the reduce of statement `position`, at the depth it reduces to.
    pub(in crate::emit) fn reduce_begin(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let statement = &kernel.statements[position];
        let Action::Reduce { to, association, combine, seeds, values, .. } = &statement.action else {
            self.misplaced(position)
        };
        let depth = statement.depth as usize;
        let swap = kernel.levels[*to as usize].order == LevelOrder::Down;
        let optional = statement.when.is_some() || self.lanes_may_miss(*to as usize, depth);
        let counted = depth > *to as usize + 1;
        let types: Vec<ElementType> = combine.params.iter().take(values.len()).map(|param| param.ty).collect();
        let chained = self.is_chain(position);
        let (association, least) = match *association {
            _ if chained => (Association::InOrder, None),
            Association::Ragged { lanes, least } => match self.short_trip.get(&position) {
                Some(true) => (Association::InOrder, None),
                Some(false) => (Association::Interleaved { lanes }, None),
                None => (Association::Interleaved { lanes }, Some(least)),
            },
            other => (other, None),
        };
        let mut reduce =
            self.new_reduce(combine, association, types, swap, optional, counted && self.part != Part::Finish);
        if let Some(least) = least {
            self.peel(&mut reduce, least);
        }
        if self.part.is_body() && *to == 0 {
            reduce.partial = Some(position);
        }
        if let ReduceKind::InOrder(_) = reduce.kind {
            reduce.kind = ReduceKind::InOrder(self.states.len());
            let lanes = self.lanes;
            // A chain begins with what changes nothing, if there is that; else lanes that all take part have something alike.
            let identity = identities(combine).filter(|_| chained);
            for (component, &ty) in reduce.types.iter().enumerate() {
                let identity = identity.as_ref().map_or(Constant::zero(ty), |all| all[component]);
                let start = match seeds.get(component) {
                    Some(&seed) => self.operand(seed)?,
                    None => Val::Uniform(self.b.constant(identity)),
                };
                let start = self.plain(start);
                let start = self.b.splat(start, lanes);
                self.states.push(start);
            }
            if seeds.is_empty() && identity.is_none() {
                let none = self.b.constant(Constant::from(false));
                // All lanes have their first element at once; and what a function that cannot fail makes of nothing is not used.
                let alike = !optional && !self.is_along_lanes(position) && !function_can_fail(combine);
                let none = if alike { none } else { self.b.splat(none, lanes) };
                self.in_order_flags.insert(self.states.len());
                self.states.push(none);
            }
        } else {
            self.reset(&reduce);
        }
        if !counted {
            let level = &kernel.levels[*to as usize];
            let (from, end) = (self.operand(level.from)?, self.operand(level.to)?);
            let (from, end) = (self.plain(from), self.plain(end));
            let steps = self.b.sub(end, from);
            reduce.steps = Some(steps);
        }
        self.reduces.insert(position, reduce);
        Ok(())
    }

    /// Whether a reduce has one accumulator, here: none of its levels is across lanes.
    pub(in crate::emit) fn is_chain(&self, position: usize) -> bool {
        !self.is_along_lanes(position) && self.nest.chains().any(|own| own == position)
    }

    /// Whether one of the levels of a reduce is across lanes.
    fn is_along_lanes(&self, position: usize) -> bool {
        let statement = &self.kernel.statements[position];
        let Action::Reduce { to, .. } = statement.action else { return false };
        self.gang.is_some_and(|gang| (to as usize..statement.depth as usize).contains(&gang.level))
    }

    /// Whether some lanes or points of a loop over levels `to..depth` may have no element of their own.
    fn lanes_may_miss(&self, to: usize, depth: usize) -> bool {
        let masked = self.gang.is_some_and(|gang| gang.masked && (to..depth).contains(&gang.level));
        masked || self.mask.is_some()
    }

    /// A reduce with its layout in scratch memory.
    pub(super) fn new_reduce(
        &mut self,
        combine: &Lambda,
        association: Association,
        types: Vec<ElementType>,
        swap: bool,
        optional: bool,
        counted: bool,
    ) -> Reduce {
        let (kind, width) = match association {
            Association::InOrder | Association::Tiles { .. } | Association::Ragged { .. } => {
                (ReduceKind::InOrder(0), 1)
            }
            Association::Interleaved { lanes } => (ReduceKind::Interleaved, lanes.max(1)),
            Association::Runs { lanes } => (ReduceKind::Runs, lanes.max(1)),
        };
        let presence = match identities(combine) {
            Some(identities) if kind == ReduceKind::Interleaved => Presence::Identity(identities),
            _ if optional => Presence::Flags,
            _ => Presence::Counted,
        };
        let lanes = self.lanes;
        let mut reduce = Reduce {
            combine: combine.clone(),
            kind,
            presence,
            swap,
            lanes,
            types,
            width,
            in_registers: None,
            held: None,
            untouched: false,
            element: None,
            counted,
            steps: None,
            most_blocks: None,
            partial: None,
            peeled: None,
            layout: ScratchLayout::default(),
        };
        if !matches!(reduce.kind, ReduceKind::InOrder(_)) {
            let slots = reduce.slots() as usize * lanes as usize * TREE_LEVELS;
            let runs = width as usize * lanes as usize;
            for ty in reduce.types.clone() {
                let bytes = ty.bytes();
                reduce.layout.slots.push(self.b.scratch(slots * bytes));
                reduce.layout.out.push(self.b.scratch(lanes as usize * bytes));
                if kind == ReduceKind::Runs {
                    reduce.layout.runs.push(self.b.scratch(runs * bytes));
                }
            }
            reduce.layout.flags = if reduce.presence == Presence::Flags { self.b.scratch(slots) } else { 0 };
            reduce.layout.run_flags = if kind == ReduceKind::Runs { self.b.scratch(runs) } else { 0 };
            reduce.layout.out_flag = self.b.scratch(lanes as usize);
            reduce.layout.counts = self.b.scratch((TREE_LEVELS + 2) * 8);
        }
        reduce
    }

    /// Closes a reduce: its results become locals.
    pub(in crate::emit) fn reduce_end(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let Some(reduce) = self.reduces.remove(&position) else { self.misplaced(position) };
        if reduce.partial.is_some() {
            return Ok(());
        }
        self.operation = kernel.operation(&kernel.statements[position]);
        let Action::Reduce { results, seeds, .. } = &kernel.statements[position].action else {
            self.misplaced(position)
        };
        let values = if let ReduceKind::InOrder(at) = reduce.kind {
            let values = self.states[at..at + reduce.types.len()].to_vec();
            self.states.truncate(at);
            self.in_order_flags.remove(&(at + reduce.types.len()));
            values
        } else {
            let seeds = seeds.iter().map(|&seed| self.operand(seed)).collect::<Result<Vec<_>>>()?;
            let seeds: Vec<Value> = seeds
                .into_iter()
                .map(|seed| {
                    let seed = self.plain(seed);
                    self.b.splat(seed, reduce.lanes)
                })
                .collect();
            if reduce.peeled.is_some() {
                self.peeled_end(&reduce, &seeds)?
            } else {
                self.seeded_total(&reduce, &seeds)?
            }
        };
        for (local, value) in results.iter().zip(values) {
            let value = self.val(value);
            self.locals.insert(local.id, value);
        }
        Ok(())
    }

    /// The results of a reduce whose elements make this: they become locals.
    pub(in crate::emit) fn reduce_results(&mut self, position: usize, reduce: &Reduce, total: Maybe) -> Result {
        let kernel = self.kernel;
        let Action::Reduce { results, seeds, .. } = &kernel.statements[position].action else {
            self.misplaced(position)
        };
        let seeds = seeds.iter().map(|&seed| self.operand(seed)).collect::<Result<Vec<_>>>()?;
        let seeds: Vec<Value> = seeds.into_iter().map(|seed| self.plain(seed)).collect();
        let seeds: Vec<Value> = seeds.into_iter().map(|seed| self.b.splat(seed, reduce.lanes)).collect();
        let some = self.b.constant(Constant::from(true));
        let (values, has) = (total.0, total.1.unwrap_or(some));
        for (local, value) in results.iter().zip(self.seeded(reduce, &seeds, (values, has))?) {
            let value = self.val(value);
            self.locals.insert(local.id, value);
        }
        Ok(())
    }

    /// The seeds (if there are any) and all elements.
    fn seeded_total(&mut self, reduce: &Reduce, seeds: &[Value]) -> Result<Vec<Value>> {
        let total = self.total(reduce)?;
        self.seeded(reduce, seeds, total)
    }

    /// The seeds (if there are any) and what the elements made, if there were any.
    fn seeded(&mut self, reduce: &Reduce, seeds: &[Value], (values, has): (Vec<Value>, Value)) -> Result<Vec<Value>> {
        if seeds.is_empty() {
            return Ok(values);
        }
        if let Presence::Identity(_) = reduce.presence {
            return self.combine(&reduce.combine, seeds, &values, reduce.swap);
        }
        let some = self.b.constant(Constant::from(true));
        let some = self.b.splat(some, reduce.lanes);
        Ok(self.combine_present(&reduce.combine, (seeds, some), (&values, has), reduce.swap)?.0)
    }
}
