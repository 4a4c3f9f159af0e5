//! Nests whose lanes run one at a time, each a program of flat arrays of its own: where lanes loop each as long as it likes, over arrays.
//!
//! Flat, a turn of such a loop is several passes over the arrays of all lanes that go on, until the last lane is done. Alone, a lane stays in a
//! cache, and every core has lanes of its own.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block,
    ElementType::{Bool, I64},
    Extent, LambdaBuilder, Sink, Type,
    operations::Kind,
};

use super::{
    Bound, Lifter, Value,
    context::{ContextId, LaneExtent, Made, ROOT},
    flat::operand,
    lane::type_in_lane,
    slots::Slot,
};
use crate::{
    Error, Flattening,
    analysis::{Lanes, NestAlone},
    extents::scalar,
};

/// What a lane gives of a result of its nest.
struct Given {
    value: Value,
    /// For each dimension of the result in a lane how its extent is known.
    dims: Vec<Dim>,
}

/// An extent of what a lane gives.
enum Dim {
    /// The same in all lanes.
    Same(Extent),
    /// The number at this position of what is given: one for each lane.
    OfLane(usize),
    /// The vector at this position: one for each element of the dimensions above.
    Of(usize),
}

/// Whether the lanes of a nest run one at a time.
pub(super) enum Alone {
    Never,
    Always,
    /// If this scalar holds.
    If(ArrayId),
}

/// Elements of a lane's rows from which on it is worth its launches.
const LONG: i64 = 64;
/// Lanes from which on there are some for every core.
const MANY: i64 = 16;

impl<'p> Lifter<'p> {
    /// Whether the lanes of a nest are to run one at a time: always where they loop; where they move elements of rows whose lengths differ, if
    /// these are long and many.
    pub fn alone(&mut self, binding: &'p Binding, home: ContextId, body: &'p Block) -> Alone {
        let may = self.ways == Flattening::Alone
            && home == ROOT
            && self.here == ROOT
            && self.guard.is_none()
            && self.in_one_lane.is_none()
            && body.params.len() == 1
            && !binding.op.uses().into_iter().any(|id| self.may_fail_outside(id));
        if !may {
            return Alone::Never;
        }
        if let Some(own) = found(body, false, &|binding| self.loops_by_itself(binding)) {
            self.runs_alone(binding, true, format!("{} loops as long as each lane likes", self.said_of(own)));
            return Alone::Always;
        }
        if self.every_alone {
            self.runs_alone(binding, true, "the lanes of all outermost nests run one at a time".to_owned());
            return Alone::Always;
        }
        if let Some(own) = found(body, true, &|binding| self.moves_rows(binding))
            && let Some(long) = self.rows_are_long(binding)
        {
            self.runs_alone(
                binding,
                false,
                format!("{} moves elements of rows of different lengths", self.said_of(own)),
            );
            return Alone::If(long);
        }
        Alone::Never
    }

    /// Notes that the lanes of a nest run one at a time, and why.
    fn runs_alone(&mut self, binding: &Binding, always: bool, why: String) {
        let results = binding.results.iter().map(|var| var.id).collect();
        self.done.alone.push(NestAlone { results, place: binding.place.clone(), always, why });
    }

    /// An operation by its first array and its line.
    fn said_of(&self, binding: &Binding) -> String {
        let array = binding.results.iter().find(|var| !var.ty.is_scalar()).or(binding.results.first());
        let name = array.map_or_else(String::new, |var| self.source_name(var.id));
        match binding.place.line {
            0 => format!("`{name}`"),
            line => format!("`{name}` (line {line})"),
        }
    }

    /// Whether a value from outside waits until a lane needs it, or may fail to be computed.
    fn may_fail_outside(&self, id: ArrayId) -> bool {
        match self.bound(id) {
            Bound::Value(value) => self.risky.contains(&value.array),
            Bound::Index(_) => false,
            Bound::Code(..) => true,
            // Of the nest's own blocks.
            Bound::Missing => self.pending.contains_key(&id),
        }
    }

    /// Whether a lane decides how long something loops over arrays.
    fn loops_by_itself(&self, binding: &Binding) -> bool {
        let ArrayOp::While { condition, .. } = &binding.op else { return false };
        let turns = condition.results.first().map_or(Lanes::NONE, |&id| self.regularity.lanes(id));
        turns.has(0) && binding.results.iter().any(|var| !var.ty.is_scalar())
    }

