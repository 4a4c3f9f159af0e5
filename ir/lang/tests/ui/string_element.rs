//! Strings are no elements.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |xs: Acc<Vector<String>>| xs);
}
