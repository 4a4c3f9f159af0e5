//! Loops that each lane ends for itself, of a state that is as large in all lanes: the state is that of the lanes that go on, one after the
//! other, and lanes that end leave it. A turn in which none ends moves nothing but what the program moves; each lane is put in its place once.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Block,
    ElementType::{Bool, I64},
    Extent, Lambda, Name, Operand, PermuteOrder, ScalarValue, Type,
};

use super::{
    Lifter, Value,
    context::{Context, ContextId, Made, scalar},
    loops::Loop,
    slots::Along,
};
use crate::Error;

/// The state of the lanes that go on.
struct Alive {
    count: ArrayId,
    /// For each its row-major position among all lanes.
    lane: ArrayId,
    state: Vec<ArrayId>,
}

impl Alive {
    fn flat(&self) -> Vec<ArrayId> {
        [self.count, self.lane].into_iter().chain(self.state.iter().copied()).collect()
    }
}

/// A loop on its way.
struct Leaving<'l, 'p> {
    of: &'l Loop<'p>,
    /// For each value of the state its extents in a lane.
    extents: Vec<Vec<Extent>>,
    /// Which values of the state something reads after the loop.
    read: Vec<bool>,
    /// How many lanes there are.
    lanes: Extent,
}

impl<'p> Lifter<'p> {
    /// Whether a state is as large in all lanes.
    pub fn is_as_large(layouts: &[Vec<Along>]) -> bool {
        layouts.iter().flatten().all(|along| *along == Along::Uniform)
    }

