//! Every file of tests runs: where cargo is told not to look for them (`autotests = false`), each is named.

use super::arrows::Package;
use super::{File, Finding};

/// Files of tests that neither `tests/all.rs` nor the manifest of their crate names.
pub fn check(packages: &[Package], files: &[File]) -> Vec<Finding> {
    let text = |path: String| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let mut findings = Vec::new();
    for Package { folder, .. } in packages {
        let manifest = text(format!("{folder}/Cargo.toml"));
        if !manifest.lines().any(|line| line.trim() == "autotests = false") {
            continue;
        }
        let all = text(format!("{folder}/tests/all.rs"));
        for file in files {
            let Some(name) = file.path.strip_prefix(&format!("{folder}/tests/")) else { continue };
            let Some(name) = name.strip_suffix(".rs").filter(|name| !name.contains('/')) else { continue };
            let program = format!("name = \"{name}\"");
            let module = format!("mod {name};");
            let named = |text: &str, line: &str| text.lines().any(|found| found.trim() == line);
            if !named(manifest, &program) && !named(all, &module) {
                let message = format!(
                    "is not run: write `{module}` in {folder}/tests/all.rs, or `[[test]]` with `{program}` in {folder}/Cargo.toml"
                );
                findings.push(Finding::error(&file.path, 0, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn findings(manifest: &str) -> Vec<String> {
        let package = Package { name: "a".into(), folder: "passes/a".into(), dependencies: Vec::new() };
        let files = [
            file("passes/a/Cargo.toml", manifest),
            file("passes/a/tests/all.rs", "mod common;\nmod one;\n"),
            file("passes/a/tests/common/mod.rs", ""),
            file("passes/a/tests/one.rs", ""),
            file("passes/a/tests/two.rs", ""),
            file("passes/b/tests/three.rs", ""),
        ];
        check(&[package], &files).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn files_that_cargo_does_not_look_for_are_named() {
        let found = findings("autotests = false\n[[test]]\nname = \"all\"\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("error: passes/a/tests/two.rs: is not run: write `mod two;`"), "{found:?}");
        assert_eq!(findings("autotests = false\n[[test]]\nname = \"all\"\n[[test]]\nname = \"two\"\n"), [""; 0]);
        assert_eq!(findings("[package]\n"), [""; 0]); // cargo finds them by itself
    }
}
