//! What scalar code needs: evaluation is by need, so a branch that is not taken needs nothing, nor does the right side of a decided `&&`.

use std::collections::{HashMap, HashSet};

use crate::{ArrayId, Binary, Instruction, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart};

/// The local that an operand is.
pub fn local(operand: &ScalarOperand) -> Option<LocalId> {
    if let ScalarOperand::Local(id) = operand { Some(*id) } else { None }
}

/// Every local from outside that the instruction uses, in bodies too.
pub fn free_uses(instruction: &Instruction) -> HashSet<LocalId> {
    let mut uses = HashSet::new();
    for_each_use(instruction, &mut |id| _ = uses.insert(id));
    let mut bodies = bodies(instruction);
    while let Some(body) = bodies.pop() {
        for local in body.params.iter().chain(body.instructions.iter().flat_map(|inner| &inner.results)) {
            uses.remove(&local.id);
        }
        bodies.extend(body.instructions.iter().flat_map(self::bodies));
    }
    uses
}

fn bodies(instruction: &Instruction) -> Vec<&Lambda> {
    let body = |part| if let ScalarPart::Body(body) = part { Some(body) } else { None };
    instruction.op.parts().into_iter().filter_map(body).collect()
}

/// Visits every local that the instruction uses: in bodies too, and there those that the bodies define themselves.
pub fn for_each_use(instruction: &Instruction, visit: &mut dyn FnMut(LocalId)) {
    let mut visit = |operand: &ScalarOperand| local(operand).into_iter().for_each(&mut *visit);
    for part in instruction.op.parts() {
        match part {
            ScalarPart::Operand(operand) => visit(operand),
            ScalarPart::Array(_) => {}
            ScalarPart::Body(body) => body.for_each_operand(&mut visit),
        }
    }
}

/// The instructions of a function that its results certainly need, the last first.
pub fn certainly_executed(body: &Lambda) -> Vec<&Instruction> {
    let mut needed: HashSet<LocalId> = body.results.iter().filter_map(local).collect();
    let mut certain = Vec::new();
    for instruction in body.instructions.iter().rev() {
        if instruction.results.iter().any(|result| needed.contains(&result.id)) {
            needed.extend(certain_uses(instruction));
            certain.push(instruction);
        }
    }
    certain
}

/// What executing the instruction certainly needs, if its results are needed.
pub fn certain_uses(instruction: &Instruction) -> HashSet<LocalId> {
    match &instruction.op {
        ScalarOp::If { condition, then, otherwise } => {
            let (then, otherwise) = (certain_outside(then), certain_outside(otherwise));
            then.intersection(&otherwise).copied().chain(local(condition)).collect()
        }
        ScalarOp::While { condition, starts, .. } => {
            certain_outside(condition).into_iter().chain(starts.iter().filter_map(local)).collect()
        }
        ScalarOp::Binary { function: Binary::LogicalAnd | Binary::LogicalOr, a, .. } => local(a).into_iter().collect(),
        op => op
            .parts()
            .into_iter()
            .filter_map(|part| if let ScalarPart::Operand(operand) = part { local(operand) } else { None })
            .collect(),
    }
}

/// What a body certainly needs from outside.
pub fn certain_outside(body: &Lambda) -> HashSet<LocalId> {
    let mut needed: HashSet<LocalId> = body.results.iter().filter_map(local).collect();
    for instruction in body.instructions.iter().rev() {
        if instruction.results.iter().any(|result| needed.contains(&result.id)) {
            needed.extend(certain_uses(instruction));
        }
    }
    for id in body.params.iter().chain(body.instructions.iter().flat_map(|i| &i.results)) {
        needed.remove(&id.id);
    }
    needed
}

/// Whether an instruction decides which of its operands or bodies is needed.
pub fn is_branch(op: &ScalarOp) -> bool {
    let logical = |function: &Binary| matches!(function, Binary::LogicalAnd | Binary::LogicalOr);
    matches!(op, ScalarOp::If { .. }) || matches!(op, ScalarOp::Binary { function, .. } if logical(function))
}

