//! The suite: each program against its hand-written counterpart, in one process, in turn.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use fusebox::Fusion;

use crate::{
    changes::Changes,
    compare::compare,
    compiled::{Compiled, Setting, Way},
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
    /// Leave out the checks of kernels, to see what they cost: programs run with them once before
    #[arg(long)]
    pub unchecked: bool,
    /// `fusion`: measure every way of fusion, in turn, and their ratios; `unchecked`: measure with checks and without, and what they cost;
    /// two files that `--json` wrote: measure nothing, and say what changed from one to the other
    #[arg(long, num_args = 1..=2, value_names = ["WHAT", "FILE"])]
    pub compare: Vec<String>,
    /// Do not measure what the machine can do
    #[arg(long)]
    pub no_machine: bool,
    /// Also write the figures as JSON
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Also draw the ratios as SVG
    #[arg(long)]
    pub svg: Option<PathBuf>,
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
    let ways = match options.compare.as_slice() {
        [before, after] => return compare_files(Path::new(before), Path::new(after), options),
        compared => ways(compared.first().map(String::as_str), options)?,
    };
    let chosen = chosen(&options.programs)?;
    let threads = options.threads.map_or(0, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start threads")?;
    // Inside of the pool, so that short hand-written programs do not pay for entering it.
    let report = pool.install(|| measure_all(&chosen, ways, options));
    print!("{}", if options.markdown { report.markdown() } else { report.table() });
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&report.json())?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    write_svg(&report.svg(), options)?;
    ensure!(report.failed.is_empty(), "failed:\n{}", report.failed.join("\n"));
    Ok(())
}

/// What is measured beside the hand-written programs.
fn ways(compared: Option<&str>, options: &Options) -> Result<Vec<Way>> {
    let way = Way { fusion: options.fusion, unchecked: options.unchecked };
    match compared {
        None => Ok(vec![way]),
        Some("fusion") => Ok(Fusion::ALL.map(|fusion| Way { fusion, ..way }).to_vec()),
        Some("unchecked") => Ok([false, true].map(|unchecked| Way { unchecked, ..way }).to_vec()),
        Some(other) => bail!("`{other}` is nothing to compare: there are `fusion`, `unchecked`, and two files"),
    }
}

fn compare_files(before: &Path, after: &Path, options: &Options) -> Result<()> {
    let changes = Changes::new(&figures(before)?, &figures(after)?)?;
    print!("{}", changes.table(options.markdown));
    write_svg(&changes.svg(), options)
}

/// What `--json` wrote.
fn figures(path: &Path) -> Result<serde_json::Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}

fn write_svg(svg: &str, options: &Options) -> Result<()> {
    let Some(path) = &options.svg else { return Ok(()) };
    std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
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

fn measure_all(chosen: &[Program], ways: Vec<Way>, options: &Options) -> Report {
    let load = machine::load();
    let machine = (!options.no_machine).then(|| {
        eprintln!("measuring the machine");
        Machine::measure()
    });
    let mut report = Report { machine, load, ways, rows: Vec::new(), failed: Vec::new() };
    for program in chosen {
        for size in options.size.iter().map(|size| size.of(program)) {
            eprintln!("{} {size}", program.name);
            match measure(program, size, &report.ways, options) {
                Ok(row) => report.rows.push(row),
                Err(error) => report.failed.push(format!("{} {size}: {error:#}", program.name)),
            }
        }
    }
    report
}

fn measure(program: &Program, size: usize, ways: &[Way], options: &Options) -> Result<Row> {
    let data: Data = (program.generate)(size);
    let mut hand = (program.hand)(&data)?;
    hand.run();
    let expected = hand.results();
    let mut compiled = Vec::new();
    // What lies between the operations of some programs, stored, is more than memory holds.
    let is_measured = |way: Way| way.fusion != Fusion::None || !program.needs_fusion || size <= program.sizes.small;
    for &way in ways.iter().filter(|&&way| is_measured(way)) {
        let made = Compiled::new(program, &data, Setting { way, threads: options.threads })?;
        compare(&expected, &made.results()?, program.tolerance).with_context(|| way.name())?;
        compiled.push(made);
    }
    let mut same_steps = program.same_steps.map(|hand| hand(&data)).transpose()?;
    if let Some(hand) = &mut same_steps {
        hand.run();
        compare(&expected, &hand.results(), program.tolerance).context("the same steps by hand")?;
    }
    drop(expected);
    let mut by_hand = || {
        hand.run();
        Ok(())
    };
    let mut runs: Vec<Run<'_>> = vec![Box::new(|| timed(&mut by_hand))];
    for made in &compiled {
        runs.push(Box::new(move || timed(|| made.run())));
    }
    if let Some(hand) = &mut same_steps {
        runs.push(Box::new(|| {
            timed(|| {
                hand.run();
                Ok(())
            })
        }));
    }
    let mut times = alternate(&mut runs, options.rounds.get())?.into_iter();
    let Some(hand) = times.next() else { bail!("nothing was measured") };
    let ours = ways.iter().map(|&way| if is_measured(way) { times.next() } else { None }).collect();
    let same_steps = times.next();
    Ok(Row { program: program.name, size, work: (program.work)(&data)?, hand, ours, same_steps })
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
        let compared = options(&["--compare", "fusions"]).unwrap();
        assert!(ways(Some("fusions"), &compared).unwrap_err().to_string().contains("`fusion`, `unchecked`"));
        let missing = run(&options(&["--compare", "no.json", "such.json"]).unwrap()).unwrap_err().to_string();
        assert!(missing.contains("no.json"), "{missing}");
    }

    #[test]
    fn ways_are_those_that_are_compared() {
        let named = |compared, arguments: &[&str]| -> Vec<String> {
            ways(compared, &options(arguments).unwrap()).unwrap().into_iter().map(Way::name).collect()
        };
        assert_eq!(named(None, &["--unchecked"]), ["optimal, unchecked"]);
        assert_eq!(named(Some("fusion"), &[]), ["none", "greedy", "optimal"]);
        assert_eq!(named(Some("unchecked"), &["--fusion", "greedy"]), ["greedy", "greedy, unchecked"]);
    }

    #[test]
    fn a_program_is_measured() {
        let program = programs::find("saxpy").unwrap();
        let row = measure(&program, 1000, &[Fusion::None.into()], &options(&["--rounds", "2"]).unwrap()).unwrap();
        assert_eq!((row.program, row.size, row.ours.len()), ("saxpy", 1000, 1));
        assert!(
            row.hand.min > 0.0
                && row.hand.min <= row.hand.median()
                && row.ours[0].as_ref().is_some_and(|ours| ours.median() > 0.0)
        );
        assert_eq!(row.work.bytes, 12_000.0);
        let program = programs::find("nbody").unwrap();
        let large = program.sizes.small + 1;
        let row = measure(&program, large, &Fusion::ALL.map(Way::from), &options(&["--rounds", "1"]).unwrap()).unwrap();
        assert!(row.ours[0].is_none() && row.ours[1].is_some() && row.ours[2].is_some());
    }
}
