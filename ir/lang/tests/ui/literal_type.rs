//! A literal is of the type it is mixed with.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |i: Exp<i64>| i * 2.5);
}