    /// Whether something moves elements of arrays that are of other lengths in other lanes.
    fn moves_rows(&self, binding: &Binding) -> bool {
        let differs = |id: ArrayId| self.regularity.extents(id).iter().any(|varies| varies.lanes.has(0));
        let moves =
            matches!(binding.op.kind(), Kind::Counted | Kind::Scattered) || matches!(binding.op, ArrayOp::Sort { .. });
        moves && binding.op.uses().into_iter().chain(binding.results.iter().map(|var| var.id)).any(differs)
    }

    /// A scalar that says whether the rows of different lengths that a nest reads are long and many, if it reads any.
    fn rows_are_long(&mut self, binding: &'p Binding) -> Option<ArrayId> {
        let count = match self.lane_extents(&binding.results[0].ty.extents[..1]).first() {
            Some(LaneExtent::Uniform(count)) => *count,
            _ => return None,
        };
        let mut totals: Vec<Extent> = Vec::new();
        for id in binding.op.uses() {
            let Bound::Value(value) = self.bound(id) else { continue };
            let ragged = |&step: &ContextId| matches!(self.context(step).made, Made::Ragged { .. });
            if self.steps(ROOT, value.elements).iter().any(ragged) {
                let total = self.count(value.elements);
                if !totals.contains(&total) {
                    totals.push(total);
                }
            }
        }
        let (&first, others) = totals.split_first()?;
        let mut f = LambdaBuilder::new();
        let total = others.iter().fold(scalar(first), |sum, &other| f.add(sum, scalar(other)));
        let lanes = scalar(count);
        let least = f.binary(Binary::Mul, lanes, LONG);
        let long = f.binary(Binary::Ge, total, least);
        let many = f.binary(Binary::Ge, lanes, MANY);
        let both = f.binary(Binary::And, long, many);
        let f = f.finish(&[both]);
        Some(self.flat.bind_out(ArrayOp::Unit { f }, &"long".into(), Type::scalar(Bool)))
    }

    /// The nest in both ways: its lanes one at a time where `long` holds, else all at once.
    pub fn nest_either(&mut self, binding: &'p Binding, body: &'p Block, long: ArrayId) -> Result<(), Error> {
        let mark = self.mark();
        let mut ways = Vec::new();
        for alone in [true, false] {
            self.flat.open();
            if alone {
                self.nest_alone(binding, body)?;
            } else {
                self.nest(binding, ROOT, body)?;
            }
            let values: Vec<Value> = binding.results.iter().map(|var| self.array_value(var.id)).collect();
            self.undo(mark);
            let open = self.flat.close(Vec::new());
            self.forget_closed();
            ways.push((open, values));
        }
        let level = self.flat.here();
        let slots: Vec<Slot> = binding
            .results
            .iter()
            .enumerate()
            .map(|(at, var)| Slot {
                home: ROOT,
                inner: self.agreed(var, ROOT, &[&ways[0].1[at], &ways[1].1[at]], level),
            })
            .collect();
        self.branches(binding, &slots, ways, long.into());
        Ok(())
    }

    /// The nest as lanes that run one at a time.
    pub fn nest_alone(&mut self, binding: &'p Binding, body: &'p Block) -> Result<(), Error> {
        self.done.nests_alone += 1;
        let extents = self.lane_extents(&binding.results[0].ty.extents[..1]);
        let Some(LaneExtent::Uniform(count)) = extents.first().cloned() else {
            fusebox_ir::bug!(self.program, "outside of lanes extents are the same in all");
        };
        let lanes = self.uniform(ROOT, count);
        let level = self.flat.here();
        self.flat.open();
        let lane = self.flat.param(&body.params[0].name, Type::scalar(I64));
        self.not_negative.insert(lane);
        let index = Value { array: lane, home: ROOT, elements: ROOT, ty: I64 };
        self.env.insert(body.params[0].id, Bound::Value(index));
        self.in_one_lane = Some((lane, count));
        let mark = self.mark();
        self.bindings(body)?;
        let mut arrays = Vec::new();
        let mut all = Vec::new();
        for (var, &result) in binding.results.iter().zip(&body.results) {
            let value = self.array_value(result);
            let value = self.declared(&value, ROOT, &type_in_lane(&var.ty), &self.source_name(var.id));
            let given = self.given_alone(value, level, &mut arrays);
            all.push(given);
        }
        self.undo(mark);
        self.in_one_lane = None;
        let results: Vec<Value> = arrays.iter().chain(all.iter().map(|given| &given.value)).cloned().collect();
        let vectors: Vec<_> = results.iter().map(|value| value.array).collect();
        let inside = self.flat.close(vectors);
        self.forget_closed();

        let sinks = results.iter().map(|_| Sink::Elements { count: 1 }).collect();
        let mut made = Vec::new();
        let mut pairs = Vec::new();
        for (at, value) in results.iter().enumerate() {
            let (total, vector) = (self.flat.id(), self.flat.id());
            let name = at.checked_sub(arrays.len()).and_then(|at| binding.results.get(at)).map(|var| var.name.clone());
            made.push((total, "total".into(), Type::scalar(I64)));
            made.push((vector, name.unwrap_or_default(), Type::array(vec![Extent::Value(total)], value.ty)));
            pairs.push((total, vector));
        }
        let limit = Some(operand(count));
        let op = ArrayOp::Consume { limit, body: inside, sinks, streams: Vec::new(), chunks: false };
        self.flat.bind_ids(level, op, made);
        self.not_negative.extend(pairs.iter().map(|&(total, _)| total));

        // Numbers of lanes, and of elements in lanes, are extents.
        for (given, (var, &(total, vector))) in all.iter().zip(binding.results.iter().zip(&pairs[arrays.len()..])) {
            let value = self.of_all_lanes(given, lanes, (total, vector), &pairs);
            let value = if var.ty.inner.is_empty() { self.plain(var, value) } else { value };
            self.define(var, value);
        }
        Ok(())
    }

