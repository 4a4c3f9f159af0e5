//! Kernels with words exchanged: whatever comes of them, it is a result or a fault and never a panic.

mod common;

use common::*;
use fusebox_ptx_sim::{Device, Module, Options};

/// A text with `count` of its words replaced by others of its words.
fn mutant(words: &[&str], random: &mut impl FnMut(usize) -> usize, count: usize) -> String {
    let mut changed: Vec<&str> = words.to_vec();
    for _ in 0..count {
        let (at, from) = (random(words.len()), random(words.len()));
        changed[at] = words[from];
    }
    changed.join(" ")
}

/// Words between blanks, and marks by themselves.
fn words_of(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let pieces = lines.flat_map(|line| line.split_inclusive([' ', ',', ';', '[', ']', '|', '+']));
    pieces
        .flat_map(|piece| match piece.char_indices().next_back() {
            Some((at, ' ')) => vec![&piece[..at]],
            Some((at, ',' | ';' | '[' | ']' | '|' | '+')) => vec![&piece[..at], &piece[at..]],
            _ => vec![piece],
        })
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn no_kernel_panics() {
    let mut state = 99u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let more = kernel(
        ".param .u64 a",
        "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, 5; mov.f32 %f0, 0f3F800000; cvt.f64.f32 %e0, %f0; cvt.u64.u32 %d1, %r0;\n\
         setp.lt.u32 %p0, %r0, 7; setp.eq.and.s32 %p1|%p2, %r0, %r1, %p0; selp.u32 %r2, %r0, %r1, %p1; shl.b32 %r3, %r2, %r0; shr.s32 %r4, %r2, %r1;\n\
         bfe.u32 %r5, %r0, %r1, %r2; bfi.b32 %r6, %r0, %r1, %r2, %r3; bfind.s32 %r7, %r0; prmt.b32 %r8, %r0, %r1, %r2; shf.l.clamp.b32 %r9, %r0, %r1, %r2;\n\
         mul.hi.u64 %d2, %d1, %d0; div.s64 %d3, %d1, %d2; rem.u32 %r10, %r0, %r3; mad.lo.cc.u32 %r11, %r0, %r1, %r2; addc.u32 %r12, %r0, %r1;\n\
         div.rz.f32 %f1, %f0, %f0; fma.rm.f64 %e1, %e0, %e0, %e0; sqrt.rp.f32 %f2, %f1; cvt.rzi.s32.f32 %r13, %f2; cvt.rn.f16.f32 %h0, %f1; mul24.hi.s32 %r14, %r0, %r1;\n\
         vote.sync.ballot.b32 %r15, %p0, -1; match.any.sync.b32 %r16, %r0, -1; shfl.sync.idx.b32 %r17, %r0, %r1, 31, -1; bar.red.popc.u32 %r18, 0, %p0; bar.warp.sync -1;\n\
         bar.arrive 1, 64; bar.sync 2, 64; membar.gl; atom.global.cas.b32 %r19, [%d0], %r0, %r1; red.global.add.f32 [%d0+4], %f0; st.volatile.global.v2.u32 [%d0], {%r0, %r1}; ret;",
    );
    let texts = [include_str!("ptx/sum.ptx"), include_str!("ptx/scan.ptx"), include_str!("ptx/saxpy.ptx"), &more];
    let (mut parsed, mut ended, mut faults) = (0, 0, 0);
    for text in texts {
        let words_of_text = words_of(text);
        for round in 0..3000 {
            let Ok(module) = Module::parse(&mutant(&words_of_text, &mut random, 1 + round % 3)) else { continue };
            parsed += 1;
            for entry in module.entries() {
                let mut device = Device::new(Options {
                    seed: round as u64,
                    steps: 30_000,
                    registers: round % 2 == 0,
                    ..Options::default()
                });
                let a = words(&mut device, "a", &[1; 256]);
                let params = [[a, a, 64, 64], [a, a, a, 0]];
                let found = [2, 3, 4, 1]
                    .map(|count| device.launch(&module, entry, line(3, 64), &params[round % 2][..count]).is_ok());
                *(if found.contains(&true) { &mut ended } else { &mut faults }) += 1;
            }
        }
    }
    assert!(parsed > 500 && ended > 50 && faults > 50, "{parsed} were parsed, {ended} ended, {faults} had faults");
}
