//! Names of inputs and results: those that are given, and those that stand for them where none are.

use fusebox_ir::is_name;

use crate::{
    arena::{self, At},
    error::Mistake,
    interface::Interface,
};

/// `a`, `b`, …, `z`, `a1`, …
pub(super) fn default_input(position: usize) -> String {
    let letter = char::from(b'a' + (position % 26) as u8);
    if position < 26 { letter.to_string() } else { format!("{letter}{}", position / 26) }
}

/// As many names as are wanted, whatever was given; mistakes are noted.
pub(super) fn check_names(what: &'static str, names: Vec<String>, wanted: usize, at: At) -> Vec<String> {
    if names.len() != wanted {
        arena::problem(Mistake::NameCount { what, given: names.len(), wanted }, at);
        return (0..wanted).map(default_input).collect();
    }
    for name in &names {
        if !is_name(name) {
            arena::problem(Mistake::Name { name: name.clone() }, at);
        }
    }
    names
}

pub(super) fn duplicates(interface: &Interface) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for (items, what) in [(&interface.inputs, "inputs"), (&interface.results, "results")] {
        let mut seen = std::collections::HashSet::new();
        for component in items.iter().flat_map(|item| &item.components) {
            if !seen.insert(component.name.as_str()) {
                found.push((component.name.clone(), what));
            }
        }
    }
    found
}
