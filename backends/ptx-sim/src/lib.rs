#![doc = include_str!("../README.md")]

mod code;
mod counts;
mod decode;
mod device;
mod fault;
mod lanes;
mod layout;
mod module;
mod order;
mod random;
mod run;
mod text;
mod types;

pub use crate::{
    counts::Counts,
    device::{Device, Launch, Options},
    fault::{Fault, FaultKind},
    module::Module,
    text::ParseError,
};
