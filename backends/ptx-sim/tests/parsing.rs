//! What the parser takes, and how it says what it does not.

mod common;

use common::{kernel, parsed};
use fusebox_ptx_sim::Module;

fn error(text: &str) -> String {
    Module::parse(text).expect_err(text).to_string()
}

fn body(code: &str) -> String {
    kernel(".param .u64 a", code)
}

#[test]
fn a_file_with_everything() {
    let module = parsed(
        "//\n// Made by hand\n//\n.version 7.8\n.target sm_70, texmode_independent\n.address_size 64\n\
         .global .align 4 .u32 table[4] = {1, 0x10, 0b11, 017};\n.const .f32 half = 0f3F000000;\n.visible .global .align 8 .b8 room[24];\n\
         .extern .shared .align 16 .b8 dynamic[];\n\
         .visible .entry first(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 q[16])\n.reqntid 64, 1, 1\n.minnctapersm 2\n{\n\
         .reg .b32 %r<3>, %s; .reg .u64 %d<3>; .local .align 4 .b32 mine[8];\n.pragma \"nounroll\";\n\
         { .reg .b32 %r1; mov.u32 %r1, WARP_SZ; st.local.u32 [mine+4], %r1; }\n\
         ld.local.v2.u32 {%r1, %r2}, [mine]; ld.param.u64 %d1, [q+8]; mov.u64 %d2, dynamic; st.shared.u32 [dynamic+4], %s; bra.uni $L_1;\n\
         $L_1:\n ret;\n}\n.entry second() { exit; }\n",
    );
    assert_eq!(module.entries().collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(module.target(), "sm_70");
    assert!(module.notes().is_empty());
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (code, expected) in [
        ("frob.u32 %r0, %r1;", "7:1: the instruction `frob` is not known here"),
        ("add.u32 %r0, %r1", "8:1: expected `,` or `;`, found `}`"),
        ("add.u32 %r0, %r1, %x9;", "7:19: there is no register `%x9`"),
        ("add.u32 %r0, %r1, %d0;", "7:19: `%d0` is a register of .b64, and .u32 is wanted"),
        ("add.u32 %r0, %r1, %f0;", "7:19: `%f0` is a register of .f32, and .u32 is wanted"),
        ("add.u32 %r0, %r1;", "7:1: `add` takes 3 operands, found 2"),
        ("add.wide.u32 %r0, %r1, %r2;", "7:1: `add` has a modifier `.wide` that does not belong here"),
        ("mul.u32 %r0, %r1, %r2;", "7:1: `mul` lacks `.lo`, `.hi` or `.wide`"),
        ("mul.wide.u64 %d0, %d1, %d2;", "7:1: `mul` with these modifiers has no type .u64"),
        ("div.f32 %f0, %f1, %f2;", "7:1: `div` lacks a rounding"),
        ("cvt.s32.f32 %r0, %f1;", "7:1: `cvt` from .f32 to .s32 lacks a rounding to an integer such as `.rzi`"),
        ("cvt.f32.f64 %f0, %e1;", "7:1: `cvt` from .f64 to .f32 lacks a rounding such as `.rn`"),
        ("min.NaN.f64 %e0, %e1, %e2;", "7:1: `min` with these modifiers has no type .f64"),
        ("add.f32 %f0, %f1, 1;", "7:19: expected a value of .f32"),
        ("bra NOWHERE;", "7:5: there is no label `NOWHERE`"),
        ("L: L: ret;", "7:4: the label `L` is there twice"),
        ("ld.global.u32 %r0, [%r1];", "7:20: `%r1`, of .b32, cannot hold such an address"),
        ("ld.shared.u32 %r0, [a];", "7:20: `a` is in parameter memory, and this is an access of shared memory"),
        ("ld.acquire.global.u32 %r0, [%d1];", "7:1: an ordered access lacks its scope"),
        ("st.global.v4.u64 [%d1], {%d0, %d0, %d0, %d0};", "7:1: a vector in memory has at most 16 bytes"),
        ("st.global.v2.u32 [%d1], {%r0};", "7:25: expected 2 registers, found 1"),
        ("st.param.u32 [a], %r0;", "7:1: nothing can be stored to parameter memory"),
        ("shfl.down.b32 %r0, %r1, 1, 31;", "7:1: `shfl` lacks `.sync`: without it, it is gone since sm_70"),
        ("atom.global.min.f32 %f0, [%d0], %f1;", "7:1: `atom` with these modifiers has no type .f32"),
        ("red.global.cas.b32 [%d0], %r0, %r1;", "7:1: `red` with these modifiers has no type .b32"),
        ("setp.lo.s32 %p0, %r0, %r1;", "7:1: `setp` with these modifiers has no type .s32"),
        (".reg .b32 %r0;", "7:11: the register `%r0` is there twice"),
        ("mov.u32 %r0, 0f3F8;", "7:14: `0f3F8` is no number"),
        ("mov.u32 %r0, #;", "7:14: the character `#` does not begin anything in PTX"),
        ("mov.u32 %tid.x, %r0;", "7:9: expected a register of .u32"),
        ("call f;", "7:1: the instruction `call` is not known here"),
        ("/* no end", "7:1: this comment does not end"),
    ] {
        assert_eq!(error(&body(code)), expected, "{code}");
    }
    assert_eq!(error(".func f() {}"), "1:1: the directive `.func` is not known here");
    assert_eq!(error(".address_size 32"), "1:15: addresses have 64 bits here");
    assert_eq!(error(".entry k() {"), "1:13: expected a statement or `}`, found the end of the text");
}

#[test]
fn sums_without_a_rounding_are_noted() {
    let module = parsed(&body("mov.f32 %f1, 0f00000000; add.f32 %f0, %f1, %f1; mul.rn.f32 %f0, %f1, %f1;"));
    let notes: Vec<String> = module.notes().iter().map(ToString::to_string).collect();
    let note = "7:26: `add.f32` without a rounding: the assembler may make one instruction of a product and a sum";
    assert_eq!(notes, [note]);
}

/// Whatever the text is, there is an answer.
#[test]
fn no_text_panics() {
    let text = include_str!("ptx/sum.ptx");
    for cut in 0..text.len() {
        let _ = Module::parse(&text[..cut]);
        let _ = Module::parse(&format!("{}{}", &text[..cut], &text[(cut + 7).min(text.len())..]));
    }
    let words = [
        "{",
        "}",
        "[",
        "%r1",
        ".u32",
        "-",
        "|",
        "0x",
        "1e",
        "1.",
        ".",
        "<4000000000>",
        "[99999999999999]",
        "\u{e9}",
        "\"",
        "!",
        "@",
    ];
    let places: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    for word in words {
        for &at in places.iter().step_by(3) {
            let _ = Module::parse(&format!("{} {word}{}", &text[..at], &text[at..]));
        }
    }
    let _ = Module::parse(&body(&"{".repeat(5000)));
    let _ = Module::parse(&format!(".global .u32 a[1] = {}", "{".repeat(5000)));
    let _ = Module::parse(".global .u8 a[4294967295][4294967295];");
    let _ = Module::parse(".entry k() { .shared .b8 a[4294967296]; .local .b8 b[4294967296]; }");
}
