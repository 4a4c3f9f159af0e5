//! Which names text can spell.

use crate::ElementType;

const KEYWORDS: [&str; 11] = ["fn", "let", "return", "yield", "if", "else", "while", "true", "false", "stream", "_"];

fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
        || ElementType::from_name(name).is_some()
        || name
            .split_once('_')
            .is_some_and(|(head, ty)| ["inf", "nan", "bits"].contains(&head) && ElementType::from_name(ty).is_some())
}

/// Whether text can spell `name`: a letter or `_`, then letters, digits, `_`, and no keyword; or such parts joined by `.`, none of
/// those behind a dot `flat`.
pub fn is_name(name: &str) -> bool {
    let part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphabetic() || c.is_ascii_digit() || c == '_');
    let mut parts = name.split('.');
    parts.next().is_some_and(|first| part(first) && !first.starts_with(|c: char| c.is_ascii_digit()))
        && parts.all(|rest| part(rest) && rest != "flat")
        && !is_keyword(name)
}
