//! What must not be in the tree: unfinished code, paths of one machine, and citations of pages that are not in it.

use super::source::Source;
use super::{File, Finding};

/// Written in two parts, since this file is searched as well.
const UNFINISHED: [&str; 3] = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!(")];
const PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
/// How pages outside of the tree were cited. What the project cites has to be in `docs/book`.
const CITED: [&str; 5] = [
    concat!("sp", "ec/"),
    concat!("design ", "D"),
    concat!("design ", "§"),
    concat!("review ", "§"),
    concat!("text-", "form.md"),
];

/// Unfinished code in Rust files (comments and literals may speak of it); paths and citations in all files.
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        if file.path.ends_with(".rs") {
            for (line, code) in (1..).zip(&Source::new(&file.text).code) {
                let code: String = code.split_whitespace().collect();
                let found = UNFINISHED.iter().filter(|word| code.contains(*word));
                findings.extend(found.map(|word| Finding::error(&file.path, line, format!("`{word}`"))));
            }
        }
        for (line, text) in (1..).zip(file.text.lines()) {
            let found = PATHS.iter().filter(|path| is_named(text, path));
            findings
                .extend(found.map(|path| Finding::error(&file.path, line, format!("a path of one machine: `{path}`"))));
            let found = CITED.iter().filter(|page| text.contains(*page));
            findings.extend(
                found.map(|page| Finding::error(&file.path, line, format!("cites a page that is not here: `{page}`"))),
            );
        }
    }
    findings
}

/// Whether an absolute path begins so; `a/home/b` is a relative one, and part of an address.
fn is_named(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~}".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<usize> {
        check(&[file(path, text)]).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unfinished_code_is_found_and_talk_of_it_is_not() {
        for word in UNFINISHED {
            assert_eq!(findings("a.rs", &format!("fn f() {{\n    {word})\n}}")), [2], "{word}");
            assert_eq!(findings("a.rs", &format!("// {word})\nlet x = \"{word})\";")), [0; 0], "{word}");
            assert_eq!(findings("a.md", word), [0; 0], "{word}");
        }
        assert_eq!(findings("a.rs", &UNFINISHED[0].replace('!', " ! ")), [1]);
    }

    #[test]
    fn citations_of_pages_elsewhere_are_found() {
        for page in CITED {
            assert_eq!(findings("a.rs", &format!("// as {page}7 says")), [1], "{page}");
            assert_eq!(findings("a.md", &format!("see\n{page}7")), [2], "{page}");
        }
        assert_eq!(findings("a.rs", "// the design of kernels: see docs/book/kernels.md"), [0; 0]);
    }

    #[test]
    fn paths_are_found_everywhere() {
        for path in PATHS {
            assert_eq!(findings("a.md", &format!("see\n`{path}x`")), [2], "{path}");
            assert_eq!(findings("a.rs", &format!("let x = \"{path}\"; // {path}")), [1], "{path}");
            assert_eq!(findings("a.md", &format!("my{path}x and https://example.org{path}")), [0; 0], "{path}");
        }
    }
}