/// What is read from outside whenever the results of this code are needed.
pub fn certainly_read(f: &Lambda) -> HashSet<ArrayId> {
    let outer = |operand: &ScalarOperand| if let ScalarOperand::Outer(id) = operand { Some(*id) } else { None };
    let mut read: HashSet<ArrayId> = f.results.iter().filter_map(outer).collect();
    for instruction in certainly_executed(f) {
        match &instruction.op {
            ScalarOp::If { condition, then, otherwise } => {
                read.extend(outer(condition));
                let otherwise = certainly_read(otherwise);
                read.extend(certainly_read(then).into_iter().filter(|id| otherwise.contains(id)));
            }
            ScalarOp::While { condition, starts, .. } => {
                read.extend(starts.iter().filter_map(outer));
                read.extend(certainly_read(condition));
            }
            op => {
                // The right side of `&&` and `||` is needed if the left one says so.
                let certain = if is_branch(op) { 1 } else { usize::MAX };
                for part in op.parts().into_iter().take(certain) {
                    match part {
                        ScalarPart::Operand(operand) => read.extend(outer(operand)),
                        ScalarPart::Array(id) => _ = read.insert(*id),
                        ScalarPart::Body(_) => {}
                    }
                }
            }
        }
    }
    read
}

/// Of each parameter whether every call for this result needs its value.
pub fn certain_params(f: &Lambda, result: usize) -> Vec<bool> {
    let mut needed: HashSet<LocalId> = f.results.get(result).and_then(local).into_iter().collect();
    for instruction in f.instructions.iter().rev() {
        if instruction.results.iter().any(|result| needed.contains(&result.id)) {
            needed.extend(certain_uses(instruction));
        }
    }
    f.params.iter().map(|param| needed.contains(&param.id)).collect()
}

/// Of each parameter whether some call for this result may need its value: then the array of which it stands for an element is computed,
/// and its extents are checked.
pub fn possible_params(f: &Lambda, result: usize) -> Vec<bool> {
    let mut made_by: HashMap<LocalId, &Instruction> = HashMap::new();
    let mut bodies = vec![f];
    while let Some(body) = bodies.pop() {
        for instruction in &body.instructions {
            made_by.extend(instruction.results.iter().map(|local| (local.id, instruction)));
            bodies.extend(instruction.op.parts().into_iter().filter_map(|part| match part {
                ScalarPart::Body(body) => Some(body),
                _ => None,
            }));
        }
    }
    let mut needed = HashSet::new();
    let mut stack: Vec<LocalId> = f.results.get(result).and_then(local).into_iter().collect();
    while let Some(id) = stack.pop() {
        let (true, Some(instruction)) = (needed.insert(id), made_by.get(&id)) else { continue };
        for part in instruction.op.parts() {
            match part {
                ScalarPart::Operand(operand) => stack.extend(local(operand)),
                ScalarPart::Array(_) => {}
                ScalarPart::Body(body) => stack.extend(body.results.iter().filter_map(local)),
            }
        }
    }
    f.params.iter().map(|param| needed.contains(&param.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, text};

    /// The function of the only map.
    fn function(source: &str) -> Lambda {
        let source = format!(
            "fn f(a: [n]i64, b: [n]i64, go: bool) -> [n]i64 {{ let r: [n]i64 = map({source}, a, b) return r }}"
        );
        let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
        let crate::ArrayOp::Map { f, .. } = &program.body.bindings[0].op else { panic!("a map") };
        assert!(f.params.iter().all(|param| param.ty == ElementType::I64));
        f.clone()
    }

    #[test]
    fn branches_need_what_they_agree_on() {
        let certain = |source: &str| certain_params(&function(source), 0);
        let possible = |source: &str| possible_params(&function(source), 0);
        assert_eq!(certain("|x, y| x + 1"), [true, false]);
        assert_eq!(possible("|x, y| x + 1"), [true, false]);
        assert_eq!(certain("|x, y| if go { x } else { y }"), [false, false]);
        assert_eq!(possible("|x, y| if go { x } else { y }"), [true, true]);
        assert_eq!(certain("|x, y| if go { x + y } else { y * 2 }"), [false, true]);
        assert_eq!(certain("|x, y| if x > 0 { y } else { 3i64 }"), [true, false]);
        assert_eq!(certain("|x, y| if x > 0 && y > 0 { 1i64 } else { 3i64 }"), [true, false]);
        assert_eq!(certain("|x, y| { let z = x * y; return if go { z } else { 3i64 } }"), [false, false]);
        assert_eq!(possible("|x, y| { let z = x * y; return if go { z } else { 3i64 } }"), [true, true]);
    }
}
