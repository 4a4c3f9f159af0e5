//! Evaluation by need made strict, for scalar code.
//!
//! Kernels execute every instruction in order. What can fail (division, reads, assertions, loops that may not end) and is not certainly
//! needed is moved into the branches that need it; `&&` and `||` become branches where their right side can fail, plain `&` and `|`
//! elsewhere; what nothing uses is dropped. A loop whose step certainly needs something that can fail is put under its own
//! condition (`if` it runs at all, compute that, then loop), so that nothing is computed once a turn that was outside.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Binary, Constant, Emit, Instruction, Lambda, Local, LocalId, ScalarOp, ScalarOperand, ScalarPartMut,
    analysis::need::{certain_outside, certain_uses, free_uses, local},
};

/// Whether executing the instruction may fail or never end; reads of which `safe` holds do not.
pub(crate) fn can_fail(instruction: &Instruction, safe: &dyn Fn(&Instruction) -> bool) -> bool {
    match &instruction.op {
        ScalarOp::Binary { function: Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor, b, .. } => {
            let float = instruction.results.first().is_some_and(|result| result.ty.is_float());
            let constant = if let ScalarOperand::Constant(constant) = b { constant.bits() != 0 } else { false };
            !float && !constant
        }
        ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } => !safe(instruction),
        ScalarOp::Assert { .. } | ScalarOp::While { .. } => true,
        ScalarOp::If { then, otherwise, .. } => lambda_can_fail(then, safe) || lambda_can_fail(otherwise, safe),
        ScalarOp::Unary { .. }
        | ScalarOp::Binary { .. }
        | ScalarOp::Fma { .. }
        | ScalarOp::Convert { .. }
        | ScalarOp::Bits { .. } => false,
    }
}

/// Whether executing the instructions of a function may fail or never end.
pub(crate) fn lambda_can_fail(lambda: &Lambda, safe: &dyn Fn(&Instruction) -> bool) -> bool {
    lambda.instructions.iter().any(|instruction| can_fail(instruction, safe))
}

/// Copies scalar code so that executing all of it, in order, does what evaluation by need does.
pub(crate) struct Strict<'a> {
    code: &'a mut dyn Emit,
    safe: &'a dyn Fn(&Instruction) -> bool,
    /// What a local of the source is called in what is emitted; only what is in scope.
    names: HashMap<LocalId, ScalarOperand>,
    /// What `names` held before, to undo at the end of a body.
    log: Vec<(LocalId, Option<ScalarOperand>)>,
}

impl<'a> Strict<'a> {
    /// What is strict goes to `code`.
    pub(crate) fn new(code: &'a mut dyn Emit, safe: &'a dyn Fn(&Instruction) -> bool) -> Self {
        Self { code, safe, names: HashMap::new(), log: Vec::new() }
    }

    /// Emits the instructions to execute for `results`, and gives what these are called. Locals that `own` does not define keep their ids.
    pub(crate) fn code(&mut self, own: &[Instruction], results: &[ScalarOperand]) -> Vec<ScalarOperand> {
        self.body(&[], own, results)
    }

    /// The same as a function.
    pub(crate) fn function(&mut self, lambda: &Lambda) -> Lambda {
        self.enclosed(&[], &lambda.params, &lambda.instructions, &lambda.results)
    }

    fn name(&mut self, id: LocalId, operand: ScalarOperand) {
        let before = self.names.insert(id, operand);
        self.log.push((id, before));
    }

    fn operand(&self, operand: ScalarOperand) -> ScalarOperand {
        match operand {
            ScalarOperand::Local(id) => self.names.get(&id).copied().unwrap_or(operand),
            ScalarOperand::Outer(_) | ScalarOperand::Constant(_) => operand,
        }
    }

    fn name_all(&mut self, locals: &[Local], operands: Vec<ScalarOperand>) {
        for (local, operand) in locals.iter().zip(operands) {
            self.name(local.id, operand);
        }
    }

    /// Forgets what was named since the log had this length.
    fn forget(&mut self, mark: usize) {
        while self.log.len() > mark {
            let Some((id, before)) = self.log.pop() else { break };
            match before {
                Some(operand) => self.names.insert(id, operand),
                None => self.names.remove(&id),
            };
        }
    }

    /// A body of its own: what it names is forgotten after it.
    fn enclosed(
        &mut self,
        pending: &[&Instruction],
        params: &[Local],
        own: &[Instruction],
        results: &[ScalarOperand],
    ) -> Lambda {
        let mark = self.log.len();
        let opened = self.code.open(params);
        self.name_all(params, opened);
        let results = self.body(pending, own, results);
        self.forget(mark);
        self.code.close(results)
    }

