#![doc = include_str!("README.md")]

pub(crate) mod free; // where values are used last
pub(crate) mod reuse; // kernels that write over what they read
