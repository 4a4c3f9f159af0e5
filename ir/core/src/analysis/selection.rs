//! Combining functions that choose: of two operands one is left, by comparisons of their components.

use std::collections::HashMap;

use crate::{Binary, Constant, ElementType, Lambda, LocalId, ScalarOp, ScalarOperand, Unary, primitive};

/// Smaller (larger) key, then smaller (larger) index where keys are equal: one of two pairs of integers, chosen by an order on both
/// components that does not depend on which comes first.
///
/// Decided by trying it on every combination of two values for each operand: done only for functions made of comparisons of like
/// components, logic and selections, which cannot tell more apart. Keys are integers: with a NaN every comparison fails both ways, and
/// which pair stays depends on the order.
pub(super) fn is_selection(combine: &Lambda) -> bool {
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
pub(super) fn is_choice(combine: &Lambda) -> bool {
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

/// The local that an operand is.
pub(super) fn local(operand: &ScalarOperand) -> Option<LocalId> {
    if let ScalarOperand::Local(id) = operand { Some(*id) } else { None }
}
