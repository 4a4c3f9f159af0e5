//! Fourier transforms: `fft`.

use std::f64::consts::TAU;

use anyhow::{Result, ensure};
use rayon::prelude::*;

use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand},
    program::{Input::Named, Program, Sizes, Work},
    random::Random,
};

pub(super) fn programs() -> [Program; 1] {
    [Program {
        name: "fft",
        text: include_str!("../../../../golden/programs/fft.fbx"),
        inputs: &[Named("re"), Named("im")],
        results: &[0, 1],
        outside: false,
        needs_fusion: false,
        sizes: Sizes { small: 4096, large: 1 << 20 },
        tiny: 512,
        same_steps: None,
        generate: |n| {
            let n = n.next_power_of_two();
            let mut random = Random::new(60);
            let data = Data::new().with_param("n", n as f64);
            ["re", "im"].into_iter().fold(data, |data, name| {
                let numbers: Vec<f64> = (0..n).map(|_| 2.0 * random.unit() - 1.0).collect();
                data.with_array(name, &[n], &numbers)
            })
        },
        hand: fft,
        work: |data| {
            let n = data.param("n")?;
            // Of butterflies of four.
            Ok(Work { bytes: 32.0 * n, operations: 4.25 * n * n.log2() })
        },
        tolerance: Tolerance { relative: 1e-9, absolute: 1e-8, outliers: 0.0 },
    }]
}

/// Real and imaginary parts.
type Parts<'a> = [&'a [f64]; 2];
type PartsMut<'a> = [&'a mut [f64]; 2];

/// Elements that one thread takes at a time.
const BLOCK: usize = 1 << 12;

/// Stockham's transform, by four where it goes: every pass reads one pair of arrays in order and writes the other, sorted on the way. The
/// factors are computed once, as libraries do that make a plan of a transform.
fn fft<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (re, im) = (data.slice::<f64>("re")?, data.slice::<f64>("im")?);
    let n = re.len();
    ensure!(n.is_power_of_two() && im.len() == n, "the length of the transform is no power of two");
    let factors: Vec<[f64; 2]> = (0..n)
        .map(|k| {
            let (sin, cos) = (-TAU * k as f64 / n as f64).sin_cos();
            [cos, sin]
        })
        .collect();
    let mut spare = [vec![0f64; n], vec![0f64; n]];
    hand::filling_all(&[n], move |[out_re, out_im]: [&mut [f64]; 2]| {
        let bits = n.trailing_zeros();
        let passes = bits.div_ceil(2);
        if passes == 0 {
            out_re.copy_from_slice(re);
            out_im.copy_from_slice(im);
            return;
        }
        let [spare_re, spare_im] = &mut spare;
        let mut to: PartsMut<'_> = [out_re, out_im];
        let mut other: PartsMut<'_> = [spare_re, spare_im];
        if passes % 2 == 0 {
            std::mem::swap(&mut to, &mut other);
        }
        let mut done = 1;
        for pass in 0..passes {
            let from: Parts<'_> = if pass == 0 { [re, im] } else { [&*other[0], &*other[1]] };
            // By two once, if the number of doublings is odd.
            if pass == 0 && bits % 2 == 1 {
                by_two(from, &mut to, &factors);
                done = 2;
            } else {
                by_four(from, &mut to, &factors, done);
                done *= 4;
            }
            std::mem::swap(&mut to, &mut other);
        }
    })
}

/// The first pass: pairs of elements that are half of the array apart.
fn by_two([re, im]: Parts<'_>, [out_re, out_im]: &mut PartsMut<'_>, factors: &[[f64; 2]]) {
    let half = re.len() / 2;
    let outputs = out_re.par_chunks_mut(2).zip(out_im.par_chunks_mut(2)).enumerate();
    outputs.with_min_len(BLOCK / 2).for_each(|(j, (out_re, out_im))| {
        let ([a, b], [c, d]) = ([re[j], im[j]], [re[j + half], im[j + half]]);
        let [w, z] = factors[j];
        let (x, y) = (a - c, b - d);
        (out_re[0], out_im[0]) = (a + c, b + d);
        (out_re[1], out_im[1]) = (x * w - y * z, x * z + y * w);
    });
}

