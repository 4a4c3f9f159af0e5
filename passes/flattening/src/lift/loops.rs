//! Loops. Where all lanes take as many turns they stay loops, of flat arrays. Where each lane decides for itself, a turn is computed for the
//! lanes that take one; a state that is as large in all lanes is held for these alone (`alive.rs`), another is put together again.

use fusebox_ir::{ArrayId, ArrayOp, Binary, Binding, Block, ElementType::Bool, Lambda, Operand, ScalarOperand, Type};

use super::{
    Lifter, Value,
    branches::Way,
    code::Code,
    context::{ContextId, ROOT},
    flat::operands,
    slots::{Along, Joined, Slot},
};
use crate::{Error, analysis::Lanes};

/// A loop of the nested program, for the lanes of a context.
pub(super) struct Loop<'p> {
    pub binding: &'p Binding,
    pub home: ContextId,
    pub condition: &'p Block,
    pub step: &'p Block,
    pub starts: &'p [Operand],
}

/// The state of a loop that each lane ends for itself, as what goes through a flat loop.
struct State {
    slots: Vec<Slot>,
    layouts: Vec<Vec<Along>>,
    /// The type of what says which lanes go on.
    active: Type,
}

/// What became of a loop of which all lanes take as many turns.
enum Turns {
    /// The flat loop, and how its state is laid out.
    Done(Box<ArrayOp>, Vec<Vec<Along>>),
    /// A slot has to be of more lanes, or an extent of inner arrays does not stay, which the slots now say.
    Again,
    /// Whether there is another turn is the same for all lanes, but as it may fail it is computed in each.
    ByLanes,
}

impl<'p> Lifter<'p> {
    pub fn repeat(&mut self, of: &Loop<'p>) -> Result<(), Error> {
        let turns = of.condition.results.first().map_or(Lanes::NONE, |&id| self.lanes_of(id));
        if turns.is_none() { self.repeat_all(of) } else { self.repeat_by_lanes(of) }
    }

    /// The nests whose index a value depends on, but for that of which one lane is lifted.
    fn lanes_of(&self, id: ArrayId) -> Lanes {
        self.not_alone(self.regularity.lanes(id))
    }

    fn not_alone(&self, lanes: Lanes) -> Lanes {
        if self.in_one_lane.is_some() { lanes.without(0) } else { lanes }
    }

    /// All lanes take as many turns.
    fn repeat_all(&mut self, of: &Loop<'p>) -> Result<(), Error> {
        let &Loop { binding, home, step, starts, .. } = of;
        let mut slots: Vec<Slot> = step
            .params
            .iter()
            .map(|param| {
                let extents = self.regularity.extents(param.id).iter();
                let varies = !self.lanes_of(param.id).is_none()
                    || extents.into_iter().any(|varies| !self.not_alone(varies.lanes).is_none());
                Slot::new(if varies { home } else { ROOT }, &param.ty)
            })
            .collect();
        let values: Vec<Value> = starts.iter().map(|&start| self.operand_value(start)).collect();
        for (slot, value) in slots.iter_mut().zip(&values) {
            slot.home = self.deeper(slot.home, value.home);
        }
        let level = self.flat.here();
        for ((param, slot), value) in step.params.iter().zip(&mut slots).zip(&values) {
            slot.inner = self.agreed(param, slot.home, &[value], level);
        }
        // What a turn gives may depend on more lanes than was found out; each time one does, another slot is of all lanes.
        loop {
            match self.turns(of, &values, &mut slots)? {
                Turns::Done(op, layouts) => {
                    self.through(binding, &slots, &layouts, *op);
                    return Ok(());
                }
                Turns::Again => {}
                Turns::ByLanes => return self.repeat_by_lanes(of),
            }
        }
    }

