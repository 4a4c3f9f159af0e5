//! A combining function gives what it takes.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<f32>>| xs.fold(|a, b| a.lt(b), 0.0));
}
