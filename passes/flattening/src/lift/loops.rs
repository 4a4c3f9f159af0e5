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
        let &Loop { binding, home, condition, step, .. } = of;
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
                    return Err(
                        self.refused(binding, "its state changes its representation; give its extents names that stay")
                    );
                }
                joined.flat
            };
            self.undo(mark);
            blocks.push(self.flat.close(results));
            self.forget_closed();
        }
        let [condition, step] = <[fusebox_ir::Block; 2]>::try_from(blocks).unwrap_or_default();
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
        let outside = self.here;
        let slots: Vec<Slot> = step.params.iter().map(|param| Slot::new(home, &param.ty)).collect();
        let values: Vec<Value> = starts.iter().map(|&start| self.operand_value(start)).collect();
        let Joined { flat, layouts } = self.joined_up(&step.params, &values, &slots);
        let home_dims = self.dims(home);
        // Which lanes begin.
        let mark = self.mark();
        for (param, value) in condition.params.iter().zip(&values) {
            self.define(param, value.clone());
        }
        self.here = home;
        self.bindings(condition)?;
        let begin = self.array_value(condition.results[0]);
        let begin = self.lifted(&begin, home).array;
        self.undo(mark);
        if Self::is_as_large(&layouts) {
            self.repeat_while_alive(of, flat, begin)?;
            self.here = outside;
            return Ok(());
        }
        let starting = flat.into_iter().chain([begin]).map(Operand::Value).collect();

        let params = |lifter: &mut Self| -> (Vec<ArrayId>, ArrayId) {
            let list = lifter.typed(&step.params, &slots, &layouts);
            let ids = list.iter().map(|(id, _, _)| *id).collect();
            for (id, name, ty) in list {
                lifter.flat.param_as(id, &name, ty);
            }
            let active = lifter.flat.param(&"active".into(), Type::array(home_dims.clone(), Bool));
            (ids, active)
        };
        // As long as one lane goes on.
        self.flat.open();
        let (_, active) = params(self);
        let vector = self.as_vector(active);
        let op = ArrayOp::Fold {
            combine: Lambda::componentwise(&[(Binary::Or, Bool)]),
            seeds: vec![Operand::Constant(false.into())],
            sources: vec![vector],
            offsets: None,
            commutes: false,
        };
        let any = self.flat.bind_out(op, &"go".into(), Type::scalar(Bool));
        let goes_on = self.flat.close(vec![any]);
        self.forget_closed();

        self.flat.open();
        let (ids, active) = params(self);
        self.define_slots(&step.params, &slots, &layouts, &ids);
        let old: Vec<Value> = step.params.iter().map(|param| self.array_value(param.id)).collect();
        let taken = self.numbers(home, active);
        let lanes = self.subset(home, active, true);
        self.here = lanes;
        self.bindings(step)?;
        let next: Vec<Value> = step.results.iter().map(|&id| self.array_value(id)).collect();
        // Whether a lane goes on is asked of the lanes that have taken this turn.
        for (param, value) in condition.params.iter().zip(&next) {
            self.define(param, value.clone());
        }
        self.bindings(condition)?;
        let again = self.array_value(condition.results[0]);
        let again = self.lifted(&again, lanes).array;
        self.undo(mark);
        self.here = home;
        let ways = [
            Way { values: &next, lanes: Some((lanes, taken)), block: Some(step) },
            Way { values: &old, lanes: None, block: None },
        ];
        self.rejoin(&step.params, home, active, &ways);
        let joined: Vec<Value> = step.params.iter().map(|param| self.array_value(param.id)).collect();
        let mut results = self.joined_up(&step.params, &joined, &slots).flat;
        let mut code = Code::over(self, home);
        let coords = code.coords.clone();
        let was = code.read(active, coords.clone());
        let goes = code.choose(
            was,
            Bool,
            |code| {
                let position = code.flattened(&home_dims, &coords);
                let number = code.read(taken, vec![position]);
                code.read(again, vec![number])
            },
            |_| ScalarOperand::Constant(false.into()),
        );
        let f = code.b.finish_needed(&[goes]);
        let op = ArrayOp::Generate { extents: operands(&home_dims), f };
        let active = self.flat.bind(op, vec![("active".into(), Type::array(home_dims.clone(), Bool))])[0];
        results.push(active);
        let turn = self.flat.close(results);
        self.forget_closed();
        self.here = outside;

        let mut results = self.typed(&binding.results, &slots, &layouts);
        let ids: Vec<ArrayId> = results.iter().map(|(id, _, _)| *id).collect();
        results.push((self.flat.id(), "active".into(), Type::array(home_dims, Bool)));
        let level = self.flat.here();
        self.flat.bind_ids(level, ArrayOp::While { condition: goes_on, step: turn, starts: starting }, results);
        self.define_slots(&binding.results, &slots, &layouts, &ids);
        Ok(())
    }
}
