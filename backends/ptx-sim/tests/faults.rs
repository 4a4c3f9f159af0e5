//! Faults planted in kernels are found; beside each stands the same kernel without the fault.

mod common;

use common::*;
use fusebox_ptx_sim::{Device, FaultKind, Launch, Options};

/// `a[index] = value` for the register of the index.
fn store(index: &str, value: &str) -> String {
    format!("mul.wide.s32 %d8, {index}, 4; add.s64 %d8, %d0, %d8; st.global.u32 [%d8], {value};")
}

const BEGIN: &str = "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;";

fn with(body: &str) -> String {
    kernel(".param .u64 a", &format!("{BEGIN}\n{body}\nret;"))
}

#[test]
fn accesses_outside_of_an_allocation() {
    let text = with(&format!("add.s32 %r3, %r0, -1;\n{}", store("%r3", "%r0")));
    let fault = fault(&text, line(1, 4), &[0; 4]);
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert_eq!((fault.block, fault.thread, fault.line), (Some([0, 0, 0]), Some([0, 0, 0]), 9));
    assert_eq!(fault.message, "4 bytes at byte -4 are outside of `a`, which has 16");
    assert_eq!(results(&with(&store("%r0", "%r0")), line(1, 4), &[9; 4]), [0, 1, 2, 3]);
}

#[test]
fn an_overrun_into_a_neighbour_is_one() {
    let mut device = Device::new(Options::default());
    let a = words(&mut device, "a", &[0; 4]);
    words(&mut device, "b", &[0; 1 << 16]);
    let fault = device.launch(&parsed(&with(&store("%r0", "%r0"))), "k", line(1, 32), &[a]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(fault.message.ends_with("outside of `a`, which has 16"), "{fault}");
}

#[test]
fn accesses_after_the_end_of_an_allocation() {
    let module = parsed(&with(&store("%r0", "%r0")));
    let mut device = Device::new(Options::default());
    let a = words(&mut device, "a", &[0; 4]);
    device.launch(&module, "k", line(1, 4), &[a]).unwrap();
    device.free(a).unwrap();
    let fault = device.launch(&module, "k", line(1, 4), &[a]).unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Freed, "`a` was freed before this access at byte 0"));
    assert_eq!(device.free(a).unwrap_err().kind, FaultKind::Freed);
    assert_eq!(device.usage().0, 0);
}

#[test]
fn misaligned_accesses() {
    for (bad, good) in [
        ("st.global.u32 [%d0+2], %r0;", "st.global.u32 [%d0+4], %r0;"),
        ("st.global.v2.u32 [%d0+4], {%r0, %r0};", "st.global.v2.u32 [%d0+8], {%r0, %r0};"),
        ("mov.u64 %d1, 0; st.global.u64 [%d0+4], %d1;", "mov.u64 %d1, 0; st.global.u64 [%d0+8], %d1;"),
    ] {
        assert_eq!(fault(&with(bad), line(1, 1), &[0; 4]).kind, FaultKind::Misaligned, "{bad}");
        results(&with(good), line(1, 1), &[0; 4]);
    }
}

#[test]
fn reads_of_memory_that_nobody_has_written() {
    let global = parsed(&with("ld.global.u32 %r3, [%d0];"));
    let mut device = Device::new(Options::default());
    let a = device.allocate("a", 8).unwrap();
    device.write(a, &[0; 3]).unwrap();
    let fault_of = |device: &mut Device| device.launch(&global, "k", line(1, 1), &[a]).unwrap_err();
    assert_eq!(fault_of(&mut device).kind, FaultKind::Unwritten);
    assert_eq!(device.read(a, 4).unwrap_err().kind, FaultKind::Unwritten);
    device.write(a + 3, &[0]).unwrap();
    device.launch(&global, "k", line(1, 1), &[a]).unwrap();

    let shared = |barrier: &str| {
        with(&format!(
            ".shared .u32 s[64]; mov.u32 %r3, s; mad.lo.u32 %r4, %r0, 4, %r3;\n\
             st.shared.u32 [%r4], %r0; {barrier}\n ld.shared.u32 %r5, [%r4+{}];",
            if barrier.is_empty() { 4 } else { 0 }
        ))
    };
    assert_eq!(fault(&shared(""), line(1, 1), &[0]).kind, FaultKind::Unwritten);
    results(&shared("bar.sync 0;"), line(1, 64), &[0]);
}

