//! What lanes need and no lane decides is computed outside of them. What it asks of extents is asked only where there is a lane: a flat
//! program asks it whether or not an element is read.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block, Constant,
    ElementType::{Bool, I64},
    Emit, Extent, Lambda, LambdaBuilder, Name, ScalarOp, ScalarOperand, ScalarValue, Type,
    analysis::effects::{demand_is_known, sizes_are_known},
    operations::{Kind, Signature},
};

use super::{
    Bound, Lifter,
    context::{ContextId, scalar},
    flat::operands,
};

/// The lanes that need what is lifted.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    context: ContextId,
    /// There are such lanes if each of these contexts has lanes.
    all: Vec<ContextId>,
}

impl<'p> Lifter<'p> {
    /// Lets the lanes of a context be those that need what is lifted from here on. Gives those before.
    pub fn needed_in(&mut self, context: ContextId) -> Option<Guard> {
        let outer = self.guard.as_ref().filter(|outer| !self.is_above(outer.context, context));
        let all = outer.into_iter().flat_map(|outer| outer.all.clone()).chain([context]).collect();
        self.guard.replace(Guard { context, all })
    }

    /// The number of lanes that need what is lifted, where there may be none.
    pub fn perhaps_no_lanes(&mut self) -> Option<Extent> {
        let all = self.guard.as_ref()?.all.clone();
        let mut dims: Vec<Extent> = all.iter().flat_map(|&context| self.dims(context)).collect();
        dims.retain(|extent| !matches!(extent, Extent::Constant(lanes) if *lanes > 0));
        (!dims.is_empty()).then(|| self.product(&dims))
    }

    /// An `i64` outside of lanes as an extent of arrays in lanes: where there are no lanes, it is not negative.
    pub fn guarded(&mut self, size: ArrayId) -> ArrayId {
        let Some(context) = self.guard.as_ref().map(|guard| guard.context) else { return size };
        if self.not_negative.contains(&size) || self.outside_extents.contains(&size) {
            return size;
        }
        let known = self.guards.get(&size).into_iter().flatten();
        if let Some(&(_, known)) = known.rev().find(|(above, _)| self.is_above(*above, context)) {
            return known;
        }
        let Some(lanes) = self.perhaps_no_lanes() else { return size };
        let mut f = LambdaBuilder::new();
        let own = ScalarValue::outer(size, I64);
        let some = f.binary(Binary::Gt, scalar(lanes), 0i64);
        let least = f.binary(Binary::Max, own, 0i64);
        let extent = f.select(some, own, least);
        let f = f.finish(&[extent]);
        let name = self.name_of(size);
        let made = self.flat.unit(&name, f);
        self.names.insert(made, name);
        if self.risky.contains(&size) {
            self.risky.insert(made);
        }
        self.stand_for.insert(made, size);
        self.is_guarded(size, made);
        self.is_guarded(made, made);
        made
    }

    /// Whether two lists of extents are the same where there is a lane: where there is none, arrays of lanes have no elements whatever their
    /// extents are.
    pub fn same_in_lanes(&self, some: &[Extent], others: &[Extent]) -> bool {
        let number = |extent: &Extent| match extent {
            Extent::Value(id) => Extent::Value(self.stand_for.get(id).copied().unwrap_or(*id)),
            other => *other,
        };
        some.len() == others.len() && some.iter().zip(others).all(|(a, b)| number(a) == number(b))
    }

    /// Notes that a number stands for another where the lanes of now need it.
    pub fn is_guarded(&mut self, size: ArrayId, by: ArrayId) {
        if let Some(guard) = &self.guard {
            self.guards.entry(size).or_default().push((guard.context, by));
        }
    }

    /// Whether an operation outside of lanes that lanes need may fail by what it asks of extents, other than that they are not negative; or may
    /// not end. What is known of extents in lanes is not known of those that are 0 where there are no lanes.
    pub fn asks_of_extents(&self, binding: &Binding) -> bool {
        let type_of = |id: ArrayId| self.vars.get(&id).map(|var| &var.ty);
        if let ArrayOp::While { .. } = binding.op {
            return true;
        }
        let rank = |id: ArrayId| self.vars.get(&id).map(|var| var.ty.rank());
        let signature = Signature::of(binding, &rank);
        let demands = signature.demands(&binding.results, &rank);
        let zeroed = |extent: &Extent| match extent {
            Extent::Value(id) => matches!(self.bound(*id), Bound::Value(value) if self.zeroed.contains(&value.array)),
            Extent::Constant(_) | Extent::Unknown => false,
        };
        if signature.fails && signature.kind == Kind::Rows
            || !demands.is_empty() && binding.results.iter().any(|var| var.ty.extents.iter().any(zeroed))
            || demands.iter().any(|demand| !demand_is_known(demand, binding, &self.sizes, &type_of))
        {
            return true;
        }
        let mut inside = binding.op.bodies().flat_map(Block::blocks).flat_map(|block| &block.bindings);
        inside.any(|inner| !sizes_are_known(inner, &self.sizes, &type_of))
    }

