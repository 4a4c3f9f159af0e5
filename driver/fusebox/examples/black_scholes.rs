//! Prices European options by the formula of Black and Scholes (rate 0.02, volatility 0.30), from files to files.
//!
//! A program in the embedded language: its sharing is recovered, it is compiled for all cores, and a sample is checked against the
//! interpreter. With `--sharing off` the same program is also compiled without recovering what it shares, and both are timed.

use std::{
    io::Write,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use clap::{Parser, ValueEnum};
use fusebox::{Backend, Compiled, Options, files, ir, prelude::*};

/// Price options by Black and Scholes: reads price.npy, strike.npy, years.npy, writes call.npy and put.npy
#[derive(Parser)]
struct Arguments {
    /// The folder of the inputs
    #[arg(long, default_value = "demo")]
    inputs: PathBuf,
    /// The folder of the results
    #[arg(long, default_value = "demo")]
    output: PathBuf,
    /// How many of the options in the files are priced [default: all]
    #[arg(long)]
    options: Option<usize>,
    /// `off` also times the program without sharing recovery
    #[arg(long, value_enum, default_value_t = Sharing::On)]
    sharing: Sharing,
    /// How many threads [default: as many as there are cores]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// How often each is run; times are medians
    #[arg(long, default_value = "11")]
    repeat: NonZeroUsize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sharing {
    On,
    Off,
}

/// Three inputs, two results.
type Input = Acc<Vector<f32>>;
type Program = Compiled<(Input, Input, Input), (Input, Input)>;
type Inputs = [Vector<f32>; 3];

/// The cumulative normal distribution: the five-term polynomial of Abramowitz and Stegun, 26.2.17.
fn normal(d: Exp<f32>) -> Exp<f32> {
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let poly = k * (0.319_381_53 + k * (-0.356_563_78 + k * (1.781_477_9 + k * (-1.821_255_9 + k * 1.330_274_5))));
    let tail = 0.398_942_3 * (-0.5 * d * d).exp() * poly;
    cond(d.gt(0.0), 1.0 - tail, tail)
}

/// Call and put of every option. `d1`, `d2`, `w`, `k`, `tail` and more are used several times: sharing recovery sees that.
fn black_scholes(price: Input, strike: Input, years: Input) -> (Input, Input) {
    unzip(zip_with3(
        |s: Exp<f32>, k: Exp<f32>, t: Exp<f32>| {
            let (rate, volatility) = (0.02, 0.30);
            let w = volatility * t.sqrt();
            let d1 = ((s / k).log() + (rate + 0.5 * volatility * volatility) * t) / w;
            let d2 = d1 - w;
            let (n1, n2) = (normal(d1), normal(d2));
            let x = k * (-rate * t).exp();
            (s * n1 - x * n2, x * (1.0 - n2) - s * (1.0 - n1))
        },
        price,
        strike,
        years,
    ))
}

fn compiled(options: &Options) -> anyhow::Result<(Program, Duration)> {
    let begin = Instant::now();
    let draft = program("black_scholes", black_scholes).inputs(["price", "strike", "years"]).results(["call", "put"]);
    let program = fusebox::compile_draft(draft, options)?;
    Ok((program, begin.elapsed()))
}

fn read(folder: &Path, name: &str, count: Option<usize>) -> anyhow::Result<Vector<f32>> {
    let path = folder.join(format!("{name}.npy"));
    let table = files::read_npy(&path)?;
    let array = table.plain().filter(|array| array.element() == ir::ElementType::F32 && array.extents().len() == 1);
    let Some(array) = array else { bail!("{}: expected a vector of f32", path.display()) };
    let mut array = array.clone();
    if let Some(count) = count {
        ensure!(
            count <= array.len(),
            "{}: {count} options are asked for, and there are {}",
            path.display(),
            array.len()
        );
        array.truncate(count);
    }
    Ok(Vector::from_columns(vec![array])?)
}

/// Runs programs in turn, so that whatever the machine does meanwhile falls on all; the median of each, and the last results.
fn timed(
    programs: &[&Program],
    inputs: &Inputs,
    repeat: usize,
) -> anyhow::Result<(Vec<Duration>, Vec<[Vector<f32>; 2]>)> {
    let [price, strike, years] = inputs;
    let mut times = vec![Vec::new(); programs.len()];
    let mut results = Vec::new();
    for _ in 0..repeat {
        results.clear();
        for (program, times) in programs.iter().zip(&mut times) {
            let begin = Instant::now();
            let (call, put) = program.run(price, strike, years)?;
            times.push(begin.elapsed());
            results.push([call, put]);
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    Ok((times.iter_mut().map(median).collect(), results))
}

/// Compares evenly spaced options with the interpreter; the largest difference.
fn check(inputs: &Inputs, results: &[Vector<f32>; 2]) -> anyhow::Result<(usize, f32)> {
    let count = inputs[0].len();
    let positions: Vec<usize> = (0..count).step_by((count / 4096).max(1)).collect();
    let sample = |vector: &Vector<f32>| -> anyhow::Result<Vector<f32>> {
        let all = vector.as_slice();
        Ok(Vector::from_slice(&positions.iter().map(|&at| all[at]).collect::<Vec<_>>())?)
    };
    let (oracle, _) = compiled(&Options::on(Backend::Interp))?;
    let (call, put) = oracle.run(&sample(&inputs[0])?, &sample(&inputs[1])?, &sample(&inputs[2])?)?;
    let mut largest = 0f32;
    for (expected, given) in [(call, &results[0]), (put, &results[1])] {
        let given = sample(given)?;
        for ((&expected, &given), &at) in expected.as_slice().iter().zip(given.as_slice()).zip(&positions) {
            // Each function may be two units in the last place off; prices of a hundred are differences of products of these.
            let bound = 6e-5 + 1e-5 * expected.abs();
            let off = (expected - given).abs();
            ensure!(
                off <= bound || expected.to_bits() == given.to_bits(),
                "option {at} is {given}, and the interpreter says {expected}"
            );
            largest = largest.max(off);
        }
    }
    Ok((positions.len(), largest))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn describe(out: &mut dyn Write, what: &str, program: &Program, total: Duration) -> std::io::Result<()> {
    let report = program.report();
    write!(out, "{what}: {:.1} ms to compile (", milliseconds(total))?;
    let before = total.saturating_sub(report.total);
    write!(out, "building and sharing {:.2}", milliseconds(before))?;
    for pass in &report.passes {
        write!(out, ", {} {:.2}", pass.pass, milliseconds(pass.time))?;
    }
    writeln!(out, ", code {:.2})", milliseconds(report.code))
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let read = |name| read(&arguments.inputs, name, arguments.options);
    let inputs = [read("price")?, read("strike")?, read("years")?];
    let count = inputs[0].len();
    let options = Options { threads: arguments.threads, cache: false, ..Options::default() };
    let mut out = std::io::stdout().lock();
    let threads = arguments.threads.or(std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    writeln!(out, "{count} options, {threads} threads")?;

    let (shared, total) = compiled(&options)?;
    describe(&mut out, "with sharing", &shared, total)?;
    let mut programs = vec![&shared];
    let unshared;
    if arguments.sharing == Sharing::Off {
        let (program, total) = compiled(&Options { sharing: false, ..options })?;
        describe(&mut out, "without sharing", &program, total)?;
        unshared = program;
        programs.push(&unshared);
    }

    let (times, results) = timed(&programs, &inputs, arguments.repeat.get())?;
    for (result, (name, time)) in results.iter().zip(["with sharing", "without sharing"].iter().zip(&times)) {
        let rate = count as f64 / time.as_secs_f64().max(1e-9) / 1e6;
        writeln!(
            out,
            "{name}: {:.2} ms a run, {rate:.1} million options per second (median of {})",
            milliseconds(*time),
            arguments.repeat
        )?;
        let (sample, largest) = check(&inputs, result)?;
        writeln!(
            out,
            "{name}: {sample} options checked against the interpreter, the largest difference is {largest:.1e}"
        )?;
    }
    if let [with, without] = times.as_slice() {
        writeln!(out, "sharing makes it {:.2} times as fast", without.as_secs_f64() / with.as_secs_f64().max(1e-9))?;
    }
    let Some([call, put]) = results.first() else { bail!("nothing was run") };
    for (name, vector) in [("call", call), ("put", put)] {
        let path = arguments.output.join(format!("{name}.npy"));
        let column = vector.columns().first().context("a vector of numbers has a column")?;
        files::write_npy(&path, column)?;
        writeln!(out, "wrote {}", path.display())?;
    }
    Ok(())
}