#[test]
fn reads_of_registers_that_nobody_has_written() {
    let text = with("setp.eq.u32 %p0, %r0, 0; @%p0 mov.u32 %r3, 1; add.u32 %r4, %r3, 1;");
    let found = fault(&text, line(1, 2), &[0]);
    assert_eq!((found.kind, found.thread), (FaultKind::Unwritten, Some([1, 0, 0])));
    assert!(found.message.contains("`%r3`"), "{found}");
    // What `selp` does not choose may be anything.
    let chosen = "setp.eq.u32 %p0, %r0, 0; @%p0 mov.u32 %r3, 1; selp.u32 %r4, %r3, 0, %p0; add.u32 %r4, %r4, 1;";
    results(&with(chosen), line(1, 2), &[0]);
    let mut device = Device::new(Options { registers: false, ..Options::default() });
    let a = words(&mut device, "a", &[0]);
    device.launch(&parsed(&text), "k", line(1, 2), &[a]).unwrap();
}

#[test]
fn two_blocks_write_the_same_cell() {
    // An index that is computed within a block only.
    let fault_found = fault(&with(&store("%r0", "%r0")), line(2, 32), &[0; 64]);
    assert_eq!(fault_found.kind, FaultKind::Race);
    assert!(fault_found.message.contains("of block"), "{fault_found}");
    let right = with(&format!("mad.lo.s32 %r3, %r1, %r2, %r0;\n{}", store("%r3", "%r3")));
    let expected: Vec<u32> = (0..64).collect();
    assert_eq!(results(&right, line(2, 32), &[0; 64]), expected);
}

#[test]
fn lanes_of_one_instruction_write_the_same_cell() {
    let found = fault(&with("st.global.u32 [%d0], %r0;"), line(1, 2), &[0]);
    assert_eq!(found.kind, FaultKind::Race);
    let one = with("setp.eq.u32 %p0, %r0, 1; @%p0 st.global.u32 [%d0], %r0;");
    assert_eq!(results(&one, line(1, 2), &[0]), [1]);
}

/// Each thread writes its word of shared memory and reads that of its neighbour, twice.
fn exchange(first: &str, second: &str) -> String {
    with(&format!(
        ".shared .u32 s[64]; mov.u32 %r3, s; mad.lo.u32 %r4, %r0, 4, %r3; xor.b32 %r5, %r0, 33; mad.lo.u32 %r6, %r5, 4, %r3;\n\
         st.shared.u32 [%r4], %r0;\n{first}\n ld.shared.u32 %r7, [%r6];\n{second}\n st.shared.u32 [%r4], %r7;\n\
         bar.sync 0;\n ld.shared.u32 %r8, [%r6];\n{}",
        store("%r0", "%r8")
    ))
}

#[test]
fn a_missing_barrier() {
    let found = fault(&exchange("", "bar.sync 0;"), line(1, 64), &[0; 64]);
    assert!([FaultKind::Race, FaultKind::Unwritten].contains(&found.kind), "{found}");
    let expected: Vec<u32> = (0..64).collect();
    assert_eq!(results(&exchange("bar.sync 0;", "bar.sync 0;"), line(1, 64), &[0; 64]), expected);
}

#[test]
fn a_missing_second_barrier() {
    // Before what others read is written over.
    let found = fault(&exchange("bar.sync 0;", ""), line(1, 64), &[0; 64]);
    assert_eq!(found.kind, FaultKind::Race);
    assert!(found.message.contains("shared memory"), "{found}");
}

#[test]
fn lanes_of_a_warp_are_not_ordered_without_a_barrier_of_the_warp() {
    let text = |sync: &str| {
        with(&format!(
            ".shared .u32 s[32]; mov.u32 %r3, s; mad.lo.u32 %r4, %r0, 4, %r3; xor.b32 %r5, %r0, 1; mad.lo.u32 %r6, %r5, 4, %r3;\n\
             st.shared.u32 [%r4], %r0;\n{sync}\n ld.shared.u32 %r7, [%r6];\n{}",
            store("%r0", "%r7")
        ))
    };
    assert_eq!(fault(&text(""), line(1, 32), &[0; 32]).kind, FaultKind::Race);
    assert_eq!(fault(&text("vote.sync.any.pred %p1, 1, -1;"), line(1, 32), &[0; 32]).kind, FaultKind::Race);
    let expected: Vec<u32> = (0..32).map(|i| i ^ 1).collect();
    assert_eq!(results(&text("bar.warp.sync -1;"), line(1, 32), &[0; 32]), expected);
}

