//! There is nothing to fold in a scalar.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |x: Acc<Scalar<f32>>| sum(x));
}
