#![doc = include_str!("../README.md")]

mod backend;
pub mod device;
mod emit;
pub mod failure;
mod generate;
mod launch;
mod machine;
mod module;
mod scalar;
#[cfg(feature = "sim")]
pub mod sim;
mod sort;
mod statement;
mod team;
mod text;
mod value;

pub use backend::{CompiledPlan, LoadedPlan, PtxBackend};
pub use device::{Device, DeviceError, DeviceLaunch};
pub use generate::{elements, emit, emit_scheduled, steps};
pub use machine::Buffer;
pub use module::{Argument, Entry, Module, Quantity, Scratch};
