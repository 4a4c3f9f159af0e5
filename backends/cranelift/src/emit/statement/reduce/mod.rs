//! Reduces: accumulators by association, blocks of 4,096 elements, and blocks of their results.
//!
//! Interleaved accumulators, runs and the results of blocks live in scratch memory, on the three levels of a tree: elements, blocks, blocks of blocks.
//! An accumulator is one value, or a gang where the reduce is inside the level across lanes.

mod accumulate;
mod fold;
mod peeled;
mod runs;
mod scratch;
mod tree;

use fusebox_ir::{
    Action, Association, Constant, ElementType, Lambda, LevelOrder, analysis::function_can_fail, association::BLOCK,
};

use crate::{
    emit::{Emitter, Part, Result, Val, identities},
    vector::Value,
};
use peeled::Peeled;

const TREE_LEVELS: usize = 3;

/// A reduce under way.
#[derive(Clone, Debug)]
pub struct Reduce {
    combine: Lambda,
    kind: ReduceKind,
    presence: Presence,
    /// Whether operands change places.
    swap: bool,
    /// Lanes of an accumulator.
    lanes: u32,
    types: Vec<ElementType>,
    /// The number of interleaved accumulators or runs.
    width: u32,
    /// The first of the states that are the accumulators of the gang that comes; else they are in memory.
    in_registers: Option<usize>,
    /// The accumulators of the block that ends, a gang behind the other, with its lanes, where they have been in registers all the time.
    held: Option<(Vec<Maybe>, u32)>,
    /// Whether those hold nothing, whatever gang comes.
    pub untouched: bool,
    /// The element's number in its block, where the loop knows it; else it is counted in memory.
    pub element: Option<Value>,
    counted: bool,
    /// How many elements there are.
    pub steps: Option<Value>,
    /// How many blocks there are at most, where that is known and no more than a block of them.
    pub most_blocks: Option<i64>,
    /// Where results of blocks go instead: of this statement.
    partial: Option<usize>,
    /// The peeled first elements, stored until there are enough for lanes.
    peeled: Option<Peeled>,
    layout: ScratchLayout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReduceKind {
    /// Accumulators are states from this position on; then, without seeds, whether there is anything yet.
    InOrder(usize),
    Interleaved,
    Runs,
}

/// How it is known which accumulators hold something.
#[derive(Clone, Debug, PartialEq)]
enum Presence {
    /// All do: they start as identities.
    Identity(Vec<Constant>),
    /// The first ones, by the number of elements.
    Counted,
    /// A byte beside each says so.
    Flags,
}

/// The layout of a reduce in scratch memory: offsets.
#[derive(Clone, Debug, Default)]
struct ScratchLayout {
    /// Of each component, the accumulators of each tree level (of runs: the elements).
    slots: Vec<i64>,
    flags: i64,
    /// Results of runs.
    runs: Vec<i64>,
    run_flags: i64,
    /// How many elements each tree level has got.
    counts: i64,
    /// The result of the only block.
    out: Vec<i64>,
    out_flag: i64,
}

/// Values and whether they are there at all; `None`: they are.
pub type Maybe = (Vec<Value>, Option<Value>);

impl Reduce {
    /// Whether loops run in blocks for it.
    pub fn is_blocked(&self) -> bool {
        !matches!(self.kind, ReduceKind::InOrder(_)) && !self.counted
    }

    /// Where the state is that says whether there is anything yet, of a reduce in order, or of a chain, without seeds.
    pub fn flag_in_order(&self) -> Option<usize> {
        match self.kind {
            ReduceKind::InOrder(first) => Some(first + self.types.len()),
            _ => None,
        }
    }

    /// Whether the accumulators of the gang that comes are states.
    pub fn is_in_registers(&self) -> bool {
        self.in_registers.is_some()
    }

    /// A reduce of a row, with all accumulators in registers; where they have no identity, a flag for each lane says whether it holds something.
    pub fn in_registers(combine: &Lambda, types: Vec<ElementType>, width: u32) -> Self {
        let presence = identities(combine).map_or(Presence::Flags, Presence::Identity);
        Self {
            combine: combine.clone(),
            kind: ReduceKind::Interleaved,
            presence,
            swap: false,
            lanes: 1,
            types,
            width,
            in_registers: None,
            held: None,
            untouched: true,
            element: None,
            counted: false,
            steps: None,
            most_blocks: None,
            partial: None,
            peeled: None,
            layout: ScratchLayout::default(),
        }
    }

    /// The same, with so many lanes in each accumulator.
    pub fn in_lanes(self, lanes: u32) -> Self {
        Self { lanes, ..self }
    }

    /// The function that combines.
    pub fn combine(&self) -> &Lambda {
        &self.combine
    }

    /// Whether its operands change places.
    pub fn swaps(&self) -> bool {
        self.swap
    }

    /// What accumulators in registers hold where there is nothing yet: the components, then the flag if there is one.
    pub fn nothing(&self) -> Vec<Constant> {
        match &self.presence {
            Presence::Identity(identities) => identities.clone(),
            _ => self.types.iter().map(|&ty| Constant::zero(ty)).chain([Constant::from(false)]).collect(),
        }
    }

    /// How many states the accumulators of a gang are.
    pub fn states(&self) -> usize {
        self.types.len() + usize::from(!matches!(self.presence, Presence::Identity(_)))
    }

    /// The accumulators of a gang.
    pub fn of_states(&self, states: &[Value]) -> Maybe {
        (states[..self.types.len()].to_vec(), states.get(self.types.len()).copied())
    }

    /// Values of an element.
    pub fn components(&self) -> usize {
        self.types.len()
    }

    /// Slots of one tree level.
    fn slots(&self) -> i64 {
        if self.kind == ReduceKind::Runs { BLOCK } else { i64::from(self.width) }
    }
}

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
