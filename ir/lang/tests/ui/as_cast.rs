//! `as` converts numbers of Rust.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |i: Exp<i64>| (i as f32) + 1.0);
}
