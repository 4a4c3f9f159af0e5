//! Combining functions that choose: of two operands one is left, by comparisons of their components.

use std::{cmp::Ordering, collections::HashMap};

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

/// Which values a function is tried on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Alone,
    AndNan,
}

/// A function that leaves one of both operands, all of its components, chosen by comparisons of like components.
///
/// Which one hangs on the relations of the components that are compared: it is tried on all of these.
pub(super) struct Choice {
    /// The components that are compared.
    pub compared: Vec<usize>,
    /// Their types.
    types: Vec<ElementType>,
    /// For each combination of relations, those of the first component innermost, whether the right operand is left.
    right: Vec<bool>,
}

impl Choice {
    /// What `combine` is, if it is such a function.
    pub fn of(combine: &Lambda) -> Option<Self> {
        let k = combine.results.len();
        if combine.params.len() != 2 * k || k == 0 {
            return None;
        }
        let mut compared: Vec<usize> = Vec::new();
        'wider: while compared.len() <= MOST_COMPARED {
            let types: Vec<ElementType> = compared.iter().map(|&component| combine.params[component].ty).collect();
            let mut right = Vec::new();
            for case in 0..types.iter().map(|&ty| pairs(ty).len()).product() {
                let mut operands: [Vec<Constant>; 2] = [0, k]
                    .map(|side| combine.params[side..side + k].iter().map(|param| Constant::zero(param.ty)).collect());
                let mut rest = case;
                for (&component, &ty) in compared.iter().zip(&types) {
                    let pairs = pairs(ty);
                    let pair = pairs[rest % pairs.len()];
                    (0..2).for_each(|side| operands[side][component] = value(ty, pair[side]));
                    rest /= pairs.len();
                }
                let run = Run::of(combine, &operands.concat())?;
                if let Some(&component) = run.compared.iter().find(|component| !compared.contains(component)) {
                    compared.push(component);
                    continue 'wider;
                }
                let sides = combine.results.iter().enumerate().map(|(component, result)| {
                    let origin = run.origins.get(&local(result)?)?.param?;
                    (origin % k == component).then_some(origin / k)
                });
                let mut sides = sides.collect::<Option<Vec<_>>>()?;
                sides.dedup();
                right.push(*sides.first().filter(|_| sides.len() == 1)? == 1);
            }
            return Some(Self { compared, types, right });
        }
        None
    }

    /// Whether the right one of two operands is left, whose compared components have these numbers.
    fn takes_right(&self, left: &[usize], right: &[usize]) -> bool {
        let (mut case, mut factor) = (0, 1);
        for ((&ty, &a), &b) in self.types.iter().zip(left).zip(right) {
            case += factor * relation(ty, a, b);
            factor *= pairs(ty).len();
        }
        self.right[case]
    }

    /// Whether of three operands the same one is left however they are grouped.
    pub fn associates(&self, numbers: Numbers) -> bool {
        self.of_three(numbers, None, |left| left(left(0, 1), 2) == left(0, left(1, 2)))
    }

    /// Whether of three operands, numbers in their components, the same one is left in whatever order they come, if the one whose component `position` is less
    /// is always on the left.
    pub fn associates_by_position(&self, position: usize) -> bool {
        let compared = self.compared.iter().position(|&component| component == position);
        self.of_three(Numbers::Alone, compared, |left| {
            let left = |a: usize, b: usize| left(a.min(b), a.max(b));
            let one = left(left(0, 1), 2);
            one == left(0, left(1, 2)) && one == left(left(0, 2), 1)
        })
    }

    /// Whether something is so of what is left of every three operands; with numbers that rise from one to the next in the compared component `rising`.
    fn of_three(
        &self,
        numbers: Numbers,
        rising: Option<usize>,
        so: impl Fn(&dyn Fn(usize, usize) -> usize) -> bool,
    ) -> bool {
        let one = |(at, &ty): (usize, &ElementType)| if Some(at) == rising { 1 } else { domain(ty, numbers) };
        let domains: Vec<usize> = self.types.iter().enumerate().flat_map(|of| vec![one(of); 3]).collect();
        (0..domains.iter().product()).all(|case| {
            let mut operands = [[0; MOST_COMPARED]; 3];
            let mut rest = case;
            for (position, domain) in domains.iter().enumerate() {
                let (operand, component) = (position % 3, position / 3);
                operands[operand][component] = if Some(component) == rising { operand } else { rest % domain };
                rest /= domain;
            }
            so(&|a, b| if self.takes_right(&operands[a], &operands[b]) { b } else { a })
        })
    }
}

/// The number of a NaN; other numbers are in their order.
const NAN: usize = 3;

/// How many numbers there are of a type, so that they are in every order to each other that there is.
fn domain(ty: ElementType, numbers: Numbers) -> usize {
    match ty {
        ElementType::Bool => 2,
        _ if ty.is_float() && numbers == Numbers::AndNan => NAN + 1,
        _ => NAN,
    }
}

fn value(ty: ElementType, number: usize) -> Constant {
    match ty {
        ElementType::Bool => Constant::from(number == 1),
        _ if number == NAN => primitive::float(ty, f64::NAN),
        _ => Constant::from_i64(ty, number as i64),
    }
}

/// A pair of numbers for each relation.
fn pairs(ty: ElementType) -> &'static [[usize; 2]] {
    match ty {
        // A condition hangs on a truth by itself.
        ElementType::Bool => &[[0, 0], [0, 1], [1, 0], [1, 1]],
        _ if ty.is_float() => &[[0, 1], [1, 1], [1, 0], [NAN, 0], [0, NAN], [NAN, NAN]],
        _ => &[[0, 1], [1, 1], [1, 0]],
    }
}

/// The position of the pair that is as these two are to each other.
fn relation(ty: ElementType, a: usize, b: usize) -> usize {
    match (ty, a == NAN, b == NAN) {
        (ElementType::Bool, ..) => 2 * a + b,
        (_, false, false) => match a.cmp(&b) {
            Ordering::Less => 0,
            Ordering::Equal => 1,
            Ordering::Greater => 2,
        },
        (_, true, false) => 3,
        (_, false, true) => 4,
        (_, true, true) => 5,
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
