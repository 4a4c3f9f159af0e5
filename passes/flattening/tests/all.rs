//! The tests that share a program: many programs would take as long to link as to run, and gigabytes.

mod analysis;
mod common;
mod golden;
mod held;
mod inner;
mod lifted;
mod limits;
mod meaning;
mod rows;
mod scalars;
mod segments;
mod sound;
mod traversals;
