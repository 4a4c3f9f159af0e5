//! Branches and loops. Where all lanes decide alike they stay branches and loops, of flat arrays. Where each lane decides for itself, lanes are
//! parted: a branch is computed for those that take it, a turn of a loop for those that take one, and results are put together again. So
//! what a lane does not reach cannot fail, and costs nothing.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block, Direction,
    ElementType::{Bool, I64},
    Extent, Lambda, Name, Operand, ScalarOperand, ScanForm, Type, Var,
};

use super::{
    LaneOperand, Lifter, Value,
    code::{Code, Outside},
    context::{ContextId, LaneExtent, Made, ROOT},
    flat::{operand, operands},
};
use crate::Error;

/// One of two ways that lanes go: their results, and where those of a lane are.
struct Way<'a> {
    values: &'a [Value],
    /// The lanes that go it, and for each lane of all its number among them.
    lanes: Option<(ContextId, ArrayId)>,
    /// The extents of the values in the source, where they may differ from those declared.
    block: Option<&'a Block>,
}

/// A value that goes through a flat branch or loop.
#[derive(Clone, Debug)]
struct Slot {
    home: ContextId,
    /// The flat extents; `None` where another result before says how many elements there are.
    counted: bool,
}

impl<'p> Lifter<'p> {
    pub fn cond(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        condition: Operand,
        then: &'p Block,
        otherwise: &'p Block,
    ) -> Result<(), Error> {
        self.no_nested(binding)?;
        match self.lane_operand(condition) {
            LaneOperand::Outside(condition) => self.cond_of_all(binding, home, condition, then, otherwise),
            LaneOperand::Varying(condition) => self.cond_by_lanes(binding, home, &condition, then, otherwise),
            LaneOperand::Index(_) => Err(self.refused(binding, "its condition is a number")),
        }
    }

    fn no_nested(&self, binding: &Binding) -> Result<(), Error> {
        if binding.results.iter().any(|var| !var.ty.inner.is_empty()) {
            return Err(self.refused(
                binding,
                "an array of arrays goes through no branch and no loop; let it go through as extents and values, or put the nest around",
            ));
        }
        Ok(())
    }

    /// All lanes take the same branch.
    fn cond_of_all(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        condition: Operand,
        then: &'p Block,
        otherwise: &'p Block,
    ) -> Result<(), Error> {
        let mark = self.mark();
        let mut ways = Vec::new();
        for block in [then, otherwise] {
            self.flat.open();
            self.bindings(block)?;
            let values: Vec<Value> = block.results.iter().map(|&id| self.array_value(id)).collect();
            self.undo(mark);
            let open = self.flat.close(Vec::new());
            self.forget_closed();
            ways.push((open, values));
        }
        // A result is of the lanes that one of the branches makes it of, and of those that its extents depend on.
        let mut slots: Vec<Slot> = Vec::new();
        for (at, var) in binding.results.iter().enumerate() {
            let mut of = self.deeper(ways[0].1[at].home, ways[1].1[at].home);
            for extent in &var.ty.extents {
                let Extent::Value(id) = extent else { continue };
                let extent = match binding.results[..at].iter().position(|other| other.id == *id) {
                    Some(sibling) => slots[sibling].home,
                    None => self.scalar_value(*id).home,
                };
                of = self.deeper(of, extent);
            }
            // A branch that was lifted for fewer lanes than the operation gives all of them.
            let of = if self.is_above(of, home) { of } else { home };
            slots.push(Slot { home: of, counted: false });
        }
        let mut blocks = Vec::new();
        let mut types = Vec::new();
        for (open, values) in ways {
            self.flat.reopen(open);
            let (results, layouts) = self.joined_up(&binding.results, &values, &mut slots);
            types = layouts;
            blocks.push(self.flat.close(results));
            self.forget_closed();
        }
        let [then, otherwise] = <[fusebox_ir::Block; 2]>::try_from(blocks).unwrap_or_default();
        self.through(binding, &slots, &types, ArrayOp::Cond { condition, then, otherwise });
        Ok(())
    }

