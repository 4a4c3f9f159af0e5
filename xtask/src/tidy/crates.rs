//! Every crate has a front page, and the lints that all share.

use super::arrows::Package;
use super::{File, Finding};

/// Members that break it.
pub fn check(packages: &[Package], files: &[File]) -> Vec<Finding> {
    let text = |path: String| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let mut findings = Vec::new();
    for Package { folder, .. } in packages {
        if text(format!("{folder}/README.md")).is_none() {
            findings.push(Finding::warning(folder, 0, "has no README.md"));
        }
        if !shares_lints(text(format!("{folder}/Cargo.toml")).unwrap_or_default()) {
            findings.push(Finding::error(folder, 0, "its Cargo.toml lacks `workspace = true` under `[lints]`"));
        }
    }
    findings
}

fn shares_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.by_ref().any(|line| line == "[lints]")
        && lines.take_while(|line| !line.starts_with('[')).any(|line| line.replace(' ', "") == "workspace=true")
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn findings(files: &[File]) -> Vec<String> {
        let package = Package { name: "a".into(), folder: "passes/a".into(), dependencies: Vec::new() };
        check(&[package], files).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_whole_crate_passes() {
        let manifest = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n";
        assert_eq!(findings(&[file("passes/a/Cargo.toml", manifest), file("passes/a/README.md", "")]), [""; 0]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let manifest = "[package]\nedition.workspace = true\n[lints]\n[dependencies]\nworkspace = true\n";
        let found = findings(&[file("passes/a/Cargo.toml", manifest), file("passes/b/README.md", "")]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "warning: passes/a: has no README.md");
        assert!(found[1].starts_with("error: passes/a: its Cargo.toml lacks"), "{found:?}");
    }
}
