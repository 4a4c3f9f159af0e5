//! Reduces: accumulators by association, blocks of 4,096 elements, and blocks of their results.
//!
//! Interleaved accumulators, runs and the results of blocks live in scratch memory, on three tiers: elements, blocks, blocks of blocks.
//! An accumulator is one value, or a gang where the reduce is inside the level across lanes.

use fusebox_ir::{Action, Association, Binary, Constant, ElementType, Lambda, LevelOrder, Unary};

use crate::{
    emit::{BLOCK, Emitter, Extra, Part, Result, Val, identities},
    vector::{Memory, Value},
};

const TIERS: usize = 3;

/// A reduce under way.
#[derive(Clone, Debug)]
pub struct Reduce {
    combine: Lambda,
    kind: Kind,
    presence: Presence,
    /// Whether operands change places.
    swap: bool,
    /// Lanes of an accumulator.
    lanes: u32,
    types: Vec<ElementType>,
    /// The number of interleaved accumulators or runs.
    width: u32,
    /// The element's number in its block, where the loop knows it; else it is counted in memory.
    pub element: Option<Value>,
    counted: bool,
    /// How many elements there are.
    pub steps: Option<Value>,
    /// Where results of blocks go instead: of this statement.
    partial: Option<usize>,
    places: Places,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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

/// Offsets in scratch memory.
#[derive(Clone, Debug, Default)]
struct Places {
    /// Of each component, tiers of accumulators (of runs: of elements).
    slots: Vec<i64>,
    flags: i64,
    /// Results of runs.
    runs: Vec<i64>,
    run_flags: i64,
    /// How many elements each tier has got.
    counts: i64,
    /// The result of the only block.
    out: Vec<i64>,
    out_flag: i64,
}

/// Values and whether they are there at all; `None`: they are.
type Maybe = (Vec<Value>, Option<Value>);

impl Reduce {
    /// Whether loops run in blocks for it.
    pub fn is_blocked(&self) -> bool {
        !matches!(self.kind, Kind::InOrder(_)) && !self.counted
    }

