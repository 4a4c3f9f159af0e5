//! Names of numbers in counts: of those that only a run knows, and of indices.

use std::collections::HashSet;

use super::Polynomial;
use crate::LocalId;

/// Names for numbers that have none.
#[derive(Clone)]
pub(super) struct Fresh {
    taken: HashSet<String>,
}

impl Fresh {
    /// Other names than these.
    pub(super) fn of<'n>(taken: impl Iterator<Item = &'n str>) -> Self {
        Self { taken: taken.map(str::to_owned).collect() }
    }

    /// `what` of the first of several things called `of`, `what2` of the next.
    pub(super) fn name(&mut self, what: &str, of: &str) -> Polynomial {
        let of: String = of.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let of = of.trim_matches('_');
        let mut name = format!("{what}_{of}");
        for number in 2.. {
            if self.taken.insert(name.clone()) {
                break;
            }
            name = format!("{what}{number}_{of}");
        }
        Polynomial::named(&name)
    }
}

/// The symbol of a level's index. No source can spell it; results hold none.
pub(super) fn index_symbol(id: LocalId) -> Polynomial {
    Polynomial::named(&format!("%{}", id.0))
}

pub(super) fn has_index(polynomial: &Polynomial) -> bool {
    polynomial.names().iter().any(|name| name.starts_with('%'))
}

/// Whether the index of a level is in it.
pub(super) fn has(polynomial: &Polynomial, index: LocalId) -> bool {
    polynomial.names().contains(&format!("%{}", index.0).as_str())
}
