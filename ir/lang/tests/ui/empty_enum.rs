//! An enum without alternatives has no values.
use fusebox_lang::*;

#[derive(Clone, Elt)]
enum Never {}

fn main() {}
