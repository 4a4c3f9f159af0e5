//! `match` decides while the program is built.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |x: Exp<i64>| match x {
        0 => constant(1i64),
        _ => x,
    });
}
