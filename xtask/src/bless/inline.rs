//! Rewriting the literals of inline snapshots: `@"…"` in the source.

use crate::tidy::Source;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ops::Range;

/// `source` with new snapshots: by the line (from 1) where their assertion begins.
///
/// # Errors
/// If there is no literal after an `@` in or after such a line.
pub fn rewrite(source: &str, wanted: &BTreeMap<usize, String>) -> Result<String> {
    let code = Source::new(source).code;
    let lines: Vec<&str> = source.split('\n').collect();
    let mut places: Vec<(Range<usize>, String)> = Vec::new();
    for (&line, text) in wanted {
        let place = literal(source, &code, line).with_context(|| format!("line {line} has no snapshot"))?;
        let first = lines[line - 1];
        let indent = &first[..first.len() - first.trim_start().len()];
        places.push((place, quoted(text, indent)));
    }
    let mut result = source.to_owned();
    for (place, literal) in places.into_iter().rev() {
        result.replace_range(place, &literal);
    }
    Ok(result)
}

/// Where the literal is, in bytes, without its `@`.
fn literal(source: &str, code: &[String], line: usize) -> Option<Range<usize>> {
    let from = line.checked_sub(1).filter(|from| *from < code.len())?;
    // Characters before the line are as many in the code as in the source, though bytes are not.
    let before: usize = code[..from].iter().map(|line| line.chars().count() + 1).sum();
    let rest = code[from..].join("\n");
    let begin = rest.find("@\"")? + 1;
    let end = begin + 1 + rest[begin + 1..].find('"')? + 1;
    let byte = |at: usize| {
        let characters = before + rest[..at].chars().count();
        source.char_indices().map(|(byte, _)| byte).chain([source.len()]).nth(characters)
    };
    Some(byte(begin)?..byte(end)?)
}

/// A literal for the text; lines of longer texts are indented like the assertion, which insta takes off again.
fn quoted(text: &str, indent: &str) -> String {
    let raw = text.contains(['"', '\\', '\n']);
    let mut hashes = String::new();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    let body = if text.contains('\n') {
        let lines = text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("\n{indent}{line}") });
        format!("{}\n{indent}", lines.collect::<String>())
    } else {
        text.to_owned()
    };
    if raw { format!("r{hashes}\"{body}\"{hashes}") } else { format!("\"{body}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(source: &str, wanted: &[(usize, &str)]) -> String {
        let wanted = wanted.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
        rewrite(source, &wanted).unwrap()
    }

    #[test]
    fn lines_are_indented_like_the_assertion() {
        let source = "fn t() {\n    // é @\"no\"\n    assert_snapshot!(\"é @\", @r\"\n    old\n    \");\n}";
        let expected = "fn t() {\n    // é @\"no\"\n    assert_snapshot!(\"é @\", @r\"\n    a\n\n      b\n    \");\n}";
        assert_eq!(rewritten(source, &[(3, "a\n\n  b")]), expected);
    }

    #[test]
    fn several_in_a_file_each_get_their_own() {
        let source = "a!(x, @\"\");\na!(\n  y,\n  @r#\"o\"#);\na!(z, @\"z\");";
        assert_eq!(
            rewritten(source, &[(1, "1"), (2, "\"#\\")]),
            "a!(x, @\"1\");\na!(\n  y,\n  @r##\"\"#\\\"##);\na!(z, @\"z\");"
        );
    }

    #[test]
    fn where_no_literal_is_there_is_an_error() {
        assert!(rewrite("a!(x);", &BTreeMap::from([(1, String::new())])).is_err());
        assert!(rewrite("a!(x, @\"\");", &BTreeMap::from([(7, String::new())])).is_err());
    }
}
