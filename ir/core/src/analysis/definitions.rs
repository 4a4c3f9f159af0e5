//! What each value is: tables keyed by id.

use crate::{ArrayId, Binding, Block, Part, Program, Type, Var};

/// Where a value is defined.
#[derive(Clone, Copy, Debug)]
pub enum Definition<'p> {
    /// A size that parameters' types bind.
    Size(&'p Var),
    /// A parameter: of the program an input.
    Param(&'p Var),
    /// A result of a binding: which.
    Result {
        /// The binding.
        binding: &'p Binding,
        /// Position among its results.
        index: usize,
    },
}

impl<'p> Definition<'p> {
    /// Id, type and name.
    pub fn var(&self) -> &'p Var {
        match *self {
            Self::Size(var) | Self::Param(var) => var,
            Self::Result { binding, index } => &binding.results[index],
        }
    }
}

/// The definitions of all values of a program, of inner blocks too.
#[derive(Clone, Debug)]
pub struct Definitions<'p> {
    /// Keyed by id: those of a valid program are dense.
    table: Vec<Option<Definition<'p>>>,
}

impl<'p> Definitions<'p> {
    /// Of a program whose ids are dense ([`Program::renumbered`]); others are left out if they are far beyond.
    pub fn of(program: &'p Program) -> Self {
        let mut all = Vec::new();
        let mut blocks: Vec<&'p Block> = vec![&program.body];
        while let Some(block) = blocks.pop() {
            all.extend(block.sizes.iter().map(Definition::Size));
            all.extend(block.params.iter().map(Definition::Param));
            for binding in &block.bindings {
                all.extend((0..binding.results.len()).map(|index| Definition::Result { binding, index }));
                blocks.extend(binding.op.parts().into_iter().filter_map(|part| match part {
                    Part::Body(body) => Some(body),
                    _ => None,
                }));
            }
        }
        let mut table = vec![None; all.len()];
        for definition in all {
            if let Some(entry) = table.get_mut(definition.var().id.index()) {
                *entry = Some(definition);
            }
        }
        Self { table }
    }

    /// The definition of a value.
    pub fn get(&self, id: ArrayId) -> Option<Definition<'p>> {
        self.table.get(id.index()).copied().flatten()
    }

    /// Its type.
    pub fn ty(&self, id: ArrayId) -> Option<&'p Type> {
        self.get(id).map(|definition| &definition.var().ty)
    }

    /// The binding that gives it, if it is no size and no parameter.
    pub fn binding(&self, id: ArrayId) -> Option<&'p Binding> {
        match self.get(id)? {
            Definition::Result { binding, .. } => Some(binding),
            Definition::Size(_) | Definition::Param(_) => None,
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}