    /// Values as results of a block that go through a branch or a loop: each as one of the lanes and extents that its slot and type say, a
    /// number of elements before it where extents differ by lane. Gives the results, and how many uniform dimensions end each.
    fn joined_up(&mut self, vars: &[Var], values: &[Value], slots: &mut [Slot]) -> (Vec<ArrayId>, Vec<usize>) {
        let (mut results, mut layouts) = (Vec::new(), Vec::new());
        let before: Vec<_> = vars.iter().map(|var| self.env.get(&var.id).cloned()).collect();
        for ((var, value), slot) in vars.iter().zip(values).zip(slots) {
            let name = self.source_name(var.id);
            let value = self.declared(value, slot.home, &var.ty, &name);
            let steps = self.steps(slot.home, value.elements);
            let uniform =
                steps.iter().rev().take_while(|&&step| matches!(self.context(step).made, Made::Uniform { .. })).count();
            slot.counted = uniform < steps.len();
            layouts.push(uniform);
            if slot.counted {
                let count = self.context(value.elements).dims[0];
                let count = match count {
                    Extent::Value(id) => id,
                    other => self.operand_value(operand(other)).array,
                };
                results.push(count);
            }
            results.push(value.array);
            self.define(var, value);
        }
        for (var, before) in vars.iter().zip(before) {
            match before {
                Some(bound) => _ = self.env.insert(var.id, bound),
                None => _ = self.env.remove(&var.id),
            }
        }
        (results, layouts)
    }

    /// Names and types of what goes through, with ids of their own.
    fn typed(&mut self, vars: &[Var], slots: &[Slot], layouts: &[usize]) -> Vec<(ArrayId, Name, Type)> {
        let mut all: Vec<(ArrayId, Name, Type)> = Vec::new();
        let mut own: Vec<ArrayId> = Vec::new();
        for ((var, slot), &uniform) in vars.iter().zip(slots).zip(layouts) {
            let mut extents = Vec::new();
            let rank = var.ty.rank();
            let from = if slot.counted {
                let count = self.flat.id();
                all.push((count, "total".into(), Type::scalar(I64)));
                extents.push(Extent::Value(count));
                rank - uniform
            } else {
                extents.extend(self.dims(slot.home));
                0
            };
            for &extent in &var.ty.extents[from..] {
                let sibling = match extent {
                    Extent::Value(id) => vars[..own.len()].iter().position(|other| other.id == id),
                    Extent::Constant(_) | Extent::Unknown => None,
                };
                extents.push(match sibling {
                    Some(at) => Extent::Value(own[at]),
                    None => match self.lane_extent(extent) {
                        LaneExtent::Uniform(extent) => extent,
                        LaneExtent::Varying(_) => extent,
                    },
                });
            }
            let id = self.flat.id();
            own.push(id);
            all.push((id, var.name.clone(), Type::array(extents, var.ty.element)));
        }
        all
    }

    /// Defines values that flat results (or parameters) of these ids stand for.
    fn define_slots(&mut self, vars: &[Var], slots: &[Slot], ids: &[ArrayId]) {
        let mut ids = ids.iter().copied();
        for (var, slot) in vars.iter().zip(slots) {
            let total = if slot.counted { ids.next() } else { None };
            let Some(array) = ids.next() else { return };
            let extents = self.lane_extents(&var.ty.extents);
            let elements = self.extend_counted(slot.home, &extents, total);
            self.define(var, Value { array, home: slot.home, elements, ty: var.ty.element });
        }
    }

    /// As `extend_all`; the number of all elements of the innermost ragged dimension is known.
    fn extend_counted(&mut self, home: ContextId, extents: &[LaneExtent], total: Option<ArrayId>) -> ContextId {
        let mut at = home;
        let last = extents.iter().rposition(|extent| matches!(extent, LaneExtent::Varying(_)));
        for (position, extent) in extents.iter().enumerate() {
            at = match extent {
                LaneExtent::Varying(sizes) if Some(position) == last => self.ragged(at, sizes, total),
                extent => self.extend(home, at, extent),
            };
        }
        at
    }

    /// Binds a branch or loop, and what its results stand for.
    fn through(&mut self, binding: &'p Binding, slots: &[Slot], layouts: &[usize], op: ArrayOp) {
        let results = self.typed(&binding.results, slots, layouts);
        let ids: Vec<ArrayId> = results.iter().map(|(id, _, _)| *id).collect();
        let level = self.flat.here();
        self.flat.bind_ids(level, op, results);
        self.define_slots(&binding.results, slots, &ids);
    }

    /// Each lane takes its own branch.
    fn cond_by_lanes(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        condition: &Value,
        then: &'p Block,
        otherwise: &'p Block,
    ) -> Result<(), Error> {
        let condition = self.lifted(condition, home).array;
        let taken = self.numbers(home, condition);
        let outside = self.here;
        let mut ways = Vec::new();
        for (block, wanted) in [(then, true), (otherwise, false)] {
            let lanes = self.subset(home, condition, wanted);
            self.here = lanes;
            let mark = self.mark();
            self.bindings(block)?;
            let values: Vec<Value> = block.results.iter().map(|&id| self.array_value(id)).collect();
            self.undo(mark);
            self.here = outside;
            ways.push((lanes, values));
        }
        let others = self.others(home, taken);
        let ways = [
            Way { values: &ways[0].1, lanes: Some((ways[0].0, taken)), block: Some(then) },
            Way { values: &ways[1].1, lanes: Some((ways[1].0, others)), block: Some(otherwise) },
        ];
        self.rejoin(&binding.results, home, condition, &ways);
        Ok(())
    }

