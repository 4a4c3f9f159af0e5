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
            Backend::Auto => match backend.chosen() {
                (chosen, Some(reason)) => format!("; here `{chosen}`, as {reason}"),
                _ => String::new(),
            },
            _ => String::new(),
        };
        writeln!(out, "{:8} {}{here}", backend.name(), backend.summary())?;
        if backend == Backend::Cuda {
            gpus(out)?;
        }
    }
    Ok(())
}

/// The GPUs of this machine, or why there is none.
fn gpus(out: &mut dyn Write) -> Result<(), Failure> {
    match fusebox_cuda::gpus() {
        Ok(gpus) => {
            for gpu in gpus {
                let gib = gpu.memory as f64 / f64::from(1 << 30);
                let (number, architecture) = (gpu.ordinal, gpu.architecture());
                let processors = gpu.processors;
                let line = format!("{}; {gib:.1} GiB, {architecture}, {processors} multiprocessors", gpu.name);
                writeln!(out, "         {number}: {line}")?;
            }
        }
        Err(error) => writeln!(out, "         {error}")?,
    }
    Ok(())
}
