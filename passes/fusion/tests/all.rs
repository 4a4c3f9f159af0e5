//! The tests that share a program: many programs would take as long to link as to run, and gigabytes.

mod chains;
mod generated;
mod golden;
mod laws;
mod offsets;
mod rematerialise;
mod sources;
mod table;
mod turned;
