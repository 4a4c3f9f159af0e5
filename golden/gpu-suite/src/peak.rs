//! What the device reaches: bytes a second of a copy, operations a second of a loop of multiply and add.

use anyhow::{Context, Result};
use fusebox_ptx::{Device, DeviceLaunch, Remote};

use crate::{timed::Timed, watch::Watch};

/// What rows of the table are parts of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peak {
    /// Bytes a second, read and written, of a copy on the device.
    pub(crate) bytes: f64,
    /// Operations on `f32` a second.
    pub(crate) operations: f64,
}

/// How much is copied and computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) bytes: u64,
    pub(crate) blocks: u32,
    pub(crate) turns: u64,
    pub(crate) runs: u32,
}

/// Threads of a block of the loop.
const THREADS: u32 = 256;
/// Products and sums of a turn of it.
const STEPS: usize = 32;

/// Eight sums that do not wait for each other, each four times a turn.
fn text(architecture: &str) -> String {
    let mut steps = String::new();
    for step in 0..STEPS {
        let sum = step % 8;
        steps += &format!("\tfma.rn.f32 %f{sum}, %f{sum}, %f8, %f9;\n");
    }
    let starts: String = (0..8).map(|sum| format!("\tcvt.rn.f32.u32 %f{sum}, %r0;\n")).collect();
    let sums: String = (1..8).map(|sum| format!("\tadd.rn.f32 %f0, %f0, %f{sum};\n")).collect();
    format!(
        ".version {}\n.target {architecture}\n.address_size 64\n\
         .visible .entry peak(.param .u64 to, .param .u64 turns)\n{{\n\
         \t.reg .pred %p<1>;\n\t.reg .b32 %r<4>;\n\t.reg .f32 %f<10>;\n\t.reg .b64 %d<6>;\n\
         \tld.param.u64 %d0, [to];\n\tld.param.u64 %d1, [turns];\n\tcvta.to.global.u64 %d0, %d0;\n\
         \tmov.u32 %r0, %tid.x;\n\tmov.u32 %r1, %ctaid.x;\n\tmov.f32 %f8, 0f3F7FFFFE;\n\tmov.f32 %f9, 0f3F000000;\n{starts}\
         AGAIN:\n{steps}\tadd.u64 %d1, %d1, -1;\n\tsetp.ne.u64 %p0, %d1, 0;\n\t@%p0 bra AGAIN;\n{sums}\
         \tmad.lo.u32 %r2, %r1, {THREADS}, %r0;\n\tmul.wide.u32 %d2, %r2, 4;\n\tadd.u64 %d3, %d0, %d2;\n\tst.global.f32 [%d3], %f0;\n\tret;\n}}\n",
        if architecture == "sm_100" { "8.6" } else { "7.8" }
    )
}

/// Measures a device.
pub(crate) fn measure<D: Watch>(device: &Timed<D>, architecture: &str, effort: Effort) -> Result<Peak> {
    let queue = device.queue()?;
    let allocate =
        |bytes: u64| device.allocate("to measure with", bytes)?.context("there is no memory to measure with");
    let (from, to) = (allocate(effort.bytes)?, allocate(effort.bytes)?);
    device.clear(&queue, from, effort.bytes)?;
    let mut peak = Peak { bytes: 0.0, operations: 0.0 };
    for _ in 0..effort.runs {
        device.taken()?;
        device.copy(&queue, from, to, effort.bytes)?;
        peak.bytes = peak.bytes.max(2.0 * effort.bytes as f64 / device.taken()?.worked.as_secs_f64());
    }
    let sums = allocate(4 * u64::from(effort.blocks * THREADS))?;
    let module = device.load(&text(architecture))?;
    let operations = 2.0 * (STEPS as u64 * effort.turns * u64::from(effort.blocks * THREADS)) as f64;
    for _ in 0..effort.runs {
        device.taken()?;
        let launch =
            DeviceLaunch { entry: "peak", blocks: effort.blocks, threads: THREADS, arguments: &[sums, effort.turns] };
        device.launch(&queue, &module, &launch)?;
        peak.operations = peak.operations.max(operations / device.taken()?.worked.as_secs_f64());
    }
    device.synchronise(&queue)?;
    [from, to, sums].into_iter().for_each(|address| device.free(address));
    Ok(peak)
}
