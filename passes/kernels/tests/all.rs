//! The tests that share a program: many programs would take as long to link as to run, and gigabytes.

mod bounds;
mod clusters;
mod found;
mod golden;
mod math_lanes;
mod math_specials;
mod meaning;
mod operations;
mod plans;
mod random_clusters;
mod reuse;
mod strict;
