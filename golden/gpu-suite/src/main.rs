#![doc = include_str!("../README.md")]

mod child;
mod embedded;
mod peak;
mod run;
mod suite;
mod table;
mod timed;
mod watch;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use embedded::Unpacked;
use fusebox_cuda::Cuda;
use fusebox_ptx::sim::Simulator;
use fusebox_schedule::Target;
use suite::{Named, Sizes, Wanted, one, peak, suite};

/// Run the golden programs and the benchmark programs on the GPU of this machine
#[derive(Parser)]
struct Options {
    /// What runs them: a GPU, or the simulator at tiny sizes
    #[arg(long, default_value = "cuda")]
    backend: Device,
    /// Which GPU, from 0
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// Some programs only, by name
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// Runs of each benchmark program, of which the shortest counts
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Sizes of tests, on the GPU too
    #[arg(long, conflicts_with = "small")]
    tiny: bool,
    /// Sizes that fit in the caches of a core
    #[arg(long)]
    small: bool,
    /// Seconds that a program may take, with its results on the CPU
    #[arg(long, default_value_t = 120.0)]
    seconds: f64,
    /// So many entries of each program, and what they took: those that took longest
    #[arg(long, default_value_t = 0)]
    parts: usize,
    /// One program, for the process that prints the table
    #[arg(long, hide = true, requires = "golden")]
    one: Option<Named>,
    /// Where the golden programs are
    #[arg(long, hide = true)]
    golden: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Device {
    Cuda,
    Sim,
}

/// What `main` exits with where there is no GPU.
const NO_GPU: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match options.backend {
        Device::Sim => simulated(&options),
        Device::Cuda => match Cuda::open(fusebox_cuda::Options { ordinal: options.device, ..Default::default() }) {
            Ok(gpu) => on(gpu, &options),
            Err(error) => {
                eprintln!("no GPU: {error}");
                return ExitCode::from(NO_GPU);
            }
        },
    };
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn simulated(options: &Options) -> Result<usize> {
    let target = Target::named("sm_90").context("the simulated GPU is not described")?;
    let wanted = Wanted { sizes: Sizes::Tiny, runs: 1, ..wanted(options)? };
    let about = format!("the simulator, as {target}: times say nothing");
    with(|| Ok(Simulator::new(fusebox_ptx::sim::Options::default())), target, options, &wanted, &about)
}

fn on(gpu: Cuda, options: &Options) -> Result<usize> {
    let (name, architecture) = (gpu.gpu().name.clone(), gpu.gpu().architecture());
    let target = Target::of_gpu(&architecture)
        .with_context(|| format!("{name} is {architecture}, and code is made from sm_70 on"))?;
    let about = format!("{name} ({architecture}), driver for CUDA {}, code for {target}", gpu.driver());
    with(|| Ok(gpu), target, options, &wanted(options)?, &about)
}

/// One program, or all of them.
fn with<D: watch::Watch>(
    device: impl FnOnce() -> Result<D>,
    target: Target,
    options: &Options,
    wanted: &Wanted,
    about: &str,
) -> Result<usize> {
    if let (Some(program), Some(golden)) = (&options.one, &options.golden) {
        println!("{}", one(device()?, target, program, golden, wanted)?);
        return Ok(0);
    }
    println!("{about}");
    let peak = peak(device()?, &target, wanted)?;
    let files = Unpacked::new()?;
    suite(files.folder(), wanted, peak, |program| process(program, files.folder(), options))
}

/// This program, for one of the programs.
fn process(program: &str, golden: &Path, options: &Options) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("where this program is")?);
    command.args(["--one", program, "--golden"]).arg(golden);
    command.args(["--runs", &options.runs.to_string(), "--device", &options.device.to_string()]);
    command.args(["--parts", &options.parts.to_string()]);
    command.args(["--backend", if options.backend == Device::Sim { "sim" } else { "cuda" }]);
    command.args(options.tiny.then_some("--tiny")).args(options.small.then_some("--small"));
    Ok(command)
}

fn wanted(options: &Options) -> Result<Wanted> {
    let sizes = match (options.tiny, options.small) {
        (true, _) => Sizes::Tiny,
        (_, true) => Sizes::Small,
        _ => Sizes::Large,
    };
    let most = Duration::try_from_secs_f64(options.seconds).context("--seconds")?;
    Ok(Wanted { programs: options.programs.clone(), sizes, runs: options.runs, most, parts: options.parts })
}
