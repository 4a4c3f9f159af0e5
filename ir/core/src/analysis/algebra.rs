//! What is known of combining functions: whether they commute, whether they round, what leaves the other operand as it is.

use super::selection::{Choice, Numbers, is_selection, local};
use crate::{Binary, Constant, ElementType, Lambda, ScalarOp, Unary, primitive};

/// What is known of a combining function of 2k parameters and k results.
#[derive(Clone, Debug, PartialEq)]
pub struct Algebra {
    /// Recognised to commute: built-in functions, tuples of them, smaller (larger) key then index.
    pub commutes: bool,
    /// Whether the result depends on how it associates: something in it rounds.
    pub rounds: bool,
    /// What each component of the identity is, if all are known: combining with it on either side gives the other operand, to the bit.
    pub identity: Option<Vec<Constant>>,
}

/// What is known of `combine`.
pub fn algebra(combine: &Lambda) -> Algebra {
    Algebra {
        commutes: built_ins(combine).is_some() || is_selection(combine),
        rounds: rounds(combine),
        identity: identities(combine),
    }
}

/// Whether elements give the same however they are grouped, in their order, to the bit (of NaN but for sign and payload): built-in functions that
/// commute and do not round, tuples of them, and choices of one of both operands by comparisons.
pub fn regroups(combine: &Lambda) -> bool {
    match typed_built_ins(combine) {
        Some(all) => {
            all.into_iter().all(|(function, ty)| !ty.is_float() || matches!(function, Binary::Min | Binary::Max))
        }
        None => Choice::of(combine).is_some_and(|choice| choice.associates(Numbers::AndNan)),
    }
}

/// Whether one of both operands is left, all of its components, chosen by comparisons: of numbers such that of three operands the same is left however
/// they are grouped, if the one whose component `position` is less is always on the left; a NaN may be left or not.
pub fn chooses_by_position(combine: &Lambda, position: usize) -> bool {
    Choice::of(combine).is_some_and(|choice| choice.associates_by_position(position))
}

/// The function of each component, where every component is combined by itself with a built-in function that commutes.
pub fn built_ins(combine: &Lambda) -> Option<Vec<Binary>> {
    Some(typed_built_ins(combine)?.into_iter().map(|(function, _)| function).collect())
}

/// An identity for each component, where all are known: combining with it on either side gives the other operand, to the bit (of NaN but
/// for sign and payload).
pub fn identities(combine: &Lambda) -> Option<Vec<Constant>> {
    typed_built_ins(combine)?.into_iter().map(|(function, ty)| identity(function, ty)).collect()
}

fn typed_built_ins(combine: &Lambda) -> Option<Vec<(Binary, ElementType)>> {
    let k = combine.results.len();
    (combine.params.len() == 2 * k).then(|| (0..k).map(|component| built_in(combine, component)).collect())?
}

/// A component that is a single commutative instruction of its two operands, in either order.
fn built_in(combine: &Lambda, component: usize) -> Option<(Binary, ElementType)> {
    let k = combine.results.len();
    let (left, right) = (combine.params.get(component)?, combine.params.get(k + component)?);
    let id = local(combine.results.get(component)?)?;
    let instruction = combine.instructions.iter().find(|i| i.results.iter().any(|result| result.id == id))?;
    let ScalarOp::Binary { function, a, b } = &instruction.op else { return None };
    let operands = (local(a)?, local(b)?);
    let matches = operands == (left.id, right.id) || operands == (right.id, left.id);
    (matches && commutes(*function)).then_some((*function, left.ty))
}

fn commutes(function: Binary) -> bool {
    use Binary::*;
    match function {
        Add | Mul | Min | Max | And | Or | Xor | LogicalAnd | LogicalOr | Eq | Ne => true,
        Sub | Div | Rem | DivFloor | ModFloor | Shl | Shr | RotateLeft | RotateRight | Lt | Le | Gt | Ge | Pow
        | Atan2 | Hypot => false,
    }
}

