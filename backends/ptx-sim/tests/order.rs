//! What orders accesses of different threads, and what does not.

mod common;

use common::*;
use fusebox_ptx_sim::{Device, FaultKind};

const BEGIN: &str = "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;";

/// Block 0 writes `a[0]` and tells it by `a[1]`; block 1 waits for that, does `then`, and reads.
fn message(tell: &str, wait: &str, then: &str) -> String {
    let body = format!(
        "{BEGIN}\n setp.ne.u32 %p0, %r1, 0; @%p0 bra READ;\n mov.u32 %r3, 7; mov.u32 %r4, 1;\n\
         st.global.u32 [%d0], %r3;\n{tell}\n ret;\n\
         READ: {wait}\n setp.eq.u32 %p1, %r5, 0; @%p1 bra READ;\n{then}\n\
         ld.global.u32 %r6, [%d0]; st.global.u32 [%d0+8], %r6; ret;"
    );
    kernel(".param .u64 a", &body)
}

#[test]
fn release_and_acquire_order() {
    for (tell, wait, then) in [
        ("st.release.gpu.global.u32 [%d0+4], %r4;", "ld.acquire.gpu.global.u32 %r5, [%d0+4];", ""),
        ("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%d0+4], %r4;", "ld.acquire.gpu.global.u32 %r5, [%d0+4];", ""),
        ("membar.gl; st.volatile.global.u32 [%d0+4], %r4;", "ld.volatile.global.u32 %r5, [%d0+4];", "membar.gl;"),
        ("membar.gl; st.volatile.global.u32 [%d0+4], %r4;", "ld.volatile.global.u32 %r5, [%d0+4]; membar.gl;", ""),
        ("atom.release.gpu.global.exch.b32 %r7, [%d0+4], %r4;", "atom.acquire.gpu.global.or.b32 %r5, [%d0+4], 0;", ""),
        ("fence.sc.sys; red.global.add.u32 [%d0+4], %r4;", "ld.relaxed.sys.global.u32 %r5, [%d0+4];", "fence.sc.sys;"),
    ] {
        assert_eq!(results(&message(tell, wait, then), line(2, 1), &[0; 3])[2], 7, "{tell} {wait} {then}");
    }
}

#[test]
fn what_lacks_a_half_orders_nothing() {
    for (tell, wait, then) in [
        ("st.relaxed.gpu.global.u32 [%d0+4], %r4;", "ld.acquire.gpu.global.u32 %r5, [%d0+4];", ""),
        ("st.release.gpu.global.u32 [%d0+4], %r4;", "ld.relaxed.gpu.global.u32 %r5, [%d0+4];", ""),
        ("st.volatile.global.u32 [%d0+4], %r4; membar.gl;", "ld.volatile.global.u32 %r5, [%d0+4];", "membar.gl;"),
        ("red.global.add.u32 [%d0+4], %r4;", "ld.relaxed.gpu.global.u32 %r5, [%d0+4];", "fence.sc.gpu;"),
        // Scopes too small.
        ("st.release.cta.global.u32 [%d0+4], %r4;", "ld.acquire.gpu.global.u32 %r5, [%d0+4];", ""),
        ("membar.cta; st.volatile.global.u32 [%d0+4], %r4;", "ld.volatile.global.u32 %r5, [%d0+4];", "membar.gl;"),
        ("st.release.gpu.global.u32 [%d0+4], %r4;", "ld.volatile.global.u32 %r5, [%d0+4];", "fence.acq_rel.cta;"),
        // A flag that is a plain access.
        ("membar.gl; st.global.u32 [%d0+4], %r4;", "ld.volatile.global.u32 %r5, [%d0+4];", "membar.gl;"),
    ] {
        let text = parsed(&message(tell, wait, then));
        for seed in 0..4 {
            let mut device = Device::new(seeded(seed));
            let a = words(&mut device, "a", &[0; 3]);
            let found = device.launch(&text, "k", line(2, 1), &[a]).expect_err(tell);
            assert_eq!(found.kind, FaultKind::Race, "{found}\n{tell} {wait} {then}");
        }
    }
}

#[test]
fn order_goes_on_through_others() {
    // Block 0 tells block 1, which tells block 2; a barrier tells what one thread of a block knows to all.
    let body = format!(
        "{BEGIN}\n setp.eq.u32 %p0, %r1, 1; @%p0 bra ONE; setp.eq.u32 %p0, %r1, 2; @%p0 bra TWO;\n\
         mad.lo.u32 %r3, %r0, 4, 0; cvt.u64.u32 %d1, %r3; add.u64 %d1, %d0, %d1; st.global.u32 [%d1+16], %r0; bar.sync 0;\n\
         setp.ne.u32 %p1, %r0, 0; @%p1 ret; mov.u32 %r4, 1; st.release.gpu.global.u32 [%d0], %r4; ret;\n\
         ONE: setp.ne.u32 %p1, %r0, 0; @%p1 ret;\n\
         W1: ld.acquire.gpu.global.u32 %r5, [%d0]; setp.eq.u32 %p1, %r5, 0; @%p1 bra W1;\n\
         mov.u32 %r4, 1; st.release.gpu.global.u32 [%d0+4], %r4; ret;\n\
         TWO: setp.ne.u32 %p1, %r0, 0; @%p1 bra MEET;\n\
         W2: ld.acquire.gpu.global.u32 %r5, [%d0+4]; setp.eq.u32 %p1, %r5, 0; @%p1 bra W2;\n\
         MEET: bar.sync 0; mad.lo.u32 %r3, %r0, 4, 0; cvt.u64.u32 %d1, %r3; add.u64 %d1, %d0, %d1; ld.global.u32 %r6, [%d1+16];\n\
         add.u32 %r6, %r6, 100; st.global.u32 [%d1+16], %r6; ret;"
    );
    let text = kernel(".param .u64 a", &body);
    let expected: Vec<u32> = (0..64).map(|i| i + 100).collect();
    assert_eq!(results(&text, line(3, 64), &[0; 68])[4..], expected);
    let without = text.replace("MEET: bar.sync 0;", "MEET:");
    assert_eq!(fault(&without, line(3, 64), &[0; 68]).kind, FaultKind::Race);
}

