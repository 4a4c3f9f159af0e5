//! `devices`: what programs can run on.

use std::io::Write;

use fusebox::Backend;

use crate::Failure;

/// List the backends, and what they run on here
#[derive(clap::Args)]
pub(crate) struct Options {}

pub(crate) fn run(_: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for backend in Backend::ALL {
        let here = match backend {
            Backend::Cpu => format!("; {threads} threads, {}", std::env::consts::ARCH),
            _ => String::new(),
        };
        writeln!(out, "{:8} {}{here}", backend.name(), backend.summary())?;
    }
    // Not chosen by `--backend` yet: what kernels of PTX run on.
    match fusebox_cuda::gpus() {
        Ok(gpus) => {
            for gpu in gpus {
                let gib = gpu.memory as f64 / f64::from(1 << 30);
                let (number, architecture) = (gpu.ordinal, gpu.architecture());
                writeln!(
                    out,
                    "gpu      {number}: {}; {gib:.1} GiB, {architecture}, {} multiprocessors",
                    gpu.name, gpu.processors
                )?;
            }
        }
        Err(error) => writeln!(out, "gpu      none: {error}")?,
    }
    writeln!(out, "sim      a GPU simulated on one core: executes PTX and checks every access, for tests")?;
    Ok(())
}
