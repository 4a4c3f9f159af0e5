//! What an operation in lanes asks of extents that differ by lane, where that is not known to hold: each lane asks it before the operation.
//!
//! A flat operation would ask it of all lanes together, where what one lane has too much may be what another lacks.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding,
    ElementType::{Bool, I64},
    Extent, Operand, ScalarOperand, Type,
    analysis::effects::demand_is_known,
    operations::{Demand, Relation, Signature, Sum, Term},
};

use super::{
    Bound, Lifter, Value,
    code::{Code, Outside},
    context::{ContextId, LaneExtent, ROOT},
    flat::operands,
    lane::in_lane,
};
use crate::faults;

/// What an operation asks, and what its extents were bound to before they had to ask it.
pub(super) struct Asked<'p> {
    /// Whether it asks that extents be equal that are not known to be.
    any: bool,
    /// What of it differs by lane, or is held as if it did.
    demands: Vec<Demand>,
    before: Vec<(ArrayId, Option<Bound<'p>>)>,
}

impl<'p> Lifter<'p> {
    /// Lets extents that an operation gives fail in lanes where something that it asks does not hold.
    pub fn asks(&mut self, binding: &'p Binding, home: ContextId) -> Asked<'p> {
        let mut demands = self.unknown_demands(binding, home);
        let any = !demands.is_empty();
        demands.retain(|demand| self.irregular || self.differs(binding, demand));
        let mut asked = Asked { any, demands, before: Vec::new() };
        if asked.demands.is_empty() {
            return asked;
        }
        let mut declared: Vec<ArrayId> = Vec::new();
        for extent in binding.results.iter().flat_map(|var| &var.ty.extents) {
            if let Extent::Value(id) = *extent
                && !declared.contains(&id)
                && matches!(self.lane_extent(*extent), LaneExtent::Varying(_))
            {
                declared.push(id);
            }
        }
        for id in declared {
            let dims = self.dims(home);
            let mut code = Code::over(self, home);
            let size = code.scalar(id);
            let size = code.asked(&asked.demands, binding, size, &Type::scalar(I64));
            let f = code.b.finish_needed(&[size]);
            let op = ArrayOp::Generate { extents: operands(&dims), f };
            let name = self.source_name(id).as_str().into();
            let array = self.flat.bind(op, vec![(name, Type::array(dims, I64))])[0];
            let value = Value { array, home, elements: home, ty: I64 };
            if matches!(self.bound(id), Bound::Value(own) if self.not_negative.contains(&own.array)) {
                self.not_negative.insert(array);
            }
            asked.before.push((id, self.env.insert(id, Bound::Value(value))));
        }
        asked
    }

    /// After the operation: where no extent of it differs by lane, its elements ask. Results have the extents of what they are made of; those that
    /// their types declare are the same, or that is an error.
    pub fn is_asked(&mut self, binding: &'p Binding, home: ContextId, asked: Asked<'p>) {
        if !asked.demands.is_empty() && asked.before.is_empty() {
            for var in &binding.results {
                let Bound::Value(value) = self.bound(var.id) else { continue };
                let steps = self.steps(home, value.elements);
                let mut code = Code::over(self, value.elements);
                let lane = code.lane(home);
                let index = code.own_indices(&steps);
                let element = code.element_at(&value, &lane, &index, &Outside::Never);
                let element = code.asked(&asked.demands, binding, element, &Type::scalar(value.ty));
                let f = code.b.finish_needed(&[element]);
                let dims = self.dims(value.elements);
                let op = ArrayOp::Generate { extents: operands(&dims), f };
                let array = self.flat.bind(op, vec![(var.name.clone(), Type::array(dims, value.ty))])[0];
                self.define(var, Value { array, ..value });
            }
        }
        if asked.any {
            for var in binding.results.iter().filter(|var| !var.ty.extents.is_empty()) {
                let Bound::Value(value) = self.bound(var.id) else { continue };
                let declared = self.declared(&value, value.home, &var.ty, &self.source_name(var.id));
                self.define(var, declared);
            }
        }
        for (id, before) in asked.before {
            match before {
                Some(bound) => _ = self.env.insert(id, bound),
                None => _ = self.env.remove(&id),
            }
        }
    }

    fn unknown_demands(&mut self, binding: &'p Binding, home: ContextId) -> Vec<Demand> {
        if home == ROOT || binding.op.bodies().next().is_some() {
            return Vec::new();
        }
        let type_of = |id: ArrayId| self.vars.get(&id).map(|var| &var.ty);
        let rank = |id: ArrayId| type_of(id).map(Type::rank);
        let mut demands = Signature::of(binding, &rank).demands(&binding.results, &rank);
        // An array that is too short is found where an element of it is read, in each lane: that costs less where it is long enough.
        demands.retain(|demand| demand.relation == Relation::Equal);
        demands.retain(|demand| !demand_is_known(demand, binding, &self.sizes, &type_of));
        demands
    }

    /// Whether what is asked differs by lane.
    fn differs(&self, binding: &'p Binding, demand: &Demand) -> bool {
        let both = [&demand.left.0, &demand.right.0];
        both.into_iter().flat_map(|sum| &sum.terms).any(|term| match self.number(binding, term) {
            Some(Operand::Value(id)) => !matches!(self.bound(id), Bound::Value(value) if value.home == ROOT),
            Some(Operand::Constant(_)) | None => false,
        })
    }

    /// The number that a term is, by the types of what it names.
    fn number(&self, binding: &Binding, term: &Term) -> Option<Operand> {
        match *term {
            Term::Value(operand) => Some(operand),
            Term::Extent { array, dim } => match *self.vars.get(&array)?.ty.extents.get(dim)? {
                Extent::Value(id) if binding.results.iter().any(|var| var.id == id) => None,
                Extent::Value(id) => Some(id.into()),
                Extent::Constant(number) => Some(number.into()),
                Extent::Unknown => None,
            },
        }
    }
}

impl<'p> Code<'_, 'p> {
    /// A value, if all of this holds in the lane; else an error that names the lane.
    fn asked(&mut self, demands: &[Demand], binding: &'p Binding, value: ScalarOperand, ty: &Type) -> ScalarOperand {
        let lane = self.own_lane();
        let mut value = value;
        for Demand { left, right, .. } in demands {
            let (Some(found), Some(wanted)) = (self.sum(binding, &left.0), self.sum(binding, &right.0)) else {
                continue;
            };
            let names =
                |ids: &[ArrayId]| ids.iter().map(|&id| self.lifter.source_name(id)).collect::<Vec<_>>().join(", ");
            let (left, right) = (names(&left.1), names(&right.1));
            let fine = self.binary(Binary::Eq, found, wanted, Bool);
            let (message, lane) = in_lane(&faults::unequal_extents(&left, &right), &lane);
            let shown = [&[found, wanted][..], &lane].concat();
            value = self.assert(fine, (message, shown), value, ty.element);
        }
        value
    }

    fn sum(&mut self, binding: &'p Binding, sum: &Sum) -> Option<ScalarOperand> {
        let mut total = None;
        for term in &sum.terms {
            let number = match self.lifter.number(binding, term)? {
                Operand::Value(id) => self.scalar(id),
                Operand::Constant(constant) => ScalarOperand::Constant(constant),
            };
            total = Some(match total {
                None => number,
                Some(total) => self.binary(Binary::Add, total, number, I64),
            });
        }
        match (total, sum.constant) {
            (total, 0) => Some(total.unwrap_or(Self::constant(0))),
            (None, constant) => Some(Self::constant(constant)),
            (Some(total), constant) => Some(self.binary(Binary::Add, total, Self::constant(constant), I64)),
        }
    }
}
