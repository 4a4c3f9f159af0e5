//! What the hand-written programs share: loops over blocks on all threads, and outputs that are used again.
//!
//! They are safe Rust that the compiler vectorises when the target has the instructions, which `cargo xtask bench` asks for. What it does not
//! find of itself is in [`crate::simd`].

use anyhow::Result;
use fusebox::ir::{Array, Scalar};
use rayon::prelude::*;

/// Elements that one thread takes at a time.
pub const BLOCK: usize = 1 << 16;

/// Accumulators of a reduction: enough that neither the width of vectors nor the latency of an addition limits it.
pub const LANES: usize = 64;

/// A hand-written program on its inputs. Its outputs are allocated once and written again by every run.
pub trait Hand {
    /// Runs it. Nobody else may hold what [`Self::results`] gave, or the outputs are copied.
    fn run(&mut self);

    /// What the last run gave.
    fn results(&self) -> Vec<Array>;
}

/// A program that fills arrays.
struct Filling<F> {
    arrays: Vec<Array>,
    run: F,
}

impl<F: FnMut(&mut [Array])> Hand for Filling<F> {
    fn run(&mut self) {
        (self.run)(&mut self.arrays);
    }

    fn results(&self) -> Vec<Array> {
        self.arrays.clone()
    }
}

/// A program with one result of these extents.
///
/// # Errors
/// Results that no memory holds.
pub fn filling<'d, T: Scalar>(extents: &[usize], mut run: impl FnMut(&mut [T]) + 'd) -> Result<Box<dyn Hand + 'd>> {
    filling_all(extents, move |[one]: [&mut [T]; 1]| run(one))
}

/// A program with several results of these extents.
///
/// # Errors
/// Results that no memory holds.
pub fn filling_all<'d, T: Scalar, const N: usize>(
    extents: &[usize],
    mut run: impl FnMut([&mut [T]; N]) + 'd,
) -> Result<Box<dyn Hand + 'd>> {
    let arrays = (0..N).map(|_| Array::zeros(T::TYPE, extents)).collect::<Result<_, _>>()?;
    Ok(Box::new(Filling {
        arrays,
        run: move |arrays: &mut [Array]| {
            let slices: Vec<&mut [T]> = arrays.iter_mut().filter_map(Array::as_mut_slice).collect();
            if let Ok(slices) = slices.try_into() {
                run(slices);
            }
        },
    }))
}

/// A program with these scalar results.
///
/// # Errors
/// None.
pub fn scalars<'d, const N: usize>(mut run: impl FnMut() -> [f32; N] + 'd) -> Result<Box<dyn Hand + 'd>> {
    let arrays = (0..N).map(|_| Array::scalar(0f32)).collect();
    Ok(Box::new(Filling {
        arrays,
        run: move |arrays: &mut [Array]| {
            for (array, value) in arrays.iter_mut().zip(run()) {
                array.set(0, value.into());
            }
        },
    }))
}

/// A program whose result may be shorter than the array that holds it: `run` says how long it is.
///
/// # Errors
/// Results that no memory holds.
pub fn appending<'d, T: Scalar>(
    capacity: usize,
    mut run: impl FnMut(&mut [T]) -> usize + 'd,
) -> Result<Box<dyn Hand + 'd>> {
    struct Appending<F> {
        array: Array,
        length: usize,
        run: F,
    }
    impl<F: FnMut(&mut Array) -> usize> Hand for Appending<F> {
        fn run(&mut self) {
            self.length = (self.run)(&mut self.array);
        }

        fn results(&self) -> Vec<Array> {
            let mut array = self.array.clone();
            array.truncate(self.length);
            vec![array]
        }
    }
    let array = Array::zeros(T::TYPE, &[capacity])?;
    Ok(Box::new(Appending { array, length: 0, run: move |array: &mut Array| array.as_mut_slice().map_or(0, &mut run) }))
}

/// Waits for another thread: soon it gives up its turn, since what is waited for may not be running.
#[derive(Default)]
pub struct Patience(u32);

