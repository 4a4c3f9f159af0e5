//! Arrays of two ranks are not zipped.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<f32>>, m: Acc<Matrix<f32>>| zip_with(|x, y| x + y, xs, m));
}
