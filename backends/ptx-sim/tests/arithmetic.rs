//! What single instructions compute, against Rust; and that the assembler would take them.

mod common;

use common::*;
use fusebox_ptx_sim::Device;

/// Runs `code` on each pair of words: `%r0` and `%r1` are the pair, `%d1` the same as one, `%f0`, `%f1`, `%e0` their bits as floats;
/// gives what is in `%d9`.
fn each(code: &str, pairs: &[(u32, u32)]) -> Vec<u64> {
    let text = kernel(
        ".param .u64 a",
        &format!(
            "ld.param.u64 %d0, [a]; mov.u32 %r30, %tid.x; mul.wide.u32 %d30, %r30, 8; add.u64 %d30, %d0, %d30;\n\
             ld.global.v2.u32 {{%r0, %r1}}, [%d30]; ld.global.u64 %d1, [%d30]; mov.b64 %e0, %d1; mov.b32 %f0, %r0; mov.b32 %f1, %r1;\n\
             {code}\n st.global.u64 [%d30], %d9; ret;"
        ),
    );
    let text = text.replace(
        ".target sm_70",
        if code.contains("redux") || code.contains(".NaN") { ".target sm_80" } else { ".target sm_70" },
    );
    let values: Vec<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    let mut device = Device::new(seeded(1));
    let a = words(&mut device, "a", &values);
    let launch = line(1, pairs.len() as u32);
    device.launch(&parsed(&text), "k", launch, &[a]).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let bytes = device.read(a, 8 * pairs.len() as u64).unwrap();
    bytes.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// As `each`, of code that leaves 32 bits in `%r9`.
fn words_of(code: &str, pairs: &[(u32, u32)]) -> Vec<u32> {
    each(&format!("{code} cvt.u64.u32 %d9, %r9;"), pairs).into_iter().map(|value| value as u32).collect()
}

/// Numbers of all kinds, as integers and as floats.
fn pairs() -> Vec<(u32, u32)> {
    let edges = [
        0,
        1,
        2,
        31,
        32,
        33,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0x8000_0001,
    ];
    let mut pairs: Vec<(u32, u32)> = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b))).collect();
    let mut state = 12_345u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state ^ state >> 15
    };
    pairs.extend((0..300).map(|_| (next(), next())));
    pairs
}

fn check(code: &str, expected: impl Fn(u32, u32) -> u32) {
    let pairs = pairs();
    for (&(a, b), found) in pairs.iter().zip(words_of(code, &pairs)) {
        assert_eq!(found, expected(a, b), "{code} of {a:#x}, {b:#x}");
    }
}

fn check_wide(code: &str, expected: impl Fn(u32, u32) -> u64) {
    let pairs = pairs();
    for (&(a, b), found) in pairs.iter().zip(each(code, &pairs)) {
        assert_eq!(found, expected(a, b), "{code} of {a:#x}, {b:#x}");
    }
}

/// A NaN is as good as another.
fn check_float(code: &str, expected: impl Fn(f32, f32) -> f32) {
    let pairs = pairs();
    for (&(a, b), found) in pairs.iter().zip(words_of(&format!("{code} mov.b32 %r9, %f9;"), &pairs)) {
        let (expected, found) = (expected(f32::from_bits(a), f32::from_bits(b)), f32::from_bits(found));
        let same = expected.to_bits() == found.to_bits() || expected.is_nan() && found.is_nan();
        assert!(same, "{code} of {a:#x}, {b:#x}: {found:e}, expected {expected:e}");
    }
}

