//! Elements of two types are not mixed.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |x: Exp<f32>, y: Exp<f64>| x + y);
}