#[test]
fn a_barrier_under_divergence() {
    for part in [
        "setp.lt.u32 %p0, %r0, 16; @%p0 bar.sync 0;",
        "setp.lt.u32 %p0, %r0, 16; @!%p0 bra OVER; bar.sync 0; OVER:",
        "setp.lt.u32 %p0, %r0, 16; @%p0 bra LOW; bar.sync 0; bra OVER; LOW: bar.sync 0; OVER:",
    ] {
        let found = fault(&with(part), line(1, 32), &[0]);
        assert_eq!(found.kind, FaultKind::Divergence, "{found}\n{part}");
    }
    // Whole warps may part, and lanes that have ended are not waited for.
    for whole in [
        "setp.lt.u32 %p0, %r0, 32; @%p0 bra LOW; bar.sync 0; bra OVER; LOW: bar.sync 0; OVER:",
        "setp.lt.u32 %p0, %r0, 40; @!%p0 ret; bar.sync 0;",
    ] {
        results(&with(whole), line(1, 64), &[0]);
    }
}

#[test]
fn a_barrier_that_a_warp_never_comes_to() {
    let found = fault(&with("setp.lt.u32 %p0, %r0, 32; @%p0 bar.sync 0, 96;"), line(1, 64), &[0]);
    assert_eq!(found.kind, FaultKind::Deadlock, "{found}");
    results(&with("setp.lt.u32 %p0, %r0, 32; @%p0 bar.sync 1, 32;"), line(1, 64), &[0]);
}

/// Block `b` waits until block `b - 1` has said that it is there, by the number that `number` computes into `%r9`.
fn chain(number: &str) -> String {
    with(&format!(
        "{number}\n setp.ne.u32 %p9, %r0, 0; @%p9 ret;\n\
         setp.eq.u32 %p0, %r9, 0; mul.wide.u32 %d1, %r9, 4; add.u64 %d2, %d0, %d1;\n\
         @%p0 bra TELL;\n\
         WAIT: ld.relaxed.gpu.global.u32 %r3, [%d2];\n setp.eq.u32 %p1, %r3, 0; @%p1 bra WAIT;\n\
         TELL: mov.u32 %r4, 1; st.relaxed.gpu.global.u32 [%d2+4], %r4;"
    ))
}

#[test]
fn a_wait_on_a_block_that_may_never_run() {
    let text = chain("mov.u32 %r9, %r1;");
    let mut starved = 0;
    for seed in 0..4 {
        let mut device = Device::new(Options { resident: 2, ..seeded(seed) });
        let a = words(&mut device, "a", &[0; 41]);
        let found = device.launch(&parsed(&text), "k", line(40, 32), &[a]);
        starved += usize::from(found.is_err_and(|fault| {
            assert_eq!(fault.kind, FaultKind::Starved, "{fault}");
            true
        }));
    }
    assert_eq!(starved, 4);
}

#[test]
fn a_wait_in_the_order_of_tickets_is_right() {
    // The number of a block is how many have begun before it.
    let ticket = "mov.u32 %r9, 0; setp.eq.u32 %p8, %r0, 0; @%p8 atom.global.add.u32 %r9, [%d0+160], 1;";
    for seed in 0..4 {
        let mut device = Device::new(Options { resident: 2, ..seeded(seed) });
        let a = words(&mut device, "a", &[0; 42]);
        device.launch(&parsed(&chain(ticket)), "k", line(39, 32), &[a]).unwrap();
        let found = read_words(&mut device, a, 42);
        assert_eq!(found[1..40], [1; 39]);
    }
}

#[test]
fn a_wait_for_what_nobody_writes() {
    let found = fault(
        &with("WAIT: ld.volatile.global.u32 %r3, [%d0]; setp.eq.u32 %p0, %r3, 0; @%p0 bra WAIT;"),
        line(9, 32),
        &[0],
    );
    assert_eq!(found.kind, FaultKind::Deadlock, "{found}");
    // A counter in the loop, so that no turn is like the other.
    let text = with("mov.u32 %r4, 0; WAIT: add.u32 %r4, %r4, 1; bra WAIT;");
    let mut device = Device::new(Options { steps: 100_000, ..Options::default() });
    let a = words(&mut device, "a", &[0]);
    assert_eq!(device.launch(&parsed(&text), "k", line(1, 1), &[a]).unwrap_err().kind, FaultKind::StepLimit);
}

/// Block 0 writes 64 bits, as `write` does; block 1 reads them at once.
fn pair(write: &str) -> String {
    with(&format!(
        "setp.ne.u32 %p0, %r1, 0; @%p0 bra READ; mov.u32 %r3, 7; mov.b64 %d1, {{%r3, %r3}};\n{write}\n ret;\n\
         READ: ld.relaxed.gpu.global.u64 %d2, [%d0];"
    ))
}

