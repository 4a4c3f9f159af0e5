//! A slice names every dimension.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |m: Acc<Matrix<f32>>| slice((All, All, 1), m));
}
