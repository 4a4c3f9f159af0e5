//! Message digests.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[Embedded { name: "md5", build: md5 }];

/// Left rotations of RFC 1321, four for each round.
const AMOUNTS: [u32; 16] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

/// The integer parts of 2^32 |sin(i + 1)|.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The four words of a digest, and before them the step.
type State = (i64, u32, u32, u32, u32);

fn md5() -> Result<Terms, BuildError> {
    let amounts = Vector::from_slice(&AMOUNTS).unwrap_or_else(|error| panic!("{error}"));
    let sines = Vector::from_slice(&SINES).unwrap_or_else(|error| panic!("{error}"));
    let f = |words: Acc<Matrix<u32>>| {
        let (_, n) = words.shape();
        let (amounts, sines) = (constant_array(&amounts).named("amounts"), constant_array(&sines).named("sines"));
        let digest = |lane: Exp<i64>| {
            let step = |state: Exp<State>| {
                let (step, a, b, c, d) = state.parts();
                let round = (step / 16).named("round");
                let (f, word) = cond(
                    round.eq_(0),
                    lift::<(u32, i64)>(((b & c) | (!b & d), step)),
                    cond(
                        round.eq_(1),
                        lift::<(u32, i64)>(((d & b) | (!d & c), (5 * step + 1) % 16)),
                        cond(
                            round.eq_(2),
                            lift::<(u32, i64)>((b ^ c ^ d, (3 * step + 5) % 16)),
                            lift::<(u32, i64)>((c ^ (b | !d), 7 * step % 16)),
                        ),
                    ),
                )
                .parts();
                let sum = (a + f + sines.at(step) + words.at((word, lane))).named("sum");
                let turned = sum.rotate_left(amounts.at(4 * round + step % 4));
                (step + 1, d, b + turned, b, c)
            };
            let start = lift::<State>((0i64, START[0], START[1], START[2], START[3]));
            let (_, a, b, c, d) = while_loop(start, |state| state.parts().0.lt(64), step).parts();
            (a + START[0], b + START[1], c + START[2], d + START[3])
        };
        let (a, b, c, d) = unzip4(generate(n, digest));
        concat_all_on(0, &[a, b, c, d].map(|row| row.reshape((1, n))))
    };
    Ok(program("md5", f).inputs(["words"]).results(["digests"]).build()?.terms)
}
