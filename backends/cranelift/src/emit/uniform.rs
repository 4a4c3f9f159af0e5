//! What is the same in all lanes, of the code that comes.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, Constant, ElementType, Instruction, Lambda, LocalId,
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
        let found = Walk::new(Uniform { emitted: &self.locals }).repeat(condition, step, starts);
        (found.states, found.condition)
    }
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
