//! Integers have no square root.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |i: Exp<i64>| i.sqrt());
}
