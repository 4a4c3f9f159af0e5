//! The language, rule by rule: each page of this book is a theme, each test a rule with the shortest program that shows it.
//!
//! To read in this order: `scalars_integers`, `scalars_floats`, `evaluation`, `shapes`, `generate_map`, `views`, `folds`, `scans`,
//! `permute`, `stencils`, `expand`, `sort`, `control`, `nests`, `sequences`, `foreign`, `errors`.
//!
//! Expected results are written by hand. `coverage` holds the book to every operation, instruction, function and fault there is.
//! `support` says how inputs and results are written.

mod coverage;
mod support;

mod control;
mod errors;
mod evaluation;
mod expand;
mod folds;
mod foreign;
mod generate_map;
mod nests;
mod permute;
mod scalars_floats;
mod scalars_integers;
mod scans;
mod sequences;
mod shapes;
mod sort;
mod stencils;
mod views;
