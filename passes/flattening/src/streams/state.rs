//! What is known while traversals in lanes are rewritten.

use std::collections::HashMap;

use fusebox_ir::{ArrayId, ElementType::I64, Type};

use super::Streams;

/// A program on its way.
pub(super) struct Lanes<'s> {
    pub streams: &'s mut Streams,
    /// The arrays of arrays that streams made in lanes are.
    pub rows: HashMap<ArrayId, ArrayId>,
}

impl Lanes<'_> {
    pub fn ty(&self, id: ArrayId) -> Type {
        self.streams.known.types.get(&id).cloned().unwrap_or_else(|| Type::scalar(I64))
    }
}