    /// What a lane gives of a value: its elements, and what says how many there are.
    fn given_alone(&mut self, value: Value, level: usize, arrays: &mut Vec<Value>) -> Given {
        let mut dims = Vec::new();
        let mut above = ROOT;
        for step in self.steps(ROOT, value.elements) {
            let dim = match self.context(step).made.clone() {
                Made::Uniform { extent: Extent::Value(id) } if self.flat.level(id) > level => {
                    arrays.push(Value { array: id, home: ROOT, elements: ROOT, ty: I64 });
                    Dim::OfLane(arrays.len() - 1)
                }
                Made::Uniform { extent } => Dim::Same(extent),
                Made::Ragged { sizes, .. } => {
                    let sizes = self.lifted(&sizes, above);
                    let array = self.as_vector(sizes.array);
                    arrays.push(Value { array, ..sizes });
                    Dim::Of(arrays.len() - 1)
                }
                Made::Root | Made::Subset { .. } => fusebox_ir::bug!(self.program, "an array has no such dimension"),
            };
            dims.push(dim);
            above = step;
        }
        let array = if value.elements == ROOT { value.array } else { self.as_vector(value.array) };
        Given { value: Value { array, ..value }, dims }
    }

    /// What all lanes gave, as a value of lanes outside.
    fn of_all_lanes(
        &mut self,
        given: &Given,
        lanes: ContextId,
        (total, vector): (ArrayId, ArrayId),
        pairs: &[(ArrayId, ArrayId)],
    ) -> Value {
        let mut at = lanes;
        let last = given.dims.len();
        for (dim, how) in given.dims.iter().enumerate() {
            let total = (dim + 1 == last).then_some(total);
            at = match *how {
                Dim::Same(extent) => self.extend(ROOT, at, &LaneExtent::Uniform(extent)),
                Dim::OfLane(position) => {
                    let sizes = self.sizes_alone(pairs[position].1, lanes);
                    self.ragged(at, &sizes, total)
                }
                Dim::Of(position) => {
                    let sizes = self.sizes_alone(pairs[position].1, at);
                    self.ragged(at, &sizes, total)
                }
            };
        }
        let array = self.laid_out(vector, at);
        Value { array, home: ROOT, elements: at, ty: given.value.ty }
    }

    /// Sizes that lanes gave, one for each lane of a context. None is negative: they were extents.
    fn sizes_alone(&mut self, vector: ArrayId, lanes: ContextId) -> Value {
        let array = self.laid_out(vector, lanes);
        self.not_negative.insert(array);
        Value { array, home: lanes, elements: lanes, ty: I64 }
    }

    /// A vector as an array over a context.
    fn laid_out(&mut self, vector: ArrayId, at: ContextId) -> ArrayId {
        let dims = self.dims(at);
        if self.flat.ty(vector).extents == dims { vector } else { self.reshaped_here(vector, dims) }
    }
}

/// A binding of a block of which something holds, in blocks inside too; those of nests inside only if `nests`.
fn found<'b>(block: &'b Block, nests: bool, holds: &dyn Fn(&Binding) -> bool) -> Option<&'b Binding> {
    if nests {
        return block.blocks().flat_map(|block| &block.bindings).find(|binding| holds(binding));
    }
    block.bindings.iter().find_map(|binding| match &binding.op {
        _ if holds(binding) => Some(binding),
        ArrayOp::Nest { .. } => None,
        op => op.bodies().find_map(|body| found(body, nests, holds)),
    })
}
