//! Names of values: those that the host gave to terms, and of all others where they were built.

use std::collections::HashMap;

use fusebox_ir::{
    Name,
    term::{Term, TermId, TermNode, Terms},
};

/// The names of results.
pub(crate) struct Names {
    /// Terms whose names were given to the projections of another.
    given: HashMap<(TermId, u32), TermId>,
    /// How often an operation without a name was bound, by operation and line.
    bound: HashMap<(String, u32), usize>,
}

impl Names {
    pub(crate) fn new(terms: &Terms) -> Self {
        let mut given = HashMap::new();
        for (at, node) in terms.nodes.iter().enumerate() {
            if let Term::Result { of, index } = node.term
                && !node.name.is_empty()
            {
                given.insert((of, index), TermId(at as u32));
            }
        }
        Self { given, bound: HashMap::new() }
    }

    /// What the host called a result of a term; empty where it has no name.
    pub(crate) fn given(&self, terms: &Terms, id: TermId, result: usize) -> Name {
        let named = self.given.get(&(id, result as u32)).copied().unwrap_or(id);
        Name(terms.nodes[named.index()].name.clone())
    }

    /// What the results of a binding are called: as the host called them, else by operation and line.
    ///
    /// Of line 12 there are `map_12`, `map_12b`, `map_12c`, in the order in which they are bound; of one with several results
    /// `map_12_0`, `map_12_1`.
    pub(crate) fn of_binding(&mut self, terms: &Terms, id: TermId, results: usize) -> Vec<Name> {
        let mut names: Vec<Name> = (0..results).map(|result| self.given(terms, id, result)).collect();
        if names.iter().any(Name::is_empty)
            && let Some(stem) = self.stem(&terms.nodes[id.index()])
        {
            for (result, name) in names.iter_mut().enumerate().filter(|(_, name)| name.is_empty()) {
                *name = if results == 1 { stem.as_str().into() } else { format!("{stem}_{result}").into() };
            }
        }
        names
    }

    /// Operation, line, and a letter behind the first of them; none where the place is not known.
    fn stem(&mut self, node: &TermNode) -> Option<String> {
        if node.place.is_unknown() {
            return None;
        }
        let operation = match &node.term {
            Term::Array { op, .. } => op.name(),
            _ => "scalar",
        };
        // Some operations have signs in their names, as `scanl'`.
        let operation: String = operation.chars().filter(|&c| c.is_ascii_alphanumeric() || c == '_').collect();
        let stem = format!("{operation}_{}", node.place.line);
        let before = self.bound.entry((operation, node.place.line)).or_default();
        let letter = letters(*before);
        *before += 1;
        Some(stem + &letter)
    }
}

/// Nothing, `b`, `c`, …, `z`, `a1`, `b1`, …
fn letters(before: usize) -> String {
    match (before, before / 26) {
        (0, _) => String::new(),
        (_, round) => {
            let letter = char::from(b'a' + (before % 26) as u8);
            if round == 0 { letter.to_string() } else { format!("{letter}{round}") }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn letters_are_all_different() {
        let all: Vec<String> = (0..1000).map(letters).collect();
        assert_eq!((all[0].as_str(), all[1].as_str(), all[25].as_str(), all[26].as_str()), ("", "b", "z", "a1"));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}
