//! What is known of combining functions: whether they commute, whether they round, what leaves the other operand as it is.

use std::collections::HashMap;

use crate::{Binary, Constant, ElementType, Lambda, LocalId, ScalarOp, ScalarOperand, Unary, primitive};

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

fn local(operand: &ScalarOperand) -> Option<LocalId> {
    if let ScalarOperand::Local(id) = operand { Some(*id) } else { None }
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

/// Smaller (larger) key, then smaller (larger) index where keys are equal: one of two pairs of integers, chosen by an order on both
/// components that does not depend on which comes first.
///
/// Decided by trying it on every combination of two values for each operand: done only for functions made of comparisons of like
/// components, logic and selections, which cannot tell more apart. Keys are integers: with a NaN every comparison fails both ways, and
/// which pair stays depends on the order.
fn is_selection(combine: &Lambda) -> bool {
    let [x, i, y, j] = &combine.params[..] else { return false };
    if combine.results.len() != 2 || x.ty != y.ty || i.ty != j.ty || !x.ty.is_integer() || !i.ty.is_integer() {
        return false;
    }
    (0..16).all(|bits| {
        let [x, i, y, j] = [0, 1, 2, 3].map(|bit| i64::from(bits >> bit & 1 == 1));
        let result = select(combine, [x, i, y, j]);
        let is_one = result.is_some_and(|result| result == (x, i) || result == (y, j));
        is_one && result == select(combine, [y, j, x, i])
    })
}

fn select(combine: &Lambda, arguments: [i64; 4]) -> Option<(i64, i64)> {
    let mut run = Run { values: HashMap::new(), components: HashMap::new() };
    for (position, (param, argument)) in combine.params.iter().zip(arguments).enumerate() {
        run.values.insert(param.id, Constant::from_i64(param.ty, argument));
        run.components.insert(param.id, position % 2);
    }
    run.body(combine, 0)?;
    let result = |operand: &ScalarOperand| {
        run.components.get(&local(operand)?)?;
        run.get(operand)?.as_i64()
    };
    Some((result(combine.results.first()?)?, result(combine.results.get(1)?)?))
}

struct Run {
    values: HashMap<LocalId, Constant>,
    /// Of values that are one of the operands: which component.
    components: HashMap<LocalId, usize>,
}

impl Run {
    fn get(&self, operand: &ScalarOperand) -> Option<Constant> {
        match operand {
            ScalarOperand::Local(id) => self.values.get(id).copied(),
            ScalarOperand::Constant(constant) => Some(*constant).filter(|constant| constant.ty() == ElementType::Bool),
            ScalarOperand::Outer(_) => None,
        }
    }

    fn component(&self, operand: &ScalarOperand) -> Option<usize> {
        self.components.get(&local(operand)?).copied()
    }

    fn body(&mut self, body: &Lambda, depth: usize) -> Option<()> {
        if depth > 8 {
            return None;
        }
        for instruction in &body.instructions {
            let results: Vec<(Constant, Option<usize>)> = match &instruction.op {
                ScalarOp::Binary { function, a, b } => {
                    let (left, right) = (self.get(a)?, self.get(b)?);
                    let component = self.component(a).filter(|_| self.component(a) == self.component(b));
                    let compared = function.is_comparison() && component.is_some();
                    let extreme = matches!(function, Binary::Min | Binary::Max) && component.is_some();
                    if left.ty() != ElementType::Bool && !compared && !extreme {
                        return None;
                    }
                    let value = match function {
                        Binary::LogicalAnd => Constant::from(left.as_bool()? && right.as_bool()?),
                        Binary::LogicalOr => Constant::from(left.as_bool()? || right.as_bool()?),
                        _ => primitive::binary(*function, left, right).ok().flatten()?,
                    };
                    vec![(value, component.filter(|_| extreme))]
                }
                ScalarOp::Unary { function: Unary::Not, a } => {
                    vec![(Constant::from(!self.get(a)?.as_bool()?), None)]
                }
                ScalarOp::If { condition, then, otherwise } => {
                    let taken = if self.get(condition)?.as_bool()? { then } else { otherwise };
                    self.body(taken, depth + 1)?;
                    let results = taken.results.iter().map(|result| Some((self.get(result)?, self.component(result))));
                    results.collect::<Option<_>>()?
                }
                _ => return None,
            };
            for (local, (value, component)) in instruction.results.iter().zip(results) {
                self.values.insert(local.id, value);
                component.into_iter().for_each(|component| _ = self.components.insert(local.id, component));
            }
        }
        Some(())
    }
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
