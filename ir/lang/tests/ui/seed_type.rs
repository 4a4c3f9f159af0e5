//! A seed is of the type of the elements.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<f32>>| xs.fold(|a, b| a + b, 0i32));
}
