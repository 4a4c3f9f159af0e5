#![doc = include_str!("../README.md")]
#![allow(unsafe_code)] // the driver is a C library

mod cache;
mod device;
mod driver;
mod error;
mod event;
mod memory;
mod module;
mod queue;
mod remote;
mod staging;

pub use crate::{
    device::{Cuda, Options},
    driver::{Gpu, gpus},
    error::Error,
    event::Event,
    module::Module,
    queue::Queue,
};
