//! One program on the device.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fusebox::{Options, pipeline_of, run_passes};
use fusebox_backend::{DeviceArray, Program as _};
use fusebox_ir::{Array, FlatInterface, Program, Value};
use fusebox_ptx::PtxBackend;

use crate::{
    timed::{Part, Timed},
    watch::Watch,
};

/// What came of a program.
pub(crate) struct Ran {
    /// As the program has them.
    pub(crate) results: Vec<Value>,
    /// How long the device worked, in the shortest run.
    pub(crate) worked: Duration,
    /// How long the shortest run took by the clock of the host, from and to arrays on the device.
    pub(crate) whole: Duration,
    /// Launches of a run.
    pub(crate) launches: u64,
    /// What took how long in the shortest run.
    pub(crate) parts: Vec<Part>,
}

/// Runs a program so many times, and once more.
pub(crate) fn run<D: Watch>(
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
    let given = inputs.iter().map(|input| loaded.to_device(input)).collect::<Result<Vec<DeviceArray>, _>>()?;
    // The first brings what is not there yet, and gives the results that are compared.
    backend.device().times(false);
    let (first, _) = loaded.run_resident(&given)?;
    let results = first.iter().map(DeviceArray::to_host).collect::<Result<Vec<Array>, _>>()?;
    drop(first);
    let mut ran = Ran {
        results: interface.values(results)?,
        worked: Duration::MAX,
        whole: Duration::MAX,
        launches: 0,
        parts: Vec::new(),
    };
    for _ in 0..runs.max(1) {
        backend.device().times(false);
        let begin = Instant::now();
        drop(loaded.run_resident(&given)?);
        ran.whole = ran.whole.min(begin.elapsed());
        backend.device().times(true);
        backend.device().taken()?;
        drop(loaded.run_resident(&given)?);
        let taken = backend.device().taken()?;
        ran.launches = taken.launches;
        if taken.worked < ran.worked {
            (ran.worked, ran.parts) = (taken.worked, taken.parts);
        }
    }
    Ok(ran)
}
