//! Maps: `saxpy`, `blackscholes`, `diagonal`.

use anyhow::Result;
use rayon::prelude::*;

use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, BLOCK, Hand, mul_add},
    program::{Input::Named, Program, Sizes, Work},
    random::Random,
};

pub(super) fn programs() -> [Program; 3] {
    [
        Program {
            name: "saxpy",
            text: include_str!("../../programs/saxpy.fbx"),
            inputs: &[Named("a"), Named("x"), Named("y")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 50_000, large: 20_000_000 },
            tiny: 5_000,
            same_steps: None,
            generate: |n| two_vectors(n).with_param("a", 1.5),
            hand: saxpy,
            work: |data| vectors(data, 3.0, 2.0),
            tolerance: Tolerance { relative: 1e-6, absolute: 1e-6, outliers: 0.0 },
        },
        Program {
            name: "blackscholes",
            text: include_str!("../../programs/blackscholes.fbx"),
            inputs: &[Named("price"), Named("strike"), Named("years"), Named("r"), Named("v")],
            results: &[0, 1],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 20_000, large: 10_000_000 },
            tiny: 2_000,
            same_steps: None,
            generate: options,
            hand: black_scholes,
            work: |data| vectors(data, 5.0, 70.0),
            tolerance: Tolerance { relative: 1e-4, absolute: 1e-4, outliers: 0.0 },
        },
        Program {
            name: "diagonal",
            text: include_str!("../../../../golden/programs/diagonal.fbx"),
            inputs: &[Named("a")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 50_000, large: 20_000_000 },
            tiny: 5_000,
            same_steps: None,
            generate: |n| {
                let a = Random::new(4).floats(n, -1.0, 1.0);
                Data::new().with_param("n", n as f64).with_array("a", &[n], &a)
            },
            hand: diagonal,
            work: |data| vectors(data, 3.0, 0.0),
            tolerance: Tolerance::relative(1e-4),
        },
    ]
}

/// Two vectors of numbers around 0.
pub(super) fn two_vectors(n: usize) -> Data {
    let mut random = Random::new(1);
    let x = random.floats(n, -1.0, 1.0);
    let y = random.floats(n, -1.0, 1.0);
    Data::new().with_param("n", n as f64).with_array("x", &[n], &x).with_array("y", &[n], &y)
}

/// Work of so many passes over vectors of `n` floats, and so many operations for each element.
pub(super) fn vectors(data: &Data, passes: f64, operations: f64) -> Result<Work> {
    let n = data.param("n")?;
    Ok(Work { bytes: 4.0 * passes * n, operations: operations * n })
}

fn saxpy<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (a, x, y) = (data.param("a")? as f32, data.slice("x")?, data.slice("y")?);
    hand::filling(&[x.len()], move |out: &mut [f32]| {
        let blocks = out.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK)).zip(y.par_chunks(BLOCK));
        blocks.for_each(|((out, x), y)| {
            for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
                *out = mul_add(a, *x, *y);
            }
        });
    })
}

fn options(n: usize) -> Data {
    let mut random = Random::new(3);
    let price = random.floats(n, 5.0, 30.0);
    let strike = random.floats(n, 1.0, 100.0);
    let years = random.floats(n, 0.25, 10.0);
    Data::new()
        .with_param("n", n as f64)
        .with_param("r", 0.02)
        .with_param("v", 0.30)
        .with_array("price", &[n], &price)
        .with_array("strike", &[n], &strike)
        .with_array("years", &[n], &years)
}

fn black_scholes<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    const OPTIONS: usize = 1 << 14;
    let (price, strike, years) = (data.slice("price")?, data.slice("strike")?, data.slice("years")?);
    let (r, v) = (data.param("r")? as f32, data.param("v")? as f32);
    hand::filling_all(&[price.len()], move |[call, put]: [&mut [f32]; 2]| {
        let inputs = price.par_chunks(OPTIONS).zip(strike.par_chunks(OPTIONS)).zip(years.par_chunks(OPTIONS));
        let outputs = call.par_chunks_mut(OPTIONS).zip(put.par_chunks_mut(OPTIONS));
        outputs.zip(inputs).for_each(|((call, put), ((price, strike), years))| {
            let inputs = price.iter().zip(strike).zip(years);
            for ((call, put), ((price, strike), years)) in call.iter_mut().zip(put).zip(inputs) {
                (*call, *put) = option(*price, *strike, *years, r, v);
            }
        });
    })
}

/// Call and put of one option.
#[inline(always)]
fn option(s: f32, k: f32, t: f32, r: f32, v: f32) -> (f32, f32) {
    let w = v * t.sqrt();
    let d1 = (hand::ln(s / k) + (r + 0.5 * v * v) * t) / w;
    let d2 = d1 - w;
    let (n1, n2) = (normal(d1), normal(d2));
    let x = k * hand::exp(-r * t);
    (s * n1 - x * n2, x * (1.0 - n2) - s * (1.0 - n1))
}

/// The cumulative normal distribution: the five-term polynomial of Abramowitz and Stegun, 26.2.17.
#[inline(always)]
fn normal(d: f32) -> f32 {
    let k = 1.0 / mul_add(0.231_641_9, d.abs(), 1.0);
    let mut p = 1.330_274_5;
    for coefficient in [-1.821_255_9, 1.781_477_9, -0.356_563_78, 0.319_381_53] {
        p = mul_add(p, k, coefficient);
    }
    let tail = 0.398_942_3 * hand::exp(-0.5 * d * d) * (p * k);
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// Exponentials are computed twice: that is cheaper than to store and read them.
fn diagonal<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let a: &[f32] = data.slice("a")?;
    hand::filling(&[a.len()], move |out: &mut [f32]| {
        let sums = a.par_chunks(BLOCK).map(|a| f64::from(hand::block_sum(a, |sum, a| sum + hand::exp(a))));
        let sum = sums.sum::<f64>() as f32;
        out.par_chunks_mut(BLOCK).zip(a.par_chunks(BLOCK)).for_each(|(out, a)| {
            for (out, a) in out.iter_mut().zip(a) {
                *out = hand::exp(*a) / sum;
            }
        });
    })
}
