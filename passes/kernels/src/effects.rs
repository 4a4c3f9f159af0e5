//! What is known of combining functions: whether they commute, whether they round, which components stand alone.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{Binary, Constant, ElementType, Instruction, Lambda, LocalId, ScalarOp, ScalarOperand};

use crate::strict::{free_uses, local};

/// A combining function of one component that is a single instruction of its two operands, in either order.
fn built_in(combine: &Lambda, component: usize) -> Option<(Binary, ElementType)> {
    let k = combine.results.len();
    let (left, right) = (combine.params.get(component)?, combine.params.get(k + component)?);
    let id = local(combine.results.get(component)?)?;
    let instruction = combine.instructions.iter().find(|instruction| instruction.results.iter().any(|result| result.id == id))?;
    let ScalarOp::Binary { function, a, b } = &instruction.op else { return None };
    let operands = (local(a)?, local(b)?);
    let matches = operands == (left.id, right.id) || operands == (right.id, left.id);
    (matches && commutes(*function)).then_some((*function, left.ty))
}

fn commutes(function: Binary) -> bool {
    use Binary::*;
    match function {
        Add | Mul | Min | Max | And | Or | Xor | LogicalAnd | LogicalOr | Eq | Ne => true,
        Sub | Div | Rem | DivFloor | ModFloor | Shl | Shr | RotateLeft | RotateRight | Lt | Le | Gt | Ge | Pow | Atan2 | Hypot => false,
    }
}

/// Whether the function is recognised to commute: built-in functions, tuples of them, smaller (or larger) key then index.
pub(crate) fn known_to_commute(combine: &Lambda) -> bool {
    let k = combine.results.len();
    (0..k).all(|component| built_in(combine, component).is_some()) || is_selection(combine)
}

/// Whether applying the function rounds: sums and products of floats do, and what is not known.
pub(crate) fn rounds(combine: &Lambda) -> bool {
    let k = combine.results.len();
    let exact = |component| {
        built_in(combine, component).is_some_and(|(function, ty)| !ty.is_float() || matches!(function, Binary::Min | Binary::Max))
    };
    !(0..k).all(exact) && !is_selection(combine)
}

/// Components that a component's results depend on, for each: itself at least.
pub(crate) fn dependencies(combine: &Lambda) -> Vec<HashSet<usize>> {
    let k = combine.results.len();
    let mut reach: HashMap<LocalId, HashSet<usize>> = HashMap::new();
    for (position, param) in combine.params.iter().enumerate() {
        reach.insert(param.id, HashSet::from([position % k.max(1)]));
    }
    for instruction in &combine.instructions {
        let of: HashSet<usize> = free_uses(instruction).iter().filter_map(|id| reach.get(id)).flatten().copied().collect();
        for result in &instruction.results {
            reach.insert(result.id, of.clone());
        }
    }
    let of = |result: &ScalarOperand| local(result).and_then(|id| reach.get(&id).cloned()).unwrap_or_default();
    combine.results.iter().enumerate().map(|(own, result)| of(result).into_iter().chain([own]).collect()).collect()
}

