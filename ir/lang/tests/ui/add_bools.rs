//! Truth values have no arithmetic.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |a: Exp<bool>, b: Exp<bool>| a + b);
}
