//! The language, rule by rule: each page of this book is a theme, each test a rule with the shortest program that shows it.
//!
//! Expected results are written by hand. `coverage` holds the book to every operation, instruction, function and fault there is.
//! `support` says how inputs and results are written.

mod coverage;
mod support;

mod scalars_integers;
mod scalars_floats;
mod evaluation;
mod shapes;
mod generate_map;
mod views;
mod folds;
mod scans;
mod permute;
mod stencils;
mod expand;
mod sort;
mod control;
mod nests;
mod sequences;
mod foreign;
mod errors;
