//! Folds and scans.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[Embedded { name: "dotp", build: dotp }];

fn dotp() -> Result<Terms, BuildError> {
    let dotp = |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| zip_with(|x, y| x * y, xs, ys).named("products").fold(|a, b| a + b, 0.0);
    Ok(program("dotp", dotp).inputs(["xs", "ys"]).results(["s"]).build()?.terms)
}
