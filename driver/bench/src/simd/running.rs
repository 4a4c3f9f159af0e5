//! Running sums, sixteen at a time in a register by doubling distances.

/// What [`Number::running_sums`] adds.
pub trait Number: Copy + Default + Send + Sync + std::ops::Add<Output = Self> {
    /// Writes the running sums of `x`, each with `carry` added, to as many elements of `out`: the last of them, or `carry` of none.
    fn running_sums(x: &[Self], out: &mut [Self], carry: Self) -> Self;
}

impl Number for f32 {
    fn running_sums(x: &[Self], out: &mut [Self], carry: Self) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V4::try_new() {
            return wide::floats(simd, x, out, carry);
        }
        plain(x, out, carry)
    }
}

impl Number for i32 {
    fn running_sums(x: &[Self], out: &mut [Self], carry: Self) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V4::try_new() {
            return wide::integers(simd, x, out, carry);
        }
        plain(x, out, carry)
    }
}

#[inline(always)]
fn plain<T: Number>(x: &[T], out: &mut [T], mut carry: T) -> T {
    let (x, x_rest) = x.as_chunks::<16>();
    let (out, out_rest) = out.as_chunks_mut::<16>();
    for (x, out) in x.iter().zip(out) {
        let mut sums = *x;
        sums = shifted_sum::<T, 1>(sums);
        sums = shifted_sum::<T, 2>(sums);
        sums = shifted_sum::<T, 4>(sums);
        sums = shifted_sum::<T, 8>(sums);
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = carry + sum;
        }
        carry = carry + sums[15];
    }
    for (x, out) in x_rest.iter().zip(out_rest) {
        carry = carry + *x;
        *out = carry;
    }
    carry
}

/// Each element plus the one `BY` before it.
#[inline(always)]
fn shifted_sum<T: Number, const BY: usize>(x: [T; 16]) -> [T; 16] {
    let mut shifted = [T::default(); 16];
    shifted[BY..].copy_from_slice(&x[..16 - BY]);
    std::array::from_fn(|lane| x[lane] + shifted[lane])
}

/// The same additions in the same order; only the sum of what is before is waited for from group to group.
#[cfg(target_arch = "x86_64")]
mod wide {
    use pulp::{cast, x86::V4};

    use super::super::within;

    pub fn floats(simd: V4, x: &[f32], out: &mut [f32], carry: f32) -> f32 {
        within(
            simd,
            #[inline(always)]
            || {
                let f = simd.avx512f;
                let (zero, last) = (f._mm512_setzero_si512(), f._mm512_set1_epi32(15));
                let mut before = f._mm512_set1_ps(carry);
                let (x, x_rest) = x.as_chunks::<16>();
                let (out, out_rest) = out.as_chunks_mut::<16>();
                for (&x, out) in x.iter().zip(out) {
                    let mut sums = cast(x);
                    sums = f._mm512_add_ps(sums, cast(f._mm512_alignr_epi32::<15>(cast(sums), zero)));
                    sums = f._mm512_add_ps(sums, cast(f._mm512_alignr_epi32::<14>(cast(sums), zero)));
                    sums = f._mm512_add_ps(sums, cast(f._mm512_alignr_epi32::<12>(cast(sums), zero)));
                    sums = f._mm512_add_ps(sums, cast(f._mm512_alignr_epi32::<8>(cast(sums), zero)));
                    *out = cast(f._mm512_add_ps(before, sums));
                    before = f._mm512_add_ps(before, f._mm512_permutexvar_ps(last, sums));
                }
                let [carry, ..]: [f32; 16] = cast(before);
                super::plain(x_rest, out_rest, carry)
            },
        )
    }

    pub fn integers(simd: V4, x: &[i32], out: &mut [i32], carry: i32) -> i32 {
        within(
            simd,
            #[inline(always)]
            || {
                let f = simd.avx512f;
                let (zero, last) = (f._mm512_setzero_si512(), f._mm512_set1_epi32(15));
                let mut before = f._mm512_set1_epi32(carry);
                let (x, x_rest) = x.as_chunks::<16>();
                let (out, out_rest) = out.as_chunks_mut::<16>();
                for (&x, out) in x.iter().zip(out) {
                    let mut sums = cast(x);
                    sums = f._mm512_add_epi32(sums, f._mm512_alignr_epi32::<15>(sums, zero));
                    sums = f._mm512_add_epi32(sums, f._mm512_alignr_epi32::<14>(sums, zero));
                    sums = f._mm512_add_epi32(sums, f._mm512_alignr_epi32::<12>(sums, zero));
                    sums = f._mm512_add_epi32(sums, f._mm512_alignr_epi32::<8>(sums, zero));
                    *out = cast(f._mm512_add_epi32(before, sums));
                    before = f._mm512_add_epi32(before, f._mm512_permutexvar_epi32(last, sums));
                }
                let [carry, ..]: [i32; 16] = cast(before);
                super::plain(x_rest, out_rest, carry)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_sums_are_those_of_a_loop() {
        for length in [0i32, 1, 15, 16, 17, 100, 4099] {
            let x: Vec<i32> = (0..length).map(|i| i * 7 % 13 - 5).collect();
            let sums: Vec<i32> = x.iter().scan(3, |sum, x| Some(*sum + x).inspect(|next| *sum = *next)).collect();
            let floats = |x: &[i32]| -> Vec<f32> { x.iter().map(|&x| x as f32).collect() };
            for run in [i32::running_sums, plain] {
                let mut out = vec![0; x.len()];
                assert_eq!(run(&x, &mut out, 3), sums.last().copied().unwrap_or(3));
                assert_eq!(out, sums, "{length}");
            }
            for run in [f32::running_sums, plain] {
                let mut out = vec![0.0; x.len()];
                assert_eq!(run(&floats(&x), &mut out, 3.0), sums.last().copied().unwrap_or(3) as f32);
                assert_eq!(out, floats(&sums), "{length}");
            }
        }
    }

    #[test]
    fn both_loops_round_alike() {
        let x: Vec<f32> = (0..1000).map(|i| 1.0 / (i as f32 + 0.7)).collect();
        let [mut one, mut other] = [vec![0.0; x.len()], vec![0.0; x.len()]];
        assert_eq!(f32::running_sums(&x, &mut one, 0.1), plain(&x, &mut other, 0.1));
        assert_eq!(one, other);
    }

    #[test]
    fn what_is_not_a_number_spreads() {
        let mut x = vec![1.0f32; 40];
        x[20] = f32::NAN;
        let mut out = vec![0.0; 40];
        assert!(f32::running_sums(&x, &mut out, 0.0).is_nan());
        assert!(out[20..].iter().all(|sum| sum.is_nan()));
        assert_eq!(out[..16], std::array::from_fn::<f32, 16, _>(|at| at as f32 + 1.0));
    }
}
