//! Running a grid: blocks, warps, lanes.

pub(crate) mod arena;
mod atomic;
mod barrier;
mod block;
mod grid;
mod meet;
mod memory;
mod pass;
mod progress;
mod rows;
mod seen;
mod step;
mod together;
mod touch;
mod warp;

pub(crate) use grid::{Request, run};
pub(crate) use memory::Memory;
