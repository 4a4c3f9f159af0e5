//! Unsafe code is in backends alone, and each use of it says why it is right.

use super::source::Source;
use super::{File, Finding};

/// The files outside `backends/` that may: in one somebody vouches for a plan, and lowering does so in the next; the others hand on that a
/// caller vouches for what the checks of a program would find, down to those who know the inputs, since
/// the same program has not failed on them with its checks. In the last a caller vouches that nobody changes a file that is mapped.
const VOUCH: [&str; 8] = [
    "ir/core/src/proved_plan.rs",
    "passes/kernels/src/lib.rs",
    "driver/fusebox/src/backend/planned.rs",
    "driver/fusebox/src/backend/mod.rs",
    "driver/fusebox/src/unchecked.rs",
    "driver/bench/src/compiled.rs",
    "driver/cli/src/commands/run.rs",
    "driver/fusebox/src/files/map.rs",
];

/// Every `unsafe` outside `backends/` (but for some files); inside, every unsafe block or implementation without a `SAFETY:` comment.
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let source = Source::new(&file.text);
        for line in 0..source.code.len() {
            let mut uses = uses(&source, line).peekable();
            if uses.peek().is_none() {
                continue;
            }
            if !file.path.starts_with("backends/") && !VOUCH.contains(&file.path.as_str()) {
                findings.push(Finding::error(&file.path, line + 1, "unsafe code outside backends/"));
            } else if uses.any(|next| needs_reason(&next)) && !has_reason(&source, line) {
                findings.push(Finding::error(&file.path, line + 1, "no `// SAFETY:` comment before it"));
            }
        }
    }
    findings
}

/// For every word `unsafe` on the line: the code that follows it, on this line or the next.
fn uses(source: &Source, line: usize) -> impl Iterator<Item = String> {
    let code = &source.code[line];
    let name = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
    let places = code.match_indices("unsafe").map(|(at, word)| (at, at + word.len()));
    let words = places.filter(move |(begin, end)| !code[..*begin].ends_with(name) && !code[*end..].starts_with(name));
    words.map(move |(_, end)| {
        let next = code[end..].trim_start();
        if next.is_empty() {
            source.code.get(line + 1).map_or(String::new(), |code| code.trim().into())
        } else {
            next.into()
        }
    })
}

/// Declarations of functions, traits, types and attributes (`unsafe(no_mangle)`) hand the duty on; only uses discharge it.
fn needs_reason(next: &str) -> bool {
    next.starts_with('{') || next.starts_with("impl")
}

/// Whether a comment says `SAFETY:` on the line, or before it as far as the statement reaches.
fn has_reason(source: &Source, line: usize) -> bool {
    if source.comments[line].contains("SAFETY:") {
        return true;
    }
    for above in (0..line).rev() {
        if source.comments[above].contains("SAFETY:") {
            return true;
        }
        let code = source.code[above].trim();
        let is_comment = code.is_empty() && !source.comments[above].trim().is_empty();
        if !is_comment && (code.is_empty() || code.ends_with([';', '{', '}', ','])) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<usize> {
        check(&[file(path, text)]).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn only_backends_may() {
        let text = "fn f() {\n    // SAFETY: it is so\n    unsafe { g() }\n}";
        assert_eq!(findings("backends/api/src/a.rs", text), [0; 0]);
        assert_eq!(findings("passes/fusion/src/a.rs", text), [3]);
        assert_eq!(findings(VOUCH[0], text), [0; 0]);
        assert_eq!(findings(VOUCH[0], "fn f() {\n    unsafe { g() }\n}"), [2]);
        assert_eq!(findings("passes/fusion/src/a.rs", "unsafe fn f() {}"), [1]);
    }

    #[test]
    fn every_block_says_why() {
        for text in [
            "fn f() {\n    unsafe { g() }\n}",
            "// SAFETY: of another\nlet x = 1;\nunsafe { g() }",
            "// SAFETY: of another\n\nunsafe { g() }",
            "// about something else\nunsafe { g() }",
            "unsafe impl Send for X {}",
            "let x =\n    unsafe\n    { g() };",
            "let x = \"// SAFETY: no\"; unsafe { g() }",
        ] {
            assert_eq!(findings("backends/a.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn reasons_are_found() {
        for text in [
            "unsafe { g() } // SAFETY: here",
            "// SAFETY: of two\n// lines\nlet x = unsafe { g() };",
            "// SAFETY: the statement is long\nlet x = h(a)\n    .b(unsafe { g() });",
            "/* SAFETY: so */\n#[allow(x)]\nunsafe impl Send for X {}",
        ] {
            assert_eq!(findings("backends/a.rs", text), [0; 0], "{text}");
        }
    }

    #[test]
    fn declarations_names_and_text_are_no_uses() {
        for text in [
            "pub unsafe fn f() {}",
            "type F = unsafe extern \"C\" fn(*const u8);",
            "#[unsafe(no_mangle)]\nextern \"C\" fn f() {}",
        ] {
            assert_eq!(findings("backends/a.rs", text), [0; 0], "{text}");
        }
        for text in ["#![deny(unsafe_code)]", "// unsafe { }", "let x = \"unsafe { }\";", "mod r#unsafe_code;"] {
            assert_eq!(findings("ir/a.rs", text), [0; 0], "{text}");
        }
    }
}
