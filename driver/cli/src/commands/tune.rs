//! `tune`: schedules for this machine.

use std::{io::Write, num::NonZeroUsize, path::PathBuf};

use fusebox::{Signature, TuneConfig, files};
use fusebox_ir::Made;
use fusebox_schedule::{Sorts, Strips};

use super::{choices::Choices, inputs::Inputs};
use crate::{Failure, progress::Progress, source};

/// Find faster schedules for a program on this machine
///
/// How a kernel runs is a schedule, and the scheduler chooses one without running it. This tries others, each in turn with the best found so far, and
/// writes those that win clearly, for `run --schedule FILE`. They change no bit of the results. Give it inputs as large as usual, on a machine
/// that does nothing else.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program, as text (.fbx) or JSON
    program: PathBuf,
    #[command(flatten)]
    inputs: Inputs,
    /// The file for the schedules [default: the program's name with .schedule.json, in this folder]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    choices: Choices,
    /// How many threads [default: as many as there are cores]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Check the program after each pass
    #[arg(long)]
    verify: bool,
    /// How often each alternative runs in turn with the best so far
    #[arg(long, default_value = "9")]
    rounds: NonZeroUsize,
    /// The most alternatives of each kernel
    #[arg(long, default_value = "24")]
    tries: NonZeroUsize,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let choices = options.choices.options()?;
    let progress = Progress::start();
    progress.step("reading the program");
    let Made::Program(program) = source::read(&options.program)? else {
        let file = options.program.display();
        return Err(anyhow::anyhow!("{file}: a plan; schedules are tuned for programs").into());
    };
    let output = match &options.output {
        Some(file) => file.clone(),
        None => {
            let name = options.program.file_stem().unwrap_or(options.program.as_os_str());
            let mut name = name.to_os_string();
            name.push(".schedule.json");
            name.into()
        }
    };
    progress.step("reading inputs");
    let inputs = files::inputs(&Signature::of(&program), &options.inputs.given()?)?;
    let mut config = TuneConfig::default();
    (config.rounds, config.tries) = (options.rounds.get(), options.tries.get());
    let compile = fusebox::Options { threads: options.threads, verify: options.verify, cache: false, ..choices };
    let tuned = fusebox::tune(&program, &inputs, &compile, &config, &mut |step| progress.step(step))?;
    drop(progress);
    for kernel in &tuned.kernels {
        let (tried, all) = kernel.tried;
        let found = if kernel.chosen.is_some() { "a faster one" } else { "none is faster" };
        writeln!(out, "kernel {}: {tried} of {all} other schedules tried: {found}", kernel.name)?;
    }
    let strips = tuned.strips.map(|strips| ("strips of rows", strips.tried, strips.chosen.map(Strips::to_text)));
    let sorts = tuned.sorts.map(|sorts| ("sorts", sorts.tried, sorts.chosen.map(Sorts::to_text)));
    let forms: Vec<_> = strips.into_iter().chain(sorts).collect();
    for (name, (tried, all), chosen) in &forms {
        let found = chosen.as_ref().map_or("none is faster".to_owned(), |text| format!("faster: {}", text.trim_end()));
        writeln!(out, "{name}: {tried} of {all} others tried: {found}")?;
    }
    if forms.iter().all(|(_, _, chosen)| chosen.is_none()) && tuned.kernels.iter().all(|kernel| kernel.chosen.is_none())
    {
        if tuned.ratio > 1.0 {
            writeln!(out, "what seemed faster took {:.2} times as long in the end", tuned.ratio)?;
        }
        writeln!(out, "nothing was gained, and no file is written")?;
        return Ok(());
    }
    let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    tuned.write(&output)?;
    writeln!(
        out,
        "{:.3} ms a run before, {:.3} ms with these schedules, in turn: {:.2} times as long",
        milliseconds(tuned.times.0),
        milliseconds(tuned.times.1),
        tuned.ratio
    )?;
    writeln!(out, "wrote {}", output.display())?;
    Ok(())
}
