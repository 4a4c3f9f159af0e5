//! Programs build, as terms.

use fusebox_ir::term::Term;
use fusebox_lang::*;

fn cnd(d: Exp<f32>) -> Exp<f32> {
    let k = 1.0 / (1.0 + 0.2316419 * d.abs());
    let poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    let c = 0.39894228040143267793994605993438f32 * (-0.5 * d * d).exp() * poly;
    cond(d.gt(0.0), 1.0 - c, c)
}

type Option3 = (f32, f32, f32);

fn black_scholes(options: Acc<Vector<Option3>>) -> Acc<Vector<(f32, f32)>> {
    let (riskfree, volatility) = (0.02f32, 0.30f32);
    options.map(|option| {
        let (price, strike, years) = option.parts();
        let sqrt_t = years.sqrt();
        let d1 = ((price / strike).log() + (riskfree + 0.5 * volatility * volatility) * years) / (volatility * sqrt_t);
        let d2 = d1 - volatility * sqrt_t;
        let (cnd1, cnd2) = (cnd(d1), cnd(d2));
        let exp_rt = (-riskfree * years).exp();
        (price * cnd1 - strike * exp_rt * cnd2, strike * exp_rt * (1.0 - cnd2) - price * (1.0 - cnd1))
    })
}

#[test]
fn black_scholes_builds() {
    let built = program("black_scholes", black_scholes).inputs(["options"]).results(["r"]).build().unwrap();
    let names: Vec<_> = built.terms.outputs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["r._0", "r._1"]);
    assert_eq!(built.terms.inputs.len(), 3);
    let logs = built.terms.nodes.iter().filter(|n| {
        matches!(&n.term, Term::Scalar { op: fusebox_ir::ScalarOp::Unary { function: fusebox_ir::Unary::Log, .. }, .. })
    });
    assert_eq!(logs.count(), 1);
}

#[test]
fn dotp_builds() {
    let built = program("dotp", |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
        zip_with(|x, y| x * y, xs, ys).fold(|a, b| a + b, 0.0)
    })
    .inputs(["xs", "ys"])
    .results(["s"])
    .build()
    .unwrap();
    assert_eq!(built.interface.inputs[0].components[0].rank, 1);
    for (id, node) in built.terms.nodes.iter().enumerate() {
        println!("{id}: {:?}", node.term);
    }
}