/// One pass by four, after passes that made blocks of `done` elements.
fn by_four(from: Parts<'_>, [out_re, out_im]: &mut PartsMut<'_>, factors: &[[f64; 2]], done: usize) {
    let n = from[0].len();
    let quarter = n / 4;
    let outputs = out_re.par_chunks_mut(4 * done).zip(out_im.par_chunks_mut(4 * done)).enumerate();
    outputs.with_min_len((BLOCK / (4 * done)).max(1)).for_each(|(j, (out_re, out_im))| {
        let inputs = from.map(|part| [0, 1, 2, 3].map(|r| &part[j * done + r * quarter..][..done]));
        let w = [1, 2, 3].map(|r| factors[r * j * done]);
        let ([a, b, c, d], [e, f, g, h]) = (quarters(out_re, done), quarters(out_im, done));
        if done <= BLOCK {
            butterflies(inputs, [a, b, c, d], [e, f, g, h], w);
            return;
        }
        let re = a
            .par_chunks_mut(BLOCK)
            .zip(b.par_chunks_mut(BLOCK))
            .zip(c.par_chunks_mut(BLOCK))
            .zip(d.par_chunks_mut(BLOCK));
        let im = e
            .par_chunks_mut(BLOCK)
            .zip(f.par_chunks_mut(BLOCK))
            .zip(g.par_chunks_mut(BLOCK))
            .zip(h.par_chunks_mut(BLOCK));
        re.zip(im).enumerate().for_each(|(piece, ((((a, b), c), d), (((e, f), g), h)))| {
            let (first, count) = (piece * BLOCK, a.len());
            let inputs = inputs.map(|parts| parts.map(|part| &part[first..][..count]));
            butterflies(inputs, [a, b, c, d], [e, f, g, h], w);
        });
    });
}

fn quarters(part: &mut [f64], done: usize) -> [&mut [f64]; 4] {
    let (low, high) = part.split_at_mut(2 * done);
    let ((a, b), (c, d)) = (low.split_at_mut(done), high.split_at_mut(done));
    [a, b, c, d]
}

/// Transforms of four elements each, whose results are turned by three factors.
#[inline(always)]
fn butterflies([re, im]: [[&[f64]; 4]; 2], out_re: [&mut [f64]; 4], out_im: [&mut [f64]; 4], w: [[f64; 2]; 3]) {
    let count = out_re[0].len();
    let (re, im) = (re.map(|part| &part[..count]), im.map(|part| &part[..count]));
    let ([ar, br, cr, dr], [ai, bi, ci, di]) = (out_re, out_im);
    let turned = |x: f64, y: f64, [c, s]: [f64; 2]| (x * c - y * s, x * s + y * c);
    for k in 0..count {
        let (even_re, odd_re) = (re[0][k] + re[2][k], re[0][k] - re[2][k]);
        let (even_im, odd_im) = (im[0][k] + im[2][k], im[0][k] - im[2][k]);
        let (sum_re, sum_im) = (re[1][k] + re[3][k], im[1][k] + im[3][k]);
        // The difference, turned by -i.
        let (turned_re, turned_im) = (im[1][k] - im[3][k], re[3][k] - re[1][k]);
        (ar[k], ai[k]) = (even_re + sum_re, even_im + sum_im);
        (br[k], bi[k]) = turned(odd_re + turned_re, odd_im + turned_im, w[0]);
        (cr[k], ci[k]) = turned(even_re - sum_re, even_im - sum_im, w[1]);
        (dr[k], di[k]) = turned(odd_re - turned_re, odd_im - turned_im, w[2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_by_hand_is_that_of_the_definition() {
        for n in [1usize, 2, 4, 8, 32, 64] {
            let data = (programs()[0].generate)(n);
            let mut hand = fft(&data).unwrap();
            hand.run();
            let results = hand.results();
            let (re, im) = (data.slice::<f64>("re").unwrap(), data.slice::<f64>("im").unwrap());
            for k in 0..n {
                let (mut x, mut y) = (0.0, 0.0);
                for j in 0..n {
                    let (s, c) = (-TAU * (j * k % n) as f64 / n as f64).sin_cos();
                    x += re[j] * c - im[j] * s;
                    y += re[j] * s + im[j] * c;
                }
                let found = |at: usize| results[at].as_slice::<f64>().unwrap()[k];
                assert!((found(0) - x).abs() < 1e-10 && (found(1) - y).abs() < 1e-10, "{n}: {k}");
            }
        }
    }
}
