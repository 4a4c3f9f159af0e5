//! What is known of a program, and of the bindings of a block that wait.

use std::collections::HashSet;

use fusebox_ir::{
    ArrayId, Binding, Operand, Program, Type,
    analysis::{Definitions, Sizes, demand::fallible_units, effects::binding_can_fail},
};

/// What is known of the program.
pub(crate) struct Facts<'p> {
    pub(crate) definitions: Definitions<'p>,
    pub(crate) sizes: Sizes,
    /// Results of units that may fail.
    pub(crate) fallible: HashSet<ArrayId>,
}

impl<'p> Facts<'p> {
    pub(crate) fn of(program: &'p Program) -> Self {
        Self {
            definitions: Definitions::of(program),
            sizes: Sizes::of_program(program),
            fallible: fallible_units(&program.body),
        }
    }

    pub(crate) fn ty(&self, id: ArrayId) -> Option<&'p Type> {
        self.definitions.ty(id)
    }

    /// Whether an operand cannot fail, nor anything that it is made of.
    pub(crate) fn never_fails(&self, operand: &Operand) -> bool {
        let mut seen = HashSet::new();
        let mut waiting: Vec<ArrayId> = Vec::new();
        waiting.extend(if let Operand::Value(id) = operand { Some(*id) } else { None });
        while let Some(id) = waiting.pop() {
            let Some(binding) = self.definitions.binding(id).filter(|_| seen.insert(id)) else { continue };
            if self.can_fail(binding) {
                return false;
            }
            binding.for_each_use(&mut |id| waiting.push(id));
        }
        true
    }

    pub(crate) fn can_fail(&self, binding: &Binding) -> bool {
        binding_can_fail(binding, &self.sizes, &|id| self.ty(id))
    }
}

/// Some results of a binding.
#[derive(Clone, Debug)]
pub(crate) struct Item<'p> {
    pub(crate) binding: &'p Binding,
    pub(crate) wanted: Vec<bool>,
    /// Which of its results its block certainly needs; none of what waits.
    pub(crate) certain: Vec<bool>,
    /// How many blocks are around it in the program as it was.
    pub(crate) depth: usize,
}
