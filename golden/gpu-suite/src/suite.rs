//! All programs, and the table.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use fusebox::{Backend, Options, compile_program};
use fusebox_bench::{compare::compare, program::Program, programs};
use fusebox_ptx::PtxBackend;
use fusebox_schedule::Target;

use crate::{
    child::printed,
    peak::{Effort, Peak, measure},
    run::run,
    table::{Figures, goal, head, part_lines, part_rows},
    timed::{Part, Timed},
    watch::Watch,
};

/// Bytes that are cleared before each piece of work that is timed: more than caches hold.
const CLEARED: u64 = 128 << 20;

/// What is run, and how.
pub(crate) struct Wanted {
    /// Names of programs; empty: all.
    pub(crate) programs: Vec<String>,
    /// The data of benchmark programs.
    pub(crate) sizes: Sizes,
    /// Runs of each benchmark program.
    pub(crate) runs: u32,
    /// How long one program may take.
    pub(crate) most: Duration,
    /// Parts of each program's work that are listed.
    pub(crate) parts: usize,
}

/// Which data benchmark programs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// As in tests.
    Tiny,
    /// In the caches of a core.
    Small,
    /// In memory.
    Large,
}

impl Wanted {
    fn has(&self, name: &str) -> bool {
        self.programs.is_empty() || self.programs.iter().any(|own| own == name)
    }
}

/// A program, by what it is one of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Golden(String),
    Benchmark(String),
}

impl Named {
    fn name(&self) -> &str {
        let (Self::Golden(name) | Self::Benchmark(name)) = self;
        name
    }

    /// For another process.
    fn word(&self) -> String {
        match self {
            Self::Golden(name) => format!("golden:{name}"),
            Self::Benchmark(name) => format!("benchmark:{name}"),
        }
    }
}

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word.split_once(':') {
            Some(("golden", name)) => Ok(Self::Golden(name.to_owned())),
            Some(("benchmark", name)) => Ok(Self::Benchmark(name.to_owned())),
            _ => Err(format!("`{word}` is neither golden:NAME nor benchmark:NAME")),
        }
    }
}

/// What the device reaches.
pub(crate) fn peak<D: Watch>(device: D, target: &Target, wanted: &Wanted) -> Result<Peak> {
    let (effort, cleared) = if wanted.sizes == Sizes::Tiny {
        (Effort { bytes: 1 << 16, blocks: 2, turns: 4, runs: 1 }, 0)
    } else {
        (Effort { bytes: 1 << 28, blocks: 4096, turns: 4096, runs: 10 }, CLEARED)
    };
    measure(&Timed::new(device, cleared)?, &target.name, effort)
}

/// Runs every program in a process of its own, which `process` begins, and prints what comes of it; gives how many programs are wrong.
pub(crate) fn suite(
    golden: &Path,
    wanted: &Wanted,
    peak: Peak,
    process: impl Fn(&str) -> Result<Command>,
) -> Result<usize> {
    println!("a copy: {:.1} GB/s; multiply and add: {:.1} GFLOP/s", peak.bytes / 1e9, peak.operations / 1e9);
    let of_golden = fusebox_golden::names_in(golden).into_iter().map(Named::Golden);
    let of_benchmarks = programs::all().into_iter().map(|program| Named::Benchmark(program.name.to_owned()));
    let programs: Vec<Named> = of_golden.chain(of_benchmarks).filter(|program| wanted.has(program.name())).collect();
    let unknown = |name: &&String| !programs.iter().any(|program| program.name() == name.as_str());
    let unknown: Vec<&str> = wanted.programs.iter().filter(unknown).map(String::as_str).collect();
    if !unknown.is_empty() {
        bail!("no program has one of these names: {}", unknown.join(", "));
    }
    println!("{}", head());
    let begin = Instant::now();
    let (mut wrong, mut goals) = (0, Vec::new());
    for program in &programs {
        let found = printed(&mut process(&program.word())?, wanted.most)
            .and_then(|printed| Ok((Figures::of(&printed)?, part_rows(&printed)?)));
        match found {
            Ok((figures, parts)) => {
                println!("{}", figures.row(program.name(), peak));
                parts.iter().for_each(|part| println!("{part}"));
                let compared = matches!(program, Named::Benchmark(_)) && wanted.sizes == Sizes::Large;
                goals.extend(compared.then(|| goal(program.name(), &figures, peak)).flatten());
            }
            Err(error) => {
                wrong += 1;
                println!("{:28} WRONG: {error:#}", program.name());
            }
        }
    }
    goals.iter().for_each(|goal| println!("{goal}"));
    println!("{} programs, {wrong} wrong, {:.0} s", programs.len(), begin.elapsed().as_secs_f64());
    Ok(wrong)
}

/// Runs one program on a device, and compares its results: what another process prints of it.
pub(crate) fn one<D: Watch>(
    device: D,
    target: Target,
    program: &Named,
    golden: &Path,
    wanted: &Wanted,
) -> Result<String> {
    let cleared = if wanted.sizes == Sizes::Tiny { 0 } else { CLEARED };
    let backend = PtxBackend::new(Timed::new(device, cleared)?, target);
    let (figures, parts) = match program {
        Named::Golden(name) => of_golden(&backend, golden, name)?,
        Named::Benchmark(name) => {
            let program = programs::find(name).with_context(|| format!("there is no benchmark `{name}`"))?;
            of_benchmark(&backend, &program, wanted)?
        }
    };
    Ok(format!("{}{}", part_lines(&parts, wanted.parts), figures.line()))
}

/// A golden program, with the results that it must have.
fn of_golden<D: Watch>(backend: &PtxBackend<Timed<D>>, folder: &Path, name: &str) -> Result<(Figures, Vec<Part>)> {
    let golden = fusebox_golden::load_in(folder, name);
    let ran = run(backend, &golden.program, &golden.inputs, 1)?;
    golden.check(&ran.results).map_err(|mismatch| anyhow::anyhow!("{mismatch}"))?;
    let figures = Figures { launches: ran.launches, worked: ran.worked, whole: ran.whole, ..Figures::default() };
    Ok((figures, ran.parts))
}

/// A benchmark program, with the results that the CPU gives.
fn of_benchmark<D: Watch>(
    backend: &PtxBackend<Timed<D>>,
    program: &Program,
    wanted: &Wanted,
) -> Result<(Figures, Vec<Part>)> {
    let size = match wanted.sizes {
        Sizes::Tiny => program.tiny,
        Sizes::Small => program.sizes.small,
        Sizes::Large => program.sizes.large,
    };
    let data = (program.generate)(size);
    let ir = program.ir()?;
    let inputs = program.arguments(&ir, &data)?;
    let ran = run(backend, &ir, &inputs, wanted.runs)?;
    let cpu = compile_program(&ir, &Options { backend: Backend::Cpu, ..Options::default() })?;
    let expected = program.select(cpu.run(&inputs)?).context("the CPU's results")?;
    compare(&expected, &program.select(ran.results)?, program.tolerance)?;
    let work = (program.work)(&data)?;
    let figures = Figures {
        size,
        launches: ran.launches,
        worked: ran.worked,
        whole: ran.whole,
        bytes: work.bytes,
        operations: work.operations,
    };
    Ok((figures, ran.parts))
}
