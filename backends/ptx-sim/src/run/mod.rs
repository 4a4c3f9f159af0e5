//! Running a grid: blocks, warps, lanes.

pub(crate) mod arena;
mod atomic;
mod barrier;
mod block;
mod grid;
mod memory;
mod progress;
mod step;
mod together;
mod touch;
mod warp;

pub(crate) use grid::{Request, run};
pub(crate) use memory::Memory;
