//! Sizes that should agree: proved, or checked by steps before the operation.

use std::collections::HashSet;

use fusebox_ir::{ArrayId, ArrayOp, Binding, Extent, Operand, Output, ScanForm, Step, Var, analysis::Answer};

use super::{Lower, Origin, name};
use crate::{error::Error, linear::Linear};

/// An extent, and whose it is.
#[derive(Clone)]
pub(super) struct Owned {
    form: Linear,
    name: String,
}

impl<'p> Lower<'p> {
    fn of_array(&self, id: ArrayId) -> Vec<Owned> {
        let name = match crate::nest::Scope::array(&self.bindings, id) {
            Some(array) => self.values.name(array).to_owned(),
            None => self.vars.get(&id).map_or_else(String::new, |var| super::name(var)),
        };
        let owned = |extent| Owned { form: self.values.form(extent), name: name.clone() };
        self.extents(id).into_iter().map(owned).collect()
    }

    fn of_result(&self, var: &Var) -> Vec<Owned> {
        let owned = |&extent| Owned { form: self.values.form(self.extent(extent)), name: name(var) };
        var.ty.extents.iter().map(owned).collect()
    }

    fn of_operands(&self, operands: impl IntoIterator<Item = Operand>, name: &str) -> Vec<Owned> {
        let form = |operand| self.values.form(crate::values::extent(self.operand(operand)));
        operands.into_iter().map(|operand| Owned { form: form(operand), name: name.to_owned() }).collect()
    }

