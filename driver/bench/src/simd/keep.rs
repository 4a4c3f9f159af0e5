//! Elements above a limit, moved together.

/// Elements that [`keep_above`] writes at once.
pub const GROUP: usize = 16;

/// Copies the elements above `limit` to the front of `out`, in order: how many. NaN is not above anything.
///
/// What is behind those that are kept ends as anything.
///
/// # Panics
/// If `out` has not room for all of them and [`GROUP`] more.
pub fn keep_above(x: &[f32], limit: f32, out: &mut [f32]) -> usize {
    assert!(out.len() >= x.len() + GROUP, "no room for a whole group behind the last");
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return wide(simd, x, limit, out);
    }
    plain(x, limit, out)
}

#[inline(always)]
fn plain(x: &[f32], limit: f32, out: &mut [f32]) -> usize {
    let mut count = 0;
    for &x in x {
        out[count] = x;
        count += usize::from(x > limit);
    }
    count
}

#[cfg(target_arch = "x86_64")]
fn wide(simd: pulp::x86::V4, x: &[f32], limit: f32, out: &mut [f32]) -> usize {
    const GREATER: i32 = 0x1e; // ordered, and no exception of NaN
    super::within(
        simd,
        #[inline(always)]
        || {
            let f = simd.avx512f;
            let limits = f._mm512_set1_ps(limit);
            let (groups, rest) = x.as_chunks::<GROUP>();
            let mut count = 0;
            for &group in groups {
                let group = pulp::cast(group);
                let kept = f._mm512_cmp_ps_mask::<GREATER>(group, limits);
                if let Some(out) = out.get_mut(count..).and_then(<[f32]>::first_chunk_mut::<GROUP>) {
                    *out = pulp::cast(f._mm512_maskz_compress_ps(kept, group));
                }
                count += kept.count_ones() as usize;
            }
            count + plain(rest, limit, &mut out[count..])
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_is_above() {
        for length in [0usize, 1, 15, 16, 17, 33, 1000] {
            let x: Vec<f32> = (0..length).map(|i| if i % 11 == 3 { f32::NAN } else { (i * 7 % 13) as f32 }).collect();
            for limit in [-1.0, 5.0, 100.0, f32::NAN] {
                let expected: Vec<f32> = x.iter().copied().filter(|&x| x > limit).collect();
                for keep in [keep_above, plain] {
                    let mut out = vec![0.0; length + GROUP];
                    let count = keep(&x, limit, &mut out);
                    assert_eq!(out[..count], expected, "{length} {limit}");
                }
            }
        }
    }
}
