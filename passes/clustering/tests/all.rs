//! The tests that share a program: many programs would take as long to link as to run, and gigabytes.

mod brute;
mod golden;
mod graphs;
mod legacy;
mod random;
mod refusals;
mod solvers;
mod speed;
mod ties;
