//! The suite: each program against its hand-written counterpart, in one process, in turn.

use std::{num::NonZeroUsize, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use fusebox::Fusion;

use crate::{
    compare::compare,
    compiled::{Compiled, Setting},
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
    #[arg(long, default_value_t = Fusion::default())]
    pub fusion: Fusion,
    /// Measure every way of fusion, in turn, and their ratios
    #[arg(long, value_parser = ["fusion"])]
    pub compare: Option<String>,
    /// Do not measure what the machine can do
    #[arg(long)]
    pub no_machine: bool,
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
        Some(_) => Fusion::ALL.to_vec(),
        None => vec![options.fusion],
    };
    let load = machine::load();
    let machine = (!options.no_machine).then(|| {
        eprintln!("measuring the machine");
        Machine::measure()
    });
    let mut report = Report { machine, load, fusions, rows: Vec::new(), failed: Vec::new() };
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
    // What lies between the operations of some programs, stored, is more than memory holds.
    let is_measured = |fusion| fusion != Fusion::None || !program.needs_fusion || size <= program.sizes.small;
    for &fusion in fusions.iter().filter(|&&fusion| is_measured(fusion)) {
        let way = Compiled::new(program, &data, Setting { fusion, threads: options.threads })?;
        compare(&expected, &way.results()?, program.tolerance).with_context(|| format!("with fusion {fusion}"))?;
        compiled.push(way);
    }
    drop(expected);
    let mut by_hand = || {
        hand.run();
        Ok(())
    };
    let mut ways: Vec<Run<'_>> = vec![Box::new(|| timed(&mut by_hand))];
    for way in &compiled {
        ways.push(Box::new(move || timed(|| way.run())));
    }
    let mut times = alternate(&mut ways, options.rounds.get())?.into_iter();
    let Some(hand) = times.next() else { bail!("nothing was measured") };
    let ours = fusions.iter().map(|&fusion| if is_measured(fusion) { times.next() } else { None }).collect();
    Ok(Row { program: program.name, size, work: (program.work)(&data)?, hand, ours })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from([&["suite"], arguments].concat())
    }

    #[test]
    fn sizes_and_programs_are_chosen() {
        let chosen = options(&["--programs", "dot,stats", "--size", "large,1_000", "--rounds", "3"]).unwrap();
        assert_eq!(chosen.size, [Size::Large, Size::Of(1000)]);
        let programs = super::chosen(&chosen.programs).unwrap();
        assert_eq!(programs.iter().map(|program| program.name).collect::<Vec<_>>(), ["dot", "stats"]);
        assert_eq!(Size::Small.of(&programs[0]), programs[0].sizes.small);
        assert_eq!(super::chosen(&[]).unwrap().len(), programs::all().len());
    }

    #[test]
    fn what_there_is_not_is_an_error_that_lists_what_there_is() {
        let error = super::chosen(&["dto".into()]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("`dto`") && error.contains("dot, "), "{error}");
        assert!(options(&["--size", "medium"]).is_err());
        assert!(options(&["--fusion", "some"]).unwrap_err().to_string().contains("none, greedy, optimal"));
        assert!(options(&["--rounds", "0"]).is_err());
    }

    #[test]
    fn a_program_is_measured() {
        let program = programs::find("saxpy").unwrap();
        let row = measure(&program, 1000, &[Fusion::None], &options(&["--rounds", "2"]).unwrap()).unwrap();
        assert_eq!((row.program, row.size, row.ours.len()), ("saxpy", 1000, 1));
        assert!(
            row.hand.min > 0.0 && row.hand.min <= row.hand.median && row.ours[0].is_some_and(|ours| ours.median > 0.0)
        );
        assert_eq!(row.work.bytes, 12_000.0);
        let program = programs::find("nbody").unwrap();
        let large = program.sizes.small + 1;
        let row = measure(&program, large, &Fusion::ALL, &options(&["--rounds", "1"]).unwrap()).unwrap();
        assert!(row.ours[0].is_none() && row.ours[1].is_some() && row.ours[2].is_some());
    }
}
