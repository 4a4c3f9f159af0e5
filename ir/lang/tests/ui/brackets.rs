//! Elements are read by `at`.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<f32>>, i: Exp<i64>| xs[i]);
}
