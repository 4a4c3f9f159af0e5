//! A program gives handles.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |_: Exp<f32>| 1.0f32);
}
