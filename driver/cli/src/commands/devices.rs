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
    Ok(())
}
