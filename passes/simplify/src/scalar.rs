//! Scalar functions: laws, constants, common subexpressions, branches that are decided, results that nobody uses.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, Binary, ElementType, Instruction, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart, ScalarPartMut,
    Unary, analysis::instruction_can_fail,
};

use crate::{
    Config,
    edits::{remove_dead, replace, retain},
    identities::{Facts, Reduced, commutes, reduce},
    loops,
};

/// What scalar code may know of the values outside: the element type of each.
pub(crate) type ElementTypes = HashMap<ArrayId, ElementType>;

/// Simplifies a function of an operation; its parameters and the number of its results stay.
pub(crate) fn simplified(lambda: Lambda, outside: &ElementTypes, config: &Config) -> Lambda {
    let mut scalar = Scalar {
        outside,
        config,
        values: HashMap::new(),
        types: HashMap::new(),
        definitions: HashMap::new(),
        failing: HashSet::new(),
        seen: vec![HashMap::new()],
    };
    let mut lambda = scalar.function(lambda);
    let results = lambda.results.clone();
    remove_dead(&mut lambda, &results);
    if config.recover_loops {
        lambda = loops::recovered(lambda);
    }
    lambda.renumbered()
}

/// What makes two instructions the same.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Unary(Unary, ScalarOperand),
    Binary(Binary, ScalarOperand, ScalarOperand),
    Fma([ScalarOperand; 3]),
    Convert(ElementType, ScalarOperand),
    Bits(ElementType, ScalarOperand),
    Read(ArrayId, Vec<ScalarOperand>),
    ReadFlat(ArrayId, ScalarOperand),
}

struct Scalar<'a> {
    outside: &'a ElementTypes,
    config: &'a Config,
    /// What stands for a local.
    values: HashMap<LocalId, ScalarOperand>,
    types: HashMap<LocalId, ElementType>,
    definitions: HashMap<LocalId, ScalarOp>,
    /// Locals whose computation may fail, by their own instruction or one that it uses.
    failing: HashSet<LocalId>,
    /// Instructions that may be used again: one table for each body around.
    seen: Vec<HashMap<Key, LocalId>>,
}

impl Facts for Scalar<'_> {
    fn ty(&self, operand: ScalarOperand) -> Option<ElementType> {
        match operand {
            ScalarOperand::Local(id) => self.types.get(&id).copied(),
            ScalarOperand::Outer(id) => self.outside.get(&id).copied(),
            ScalarOperand::Constant(constant) => Some(constant.ty()),
        }
    }

    fn definition(&self, operand: ScalarOperand) -> Option<&ScalarOp> {
        match operand {
            ScalarOperand::Local(id) => self.definitions.get(&id),
            _ => None,
        }
    }

    fn can_fail(&self, operand: ScalarOperand) -> bool {
        matches!(operand, ScalarOperand::Local(id) if self.failing.contains(&id))
    }
}