    /// For each lane of a context, in row-major order, how many lanes before it have a condition.
    fn numbers(&mut self, home: ContextId, condition: ArrayId) -> ArrayId {
        let vector = self.as_vector(condition);
        let count = self.count(home);
        let f = Lambda::build(&[("c", Bool)], |f, p| vec![f.convert(I64, p[0])]);
        let op = ArrayOp::Map { f, sources: vec![vector] };
        let ones = self.flat.bind_out(op, &"".into(), Type::array(vec![count], I64));
        let more = self.one_more(count);
        let op = ArrayOp::Scan {
            direction: Direction::Left,
            form: ScanForm::Exclusive,
            combine: Lambda::componentwise(&[(Binary::Add, I64)]),
            seeds: vec![0i64.into()],
            sources: vec![ones],
            offsets: None,
            commutes: false,
        };
        self.flat.bind_out(op, &"number".into(), Type::array(vec![more], I64))
    }

    /// For each lane how many before it do not have the condition that `numbers` counts.
    fn others(&mut self, home: ContextId, numbers: ArrayId) -> ArrayId {
        let count = self.count(home);
        let lanes = self.iota(count);
        let f = Lambda::build(&[("lane", I64), ("n", I64)], |f, p| vec![f.sub(p[0], p[1])]);
        let op = ArrayOp::Map { f, sources: vec![lanes, numbers] };
        self.flat.bind_out(op, &"number".into(), Type::array(vec![count], I64))
    }

