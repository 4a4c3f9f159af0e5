//! Strings are no elements.
use fusebox_lang::*;

fn same(xs: Acc<Vector<String>>) -> Acc<Vector<String>> {
    xs
}

fn main() {
    let _ = build("f", same);
}