#[test]
fn the_last_block_reads_what_all_have_written() {
    // Each block writes a word, and the one that is counted last adds them all.
    let last = |fence: &str| {
        let body = format!(
            "{BEGIN}\n setp.ne.u32 %p0, %r0, 0; @%p0 ret; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d0, %d1;\n\
             st.global.u32 [%d1+8], %r1;\n{fence}\n atom.global.add.u32 %r3, [%d0], 1;\n{fence}\n\
             mov.u32 %r4, %nctaid.x; sub.u32 %r5, %r4, 1; setp.ne.u32 %p1, %r3, %r5; @%p1 ret;\n\
             mov.u32 %r6, 0; mov.u32 %r7, 0; mov.u64 %d2, %d0;\n\
             L: ld.global.u32 %r8, [%d2+8]; add.u32 %r6, %r6, %r8; add.u64 %d2, %d2, 4; add.u32 %r7, %r7, 1;\n\
             setp.lt.u32 %p1, %r7, %r4; @%p1 bra L; st.global.u32 [%d0+4], %r6; ret;"
        );
        kernel(".param .u64 a", &body)
    };
    assert_eq!(results(&last("membar.gl;"), line(20, 32), &[0; 22])[1], 190);
    assert_eq!(results(&last("membar.gl;"), line(1000, 128), &[0; 1002])[1], 999 * 500);
    assert_eq!(fault(&last(""), line(20, 32), &[0; 22]).kind, FaultKind::Race);
    assert_eq!(fault(&last("membar.cta;"), line(20, 32), &[0; 22]).kind, FaultKind::Race);
}

#[test]
fn atomics_of_a_block_do_not_reach_others() {
    let text =
        |scope: &str| kernel(".param .u64 a", &format!("{BEGIN}\n red.relaxed.{scope}.global.add.u32 [%d0], 1; ret;"));
    assert_eq!(results(&text("gpu"), line(5, 40), &[0]), [200]);
    assert_eq!(results(&text("cta"), line(1, 40), &[0]), [40]);
    assert_eq!(fault(&text("cta"), line(5, 40), &[0]).kind, FaultKind::Race);
}

#[test]
fn launches_are_ordered() {
    let text = kernel(
        ".param .u64 a",
        &format!(
            "{BEGIN}\n mad.lo.u32 %r3, %r1, %r2, %r0; xor.b32 %r3, %r3, 37; mul.wide.u32 %d1, %r3, 4; add.u64 %d1, %d0, %d1; ld.global.u32 %r4, [%d1]; add.u32 %r4, %r4, 1; st.global.u32 [%d1], %r4; ret;"
        ),
    );
    let module = parsed(&text);
    let mut device = Device::new(seeded(3));
    let a = words(&mut device, "a", &[0; 64]);
    for blocks in [2, 1, 2] {
        device.launch(&module, "k", line(blocks, 64 / blocks), &[a]).unwrap();
    }
    assert_eq!(read_words(&mut device, a, 64), [3; 64]);
}

#[test]
fn bytes_beside_each_other_are_no_conflict() {
    let text = kernel(
        ".param .u64 a",
        &format!(
            "{BEGIN}\n mad.lo.u32 %r3, %r1, %r2, %r0; cvt.u64.u32 %d1, %r3; add.u64 %d1, %d0, %d1; st.global.u8 [%d1], %r3; ret;"
        ),
    );
    assert_eq!(results(&text, line(4, 2), &[0, 0]), [0x0302_0100, 0x0706_0504]);
}

#[test]
fn a_lock_orders_what_it_guards() {
    // Every thread adds one under a lock that lanes of a warp contend for.
    let locked = |take: &str, give: &str| {
        kernel(
            ".param .u64 a",
            &format!(
                "{BEGIN}\n TAKE: {take}\n setp.ne.u32 %p0, %r3, 0; @%p0 bra TAKE;\n\
                 ld.global.u32 %r4, [%d0+4]; add.u32 %r4, %r4, 1; st.global.u32 [%d0+4], %r4;\n{give}\n ret;"
            ),
        )
    };
    let text =
        locked("atom.acquire.gpu.global.cas.b32 %r3, [%d0], 0, 1;", "atom.release.gpu.global.exch.b32 %r5, [%d0], 0;");
    assert_eq!(results(&text, line(3, 40), &[0, 0]), [0, 120]);
    let text =
        locked("atom.relaxed.gpu.global.cas.b32 %r3, [%d0], 0, 1;", "atom.relaxed.gpu.global.exch.b32 %r5, [%d0], 0;");
    assert_eq!(fault(&text, line(3, 40), &[0, 0]).kind, FaultKind::Race);
}
