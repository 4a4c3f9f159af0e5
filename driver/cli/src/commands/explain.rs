//! `explain`: what each pass makes of a program, and why operations were fused or not.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::ValueEnum;
use fusebox::KernelTimes;
use fusebox_ir::{Made, Plan};

use super::choices::Choices;
use crate::{Failure, colour, progress::Progress, source};

/// Say what each pass makes of a program, which operations were fused, which were not and why, and what that is worth
///
/// Loops, reads and writes are counted without running the program, as polynomials in its sizes; "before" is without fusion. A program
/// that no backend compiles yet is explained as far as passes go. The backend makes no difference.
///
/// Of a plan it says what each kernel takes, and all of them: what was fused, a plan does not know.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program, as text (.fbx) or JSON; or a plan, as JSON
    program: PathBuf,
    #[command(flatten)]
    choices: Choices,
    /// The machine that schedules are shown for: avx512, avx2, sse, neon, sm_70, sm_80, sm_90, sm_100 [default: avx2]
    #[arg(long)]
    target: Option<String>,
    /// How to print it [default: text, or nothing where a page is written]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write one page for a browser, which needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// What `run --stats` printed of the same program, compiled in the same way: times of kernels, and sizes to begin with
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
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

fn of_plan(options: &Options, plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    let path = &options.program;
    options.choices.refuse(path)?;
    source::refuse(path, "--verify", options.verify)?;
    source::refuse(path, "--html", options.html.is_some())?;
    source::refuse(path, "--stats", options.stats.is_some())?;
    source::refuse(path, "--target", options.target.is_some())?;
    match options.format {
        None | Some(Format::Text) => write!(out, "{}", fusebox::explain_plan(plan)?)?,
        Some(Format::Json) => writeln!(out, "{}", fusebox::explain_plan(plan)?.to_json())?,
        Some(Format::Dot) => {
            let name = path.display();
            return Err(anyhow::anyhow!(
                "{name}: this is a plan, and has no clusters to draw: `fusebox dump {name} --format dot` draws its steps"
            )
            .into());
        }
    }
    Ok(())
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let choices = options.choices.options()?;
    let progress = Progress::start();
    progress.step("reading the program");
    let program = match source::read(&options.program)? {
        Made::Program(program) => program,
        Made::Plan(plan) => {
            drop(progress);
            return of_plan(options, &plan, out);
        }
    };
    progress.step("compiling");
    let compile = fusebox::Options { verify: options.verify, ..choices };
    let mut explanation = match &options.target {
        Some(target) => fusebox::explain_for(&program, &compile, target)?,
        None => fusebox::explain(&program, &compile)?,
    };
    drop(progress);
    if let Some(path) = &options.stats {
        explanation = explanation.with_times(&times(path)?)?;
    }
    if let Some(path) = &options.html {
        explanation.write_html(path)?;
        eprintln!("wrote {}", path.display());
    }
    let default = if options.html.is_none() { Some(Format::Text) } else { None };
    match options.format.or(default) {
        None => {}
        Some(Format::Text) => write!(out, "{}", colour::explanation(explanation.to_string()))?,
        Some(Format::Dot) => write!(out, "{}", explanation.to_dot())?,
        Some(Format::Json) => writeln!(out, "{}", explanation.to_json())?,
    }
    Ok(())
}

/// The times in a file of statistics.
fn times(path: &Path) -> anyhow::Result<KernelTimes> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let wrong =
        || format!("{}: this is not what `fusebox run --stats` prints of a program that has kernels", path.display());
    serde_json::from_str(&text).with_context(wrong)
}