    /// `pending`: instructions from outside that were not executed there, in order; they are executed here where they are needed.
    fn body(&mut self, pending: &[&Instruction], own: &[Instruction], results: &[ScalarOperand]) -> Vec<ScalarOperand> {
        let list: Vec<&Instruction> = pending.iter().copied().chain(own).collect();
        let mut used: HashSet<LocalId> = results.iter().filter_map(local).collect();
        let mut needed = used.clone();
        let mut state = vec![Fate::Dropped; list.len()];
        for (fate, instruction) in state.iter_mut().zip(&list).rev() {
            if instruction.results.iter().any(|result| needed.contains(&result.id)) {
                *fate = Fate::Here;
                needed.extend(certain_uses(instruction));
            } else if instruction.results.iter().any(|result| used.contains(&result.id)) {
                *fate = Fate::Waiting;
            } else {
                continue;
            }
            used.extend(free_uses(instruction));
        }
        let mut waiting: HashSet<LocalId> = HashSet::new();
        let mut waits: Vec<&Instruction> = Vec::new();
        for (position, (fate, instruction)) in state.into_iter().zip(list).enumerate() {
            let later = match fate {
                Fate::Dropped => continue,
                Fate::Here => false,
                // What cannot fail stays where it is: bodies of branches then are short, often empty.
                Fate::Waiting => {
                    position < pending.len()
                        || can_fail(instruction, self.safe)
                        || free_uses(instruction).iter().any(|id| waiting.contains(id))
                }
            };
            if later {
                waiting.extend(instruction.results.iter().map(|result| result.id));
                waits.push(instruction);
            } else {
                self.emit(instruction, &waiting, &waits);
            }
        }
        results.iter().map(|&result| self.operand(result)).collect()
    }

    fn emit(&mut self, instruction: &Instruction, waiting: &HashSet<LocalId>, waits: &[&Instruction]) {
        let waits_for = |operand: &ScalarOperand| local(operand).is_some_and(|id| waiting.contains(&id));
        let op = match &instruction.op {
            ScalarOp::Binary { function: function @ (Binary::LogicalAnd | Binary::LogicalOr), a, b } => {
                let and = *function == Binary::LogicalAnd;
                if waits_for(b) {
                    let right = self.enclosed(waits, &[], &[], &[*b]);
                    let decided = Lambda { results: vec![Constant::from(!and).into()], ..Lambda::default() };
                    let (then, otherwise) = if and { (right, decided) } else { (decided, right) };
                    ScalarOp::If { condition: self.operand(*a), then, otherwise }
                } else {
                    let function = if and { Binary::And } else { Binary::Or };
                    ScalarOp::Binary { function, a: self.operand(*a), b: self.operand(*b) }
                }
            }
            ScalarOp::If { condition, then, otherwise } => ScalarOp::If {
                condition: self.operand(*condition),
                then: self.enclosed(waits, &[], &then.instructions, &then.results),
                otherwise: self.enclosed(waits, &[], &otherwise.instructions, &otherwise.results),
            },
            ScalarOp::While { condition, step, starts } => {
                let before = before_loop(step, waiting, waits);
                if before.is_empty() {
                    ScalarOp::While {
                        condition: self.enclosed(waits, &condition.params, &condition.instructions, &condition.results),
                        step: self.enclosed(waits, &step.params, &step.instructions, &step.results),
                        starts: starts.iter().map(|&start| self.operand(start)).collect(),
                    }
                } else {
                    return self.guarded(instruction, &before, waits);
                }
            }
            op => {
                let mut op = op.clone();
                for part in op.parts_mut() {
                    if let ScalarPartMut::Operand(operand) = part {
                        *operand = self.operand(*operand);
                    }
                }
                op
            }
        };
        self.put(instruction, op);
    }

    /// Emits what an instruction has become.
    fn put(&mut self, instruction: &Instruction, op: ScalarOp) {
        let results = self.code.emit(op, &instruction.results, &instruction.place);
        self.name_all(&instruction.results, results);
    }

    /// A loop under its own condition: `if` it runs at all, what its step certainly needs is computed once, before it.
    fn guarded(&mut self, instruction: &Instruction, before: &[LocalId], waits: &[&Instruction]) {
        let ScalarOp::While { condition, starts, .. } = &instruction.op else { unreachable!("a loop") };
        let starts: Vec<ScalarOperand> = starts.iter().map(|&start| self.operand(start)).collect();
        let mark = self.log.len();
        for (param, &start) in condition.params.iter().zip(&starts) {
            self.name(param.id, start);
        }
        let decided = self.body(waits, &condition.instructions, &condition.results);
        self.forget(mark);
        let wanted: Vec<ScalarOperand> = instruction
            .results
            .iter()
            .map(|result| result.id.into())
            .chain(before.iter().map(|&id| id.into()))
            .collect();
        let mut then = self.enclosed(waits, &[], std::slice::from_ref(instruction), &wanted);
        then.results.truncate(instruction.results.len());
        let otherwise = Lambda { results: starts, ..Lambda::default() };
        self.put(instruction, ScalarOp::If { condition: decided[0], then, otherwise });
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Dropped,
    /// Certainly needed.
    Here,
    /// Needed in some branch.
    Waiting,
}

/// What waits and the step certainly needs.
fn before_loop(step: &Lambda, waiting: &HashSet<LocalId>, waits: &[&Instruction]) -> Vec<LocalId> {
    let mut needed = certain_outside(step);
    for instruction in waits.iter().rev() {
        if instruction.results.iter().any(|result| needed.contains(&result.id)) {
            needed.extend(certain_uses(instruction));
        }
    }
    let in_order = waits.iter().flat_map(|instruction| &instruction.results).map(|result| result.id);
    in_order.filter(|id| needed.contains(id) && waiting.contains(id)).collect()
}
