//! The `if` of Rust decides while building, not while running.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |x: Exp<f32>| if x.gt(0.0) { x } else { -x });
}
