//! Prices of options.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[Embedded { name: "black_scholes", build: black_scholes }];

/// The five-term polynomial of Abramowitz and Stegun (26.2.17) for the cumulative normal distribution.
fn normal(d: Exp<f32>) -> Exp<f32> {
    let k = (1.0 / (1.0 + 0.2316419 * d.abs())).named("k");
    let polynomial =
        k * (0.319_381_53 + k * (-0.356_563_78 + k * (1.781_477_9 + k * (-1.821_255_9 + k * 1.330_274_5))));
    let tail = (0.398_942_3 * (-0.5 * d * d).exp() * polynomial).named("tail");
    cond(d.gt(0.0), 1.0 - tail, tail).named("n")
}

fn black_scholes() -> Result<Terms, BuildError> {
    let price = |price: Acc<Vector<f32>>, strike: Acc<Vector<f32>>, years: Acc<Vector<f32>>| {
        unzip(zip_with3(
            |s: Exp<f32>, k: Exp<f32>, t: Exp<f32>| {
                let (rate, volatility) = (0.02, 0.30);
                let w = (volatility * t.sqrt()).named("w");
                let d1 = (((s / k).log() + (rate + 0.5 * volatility * volatility) * t) / w).named("d1");
                let d2 = (d1 - w).named("d2");
                let (n1, n2) = (normal(d1), normal(d2));
                let x = (k * (-rate * t).exp()).named("x");
                (s * n1 - x * n2, x * (1.0 - n2) - s * (1.0 - n1))
            },
            price,
            strike,
            years,
        ))
    };
    Ok(program("black_scholes", price).inputs(["price", "strike", "years"]).results(["call", "put"]).build()?.terms)
}
