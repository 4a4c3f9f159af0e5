//! What is known of the scalars of a nest: types, points, linear forms, facts.

use std::collections::HashMap;

use fusebox_ir::{
    Binary, ElementType, Instruction, LocalId, PlanExtent, PlanType, ScalarOp, ScalarOperand, Unary, ValueId,
    analysis::need::local, bug,
};

use super::ProgramPoint;
use crate::{
    bounds::linear::{Atom, Facts, Linear, exact, never_negative},
    bounds::values::Values,
    locals::Types,
};

/// What is known of the scalars of a nest.
pub(crate) struct Known<'v> {
    pub(crate) values: &'v Values<'v>,
    pub(crate) types: Types<'v>,
    /// By local id.
    pub(super) points: Vec<Option<ProgramPoint>>,
    pub(super) forms: HashMap<LocalId, Linear>,
    pub(super) facts: Facts,
    /// Scalars that are the greater of 0 and this.
    pub(super) clamped: HashMap<LocalId, Linear>,
    /// Sizes and scalars from outside.
    pub(super) outer: HashMap<LocalId, ValueId>,
}

impl Known<'_> {
    /// The linear form of an `i64`.
    pub(crate) fn form(&self, operand: ScalarOperand) -> Linear {
        match operand {
            ScalarOperand::Local(id) => self.forms.get(&id).cloned().unwrap_or_else(|| Linear::term(Atom::Local(id))),
            ScalarOperand::Constant(constant) => match constant.as_i64() {
                Some(number) => Linear::constant(number),
                None => bug!(self.values.program, "{constant} is no i64, and stands in an index"),
            },
            ScalarOperand::Outer(id) => bug!(self.values.program, "{id} is used in a kernel, where scalars are loaded"),
        }
    }

    pub(super) fn in_plan(&self, form: &Linear) -> Linear {
        form.map(&mut |&atom| match atom {
            Atom::Local(id) => {
                self.outer.get(&id).map_or_else(|| Linear::term(atom), |&value| self.values.form_of(value))
            }
            Atom::Value(_) => Linear::term(atom),
        })
    }

    /// Whether a form's number is known to be at least 0 at a depth.
    fn never_negative(&self, form: &Linear, depth: u32) -> bool {
        never_negative(&self.in_plan(form), depth, &[&self.facts, &self.values.facts])
    }

    /// Whether a scalar of this form is known to be the form's number at a depth, and not that number modulo 2^64.
    fn exact(&self, form: &Linear, depth: u32) -> bool {
        let extent = |atom| matches!(atom, Atom::Value(id) if self.values.is_extent(id));
        exact(&self.in_plan(form), depth, &[&self.facts, &self.values.facts], &extent)
    }

    /// Whether the scalar `small` and `gap` more are known to be at most the scalar `large` at a depth.
    pub(super) fn is_ordered(&self, small: &Linear, gap: i64, large: &Linear, depth: u32) -> bool {
        self.never_negative(&large.minus(small).offset(-gap), depth)
            && self.exact(small, depth)
            && self.exact(large, depth)
    }

    /// Notes that the scalar `small` and `gap` more are at most the scalar `large` at a depth.
    pub(super) fn note_order(&mut self, small: &Linear, gap: i64, large: &Linear, depth: u32) {
        if self.exact(small, depth) && self.exact(large, depth) {
            let form = self.in_plan(&large.minus(small).offset(-gap));
            self.facts.add(depth, form);
        }
    }

    /// The same of what holds wherever the scalars are, if at a depth nothing else has to be known for it.
    fn note_order_everywhere(&mut self, small: &Linear, large: &Linear, depth: u32) {
        let everywhere = self.exact(small, 0) && self.exact(large, 0);
        self.note_order(small, 0, large, if everywhere { 0 } else { depth });
    }

    /// Notes what holds where a level over so many steps is open. If their number is the greater of 0 and another, it is that other: there is a step.
    pub(super) fn note_steps(&mut self, steps: &Linear, depth: u32) {
        let steps = self.in_plan(steps);
        if let Some(&Atom::Value(id)) = steps.as_term()
            && let Some(number) = self.values.clamped_of(id)
        {
            self.note_order(&steps, 0, &number, depth);
        }
    }

    /// Whether an extent is known to be at least 1 at a depth.
    pub(crate) fn is_filled(&self, extent: PlanExtent, depth: u32) -> bool {
        self.is_ordered(&Linear::default(), 1, &self.values.form(extent), depth)
    }

    /// Whether an index is inside of an array wherever it is computed at a depth.
    pub(super) fn inside(&self, ty: &PlanType, index: &[Linear], depth: u32) -> bool {
        index.len() == ty.rank()
            && index.iter().zip(&ty.extents).all(|(index, &extent)| {
                let extent = self.values.form(extent);
                let margin = extent.offset(-1).minus(&self.in_plan(index));
                self.never_negative(index, depth) && self.never_negative(&margin, depth) && self.exact(&extent, depth)
            })
    }

    pub(super) fn point(&self, operand: ScalarOperand) -> ProgramPoint {
        let Some(id) = local(&operand) else { return ProgramPoint::before(0) };
        match self.points.get(id.index()) {
            Some(Some(point)) => *point,
            _ => bug!(self.values.program, "{id} is used before it is defined"),
        }
    }

    /// Notes the form of an instruction's result, and what follows from what it is.
    pub(super) fn note(&mut self, instruction: &Instruction, depth: u32) {
        let [result] = &instruction.results[..] else { return };
        if result.ty != ElementType::I64 {
            return;
        }
        let own = Linear::term(Atom::Local(result.id));
        let form = match &instruction.op {
            // The amount of a shift may be of another type, and has no form.
            ScalarOp::Binary { b, .. } if self.types.of(*b) != ElementType::I64 => return,
            ScalarOp::Binary { function, a, b } => {
                let (left, right) = (self.form(*a), self.form(*b));
                match function {
                    Binary::Add => left.plus(&right, 1),
                    Binary::Sub => left.minus(&right),
                    Binary::Mul => match (left.as_constant(), right.as_constant()) {
                        (Some(by), _) => right.scaled(by),
                        (_, Some(by)) => left.scaled(by),
                        _ => return,
                    },
                    Binary::Min => {
                        self.note_order_everywhere(&own, &left, depth);
                        self.note_order_everywhere(&own, &right, depth);
                        let zero = Linear::default();
                        if self.is_ordered(&zero, 0, &left, depth) && self.is_ordered(&zero, 0, &right, depth) {
                            self.note_order(&zero, 0, &own, depth);
                        }
                        return;
                    }
                    Binary::Max => {
                        self.note_order_everywhere(&left, &own, depth);
                        self.note_order_everywhere(&right, &own, depth);
                        let other = [(&left, &right), (&right, &left)]
                            .into_iter()
                            .find(|(zero, _)| zero.as_constant() == Some(0));
                        if let Some((_, other)) = other {
                            self.clamped.insert(result.id, other.clone());
                        }
                        return;
                    }
                    Binary::Div | Binary::DivFloor => {
                        if let Some(by) = right.as_constant().filter(|&by| by > 0)
                            && self.is_ordered(&Linear::default(), 0, &left, depth)
                        {
                            self.note_order(&Linear::default(), 0, &own, depth);
                            // The quotient's multiple is no more than what is divided, which is an `i64`.
                            let multiple = self.in_plan(&left.plus(&own, -by));
                            self.facts.add(depth, multiple);
                        }
                        return;
                    }
                    Binary::Rem | Binary::ModFloor => {
                        let zero = Linear::default();
                        let positive = self.is_ordered(&zero, 1, &right, depth);
                        if positive && (*function == Binary::ModFloor || self.is_ordered(&zero, 0, &left, depth)) {
                            self.note_order(&zero, 0, &own, depth);
                            self.note_order(&own, 1, &right, depth);
                        }
                        return;
                    }
                    _ => return,
                }
            }
            ScalarOp::Unary { function: Unary::Neg, a } => self.form(*a).scaled(-1),
            ScalarOp::Convert { a, .. } if local(a).is_some() && self.types.of(*a) == ElementType::I64 => self.form(*a),
            _ => return,
        };
        self.forms.insert(result.id, form);
    }
}