/// The constant that leaves every value of the type as it is, to the bit (of NaN but for sign and payload).
pub fn identity(function: Binary, ty: ElementType) -> Option<Constant> {
    let float = ty.is_float();
    let least = || match ty {
        ElementType::Bool => Some(Constant::from(false)),
        _ if float => Some(primitive::float(ty, f64::NEG_INFINITY)),
        _ if ty.is_signed() => Some(Constant::from_bits(ty, 1u64 << (ty.bits() - 1))),
        _ => Some(Constant::zero(ty)),
    };
    let greatest = || match ty {
        ElementType::Bool => Some(Constant::from(true)),
        _ if float => Some(primitive::float(ty, f64::INFINITY)),
        _ if ty.is_signed() => Some(Constant::from_bits(ty, (1u64 << (ty.bits() - 1)) - 1)),
        _ => Some(Constant::from_bits(ty, u64::MAX)),
    };
    match function {
        // 0.0 + -0.0 is 0.0, so the identity of a float sum is the negative zero.
        Binary::Add if float => Some(primitive::float(ty, -0.0)),
        Binary::Add => Some(Constant::zero(ty)),
        Binary::Mul => Some(Constant::from_i64(ty, 1)),
        Binary::Min => greatest(),
        Binary::Max => least(),
        Binary::And if !float => Some(Constant::from_bits(ty, u64::MAX)),
        Binary::Or | Binary::Xor if !float => Some(Constant::zero(ty)),
        Binary::LogicalAnd => Some(Constant::from(true)),
        Binary::LogicalOr => Some(Constant::from(false)),
        Binary::Eq if ty == ElementType::Bool => Some(Constant::from(true)),
        Binary::Ne if ty == ElementType::Bool => Some(Constant::from(false)),
        _ => None,
    }
}