#[test]
fn a_torn_pair() {
    let torn = pair("st.relaxed.gpu.global.u32 [%d0], %r3; st.relaxed.gpu.global.u32 [%d0+4], %r3;");
    for seed in 0..6 {
        let mut device = Device::new(seeded(seed));
        let a = words(&mut device, "a", &[0; 2]);
        let found = device.launch(&parsed(&torn), "k", line(2, 1), &[a]).unwrap_err();
        assert_eq!(found.kind, FaultKind::Torn, "{found}");
    }
    assert_eq!(results(&pair("st.relaxed.gpu.global.u64 [%d0], %d1;"), line(2, 1), &[0; 2]), [7, 7]);
    // As a vector it is two accesses.
    let vector = pair("st.relaxed.gpu.global.v2.u32 [%d0], {%r3, %r3};");
    assert_eq!(fault(&vector, line(2, 1), &[0; 2]).kind, FaultKind::Torn);
}

#[test]
fn what_is_read_as_constant_is_not_written() {
    let place = "mul.wide.u32 %d8, %r0, 4; add.u64 %d8, %d0, %d8;";
    let text = |load: &str| with(&format!("{place} {load} %r3, [%d8]; add.u32 %r3, %r3, 1; st.global.u32 [%d8], %r3;"));
    let found = fault(&text("ld.global.nc.u32"), line(1, 4), &[0; 4]);
    assert_eq!(found.kind, FaultKind::Race);
    assert!(found.message.contains("`ld.global.nc`"), "{found}");
    assert_eq!(results(&text("ld.global.u32"), line(1, 4), &[0; 4]), [1; 4]);
    let after = with(&format!("{place} st.global.u32 [%d8], %r0; ld.global.nc.u32 %r3, [%d8];"));
    assert_eq!(fault(&after, line(1, 4), &[0; 4]).kind, FaultKind::Race);
}

#[test]
fn shfl_from_a_lane_that_takes_no_part() {
    let text =
        |mask: &str| with(&format!("setp.lt.u32 %p0, %r0, 16; @!%p0 ret; shfl.sync.down.b32 %r3, %r0, 8, 31, {mask};"));
    let found = fault(&text("0xffff"), line(1, 32), &[0]);
    assert_eq!(found.kind, FaultKind::InactiveLane, "{found}");
    let inside = with("setp.lt.u32 %p0, %r0, 16; @!%p0 ret; shfl.sync.down.b32 %r3, %r0, 8, 15, 0xffff;");
    results(&inside, line(1, 32), &[0]);
}

#[test]
fn a_warp_that_waits_for_itself() {
    let text = with(
        "setp.lt.u32 %p0, %r0, 16; @%p0 bra LOW; bar.warp.sync -1; bra OVER; LOW: shfl.sync.idx.b32 %r3, %r0, 0, 31, -1; OVER:",
    );
    assert_eq!(fault(&text, line(1, 32), &[0]).kind, FaultKind::Divergence);
    let own = with("bar.warp.sync 0xfffe;");
    assert_eq!(fault(&own, line(1, 32), &[0]).kind, FaultKind::Undefined);
}

#[test]
fn constants_and_traps() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.const .u32 c = 5;\n.entry k(.param .u64 a) { .reg .b64 %d<4>; .reg .b32 %r;\n mov.u64 %d0, c; ld.const.u32 %r, [c]; st.global.u32 [%d0], %r; ret; }";
    assert_eq!(fault(text, line(1, 1), &[0]).kind, FaultKind::ReadOnly);
    assert_eq!(fault(&with("trap;"), line(1, 1), &[0]).kind, FaultKind::Trap);
}

#[test]
fn launches_that_do_not_fit() {
    let module = parsed(&kernel(".param .u64 a, .param .u32 b", "ret;"));
    let mut device = Device::new(Options::default());
    let kind = |device: &mut Device, entry: &str, launch: Launch, params: &[u64]| {
        device.launch(&module, entry, launch, params).map_or_else(|fault| Some(fault.kind), |_| None)
    };
    let bad = Some(FaultKind::BadLaunch);
    assert_eq!(kind(&mut device, "k", line(1, 32), &[0, 0]), None);
    assert_eq!(kind(&mut device, "j", line(1, 32), &[0, 0]), bad);
    assert_eq!(kind(&mut device, "k", line(1, 32), &[0]), bad);
    assert_eq!(kind(&mut device, "k", line(1, 1025), &[0, 0]), bad);
    assert_eq!(kind(&mut device, "k", line(0, 32), &[0, 0]), bad);
    assert_eq!(kind(&mut device, "k", Launch { shared: 1 << 20, ..line(1, 32) }, &[0, 0]), bad);
    assert_eq!(device.allocate("huge", 1 << 31).unwrap_err().kind, FaultKind::OutOfMemory);
}
