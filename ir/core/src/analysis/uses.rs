//! Which binding uses which value, and which bindings are needed.

use std::collections::{HashMap, HashSet};

use crate::{ArrayId, Block};

/// Who uses the values that a block sees: bindings by their position in the block, uses in inner blocks counting for the binding that
/// holds them.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// Positions of the bindings that use a value, ascending, each once.
    by: HashMap<ArrayId, Vec<usize>>,
    /// The block's results.
    results: HashSet<ArrayId>,
}

impl Uses {
    /// All uses in a block.
    pub fn of(block: &Block) -> Self {
        let mut by: HashMap<ArrayId, Vec<usize>> = HashMap::new();
        for (position, binding) in block.bindings.iter().enumerate() {
            binding.for_each_use(&mut |id| {
                let users = by.entry(id).or_default();
                if users.last() != Some(&position) {
                    users.push(position);
                }
            });
        }
        Self { by, results: block.results.iter().copied().collect() }
    }

    /// The bindings that use a value, as positions in the block.
    pub fn users(&self, id: ArrayId) -> &[usize] {
        self.by.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether the block gives it.
    pub fn is_result(&self, id: ArrayId) -> bool {
        self.results.contains(&id)
    }

    /// The number of bindings that use it, and one more if it is a result.
    pub fn count(&self, id: ArrayId) -> usize {
        self.users(id).len() + usize::from(self.is_result(id))
    }
}

/// Whether each binding of a block is needed for its results, by position. A type's extents are needed with it.
pub fn live(block: &Block) -> Vec<bool> {
    let mut needed: HashSet<ArrayId> = block.results.iter().copied().collect();
    let mut live = vec![false; block.bindings.len()];
    for (position, binding) in block.bindings.iter().enumerate().rev() {
        if binding.results.iter().any(|var| needed.contains(&var.id)) {
            live[position] = true;
            binding.for_each_use(&mut |id| _ = needed.insert(id));
        }
    }
    live
}
