//! One program on the device.

use std::time::Duration;

use anyhow::{Context, Result};
use fusebox::{Options, pipeline_of, run_passes};
use fusebox_ir::{Array, FlatInterface, Program, Value};
use fusebox_ptx::{Device, PtxBackend};

use crate::timed::Timed;

/// What came of a program.
pub(crate) struct Ran {
    /// As the program has them.
    pub(crate) results: Vec<Value>,
    /// How long the device worked, in the shortest run.
    pub(crate) worked: Duration,
    /// Launches of a run.
    pub(crate) launches: u64,
}

/// Runs a program so many times.
pub(crate) fn run<D: Device>(
    backend: &PtxBackend<Timed<D>>,
    program: &Program,
    inputs: &[Value],
    runs: u32,
) -> Result<Ran> {
    let passes = pipeline_of(program, &Options::default());
    let (_, before) = passes.split_last().context("there are no passes")?;
    let stages = run_passes(program, before, false)?;
    let clustered = stages.last().and_then(|stage| stage.program()).context("no program to lower")?;
    let (plan, _) = fusebox_kernels::lower_proved(clustered, &fusebox_kernels::Config::default())?;
    let loaded = backend.compile_proved_plan(&plan)?.load_plan()?;
    let interface = FlatInterface::of(program);
    let inputs = interface.flat(inputs)?;
    let mut ran: Option<(Vec<Array>, Duration, u64)> = None;
    for _ in 0..runs.max(1) {
        backend.device().taken();
        let results = loaded.run_plan(&inputs)?;
        let (worked, launches) = backend.device().taken();
        let shortest = ran.as_ref().map_or(worked, |before| before.1.min(worked));
        ran = Some((results, shortest, launches));
    }
    let (results, worked, launches) = ran.context("there was no run")?;
    Ok(Ran { results: interface.values(results)?, worked, launches })
}