impl Scalar<'_> {
    fn value(&self, operand: ScalarOperand) -> ScalarOperand {
        match operand {
            ScalarOperand::Local(id) => self.values.get(&id).copied().unwrap_or(operand),
            _ => operand,
        }
    }

    /// A body with what is seen in it forgotten afterwards.
    fn function(&mut self, lambda: Lambda) -> Lambda {
        for param in &lambda.params {
            self.types.insert(param.id, param.ty);
        }
        self.seen.push(HashMap::new());
        let mut instructions = Vec::with_capacity(lambda.instructions.len());
        for instruction in lambda.instructions {
            self.instruction(instruction, &mut instructions);
        }
        self.seen.pop();
        let results = lambda.results.into_iter().map(|result| self.value(result)).collect();
        Lambda { params: lambda.params, instructions, results }
    }

    fn instruction(&mut self, mut instruction: Instruction, out: &mut Vec<Instruction>) {
        for part in instruction.op.parts_mut() {
            match part {
                ScalarPartMut::Operand(operand) => *operand = self.value(*operand),
                ScalarPartMut::Array(_) => {}
                ScalarPartMut::Body(body) => *body = self.function(std::mem::take(body)),
            }
        }
        for local in &instruction.results {
            self.types.insert(local.id, local.ty);
        }
        loop {
            match reduce(&instruction.op, self) {
                Some(Reduced::Value(value)) => {
                    self.values.insert(instruction.results[0].id, value);
                    return;
                }
                Some(Reduced::Op(op)) => instruction.op = op,
                None => break,
            }
        }
        if let ScalarOp::If { .. } = instruction.op {
            let Some(kept) = self.branches(instruction, out) else { return };
            instruction = kept;
        }
        if let ScalarOp::While { .. } = instruction.op {
            let Some(kept) = self.states(instruction) else { return };
            instruction = kept;
        }
        let result = instruction.results[0].id;
        if self.config.share
            && let Some(key) = self.key(&instruction.op)
        {
            if let Some(&earlier) = self.seen.iter().rev().find_map(|table| table.get(&key)) {
                self.values.insert(result, earlier.into());
                return;
            }
            if let Some(table) = self.seen.last_mut() {
                table.insert(key, result);
            }
        }
        if self.instruction_can_fail(&instruction) {
            self.failing.extend(instruction.results.iter().map(|local| local.id));
        }
        if instruction.results.len() == 1 {
            self.definitions.insert(result, instruction.op.clone());
        }
        out.push(instruction);
    }

    /// Whether computing the results may fail, by the instruction or what it uses. What its bodies use is known: they were met before.
    fn instruction_can_fail(&self, instruction: &Instruction) -> bool {
        let uses = |part: ScalarPart<'_>| matches!(part, ScalarPart::Operand(operand) if self.can_fail(*operand));
        let body_fails = |part: ScalarPart<'_>| match part {
            ScalarPart::Body(body) => body.results.iter().any(|&result| self.can_fail(result)),
            _ => false,
        };
        instruction_can_fail(instruction)
            || instruction.op.parts().into_iter().any(uses)
            || instruction.op.parts().into_iter().any(body_fails)
    }

    /// A branch that is decided is spliced in; results that both branches give alike need no branch.
    fn branches(&mut self, mut instruction: Instruction, out: &mut Vec<Instruction>) -> Option<Instruction> {
        let ScalarOp::If { condition, then, otherwise } = &mut instruction.op else { return Some(instruction) };
        if let ScalarOperand::Constant(condition) = condition {
            let branch = std::mem::take(if condition.bits() != 0 { then } else { otherwise });
            for (local, &result) in instruction.results.iter().zip(&branch.results) {
                self.values.insert(local.id, result);
            }
            out.extend(branch.instructions);
            return None;
        }
        // A condition that fails is computed although both branches agree.
        let fails = self.can_fail(*condition);
        let own = |f: &Lambda, operand| {
            matches!(operand, ScalarOperand::Local(id)
            if f.instructions.iter().any(|i| i.results.iter().any(|local| local.id == id)))
        };
        let alike: Vec<bool> = then
            .results
            .iter()
            .zip(&otherwise.results)
            .map(|(a, b)| a == b && !own(then, *a) && !own(otherwise, *b) && !fails)
            .collect();
        for ((local, &result), _) in
            instruction.results.iter().zip(&then.results).zip(&alike).filter(|(_, alike)| **alike)
        {
            self.values.insert(local.id, result);
        }
        retain(&mut instruction.results, |at| !alike[at]);
        for body in [then, otherwise] {
            retain(&mut body.results, |at| !alike[at]);
        }
        (!instruction.results.is_empty()).then_some(instruction)
    }

    /// State that each turn hands on as it is needs no loop.
    fn states(&mut self, mut instruction: Instruction) -> Option<Instruction> {
        let ScalarOp::While { condition, step, starts } = &mut instruction.op else { return Some(instruction) };
        if let [ScalarOperand::Constant(never)] = condition.results[..]
            && never.bits() == 0
        {
            for (local, &start) in instruction.results.iter().zip(starts.iter()) {
                self.values.insert(local.id, start);
            }
            return None;
        }
        let handed_on: Vec<bool> =
            step.params.iter().zip(&step.results).map(|(param, &result)| result == param.id.into()).collect();
        if !handed_on.contains(&true) || handed_on.iter().all(|&handed_on| handed_on) {
            return Some(instruction);
        }
        let mut map = HashMap::new();
        for at in (0..handed_on.len()).filter(|&at| handed_on[at]) {
            map.insert(condition.params[at].id, starts[at]);
            map.insert(step.params[at].id, starts[at]);
            self.values.insert(instruction.results[at].id, starts[at]);
        }
        for body in [&mut *condition, &mut *step] {
            replace(body, &map);
            retain(&mut body.params, |at| !handed_on[at]);
        }
        retain(&mut step.results, |at| !handed_on[at]);
        retain(starts, |at| !handed_on[at]);
        retain(&mut instruction.results, |at| !handed_on[at]);
        Some(instruction)
    }

    fn key(&self, op: &ScalarOp) -> Option<Key> {
        Some(match op {
            ScalarOp::Unary { function, a } => Key::Unary(*function, *a),
            ScalarOp::Binary { function, a, b } => {
                let swap = self.ty(*a).is_some_and(|ty| commutes(*function, ty)) && b < a;
                if swap { Key::Binary(*function, *b, *a) } else { Key::Binary(*function, *a, *b) }
            }
            ScalarOp::Fma { a, b, c } => Key::Fma([*a, *b, *c]),
            ScalarOp::Convert { to, a } => Key::Convert(*to, *a),
            ScalarOp::Bits { to, a } => Key::Bits(*to, *a),
            ScalarOp::Read { array, index } => Key::Read(*array, index.clone()),
            ScalarOp::ReadFlat { array, position } => Key::ReadFlat(*array, *position),
            ScalarOp::If { .. } | ScalarOp::While { .. } | ScalarOp::Assert { .. } => return None,
        })
    }
}
