//! What is the same in all lanes, of the code that comes.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, Constant, ElementType, Instruction, Lambda, LocalId, ScalarOp, ScalarPart,
    analysis::{Domain, Walk},
};

use super::{Emitter, Val};

/// Of each scalar whether it is the same in all lanes.
struct Uniform<'e> {
    /// What has been emitted.
    emitted: &'e HashMap<LocalId, Val>,
}

impl Emitter<'_> {
    /// Which states of a loop are the same in all lanes that make a turn, and whether all lanes make the same turns.
    pub(super) fn uniform_states(&self, condition: &Lambda, step: &Lambda, starts: &[Val]) -> (Vec<bool>, bool) {
        if self.lanes == 1 {
            return (vec![true; starts.len()], true);
        }
        let starts = starts.iter().map(|start| matches!(start, Val::Uniform(_))).collect();
        self.walked(condition, step, starts)
    }

    /// Which states of a loop are one value for all lanes that make a turn, where lanes leave it one by one. Where it reads nothing, those that are
    /// `used` behind it are not: each lane has to be given its own, and what is the same saves no load.
    pub(super) fn uniform_where_lanes_leave(
        &self,
        condition: &Lambda,
        step: &Lambda,
        uniform: Vec<bool>,
        used: impl Fn(usize) -> bool,
    ) -> Vec<bool> {
        if reads(condition) || reads(step) {
            return uniform;
        }
        let starts = uniform.iter().enumerate().map(|(at, &uniform)| uniform && !used(at)).collect();
        self.walked(condition, step, starts).0
    }

    fn walked(&self, condition: &Lambda, step: &Lambda, starts: Vec<bool>) -> (Vec<bool>, bool) {
        let found = Walk::new(Uniform { emitted: &self.locals }).repeat(condition, step, starts);
        (found.states, found.condition)
    }
}

/// Whether something reads an array.
fn reads(body: &Lambda) -> bool {
    body.instructions.iter().any(|Instruction { op, .. }| {
        let inside = |part: &ScalarPart<'_>| if let ScalarPart::Body(body) = part { reads(body) } else { false };
        matches!(op, ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. }) || op.parts().iter().any(inside)
    })
}

impl Domain for Uniform<'_> {
    type Value = bool;

    fn constant(&mut self, _: Constant) -> bool {
        true
    }

    fn outer(&mut self, _: ArrayId) -> bool {
        true
    }

    fn free(&mut self, id: LocalId) -> bool {
        matches!(self.emitted.get(&id), Some(Val::Uniform(_)))
    }

    fn instruction(&mut self, _: &Instruction, operands: &[bool]) -> bool {
        operands.iter().all(|&operand| operand)
    }

    fn either(&mut self, condition: &bool, then: &bool, otherwise: &bool, _: ElementType) -> bool {
        *condition && *then && *otherwise
    }

    fn widened(&mut self, before: &bool, after: &bool, _: ElementType) -> Option<bool> {
        (*before && !*after).then_some(false)
    }

    fn ended(&mut self, condition: &bool, state: bool, _: ElementType) -> bool {
        // Lanes that make different numbers of turns end with different states.
        *condition && state
    }
}
