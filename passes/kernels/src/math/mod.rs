//! Mathematical functions as plain scalar instructions: one library for all backends.
//!
//! Backends know arithmetic, `fma`, square root, comparison, selection and bits, nothing more; what `exp` is, is decided here, so
//! that all of them give the same bits. Code is written for vectors: both sides are computed and one is selected. A body of an `if`
//! holds a slow path that few arguments take; only `%` loops.
//!
//! Results are within 2 ulp, over all arguments; README.md has the table. Coefficients: `coefficients.py`.

mod code;
mod coefficients;
mod emit;
mod exponential;
mod logarithm;

pub use emit::{Emit, Instructions};
use fusebox_ir::{Binary, ElementType, ScalarOperand, Unary};

use self::code::{Code, V};

/// Emits instructions that compute `function` of `a`, an operand of type `ty`, and gives the result, of the same type.
///
/// `None`, and nothing emitted, where `function` is an instruction of its own (`sqrt`, `abs`, ...) or `ty` is not `f32` or `f64`. For
/// `f16` convert to `f32`, expand, convert back.
pub fn expand_unary(function: Unary, ty: ElementType, a: ScalarOperand, emit: &mut dyn Emit) -> Option<ScalarOperand> {
    let formula = unary_formula(function).filter(|_| matches!(ty, ElementType::F32 | ElementType::F64))?;
    let code = Code::new(emit);
    Some(formula(code.value(a, ty)).operand)
}

/// Emits instructions that compute `function` of `a` and `b`, operands of type `ty`, and gives the result, of the same type.
///
/// `None` as for [`expand_unary`].
pub fn expand_binary(
    function: Binary,
    ty: ElementType,
    a: ScalarOperand,
    b: ScalarOperand,
    emit: &mut dyn Emit,
) -> Option<ScalarOperand> {
    let formula = binary_formula(function).filter(|_| matches!(ty, ElementType::F32 | ElementType::F64))?;
    let code = Code::new(emit);
    Some(formula(code.value(a, ty), code.value(b, ty)).operand)
}

type UnaryFormula = for<'c> fn(V<'c>) -> V<'c>;
type BinaryFormula = for<'c> fn(V<'c>, V<'c>) -> V<'c>;

fn unary_formula(function: Unary) -> Option<UnaryFormula> {
    let formula: UnaryFormula = match function {
        Unary::Exp => exponential::exp,
        Unary::Log => logarithm::log,
        _ => return None,
    };
    Some(formula)
}

fn binary_formula(function: Binary) -> Option<BinaryFormula> {
    let _ = function;
    None
}
