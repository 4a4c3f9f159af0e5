//! There are at most eight dimensions.
use fusebox_lang::*;

fn main() {
    let _ = build("f", |a: Acc<Array<Ix8, f32>>| replicate((Any, 2), a));
}
