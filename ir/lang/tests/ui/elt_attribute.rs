//! The only attribute of a derived element type says where fusebox is.
use fusebox_lang::*;

#[derive(Clone, Elt)]
#[elt(name = "point")]
struct Point {
    x: f32,
}

fn main() {}
