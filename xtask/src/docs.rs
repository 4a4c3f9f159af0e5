//! `docs`: the book, and the documentation of all crates beside it.

use crate::workspace::Workspace;
use crate::{process, setup};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Build the book and the documentation of all crates, and say where they are
#[derive(clap::Args)]
pub struct Options {
    /// Open the book in a browser
    #[arg(long)]
    open: bool,
    /// Build the book alone
    #[arg(long)]
    book: bool,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let book = book(workspace)?;
    setup::ensure(workspace)?;
    explained(workspace, &book)?;
    if !options.book {
        process::run_aloud(&mut build(workspace))?;
        let crates = workspace.target()?.join("doc");
        let beside = book.join("doc");
        copy(&crates, &beside).with_context(|| format!("cannot copy {}", crates.display()))?;
        println!("{}", beside.join("fusebox/index.html").display());
    }
    let page = book.join("index.html");
    println!("{}", page.display());
    if options.open {
        process::run(Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" }).arg(page))?;
    }
    Ok(())
}

/// The command that builds the documentation of crates; warnings (broken links, say) are errors.
pub fn build(workspace: &Workspace) -> Command {
    let mut cargo = workspace.cargo();
    cargo.args(["doc", "--no-deps", "--workspace", "--keep-going"]).env("RUSTDOCFLAGS", "-Dwarnings");
    cargo
}

/// Builds the pages of the book; the folder that they are in.
fn book(workspace: &Workspace) -> Result<PathBuf> {
    let program = setup::mdbook(workspace)?;
    let folder = workspace.target()?.join("book");
    let mut mdbook = Command::new(program);
    mdbook.arg("build").arg(workspace.root().join("docs")).arg("--dest-dir").arg(&folder);
    process::run_aloud(&mut mdbook)?;
    Ok(folder)
}

/// Writes what `explain` says of each program of the gallery into the book: the page `gallery-NAME.md` shows program NAME.
fn explained(workspace: &Workspace, book: &Path) -> Result<()> {
    let folder = book.join("explain");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    process::run_aloud(workspace.cargo().args(["build", "--package", "fusebox-cli"]))?;
    let command = workspace.target()?.join("debug").join(format!("fusebox{}", std::env::consts::EXE_SUFFIX));
    let mut pages: Vec<String> = fs::read_dir(workspace.root().join("docs/book"))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.to_owned()))
        .collect();
    pages.sort();
    for name in pages.iter().filter_map(|page| page.strip_prefix("gallery-")?.strip_suffix(".md")) {
        let program = Path::new("golden/programs").join(format!("{name}.fbx"));
        let page = folder.join(format!("{name}.html"));
        let mut explain = Command::new(&command);
        explain.current_dir(workspace.root()).arg("explain").arg(program).arg("--html").arg(page);
        process::run(&mut explain)?;
    }
    Ok(())
}

/// Copies a folder with all that is in it, so that the book can be moved as a whole.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
