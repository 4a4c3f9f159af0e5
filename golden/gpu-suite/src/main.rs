#![doc = include_str!("../README.md")]

mod embedded;
mod peak;
mod run;
mod suite;
mod timed;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use fusebox_cuda::Cuda;
use fusebox_ptx::sim::Simulator;
use fusebox_schedule::Target;

use suite::{Wanted, suite};

/// Run the golden programs and the benchmark programs on the GPU of this machine
#[derive(Parser)]
struct Options {
    /// What runs them: the first GPU, or the simulator at tiny sizes
    #[arg(long, default_value = "cuda")]
    backend: Device,
    /// Some programs only, by name
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// Runs of each benchmark program, of which the shortest counts
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Sizes of tests, on the GPU too
    #[arg(long)]
    tiny: bool,
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
        Device::Cuda => match Cuda::open(fusebox_cuda::Options::default()) {
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
    println!("the simulator, as {target}: times say nothing");
    suite(Simulator::new(fusebox_ptx::sim::Options::default()), target, &wanted(options, true, 1))
}

fn on(gpu: Cuda, options: &Options) -> Result<usize> {
    let (name, architecture) = (gpu.gpu().name.clone(), gpu.gpu().architecture());
    let target = Target::of_gpu(&architecture)
        .with_context(|| format!("{name} is {architecture}, and code is made from sm_70 on"))?;
    println!("{name} ({architecture}), code for {target}");
    suite(gpu, target, &wanted(options, options.tiny, options.runs))
}

fn wanted(options: &Options, tiny: bool, runs: u32) -> Wanted {
    Wanted { programs: options.programs.clone(), tiny, runs }
}