#[test]
fn integers() {
    check("add.u32 %r9, %r0, %r1;", u32::wrapping_add);
    check("sub.s32 %r9, %r0, %r1;", u32::wrapping_sub);
    check("add.sat.s32 %r9, %r0, %r1;", |a, b| (a as i32).saturating_add(b as i32) as u32);
    check("mul.lo.u32 %r9, %r0, %r1;", u32::wrapping_mul);
    check("mul.hi.u32 %r9, %r0, %r1;", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    check("mul.hi.s32 %r9, %r0, %r1;", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    check_wide("mul.wide.s32 %d9, %r0, %r1;", |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64);
    check_wide("mul.wide.u32 %d9, %r0, %r1;", |a, b| u64::from(a) * u64::from(b));
    check_wide("mad.wide.u32 %d9, %r0, %r1, %d1;", |a, b| {
        (u64::from(a) * u64::from(b)).wrapping_add(u64::from(b) << 32 | u64::from(a))
    });
    check_wide("mul.hi.u64 %d9, %d1, %d1;", |a, b| {
        let both = u128::from(u64::from(b) << 32 | u64::from(a));
        ((both * both) >> 64) as u64
    });
    check("mad.lo.s32 %r9, %r0, %r1, %r0;", |a, b| a.wrapping_mul(b).wrapping_add(a));
    check("max.u32 %r2, %r1, 1; div.u32 %r9, %r0, %r2;", |a, b| a / b.max(1));
    check("max.u32 %r2, %r1, 1; rem.s32 %r9, %r0, %r2;", |a, b| (a as i32).wrapping_rem(b.max(1) as i32) as u32);
    check("min.s32 %r9, %r0, %r1;", |a, b| (a as i32).min(b as i32) as u32);
    check("max.u32 %r9, %r0, %r1;", u32::max);
    check("abs.s32 %r9, %r0;", |a, _| (a as i32).wrapping_abs() as u32);
    check("neg.s32 %r9, %r0;", |a, _| a.wrapping_neg());
    check("sad.u32 %r9, %r0, %r1, %r0;", |a, b| a.abs_diff(b).wrapping_add(a));
    check("mul24.lo.u32 %r9, %r0, %r1;", |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff));
    check("cvt.u16.u32 %h0, %r0; cvt.u16.u32 %h1, %r1; mul.wide.u16 %r9, %h0, %h1;", |a, b| {
        (a & 0xffff) * (b & 0xffff)
    });
    check("cvt.u16.u32 %h0, %r0; cvt.u16.u32 %h1, %r1; sub.s16 %h2, %h0, %h1; cvt.s32.s16 %r9, %h2;", |a, b| {
        i32::from((a as i16).wrapping_sub(b as i16)) as u32
    });
}

#[test]
fn carries() {
    let sum = "add.cc.u32 %r2, %r0, %r1; addc.cc.u32 %r3, %r1, %r0; addc.u32 %r4, 0, 0; add.u32 %r9, %r3, %r4;";
    check(sum, |a, b| {
        let low = u64::from(a) + u64::from(b);
        let high = low + (low >> 32);
        (high as u32).wrapping_add((high >> 32) as u32)
    });
    let difference = "sub.cc.u32 %r2, %r0, %r1; subc.u32 %r9, %r1, %r0;";
    check(difference, |a, b| b.wrapping_sub(a).wrapping_sub(u32::from(a < b)));
}

#[test]
fn bits() {
    check("and.b32 %r2, %r0, %r1; xor.b32 %r3, %r2, %r0; or.b32 %r4, %r3, %r1; not.b32 %r9, %r4;", |a, b| {
        !((a & b ^ a) | b)
    });
    check("shl.b32 %r9, %r0, %r1;", |a, b| a.checked_shl(b).unwrap_or(0));
    check("shr.u32 %r9, %r0, %r1;", |a, b| a.checked_shr(b).unwrap_or(0));
    check("shr.s32 %r9, %r0, %r1;", |a, b| (a as i32 >> b.min(31)) as u32);
    check("popc.b32 %r9, %r0;", |a, _| a.count_ones());
    check("clz.b32 %r9, %r0;", |a, _| a.leading_zeros());
    check("brev.b32 %r9, %r0;", |a, _| a.reverse_bits());
    check("clz.b64 %r9, %d1;", |a, b| (u64::from(b) << 32 | u64::from(a)).leading_zeros());
    check("bfind.u32 %r9, %r0;", |a, _| if a == 0 { u32::MAX } else { 31 - a.leading_zeros() });
    check("bfind.shiftamt.u32 %r9, %r0;", |a, _| if a == 0 { u32::MAX } else { a.leading_zeros() });
    check("bfe.u32 %r9, %r0, 5, 9;", |a, _| a >> 5 & 0x1ff);
    check("bfe.s32 %r9, %r0, 5, 9;", |a, _| ((a << 18) as i32 >> 23) as u32);
    check("bfi.b32 %r9, %r0, %r1, 8, 12;", |a, b| b & !0xf_ff00 | (a & 0xfff) << 8);
    check("shf.l.wrap.b32 %r9, %r0, %r1, 7;", |a, b| b << 7 | a >> 25);
    check("shf.r.clamp.b32 %r9, %r0, %r1, 40;", |_, b| b);
    check("shf.l.wrap.b32 %r9, %r0, %r0, %r1;", |a, b| a.rotate_left(b & 31));
    check("prmt.b32 %r9, %r0, %r1, 0x0123;", |a, _| a.swap_bytes());
    check("prmt.b32 %r9, %r0, %r1, 0x8765;", |a, b| b >> 8 & 0xff_ffff | (if a & 0x80 == 0 { 0 } else { 0xff00_0000 }));
    check("lop3.b32 %r9, %r0, %r1, 0x0f0f0f0f, 0xe8;", |a, b| a & b | a & 0x0f0f_0f0f | b & 0x0f0f_0f0f);
    check("cnot.b32 %r9, %r0;", |a, _| u32::from(a == 0));
    check("mov.b32 {%h0, %h1}, %r0; mov.b32 %r9, {%h1, %h0};", |a, _| a.rotate_left(16));
}

#[test]
fn comparisons_and_selections() {
    check("setp.lt.s32 %p0, %r0, %r1; selp.u32 %r9, 1, 0, %p0;", |a, b| u32::from((a as i32) < b as i32));
    check("setp.hi.u32 %p0, %r0, %r1; selp.u32 %r9, %r0, %r1, %p0;", u32::max);
    check(
        "setp.eq.u32 %p1, %r0, 1; setp.le.and.u32 %p0|%p2, %r0, %r1, !%p1; selp.u32 %r2, 1, 0, %p0; selp.u32 %r9, 2, %r2, %p2;",
        |a, b| {
            let q = a != 1;
            if a > b && q { 2 } else { u32::from(a <= b && q) }
        },
    );
    check("set.ge.u32.s32 %r9, %r0, %r1;", |a, b| if a as i32 >= b as i32 { u32::MAX } else { 0 });
    check("slct.u32.s32 %r9, %r0, 7, %r1;", |a, b| if b as i32 >= 0 { a } else { 7 });
    for (name, test) in [
        ("lt", (|a, b| a < b) as fn(f32, f32) -> bool),
        ("geu", |a, b| a >= b || a.is_nan() || b.is_nan()),
        ("ne", |a, b| a.partial_cmp(&b).is_some_and(|order| order.is_ne())),
        ("neu", |a, b| a != b),
        ("num", |a, b| !a.is_nan() && !b.is_nan()),
        ("equ", |a, b| a == b || a.is_nan() || b.is_nan()),
    ] {
        let code = format!("setp.{name}.f32 %p0, %f0, %f1; selp.u32 %r9, 1, 0, %p0;");
        check(&code, |a, b| u32::from(test(f32::from_bits(a), f32::from_bits(b))));
    }
    check("testp.subnormal.f32 %p0, %f0; selp.u32 %r9, 1, 0, %p0;", |a, _| u32::from(f32::from_bits(a).is_subnormal()));
}

#[test]
fn floats() {
    check_float("add.rn.f32 %f9, %f0, %f1;", |a, b| a + b);
    check_float("mul.rn.f32 %f9, %f0, %f1;", |a, b| a * b);
    check_float("div.rn.f32 %f9, %f0, %f1;", |a, b| a / b);
    check_float("fma.rn.f32 %f9, %f0, %f1, %f0;", |a, b| a.mul_add(b, a));
    check_float("sqrt.rn.f32 %f9, %f0;", |a, _| a.sqrt());
    check_float("rcp.rn.f32 %f9, %f0;", |a, _| 1.0 / a);
    check_float("neg.f32 %f8, %f0; abs.f32 %f9, %f8;", |a, _| a.abs());
    check_float("copysign.f32 %f9, %f0, %f1;", |a, b| b.copysign(a));
    check_float("add.rn.sat.f32 %f9, %f0, %f1;", |a, b| if a + b > 0.0 { (a + b).min(1.0) } else { 0.0 });
    check_float("mul.rn.ftz.f32 %f9, %f0, 0f3F800000;", |a, _| if a.is_subnormal() { 0f32.copysign(a) } else { a });
    let less = |a: f32, b: f32| a < b || a == b && a.is_sign_negative();
    check_float("min.f32 %f9, %f0, %f1;", |a, b| if a.is_nan() || less(b, a) && !b.is_nan() { b } else { a });
    check_float("max.f32 %f9, %f0, %f1;", |a, b| if a.is_nan() || less(a, b) && !b.is_nan() { b } else { a });
    check_float("max.NaN.f32 %f9, %f0, %f1;", |a, b| match a.is_nan() || b.is_nan() {
        true => f32::NAN,
        false if less(a, b) => b,
        false => a,
    });
    // A product of two `f32` is exact in `f64`.
    let toward = |a: f32, b: f32, too_far: fn(f64, f64) -> bool| {
        let (near, exact) = (a * b, f64::from(a) * f64::from(b));
        let back = too_far(f64::from(near), exact) && !exact.is_infinite();
        match back {
            false => near,
            true if f64::from(near).abs() > exact.abs() => f32::from_bits(near.to_bits() - 1),
            true => f32::from_bits(near.to_bits() + 1),
        }
    };
    check_float("mul.rz.f32 %f9, %f0, %f1;", |a, b| toward(a, b, |near, exact| near.abs() > exact.abs()));
    check_float("mul.rm.f32 %f9, %f0, %f1;", |a, b| toward(a, b, |near, exact| near > exact));
    check_float("mul.rp.f32 %f9, %f0, %f1;", |a, b| toward(a, b, |near, exact| near < exact));
    check_float("add.rz.f32 %f9, %f0, 0f80000000;", |a, _| a + -0.0);
    check_wide(
        "mul.rn.f64 %e1, %e0, %e0; sqrt.rn.f64 %e2, %e1; mov.b64 %d9, %e2; testp.notanumber.f64 %p0, %e2; selp.u64 %d9, 0, %d9, %p0;",
        |a, b| {
            let x = f64::from_bits(u64::from(b) << 32 | u64::from(a));
            let root = (x * x).sqrt();
            if root.is_nan() { 0 } else { root.to_bits() }
        },
    );
}

#[test]
fn conversions() {
    check_float("cvt.rn.f32.s32 %f9, %r0;", |a, _| a.to_bits() as i32 as f32);
    check_float("cvt.rn.f32.u64 %f9, %d1;", |a, b| (u64::from(b.to_bits()) << 32 | u64::from(a.to_bits())) as f32);
    check_float("cvt.f64.f32 %e1, %f0; cvt.rn.f32.f64 %f9, %e1;", |a, _| a);
    check_float("cvt.rni.f32.f32 %f9, %f0;", |a, _| a.round_ties_even());
    check_float("cvt.rmi.f32.f32 %f9, %f0;", |a, _| a.floor());
    check("cvt.rzi.s32.f32 %r9, %f0;", |a, _| f32::from_bits(a) as i32 as u32);
    check("cvt.rpi.u32.f32 %r9, %f0;", |a, _| f32::from_bits(a).ceil() as u32);
    check_wide("cvt.s64.s32 %d9, %r0;", |a, _| i64::from(a as i32) as u64);
    check_wide("cvt.s64.s8 %d9, %r0;", |a, _| i64::from(a as i8) as u64);
    check("cvt.u8.u32 %r9, %r0;", |a, _| a & 0xff);
    check("cvt.sat.u8.s32 %r9, %r0;", |a, _| (a as i32).clamp(0, 255) as u32);
    // Halves: what `f32` has is rounded once, and every half comes back.
    let halves = words_of(
        "cvt.rn.f16.f32 %h0, %f0; cvt.f32.f16 %f9, %h0; mov.b32 %r9, %f9;",
        &[
            (1.0f32.to_bits(), 0),
            (0.1f32.to_bits(), 0),
            (65_520f32.to_bits(), 0),
            (6e-8f32.to_bits(), 0),
            ((-2.5f32).to_bits(), 0),
        ],
    );
    let halves: Vec<f32> = halves.into_iter().map(f32::from_bits).collect();
    assert_eq!(halves, [1.0, 0.099_975_586, f32::INFINITY, 5.960_464_5e-8, -2.5]);
}

#[test]
fn halves_in_pairs() {
    let code = "add.rn.f16x2 %r2, %r0, %r1; mul.rn.f16x2 %r3, %r2, %r1; fma.rn.f16x2 %r9, %r3, %r1, %r0;";
    // 1.5 and 2.0 with 0.5 and -1.0: sums 2.0, 1.0; products 1.0, -1.0; then 0.5 + 1.5 and 1.0 + 2.0.
    assert_eq!(words_of(code, &[(0x4000_3e00, 0xbc00_3800)]), [0x4200_4000]);
    assert_eq!(
        words_of("mov.b32 {%h0, %h1}, %r0; add.rn.f16 %h2, %h0, %h1; cvt.u32.u16 %r9, %h2;", &[(0x1400_6400, 0)]),
        [0x6400]
    );
}

#[test]
fn warps_together() {
    let lanes: Vec<(u32, u32)> = (0..32).map(|lane| (lane * 3 + 1, lane)).collect();
    let shuffled = |code: &str| words_of(code, &lanes);
    let of = |f: fn(u32) -> u32| (0..32).map(f).collect::<Vec<u32>>();
    assert_eq!(shuffled("shfl.sync.up.b32 %r9, %r0, 1, 0, -1;"), of(|lane| lane.saturating_sub(1) * 3 + 1));
    assert_eq!(
        shuffled("shfl.sync.down.b32 %r9|%p0, %r0, 4, 31, -1; @!%p0 mov.u32 %r9, 0;"),
        of(|lane| if lane < 28 { (lane + 4) * 3 + 1 } else { 0 })
    );
    assert_eq!(shuffled("shfl.sync.bfly.b32 %r9, %r0, 5, 31, -1;"), of(|lane| (lane ^ 5) * 3 + 1));
    assert_eq!(shuffled("shfl.sync.idx.b32 %r9, %r0, 2, 0x181f, -1;"), of(|lane| (lane & !7 | 2) * 3 + 1));
    assert_eq!(
        shuffled("shfl.sync.up.b32 %r9|%p0, %r0, 3, 0x1800, -1; @!%p0 mov.u32 %r9, 0;"),
        of(|lane| if lane % 8 >= 3 { (lane - 3) * 3 + 1 } else { 0 })
    );
    assert_eq!(shuffled("setp.lt.u32 %p0, %r1, 5; vote.sync.ballot.b32 %r9, %p0, -1;"), of(|_| 31));
    assert_eq!(
        shuffled(
            "setp.lt.u32 %p0, %r1, 5; vote.sync.any.pred %p1, %p0, -1; vote.sync.all.pred %p2, %p0, -1; selp.u32 %r2, 1, 0, %p1; selp.u32 %r9, 2, %r2, %p2;"
        ),
        of(|_| 1)
    );
    assert_eq!(shuffled("and.b32 %r2, %r1, 1; match.any.sync.b32 %r9, %r2, -1;"), of(|lane| 0x5555_5555 << (lane & 1)));
    assert_eq!(shuffled("and.b32 %r2, %r1, 1; match.all.sync.b32 %r9|%p0, %r2, -1;"), of(|_| 0));
    assert_eq!(shuffled("redux.sync.add.s32 %r9, %r1, -1;"), of(|_| 31 * 16));
    assert_eq!(
        shuffled("setp.lt.u32 %p0, %r1, 7; mov.u32 %r9, 0; @%p0 activemask.b32 %r9;"),
        of(|lane| if lane < 7 { 127 } else { 0 })
    );
    // Half a warp each.
    assert_eq!(
        shuffled(
            "setp.lt.u32 %p0, %r1, 16; selp.b32 %r2, 0xffff, 0xffff0000, %p0; shfl.sync.bfly.b32 %r9, %r0, 8, 31, %r2;"
        ),
        of(|lane| (lane ^ 8) * 3 + 1)
    );
    assert_eq!(shuffled("mov.u32 %r2, %lanemask_lt; popc.b32 %r9, %r2;"), of(|lane| lane));
}

#[test]
fn barriers_that_reduce() {
    let votes: Vec<(u32, u32)> = (0..96).map(|thread| (thread, 0)).collect();
    let counted = words_of("setp.lt.u32 %p0, %r0, 70; bar.red.popc.u32 %r9, 0, %p0;", &votes);
    assert_eq!(counted, [70; 96]);
    let any = words_of(
        "setp.eq.u32 %p0, %r0, 95; bar.red.or.pred %p1, 0, %p0; bar.red.and.pred %p2, 1, !%p0; selp.u32 %r2, 1, 0, %p1; selp.u32 %r9, 2, %r2, %p2;",
        &votes,
    );
    assert_eq!(any, [1; 96]);
}
