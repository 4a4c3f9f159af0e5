#![doc = include_str!("../README.md")]

mod backend;
pub mod device;
mod emit;
pub mod failure;
mod form;
mod generate;
mod launch;
mod machine;
mod module;
mod scalar;
#[cfg(feature = "sim")]
pub mod sim;
mod sort;
mod statement;
mod text;
mod value;

pub use backend::{CompiledPlan, LoadedPlan, PtxBackend};
pub use device::{Device, DeviceError, DeviceLaunch};
pub use generate::{elements, emit, steps};
pub use machine::Buffer;
pub use module::{Argument, Entry, Module, Quantity, Scratch};
