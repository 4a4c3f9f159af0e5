#![doc = include_str!("../README.md")]

mod backend;
mod core;
pub mod device;
mod emit;
pub mod failure;
mod generate;
mod gpu;
mod kernel;
mod launch;
mod machine;
mod module;
mod resident;
mod scalar;
#[cfg(feature = "sim")]
pub mod sim;
mod sort;
mod state;
mod statement;
mod team;
mod text;
mod value;
mod workspace;
mod written_out;

pub use backend::{CompiledPlan, LoadedPlan, PtxBackend};
pub use device::{Device, DeviceError, DeviceLaunch};
pub use fusebox_backend::device_memory::{DeviceMemory, Remote};
/// The modules that sort on an architecture, by what they are for; none of what is no GPU.
pub fn sorts(target: &fusebox_schedule::Target) -> Vec<(String, String)> {
    let fusebox_schedule::Machine::Gpu(gpu) = &target.machine else { return Vec::new() };
    let widths = [32, 64].into_iter().flat_map(|rank| [32, 64].map(|order| sort::Widths { rank, order }));
    let module = |widths: sort::Widths| sort::module(widths, gpu.compute, generate::version(gpu.compute));
    widths.map(|widths| (format!("sort-{}-{}", widths.rank, widths.order), module(widths))).collect()
}

pub use generate::{Positions, WIDE_FROM, elements, emit, emit_scheduled, steps};
pub use gpu::Buffer;
pub use module::{Argument, Entry, Module, Quantity, Scratch};
