//! A condition is a truth value.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |x: Exp<f32>| cond(x, 1.0f32, 2.0f32));
}