    /// The loop with its state in these slots.
    fn turns(&mut self, of: &Loop<'p>, starts: &[Value], slots: &mut [Slot]) -> Result<Turns, Error> {
        let &Loop { home, condition, step, .. } = of;
        let Joined { flat, layouts } = self.joined_up(&step.params, starts, slots);
        let starts = flat.into_iter().map(Operand::Value).collect();
        let (mark, level) = (self.mark(), self.flat.here());
        let mut blocks = Vec::new();
        for block in [condition, step] {
            self.flat.open();
            let params = self.typed(&block.params, slots, &layouts);
            let ids: Vec<ArrayId> = params.iter().map(|(id, _, _)| *id).collect();
            for (id, name, ty) in params {
                self.flat.param_as(id, &name, ty);
            }
            self.define_slots(&block.params, slots, &layouts, &ids);
            self.bindings(block)?;
            let results: Vec<Value> = block.results.iter().map(|&id| self.array_value(id)).collect();
            let results = if blocks.is_empty() {
                if results.iter().any(|value| value.home != ROOT) {
                    self.given_up(mark);
                    return Ok(Turns::ByLanes);
                }
                results.into_iter().map(|value| value.array).collect()
            } else {
                let mut deeper = false;
                for ((param, value), slot) in block.params.iter().zip(&results).zip(slots.iter_mut()) {
                    if !self.is_above(value.home, slot.home) {
                        slot.home = home;
                        deeper = true;
                    }
                    for (stays, next) in slot.inner.iter_mut().zip(self.agreed(param, slot.home, &[value], level)) {
                        if stays.is_some() && *stays != next {
                            *stays = None;
                            deeper = true;
                        }
                    }
                }
                if deeper {
                    self.given_up(mark);
                    return Ok(Turns::Again);
                }
                let joined = self.joined_up(&block.params, &results, slots);
                if joined.layouts != layouts {
                    // Its dimensions go by its type and its slot, which now stay.
                    fusebox_ir::bug!(self.program, "the state of a loop is laid out in one way");
                }
                joined.flat
            };
            self.undo(mark);
            blocks.push(self.flat.close(results));
            self.forget_closed();
        }
        let Ok([condition, step]) = <[Block; 2]>::try_from(blocks) else {
            fusebox_ir::bug!(self.program, "a loop has two blocks");
        };
        Ok(Turns::Done(Box::new(ArrayOp::While { condition, step, starts }), layouts))
    }

    /// Forgets an open block.
    fn given_up(&mut self, mark: usize) {
        self.undo(mark);
        self.flat.close(Vec::new());
        self.forget_closed();
    }

    /// Each lane takes as many turns as it needs.
    fn repeat_by_lanes(&mut self, of: &Loop<'p>) -> Result<(), Error> {
        let &Loop { binding, home, condition, step, starts } = of;
        let slots: Vec<Slot> = step.params.iter().map(|param| Slot::new(home, &param.ty)).collect();
        let values: Vec<Value> = starts.iter().map(|&start| self.operand_value(start)).collect();
        let Joined { flat, layouts } = self.joined_up(&step.params, &values, &slots);
        let (outside, mark) = (std::mem::replace(&mut self.here, home), self.mark());
        let begin = self.asked(condition, &values, home)?;
        self.undo(mark);
        if Self::is_as_large(&layouts) {
            self.repeat_while_alive(of, flat, begin)?;
            self.here = outside;
            return Ok(());
        }
        let starts = flat.into_iter().chain([begin]).map(Operand::Value).collect();
        let state = State { slots, layouts, active: Type::array(self.dims(home), Bool) };
        let condition = self.one_goes_on(of, &state);
        let step = self.turn_by_lanes(of, &state)?;
        self.here = outside;

        let State { slots, layouts, active } = state;
        let mut results = self.typed(&binding.results, &slots, &layouts);
        let ids: Vec<ArrayId> = results.iter().map(|(id, _, _)| *id).collect();
        results.push((self.flat.id(), "active".into(), active));
        let level = self.flat.here();
        self.flat.bind_ids(level, ArrayOp::While { condition, step, starts }, results);
        self.define_slots(&binding.results, &slots, &layouts, &ids);
        Ok(())
    }

