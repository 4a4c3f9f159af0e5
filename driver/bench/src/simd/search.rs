//! Where a pattern begins in a text.

/// Calls `found` with each place where `pattern` begins in `text`, in order.
///
/// # Panics
/// If the pattern is empty.
pub fn places(text: &[u8], pattern: &[u8], found: impl FnMut(usize)) {
    assert!(!pattern.is_empty(), "there is nothing to search for");
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return wide(simd, text, pattern, found);
    }
    plain(text, pattern, 0, found);
}

/// From the place `from` on.
fn plain(text: &[u8], pattern: &[u8], from: usize, mut found: impl FnMut(usize)) {
    let windows = text.get(from..).unwrap_or_default().windows(pattern.len()).enumerate();
    windows.filter(|(_, window)| *window == pattern).for_each(|(place, _)| found(from + place));
}

/// The first letters are compared at 64 places at once; the others where these are found.
#[cfg(target_arch = "x86_64")]
fn wide(simd: pulp::x86::V4, text: &[u8], pattern: &[u8], mut found: impl FnMut(usize)) {
    const FIRST: usize = 8;
    super::within(
        simd,
        #[inline(always)]
        || {
            let compared = pattern.len().min(FIRST);
            let mut letters = [simd.avx512f._mm512_setzero_si512(); FIRST];
            for (letter, &byte) in letters.iter_mut().zip(pattern) {
                *letter = simd.avx512f._mm512_set1_epi8(byte.cast_signed());
            }
            let mut from = 0;
            while let Some(part) = text.get(from..from + 63 + pattern.len()) {
                let mut equal = u64::MAX;
                for (at, &letter) in letters[..compared].iter().enumerate() {
                    let Some(&group) = part[at..].first_chunk::<64>() else { break };
                    equal = simd.avx512bw._mm512_mask_cmpeq_epi8_mask(equal, pulp::cast(group), letter);
                }
                while equal != 0 {
                    let place = equal.trailing_zeros() as usize;
                    equal &= equal - 1;
                    if part[place..][..pattern.len()] == *pattern {
                        found(from + place);
                    }
                }
                from += 64;
            }
            plain(text, pattern, from, &mut found);
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found() {
        for length in [0usize, 1, 5, 63, 64, 65, 69, 70, 71, 500] {
            let text: Vec<u8> = (0..length).map(|i| b"ab"[(i * i / 3) % 2]).collect();
            for pattern in [&b"a"[..], b"ab", b"abbab", b"aabbaabb", b"abbaabbaaa"] {
                let expected: Vec<usize> = (0..length).filter(|&place| text[place..].starts_with(pattern)).collect();
                let (mut one, mut other) = (Vec::new(), Vec::new());
                places(&text, pattern, |place| one.push(place));
                plain(&text, pattern, 0, |place| other.push(place));
                assert_eq!((&one, &other), (&expected, &expected), "{length} {pattern:?}");
            }
        }
    }
}
