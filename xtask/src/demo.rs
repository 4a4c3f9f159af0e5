//! `demo`: ten million options priced, from files to files.

use crate::workspace::Workspace;
use crate::{process, setup};
use anyhow::{Context, Result};
use npyz::WriterBuilder;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Seek};
use std::path::Path;
use std::thread;

/// How many options are priced if the command does not say it.
const COUNT: u64 = 10_000_000;

/// What is compiled: with the features that the command `fusebox` has, so that it compiles none of this again (`tidy` sees to that).
pub const PACKAGE: [&str; 4] = ["--package", "fusebox", "--features", "highs"];

/// Price ten million options by the Black-Scholes formula (after `setup`); files are in demo/
#[derive(clap::Args)]
pub struct Options {
    /// Passed on to the example, such as --sharing off; with --options N, inputs of N options are written first
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

impl Options {
    /// The number after `--options`.
    fn count(&self) -> Result<u64> {
        let value = self.rest.iter().enumerate().find_map(|(at, option)| match option.split_once('=') {
            Some(("--options", value)) => Some(value),
            None if option == "--options" => Some(self.rest.get(at + 1).map_or("", String::as_str)),
            _ => None,
        });
        value.map_or(Ok(COUNT), |value| {
            value.parse().with_context(|| format!("--options takes a number, not `{value}`"))
        })
    }
}

/// One input: the name of its file, and the open interval its values are spread over evenly.
struct Input {
    name: &'static str,
    low: f32,
    high: f32,
}

const INPUTS: [Input; 3] = [
    Input { name: "price", low: 5.0, high: 30.0 },
    Input { name: "strike", low: 1.0, high: 100.0 },
    Input { name: "years", low: 0.25, high: 10.0 },
];

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let count = options.count()?;
    setup::ensure(workspace)?;
    let folder = workspace.root().join("demo");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let example = ["--example", "black_scholes"];
    // Inputs are written while the compiler runs.
    thread::scope(|scope| {
        let inputs = scope.spawn(|| write_inputs(&folder, count));
        let mut build = workspace.cargo();
        let built = process::run_aloud(build.args(["build", "--release"]).args(PACKAGE).args(example));
        let written = inputs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        built.and(written)
    })?;
    let mut cargo = workspace.cargo();
    cargo.args(["run", "--quiet", "--release"]).args(PACKAGE).args(example);
    cargo.args(["--", "--inputs", "demo", "--output", "demo"]).args(&options.rest);
    process::run_aloud(&mut cargo)
}

/// Writes the inputs that are not there.
fn write_inputs(folder: &Path, count: u64) -> Result<()> {
    for (seed, input) in (1..).zip(&INPUTS) {
        let path = folder.join(format!("{}.npy", input.name));
        if length(&path) != Some(count) {
            write(&path, input, seed, count).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

/// How many values of `f32` a file holds, if it is a whole file of that kind.
fn length(path: &Path) -> Option<u64> {
    let mut reader = BufReader::new(File::open(path).ok()?);
    let header = npyz::NpyHeader::from_reader(&mut reader).ok()?;
    let &[count] = header.shape() else { return None };
    let is_whole =
        reader.get_ref().metadata().ok()?.len() == reader.stream_position().ok()?.checked_add(count.checked_mul(4)?)?;
    let is_f32 = npyz::NpyFile::with_header(header, reader).data::<f32>().is_ok();
    (is_whole && is_f32).then_some(count)
}

/// Writes `count` values, the same on every machine. The file gets its name when it is whole.
fn write(path: &Path, input: &Input, seed: u64, count: u64) -> Result<()> {
    let new = path.with_extension("npy.new");
    let mut random = Random(seed);
    let file = BufWriter::new(File::create(&new)?);
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&[count]).writer(file).begin_nd()?;
    for _ in 0..count {
        writer.push(&random.between(input.low, input.high))?;
    }
    writer.finish()?;
    fs::rename(&new, path)?;
    eprintln!("{}: {count} values between {} and {}", path.display(), input.low, input.high);
    Ok(())
}

/// The SplitMix64 generator. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A value strictly between the two, evenly spread.
    fn between(&mut self, low: f32, high: f32) -> f32 {
        let part = ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let value = f64::from(low) + (f64::from(high) - f64::from(low)) * part;
        (value as f32).clamp(low.next_up(), high.next_down()) // rounding may have reached an end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_options_is_found_among_the_arguments() {
        let count = |text: &str| Options { rest: text.split_whitespace().map(String::from).collect() }.count();
        assert_eq!(count("").unwrap(), COUNT);
        assert_eq!(count("--sharing off --options 1000").unwrap(), 1000);
        assert_eq!(count("--options=7").unwrap(), 7);
        assert!(count("--options").is_err());
        assert!(count("--options many").is_err());
    }

    #[test]
    fn values_are_spread_over_the_open_interval() {
        let mut random = Random(7);
        let values: Vec<f32> = (0..100_000).map(|_| random.between(5.0, 30.0)).collect();
        assert!(values.iter().all(|&value| value > 5.0 && value < 30.0));
        let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
        assert!((mean - 17.5).abs() < 0.1, "mean {mean}");
        // An interval with one value inside leaves no choice, wherever rounding goes.
        let next = 1.0f32.next_up();
        assert!((0..100).all(|_| random.between(1.0, next.next_up()) == next));
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // First values for the seed 1234567, from the reference implementation.
        let mut random = Random(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn a_written_file_is_found_whole_and_a_cut_or_foreign_one_is_not() {
        let path = std::env::temp_dir().join(format!("fusebox-demo-{}.npy", std::process::id()));
        write(&path, &INPUTS[0], 1, 1000).unwrap();
        assert_eq!(length(&path), Some(1000));
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 4]).unwrap();
        assert_eq!(length(&path), None);
        fs::write(&path, [bytes.as_slice(), &[0]].concat()).unwrap();
        assert_eq!(length(&path), None);
        let doubles = File::create(&path).unwrap();
        let mut doubles = npyz::WriteOptions::new().default_dtype().shape(&[1]).writer(doubles).begin_nd().unwrap();
        doubles.push(&1.0f64).unwrap();
        doubles.finish().unwrap();
        assert_eq!(length(&path), None);
        fs::write(&path, "text").unwrap();
        assert_eq!(length(&path), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(length(&path), None);
    }
}
