//! Which crate may use which: `driver -> passes, backends -> ir/core`, and never across.

use super::Finding;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A member of the workspace.
pub struct Package {
    /// As in its manifest.
    pub name: String,
    /// Relative to the root, such as `passes/fusion`.
    pub folder: String,
    /// Names of the crates that it needs to be used; those of its tests are not among them.
    pub dependencies: Vec<String>,
}

/// The members, as `cargo metadata` tells them.
pub fn packages(metadata: &Value) -> Result<Vec<Package>> {
    let root = Path::new(metadata["workspace_root"].as_str().context("no workspace root")?);
    let packages = metadata["packages"].as_array().context("no packages")?;
    packages.iter().map(|package| self::package(package, root)).collect()
}

fn package(package: &Value, root: &Path) -> Result<Package> {
    let text = |value: &Value| value.as_str().map(String::from).context("cargo metadata lacks a text");
    let manifest = text(&package["manifest_path"])?;
    let folder = Path::new(&manifest).parent().and_then(|folder| folder.strip_prefix(root).ok());
    let folder = folder.context("a member outside the workspace")?.components();
    let folder: Vec<_> = folder.map(|part| part.as_os_str().to_string_lossy()).collect();
    let dependencies = package["dependencies"].as_array().context("a package without dependencies")?;
    let dependencies = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
    Ok(Package {
        name: text(&package["name"])?,
        folder: folder.join("/"),
        dependencies: dependencies.map(|dependency| text(&dependency["name"])).collect::<Result<_>>()?,
    })
}

/// Every arrow that points where it must not.
pub fn check(packages: &[Package]) -> Vec<Finding> {
    let folders: BTreeMap<&str, &str> = packages.iter().map(|one| (one.name.as_str(), one.folder.as_str())).collect();
    let mut findings = Vec::new();
    for package in packages {
        let used = package.dependencies.iter().filter_map(|name| folders.get(name.as_str()));
        for used in used.filter(|used| !may_use(&package.folder, used)) {
            findings.push(Finding::error(
                &package.folder,
                0,
                format!("must not depend on {used}: {}", rule(&package.folder)),
            ));
        }
    }
    findings
}

/// What the tests of all backends share.
const TESTS: &str = "backends/conformance";

/// Whether the crate in the folder `user` may depend on the one in `used`.
fn may_use(user: &str, used: &str) -> bool {
    match layer(user) {
        // What tests are made of is needed by nothing else.
        _ if used == TESTS => false,
        // Tests lower programs, and ask the interpreter; they know no backend.
        _ if user == TESTS => matches!(layer(used), "ir" | "passes") || used == "backends/api",
        "ir" => user != "ir/core" && layer(used) == "ir",
        "passes" => used == "ir/core",
        "backends" => {
            let others = [
                ("backends/cranelift", "backends/schedule"),
                ("backends/cranelift", "backends/wide"),
                ("backends/cuda", "backends/ptx"),
                ("backends/ptx", "backends/schedule"),
                ("backends/ptx", "backends/ptx-sim"),
            ];
            // The IR that code generators share: it knows none of them.
            let shared = used == "backends/vector" && matches!(user, "backends/cranelift" | "backends/wide");
            used == "ir/core" || used == "backends/api" || shared || others.contains(&(user, used))
        }
        "driver" => matches!(layer(used), "ir" | "passes" | "backends" | "driver"),
        "golden" | "docs" => used != "xtask",
        _ => false,
    }
}

fn rule(user: &str) -> &'static str {
    match layer(user) {
        _ if user == TESTS => "what every backend is tested by knows none of them",
        "ir" if user == "ir/core" => "it is what all others stand on",
        "ir" => "the IR knows no pass, no backend and no driver",
        "passes" => "a pass can be taken alone; what two share is in ir/core",
        "backends" => "a backend can be taken alone; what all share is in backends/api",
        "driver" => "the driver is what users hold",
        "golden" | "docs" => "tests need no commands",
        _ => "nothing is known of this folder; xtask stays free of what it builds",
    }
}

/// The first folder of a path.
fn layer(folder: &str) -> &str {
    folder.split('/').next().unwrap_or(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each member as its folder, whose last part is its name too, and what it depends on.
    fn findings(members: &[(&str, &[&str])]) -> Vec<String> {
        let packages: Vec<_> = members
            .iter()
            .map(|(folder, dependencies)| Package {
                name: folder.rsplit('/').next().unwrap().into(),
                folder: (*folder).into(),
                dependencies: dependencies.iter().map(|name| (*name).into()).collect(),
            })
            .collect();
        check(&packages).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn arrows_down_are_fine() {
        let members: &[(&str, &[&str])] = &[
            ("ir/core", &["serde"]),
            ("ir/lang", &["core"]),
            ("passes/fusion", &["core", "egg"]),
            ("backends/api", &["core"]),
            ("backends/vector", &["core"]),
            ("backends/schedule", &["core"]),
            ("backends/wide", &["core", "api", "vector"]),
            ("backends/cranelift", &["core", "api", "schedule", "vector", "wide"]),
            ("backends/conformance", &["core", "interp", "fusion", "api"]),
            ("ir/interp", &["core"]),
            ("driver/cli", &["fusion", "cranelift", "lang"]),
            ("golden", &["core", "cli"]),
            ("xtask", &["clap"]),
        ];
        assert_eq!(findings(members), [""; 0]);
    }

    #[test]
    fn arrows_across_and_up_are_not() {
        for (user, used) in [
            ("passes/fusion", "passes/sharing"),
            ("passes/fusion", "backends/api"),
            ("passes/fusion", "ir/lang"),
            ("ir/core", "ir/lang"),
            ("ir/interp", "passes/kernels"),
            ("ir/lang", "driver/fusebox"),
            ("backends/wide", "backends/cranelift"),
            ("backends/vector", "backends/wide"),
            ("backends/ptx", "backends/vector"),
            ("backends/wide", "backends/schedule"),
            ("backends/ptx", "passes/kernels"),
            ("backends/cuda", "backends/cranelift"),
            ("backends/conformance", "backends/cranelift"),
            ("driver/cli", "backends/conformance"),
            ("driver/cli", "golden"),
            ("xtask", "ir/core"),
        ] {
            let name = used.rsplit('/').next().unwrap();
            let found = findings(&[(user, &[name]), (used, &[])]);
            assert_eq!(found.len(), 1, "{user} -> {used}: {found:?}");
            assert!(found[0].starts_with(&format!("error: {user}: must not depend on {used}")), "{found:?}");
        }
    }

    #[test]
    fn what_tests_use_is_exempt() {
        let metadata = serde_json::json!({ "workspace_root": "/w", "packages": [
            { "name": "a", "manifest_path": "/w/passes/a/Cargo.toml", "dependencies": [
                { "name": "b", "kind": "dev" }, { "name": "c", "kind": null }, { "name": "d", "kind": "build" } ] } ] });
        let packages = packages(&metadata).unwrap();
        assert_eq!(packages[0].folder, "passes/a");
        assert_eq!(packages[0].dependencies, ["c", "d"]);
    }
}
