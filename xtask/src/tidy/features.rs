//! The demonstration and the command are compiled with one set of features: who runs one and then the other compiles nothing twice.

use super::Finding;
use crate::workspace::Workspace;
use crate::{demo, process};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// Packages by name and version, each with the sets of features that it is compiled with.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Packages of both that have other features in one than in the other.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let tree = |arguments: &[&str]| -> Result<Features> {
        let mut cargo = workspace.cargo();
        cargo.args(["tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"]).args(arguments);
        Ok(features(&process::output(&mut cargo)?))
    };
    let example = [&demo::PACKAGE[..], &["--edges", "normal,build,dev"]].concat();
    Ok(differing(&tree(&example)?, &tree(&["--package", "fusebox-cli", "--edges", "normal,build"])?))
}

fn features(tree: &str) -> Features {
    let mut packages = Features::new();
    for line in tree.lines() {
        if let Some((package, features)) = line.split_once(" [") {
            // A procedural macro says so, and a member where it is.
            let package = package.split(" (").next().unwrap_or(package);
            packages.entry(package.to_owned()).or_default().insert(features.trim_end_matches(" (*)").to_owned());
        }
    }
    packages
}

fn differing(example: &Features, command: &Features) -> Vec<Finding> {
    let differs = |(package, features): (&String, &BTreeSet<String>)| {
        let other = command.get(package).filter(|other| *other != features)?;
        let message = format!("{features:?} in the demonstration and {other:?} in the command: both compile it");
        Some(Finding::error(package, 0, message))
    };
    example.iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_features_are_found() {
        let example = features(
            "a v1.0.0 (/somewhere) [x]\nb v1.0.0 (proc-macro) [x,y]\nb v1.0.0 (proc-macro) [x,y] (*)\nc v1.0.0 []\n",
        );
        assert_eq!(differing(&example, &features("a v1.0.0 [x]\nb v1.0.0 [x,y]\nd v1.0.0 [x]\n")), []);
        let found = differing(&example, &features("a v1.0.0 [x]\nb v1.0.0 [x]\n"));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("error: b v1.0.0: "), "{}", found[0]);
    }
}
