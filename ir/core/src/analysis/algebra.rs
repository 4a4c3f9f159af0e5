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

/// Whether elements give the same however they are grouped, in their order, to the bit (of NaN but for sign and payload): built-in functions that
/// commute and do not round, tuples of them, and choices of one of both operands by comparisons.
pub fn regroups(combine: &Lambda) -> bool {
    match typed_built_ins(combine) {
        Some(all) => {
            all.into_iter().all(|(function, ty)| !ty.is_float() || matches!(function, Binary::Min | Binary::Max))
        }
        None => is_choice(combine),
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
    let arguments: Vec<Constant> =
        combine.params.iter().zip(arguments).map(|(param, argument)| Constant::from_i64(param.ty, argument)).collect();
    let run = Run::of(combine, &arguments)?;
    let result = |operand: &ScalarOperand| {
        run.component(operand)?;
        run.get(operand)?.as_i64()
    };
    Some((result(combine.results.first()?)?, result(combine.results.get(1)?)?))
}

/// Components that a choice compares, at most.
const MOST_COMPARED: usize = 2;

/// One of both operands, all of its components, chosen by comparisons of like components, so that of three operands the same one is left however
/// they are grouped.
///
/// Decided by trying it on all orders that the compared components of three operands may have, with NaN among them.
fn is_choice(combine: &Lambda) -> bool {
    let k = combine.results.len();
    if combine.params.len() != 2 * k || k == 0 {
        return false;
    }
    let mut compared: Vec<usize> = Vec::new();
    'wider: loop {
        if compared.len() > MOST_COMPARED {
            return false;
        }
        let domains: Vec<Vec<Constant>> =
            compared.iter().flat_map(|&component| vec![domain(combine.params[component].ty); 3]).collect();
        let cases: usize = domains.iter().map(Vec::len).product();
        for case in 0..cases {
            let mut operands: [Vec<Constant>; 3] =
                std::array::from_fn(|_| combine.params[..k].iter().map(|param| Constant::zero(param.ty)).collect());
            let mut rest = case;
            for (position, domain) in domains.iter().enumerate() {
                operands[position % 3][compared[position / 3]] = domain[rest % domain.len()];
                rest /= domain.len();
            }
            // Which of two operands is left; an operand that is chosen twice is left as it is.
            let mut seen = None;
            let mut left = |a: usize, b: usize| -> Option<usize> {
                let arguments = [operands[a].as_slice(), &operands[b]].concat();
                let run = Run::of(combine, &arguments)?;
                seen = run.compared.iter().copied().find(|component| !compared.contains(component)).or(seen);
                let origins = combine.results.iter().enumerate().map(|(component, result)| {
                    let origin = run.origins.get(&local(result)?)?.param?;
                    (origin % k == component).then_some(origin / k)
                });
                let mut sides = origins.collect::<Option<Vec<_>>>()?;
                sides.dedup();
                (sides.len() == 1).then(|| [a, b][sides[0]])
            };
            let Some((first, last)) = left(0, 1).zip(left(1, 2)) else { return false };
            let Some((one, other)) = left(first, 2).zip(left(0, last)) else { return false };
            if let Some(component) = seen {
                compared.push(component);
                continue 'wider;
            }
            if one != other {
                return false;
            }
        }
        return true;
    }
}

/// Values of a type that are in every order to each other that there is.
fn domain(ty: ElementType) -> Vec<Constant> {
    let numbers = (0..3).map(|number| Constant::from_i64(ty, number));
    match ty {
        ElementType::Bool => vec![Constant::from(false), Constant::from(true)],
        _ if ty.is_float() => numbers.chain([primitive::float(ty, f64::NAN)]).collect(),
        _ => numbers.collect(),
    }
}

/// Where a value comes from.
#[derive(Clone, Copy)]
struct Origin {
    /// It is this component of an operand.
    component: usize,
    /// It is this parameter, if that does not hang on values.
    param: Option<usize>,
}

struct Run {
    values: HashMap<LocalId, Constant>,
    /// Of values that are one of the operands.
    origins: HashMap<LocalId, Origin>,
    /// Components that were compared, or are conditions.
    compared: Vec<usize>,
}

impl Run {
    /// What a function computes of these arguments, if it is made of comparisons of like components, logic and selections alone.
    fn of(combine: &Lambda, arguments: &[Constant]) -> Option<Self> {
        let mut run = Self { values: HashMap::new(), origins: HashMap::new(), compared: Vec::new() };
        let k = combine.results.len();
        for (position, (param, &argument)) in combine.params.iter().zip(arguments).enumerate() {
            run.values.insert(param.id, argument);
            run.origins.insert(param.id, Origin { component: position % k.max(1), param: Some(position) });
        }
        run.body(combine, 0)?;
        Some(run)
    }

    fn get(&self, operand: &ScalarOperand) -> Option<Constant> {
        match operand {
            ScalarOperand::Local(id) => self.values.get(id).copied(),
            ScalarOperand::Constant(constant) => Some(*constant).filter(|constant| constant.ty() == ElementType::Bool),
            ScalarOperand::Outer(_) => None,
        }
    }

    fn origin(&self, operand: &ScalarOperand) -> Option<Origin> {
        self.origins.get(&local(operand)?).copied()
    }

    fn component(&self, operand: &ScalarOperand) -> Option<usize> {
        Some(self.origin(operand)?.component)
    }

    /// The values of operands that decide something.
    fn read(&mut self, operands: &[&ScalarOperand]) -> Option<Vec<Constant>> {
        for operand in operands {
            self.compared.extend(self.component(operand));
        }
        operands.iter().map(|operand| self.get(operand)).collect()
    }

    fn body(&mut self, body: &Lambda, depth: usize) -> Option<()> {
        if depth > 8 {
            return None;
        }
        for instruction in &body.instructions {
            let results: Vec<(Constant, Option<Origin>)> = match &instruction.op {
                ScalarOp::Binary { function, a, b } => {
                    let read = self.read(&[a, b])?;
                    let (left, right) = (read[0], read[1]);
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
                    vec![(value, component.filter(|_| extreme).map(|component| Origin { component, param: None }))]
                }
                ScalarOp::Unary { function: Unary::Not, a } => {
                    let read = self.read(&[a])?;
                    vec![(Constant::from(!read[0].as_bool()?), None)]
                }
                ScalarOp::If { condition, then, otherwise } => {
                    let read = self.read(&[condition])?;
                    let taken = if read[0].as_bool()? { then } else { otherwise };
                    self.body(taken, depth + 1)?;
                    let results = taken.results.iter().map(|result| Some((self.get(result)?, self.origin(result))));
                    results.collect::<Option<_>>()?
                }
                _ => return None,
            };
            for (local, (value, origin)) in instruction.results.iter().zip(results) {
                self.values.insert(local.id, value);
                origin.into_iter().for_each(|origin| _ = self.origins.insert(local.id, origin));
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
