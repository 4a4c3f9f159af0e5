//! What values of the program are called in the strict program, where a block is being made of them.

use std::collections::HashMap;

use fusebox_ir::{ArrayId, Constant, Lambda};

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named<'p> {
    /// A value of the strict program.
    Value(ArrayId),
    /// A number.
    Constant(Constant),
    /// No value: scalar code, of which it is a result, that functions hold which use it.
    Code(&'p Lambda, usize),
}

/// Names in scope.
#[derive(Debug, Default)]
pub(crate) struct Names<'p> {
    named: HashMap<ArrayId, Named<'p>>,
    /// What was named before, to undo at the end of a block.
    log: Vec<(ArrayId, Option<Named<'p>>)>,
}

impl<'p> Names<'p> {
    pub(crate) fn get(&self, id: ArrayId) -> Option<Named<'p>> {
        self.named.get(&id).copied()
    }

    pub(crate) fn bind(&mut self, id: ArrayId, to: Named<'p>) {
        let before = self.named.insert(id, to);
        self.log.push((id, before));
    }

    /// Where a block begins.
    pub(crate) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Forgets what was named since.
    pub(crate) fn undo(&mut self, mark: usize) {
        for (id, before) in self.log.drain(mark..).rev() {
            match before {
                Some(named) => self.named.insert(id, named),
                None => self.named.remove(&id),
            };
        }
    }
}
