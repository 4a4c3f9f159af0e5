//! `explain`: what each pass makes of a program, and why operations were fused or not.

use std::{fs, io::Write, path::PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use fusebox::Fusion;

use crate::{
    Failure,
    explain::{dot, page, text},
    progress::Progress,
    source,
};

/// Say what each pass makes of a program, which operations were fused, which were not and why, and what that is worth
///
/// Loops, reads and writes are counted without running the program, as polynomials in its sizes; "before" is without fusion. A program
/// that no backend compiles yet is explained as far as passes go. The backend makes no difference.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program, as text (.fbx) or JSON
    program: PathBuf,
    /// How operations are fused: none, greedy, optimal
    #[arg(long, default_value = "optimal")]
    fusion: String,
    /// How to print it [default: text, or nothing where a page is written]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write one page for a browser, which needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Check the program after each pass
    #[arg(long)]
    verify: bool,
}

/// Forms of explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For tools
    Json,
    /// Clusters, for Graphviz
    Dot,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let fusion: Fusion = options.fusion.parse().map_err(fusebox::Error::UnknownFusion)?;
    let progress = Progress::start();
    progress.step("reading the program");
    let program = source::read(&options.program)?;
    progress.step("compiling");
    let compile = fusebox::Options { fusion, verify: options.verify, ..fusebox::Options::default() };
    let explanation = fusebox::explain(&program, &compile)?;
    drop(progress);
    if let Some(path) = &options.html {
        fs::write(path, page(&explanation)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let default = if options.html.is_none() { Some(Format::Text) } else { None };
    match options.format.or(default) {
        None => {}
        Some(Format::Text) => write!(out, "{}", text(&explanation))?,
        Some(Format::Dot) => write!(out, "{}", dot(&explanation))?,
        Some(Format::Json) => {
            serde_json::to_writer_pretty(&mut *out, &explanation).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
