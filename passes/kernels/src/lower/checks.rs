//! Sizes that should agree: proved, or checked by steps before the operation.

use std::collections::HashSet;

use fusebox_ir::{
    ArrayId, Binding, Extent, Operand, Output, PlanExtent, PlanOperand, Step, ValueId,
    analysis::Answer,
    bug,
    operations::{Demand, Relation, Signature, Sum, Term},
};

use super::{Lower, Origin, name};
use crate::{bounds::linear::Linear, error::Error};

/// An extent, and whose it is.
#[derive(Clone)]
pub(super) struct Owned {
    form: Linear,
    name: String,
}

impl<'p> Lower<'p> {
    /// A number of elements as the plan computes it.
    fn owned(&self, (sum, owners): &(Sum, Vec<ArrayId>)) -> Owned {
        let mut form = Linear::constant(sum.constant);
        for term in &sum.terms {
            let extent = match *term {
                Term::Extent { array, dim } => self.extents(array)[dim],
                Term::Value(operand) => self.extent_of(operand),
            };
            form = form.plus(&self.values.form(extent), 1);
        }
        let names: Vec<String> = owners.iter().map(|&id| self.name_of(id)).collect();
        Owned { form, name: names.join(", ") }
    }

    /// The name of a value in the plan, if it is there, else that in the program.
    fn name_of(&self, id: ArrayId) -> String {
        match crate::nest::Scope::array(&self.bindings, id) {
            Some(array) => self.values.name(array).to_owned(),
            None => match self.vars.get(&id) {
                Some(var) => super::name(var),
                None => bug!(self.program(), "{id} is no value"),
            },
        }
    }

    /// A step that fails where two extents differ, if they may.
    pub(super) fn equal(&mut self, left: &Owned, right: &Owned, origin: &Origin, steps: &mut Vec<Step>) {
        if self.values.equal(&left.form, &right.form) {
            return;
        }
        let step = Step::CheckEqual {
            left: self.linear_extent(&left.form, &left.name, origin, steps),
            left_name: left.name.clone(),
            right: self.linear_extent(&right.form, &right.name, origin, steps),
            right_name: right.name.clone(),
            operation: origin.operation.clone(),
            place: origin.place.clone(),
        };
        steps.push(step);
        self.values.note_at_most(&left.form, &right.form);
        self.values.note_at_most(&right.form, &left.form);
    }

    fn at_most(&mut self, extent: &Owned, available: &Owned, origin: &Origin, steps: &mut Vec<Step>) {
        if self.values.at_most(&extent.form, &available.form) {
            return;
        }
        let step = Step::CheckAtMost {
            extent: self.linear_extent(&extent.form, &extent.name, origin, steps),
            name: extent.name.clone(),
            available: self.linear_extent(&available.form, &available.name, origin, steps),
            array: available.name.clone(),
            operation: origin.operation.clone(),
            place: origin.place.clone(),
        };
        steps.push(step);
        self.values.note_at_most(&extent.form, &available.form);
    }

    /// Steps that fail where an array of a nest that is not stored has a negative extent: what is stored fails where it is allocated.
    ///
    /// Extents that operations of the nest count themselves are not known yet, and not negative.
    pub(super) fn check_extents(
        &mut self,
        list: &[Binding],
        is_stored: &dyn Fn(ArrayId) -> bool,
        steps: &mut Vec<Step>,
    ) {
        let counted: HashSet<ArrayId> = list.iter().flat_map(|binding| &binding.results).map(|var| var.id).collect();
        for binding in list {
            let origin = self.origin(binding);
            for var in binding.results.iter().filter(|var| !is_stored(var.id)) {
                for &extent in &var.ty.extents {
                    let is_counted = matches!(extent, Extent::Value(id) if counted.contains(&id));
                    if is_counted || self.sizes.not_negative(extent) == Answer::Proved {
                        continue;
                    }
                    let extent = self.extent(extent);
                    let (zero, form) = (Linear::constant(0), self.values.form(extent));
                    if self.values.at_most(&zero, &form) {
                        continue;
                    }
                    let (operation, place) = (origin.operation.clone(), origin.place.clone());
                    steps.push(Step::CheckNotNegative { extent, array: name(var), operation, place });
                    self.values.note_at_most(&zero, &form);
                }
            }
        }
    }

    /// Everything that extents of an operation's arrays and results should agree in.
    pub(super) fn check_sizes(
        &mut self,
        binding: &Binding,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        for var in &binding.results {
            self.plan_type(var)?;
        }
        let rank = |id: ArrayId| self.vars.get(&id).map(|var| var.ty.rank());
        let demands = Signature::of(binding, &rank).demands(&binding.results, &rank);
        for Demand { relation, left, right } in demands {
            let (left, right) = (self.owned(&left), self.owned(&right));
            match relation {
                Relation::Equal => self.equal(&left, &right, origin, steps),
                Relation::AtMost => self.at_most(&left, &right, origin, steps),
            }
        }
        Ok(())
    }

    /// The extents of a value are those that a type in another place says.
    pub(super) fn check_type(
        &mut self,
        value: PlanOperand,
        expected: &[PlanExtent],
        expected_name: &str,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) {
        let Operand::Value(id) = value else { return };
        let actual = self.values.ty(id).extents.clone();
        let own = self.values.name(id).to_owned();
        for (&actual, &expected) in actual.iter().zip(expected) {
            if expected != Extent::Unknown {
                let left = Owned { form: self.values.form(actual), name: own.clone() };
                let right = Owned { form: self.values.form(expected), name: expected_name.to_owned() };
                self.equal(&left, &right, origin, steps);
            }
        }
    }

    /// A result has the extents that the program declares.
    pub(super) fn check_output(
        &mut self,
        program: &str,
        value: ValueId,
        declared: &Output<ValueId>,
        steps: &mut Vec<Step>,
    ) {
        let origin = Origin { operation: program.to_owned(), place: fusebox_ir::Place::default() };
        let actual = self.values.ty(value).extents.clone();
        for (&actual, &expected) in actual.iter().zip(&declared.ty.extents) {
            let whose = match expected {
                Extent::Unknown => continue,
                Extent::Value(id) => self.values.name(id).to_owned(),
                Extent::Constant(constant) => constant.to_string(),
            };
            let left = Owned { form: self.values.form(actual), name: declared.name.clone() };
            let right = Owned { form: self.values.form(expected), name: whose };
            self.equal(&left, &right, &origin, steps);
        }
    }
}
