//! Names of inputs and results: those that are given, and those that stand for them where none are.

use fusebox_ir::ElementType;

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

/// Whether text can spell it as a name.
pub(crate) fn is_name(name: &str) -> bool {
    const KEYWORDS: [&str; 10] = ["fn", "let", "return", "yield", "if", "else", "while", "true", "false", "stream"];
    let literal = |prefix: &str| name.strip_prefix(prefix).is_some_and(|ty| ElementType::from_name(ty).is_some());
    let keyword = KEYWORDS.contains(&name)
        || name == "_"
        || ElementType::from_name(name).is_some()
        || ["inf_", "nan_", "bits_"].into_iter().any(literal);
    let part = |part: &str| {
        part != "flat"
            && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    !keyword && name.split('.').all(part)
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
