//! Names and signs that people know from other languages, and what is written here instead.
//!
//! One table. Its examples are statements of a program that takes [`EXAMPLE_INPUTS`](super::reference::EXAMPLE_INPUTS), or whole programs; the tests
//! read and check every one.

mod tables;

pub(super) use self::tables::{CALLS, FUNCTIONS, LABELS, SIGNS, TYPES, VALUES, WORDS};
use crate::{Binary, Unary};

/// What is known from elsewhere, and how it is written here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere {
    /// Its names.
    pub names: &'static [&'static str],
    /// What is said of each of them, as the rest of a sentence.
    pub says: &'static str,
    /// How it is written.
    pub example: &'static str,
}

const fn known(names: &'static [&'static str], says: &'static str, example: &'static str) -> Elsewhere {
    Elsewhere { names, says, example }
}

impl Elsewhere {
    fn help(&self, name: &str) -> String {
        format!("`{name}` {}: `{}`", self.says, self.example)
    }
}

fn find<'t>(table: &'t [Elsewhere], name: &str) -> Option<&'t Elsewhere> {
    table.iter().find(|known| known.names.contains(&name))
}

/// What to write instead of a function or operation that does not exist.
pub(super) fn call(name: &str) -> Option<String> {
    let (before, last) = name.rsplit_once('.').map_or((None, name), |(before, last)| (Some(before), last));
    if let Some(known) = find(CALLS, last) {
        return Some(known.help(name));
    }
    let before = before?;
    if super::reference::is_operation(last) {
        return Some(format!("`{name}` is written `{last}`: an operation is no method, and its arrays come last"));
    }
    let function = Unary::ALL.iter().any(|f| f.text() == last) || Binary::ALL.iter().any(|f| f.text() == last);
    function.then(|| format!("`{name}` is written `{last}`: functions have no `{before}.` before them"))
}

/// What to write instead of a name that means nothing.
pub(super) fn value(name: &str) -> Option<String> {
    find(VALUES, name.rsplit('.').next().unwrap_or(name)).map(|known| known.help(name))
}

/// What to write instead of a property of an array.
pub(super) fn property(name: &str) -> Option<String> {
    name.rsplit_once('.').and_then(|_| call(name))
}

/// What to write instead of a word where no name is expected.
pub(super) fn word(name: &str) -> Option<String> {
    find(WORDS, name).map(|known| known.help(name))
}

/// What to write instead of a word that stands before what was not expected.
pub(super) fn word_before(name: &str) -> Option<String> {
    if matches!(name, "lambda" | "fun" | "function" | "def" | "not") { word(name) } else { None }
}

/// How a comment is written, where one begins as elsewhere.
pub(super) fn comment(source: &str, at: usize) -> Option<String> {
    let rest = source.get(at..)?;
    let sign = ["//", "/*", "--", ";", "%", "(*"].into_iter().find(|sign| rest.starts_with(sign))?;
    Some(format!("`{sign}` begins no comment: `#` does, up to the end of its line"))
}

/// What to write instead of a sign that begins at a byte, or one byte before.
pub(super) fn sign(source: &str, at: usize) -> Option<String> {
    let begins = |from: usize, least: usize| {
        let rest = source.get(from..)?;
        SIGNS.iter().find_map(|known| {
            let sign = known.names.iter().find(|sign| sign.len() >= least && rest.starts_with(**sign))?;
            Some(known.help(sign))
        })
    };
    at.checked_sub(1).and_then(|before| begins(before, 2)).or_else(|| begins(at, 1))
}

/// What to write instead of an argument of this name.
pub(super) fn label(name: &str) -> Option<String> {
    find(LABELS, name).map(|known| known.help(name))
}

/// What to write instead of a function where an operation takes none.
pub(super) fn function_of(operation: &str) -> Option<String> {
    find(FUNCTIONS, operation).map(|known| known.help(operation))
}

/// How an element type is written that has another name elsewhere.
pub(super) fn element(name: &str) -> Option<String> {
    if name.to_ascii_lowercase().starts_with("complex") {
        return Some("as two arrays, such as `z.re` and `z.im`".to_owned());
    }
    TYPES.iter().find(|(names, _)| names.contains(&name)).map(|(_, ty)| format!("`{ty}`"))
}
