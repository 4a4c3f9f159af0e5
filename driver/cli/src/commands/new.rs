//! `new`: a crate with a program, ready to run.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::Failure;

/// Make a folder with a crate in it: a program in Rust and as text, each with tests, ready to run
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder, which must not be there yet; its name is the crate's
    folder: PathBuf,
    /// A folder with the sources of fusebox, for the crate to depend on [default: that which this command was built from]
    #[arg(long, value_name = "FOLDER")]
    path: Option<PathBuf>,
    /// A git repository with them
    #[arg(long, value_name = "URL", conflicts_with = "path")]
    git: Option<String>,
}

/// What the crate has: names of files, and what is in them.
const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("../../templates/Cargo.toml.template")),
    ("src/main.rs", include_str!("../../templates/main.rs.template")),
    ("standardise.fbx", include_str!("../../templates/standardise.fbx.template")),
    ("README.md", include_str!("../../templates/README.md.template")),
    (".gitignore", "/target\n"),
];

/// The sources of the library, when this command was built.
const BUILT_FROM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fusebox");

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let folder = &options.folder;
    let name = crate_name(folder)?;
    let dependency = dependency(options)?;
    if fs::symlink_metadata(folder).is_ok() {
        return Err(anyhow::anyhow!("{} is there already", folder.display()).into());
    }
    fs::create_dir_all(folder.join("src")).with_context(|| format!("cannot make {}", folder.display()))?;
    for (file, template) in FILES {
        let path = folder.join(file);
        let text = template.replace("NAME", name).replace("FUSEBOX", &dependency);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    writeln!(
        out,
        "made {0}: now `cd {0}`, then `cargo run`; `fusebox test standardise.fbx` tests the same program as text",
        folder.display()
    )?;
    Ok(())
}

/// Words of Rust.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// The name of a folder, if a crate may have it.
fn crate_name(folder: &Path) -> anyhow::Result<&str> {
    let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
        bail!("{} names no new folder", folder.display())
    };
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
        bail!(
            "`{name}` is no name of a crate: it has letters from a to z, digits, `-` and `_`, and begins with a letter"
        )
    }
    // A crate of the name of its dependency, or of what `use` finds before crates.
    if matches!(name, "fusebox" | "std" | "core" | "alloc" | "test") {
        bail!("a crate cannot be called `{name}` here: another has that name")
    }
    if KEYWORDS.contains(&name) {
        bail!("a crate cannot be called `{name}`: that is a word of Rust")
    }
    Ok(name)
}

/// How the crate names the library.
fn dependency(options: &Options) -> anyhow::Result<String> {
    // Strings of TOML are written as those of JSON.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    if let Some(url) = &options.git {
        return Ok(format!("git = {}", quoted(url)));
    }
    let (given, hint) = match &options.path {
        Some(path) => (path.as_path(), "has no driver/fusebox/Cargo.toml"),
        None => (
            Path::new(BUILT_FROM),
            "is where this command was built from, and is not there any more: say by --path or --git where fusebox is",
        ),
    };
    let sources = [given.join("driver/fusebox"), given.to_owned()];
    let found = sources.iter().find(|sources| {
        fs::read_to_string(sources.join("Cargo.toml")).is_ok_and(|manifest| manifest.contains("name = \"fusebox\""))
    });
    let Some(found) = found else { bail!("{} {hint}", given.display()) };
    let found = found.canonicalize().with_context(|| format!("cannot read {}", found.display()))?;
    let text = found.to_str().with_context(|| format!("{} is no text", found.display()))?;
    Ok(format!("path = {}", quoted(text)))
}