    /// Which lanes of a context go on from this state.
    pub fn asked(&mut self, condition: &'p Block, state: &[Value], lanes: ContextId) -> Result<ArrayId, Error> {
        for (param, value) in condition.params.iter().zip(state) {
            let value = self.declared(value, value.home, &param.ty, &param.name.0);
            self.define(param, value);
        }
        self.bindings(condition)?;
        let go = self.array_value(condition.results[0]);
        Ok(self.lifted(&go, lanes).array)
    }

    /// Parameters of a flat block for the state of all lanes, and for which of them go on.
    fn params_by_lanes(&mut self, of: &Loop<'p>, state: &State) -> (Vec<ArrayId>, ArrayId) {
        let list = self.typed(&of.step.params, &state.slots, &state.layouts);
        let ids = list.iter().map(|(id, _, _)| *id).collect();
        for (id, name, ty) in list {
            self.flat.param_as(id, &name, ty);
        }
        (ids, self.flat.param(&"active".into(), state.active.clone()))
    }

    /// Whether one lane goes on, as a flat block.
    fn one_goes_on(&mut self, of: &Loop<'p>, state: &State) -> Block {
        self.flat.open();
        let (_, active) = self.params_by_lanes(of, state);
        let vector = self.as_vector(active);
        let op = ArrayOp::Fold {
            combine: Lambda::componentwise(&[(Binary::Or, Bool)]),
            seeds: vec![Operand::Constant(false.into())],
            sources: vec![vector],
            offsets: None,
            commutes: false,
        };
        let any = self.flat.bind_out(op, &"go".into(), Type::scalar(Bool));
        let block = self.flat.close(vec![any]);
        self.forget_closed();
        block
    }

    /// A turn of the lanes that go on, as a flat block: the state of all lanes after it, and which of them go on.
    fn turn_by_lanes(&mut self, of: &Loop<'p>, state: &State) -> Result<Block, Error> {
        let &Loop { home, condition, step, .. } = of;
        let mark = self.mark();
        self.flat.open();
        let (ids, active) = self.params_by_lanes(of, state);
        self.define_slots(&step.params, &state.slots, &state.layouts, &ids);
        let old: Vec<Value> = step.params.iter().map(|param| self.array_value(param.id)).collect();
        let taken = self.numbers(home, active);
        let lanes = self.subset(home, active, true);
        self.here = lanes;
        self.bindings(step)?;
        let next: Vec<Value> = step.results.iter().map(|&id| self.array_value(id)).collect();
        // Whether a lane goes on is asked of the lanes that have taken this turn.
        let again = self.asked(condition, &next, lanes)?;
        self.undo(mark);
        self.here = home;
        let ways = [
            Way { values: &next, lanes: Some((lanes, taken)), block: Some(step) },
            Way { values: &old, lanes: None, block: None },
        ];
        self.rejoin(&step.params, home, active, &ways);
        let joined: Vec<Value> = step.params.iter().map(|param| self.array_value(param.id)).collect();
        let mut results = self.joined_up(&step.params, &joined, &state.slots).flat;
        results.push(self.those_again(home, active, taken, again));
        let turn = self.flat.close(results);
        self.forget_closed();
        Ok(turn)
    }

    /// Of all lanes those that were active and go on again; `taken` says where the answer of each active one is.
    fn those_again(&mut self, home: ContextId, active: ArrayId, taken: ArrayId, again: ArrayId) -> ArrayId {
        let dims = self.dims(home);
        let mut code = Code::over(self, home);
        let coords = code.coords.clone();
        let was = code.read(active, coords.clone());
        let goes = code.choose(
            was,
            Bool,
            |code| {
                let position = code.flattened(&dims, &coords);
                let number = code.read(taken, vec![position]);
                code.read(again, vec![number])
            },
            |_| ScalarOperand::Constant(false.into()),
        );
        let f = code.b.finish_needed(&[goes]);
        let op = ArrayOp::Generate { extents: operands(&dims), f };
        self.flat.bind(op, vec![("active".into(), Type::array(dims, Bool))])[0]
    }
}
