//! Sizes are i64.
use fusebox_lang::*;

fn same(xs: Acc<Vector<usize>>) -> Acc<Vector<usize>> {
    xs
}

fn main() {
    let _ = build("f", same);
}