    /// Lets extents of what an operation outside of lanes gives be such that are not negative where there are no lanes. Those that arrays it
    /// reads have are so already, and what arrays outside of lanes have is not negative.
    pub fn guard_extents(&mut self, binding: &Binding, names: &mut HashMap<ArrayId, ArrayId>) {
        for extent in binding.results.iter().flat_map(|var| &var.ty.extents) {
            let Extent::Value(id) = extent else { continue };
            if binding.results.iter().any(|var| var.id == *id) {
                continue;
            }
            let Some(&flat) = names.get(id) else { continue };
            if self.guard.is_none() {
                self.outside_extents.insert(flat);
                continue;
            }
            let own = |id: &ArrayId| self.flat.ty(*id).extents.contains(&Extent::Value(flat));
            if !names.values().any(own) {
                let guarded = self.guarded(flat);
                names.insert(*id, guarded);
            }
        }
    }

    /// An array that an operation gives which may fail by what it asks of extents; where no lane needs it, zeros.
    pub fn where_there_are_lanes(&mut self, op: ArrayOp, name: &str, ty: Type) -> ArrayId {
        let Some(lanes) = self.perhaps_no_lanes() else {
            return self.flat.bind(op, vec![(name.into(), ty)])[0];
        };
        let some = self.some(lanes);
        self.flat.open();
        let then = self.flat.bind(op, vec![(name.into(), ty.clone())]);
        let then = self.flat.close(then);
        self.forget_closed();
        self.flat.open();
        let otherwise = self.zeros(&name.into(), ty.clone());
        let otherwise = self.flat.close(vec![otherwise]);
        self.forget_closed();
        let (id, level) = (self.flat.id(), self.flat.here());
        self.flat.bind_ids(
            level,
            ArrayOp::Cond { condition: some.into(), then, otherwise },
            vec![(id, name.into(), ty)],
        );
        id
    }

    /// Whether there are any of so many lanes.
    fn some(&mut self, lanes: Extent) -> ArrayId {
        let mut f = LambdaBuilder::new();
        let some = f.binary(Binary::Gt, scalar(lanes), 0i64);
        let f = f.finish(&[some]);
        self.flat.bind_out(ArrayOp::Unit { f }, &"some".into(), Type::scalar(Bool))
    }

    fn zeros(&mut self, name: &Name, ty: Type) -> ArrayId {
        let zero = ScalarOperand::Constant(Constant::zero(ty.element));
        let indices = vec![("", I64); ty.rank()];
        let f = Lambda { results: vec![zero], ..Lambda::build(&indices, |_, _| Vec::new()) };
        let op = match ty.is_scalar() {
            true => ArrayOp::Unit { f },
            false => ArrayOp::Generate { extents: operands(&ty.extents), f },
        };
        self.flat.bind(op, vec![(name.clone(), ty)])[0]
    }

    /// As [`Self::outside`], where there are lanes; elsewhere what it gives is zeros.
    pub fn outside_if_needed(&mut self, binding: &'p Binding, lanes: Extent) {
        let some = self.some(lanes);
        self.flat.open();
        let own = self.bound_outside(binding);
        let types: Vec<Type> = own.iter().map(|&id| self.flat.ty(id).clone()).collect();
        let then = self.flat.close(own.clone());
        self.forget_closed();

        // Extents of results may be results too.
        let among = |ty: &Type, ids: &[ArrayId]| {
            let mut ty = ty.clone();
            ty.substitute(&mut |id| own.iter().position(|&other| other == id).map_or(id, |at| ids[at]).into());
            ty
        };
        self.flat.open();
        let mut zeros: Vec<ArrayId> = Vec::new();
        for (var, ty) in binding.results.iter().zip(&types) {
            let ty = among(ty, &zeros);
            zeros.push(self.zeros(&var.name, ty));
        }
        let otherwise = self.flat.close(zeros);
        self.forget_closed();

        let ids: Vec<ArrayId> = binding.results.iter().map(|_| self.flat.id()).collect();
        let results = ids.iter().zip(&binding.results).zip(&types);
        let results = results.map(|((&id, var), ty)| (id, var.name.clone(), among(ty, &ids))).collect();
        let level = self.flat.here();
        self.flat.bind_ids(level, ArrayOp::Cond { condition: some.into(), then, otherwise }, results);
        for (var, id) in binding.results.iter().zip(ids) {
            self.define_plain(var, id);
        }
    }

    /// Of a number in lanes that is the same in all of them, and may fail: 0 where there are no lanes. It may be an extent of flat arrays,
    /// which have extents also then.
    pub fn number_if_needed(&mut self, size: ArrayId, lanes: Extent, name: &str) -> ArrayId {
        let mut f = LambdaBuilder::new();
        let some = f.binary(Binary::Gt, scalar(lanes), 0i64);
        f.open(&[]);
        let then = f.close(vec![ScalarOperand::Outer(size)]);
        f.open(&[]);
        let otherwise = f.close(vec![ScalarOperand::Constant(0i64.into())]);
        let op = ScalarOp::If { condition: some.operand, then, otherwise };
        let number = f.instruction(op, &[I64])[0];
        let f = f.finish(&[number]);
        let array = self.flat.unit(name, f);
        self.risky.insert(array);
        self.stand_for.insert(array, size);
        self.zeroed.insert(array);
        self.is_guarded(array, array);
        array
    }
}
