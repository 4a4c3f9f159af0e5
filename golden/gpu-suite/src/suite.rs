//! All programs, and the table.

use anyhow::{Context, Result, bail};
use fusebox::{Backend, Options, compile_program};
use fusebox_bench::{
    compare::compare,
    program::{Program, Work},
    programs,
};
use fusebox_ptx::{Device, PtxBackend};
use fusebox_schedule::Target;

use crate::{
    embedded::Unpacked,
    peak::{Effort, Peak, measure},
    run::{Ran, run},
    timed::Timed,
};

/// What is run.
pub(crate) struct Wanted {
    /// Names of programs; empty: all.
    pub(crate) programs: Vec<String>,
    /// Whether sizes are those of tests.
    pub(crate) tiny: bool,
    /// Runs of each benchmark program.
    pub(crate) runs: u32,
}

impl Wanted {
    fn has(&self, name: &str) -> bool {
        self.programs.is_empty() || self.programs.iter().any(|own| own == name)
    }
}

/// Runs everything on a device; gives how many programs are wrong.
pub(crate) fn suite<D: Device>(device: D, target: Target, wanted: &Wanted) -> Result<usize> {
    let architecture = target.name.clone();
    let backend = PtxBackend::new(Timed::new(device), target);
    let effort = if wanted.tiny {
        Effort { bytes: 1 << 16, blocks: 2, turns: 4, runs: 1 }
    } else {
        Effort { bytes: 1 << 28, blocks: 4096, turns: 4096, runs: 10 }
    };
    let peak = measure(backend.device(), &architecture, effort)?;
    println!("a copy: {:.1} GB/s; multiply and add: {:.1} GFLOP/s", peak.bytes / 1e9, peak.operations / 1e9);
    println!(
        "{:28} {:>10} {:>9} {:>12} {:>8} {:>6} {:>10} {:>6}",
        "program", "size", "launches", "us", "GB/s", "", "GFLOP/s", ""
    );
    let (mut ran, mut wrong) = (0, 0);
    let mut row = |name: &str, outcome: Result<Row>| {
        ran += 1;
        match outcome {
            Ok(row) => println!("{}", row.text(name, peak)),
            Err(error) => {
                wrong += 1;
                println!("{name:28} WRONG: {error:#}");
            }
        }
    };
    let files = Unpacked::new()?;
    for name in fusebox_golden::names_in(files.folder()).into_iter().filter(|name| wanted.has(name)) {
        row(&name, golden(&backend, &files, &name));
    }
    for program in programs::all().into_iter().filter(|program| wanted.has(program.name)) {
        row(program.name, benchmark(&backend, &program, wanted));
    }
    if ran == 0 {
        bail!("no program has one of these names: {}", wanted.programs.join(", "));
    }
    println!("{ran} programs, {wrong} wrong");
    Ok(wrong)
}

/// What is printed of a program.
struct Row {
    size: usize,
    ran: Ran,
    work: Work,
}

impl Row {
    fn text(&self, name: &str, peak: Peak) -> String {
        let seconds = self.ran.worked.as_secs_f64();
        let part = |amount: f64, peak: f64| {
            if amount > 0.0 {
                let rate = amount / seconds;
                (format!("{:.1}", rate / 1e9), format!("{:.0}%", 100.0 * rate / peak))
            } else {
                (String::new(), String::new())
            }
        };
        let (bytes, of_copy) = part(self.work.bytes, peak.bytes);
        let (operations, of_peak) = part(self.work.operations, peak.operations);
        let size = if self.size > 0 { self.size.to_string() } else { String::new() };
        let row = format!(
            "{name:28} {size:>10} {:>9} {:>12.1} {bytes:>8} {of_copy:>6} {operations:>10} {of_peak:>6}",
            self.ran.launches,
            seconds * 1e6
        );
        row.trim_end().to_owned()
    }
}

/// A golden program, with the results that it must have.
fn golden<D: Device>(backend: &PtxBackend<Timed<D>>, files: &Unpacked, name: &str) -> Result<Row> {
    let golden = fusebox_golden::load_in(files.folder(), name);
    let ran = run(backend, &golden.program, &golden.inputs, 1)?;
    golden.check(&ran.results).map_err(|mismatch| anyhow::anyhow!("{mismatch}"))?;
    Ok(Row { size: 0, ran, work: Work::default() })
}

/// A benchmark program, with the results that the CPU gives.
fn benchmark<D: Device>(backend: &PtxBackend<Timed<D>>, program: &Program, wanted: &Wanted) -> Result<Row> {
    let size = if wanted.tiny { program.tiny } else { program.sizes.large };
    let data = (program.generate)(size);
    let ir = program.ir()?;
    let inputs = program.arguments(&ir, &data)?;
    let ran = run(backend, &ir, &inputs, wanted.runs)?;
    let cpu = compile_program(&ir, &Options { backend: Backend::Cpu, ..Options::default() })?;
    let expected = program.select(cpu.run(&inputs)?).context("the CPU's results")?;
    let found = program.select(ran.results)?;
    compare(&expected, &found, program.tolerance)?;
    let work = (program.work)(&data)?;
    Ok(Row { size, ran: Ran { results: Vec::new(), ..ran }, work })
}
