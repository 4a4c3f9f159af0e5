//! MD5 by hand (RFC 1321): blocks side by side in the lanes of vectors.

use anyhow::Result;
use rayon::prelude::*;

use crate::{
    data::Data,
    hand::{self, Hand},
};

/// Blocks that are on their way at once: two vectors of sixteen, so that one's latency hides in the other.
const BLOCKS: usize = 32;

const AMOUNTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The integer part of `2^32 |sin (i + 1)|`.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

type Lanes = [u32; BLOCKS];

/// Digests of the blocks in `words` [16, n], as [4, n].
pub(super) fn by_hand<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let words: &[u32] = data.slice("words")?;
    let n = words.len() / 16;
    hand::filling(&[4, n], move |out: &mut [u32]| {
        let mut rows = out.chunks_mut(n.max(1));
        let (Some(a), Some(b), Some(c), Some(d)) = (rows.next(), rows.next(), rows.next(), rows.next()) else { return };
        let halves = a.par_chunks_mut(BLOCKS).zip(b.par_chunks_mut(BLOCKS));
        let others = c.par_chunks_mut(BLOCKS).zip(d.par_chunks_mut(BLOCKS));
        halves.zip(others).with_min_len(64).enumerate().for_each(|(chunk, ((a, b), (c, d)))| {
            let first = chunk * BLOCKS;
            let count = a.len();
            let words: [Lanes; 16] = std::array::from_fn(|word| {
                let mut lanes = [0; BLOCKS];
                lanes[..count].copy_from_slice(&words[word * n + first..][..count]);
                lanes
            });
            for (out, digest) in [a, b, c, d].into_iter().zip(digest(&words)) {
                out.copy_from_slice(&digest[..count]);
            }
        });
    })
}

/// The four rounds of sixteen steps, every step's constants known where it is compiled.
#[inline(always)]
fn digest(words: &[Lanes; 16]) -> [Lanes; 4] {
    let mut state = START.map(|word| [word; BLOCKS]);
    four_steps::<0>(&mut state, words);
    four_steps::<4>(&mut state, words);
    four_steps::<8>(&mut state, words);
    four_steps::<12>(&mut state, words);
    four_steps::<16>(&mut state, words);
    four_steps::<20>(&mut state, words);
    four_steps::<24>(&mut state, words);
    four_steps::<28>(&mut state, words);
    four_steps::<32>(&mut state, words);
    four_steps::<36>(&mut state, words);
    four_steps::<40>(&mut state, words);
    four_steps::<44>(&mut state, words);
    four_steps::<48>(&mut state, words);
    four_steps::<52>(&mut state, words);
    four_steps::<56>(&mut state, words);
    four_steps::<60>(&mut state, words);
    for (state, start) in state.iter_mut().zip(START) {
        for lane in state {
            *lane = lane.wrapping_add(start);
        }
    }
    state
}

#[inline(always)]
fn four_steps<const FIRST: usize>(state: &mut [Lanes; 4], words: &[Lanes; 16]) {
    for step in FIRST..FIRST + 4 {
        let round = FIRST / 16;
        let word = match round {
            0 => step,
            1 => (5 * step + 1) % 16,
            2 => (3 * step + 5) % 16,
            _ => 7 * step % 16,
        };
        let amount = AMOUNTS[round][step % 4];
        let [a, b, c, d] = *state;
        let mut next = [0; BLOCKS];
        for lane in 0..BLOCKS {
            let (b, c, d) = (b[lane], c[lane], d[lane]);
            let mixed = match round {
                0 => (b & c) | (!b & d),
                1 => (d & b) | (!d & c),
                2 => b ^ c ^ d,
                _ => c ^ (b | !d),
            };
            let sum = a[lane].wrapping_add(mixed).wrapping_add(SINES[step]).wrapping_add(words[word][lane]);
            next[lane] = b.wrapping_add(sum.rotate_left(amount));
        }
        *state = [d, next, b, c];
    }
}