/// Whether an instruction of the function, in bodies too, gives a float that may be rounded.
fn rounds(combine: &Lambda) -> bool {
    let mut bodies = vec![combine];
    while let Some(body) = bodies.pop() {
        for instruction in &body.instructions {
            let exact = match &instruction.op {
                ScalarOp::Binary { function, .. } => matches!(function, Binary::Min | Binary::Max),
                ScalarOp::Unary { function, .. } => matches!(function, Unary::Neg | Unary::Abs | Unary::Sign),
                ScalarOp::Fma { .. } | ScalarOp::Convert { .. } => false,
                ScalarOp::Bits { .. } | ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } | ScalarOp::Assert { .. } => {
                    true
                }
                ScalarOp::If { then, otherwise, .. } => {
                    bodies.extend([then, otherwise]);
                    true
                }
                ScalarOp::While { condition, step, .. } => {
                    bodies.extend([condition, step]);
                    true
                }
            };
            if !exact && instruction.results.iter().any(|result| result.ty.is_float()) {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LambdaBuilder;

    fn arg_extreme(function: Binary, ties: Binary, ty: ElementType) -> Lambda {
        let mut f = LambdaBuilder::new();
        let (x, i) = (f.param("x", ty), f.param("i", ElementType::I64));
        let (y, j) = (f.param("y", ty), f.param("j", ElementType::I64));
        let (before, same, first) = (f.binary(function, x, y), f.binary(Binary::Eq, x, y), f.binary(ties, i, j));
        let tie = f.binary(Binary::LogicalAnd, same, first);
        let left = f.binary(Binary::LogicalOr, before, tie);
        let results = f.branch(left, |_| vec![x, i], |_| vec![y, j]);
        f.finish(&results)
    }

    #[test]
    fn sums_commute_and_floats_round() {
        let sum = algebra(&Lambda::componentwise(&[(Binary::Add, ElementType::I32), (Binary::Max, ElementType::F32)]));
        let identity = vec![0i32.into(), f32::NEG_INFINITY.into()];
        assert_eq!(sum, Algebra { commutes: true, rounds: false, identity: Some(identity) });
        let sum = algebra(&Lambda::componentwise(&[(Binary::Add, ElementType::F32)]));
        assert_eq!(sum, Algebra { commutes: true, rounds: true, identity: Some(vec![(-0f32).into()]) });
        assert!(!algebra(&Lambda::componentwise(&[(Binary::Sub, ElementType::I32)])).commutes);
    }

    #[test]
    fn smaller_key_then_index_commutes() {
        use ElementType::{F32, I32};
        assert!(algebra(&arg_extreme(Binary::Lt, Binary::Lt, I32)).commutes);
        assert!(algebra(&arg_extreme(Binary::Gt, Binary::Lt, I32)).commutes);
        assert!(!algebra(&arg_extreme(Binary::Lt, Binary::Lt, F32)).commutes, "a NaN key depends on the order");
        assert!(!algebra(&arg_extreme(Binary::Le, Binary::Lt, I32)).commutes, "of equal keys the left one stays");
    }

    #[test]
    fn choices_and_exact_functions_regroup() {
        use ElementType::{F32, F64, I32};
        for function in [(Binary::Add, I32), (Binary::Mul, I32), (Binary::Max, F32), (Binary::Min, F64)] {
            assert!(regroups(&Lambda::componentwise(&[function])), "{function:?}");
        }
        assert!(!regroups(&Lambda::componentwise(&[(Binary::Add, I32), (Binary::Add, F32)])), "sums of floats round");
        assert!(!regroups(&Lambda::componentwise(&[(Binary::Sub, I32)])));
        for (function, ties, key, regrouped) in [
            (Binary::Lt, Binary::Lt, I32, true),
            (Binary::Gt, Binary::Lt, I32, true),
            (Binary::Le, Binary::Lt, I32, true),
            // A NaN among keys stays or goes by what it meets first.
            (Binary::Lt, Binary::Lt, F32, false),
        ] {
            assert_eq!(regroups(&arg_extreme(function, ties, key)), regrouped, "{function:?} {ties:?} {key}");
        }
        // The first smallest key, and the first NaN before all: the index is not looked at.
        let smallest = |with_nan: bool| {
            let mut f = LambdaBuilder::new();
            let (x, i) = (f.param("x", F32), f.param("i", ElementType::I64));
            let (y, j) = (f.param("y", F32), f.param("j", ElementType::I64));
            let (before, number) = (f.binary(Binary::Lt, y, x), f.binary(Binary::Eq, x, x));
            let nan = f.binary(Binary::Ne, y, y);
            let either = f.binary(Binary::LogicalOr, before, nan);
            let both = f.binary(Binary::LogicalAnd, number, either);
            let right = if with_nan { both } else { before };
            let results = f.branch(right, |_| vec![y, j], |_| vec![x, i]);
            f.finish(&results)
        };
        assert!(regroups(&smallest(true)));
        assert!(!regroups(&smallest(false)), "of NaN, 2, 1 either NaN or 1 is left");
    }

    #[test]
    fn identities_change_nothing() {
        let functions = [
            Binary::Add,
            Binary::Mul,
            Binary::Min,
            Binary::Max,
            Binary::And,
            Binary::Or,
            Binary::Xor,
            Binary::Eq,
            Binary::Ne,
        ];
        for ty in ElementType::ALL {
            for function in functions {
                let Some(identity) = identity(function, ty).filter(|_| function.result_type(ty, ty) == Some(ty)) else {
                    continue;
                };
                for value in [-7, -1, 0, 1, 100] {
                    let value = Constant::from_i64(ty, value);
                    assert_eq!(primitive::binary(function, identity, value), Ok(Some(value)), "{function:?} {value}");
                    assert_eq!(primitive::binary(function, value, identity), Ok(Some(value)), "{function:?} {value}");
                }
            }
        }
    }
}
