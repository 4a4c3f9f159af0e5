//! Atomic instructions: every operation and type, in both memories, from many threads at once.

mod common;

use common::*;
use fusebox_ptx_sim::{Device, FaultKind, Options};

/// What `threads` updates of a cell leave, by 8 blocks of them and an operand that the thread computes into `%r3` (`%d3`, `%f3`, `%e3`).
fn left(op: &str, ty: &str, operand: &str, begin: u64, shared: bool) -> u64 {
    let register = match ty {
        "f32" => "%f3",
        "f64" => "%e3",
        "u64" | "s64" | "b64" => "%d3",
        "f16" => "%h3",
        _ => "%r3",
    };
    let wide = ty.ends_with("64");
    let size = if wide {
        64
    } else if ty == "f16" {
        16
    } else {
        32
    };
    let body = if shared {
        format!(
            ".shared .align 8 .b64 cell; setp.ne.u32 %p0, %r2, 0; @%p0 bra MEET; ld.global.u{size} {load}, [%d0]; st.shared.u{size} [cell], {load};\n\
             MEET: bar.sync 0; red.shared.{op}.{ty} [cell], {register}; bar.sync 0; @%p0 ret;\n\
             ld.shared.u{size} {load}, [cell]; st.global.u{size} [%d0], {load}; ret;",
            load = if wide {
                "%d9"
            } else if size == 16 {
                "%h9"
            } else {
                "%r9"
            }
        )
    } else {
        format!("red.global.{op}.{ty} [%d0], {register}; ret;")
    };
    let text = kernel(
        ".param .u64 a",
        &format!(
            "ld.param.u64 %d0, [a]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r2, %r0, %r1, %r2;\n\
             {operand}\n{body}"
        ),
    );
    let mut device = Device::new(seeded(7));
    let a = device.allocate("a", 8).unwrap();
    device.write(a, &begin.to_le_bytes()).unwrap();
    let launch = if shared { line(1, 96) } else { line(8, 96) };
    device.launch(&parsed(&text), "k", launch, &[a]).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    u64::from_le_bytes(device.read(a, 8).unwrap().try_into().unwrap())
}

#[test]
fn every_operation_and_type() {
    let same = "add.u32 %r3, %r2, 1; cvt.u64.u32 %d3, %r3; cvt.rn.f32.u32 %f3, %r3; cvt.rn.f64.u32 %e3, %r3; cvt.rn.f16.u32 %h3, 1;";
    for shared in [false, true] {
        let n: u64 = if shared { 96 } else { 768 };
        let sum = n * (n + 1) / 2;
        let left = |op: &str, ty: &str, begin: u64| left(op, ty, same, begin, shared);
        for ty in ["u32", "s32", "u64"] {
            assert_eq!(left("add", ty, 5), sum + 5, "{ty}");
        }
        assert_eq!(left("add", "f32", 0), u64::from((sum as f32).to_bits()));
        assert_eq!(left("add", "f64", 0), (sum as f64).to_bits());
        assert_eq!(left("add.noftz", "f16", 0), if shared { 0x5600 } else { 0x6200 }); // 96, 768
        for ty in ["u32", "s32", "u64", "s64"] {
            assert_eq!(left("min", ty, 50), 1, "{ty}");
            assert_eq!(left("max", ty, 50), n, "{ty}");
        }
        for ty in ["b32", "b64"] {
            let (mut and, mut or, mut xor) = (0x3ff, 0, 0);
            (1..=n).for_each(|i| (and, or, xor) = (and & i, or | i, xor ^ i));
            assert_eq!(left("and", ty, 0x3ff), and);
            assert_eq!(left("or", ty, 0), or);
            assert_eq!(left("xor", ty, 0), xor);
        }
    }
    let constant = |value: u32| format!("mov.u32 %r3, {value};");
    assert_eq!(left("inc", "u32", &constant(99), 0, false), 768 % 100);
    assert_eq!(left("dec", "u32", &constant(99), 0, false), 32); // 768 steps down, in turns of 100
    assert_eq!(left("min", "s32", &constant(0xffff_ffff), 5, false), 0xffff_ffff);
    assert_eq!(left("min", "u32", &constant(0xffff_ffff), 5, false), 5);
}

#[test]
fn old_values_are_all_different() {
    let text = kernel(
        ".param .u64 a",
        "ld.param.u64 %d0, [a]; atom.global.add.u32 %r1, [%d0], 1; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1+4], %r1; ret;",
    );
    let expected: Vec<u32> = (0..200).collect();
    let found = results(&text, line(5, 40), &[0; 201]);
    assert_eq!((found[0], &found[1..]), (200, &expected[..]));
}

#[test]
fn a_pair_in_one_word() {
    // The greater of pairs, the value above and the thread below, by compare and swap.
    let text = kernel(
        ".param .u64 a",
        "ld.param.u64 %d0, [a]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r2, %r0, %r1, %r2;\n\
         mul.lo.u32 %r3, %r2, 77; rem.u32 %r3, %r3, 1009; mov.b64 %d1, {%r2, %r3}; ld.relaxed.gpu.global.u64 %d2, [%d0];\n\
         AGAIN: setp.ge.u64 %p0, %d2, %d1; @%p0 ret; atom.global.cas.b64 %d3, [%d0], %d2, %d1;\n\
         setp.eq.u64 %p1, %d3, %d2; mov.b64 %d2, %d3; @!%p1 bra AGAIN; ret;",
    );
    let best = (0..640u32).map(|thread| (thread * 77 % 1009, thread)).max().unwrap();
    assert_eq!(results(&text, line(10, 64), &[0, 0]), [best.1, best.0]);
}

#[test]
fn a_plain_load_and_an_atomic_race() {
    let text = |load: &str| {
        kernel(
            ".param .u64 a",
            &format!(
                "ld.param.u64 %d0, [a]; mov.u32 %r0, %ctaid.x; setp.eq.u32 %p0, %r0, 0; @%p0 red.global.add.u32 [%d0], 1; @!%p0 {load} %r1, [%d0]; ret;"
            ),
        )
    };
    assert_eq!(fault(&text("ld.global.u32"), line(2, 1), &[0]).kind, FaultKind::Race);
    results(&text("ld.relaxed.gpu.global.u32"), line(2, 1), &[0]);
}

#[test]
fn a_million_additions_to_one_cell() {
    let text = kernel(".param .u64 a", "ld.param.u64 %d0, [a]; red.global.add.u32 [%d0], 1; ret;");
    let mut device = Device::new(Options::default());
    let a = words(&mut device, "a", &[0]);
    let counts = device.launch(&parsed(&text), "k", line(1024, 1024), &[a]).unwrap();
    assert_eq!((read_words(&mut device, a, 1), counts.atomics), (vec![1 << 20], 1 << 20));
}
