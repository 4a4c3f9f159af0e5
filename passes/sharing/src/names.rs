//! Names that the host gave to terms: hints for printing.

use std::collections::HashMap;

use fusebox_ir::{
    Name,
    term::{Term, TermId, Terms},
};

/// The names of results, where they were given to the projections.
pub(crate) struct Names(HashMap<(TermId, u32), TermId>);

impl Names {
    pub(crate) fn new(terms: &Terms) -> Self {
        let mut names = HashMap::new();
        for (at, node) in terms.nodes.iter().enumerate() {
            if let Term::Result { of, index } = node.term
                && !node.name.is_empty()
            {
                names.insert((of, index), TermId(at as u32));
            }
        }
        Self(names)
    }

    /// What a result of a term is called.
    pub(crate) fn of(&self, terms: &Terms, id: TermId, result: usize) -> Name {
        let named = self.0.get(&(id, result as u32)).copied().unwrap_or(id);
        Name(terms.nodes[named.index()].name.clone())
    }
}
