//! The PTX of sorts: text with the widths put in.

use std::fmt::Write;

/// Elements of a tile.
pub(super) const TILE: usize = 2048;
/// Threads of a block.
pub(super) const THREADS: u32 = 256;
/// Elements of a tile that each thread has.
const ITEMS: usize = TILE / THREADS as usize;
/// Warps of a block.
const WARPS: usize = THREADS as usize / 32;
/// Numbers that a digit has.
pub(super) const DIGITS: usize = 256;

/// What a module is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Widths {
    /// Bits of a rank: 32 or 64.
    pub(crate) rank: usize,
    /// Bits of a position in a row: 32 or 64.
    pub(crate) order: usize,
}

impl Widths {
    pub(super) fn rank_bytes(self) -> usize {
        self.rank / 8
    }

    pub(super) fn order_bytes(self) -> usize {
        self.order / 8
    }

    /// Digits of a rank.
    pub(super) fn digits(self) -> usize {
        self.rank_bytes()
    }
}

/// The module of sorts of these widths, for an architecture. No entry is called as a parameter of another is, at which an assembler was seen to fail.
pub(crate) fn module(widths: Widths, (major, minor): (u32, u32), version: &str) -> String {
    let mut text = format!(
        "// sorts by ranks of {} bits, positions of {} bits\n.version {version}\n.target sm_{major}{minor}\n.address_size 64\n",
        widths.rank, widths.order
    );
    let keys: &[usize] = if widths.rank == 64 { &[64] } else { &[8, 16, 32] };
    for &bits in keys {
        text += &filled(include_str!("ranks.template"), widths, bits);
    }
    for bits in [8, 16, 32, 64] {
        text += &filled(include_str!("gather.template"), widths, bits);
    }
    for template in [include_str!("rows.template"), include_str!("count.template"), include_str!("pass.template")] {
        text += &filled(template, widths, widths.rank);
    }
    text
}

/// A template with its names replaced: W stands for the bits of an element, R of a rank, I of a position, V of a register for an element.
fn filled(template: &str, widths: Widths, element: usize) -> String {
    let Widths { rank, order } = widths;
    let sign = 1u64 << (element - 1);
    let all = u64::MAX >> (64 - element);
    // Of floats: all exponent bits.
    let fraction = match element {
        16 => 10,
        32 => 23,
        _ => 52,
    };
    let infinity = (all ^ sign) >> fraction.min(element - 2) << fraction.min(element - 2);
    let names: [(&str, String); 20] = [
        ("$STAGED_RANKS", (TILE * widths.rank_bytes()).to_string()),
        ("$STAGED_ORDER", (TILE * widths.order_bytes()).to_string()),
        ("$ALL_RANK", format!("{:#x}", u64::MAX >> (64 - rank))),
        ("$COUNTS", (4 * DIGITS * widths.digits()).to_string()),
        ("$PLACES", (DIGITS * widths.digits()).to_string()),
        ("$CLEAR", repeated(WARPS, &mut |text, warp| line(text, &format!("st.shared.b32 [%d19+{}], 0", 1024 * warp)))),
        ("$WARPS", repeated(WARPS, &mut of_warp)),
        ("$BEFORE", repeated(WARPS, &mut before_warp)),
        ("$SUMS", repeated(5, &mut sum)),
        ("$RANK", repeated(ITEMS, &mut |text, item| rank_of(text, item, widths))),
        ("$STAGE", repeated(ITEMS, &mut |text, item| stage(text, item, widths))),
        ("$SIGN", format!("{sign:#x}")),
        ("$BELOW", format!("{:#x}", all ^ sign)),
        ("$INFINITY", format!("{infinity:#x}")),
        ("$ALL", format!("{all:#x}")),
        ("$RB", widths.rank_bytes().to_string()),
        ("$IB", widths.order_bytes().to_string()),
        ("$WB", (element / 8).to_string()),
        ("$V", element.max(32).to_string()),
        ("$W", element.to_string()),
    ];
    let mut text = names.into_iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, &value));
    text = text.replace("$R", &rank.to_string()).replace("$I", &order.to_string());
    format!("\n{text}")
}

fn repeated(times: usize, part: &mut dyn FnMut(&mut String, usize)) -> String {
    let mut text = String::new();
    (0..times).for_each(|at| part(&mut text, at));
    text.pop();
    text
}

fn line(text: &mut String, instruction: &str) {
    _ = writeln!(text, "\t{instruction};");
}

