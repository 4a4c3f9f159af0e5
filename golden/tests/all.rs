//! The tests that share a program: many programs would take as long to link as to run, and gigabytes.

mod by_hand;
mod common;
mod differential;
mod embedded;
mod fusion;
mod lane_errors;
mod nested;
mod ragged_rows;
mod repeatable;
mod schemas;
mod segments;
mod sentences;
mod simulated_golden;
mod solvers;
mod stages;
mod traffic;
