//! Locals of a kernel under construction: fresh ids, types, and the code that defines them.

use fusebox_ir::{ElementType, LambdaBuilder, Local, LocalId, Program, ScalarOperand, bug};

/// Code to be written: nothing in it is computed twice, and what is computed of constants is a constant.
pub(crate) fn scalar_code() -> LambdaBuilder {
    LambdaBuilder::sharing().folding()
}

/// Gives fresh locals.
#[derive(Debug)]
pub(crate) struct Ids {
    /// No local has this id, or a greater one.
    pub(crate) next: LocalId,
}

impl Default for Ids {
    fn default() -> Self {
        Self { next: LocalId(0) }
    }
}

impl Ids {
    pub(crate) fn fresh(&mut self) -> LocalId {
        let id = self.next;
        self.next = LocalId(id.0 + 1);
        id
    }
}

/// The types of locals.
pub(crate) struct Types<'p> {
    /// Shown with bugs.
    program: &'p Program,
    /// By id.
    list: Vec<Option<ElementType>>,
}

impl<'p> Types<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        Self { program, list: Vec::new() }
    }

    /// Notes the type of a local where it is defined.
    pub(crate) fn note(&mut self, local: &Local) {
        if self.list.len() <= local.id.index() {
            self.list.resize(local.id.index() + 1, None);
        }
        self.list[local.id.index()] = Some(local.ty);
    }

    /// The type of an operand that is defined.
    pub(crate) fn of(&self, operand: ScalarOperand) -> ElementType {
        match operand {
            ScalarOperand::Local(id) => match self.list.get(id.index()) {
                Some(Some(ty)) => *ty,
                _ => bug!(self.program, "{id} is used before it is defined"),
            },
            ScalarOperand::Constant(constant) => constant.ty(),
            ScalarOperand::Outer(id) => bug!(self.program, "{id} is used in a kernel, where scalars are loaded"),
        }
    }
}