    /// Slots of one tier.
    fn slots(&self) -> i64 {
        if self.kind == Kind::Runs { BLOCK } else { i64::from(self.width) }
    }
}

impl Emitter<'_> {
    /// Opens the reduce of statement `position`, at the depth it reduces to.
    pub(in crate::emit) fn reduce_begin(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let statement = &kernel.statements[position];
        let Action::Reduce { to, association, combine, seeds, values, .. } = &statement.action else { return Ok(()) };
        let depth = statement.depth as usize;
        let swap = kernel.levels[*to as usize].order == LevelOrder::Down;
        let optional = statement.when.is_some() || self.lanes_may_miss(*to as usize, depth);
        let counted = depth > *to as usize + 1 || self.lanes > 1 && self.is_ragged(*to as usize);
        let types: Vec<ElementType> = combine.params.iter().take(values.len()).map(|param| param.ty).collect();
        let association = match *association {
            Association::Ragged { lanes, .. } if self.few.get(&position) == Some(&false) => {
                Association::Interleaved { lanes }
            }
            Association::Ragged { .. } if self.few.contains_key(&position) => Association::InOrder,
            Association::Ragged { .. } => {
                return Err(self.broken("a ragged reduce over several levels, or over ones that differ between lanes"));
            }
            other => other,
        };
        let mut reduce =
            self.new_reduce(combine, association, types, swap, optional, counted && self.part != Part::Finish);
        if self.part == Part::Body && *to == 0 {
            reduce.partial = Some(position);
        }
        if let Kind::InOrder(_) = reduce.kind {
            reduce.kind = Kind::InOrder(self.states.len());
            let lanes = self.lanes;
            for (component, &ty) in reduce.types.iter().enumerate() {
                let start = match seeds.get(component) {
                    Some(&seed) => self.operand(seed)?,
                    None => Val::Uniform(self.b.constant(Constant::zero(ty))),
                };
                let start = self.plain(start);
                let start = self.b.splat(start, lanes);
                self.states.push(start);
            }
            if seeds.is_empty() {
                let none = self.b.constant(Constant::from(false));
                let none = self.b.splat(none, lanes);
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

    /// Whether some lanes or points of a loop over levels `to..depth` may have no element of their own.
    fn lanes_may_miss(&self, to: usize, depth: usize) -> bool {
        let masked = self.schedule.is_some_and(|schedule| schedule.masked && (to..depth).contains(&schedule.level));
        masked || self.mask.is_some() || (to..depth).any(|level| self.lanes > 1 && self.is_ragged(level))
    }

    /// Whether the bounds of a level differ from lane to lane.
    fn is_ragged(&self, level: usize) -> bool {
        let level = &self.kernel.levels[level];
        [level.from, level.to].iter().any(|bound| match bound {
            fusebox_ir::ScalarOperand::Local(id) => !matches!(self.locals.get(id), Some(Val::Uniform(_))),
            _ => false,
        })
    }

    /// A reduce with room in scratch memory.
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
            Association::InOrder | Association::Tiles { .. } | Association::Ragged { .. } => (Kind::InOrder(0), 1),
            Association::Interleaved { lanes } => (Kind::Interleaved, lanes.max(1)),
            Association::Runs { lanes } => (Kind::Runs, lanes.max(1)),
        };
        let presence = match identities(combine) {
            Some(identities) if kind == Kind::Interleaved => Presence::Identity(identities),
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
            element: None,
            counted,
            steps: None,
            partial: None,
            places: Places::default(),
        };
        if !matches!(reduce.kind, Kind::InOrder(_)) {
            let slots = reduce.slots() as usize * lanes as usize * TIERS;
            let runs = width as usize * lanes as usize;
            for ty in reduce.types.clone() {
                let bytes = ty.bytes();
                reduce.places.slots.push(self.b.scratch(slots * bytes));
                reduce.places.out.push(self.b.scratch(lanes as usize * bytes));
                if kind == Kind::Runs {
                    reduce.places.runs.push(self.b.scratch(runs * bytes));
                }
            }
            reduce.places.flags = if reduce.presence == Presence::Flags { self.b.scratch(slots) } else { 0 };
            reduce.places.run_flags = if kind == Kind::Runs { self.b.scratch(runs) } else { 0 };
            reduce.places.out_flag = self.b.scratch(lanes as usize);
            reduce.places.counts = self.b.scratch((TIERS + 1) * 8);
        }
        reduce
    }

    /// Nothing has been combined yet.
    pub(super) fn reset(&mut self, reduce: &Reduce) {
        let zero = self.b.int(0);
        for tier in 0..=TIERS as i64 {
            let tier = self.b.int(tier);
            self.set_count(reduce, tier, zero);
        }
        let nothing: Vec<Value> = match &reduce.presence {
            Presence::Identity(identities) => identities.iter().map(|&identity| self.b.constant(identity)).collect(),
            _ => reduce.types.iter().map(|&ty| self.b.constant(Constant::zero(ty))).collect(),
        };
        let nothing: Vec<Value> = nothing.into_iter().map(|value| self.b.splat(value, reduce.lanes)).collect();
        let none = self.b.constant(Constant::from(false));
        self.set_out(reduce, &(nothing, Some(none)));
        if reduce.counted {
            let one = self.b.int(1);
            self.fill(reduce, zero, one);
        }
    }

    fn set_out(&mut self, reduce: &Reduce, (values, has): &Maybe) {
        let zero = self.b.int(0);
        for (&place, &value) in reduce.places.out.iter().zip(values) {
            let base = self.scratch_at(place);
            self.b.store(base, zero, value, None);
        }
        let some = self.b.constant(Constant::from(true));
        let has = self.b.splat(has.unwrap_or(some), reduce.lanes);
        let base = self.scratch_at(reduce.places.out_flag);
        self.b.store(base, zero, has, None);
    }

    fn out(&mut self, reduce: &Reduce) -> Maybe {
        let zero = self.b.int(0);
        let values = (reduce.places.out.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, reduce.lanes, base, zero, Memory::Shared)
            })
            .collect();
        let base = self.scratch_at(reduce.places.out_flag);
        (values, Some(self.b.load(ElementType::Bool, reduce.lanes, base, zero, Memory::Shared)))
    }

    fn count(&mut self, reduce: &Reduce, tier: Value) -> Value {
        let base = self.scratch_at(reduce.places.counts);
        self.b.load(ElementType::I64, 1, base, tier, Memory::Shared)
    }

    fn set_count(&mut self, reduce: &Reduce, tier: Value, count: Value) {
        let base = self.scratch_at(reduce.places.counts);
        self.b.store(base, tier, count, None);
    }

    /// The position of a slot among the elements of a component.
    fn slot(&mut self, reduce: &Reduce, tier: Value, slot: Value) -> Value {
        let slots = self.b.int(reduce.slots());
        let ahead = self.b.mul(tier, slots);
        let position = self.b.add(ahead, slot);
        let lanes = self.b.int(i64::from(reduce.lanes));
        self.b.mul(position, lanes)
    }

    /// The first `count` accumulators of a tier hold nothing.
    fn fill(&mut self, reduce: &Reduce, tier: Value, count: Value) {
        if reduce.kind == Kind::Runs || reduce.presence == Presence::Counted {
            return;
        }
        let zero = self.b.int(0);
        let open = self.b.begin_loop(zero, count, 1, &[]);
        let at = self.slot(reduce, tier, open.index);
        if let Presence::Identity(identities) = &reduce.presence {
            for (&place, &identity) in reduce.places.slots.iter().zip(identities) {
                let base = self.scratch_at(place);
                let identity = self.b.constant(identity);
                let identity = self.b.splat(identity, reduce.lanes);
                self.b.store(base, at, identity, None);
            }
        } else {
            let base = self.scratch_at(reduce.places.flags);
            let none = self.b.constant(Constant::from(false));
            let none = self.b.splat(none, reduce.lanes);
            self.b.store(base, at, none, None);
        }
        self.b.end_loop(open, Vec::new());
    }

    /// The least power of two that is not below, at most the accumulators there are.
    fn used_width(&mut self, reduce: &Reduce, count: Value) -> Value {
        if let Some(count) = self.b.constant_of(count).and_then(Constant::as_i64) {
            return self.b.int((count.max(1) as u64).next_power_of_two().min(reduce.width.into()) as i64);
        }
        let one = self.b.int(1);
        let count = self.b.binary(Binary::Max, count, one);
        let below = self.b.add_int(count, -1);
        let zeros = self.b.unary(Unary::Clz, below);
        let bits = self.b.int(64);
        let bits = self.b.sub(bits, zeros);
        let width = self.b.binary(Binary::Shl, one, bits);
        let all = self.b.int(reduce.width.into());
        self.b.binary(Binary::Min, width, all)
    }

    /// Opens a block of `count` elements.
    pub(in crate::emit) fn block_begin(&mut self, position: usize, count: Value) -> Result {
        let Some(reduce) = self.reduce_or_total(position) else { return Ok(()) };
        let tier = self.b.int(0);
        let width = self.used_width(&reduce, count);
        self.fill(&reduce, tier, width);
        Ok(())
    }

    fn reduce_or_total(&self, position: usize) -> Option<Reduce> {
        self.reduces.get(&position).or_else(|| self.scans.get(&position).and_then(|scan| scan.total.as_ref())).cloned()
    }

    /// Combines values into a slot (into as many as there are lanes, where accumulators have one), in the lanes of `mask`.
    fn accumulate(
        &mut self,
        reduce: &Reduce,
        at: Value,
        fresh: Value,
        values: &[Value],
        mask: Option<Value>,
    ) -> Result {
        let lanes = values.iter().map(|&value| self.b.lanes(value)).max().unwrap_or(1).max(reduce.lanes);
        let values: Vec<Value> = values.iter().map(|&value| self.b.splat(value, lanes)).collect();
        if reduce.kind == Kind::Runs {
            return self.put_values(reduce, at, &values, mask, lanes);
        }
        let old: Vec<Value> = (reduce.places.slots.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, lanes, base, at, Memory::Shared)
            })
            .collect();
        let new = match reduce.presence {
            Presence::Identity(_) => {
                let combined = self.combine_masked(&reduce.combine, &old, &values, reduce.swap, mask)?;
                match mask {
                    None => combined,
                    Some(mask) => combined.iter().zip(&old).map(|(&new, &old)| self.b.select(mask, new, old)).collect(),
                }
            }
            Presence::Counted => {
                let left: Vec<Value> =
                    old.iter().zip(&values).map(|(&old, &value)| self.b.select(fresh, value, old)).collect();
                let not_fresh = self.b.not(fresh);
                let combined = self.combine_masked(&reduce.combine, &left, &values, reduce.swap, Some(not_fresh))?;
                combined.iter().zip(&values).map(|(&new, &value)| self.b.select(fresh, value, new)).collect()
            }
            Presence::Flags => {
                let base = self.scratch_at(reduce.places.flags);
                let has_old = self.b.load(ElementType::Bool, lanes, base, at, Memory::Shared);
                let some = self.b.constant(Constant::from(true));
                let has = self.b.splat(mask.unwrap_or(some), lanes);
                let (new, has_new) =
                    self.combine_present(&reduce.combine, (&old, has_old), (&values, has), reduce.swap)?;
                self.b.store(base, at, has_new, None);
                new
            }
        };
        for (&place, value) in reduce.places.slots.iter().zip(new) {
            let base = self.scratch_at(place);
            let value = self.b.splat(value, lanes);
            self.b.store(base, at, value, None);
        }
        Ok(())
    }

    /// Elements of runs are kept as they are.
    fn put_values(&mut self, reduce: &Reduce, at: Value, values: &[Value], mask: Option<Value>, lanes: u32) -> Result {
        for (&place, &value) in reduce.places.slots.iter().zip(values) {
            let base = self.scratch_at(place);
            self.b.store(base, at, value, None);
        }
        if reduce.presence == Presence::Flags {
            let some = self.b.constant(Constant::from(true));
            let has = self.b.splat(mask.unwrap_or(some), lanes);
            let base = self.scratch_at(reduce.places.flags);
            self.b.store(base, at, has, None);
        }
        Ok(())
    }

    /// The element of a point.
    pub(in crate::emit) fn reduce(&mut self, position: usize, when: Option<Value>) -> Result {
        let kernel = self.kernel;
        let Action::Reduce { values, .. } = &kernel.statements[position].action else { return Ok(()) };
        let values = values.iter().map(|&value| self.operand(value)).collect::<Result<Vec<_>>>()?;
        let values: Vec<Value> = values.into_iter().map(|value| self.plain(value)).collect();
        let Some(reduce) = self.reduces.get(&position).cloned() else {
            return Err(self.broken("a reduce outside of its levels"));
        };
        let mask = self.b.both(when, self.mask);
        self.put(&reduce, &values, mask)
    }

    /// Combines one element in, or a gang of them.
    pub(super) fn put(&mut self, reduce: &Reduce, values: &[Value], mask: Option<Value>) -> Result {
        let outer = self.mask.take();
        let result = self.put_unmasked(reduce, values, mask);
        self.mask = outer;
        result
    }

    fn put_unmasked(&mut self, reduce: &Reduce, values: &[Value], mask: Option<Value>) -> Result {
        let along = self.lanes > reduce.lanes;
        let lanes = self.lanes.max(reduce.lanes);
        let values: Vec<Value> = values.iter().map(|&value| self.b.splat(value, lanes)).collect();
        let values = values.as_slice();
        if let Kind::InOrder(at) = reduce.kind {
            if !along {
                return self.put_in_order(reduce, at, values, mask);
            }
            return self
                .lane_by_lane(values, mask, |this, _, values, mask| this.put_in_order(reduce, at, values, mask));
        }
        let fits = reduce.kind == Kind::Runs || reduce.width >= self.lanes;
        if along && (!fits || reduce.counted) {
            return self.lane_by_lane(values, mask, |this, lane, values, mask| {
                this.put_in_memory(reduce, lane.into(), values, mask)
            });
        }
        self.put_in_memory(reduce, 0, values, mask)
    }

    /// Scalar code for each lane in turn.
    pub(super) fn lane_by_lane(
        &mut self,
        values: &[Value],
        mask: Option<Value>,
        mut one: impl FnMut(&mut Self, u32, &[Value], Option<Value>) -> Result,
    ) -> Result {
        let lanes = std::mem::replace(&mut self.lanes, 1);
        for lane in 0..lanes {
            let values: Vec<Value> = values.iter().map(|&value| self.b.extract(value, lane)).collect();
            let mask = mask.map(|mask| self.b.extract(mask, lane));
            one(self, lane, &values, mask)?;
        }
        self.lanes = lanes;
        Ok(())
    }

    fn put_in_order(&mut self, reduce: &Reduce, at: usize, values: &[Value], mask: Option<Value>) -> Result {
        let k = values.len();
        let old: Vec<Value> = self.states[at..at + k].to_vec();
        let has = self.states.get(at + k).copied().filter(|_| self.flagged(reduce, at + k));
        let new = if let Some(has) = has {
            let some = self.b.constant(Constant::from(true));
            let here = self.b.splat(mask.unwrap_or(some), reduce.lanes);
            let values: Vec<Value> = values.iter().map(|&value| self.b.splat(value, reduce.lanes)).collect();
            let (new, has) = self.combine_present(&reduce.combine, (&old, has), (&values, here), reduce.swap)?;
            self.states[at + k] = has;
            new
        } else {
            let combined = self.combine_masked(&reduce.combine, &old, values, reduce.swap, mask)?;
            match mask {
                None => combined,
                Some(mask) => combined.iter().zip(&old).map(|(&new, &old)| self.b.select(mask, new, old)).collect(),
            }
        };
        for (state, value) in new.into_iter().enumerate() {
            self.states[at + state] = self.b.splat(value, reduce.lanes);
        }
        Ok(())
    }

    /// Whether the state at `at` says that a reduce without seeds has something.
    fn flagged(&self, reduce: &Reduce, at: usize) -> bool {
        self.in_order_flags.contains(&at) && !reduce.types.is_empty()
    }

    fn put_in_memory(&mut self, reduce: &Reduce, lane: i64, values: &[Value], mask: Option<Value>) -> Result {
        let tier = self.b.int(0);
        let inside = self.b.int(BLOCK - 1);
        let element = match reduce.element {
            Some(element) if !reduce.counted => self.b.add_int(element, lane),
            _ => {
                let count = self.count(reduce, tier);
                let element = self.b.binary(Binary::And, count, inside);
                // The first element of a block finds its accumulators empty.
                let zero = self.b.int(0);
                let first = self.b.binary(Binary::Eq, element, zero);
                let width = self.b.int(reduce.width.into());
                let fill = self.b.select(first, width, zero);
                self.fill(reduce, tier, fill);
                element
            }
        };
        let width = self.b.int(i64::from(reduce.width));
        let fresh = self.b.less(element, width);
        let slot = if reduce.kind == Kind::Runs {
            element
        } else {
            let last = self.b.int(i64::from(reduce.width) - 1);
            self.b.binary(Binary::And, element, last)
        };
        let at = self.slot(reduce, tier, slot);
        self.accumulate(reduce, at, fresh, values, mask)?;
        if reduce.counted || reduce.element.is_none() {
            let count = self.count(reduce, tier);
            let count = self.b.add_int(count, 1);
            self.set_count(reduce, tier, count);
            let rest = self.b.binary(Binary::And, count, inside);
            let zero = self.b.int(0);
            let full = self.b.binary(Binary::Eq, rest, zero);
            self.b.open();
            let whole = self.b.int(BLOCK);
            let result = self.fold_block(reduce, tier, whole)?;
            self.feed(reduce, result)?;
            let then = self.b.close();
            self.b.open();
            let otherwise = self.b.close();
            self.b.end_if(full, (then, Vec::new()), (otherwise, Vec::new()));
        }
        Ok(())
    }

    /// Closes a block of `count` elements from step `start` on.
    pub(in crate::emit) fn block_end(&mut self, position: usize, start: Value, count: Value) -> Result {
        let Some(reduce) = self.reduce_or_total(position) else { return Ok(()) };
        let tier = self.b.int(0);
        let result = self.fold_block(&reduce, tier, count)?;
        if let Some(statement) = reduce.partial {
            let shift = self.b.int(BLOCK.trailing_zeros().into());
            let block = self.b.binary(Binary::Shr, start, shift);
            for (component, &value) in result.0.iter().enumerate() {
                let base = self.extra(Extra::Partial(statement, component));
                self.b.store(base, block, value, None);
            }
            if let Some(has) = result.1 {
                let base = self.extra(Extra::PartialFlags(statement));
                self.b.store(base, block, has, None);
            }
            return Ok(());
        }
        let zero = self.b.int(0);
        let block = self.b.int(BLOCK);
        let several = self.b.binary(Binary::Gt, reduce.steps.unwrap_or(zero), block);
        self.b.open();
        self.feed(&reduce, result.clone())?;
        let then = self.b.close();
        self.b.open();
        self.set_out(&reduce, &result);
        let otherwise = self.b.close();
        self.b.end_if(several, (then, Vec::new()), (otherwise, Vec::new()));
        Ok(())
    }

    /// Combines the accumulators of a tier that has got `count` elements.
    fn fold_block(&mut self, reduce: &Reduce, tier: Value, count: Value) -> Result<Maybe> {
        if reduce.kind == Kind::Runs {
            return self.fold_runs(reduce, tier, count);
        }
        let width = self.used_width(reduce, count);
        let one = self.b.int(1);
        let half = self.b.binary(Binary::Shr, width, one);
        let lanes = self.schedule.map_or(1, |schedule| schedule.lanes);
        let mut half = half;
        if reduce.lanes == 1 && lanes > 1 && matches!(reduce.presence, Presence::Identity(_)) && reduce.width > lanes {
            half = self.halve(reduce, tier, half, count, lanes)?;
        }
        self.halve(reduce, tier, half, count, 1)?;
        let zero = self.b.int(0);
        let at = self.slot(reduce, tier, zero);
        let values = self.slot_values(reduce, at, reduce.lanes);
        let has = (reduce.presence == Presence::Flags).then(|| {
            let base = self.scratch_at(reduce.places.flags);
            self.b.load(ElementType::Bool, reduce.lanes, base, at, Memory::Shared)
        });
        Ok((values, has))
    }

    fn slot_values(&mut self, reduce: &Reduce, at: Value, lanes: u32) -> Vec<Value> {
        (reduce.places.slots.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, lanes, base, at, Memory::Shared)
            })
            .collect()
    }

    /// Accumulator l takes accumulator l + half, for ever smaller halves, `lanes` at a time; gives the first half that is too small.
    fn halve(&mut self, reduce: &Reduce, tier: Value, half: Value, count: Value, lanes: u32) -> Result<Value> {
        let mut open = self.b.begin_while(&[half]);
        let half = open.carried[0];
        let least = self.b.int(i64::from(lanes) - 1);
        let go = self.b.binary(Binary::Gt, half, least);
        self.b.while_body(&mut open, go);
        let zero = self.b.int(0);
        let mut pairs = half;
        if reduce.presence == Presence::Counted {
            // Of an odd number the last ones have nobody to take.
            let twice = self.b.add(half, half);
            let there = self.b.binary(Binary::Min, count, twice);
            pairs = self.b.sub(there, half);
        }
        let each = self.b.begin_loop(zero, pairs, i64::from(lanes), &[]);
        let width = reduce.lanes.max(lanes);
        let left_at = self.slot(reduce, tier, each.index);
        let other = self.b.add(each.index, half);
        let right_at = self.slot(reduce, tier, other);
        let (left, right) = (self.slot_values(reduce, left_at, width), self.slot_values(reduce, right_at, width));
        let new = if reduce.presence == Presence::Flags {
            let base = self.scratch_at(reduce.places.flags);
            let has_left = self.b.load(ElementType::Bool, width, base, left_at, Memory::Shared);
            let has_right = self.b.load(ElementType::Bool, width, base, right_at, Memory::Shared);
            let (new, has) =
                self.combine_present(&reduce.combine, (&left, has_left), (&right, has_right), reduce.swap)?;
            self.b.store(base, left_at, has, None);
            new
        } else {
            self.combine(&reduce.combine, &left, &right, reduce.swap)?
        };
        for (&place, value) in reduce.places.slots.iter().zip(new) {
            let base = self.scratch_at(place);
            self.b.store(base, left_at, value, None);
        }
        self.b.end_loop(each, Vec::new());
        let one = self.b.int(1);
        let next = self.b.binary(Binary::Shr, half, one);
        Ok(self.b.end_while(open, vec![next])[0])
    }

    /// Runs of neighbours, each in order; then neighbours of those.
    fn fold_runs(&mut self, reduce: &Reduce, tier: Value, count: Value) -> Result<Maybe> {
        let runs = self.b.int(i64::from(reduce.width));
        let zero = self.b.int(0);
        let up = self.b.add_int(runs, -1);
        let rounded = self.b.add(count, up);
        let shift = self.b.int(reduce.width.trailing_zeros().into());
        let length = self.b.binary(Binary::Shr, rounded, shift);
        let some = self.b.constant(Constant::from(true));
        let none = self.b.constant(Constant::from(false));
        let lanes = self.b.int(i64::from(reduce.lanes));
        let run = self.b.begin_loop(zero, runs, 1, &[]);
        let from = self.b.mul(run.index, length);
        let to = self.b.add(from, length);
        let to = self.b.binary(Binary::Min, to, count);
        let mut starts: Vec<Value> = reduce
            .types
            .iter()
            .map(|&ty| {
                let zero = self.b.constant(Constant::zero(ty));
                self.b.splat(zero, reduce.lanes)
            })
            .collect();
        starts.push(self.b.splat(none, reduce.lanes));
        let each = self.b.begin_loop(from, to, 1, &starts);
        let at = self.slot(reduce, tier, each.index);
        let values = self.slot_values(reduce, at, reduce.lanes);
        let has = if reduce.presence == Presence::Flags {
            let base = self.scratch_at(reduce.places.flags);
            self.b.load(ElementType::Bool, reduce.lanes, base, at, Memory::Shared)
        } else {
            self.b.splat(some, reduce.lanes)
        };
        let (before, had) = each.carried.split_at(each.carried.len() - 1);
        let (mut next, has) = self.combine_present(&reduce.combine, (before, had[0]), (&values, has), reduce.swap)?;
        next.push(has);
        let mut result = self.b.end_loop(each, next);
        let has = result.pop().unwrap_or(none);
        let at = self.b.mul(run.index, lanes);
        self.set_run(reduce, at, &result, has);
        self.b.end_loop(run, Vec::new());
        let mut stride = 1;
        while stride < i64::from(reduce.width) {
            let pairs = self.b.int(i64::from(reduce.width) / (2 * stride));
            let pair = self.b.begin_loop(zero, pairs, 1, &[]);
            let twice = self.b.int(2 * stride * i64::from(reduce.lanes));
            let left_at = self.b.mul(pair.index, twice);
            let right_at = self.b.add_int(left_at, stride * i64::from(reduce.lanes));
            let (left, has_left) = self.run(reduce, left_at);
            let (right, has_right) = self.run(reduce, right_at);
            let (new, has) =
                self.combine_present(&reduce.combine, (&left, has_left), (&right, has_right), reduce.swap)?;
            self.set_run(reduce, left_at, &new, has);
            self.b.end_loop(pair, Vec::new());
            stride *= 2;
        }
        let (values, has) = self.run(reduce, zero);
        Ok((values, (reduce.presence == Presence::Flags).then_some(has)))
    }

    fn run(&mut self, reduce: &Reduce, at: Value) -> (Vec<Value>, Value) {
        let values = (reduce.places.runs.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, reduce.lanes, base, at, Memory::Shared)
            })
            .collect();
        let base = self.scratch_at(reduce.places.run_flags);
        (values, self.b.load(ElementType::Bool, reduce.lanes, base, at, Memory::Shared))
    }

    fn set_run(&mut self, reduce: &Reduce, at: Value, values: &[Value], has: Value) {
        for (&place, &value) in reduce.places.runs.iter().zip(values) {
            let base = self.scratch_at(place);
            self.b.store(base, at, value, None);
        }
        let base = self.scratch_at(reduce.places.run_flags);
        self.b.store(base, at, has, None);
    }

    /// Gives the result of a block to the second tier and, when that has a block, its result to the third.
    fn feed(&mut self, reduce: &Reduce, result: Maybe) -> Result {
        let first = self.b.int(1);
        self.feed_from(reduce, first, result)
    }

    fn feed_from(&mut self, reduce: &Reduce, tier: Value, (values, has): Maybe) -> Result {
        let some = self.b.constant(Constant::from(true));
        let flagged = has.is_some();
        let mut starts = values;
        starts.push(self.b.splat(has.unwrap_or(some), reduce.lanes));
        starts.push(tier);
        starts.push(some);
        let mut open = self.b.begin_while(&starts);
        let go = open.carried[open.carried.len() - 1];
        self.b.while_body(&mut open, go);
        let k = reduce.types.len();
        let (values, has, tier) = (open.carried[..k].to_vec(), open.carried[k], open.carried[k + 1]);
        let count = self.count(reduce, tier);
        let inside = self.b.int(BLOCK - 1);
        let element = self.b.binary(Binary::And, count, inside);
        let zero = self.b.int(0);
        let first = self.b.binary(Binary::Eq, element, zero);
        let width = self.b.int(reduce.width.into());
        let fill = self.b.select(first, width, zero);
        self.fill(reduce, tier, fill);
        let fresh = self.b.less(element, width);
        let slot = if reduce.kind == Kind::Runs {
            element
        } else {
            let last = self.b.int(i64::from(reduce.width) - 1);
            self.b.binary(Binary::And, element, last)
        };
        let at = self.slot(reduce, tier, slot);
        self.accumulate(reduce, at, fresh, &values, flagged.then_some(has))?;
        let count = self.b.add_int(count, 1);
        self.set_count(reduce, tier, count);
        let rest = self.b.binary(Binary::And, count, inside);
        let full = self.b.binary(Binary::Eq, rest, zero);
        self.b.open();
        let whole = self.b.int(BLOCK);
        let (mut folded, folded_has) = self.fold_block(reduce, tier, whole)?;
        folded.push(self.b.splat(folded_has.unwrap_or(some), reduce.lanes));
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        let mut same = values;
        same.push(has);
        let mut next = self.b.end_if(full, (then, folded), (otherwise, same));
        next.push(self.b.add_int(tier, 1));
        next.push(full);
        self.b.end_while(open, next);
        Ok(())
    }

    /// The result of everything that was put, from a tier on.
    fn last_tiers(&mut self, reduce: &Reduce, tier: Value) -> Result {
        let some = self.b.constant(Constant::from(true));
        let mut open = self.b.begin_while(&[tier, some]);
        let (tier, go) = (open.carried[0], open.carried[1]);
        self.b.while_body(&mut open, go);
        let count = self.count(reduce, tier);
        let above = self.b.add_int(tier, 1);
        let fed = self.count(reduce, above);
        let zero = self.b.int(0);
        let top = self.b.binary(Binary::Eq, fed, zero);
        let inside = self.b.int(BLOCK - 1);
        let rest = self.b.binary(Binary::And, count, inside);
        let pending = self.b.binary(Binary::Ne, rest, zero);
        let either = self.b.binary(Binary::Or, top, pending);
        self.b.open();
        let result = self.fold_block(reduce, tier, rest)?;
        self.b.open();
        let some_there = self.b.binary(Binary::Gt, count, zero);
        let has = match result.1 {
            Some(has) => {
                let there = self.b.splat(some_there, reduce.lanes);
                self.b.binary(Binary::And, has, there)
            }
            None => some_there,
        };
        self.set_out(reduce, &(result.0.clone(), Some(has)));
        let then = self.b.close();
        self.b.open();
        self.feed_from(reduce, above, result)?;
        let otherwise = self.b.close();
        self.b.end_if(top, (then, Vec::new()), (otherwise, Vec::new()));
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        self.b.end_if(either, (then, Vec::new()), (otherwise, Vec::new()));
        let more = self.b.not(top);
        self.b.end_while(open, vec![above, more]);
        Ok(())
    }

    /// All elements, combined; whether there are any.
    pub(super) fn total(&mut self, reduce: &Reduce) -> Result<(Vec<Value>, Value)> {
        if reduce.counted {
            let first = self.b.int(0);
            self.last_tiers(reduce, first)?;
        } else {
            let zero = self.b.int(0);
            let block = self.b.int(BLOCK);
            let several = self.b.binary(Binary::Gt, reduce.steps.unwrap_or(zero), block);
            self.b.open();
            let second = self.b.int(1);
            self.last_tiers(reduce, second)?;
            let then = self.b.close();
            self.b.open();
            let otherwise = self.b.close();
            self.b.end_if(several, (then, Vec::new()), (otherwise, Vec::new()));
        }
        let (values, has) = self.out(reduce);
        let some = self.b.constant(Constant::from(true));
        Ok((values, has.unwrap_or(some)))
    }

    /// Closes a reduce: its results become locals.
    pub(in crate::emit) fn reduce_end(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let Some(reduce) = self.reduces.remove(&position) else { return Ok(()) };
        if reduce.partial.is_some() {
            return Ok(());
        }
        let Action::Reduce { results, seeds, .. } = &kernel.statements[position].action else { return Ok(()) };
        let values = if let Kind::InOrder(at) = reduce.kind {
            let values = self.states[at..at + reduce.types.len()].to_vec();
            self.states.truncate(at);
            self.in_order_flags.remove(&(at + reduce.types.len()));
            values
        } else {
            let (values, has) = self.total(&reduce)?;
            if seeds.is_empty() {
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
                if let Presence::Identity(_) = reduce.presence {
                    self.combine(&reduce.combine, &seeds, &values, reduce.swap)?
                } else {
                    let some = self.b.constant(Constant::from(true));
                    let some = self.b.splat(some, reduce.lanes);
                    self.combine_present(&reduce.combine, (&seeds, some), (&values, has), reduce.swap)?.0
                }
            }
        };
        for (local, value) in results.iter().zip(values) {
            let value = self.val(value);
            self.locals.insert(local.id, value);
        }
        Ok(())
    }

    /// Combines the results of blocks that the bodies left.
    pub(in crate::emit) fn finish_reduces(&mut self, inner: std::ops::Range<usize>) -> Result {
        let kernel = self.kernel;
        for position in inner {
            let Action::Reduce { to: 0, .. } = kernel.statements[position].action else { continue };
            self.reduce_begin(position)?;
            let steps = self.extra(Extra::Steps);
            let steps = self.b.add_int(steps, BLOCK - 1);
            let shift = self.b.int(BLOCK.trailing_zeros().into());
            let blocks = self.b.binary(Binary::Shr, steps, shift);
            let Some(reduce) = self.reduces.get_mut(&position) else { continue };
            reduce.steps = Some(blocks);
            let reduce = reduce.clone();
            let zero = self.b.int(0);
            let outer = self.b.begin_loop(zero, blocks, BLOCK, &[]);
            let end = self.b.add_int(outer.index, BLOCK);
            let end = self.b.binary(Binary::Min, end, blocks);
            let count = self.b.sub(end, outer.index);
            self.block_begin(position, count)?;
            let each = self.b.begin_loop(outer.index, end, 1, &[]);
            let values: Vec<Value> = (reduce.types.iter().enumerate())
                .map(|(component, &ty)| {
                    let base = self.extra(Extra::Partial(position, component));
                    self.b.load(ty, 1, base, each.index, Memory::Shared)
                })
                .collect();
            let has = (reduce.presence == Presence::Flags).then(|| {
                let base = self.extra(Extra::PartialFlags(position));
                self.b.load(ElementType::Bool, 1, base, each.index, Memory::Shared)
            });
            let mut here = reduce.clone();
            here.element = Some(self.b.sub(each.index, outer.index));
            self.put(&here, &values, has)?;
            self.b.end_loop(each, Vec::new());
            let start = outer.index;
            self.block_end(position, start, count)?;
            self.b.end_loop(outer, Vec::new());
            self.reduce_end(position)?;
        }
        Ok(())
    }
}
