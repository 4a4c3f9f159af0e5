//! Comparisons of Rust give a `bool`.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |x: Exp<f32>, y: Exp<f32>| cond(x > y, x, y));
    let _ = build("f", |x: Exp<f32>| cond(x == 0.0, 1.0, x));
    let _ = build("f", |xs: Acc<Vector<f32>>| xs < 1.0);
}
