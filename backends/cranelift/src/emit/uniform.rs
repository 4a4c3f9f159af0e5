//! What is the same in all lanes, of the code that comes.

use std::collections::HashMap;

use fusebox_ir::{Instruction, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart};

use super::{Emitter, Val};

/// Which locals of functions are the same in all lanes.
struct Uniform<'e> {
    outer: &'e HashMap<LocalId, Val>,
    own: HashMap<LocalId, bool>,
}

impl Emitter<'_> {
    /// Which states of a loop are the same in all lanes, where all lanes make the same turns; none where they may not.
    pub(super) fn uniform_states(&self, condition: &Lambda, step: &Lambda, starts: &[Val]) -> Option<Vec<bool>> {
        if self.lanes == 1 {
            return Some(vec![true; starts.len()]);
        }
        let starts = starts.iter().map(|start| matches!(start, Val::Uniform(_))).collect();
        Uniform { outer: &self.locals, own: HashMap::new() }.states(condition, step, starts)
    }
}

impl Uniform<'_> {
    fn operand(&self, operand: &ScalarOperand) -> bool {
        let ScalarOperand::Local(id) = operand else { return true };
        match self.own.get(id) {
            Some(&own) => own,
            None => matches!(self.outer.get(id), Some(Val::Uniform(_))),
        }
    }

    /// Of a body's results, given its parameters.
    fn body(&mut self, body: &Lambda, params: &[bool]) -> Vec<bool> {
        self.own.extend(body.params.iter().map(|param| param.id).zip(params.iter().copied()));
        for instruction in &body.instructions {
            let results = self.instruction(instruction);
            self.own.extend(instruction.results.iter().map(|result| result.id).zip(results));
        }
        body.results.iter().map(|result| self.operand(result)).collect()
    }

    fn instruction(&mut self, instruction: &Instruction) -> Vec<bool> {
        match &instruction.op {
            ScalarOp::If { condition, then, otherwise } => {
                let condition = self.operand(condition);
                let sides = self.body(then, &[]).into_iter().zip(self.body(otherwise, &[]));
                sides.map(|(a, b)| condition && a && b).collect()
            }
            ScalarOp::While { condition, step, starts } => {
                let starts: Vec<bool> = starts.iter().map(|start| self.operand(start)).collect();
                let none = vec![false; starts.len()];
                self.states(condition, step, starts).unwrap_or(none)
            }
            op => {
                let uniform = op.parts().into_iter().all(|part| match part {
                    ScalarPart::Operand(operand) => self.operand(operand),
                    ScalarPart::Body(_) => false,
                    ScalarPart::Array(_) => true,
                });
                vec![uniform; instruction.results.len()]
            }
        }
    }

    /// The states that stay uniform turn after turn.
    fn states(&mut self, condition: &Lambda, step: &Lambda, mut states: Vec<bool>) -> Option<Vec<bool>> {
        loop {
            if !self.body(condition, &states).first().is_some_and(|&holds| holds) {
                return None;
            }
            let next = self.body(step, &states);
            let both: Vec<bool> = states.iter().zip(next).map(|(&before, after)| before && after).collect();
            if both == states {
                return Some(states);
            }
            states = both;
        }
    }
}
