//! Whether the crates that others may take can be packaged, each with what a registry shows of it. Nothing is published.

use crate::process;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Members for work on the project itself, which nobody takes.
const OWN: [&str; 5] = ["fusebox-bench", "fusebox-book", "fusebox-golden", "fusebox-gpu-suite", "xtask"];

/// Packages every other member: all files that it needs are its own, and all of its dependencies have versions.
pub fn check(workspace: &Workspace) -> Result<()> {
    let metadata = workspace.metadata()?;
    let members = metadata["packages"].as_array().context("no packages")?;
    let name = |member: &Value| member["name"].as_str().unwrap_or_default().to_owned();
    let members: Vec<&Value> = members.iter().filter(|member| !OWN.contains(&name(member).as_str())).collect();
    let lacking: Vec<String> = members
        .iter()
        .flat_map(|member| lacks(member).into_iter().map(|what| format!("{} has no {what}", name(member))))
        .collect();
    if !lacking.is_empty() {
        bail!("{}", lacking.join("; "));
    }
    let mut cargo = workspace.cargo();
    // Without a lock file, since the registry does not know these crates; without building them again from their packages.
    cargo.args(["package", "--quiet", "--no-verify", "--allow-dirty", "--exclude-lockfile"]);
    members.iter().for_each(|member| _ = cargo.args(["--package", &name(member)]));
    process::run_aloud(&mut cargo)
}

/// What a manifest leaves out.
fn lacks(member: &Value) -> Vec<&'static str> {
    let is_given = |what: &str| match &member[what] {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    ["description", "keywords", "categories", "readme", "license"].into_iter().filter(|what| !is_given(what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_manifest_lacks_is_named() {
        let whole = serde_json::json!({
            "description": "a", "keywords": ["b"], "categories": ["c"], "readme": "README.md", "license": "MIT",
        });
        assert_eq!(lacks(&whole), [""; 0]);
        let part = serde_json::json!({"description": "a", "keywords": [], "categories": ["c"], "readme": null, "license": "MIT"});
        assert_eq!(lacks(&part), ["keywords", "readme"]);
    }
}
