//! What is known of the scalars of a nest: types, spots, linear forms, facts.

use std::collections::HashMap;

use fusebox_ir::{ArrayId, Binary, ElementType, Instruction, LocalId, ScalarOp, ScalarOperand, Unary};

use super::Spot;
use crate::{
    linear::{Atom, Facts, Linear, never_negative},
    strict::local,
    values::Values,
};

/// What is known of the scalars of a nest.
pub(crate) struct Known<'v> {
    pub(crate) values: &'v Values,
    /// By local id.
    pub(crate) types: Vec<ElementType>,
    pub(super) spots: Vec<Spot>,
    pub(super) forms: HashMap<LocalId, Linear>,
    pub(super) facts: Facts,
    /// Sizes and scalars from outside.
    pub(super) outer: HashMap<LocalId, ArrayId>,
}

impl Known<'_> {
    /// The linear form of an `i64`.
    pub(crate) fn form(&self, operand: ScalarOperand) -> Linear {
        match operand {
            ScalarOperand::Local(id) => self.forms.get(&id).cloned().unwrap_or_else(|| Linear::local(id)),
            ScalarOperand::Constant(constant) => Linear::constant(constant.as_i64().unwrap_or_default()),
            ScalarOperand::Outer(_) => Linear::default(),
        }
    }

    pub(super) fn in_plan(&self, form: &Linear) -> Linear {
        form.map(&mut |atom| match atom {
            Atom::Local(id) => {
                self.outer.get(&id).map_or_else(|| Linear::atom(atom), |&value| self.values.form_of(value))
            }
            Atom::Value(_) => Linear::atom(atom),
        })
    }

    /// Whether a form is known to be at least 0 at a depth.
    pub(crate) fn never_negative(&self, form: &Linear, depth: u32) -> bool {
        never_negative(&self.in_plan(form), depth, &[&self.facts, &self.values.facts])
    }

    pub(super) fn fact(&mut self, depth: u32, form: &Linear) {
        let form = self.in_plan(form);
        self.facts.add(depth, form);
    }

    /// Whether an index is inside of an array wherever it is computed at a depth.
    pub(super) fn inside(&self, ty: &fusebox_ir::Type, index: &[Linear], depth: u32) -> bool {
        index.len() == ty.rank()
            && index.iter().zip(&ty.extents).all(|(index, &extent)| {
                let room = self.values.form(extent).offset(-1).plus(-1, &self.in_plan(index));
                self.never_negative(index, depth) && self.never_negative(&room, depth)
            })
    }

    pub(super) fn spot(&self, operand: ScalarOperand) -> Spot {
        local(&operand).and_then(|id| self.spots.get(id.index()).copied()).unwrap_or(Spot::before(0))
    }

    /// Notes the form of an instruction's result, and what follows from what it is.
    pub(super) fn note(&mut self, instruction: &Instruction, depth: u32) {
        let [result] = &instruction.results[..] else { return };
        if result.ty != ElementType::I64 {
            return;
        }
        let own = Linear::local(result.id);
        let form = match &instruction.op {
            ScalarOp::Binary { function, a, b } => {
                let (left, right) = (self.form(*a), self.form(*b));
                match function {
                    Binary::Add => left.plus(1, &right),
                    Binary::Sub => left.plus(-1, &right),
                    Binary::Mul => match (left.as_constant(), right.as_constant()) {
                        (Some(by), _) => right.scaled(by),
                        (_, Some(by)) => left.scaled(by),
                        _ => return,
                    },
                    Binary::Min => {
                        self.fact(0, &left.clone().plus(-1, &own));
                        self.fact(0, &right.clone().plus(-1, &own));
                        if self.never_negative(&left, depth) && self.never_negative(&right, depth) {
                            self.fact(depth, &own);
                        }
                        return;
                    }
                    Binary::Max => {
                        self.fact(0, &own.clone().plus(-1, &left));
                        self.fact(0, &own.clone().plus(-1, &right));
                        return;
                    }
                    Binary::Div | Binary::DivFloor => {
                        if let Some(by) = right.as_constant().filter(|&by| by > 0)
                            && self.never_negative(&left, depth)
                        {
                            self.fact(depth, &own);
                            self.fact(depth, &left.plus(-by, &own));
                        }
                        return;
                    }
                    Binary::Rem | Binary::ModFloor => {
                        let positive = self.never_negative(&right.clone().offset(-1), depth);
                        if positive && (*function == Binary::ModFloor || self.never_negative(&left, depth)) {
                            self.fact(depth, &own);
                            self.fact(depth, &right.offset(-1).plus(-1, &own));
                        }
                        return;
                    }
                    _ => return,
                }
            }
            ScalarOp::Unary { function: Unary::Neg, a } => self.form(*a).scaled(-1),
            ScalarOp::Convert { a, .. }
                if self.types.get(local(a).map_or(usize::MAX, LocalId::index)) == Some(&ElementType::I64) =>
            {
                self.form(*a)
            }
            _ => return,
        };
        self.forms.insert(result.id, form);
    }
}
