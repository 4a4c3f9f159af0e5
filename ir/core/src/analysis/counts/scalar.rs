//! Scalar code in kernels: what is known of integers, as polynomials in sizes and indices, and which arrays it reads how often.

use std::collections::BTreeMap;

use super::Polynomial;
use crate::{
    ArrayId, Binary, Constant, ElementType, Instruction, KernelArrayId, LocalId, ScalarOp, Unary,
    analysis::walk::Domain,
};

/// What is known of a scalar is its polynomial, if it has one.
pub(super) struct Values;

impl Domain for Values {
    type Value = Option<Polynomial>;

    fn constant(&mut self, value: Constant) -> Option<Polynomial> {
        constant(value)
    }

    fn outer(&mut self, _: ArrayId) -> Option<Polynomial> {
        None
    }

    fn free(&mut self, _: LocalId) -> Option<Polynomial> {
        None
    }

    fn instruction(&mut self, instruction: &Instruction, operands: &[Option<Polynomial>]) -> Option<Polynomial> {
        match (&instruction.op, operands) {
            (ScalarOp::Binary { function, .. }, [Some(a), Some(b)])
                if instruction.results[0].ty == ElementType::I64 =>
            {
                Polynomial::function(*function, a, b)
            }
            // No size is beyond the smaller types: a program that counts in them would fail before.
            (ScalarOp::Convert { to, .. }, [a]) if to.is_integer() => a.clone(),
            (ScalarOp::Assert { .. }, [_, value, ..]) => value.clone(),
            _ => None,
        }
    }

    fn either(
        &mut self,
        _: &Option<Polynomial>,
        _: &Option<Polynomial>,
        _: &Option<Polynomial>,
        _: ElementType,
    ) -> Option<Polynomial> {
        None
    }

    fn widened(
        &mut self,
        before: &Option<Polynomial>,
        after: &Option<Polynomial>,
        _: ElementType,
    ) -> Option<Option<Polynomial>> {
        (before.is_some() && before != after).then_some(None)
    }

    fn ended(&mut self, _: &Option<Polynomial>, _: Option<Polynomial>, _: ElementType) -> Option<Polynomial> {
        None
    }
}

/// What is known of a constant that a plan gives where a scalar is wanted.
pub(super) fn constant(constant: Constant) -> Option<Polynomial> {
    if constant.ty().is_integer() { constant.as_i64().map(Polynomial::constant) } else { None }
}

/// Reads of scalar code, for each time that it runs: of an `if` the branch that reads more, of a loop one turn.
pub(super) struct Reads {
    pub(super) each: BTreeMap<KernelArrayId, i64>,
    pub(super) exact: bool,
}

impl Reads {
    fn add(&mut self, other: Self) {
        self.exact &= other.exact;
        for (array, each) in other.each {
            let sum = self.each.entry(array).or_default();
            *sum = sum.saturating_add(each);
        }
    }
}

/// Recursion ends: scalar code nests as deep as validation allows.
pub(super) fn reads(instructions: &[Instruction]) -> Reads {
    let mut all = Reads { each: BTreeMap::new(), exact: true };
    for instruction in instructions {
        match &instruction.op {
            ScalarOp::Read { array, .. } | ScalarOp::ReadFlat { array, .. } => {
                *all.each.entry(KernelArrayId::of_code(*array)).or_default() += 1;
            }
            ScalarOp::If { then, otherwise, .. } => {
                let (then, otherwise) = (reads(&then.instructions), reads(&otherwise.instructions));
                let exact = then.each == otherwise.each;
                let number = |reads: &Reads| reads.each.values().fold(0, |sum: i64, &each| sum.saturating_add(each));
                let larger = if number(&then) >= number(&otherwise) { then } else { otherwise };
                all.add(Reads { exact: exact && larger.exact, ..larger });
            }
            ScalarOp::While { condition, step, .. } => {
                let mut turn = reads(&condition.instructions);
                turn.add(reads(&step.instructions));
                turn.exact = turn.each.is_empty();
                all.add(turn);
            }
            ScalarOp::Unary { .. }
            | ScalarOp::Binary { .. }
            | ScalarOp::Fma { .. }
            | ScalarOp::Convert { .. }
            | ScalarOp::Bits { .. }
            | ScalarOp::Assert { .. } => {}
        }
    }
    all
}

/// Operations on floats of scalar code, for each time that it runs: of an `if` the branch with more, of a loop one test and one turn.
///
/// Recursion ends: scalar code nests as deep as validation allows.
pub(super) fn flops(instructions: &[Instruction]) -> i64 {
    use Binary::{Add, Div, Max, Min, Mul, Rem, Sub};
    let of = |instruction: &Instruction| {
        let float = instruction.results.first().is_some_and(|result| result.ty.is_float());
        match &instruction.op {
            ScalarOp::Unary { function: Unary::Sqrt, .. } if float => 1,
            ScalarOp::Binary { function: Add | Sub | Mul | Div | Rem | Min | Max, .. } if float => 1,
            ScalarOp::Fma { .. } if float => 2,
            ScalarOp::If { then, otherwise, .. } => flops(&then.instructions).max(flops(&otherwise.instructions)),
            ScalarOp::While { condition, step, .. } => {
                flops(&condition.instructions).saturating_add(flops(&step.instructions))
            }
            _ => 0,
        }
    };
    instructions.iter().map(of).fold(0, i64::saturating_add)
}
