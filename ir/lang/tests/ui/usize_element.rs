//! Sizes are i64.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<usize>>| xs);
}
