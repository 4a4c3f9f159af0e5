//! What later builds need to know, as environment variables that cargo sets by itself.

use super::cache::LIBRARY;
use super::tools::{Tool, Tools};
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Included by `.cargo/config.toml` where it exists; not under version control.
pub const FILE: &str = ".cargo/local.toml";

/// What may be set: names of all variables.
pub const VARIABLES: [&str; 3] = ["PKG_CONFIG_PATH", "LIBCLANG_PATH", "PKG_CONFIG"];

/// The variables by which build scripts find HiGHS, libclang and pkg-config.
pub struct Environment {
    library: PathBuf,
    variables: BTreeMap<&'static str, String>,
}

impl Environment {
    /// `library` is the folder HiGHS was installed into.
    pub fn new(library: &Path, tools: &Tools) -> Self {
        let mut search = library.join("lib/pkgconfig").to_string_lossy().into_owned();
        // Cargo's value replaces the one of the shell, so that one has to be part of it.
        let others = std::env::var("PKG_CONFIG_PATH").unwrap_or_default();
        for other in others.split(':').filter(|other| !other.is_empty() && !is_ours(other)) {
            search = format!("{search}:{other}");
        }
        let mut variables = BTreeMap::from([("PKG_CONFIG_PATH", search)]);
        if let Some(folder) = tools.get(Tool::Libclang).and_then(Path::parent) {
            variables.insert("LIBCLANG_PATH", folder.to_string_lossy().into_owned());
        }
        // Named only where it is not simply the one on the PATH.
        if let Some(program) = tools.get(Tool::PkgConfig).filter(|program| program.is_absolute()) {
            variables.insert("PKG_CONFIG", program.to_string_lossy().into_owned());
        }
        Self { library: library.to_owned(), variables }
    }

    /// The folder HiGHS was installed into.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Names and values.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Writes [`FILE`], if it does not say the same already.
    pub fn write(&self, workspace: &Workspace) -> Result<()> {
        let path = workspace.root().join(FILE);
        let text = self.config();
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        let new = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&new, text).with_context(|| format!("cannot write {}", new.display()))?;
        fs::rename(&new, &path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The cargo configuration, as TOML. JSON's strings are TOML's basic strings.
    fn config(&self) -> String {
        let mut text =
            String::from("# Written by `cargo xtask setup`; of this machine, so not under version control.\n[env]\n");
        for (name, value) in self.variables() {
            let value = serde_json::Value::from(value);
            text += &format!("{name} = {{ value = {value}, force = true }}\n");
        }
        text
    }
}

/// Whether a search path is one of ours: cargo has passed it to this program.
fn is_ours(path: &str) -> bool {
    Path::new(path).components().any(|part| part.as_os_str().to_string_lossy().starts_with(LIBRARY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pkg_config: &str) -> Tools {
        Tools::of(&[(Tool::Libclang, "/opt/clang/libclang.so"), (Tool::PkgConfig, pkg_config)])
    }

    #[test]
    fn a_tool_on_the_path_is_not_named() {
        let environment = Environment::new(Path::new("/cache/highs-1"), &found("pkg-config"));
        let names: Vec<_> = environment.variables().map(|(name, _)| name).collect();
        assert_eq!(names, ["LIBCLANG_PATH", "PKG_CONFIG_PATH"]);
    }

    #[test]
    fn values_are_quoted_for_toml() {
        let environment = Environment::new(Path::new("/a \"b\"/highs-1"), &found("/venv/pkgconf"));
        let config = environment.config();
        assert!(config.contains(r#"PKG_CONFIG_PATH = { value = "/a \"b\"/highs-1/lib/pkgconfig"#), "{config}");
        assert!(config.contains(r#"PKG_CONFIG = { value = "/venv/pkgconf", force = true }"#), "{config}");
    }

    #[test]
    fn our_own_search_path_is_recognised() {
        assert!(is_ours(&format!("/cache/{}1.15.0-x/lib/pkgconfig", LIBRARY)));
        assert!(!is_ours("/usr/lib/pkgconfig"));
    }
}