/// Of a thread's element: its rank, and how many of its digit its warp has had before it (`%r50` and on).
fn rank_of(text: &mut String, item: usize, widths: Widths) {
    let (rank, bytes) = (widths.rank, widths.rank_bytes());
    let (key, place, own) = (format!("%k{item}"), format!("%r{}", 50 + item), format!("%p{}", 10 + item));
    for instruction in [
        format!("add.u32 %r10, %r7, {}", 32 * item),
        format!("setp.lt.u32 {own}, %r10, %r6"),
        "cvt.u64.u32 %d60, %r10".to_owned(),
        "add.u64 %d60, %d29, %d60".to_owned(),
        format!("mad.lo.u64 %d60, %d60, {bytes}, %d0"),
        format!("mov.b{rank} {key}, 0"),
        format!("@{own} ld.global.b{rank} {key}, [%d60]"),
        format!("shr.u{rank} %k10, {key}, %r0"),
        format!("cvt.u32.u{rank} %r11, %k10"),
        "and.b32 %r11, %r11, 255".to_owned(),
        // Places that have no element are all alike, and like no digit.
        format!("selp.b32 %r12, %r11, 256, {own}"),
        "match.any.sync.b32 %r13, %r12, 0xffffffff".to_owned(),
        "and.b32 %r14, %r13, %r4".to_owned(),
        "popc.b32 %r15, %r14".to_owned(),
        "popc.b32 %r16, %r13".to_owned(),
        "mul.wide.u32 %d61, %r11, 4".to_owned(),
        "add.u64 %d61, %d22, %d61".to_owned(),
        "mov.u32 %r17, 0".to_owned(),
        format!("@{own} ld.shared.u32 %r17, [%d61]"),
        format!("add.u32 {place}, %r17, %r15"),
        "setp.eq.u32 %p8, %r14, 0".to_owned(),
        format!("and.pred %p8, %p8, {own}"),
        "add.u32 %r18, %r17, %r16".to_owned(),
        "bar.warp.sync 0xffffffff".to_owned(),
        "@%p8 st.shared.u32 [%d61], %r18".to_owned(),
        "bar.warp.sync 0xffffffff".to_owned(),
    ] {
        line(text, &instruction);
    }
}

/// What a warp has of this thread's digit becomes what warps before it have.
fn of_warp(text: &mut String, warp: usize) {
    line(text, &format!("ld.shared.u32 %r35, [%d19+{}]", 1024 * warp));
    line(text, &format!("st.shared.u32 [%d19+{}], %r30", 1024 * warp));
    line(text, "add.u32 %r30, %r30, %r35");
}

/// A step of a sum over the lanes before.
fn sum(text: &mut String, step: usize) {
    line(text, &format!("shfl.sync.up.b32 %r32|%p9, %r31, {}, 0, 0xffffffff", 1 << step));
    line(text, "@%p9 add.u32 %r31, %r31, %r32");
}

/// The sum of a warp before.
fn before_warp(text: &mut String, warp: usize) {
    line(text, &format!("ld.shared.u32 %r36, [%d14+{}]", 8 * warp));
    line(text, &format!("setp.gt.u32 %p9, %r3, {warp}"));
    line(text, "@%p9 add.u32 %r33, %r33, %r36");
}

/// A thread's element goes to its place in the tile.
fn stage(text: &mut String, item: usize, widths: Widths) {
    let (rank, bytes, order, order_bytes) = (widths.rank, widths.rank_bytes(), widths.order, widths.order_bytes());
    let (key, place, own) = (format!("%k{item}"), format!("%r{}", 50 + item), format!("%p{}", 10 + item));
    line(text, &format!("@!{own} bra SKIP{item}"));
    for instruction in [
        format!("shr.u{rank} %k10, {key}, %r0"),
        format!("cvt.u32.u{rank} %r11, %k10"),
        "and.b32 %r11, %r11, 255".to_owned(),
        "mul.wide.u32 %d61, %r11, 4".to_owned(),
        "add.u64 %d62, %d13, %d61".to_owned(),
        "ld.shared.u32 %r12, [%d62]".to_owned(),
        "add.u64 %d61, %d22, %d61".to_owned(),
        "ld.shared.u32 %r13, [%d61]".to_owned(),
        format!("add.u32 %r12, %r12, {place}"),
        "add.u32 %r12, %r12, %r13".to_owned(),
        "cvt.u64.u32 %d63, %r12".to_owned(),
        format!("mad.lo.u64 %d64, %d63, {bytes}, %d15"),
        format!("st.shared.b{rank} [%d64], {key}"),
        format!("@!%p21 bra SKIP{item}"),
        format!("add.u32 %r10, %r7, {}", 32 * item),
        "cvt.u64.u32 %d65, %r10".to_owned(),
        "add.u64 %d66, %d27, %d65".to_owned(),
        format!("cvt.u{order}.u64 %i1, %d66"),
        format!("@!%p20 bra OWN{item}"),
        "add.u64 %d67, %d29, %d65".to_owned(),
        "cvta.to.global.u64 %d68, %d1".to_owned(),
        format!("mad.lo.u64 %d67, %d67, {order_bytes}, %d68"),
        format!("ld.global.b{order} %i1, [%d67]"),
    ] {
        line(text, &instruction);
    }
    _ = writeln!(text, "OWN{item}:");
    line(text, &format!("mad.lo.u64 %d69, %d63, {order_bytes}, %d16"));
    line(text, &format!("st.shared.b{order} [%d69], %i1"));
    _ = writeln!(text, "SKIP{item}:");
}
