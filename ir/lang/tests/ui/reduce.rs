//! A reduction is called a fold.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<f32>>| xs.reduce(|a: Exp<f32>, b: Exp<f32>| a + b));
}
