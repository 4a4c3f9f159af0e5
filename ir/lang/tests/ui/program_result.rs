//! A program gives handles.
use fusebox_lang::*;

fn half(_: Exp<f32>) -> f32 {
    0.5
}

fn main() {
    let _ = build("f", half);
}