/// The components cut into groups that do not depend on each other, in order.
pub(crate) fn groups(combine: &Lambda) -> Vec<Vec<usize>> {
    let dependencies = dependencies(combine);
    let mut group: Vec<usize> = (0..dependencies.len()).collect();
    for (component, others) in dependencies.iter().enumerate() {
        for &other in others {
            let (from, to) = (group[component].max(group[other]), group[component].min(group[other]));
            group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut first: HashMap<usize, usize> = HashMap::new();
    for (component, &of) in group.iter().enumerate() {
        let at = *first.entry(of).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(component);
    }
    groups
}

/// The function of some of its components alone.
pub(crate) fn restricted(combine: &Lambda, components: &[usize]) -> Lambda {
    let k = combine.results.len();
    let results: Vec<ScalarOperand> = components.iter().map(|&c| combine.results[c]).collect();
    let params = components.iter().chain(&components.iter().map(|&c| k + c).collect::<Vec<_>>()).map(|&c| combine.params[c].clone()).collect();
    Lambda { params, instructions: live(&combine.instructions, &results), results }
}

/// The instructions that the results depend on.
pub(crate) fn live(instructions: &[Instruction], results: &[ScalarOperand]) -> Vec<Instruction> {
    let mut used: HashSet<LocalId> = results.iter().filter_map(local).collect();
    let mut kept: Vec<&Instruction> = Vec::new();
    for instruction in instructions.iter().rev() {
        if instruction.results.iter().any(|result| used.contains(&result.id)) {
            used.extend(free_uses(instruction));
            kept.push(instruction);
        }
    }
    kept.into_iter().rev().cloned().collect()
}

/// Smaller (larger) key, then smaller (larger) index where keys are equal: `(x, i), (y, j)` to one of the two pairs, chosen by a
/// total order on both components together, which is symmetric whichever operand comes first.
///
/// Decided by trying it: on integers and floats without NaN, over every combination of few values, the function must give one of its
/// operands whole, the same with operands exchanged. That is done only for functions made of comparisons, `&`, `|`, `!` and selections,
/// which cannot tell more values apart than these.
fn is_selection(combine: &Lambda) -> bool {
    let k = combine.results.len();
    if k != 2 || combine.params.len() != 4 || combine.params[0].ty != combine.params[2].ty || combine.params[1].ty != combine.params[3].ty {
        return false;
    }
    // With NaN keys a comparison is false both ways: which pair stays then depends on the order of operands.
    let ordered = |ty: ElementType| ty.is_integer();
    if !ordered(combine.params[0].ty) || !ordered(combine.params[1].ty) {
        return false;
    }
    let mut evaluated = Vec::new();
    for x in [0, 1] {
        for i in [0, 1] {
            for y in [0, 1] {
                for j in [0, 1] {
                    let result = select(combine, [x, i, y, j]);
                    let swapped = select(combine, [y, j, x, i]);
                    let Some(result) = result else { return false };
                    if Some(result) != swapped || (result != (x, i) && result != (y, j)) {
                        return false;
                    }
                    evaluated.push(result);
                }
            }
        }
    }
    true
}

/// Evaluates a function made of comparisons of parameters of one component, logic and selections.
fn select(combine: &Lambda, arguments: [i64; 4]) -> Option<(i64, i64)> {
    let mut values: HashMap<LocalId, Constant> = HashMap::new();
    for (param, argument) in combine.params.iter().zip(arguments) {
        values.insert(param.id, Constant::from_i64(param.ty, argument));
    }
    let component = |operand: &ScalarOperand| {
        let id = local(operand)?;
        combine.params.iter().position(|param| param.id == id).map(|position| position % 2)
    };
    fn get(values: &HashMap<LocalId, Constant>, operand: &ScalarOperand) -> Option<Constant> {
        match operand {
            ScalarOperand::Local(id) => values.get(id).copied(),
            ScalarOperand::Constant(constant) if constant.ty() == ElementType::Bool => Some(*constant),
            ScalarOperand::Constant(_) | ScalarOperand::Outer(_) => None,
        }
    }
    fn run(
        instructions: &[Instruction],
        values: &mut HashMap<LocalId, Constant>,
        component: &dyn Fn(&ScalarOperand) -> Option<usize>,
    ) -> Option<()> {
        for instruction in instructions {
            let results: Vec<Constant> = match &instruction.op {
                ScalarOp::Binary { function, a, b } => {
                    let (left, right) = (get(values, a)?, get(values, b)?);
                    let logic = left.ty() == ElementType::Bool;
                    let compared = function.is_comparison() && component(a).is_some() && component(a) == component(b);
                    if !logic && !compared {
                        return None;
                    }
                    vec![match function {
                        Binary::LogicalAnd => Constant::from(left.as_bool()? && right.as_bool()?),
                        Binary::LogicalOr => Constant::from(left.as_bool()? || right.as_bool()?),
                        _ => fusebox_ir::primitive::binary(*function, left, right).ok().flatten()?,
                    }]
                }
                ScalarOp::Unary { function: fusebox_ir::Unary::Not, a } => vec![Constant::from(!get(values, a)?.as_bool()?)],
                ScalarOp::If { condition, then, otherwise } => {
                    let body = if get(values, condition)?.as_bool()? { then } else { otherwise };
                    run(&body.instructions, values, component)?;
                    body.results.iter().map(|result| get(values, result)).collect::<Option<_>>()?
                }
                _ => return None,
            };
            values.extend(instruction.results.iter().map(|result| result.id).zip(results));
        }
        Some(())
    }
    run(&combine.instructions, &mut values, &component)?;
    let result = |at: usize| get(&values, &combine.results[at])?.as_i64();
    Some((result(0)?, result(1)?))
}
