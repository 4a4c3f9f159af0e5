//! `dump`: a program at a stage.

use std::{io::Write, path::PathBuf};

use clap::ValueEnum;
use fusebox::dot;
use fusebox_ir::{Made, Plan, Program, json, properties};
use fusebox_schedule::Choice;

use super::{after_all::AfterAll, choices::Choices};
use crate::{Failure, sink::to_file, source};

/// Print a program as it was read, or after the passes up to a stage; or a plan
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program, as text (.fbx) or JSON; or a plan, as JSON
    program: PathBuf,
    /// `read`, or the pass after which to print it, as `passes` lists them; those before it run too. `schedule`: how the kernels run. `code`: their code, before
    /// registers are allocated; of GPUs PTX
    #[arg(long, default_value = "read")]
    stage: String,
    /// The machine that schedules and code are for: avx512, avx2, sse, neon, sm_70, sm_80, sm_90, sm_100 [default: sse, which every x86-64
    /// processor runs]
    #[arg(long)]
    target: Option<String>,
    #[command(flatten)]
    choices: Choices,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write it to a file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Check the program after each pass, which is always done here
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    after_all: AfterAll,
}

/// Forms of programs and plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For tools
    Json,
    /// For Graphviz
    Dot,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    to_file(options.output.as_deref(), out, |out| printed(options, out))
}

fn printed(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let choices = options.choices.options()?;
    let read = source::read(&options.program)?;
    let passes = match &read {
        Made::Program(program) => fusebox::pipeline_of(program, &choices),
        Made::Plan(_) => fusebox::pipeline(&choices),
    };
    let of_target: Option<PrintOfTarget> = match options.stage.as_str() {
        "schedule" => Some(print_schedules),
        "code" => Some(print_code),
        _ => None,
    };
    if options.target.is_some() && of_target.is_none() {
        return Err(anyhow::anyhow!("--target is for the stages `schedule` and `code`: others know no machine").into());
    }
    let count = match options.stage.as_str() {
        "read" => 0,
        "schedule" | "code" => passes.len(),
        // A flat program of arrays is what it was before.
        stage @ ("flattening" | "streams") if !passes.iter().any(|pass| pass.name() == stage) => {
            1 + usize::from(passes.iter().any(|pass| pass.name() == "flattening"))
        }
        stage => passes.iter().position(|pass| pass.name() == stage).map(|at| at + 1).ok_or_else(|| {
            let mut names: Vec<_> = passes.iter().map(|pass| pass.name()).collect();
            let mut seen = std::collections::HashSet::new();
            names.retain(|name| seen.insert(*name));
            anyhow::anyhow!("there is no stage `{stage}`; there are read, {}, schedule, code", names.join(", "))
        })?,
    };
    let program = match read {
        Made::Program(program) => program,
        Made::Plan(plan) => {
            options.choices.refuse(&options.program)?;
            // A plan is what the last pass makes: read, it stands there already.
            if count != 0 && count != passes.len() {
                let (name, stage) = (options.program.display(), &options.stage);
                let last = passes.last().map_or("read", |pass| pass.name());
                return Err(anyhow::anyhow!(
                    "{name}: this is a plan, whose stage is `{last}`: stage `{stage}` comes before it, and is printed of programs"
                )
                .into());
            }
            return match of_target {
                Some(print) => print(&plan, options, out),
                None => print_plan(&plan, options.format, out),
            };
        }
    };
    let mut stages = options.after_all.run(&program, &passes[..count], true)?;
    match (stages.pop(), of_target) {
        (None, _) => print_program(&program, options.format, out),
        (Some(stage), None) => print(&stage.made, options.format, out),
        (Some(stage), Some(print)) => match &stage.made {
            Made::Plan(plan) => print(plan, options, out),
            Made::Program(_) => Err(anyhow::anyhow!("the last pass made no plan").into()),
        },
    }
}

/// Prints what a target makes of a plan.
type PrintOfTarget = fn(&Plan, &Options, &mut dyn Write) -> Result<(), Failure>;

fn target(options: &Options) -> &str {
    options.target.as_deref().unwrap_or("sse")
}

/// Prints the code of the kernels of a plan.
fn print_code(plan: &Plan, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    if options.format != Format::Text {
        return Err(anyhow::anyhow!("code has one form: --format text").into());
    }
    for code in fusebox::code(plan, target(options))? {
        write!(out, "{code}")?;
    }
    Ok(())
}

/// Prints how the kernels of a plan run.
fn print_schedules(plan: &Plan, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let scheduled = fusebox::schedules(plan, target(options))?;
    match options.format {
        Format::Text => {
            for (kernel, scheduled) in plan.kernels.iter().zip(&scheduled) {
                scheduled.choices.iter().try_for_each(|choice| print_choice(choice, out))?;
                write!(out, "{}", scheduled.schedule.to_text(kernel))?;
            }
            fusebox::steps(plan, target(options))?.iter().try_for_each(|choice| print_choice(choice, out))?;
            if let Some(strips) = fusebox::strips(plan, target(options))? {
                write!(out, "{}", strips.to_text())?;
            }
            if let Some(sorts) = fusebox::sorts(plan, target(options))? {
                write!(out, "{}", sorts.to_text())?;
            }
        }
        Format::Json => {
            let mut book = fusebox_schedule::Book::default();
            for (kernel, scheduled) in plan.kernels.iter().zip(scheduled) {
                book.insert(kernel, scheduled.schedule);
            }
            book.set_strips(fusebox::strips(plan, target(options))?);
            book.set_sorts(fusebox::sorts(plan, target(options))?);
            writeln!(out, "{}", book.to_json())?;
        }
        Format::Dot => return Err(anyhow::anyhow!("schedules have no form for Graphviz: --format text or json").into()),
    }
    Ok(())
}

fn print_choice(choice: &Choice, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "# {}: {}, as {}", choice.about, choice.chosen, choice.because)?;
    choice.instead_of.iter().try_for_each(|other| writeln!(out, "#   not {other}"))
}

/// Prints what a pass made.
pub(crate) fn print(made: &Made, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    match made {
        Made::Program(program) => print_program(program, format, out),
        Made::Plan(plan) => print_plan(plan, format, out),
    }
}

pub(crate) fn print_program(program: &Program, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    match format {
        Format::Text => writeln!(out, "{program}")?,
        Format::Json => {
            writeln!(out, "{}", json::to_json(program, &properties(program)))?;
        }
        Format::Dot => write!(out, "{}", dot::program(program))?,
    }
    Ok(())
}

fn print_plan(plan: &Plan, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    match format {
        Format::Text => writeln!(out, "{plan}")?,
        Format::Json => writeln!(out, "{}", json::plan_to_json(plan))?,
        Format::Dot => write!(out, "{}", dot::plan(plan))?,
    }
    Ok(())
}