    /// A step that fails where two extents differ, if they may.
    pub(super) fn equal(&mut self, left: &Owned, right: &Owned, origin: &Origin, steps: &mut Vec<Step>) {
        if self.values.equal(&left.form, &right.form) {
            return;
        }
        if self.trial.is_some() {
            self.trial = Some(true);
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

    fn all_equal(&mut self, left: &[Owned], right: &[Owned], origin: &Origin, steps: &mut Vec<Step>) {
        for (left, right) in left.iter().zip(right) {
            self.equal(left, right, origin, steps);
        }
    }

    fn at_most(&mut self, extent: &Owned, available: &Owned, origin: &Origin, steps: &mut Vec<Step>) {
        if self.values.at_most(&extent.form, &available.form) {
            return;
        }
        if self.trial.is_some() {
            self.trial = Some(true);
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

    /// Steps that fail where an array of a nest that is not stored has a negative extent: what is stored fails where room is made for it.
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

    /// Arrays of equal extents.
    fn alike(&mut self, arrays: &[ArrayId], origin: &Origin, steps: &mut Vec<Step>) {
        if let Some((&first, rest)) = arrays.split_first() {
            let first = self.of_array(first);
            for &other in rest {
                let other = self.of_array(other);
                self.all_equal(&first, &other, origin, steps);
            }
        }
    }

    /// The extents of results are those of an array.
    fn like(&mut self, results: &[Var], array: ArrayId, origin: &Origin, steps: &mut Vec<Step>) {
        let of = self.of_array(array);
        for var in results {
            let own = self.of_result(var);
            self.all_equal(&own, &of, origin, steps);
        }
    }

    fn as_given(&mut self, binding: &Binding, extents: &[Operand], origin: &Origin, steps: &mut Vec<Step>) {
        for var in &binding.results {
            let (own, given) = (self.of_result(var), self.of_operands(extents.iter().copied(), &name(var)));
            self.all_equal(&own, &given, origin, steps);
        }
    }

    /// Whether an operation's sizes need no check.
    pub(super) fn sizes_are_proved(&mut self, binding: &Binding) -> Result<bool, Error> {
        self.trial = Some(false);
        let looked = self.check_sizes(binding, &self.origin(binding), &mut Vec::new());
        let checked = self.trial.take();
        looked.map(|()| checked == Some(false))
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
        let results = &binding.results[..];
        match &binding.op {
            ArrayOp::Constant { extents, .. } => {
                let given: Vec<Operand> = extents.iter().map(|&extent| Operand::Constant(extent.into())).collect();
                self.as_given(binding, &given, origin, steps);
            }
            ArrayOp::Generate { extents, .. } => self.as_given(binding, extents, origin, steps),
            ArrayOp::Compute { sources } => {
                self.alike(sources, origin, steps);
                if let Some(&first) = sources.first() {
                    self.like(results, first, origin, steps);
                }
            }
            ArrayOp::Map { sources, .. } => {
                for var in results {
                    let own = self.of_result(var);
                    for &source in sources {
                        let available = self.of_array(source);
                        for (extent, available) in own.iter().zip(&available) {
                            self.at_most(extent, available, origin, steps);
                        }
                    }
                }
            }
            ArrayOp::Backpermute { extents, sources, .. } | ArrayOp::Transform { extents, sources, .. } => {
                self.alike(sources, origin, steps);
                self.as_given(binding, extents, origin, steps);
            }
            ArrayOp::Reshape { extents, sources } => {
                self.alike(sources, origin, steps);
                self.as_given(binding, extents, origin, steps);
            }
            ArrayOp::Replicate { dims, sources } => {
                self.alike(sources, origin, steps);
                let Some(&first) = sources.first() else { return Ok(()) };
                for var in results {
                    let mut kept = self.of_array(first).into_iter();
                    for (own, dim) in self.of_result(var).iter().zip(dims) {
                        let given = match dim {
                            Some(operand) => self.of_operands([*operand], &name(var)).pop(),
                            None => kept.next(),
                        };
                        if let Some(given) = given {
                            self.equal(own, &given, origin, steps);
                        }
                    }
                }
            }
            ArrayOp::Slice { dims, sources } => {
                self.alike(sources, origin, steps);
                let Some(&first) = sources.first() else { return Ok(()) };
                let kept: Vec<Owned> = self
                    .of_array(first)
                    .into_iter()
                    .zip(dims)
                    .filter_map(|(of, dim)| dim.is_none().then_some(of))
                    .collect();
                for var in results {
                    let own = self.of_result(var);
                    self.all_equal(&own, &kept, origin, steps);
                }
            }
            ArrayOp::Concat { sources, dim } => {
                let parts: Vec<Vec<Owned>> = sources.iter().map(|&id| self.of_array(id)).collect();
                for var in results {
                    for (at, own) in self.of_result(var).iter().enumerate() {
                        if at == *dim {
                            let zero = Linear::default();
                            let form = parts
                                .iter()
                                .filter_map(|part| part.get(at))
                                .fold(zero, |sum, part| sum.plus(1, &part.form));
                            let names: Vec<&str> =
                                parts.iter().filter_map(|part| part.get(at)).map(|part| &part.name[..]).collect();
                            self.equal(own, &Owned { form, name: names.join(", ") }, origin, steps);
                        } else {
                            for part in parts.iter().filter_map(|part| part.get(at)) {
                                self.equal(own, part, origin, steps);
                            }
                        }
                    }
                }
            }
            ArrayOp::Fold { sources, offsets, .. } => {
                self.alike(sources, origin, steps);
                let Some(&first) = sources.first() else { return Ok(()) };
                let mut outer = self.of_array(first);
                outer.pop();
                outer.extend(offsets.and_then(|offsets| self.segments(offsets)));
                for var in results {
                    let own = self.of_result(var);
                    self.all_equal(&own, &outer, origin, steps);
                }
            }
            ArrayOp::Scan { sources, offsets, form, .. } => {
                self.alike(sources, origin, steps);
                let Some(&first) = sources.first() else { return Ok(()) };
                let mut body = self.of_array(first);
                let mut totals = body.clone();
                totals.pop();
                let segments = offsets.and_then(|offsets| self.segments(offsets));
                totals.extend(segments.clone());
                if let (ScanForm::Exclusive, Some(last)) = (form, body.last_mut()) {
                    last.form = match segments {
                        Some(segments) => last.form.clone().plus(1, &segments.form),
                        None => last.form.clone().offset(1),
                    };
                }
                for (at, var) in results.iter().enumerate() {
                    let own = self.of_result(var);
                    self.all_equal(&own, if at < sources.len() { &body } else { &totals }, origin, steps);
                }
            }
            ArrayOp::Permute { defaults, values, targets, keep, .. } => {
                self.alike(defaults, origin, steps);
                if let Some(&first) = defaults.first() {
                    self.like(results, first, origin, steps);
                }
                let sources: Vec<ArrayId> = values.iter().chain(targets).chain(keep).copied().collect();
                self.alike(&sources, origin, steps);
            }
            ArrayOp::PermutedExpand { defaults, sources, .. } => {
                self.alike(defaults, origin, steps);
                if let Some(&first) = defaults.first() {
                    self.like(results, first, origin, steps);
                }
                self.alike(sources, origin, steps);
            }
            ArrayOp::Expand { sources, .. } | ArrayOp::Filter { sources, .. } => self.alike(sources, origin, steps),
            ArrayOp::Sort { keys, carry } => {
                let sources: Vec<ArrayId> = keys.iter().chain(carry).copied().collect();
                self.alike(&sources, origin, steps);
                if let Some(&first) = sources.first() {
                    self.like(results, first, origin, steps);
                }
            }
            ArrayOp::Stencil { .. } => {
                if let Some((first, rest)) = results.split_first() {
                    let first = self.of_result(first);
                    for var in rest {
                        let other = self.of_result(var);
                        self.all_equal(&first, &other, origin, steps);
                    }
                }
            }
            ArrayOp::Unit { .. }
            | ArrayOp::Nest { .. }
            | ArrayOp::Element { .. }
            | ArrayOp::Cond { .. }
            | ArrayOp::While { .. }
            | ArrayOp::Foreign { .. }
            | ArrayOp::Consume { .. }
            | ArrayOp::Cluster { .. } => {}
        }
        Ok(())
    }

    /// One less than there are offsets.
    fn segments(&self, offsets: ArrayId) -> Option<Owned> {
        let of = self.of_array(offsets).into_iter().next()?;
        Some(Owned { form: of.form.offset(-1), name: of.name })
    }

    /// The extents of a value are those that a type in another place says.
    pub(super) fn check_type(
        &mut self,
        value: Operand,
        expected: &[Extent],
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
    pub(super) fn check_output(&mut self, program: &str, value: ArrayId, declared: &Output, steps: &mut Vec<Step>) {
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
