//! An index is of i64.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<f32>>, i: Exp<i32>| xs.at(i));
}