impl Patience {
    /// A moment.
    pub fn wait(&mut self) {
        self.0 += 1;
        if self.0 < 1000 { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

/// `a * b + c`, in one instruction where the target has one.
#[inline(always)]
pub fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(target_feature = "fma") { a.mul_add(b, c) } else { a * b + c }
}

/// What `step` makes of an accumulator and each element of a block, in [`LANES`] accumulators, which are summed.
#[inline(always)]
pub fn block_sum(x: &[f32], step: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, &x) in lanes.iter_mut().zip(chunk) {
            *sum = step(*sum, x);
        }
    }
    for (sum, &x) in lanes.iter_mut().zip(rest) {
        *sum = step(*sum, x);
    }
    lanes.iter().sum()
}

/// The same of two vectors of equal length, in blocks on all threads.
pub fn sum2(x: &[f32], y: &[f32], step: impl Fn(f32, f32, f32) -> f32 + Sync) -> f32 {
    let block = |(x, y): (&[f32], &[f32])| {
        let mut lanes = [0f32; LANES];
        let (xs, x_rest) = x.as_chunks::<LANES>();
        let (ys, y_rest) = y.as_chunks::<LANES>();
        for (x, y) in xs.iter().zip(ys) {
            for ((sum, &x), &y) in lanes.iter_mut().zip(x).zip(y) {
                *sum = step(*sum, x, y);
            }
        }
        for ((sum, &x), &y) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
            *sum = step(*sum, x, y);
        }
        f64::from(lanes.iter().sum::<f32>())
    };
    x.par_chunks(BLOCK).zip(y.par_chunks(BLOCK)).map(block).sum::<f64>() as f32
}

/// `exp x` of normal numbers, within 2 ulp: reduction by a power of two, polynomial of degree 6. No branches, so loops of it are vectorised.
///
/// The polynomial is that of the Cephes library (S. L. Moshier).
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0; // 1.5 * 2^23: adding it leaves the nearest integer in the lowest bits
    let x = x.clamp(-87.3, 88.7);
    let shifted = mul_add(x, std::f32::consts::LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    let r = mul_add(n, -0.693_359_4, x);
    let r = mul_add(n, 2.121_944_4e-4, r);
    let mut p = 1.987_569_1e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5] {
        p = mul_add(p, r, coefficient);
    }
    let p = mul_add(p * r, r, r) + 1.0;
    let power = shifted.to_bits().wrapping_sub(SHIFT.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(power)
}

/// `ln x` of positive normal numbers, within 2 ulp: exponent and polynomial of the mantissa (Cephes). No branches.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let bits = x.to_bits().wrapping_sub(0x3f35_04f3); // sqrt 0.5: the mantissa is between it and sqrt 2
    let e = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x7f_ffff) + 0x3f35_04f3) - 1.0;
    let mut p = 7.037_683_6e-2;
    for coefficient in [
        -0.115_146_1,
        0.116_769_984,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_57,
        0.200_007_14,
        -0.249_999_94,
        0.333_333_3,
    ] {
        p = mul_add(p, m, coefficient);
    }
    let square = m * m;
    let p = mul_add(e, -2.121_944_4e-4, p * m * square);
    let p = mul_add(square, -0.5, p);
    mul_add(e, 0.693_359_4, m + p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_as_near_as_they_say() {
        let near = |name: &str, x: f32, found: f32, exact: f64| {
            let ulp = f64::from((exact as f32).next_up()) - f64::from(exact as f32);
            let off = (f64::from(found) - exact).abs() / ulp;
            assert!(off <= 2.0, "{name} {x} = {found}, {off} ulp from {exact}");
        };
        for step in -8000..8000 {
            let x = step as f32 / 97.0;
            near("exp", x, exp(x), f64::from(x).exp());
        }
        for step in 1..20_000 {
            let x = step as f32 / 1000.0;
            if x != 1.0 {
                near("ln", x, ln(x), f64::from(x).ln());
            }
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn sums_take_every_element() {
        for length in [0u16, 1, 63, 64, 65, 1000] {
            let x: Vec<f32> = (0..length).map(f32::from).collect();
            let expected = x.iter().sum::<f32>();
            assert_eq!(block_sum(&x, |sum, x| sum + x), expected);
            assert_eq!(sum2(&x, &x, |sum, x, y| sum + 2.0 * x - y), expected);
        }
    }
}
