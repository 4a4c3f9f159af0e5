//! Arrays that are added have one rank and one type of elements.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<f32>>, m: Acc<Matrix<f32>>| xs + m);
    let _ = build("f", |xs: Acc<Vector<f32>>, ys: Acc<Vector<i64>>| xs.max(ys));
}
