//! The suite: each program against its hand-written counterpart, in one process, in turn.

use std::{num::NonZeroUsize, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use crate::{
    compare::compare,
    compiled::{Compiled, Fusion, Setting},
    data::Data,
    machine::{self, Machine},
    measure::{Run, alternate, timed},
    program::Program,
    programs,
    report::{Report, Row},
};

/// Measure programs against hand-written Rust, both on the same inputs and threads, in turn
#[derive(Debug, Parser)]
#[command(name = "fusebox-bench suite")]
pub struct Options {
    /// Which programs [default: all]
    #[arg(long, value_delimiter = ',')]
    pub programs: Vec<String>,
    /// `small` (in the caches of a core), `large` (in memory), both, or what generates inputs: mostly a number of elements, or an edge of an image
    #[arg(long, value_delimiter = ',', default_value = "small,large")]
    pub size: Vec<Size>,
    /// How many threads for each side [default: all cores]
    #[arg(long)]
    pub threads: Option<NonZeroUsize>,
    /// Samples of each side; medians are reported
    #[arg(long, default_value = "11")]
    pub rounds: NonZeroUsize,
    /// How operations are combined into passes over memory: none, greedy, optimal
    #[arg(long, default_value = "none")]
    pub fusion: Fusion,
    /// Measure every way of fusion, in turn, and their ratios
    #[arg(long, value_parser = ["fusion"])]
    pub compare: Option<String>,
    /// Also write the figures as JSON
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Print the table as Markdown
    #[arg(long)]
    pub markdown: bool,
    /// List the programs and their sizes
    #[arg(long)]
    pub list: bool,
}

/// A size to measure at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// In the caches of a core.
    Small,
    /// In memory.
    Large,
    /// What generates inputs.
    Of(usize),
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "small" => Ok(Self::Small),
            "large" => Ok(Self::Large),
            number => {
                let plain = number.replace('_', "");
                plain.parse().map(Self::Of).map_err(|_| format!("`{number}` is neither `small`, `large`, nor a number"))
            }
        }
    }
}

impl Size {
    /// What generates inputs of this size.
    pub fn of(self, program: &Program) -> usize {
        match self {
            Self::Small => program.sizes.small,
            Self::Large => program.sizes.large,
            Self::Of(size) => size,
        }
    }
}

/// Runs the suite and prints its report.
///
/// # Errors
/// Unknown programs, files that cannot be written, and at the end if a program failed or gave other results than the hand-written one.
pub fn run(options: &Options) -> Result<()> {
    if options.list {
        for program in programs::all() {
            println!("{:16} small {:>10} large {:>10}", program.name, program.sizes.small, program.sizes.large);
        }
        return Ok(());
    }
    let chosen = chosen(&options.programs)?;
    let threads = options.threads.map_or(0, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start threads")?;
    // Inside of the pool, so that short hand-written programs do not pay for entering it.
    let report = pool.install(|| measure_all(&chosen, options));
    print!("{}", if options.markdown { report.markdown() } else { report.table() });
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&report.json())?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    ensure!(report.failed.is_empty(), "failed:\n{}", report.failed.join("\n"));
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Program>> {
    let find = |name: &String| {
        programs::find(name).with_context(|| {
            let names: Vec<_> = programs::all().iter().map(|program| program.name).collect();
            format!("there is no program `{name}`; there are {}", names.join(", "))
        })
    };
    if names.is_empty() { Ok(programs::all()) } else { names.iter().map(find).collect() }
}

fn measure_all(chosen: &[Program], options: &Options) -> Report {
    let fusions = match options.compare {
        Some(_) => Fusion::ALL.into_iter().filter(|fusion| fusion.is_supported()).collect(),
        None => vec![options.fusion],
    };
    eprintln!("measuring the machine");
    let load = machine::load();
    let mut report = Report { machine: Machine::measure(), load, fusions, rows: Vec::new(), failed: Vec::new() };
    for program in chosen {
        for size in options.size.iter().map(|size| size.of(program)) {
            eprintln!("{} {size}", program.name);
            match measure(program, size, &report.fusions, options) {
                Ok(row) => report.rows.push(row),
                Err(error) => report.failed.push(format!("{} {size}: {error:#}", program.name)),
            }
        }
    }
    report
}

fn measure(program: &Program, size: usize, fusions: &[Fusion], options: &Options) -> Result<Row> {
    let data: Data = (program.generate)(size);
    let mut hand = (program.hand)(&data)?;
    hand.run();
    let expected = hand.results();
    let mut compiled = Vec::new();
    for &fusion in fusions {
        let way = Compiled::new(program, &data, Setting { fusion, threads: options.threads })?;
        compare(&expected, &way.results()?, program.tolerance).with_context(|| format!("with fusion {fusion}"))?;
        compiled.push(way);
    }
    drop(expected);
    let mut ways: Vec<Run<'_>> = vec![Box::new(|| timed(|| Ok(hand.run())))];
    for way in &compiled {
        ways.push(Box::new(move || timed(|| way.run())));
    }
    let mut times = alternate(&mut ways, options.rounds.get())?.into_iter();
    let Some(hand) = times.next() else { bail!("nothing was measured") };
    Ok(Row { program: program.name, size, work: (program.work)(&data)?, hand, ours: times.collect() })
}
