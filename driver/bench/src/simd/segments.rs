//! Sums of segments of a few to some dozens of elements.

/// Writes the sum of each segment; `offsets` says where they begin, and where the last ends.
///
/// # Panics
/// If an offset is outside, or less than the one before.
pub fn sums(x: &[f32], offsets: &[i32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return wide(simd, x, offsets, out);
    }
    for (out, ends) in out.iter_mut().zip(offsets.array_windows::<2>()) {
        *out = plain(&x[ends[0] as usize..ends[1] as usize]);
    }
}

/// Of one segment.
fn plain(x: &[f32]) -> f32 {
    let mut lanes = [0f32; 32];
    let (chunks, rest) = x.as_chunks::<32>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x;
        }
    }
    let mut half = [0f32; 8];
    for (position, lane) in lanes.iter().enumerate() {
        half[position % 8] += lane;
    }
    half.iter().chain(rest).sum()
}

/// Segments of up to 64 elements without a loop, whose end would be guessed wrong: what is behind the end is masked.
#[cfg(target_arch = "x86_64")]
fn wide(simd: pulp::x86::V4, x: &[f32], offsets: &[i32], out: &mut [f32]) {
    super::within(
        simd,
        #[inline(always)]
        || {
            let f = simd.avx512f;
            for (out, ends) in out.iter_mut().zip(offsets.array_windows::<2>()) {
                let (start, end) = (ends[0] as usize, ends[1] as usize);
                *out = match x.get(start..).and_then(<[f32]>::first_chunk::<64>) {
                    Some(window) if end - start <= 64 => {
                        let kept = if end - start == 64 { u64::MAX } else { (1 << (end - start)) - 1 };
                        let [a, b, c, d]: [[f32; 16]; 4] = pulp::cast(*window);
                        let a = f._mm512_maskz_mov_ps(kept as u16, pulp::cast(a));
                        let b = f._mm512_maskz_mov_ps((kept >> 16) as u16, pulp::cast(b));
                        let a = f._mm512_mask_add_ps(a, (kept >> 32) as u16, a, pulp::cast(c));
                        let b = f._mm512_mask_add_ps(b, (kept >> 48) as u16, b, pulp::cast(d));
                        f._mm512_reduce_add_ps(f._mm512_add_ps(a, b))
                    }
                    _ => plain(&x[start..end]),
                };
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_summed_from_end_to_end() {
        // Small integers: every order of additions gives the same.
        let mut x: Vec<f32> = (0..1200i16).map(|i| f32::from(i * 7 % 13 - 5)).collect();
        let mut offsets = vec![0];
        for length in [0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 200, 0, 3, 7] {
            offsets.push(offsets.last().unwrap() + length);
        }
        let end = *offsets.last().unwrap();
        x.truncate(end as usize);
        let mut found = vec![9.0; offsets.len() - 1];
        sums(&x, &offsets, &mut found);
        let expected: Vec<f32> =
            offsets.array_windows::<2>().map(|ends| x[ends[0] as usize..ends[1] as usize].iter().sum()).collect();
        assert_eq!(found, expected);
        let each: Vec<f32> =
            offsets.array_windows::<2>().map(|ends| plain(&x[ends[0] as usize..ends[1] as usize])).collect();
        assert_eq!(each, expected);
        sums(&[], &[0, 0], &mut found[..1]);
        assert_eq!(found[0], 0.0);
        sums(&[], &[0], &mut []);
    }

    #[test]
    fn what_is_not_a_number_stays_in_its_segment() {
        let mut x = vec![1.0f32; 200];
        x[70] = f32::NAN;
        let mut found = [0.0; 4];
        sums(&x, &[0, 60, 70, 71, 130], &mut found);
        assert_eq!((found[0], found[1], found[3]), (60.0, 10.0, 59.0));
        assert!(found[2].is_nan());
    }
}