    /// The loop, with a state that is as large in all lanes: `starts` is it before the loop as flat values, `begin` says which lanes take a turn.
    pub fn repeat_while_alive(&mut self, of: &Loop<'p>, starts: Vec<ArrayId>, begin: ArrayId) -> Result<(), Error> {
        let &Loop { binding, home, condition, step, .. } = of;
        let rank = self.context(home).dims.len();
        let lanes = self.count(home);
        let extents: Vec<Vec<Extent>> = starts.iter().map(|&id| self.flat.ty(id).extents[rank..].to_vec()).collect();
        let read = binding.results.iter().map(|var| self.used.contains(&var.id)).collect();
        let leaving = Leaving { of, extents, read, lanes };

        // The lanes that begin, and all lanes as they are if they never do.
        let beginning = self.subset(home, begin, true);
        let Context { made: Made::Subset { up }, dims, .. } = self.context(beginning) else {
            fusebox_ir::bug!(self.program, "some lanes are left out");
        };
        let (up, &[Extent::Value(count)]) = (*up, &dims[..]) else {
            fusebox_ir::bug!(self.program, "the lanes that begin are counted");
        };
        let state: Vec<ArrayId> = starts
            .iter()
            .zip(&step.params)
            .zip(&leaving.extents)
            .map(|((&array, param), extents)| {
                let elements = self.over(home, extents);
                self.lifted(&Value { array, home, elements, ty: param.ty.element }, beginning).array
            })
            .collect();
        let mut starting = Alive { count, lane: up, state }.flat();
        for (at, &array) in starts.iter().enumerate() {
            if leaving.read[at] {
                let ended = leaving.ended_extents(at);
                starting.push(self.reshaped(array, ended));
            }
        }

        self.flat.open();
        let (alive, _) = self.params_of(&leaving);
        let f = Lambda::build(&[], |f, _| vec![f.binary(Binary::Gt, ScalarValue::outer(alive.count, I64), 0i64)]);
        let goes_on = self.flat.bind(ArrayOp::Unit { f }, vec![("go".into(), Type::scalar(Bool))]);
        let goes_on = self.flat.close(goes_on);
        self.forget_closed();

        self.flat.open();
        let (alive, ended) = self.params_of(&leaving);
        let turn = self.turn_of_alive(&leaving, condition, step, &alive, ended)?;
        self.forget_closed();

        let (ids, ended, results) = self.typed_of(&leaving);
        let level = self.flat.here();
        let starts = starting.into_iter().map(Operand::Value).collect();
        self.flat.bind_ids(level, ArrayOp::While { condition: goes_on, step: turn, starts }, results);
        self.not_negative.insert(ids.count);
        let mut ended = ended.into_iter();
        for (at, var) in binding.results.iter().enumerate() {
            let Some(array) = leaving.read[at].then(|| ended.next()).flatten() else { continue };
            let elements = self.over(home, &leaving.extents[at]);
            let array = self.reshaped(array, self.dims(elements));
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
        Ok(())
    }

    /// The step for the lanes that go on, as a flat block: the state of those that go on after it, and all that have ended.
    fn turn_of_alive(
        &mut self,
        leaving: &Leaving<'_, 'p>,
        condition: &'p Block,
        step: &'p Block,
        alive: &Alive,
        ended: Vec<ArrayId>,
    ) -> Result<Block, Error> {
        let (outside, mark) = (self.here, self.mark());
        let home = leaving.of.home;
        let here = self.add_context(home, Made::Subset { up: alive.lane }, vec![Extent::Value(alive.count)]);
        self.here = here;
        for ((param, &array), extents) in step.params.iter().zip(&alive.state).zip(&leaving.extents) {
            let elements = self.over(here, extents);
            self.define(param, Value { array, home: here, elements, ty: param.ty.element });
        }
        self.bindings(step)?;
        let mut next = Vec::new();
        for (param, &result) in step.params.iter().zip(&step.results) {
            let value = self.array_value(result);
            next.push(self.declared(&value, here, &param.ty, &param.name.0));
        }
        // Whether a lane goes on is asked of those that have taken this turn.
        let again = self.asked(condition, &next, here)?;
        self.undo(mark);
        self.here = outside;

        let lane = Value { array: alive.lane, home: here, elements: here, ty: I64 };
        let leave = self.subset(here, again, false);
        let ended = self.with_those_that_end(leaving, &next, &lane, leave, ended);
        let alive = self.those_that_go_on(leaving, &next, &lane, again, leave);
        Ok(self.flat.close(alive.flat().into_iter().chain(ended).collect()))
    }

    /// All lanes that have ended, with those that do in this turn.
    fn with_those_that_end(
        &mut self,
        leaving: &Leaving<'_, 'p>,
        next: &[Value],
        lane: &Value,
        leave: ContextId,
        ended: Vec<ArrayId>,
    ) -> Vec<ArrayId> {
        let lane = self.lifted(lane, leave).array;
        let read = next.iter().enumerate().filter(|(at, _)| leaving.read[*at]);
        let mut all = Vec::new();
        for ((at, value), default) in read.zip(ended) {
            let new = self.lifted(value, leave);
            let dims = self.dims(new.elements);
            let of_lane = Value { array: lane, home: leave, elements: leave, ty: I64 };
            let mut targets = vec![self.lifted(&of_lane, new.elements).array];
            targets.extend((1..dims.len()).map(|dim| self.coordinate_of(&dims, dim)));
            let combine = Lambda::build(&[("new", value.ty), ("old", value.ty)], |_, p| vec![p[0]]);
            let op = ArrayOp::Permute {
                combine,
                defaults: vec![default],
                values: vec![new.array],
                targets,
                keep: None,
                order: PermuteOrder::Unique,
            };
            let (name, ty) = (leaving.of.binding.results[at].name.clone(), self.flat.ty(default).clone());
            all.push(self.flat.bind(op, vec![(name, ty)])[0]);
        }
        all
    }

    /// The state of those that go on: as it is, if none ends in this turn.
    fn those_that_go_on(
        &mut self,
        leaving: &Leaving<'_, 'p>,
        next: &[Value],
        lane: &Value,
        again: ArrayId,
        leave: ContextId,
    ) -> Alive {
        let here = lane.home;
        let leaves = self.context(leave).dims[0];
        let f = Lambda::build(&[], |f, _| vec![f.binary(Binary::Eq, scalar(leaves), 0i64)]);
        let none = self.flat.bind(ArrayOp::Unit { f }, vec![("none".into(), Type::scalar(Bool))])[0];
        let Extent::Value(count) = self.context(here).dims[0] else {
            fusebox_ir::bug!(self.program, "the lanes that go on are counted");
        };
        let as_they_are = Alive { count, lane: lane.array, state: next.iter().map(|value| value.array).collect() };
        self.flat.open();
        let then = self.flat.close(as_they_are.flat());

        self.flat.open();
        let inner = self.flat.here();
        let floor = std::mem::replace(&mut self.flat.floor, inner);
        let stay = self.subset(here, again, true);
        let Extent::Value(count) = self.context(stay).dims[0] else {
            fusebox_ir::bug!(self.program, "the lanes that go on are counted");
        };
        let lane = self.lifted(lane, stay).array;
        let state = next.iter().map(|value| self.lifted(value, stay).array).collect();
        self.flat.floor = floor;
        let otherwise = self.flat.close(Alive { count, lane, state }.flat());
        self.forget_closed();

        let (ids, _, mut results) = self.typed_of(leaving);
        results.truncate(ids.flat().len());
        let level = self.flat.here();
        self.flat.bind_ids(level, ArrayOp::Cond { condition: none.into(), then, otherwise }, results);
        ids
    }

    /// The context of the elements of an array of these extents in the lanes of a context.
    fn over(&mut self, lanes: ContextId, extents: &[Extent]) -> ContextId {
        extents.iter().fold(lanes, |at, &extent| self.uniform(at, extent))
    }

    /// Parameters of a block of the loop.
    fn params_of(&mut self, leaving: &Leaving<'_, 'p>) -> (Alive, Vec<ArrayId>) {
        let (alive, ended, all) = self.typed_of(leaving);
        for (id, name, ty) in all {
            self.flat.param_as(id, &name, ty);
        }
        self.not_negative.extend([alive.count, alive.lane]);
        (alive, ended)
    }

    /// Names and types of the state, with ids of their own.
    fn typed_of(&mut self, leaving: &Leaving<'_, 'p>) -> (Alive, Vec<ArrayId>, Vec<(ArrayId, Name, Type)>) {
        let (count, lane) = (self.flat.id(), self.flat.id());
        let mut all = vec![
            (count, "alive".into(), Type::scalar(I64)),
            (lane, "lane".into(), Type::array(vec![Extent::Value(count)], I64)),
        ];
        let params = &leaving.of.step.params;
        let mut state = Vec::new();
        for (param, extents) in params.iter().zip(&leaving.extents) {
            let id = self.flat.id();
            let extents = [Extent::Value(count)].iter().chain(extents).copied().collect();
            all.push((id, param.name.clone(), Type::array(extents, param.ty.element)));
            state.push(id);
        }
        let mut ended = Vec::new();
        for (at, (param, var)) in params.iter().zip(&leaving.of.binding.results).enumerate() {
            if leaving.read[at] {
                let id = self.flat.id();
                all.push((id, var.name.clone(), Type::array(leaving.ended_extents(at), param.ty.element)));
                ended.push(id);
            }
        }
        (Alive { count, lane, state }, ended, all)
    }
}

impl Leaving<'_, '_> {
    /// The extents of a value of the state of all lanes.
    fn ended_extents(&self, at: usize) -> Vec<Extent> {
        [self.lanes].iter().chain(&self.extents[at]).copied().collect()
    }
}