    /// Defines values of all lanes: of those with the condition the first way's, of others the second's.
    fn rejoin(&mut self, vars: &[Var], home: ContextId, condition: ArrayId, ways: &[Way<'_>; 2]) {
        for (at, var) in vars.iter().enumerate() {
            let elements = self.elements(home, &var.ty);
            let steps = self.steps(home, elements);
            let dims = self.dims(elements);
            let home_dims = self.dims(home);
            let name = self.source_name(var.id);
            let agreeing: Vec<Vec<usize>> = ways.iter().map(|way| self.not_agreeing(vars, at, way)).collect();
            let mut code = Code::over(self, elements);
            let lane = code.lane(home);
            let index = code.own_indices(&steps);
            let holds = code.read(condition, lane.clone());
            let declared = Value { array: condition, home, elements, ty: var.ty.element };
            let of = |code: &mut Code<'_, 'p>, side: usize| {
                let (way, value) = (&ways[side], &ways[side].values[at]);
                let coords = match way.lanes {
                    Some((lanes, numbers)) if !code.lifter.is_above(value.home, home) => {
                        let position = code.flattened(&home_dims, &lane);
                        let number = code.read(numbers, vec![position]);
                        code.climb(lanes, &[number], value.home)
                    }
                    _ => code.climb(home, &lane, value.home),
                };
                let mut element = code.element_at(value, &coords, &index, &Outside::Never);
                for &dim in &agreeing[side] {
                    let wanted = code.extent_at(&declared, &lane, dim, &index);
                    let found = code.extent_at(value, &coords, dim, &index);
                    let same = code.binary(Binary::Eq, wanted, found, Bool);
                    let message = format!("`{name}` has other extents than its type says in a lane");
                    element = code.assert(same, message, element, value.ty);
                }
                element
            };
            let element = code.choose(holds, var.ty.element, |code| of(code, 0), |code| of(code, 1));
            let f = code.b.finish_needed(&[element]);
            let op = ArrayOp::Generate { extents: operands(&dims), f };
            let array = self.flat.bind(op, vec![(var.name.clone(), Type::array(dims, var.ty.element))])[0];
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
    }

    /// The dimensions in which a way's result may have another extent than is declared.
    fn not_agreeing(&self, vars: &[Var], at: usize, way: &Way<'_>) -> Vec<usize> {
        let Some(block) = way.block else { return Vec::new() };
        let found = &self.source_type(block.results[at]).extents;
        vars[at]
            .ty
            .extents
            .iter()
            .zip(found)
            .enumerate()
            .filter(|(_, (declared, found))| {
                let declared = match declared {
                    Extent::Value(id) => match vars.iter().position(|other| other.id == *id) {
                        Some(sibling) => Extent::Value(block.results[sibling]),
                        None => **declared,
                    },
                    other => **other,
                };
                self.sizes.equal(declared, **found) != fusebox_ir::analysis::Answer::Proved
            })
            .map(|(dim, _)| dim)
            .collect()
    }

    pub fn repeat(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        condition: &'p Block,
        step: &'p Block,
        starts: &[Operand],
    ) -> Result<(), Error> {
        self.no_nested(binding)?;
        let turns = condition.results.first().map_or(crate::analysis::Lanes::NONE, |&id| self.regularity.lanes(id));
        if turns.is_none() {
            self.repeat_all(binding, home, condition, step, starts)
        } else {
            self.repeat_by_lanes(binding, home, condition, step, starts)
        }
    }

    /// All lanes take as many turns.
    fn repeat_all(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        condition: &'p Block,
        step: &'p Block,
        starts: &[Operand],
    ) -> Result<(), Error> {
        let mut slots: Vec<Slot> = step
            .params
            .iter()
            .map(|param| {
                let varies = !self.regularity.lanes(param.id).is_none()
                    || self.regularity.extents(param.id).iter().any(|varies| !varies.lanes.is_none());
                Slot { home: if varies { home } else { ROOT }, counted: false }
            })
            .collect();
        let values: Vec<Value> = starts.iter().map(|&start| self.operand_value(start)).collect();
        for (slot, value) in slots.iter_mut().zip(&values) {
            slot.home = self.deeper(slot.home, value.home);
        }
        // What a turn gives may depend on more lanes than was found out; each time one does, another slot is of all lanes.
        loop {
            match self.turns(binding, home, condition, step, &values, &mut slots)? {
                Some((op, layouts)) => {
                    self.through(binding, &slots, &layouts, op);
                    return Ok(());
                }
                None => self.forget_closed(),
            }
        }
    }

    /// The loop with its state in these slots, and how many uniform dimensions end each; nothing if a slot has to be of more lanes, which
    /// it then is.
    fn turns(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        condition: &'p Block,
        step: &'p Block,
        starts: &[Value],
        slots: &mut [Slot],
    ) -> Result<Option<(ArrayOp, Vec<usize>)>, Error> {
        let (starting, layouts) = self.joined_up(&step.params, starts, slots);
        let starts = starting.into_iter().map(Operand::Value).collect();
        let mark = self.mark();
        let mut blocks = Vec::new();
        for block in [condition, step] {
            self.flat.open();
            let params = self.typed(&block.params, slots, &layouts);
            let ids: Vec<ArrayId> = params.iter().map(|(id, _, _)| *id).collect();
            for (id, name, ty) in params {
                self.flat.param_as(id, &name, ty);
            }
            self.define_slots(&block.params, slots, &ids);
            self.bindings(block)?;
            let results: Vec<Value> = block.results.iter().map(|&id| self.array_value(id)).collect();
            let results = if blocks.is_empty() {
                results.into_iter().map(|value| value.array).collect()
            } else {
                let mut deeper = false;
                for (value, slot) in results.iter().zip(slots.iter_mut()) {
                    if !self.is_above(value.home, slot.home) {
                        slot.home = home;
                        deeper = true;
                    }
                }
                if deeper {
                    self.undo(mark);
                    self.flat.close(Vec::new());
                    return Ok(None);
                }
                let mut next = slots.to_vec();
                let (results, after) = self.joined_up(&block.params, &results, &mut next);
                if after != layouts {
                    return Err(
                        self.refused(binding, "its state changes its representation; give its extents names that stay")
                    );
                }
                results
            };
            self.undo(mark);
            blocks.push(self.flat.close(results));
            self.forget_closed();
        }
        let [condition, step] = <[fusebox_ir::Block; 2]>::try_from(blocks).unwrap_or_default();
        Ok(Some((ArrayOp::While { condition, step, starts }, layouts)))
    }

    /// Each lane takes as many turns as it needs.
    fn repeat_by_lanes(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        condition: &'p Block,
        step: &'p Block,
        starts: &[Operand],
    ) -> Result<(), Error> {
        let outside = self.here;
        let mut slots: Vec<Slot> = step.params.iter().map(|_| Slot { home, counted: false }).collect();
        let values: Vec<Value> = starts.iter().map(|&start| self.operand_value(start)).collect();
        let (mut starting, layouts) = {
            let (ids, layouts) = self.joined_up(&step.params, &values, &mut slots);
            (ids.into_iter().map(Operand::Value).collect::<Vec<_>>(), layouts)
        };
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
        starting.push(Operand::Value(begin));

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
        self.define_slots(&step.params, &slots, &ids);
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
        let mut after = slots.clone();
        let (mut results, _) = self.joined_up(&step.params, &joined, &mut after);
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
        self.define_slots(&binding.results, &slots, &ids);
        Ok(())
    }
}
