//! The tests that share a program: many programs would take as long to link as to run, and gigabytes.

mod associations;
mod atomics;
mod common;
mod emitted;
mod expands;
mod failures;
mod generated;
mod golden;
mod kernels;
mod late;
mod little_memory;
mod positions;
mod resident;
mod row_scans;
mod rows;
mod scalars;
mod schedules;
mod sort;
mod stencils;
mod tiled;
