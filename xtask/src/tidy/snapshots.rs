//! Expectations in files belong to a test that is still there.

use super::{File, Finding};
use std::collections::BTreeMap;

/// Snapshots of insta whose source file is gone, or (a warning) names no such test; expectations of trybuild without
/// the program they are about.
pub fn check(files: &[File]) -> Vec<Finding> {
    let by_path: BTreeMap<&str, &File> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut findings = Vec::new();
    for file in files {
        if file.path.ends_with(".snap") {
            let Some(source) = source(&file.text) else {
                findings.push(Finding::error(&file.path, 0, "says in no line `source: FILE` which test it is of"));
                continue;
            };
            match by_path.get(source) {
                None => {
                    findings.push(Finding::error(&file.path, 0, format!("its test was in {source}, which is gone")))
                }
                Some(test) if !mentions(&test.text, name(&file.path)) => {
                    findings.push(Finding::warning(
                        &file.path,
                        0,
                        format!("{source} has no test `{}`", name(&file.path)),
                    ));
                }
                Some(_) => {}
            }
        }
        if let Some(stem) = file.path.strip_suffix(".stderr")
            && !by_path.contains_key(format!("{stem}.rs").as_str())
        {
            findings.push(Finding::error(&file.path, 0, "the program it is about is gone"));
        }
    }
    findings
}

/// The source file that insta noted between the two lines `---` at the top.
fn source(snapshot: &str) -> Option<&str> {
    let mut lines = snapshot.lines();
    lines.next().filter(|line| *line == "---")?;
    let source = lines.take_while(|line| *line != "---").find_map(|line| line.strip_prefix("source: "))?;
    Some(source.trim_matches('"'))
}

/// The test's or snapshot's own name: `crate__module__name-2.snap` is the second of `name`.
fn name(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = file.trim_end_matches(".snap").rsplit("__").next().unwrap_or(file);
    let name = name.split('@').next().unwrap_or(name);
    name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('-').unwrap_or(name)
}

/// Whether the test's file has a function of that name or a literal with it, or gives the name to a macro that makes tests; a name put
/// together (`{`) may be any.
fn mentions(test: &str, name: &str) -> bool {
    let to_macro =
        || test.lines().any(|line| line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
    test.contains(&format!("fn {name}("))
        || test.contains("stringify!(") && to_macro()
        || test.contains(&format!("\"{name}\""))
        || {
            let named = test.split("assert_snapshot!(").skip(1).map(str::trim_start);
            named.into_iter().any(|call| !call.starts_with('"')) && test.contains("format!(")
        }
        || test.contains("set_snapshot_suffix")
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn findings(files: &[File]) -> Vec<String> {
        check(files).into_iter().map(|finding| finding.to_string()).collect()
    }

    const SNAPSHOT: &str = "---\nsource: a/tests/t.rs\nexpression: x\n---\nsource: other.rs\n";

    #[test]
    fn a_snapshot_with_its_test_passes() {
        let test = file("a/tests/t.rs", "#[test]\nfn one() { insta::assert_snapshot!(x); }");
        for name in ["t__one.snap", "t__one-2.snap", "t__inner__one.snap"] {
            assert_eq!(
                findings(&[file(&format!("a/tests/snapshots/{name}"), SNAPSHOT), file(&test.path, &test.text)]),
                [""; 0]
            );
        }
    }

    #[test]
    fn names_given_to_a_macro_are_tests() {
        let test = file(
            "a/tests/t.rs",
            "macro_rules! all { ($($name:ident)*) => { stringify!($name) } }\nall! {\n    one: 1;\n}",
        );
        let of = |name: &str| file(&format!("a/tests/snapshots/{name}.snap"), SNAPSHOT);
        assert_eq!(findings(&[of("one"), file(&test.path, &test.text)]), [""; 0]);
        assert_eq!(
            findings(&[of("two"), test]),
            ["warning: a/tests/snapshots/two.snap: a/tests/t.rs has no test `two`"]
        );
    }

    #[test]
    fn orphans_are_found() {
        let gone = findings(&[file("a/tests/snapshots/t__one.snap", SNAPSHOT)]);
        assert_eq!(gone, ["error: a/tests/snapshots/t__one.snap: its test was in a/tests/t.rs, which is gone"]);
        let renamed = findings(&[file("s/t__one.snap", SNAPSHOT), file("a/tests/t.rs", "fn two() {}")]);
        assert_eq!(renamed, ["warning: s/t__one.snap: a/tests/t.rs has no test `one`"]);
        assert_eq!(findings(&[file("s/t.snap", "text")]).len(), 1);
        assert_eq!(findings(&[file("ui/a.stderr", ""), file("ui/b.stderr", ""), file("ui/b.rs", "")]).len(), 1);
    }
}
