//! Edits of scalar functions: other operands, fewer instructions.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPartMut};

pub(crate) fn retain<T>(list: &mut Vec<T>, mut keep: impl FnMut(usize) -> bool) {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        keep(at - 1)
    });
}

/// Replaces operands, in bodies inside too.
pub(crate) fn replace(lambda: &mut Lambda, map: &HashMap<LocalId, ScalarOperand>) {
    let operand = |operand: &mut ScalarOperand| {
        if let ScalarOperand::Local(id) = operand
            && let Some(&new) = map.get(id)
        {
            *operand = new;
        }
    };
    let mut bodies = vec![lambda];
    while let Some(body) = bodies.pop() {
        body.results.iter_mut().for_each(operand);
        for instruction in &mut body.instructions {
            for part in instruction.op.parts_mut() {
                match part {
                    ScalarPartMut::Operand(value) => operand(value),
                    ScalarPartMut::Array(_) => {}
                    ScalarPartMut::Body(inner) => bodies.push(inner),
                }
            }
        }
    }
}

/// Removes instructions and results of branches that `results` do not need. Scalar code has no effects: what nobody needs is not run.
pub(crate) fn remove_dead(lambda: &mut Lambda, results: &[ScalarOperand]) {
    let mut needed = HashSet::new();
    let mark = |operand: &ScalarOperand, needed: &mut HashSet<LocalId>| {
        if let ScalarOperand::Local(id) = operand {
            needed.insert(*id);
        }
    };
    results.iter().for_each(|result| mark(result, &mut needed));
    remove_dead_in(lambda, &mut needed, &mark);
}

fn remove_dead_in(
    lambda: &mut Lambda,
    needed: &mut HashSet<LocalId>,
    mark: &dyn Fn(&ScalarOperand, &mut HashSet<LocalId>),
) {
    for instruction in lambda.instructions.iter_mut().rev() {
        if !instruction.results.iter().any(|local| needed.contains(&local.id)) {
            instruction.results.clear();
            continue;
        }
        if let ScalarOp::If { then, otherwise, .. } = &mut instruction.op {
            let used: Vec<bool> = instruction.results.iter().map(|local| needed.contains(&local.id)).collect();
            retain(&mut instruction.results, |at| used[at]);
            for body in [then, otherwise] {
                retain(&mut body.results, |at| used[at]);
            }
        }
        for part in instruction.op.parts_mut() {
            match part {
                ScalarPartMut::Operand(operand) => mark(operand, needed),
                ScalarPartMut::Array(_) => {}
                ScalarPartMut::Body(body) => {
                    body.results.iter().for_each(|result| mark(result, needed));
                    remove_dead_in(body, needed, mark);
                }
            }
        }
    }
    lambda.instructions.retain(|instruction| !instruction.results.is_empty());
}
