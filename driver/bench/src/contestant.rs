//! The suite as a contestant of an outside runner, which measures many systems on the same programs.
//!
//! `fusebox-bench PROGRAM SIZE DATA_DIR OUT.npy` reads `params.json` and the inputs (`NAME.npy`) from `DATA_DIR`, compiles and runs
//! the program once (`first_ms`), warms up for 0.1 s, times whole calls one by one (at least `BENCH_MIN_REPS`, 5, and for
//! `BENCH_MIN_TIME` seconds, 0.4, but no more than 1000), writes the last result to `OUT.npy` and one line of JSON to standard output.
//! `fusebox-bench data PROGRAM SIZE FOLDER` writes such a folder.
//! A program that the suite does not have, or the backend does not run, exits with 77.

use std::{
    path::PathBuf,
    process::ExitCode,
    str::FromStr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::Parser;
use fusebox::{files, ir::Array};
use serde_json::json;

use crate::{
    compiled::{Compiled, Setting},
    data::Data,
    measure::summary,
    program::stacked,
    programs,
    suite::Size,
};

/// The exit code of programs that are not supported.
pub const UNSUPPORTED: u8 = 77;

/// Run one program on the data of a folder, timed, for an outside runner; `fusebox-bench suite -h` for the suite
#[derive(Debug, Parser)]
#[command(name = "fusebox-bench")]
pub struct Options {
    /// Which program
    pub program: String,
    /// What the size is called; only repeated in the output
    pub size: String,
    /// The folder of `params.json` and the inputs
    pub data: PathBuf,
    /// Where the result goes
    pub output: PathBuf,
}

/// Write the inputs of a program, of `small`, `large` or another size, as the contestant reads them
#[derive(Debug, Parser)]
#[command(name = "fusebox-bench data")]
pub struct DataOptions {
    /// Which program
    pub program: String,
    /// How large: as `--size` of the suite
    pub size: Size,
    /// Where the files go
    pub folder: PathBuf,
}

/// Writes inputs.
///
/// # Errors
/// Unknown programs; files that cannot be written.
pub fn write_data(options: &DataOptions) -> Result<()> {
    let program = programs::find(&options.program).with_context(|| format!("no program `{}`", options.program))?;
    let folder = &options.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    (program.generate)(options.size.of(&program)).write(folder)
}

/// Runs the contest and prints its line.
///
/// # Errors
/// Data that cannot be read or does not fit; runs that fail; results that cannot be written.
pub fn run(options: &Options) -> Result<ExitCode> {
    let Some(program) = programs::find(&options.program).filter(|program| program.outside) else {
        return Ok(ExitCode::from(UNSUPPORTED));
    };
    let data = Data::read(&options.data)?;
    let setting = Setting::default();
    let begin = Instant::now();
    let compiled = Compiled::new(&program, &data, setting)?;
    let first = compiled.run()?;
    let first_ms = 1e3 * begin.elapsed().as_secs_f64();
    drop(first);

    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(100) {
        compiled.run()?;
    }
    let least_calls = variable("BENCH_MIN_REPS", 5usize)?;
    let least_time = variable("BENCH_MIN_TIME", 0.4f64)?;
    let mut times: Vec<f64> = Vec::new();
    let mut spent = 0.0;
    let mut last = None;
    while last.is_none() || (times.len() < least_calls || spent < least_time) && times.len() < 1000 {
        drop(last.take());
        let begin = Instant::now();
        let result = compiled.run()?;
        let time = begin.elapsed().as_secs_f64();
        last = Some(result);
        spent += time;
        times.push(time);
    }
    let reps = times.len();
    let (median, min) = summary(times);
    let result = stacked(program.select(last.unwrap_or_default())?)?;
    files::write_npy(&options.output, &result)?;
    let line = json!({
        "program": options.program, "size": options.size, "first_ms": first_ms,
        "median_ms": 1e3 * median, "min_ms": 1e3 * min, "reps": reps, "checksum": checksum(&result),
    });
    println!("{line}");
    Ok(ExitCode::SUCCESS)
}

fn variable<T: FromStr>(name: &str, default: T) -> Result<T> {
    match std::env::var(name) {
        Ok(text) => text.parse().ok().with_context(|| format!("{name} is `{text}`, and should be a number")),
        Err(_) => Ok(default),
    }
}

/// The sum of all elements, as the protocol wants it; infinities and NaN have no spelling in JSON and become null.
fn checksum(array: &Array) -> f64 {
    array.constants().map(|constant| constant.as_f64().or_else(|| Some(constant.as_i64()? as f64)).unwrap_or(0.0)).sum()
}
