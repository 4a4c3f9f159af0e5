//! Mathematical functions as plain scalar instructions: one library for all backends.
//!
//! Backends know arithmetic, `fma`, square root, comparison, selection and bits, nothing more; what `exp` is, is decided here, so
//! that all of them give the same bits. Code is written for vectors: both sides are computed and one is selected. A body of an `if`
//! holds a slow path that few arguments take; only `%` loops.
//!
//! Results are within 2 ulp, over all arguments; README.md has the table. Coefficients: `coefficients.py`.

mod code;
mod coefficients;
mod error_function;
mod exponential;
mod hyperbolic;
mod inverse;
mod logarithm;
mod power;
mod reduction;
mod remainder;
mod trigonometric;

use fusebox_ir::{Binary, ElementType, Emit, Place, ScalarOperand, Unary};

use self::code::{Code, V};

/// Emits instructions that compute `function` of `a`, an operand of type `ty`, and gives the result, of the same type. They get this place.
///
/// `None`, and nothing emitted, where `function` is an instruction of its own (`sqrt`, `abs`, ...) or `ty` is no float. Functions of
/// `f16` are those of `f32`, rounded.
///
/// ```
/// use fusebox_ir::{ElementType::F32, LambdaBuilder, Place, Unary};
/// use fusebox_kernels::math;
/// let mut code = LambdaBuilder::sharing().folding();
/// let x = code.param("x", F32).operand;
/// let result = math::expand_unary(Unary::Exp, F32, x, &Place::default(), &mut code).unwrap();
/// assert!(code.finish(&[result]).instructions.len() < 40);
/// ```
pub fn expand_unary(
    function: Unary,
    ty: ElementType,
    a: ScalarOperand,
    place: &Place,
    emit: &mut dyn Emit,
) -> Option<ScalarOperand> {
    let formula = unary_formula(function).filter(|_| ty.is_float())?;
    let code = Code::new(emit, place);
    let a = code.value(a, ty).convert(computed_in(ty));
    Some(formula(a).convert(ty).operand)
}

/// Emits instructions that compute `function` of `a` and `b`, operands of type `ty`, and gives the result, of the same type.
///
/// `None` as for [`expand_unary`].
pub fn expand_binary(
    function: Binary,
    ty: ElementType,
    a: ScalarOperand,
    b: ScalarOperand,
    place: &Place,
    emit: &mut dyn Emit,
) -> Option<ScalarOperand> {
    let formula = binary_formula(function).filter(|_| ty.is_float())?;
    let code = Code::new(emit, place);
    let [a, b] = [a, b].map(|operand| code.value(operand, ty).convert(computed_in(ty)));
    Some(formula(a, b).convert(ty).operand)
}

/// `f32` for `f16`.
fn computed_in(ty: ElementType) -> ElementType {
    if ty == ElementType::F16 { ElementType::F32 } else { ty }
}

type UnaryFormula = for<'c> fn(V<'c>) -> V<'c>;
type BinaryFormula = for<'c> fn(V<'c>, V<'c>) -> V<'c>;

fn unary_formula(function: Unary) -> Option<UnaryFormula> {
    let formula: UnaryFormula = match function {
        Unary::Cbrt => power::cbrt,
        Unary::Exp => exponential::exp,
        Unary::Exp2 => exponential::exp2,
        Unary::Expm1 => exponential::expm1,
        Unary::Log => logarithm::log,
        Unary::Log2 => logarithm::log2,
        Unary::Log10 => logarithm::log10,
        Unary::Log1p => logarithm::log1p,
        Unary::Sin => trigonometric::sin,
        Unary::Cos => trigonometric::cos,
        Unary::Tan => trigonometric::tan,
        Unary::Asin => inverse::asin,
        Unary::Acos => inverse::acos,
        Unary::Atan => inverse::atan,
        Unary::Sinh => hyperbolic::sinh,
        Unary::Cosh => hyperbolic::cosh,
        Unary::Tanh => hyperbolic::tanh,
        Unary::Asinh => hyperbolic::asinh,
        Unary::Acosh => hyperbolic::acosh,
        Unary::Atanh => hyperbolic::atanh,
        Unary::Erf => error_function::erf,
        Unary::Erfc => error_function::erfc,
        _ => return None,
    };
    Some(formula)
}

fn binary_formula(function: Binary) -> Option<BinaryFormula> {
    let formula: BinaryFormula = match function {
        Binary::Rem => remainder::rem,
        Binary::Pow => power::pow,
        Binary::Atan2 => inverse::atan2,
        Binary::Hypot => power::hypot,
        _ => return None,
    };
    Some(formula)
}
