//! An index has as many parts as the array has dimensions.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |m: Acc<Matrix<f32>>, i: Exp<i64>| m.at(i));
}
