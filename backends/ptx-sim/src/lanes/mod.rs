//! What arithmetic instructions compute, for the 32 lanes of a warp at once.
//!
//! A value of any type is in the low bits of a `u64`, the others zero; a predicate is 0 or 1.

pub(crate) mod carry;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod exact;
pub(crate) mod float;
pub(crate) mod integer;

// Loops that write to a row become vector instructions, which closures over arrays do not.

/// A value in every lane.
pub(crate) type Row = [u64; 32];
/// An instruction without memory, by its number of sources.
#[derive(Clone, Copy)]
pub(crate) enum Apply {
    One(fn(&Row) -> Row),
    Two(fn(&Row, &Row) -> Row),
    Three(fn(&Row, &Row, &Row) -> Row),
    Four(fn(&Row, &Row, &Row, &Row) -> Row),
}

#[inline(always)]
pub(crate) fn map1(a: &Row, f: impl Fn(u64) -> u64) -> Row {
    let mut row = [0; 32];
    for (lane, value) in row.iter_mut().enumerate() {
        *value = f(a[lane]);
    }
    row
}

#[inline(always)]
pub(crate) fn map2(a: &Row, b: &Row, f: impl Fn(u64, u64) -> u64) -> Row {
    let mut row = [0; 32];
    for (lane, value) in row.iter_mut().enumerate() {
        *value = f(a[lane], b[lane]);
    }
    row
}

#[inline(always)]
pub(crate) fn map3(a: &Row, b: &Row, c: &Row, f: impl Fn(u64, u64, u64) -> u64) -> Row {
    let mut row = [0; 32];
    for (lane, value) in row.iter_mut().enumerate() {
        *value = f(a[lane], b[lane], c[lane]);
    }
    row
}

#[inline(always)]
pub(crate) fn map4(a: &Row, b: &Row, c: &Row, d: &Row, f: impl Fn(u64, u64, u64, u64) -> u64) -> Row {
    let mut row = [0; 32];
    for (lane, value) in row.iter_mut().enumerate() {
        *value = f(a[lane], b[lane], c[lane], d[lane]);
    }
    row
}

/// An [`Apply`] of expressions over the bits of the sources.
macro_rules! bits {
    (|$a:ident| $body:expr) => {{
        fn apply(a: &$crate::lanes::Row) -> $crate::lanes::Row {
            $crate::lanes::map1(a, |$a| $body)
        }
        $crate::lanes::Apply::One(apply)
    }};
    (|$a:ident, $b:ident| $body:expr) => {{
        fn apply(a: &$crate::lanes::Row, b: &$crate::lanes::Row) -> $crate::lanes::Row {
            $crate::lanes::map2(a, b, |$a, $b| $body)
        }
        $crate::lanes::Apply::Two(apply)
    }};
    (|$a:ident, $b:ident, $c:ident| $body:expr) => {{
        fn apply(a: &$crate::lanes::Row, b: &$crate::lanes::Row, c: &$crate::lanes::Row) -> $crate::lanes::Row {
            $crate::lanes::map3(a, b, c, |$a, $b, $c| $body)
        }
        $crate::lanes::Apply::Three(apply)
    }};
    (|$a:ident, $b:ident, $c:ident, $d:ident| $body:expr) => {{
        fn apply(
            a: &$crate::lanes::Row,
            b: &$crate::lanes::Row,
            c: &$crate::lanes::Row,
            d: &$crate::lanes::Row,
        ) -> $crate::lanes::Row {
            $crate::lanes::map4(a, b, c, d, |$a, $b, $c, $d| $body)
        }
        $crate::lanes::Apply::Four(apply)
    }};
}
pub(crate) use bits;

/// As `bits!`, of one of Rust's integer types: in the body, `T` is that type and `W` the one of twice its width.
macro_rules! of_type {
    ($t:ty, $u:ty, $w:ty, |$($x:ident),*| $body:expr) => {{
        #[allow(dead_code)]
        type T = $t;
        #[allow(dead_code)]
        type W = $w;
        Some($crate::lanes::bits!(|$($x),*| {
            $(let $x = $x as T;)*
            let result: T = $body;
            result as $u as u64
        }))
    }};
}
pub(crate) use of_type;

/// `of_type!` by a PTX type of 16, 32 or 64 bits, signed or unsigned; bits count as unsigned.
macro_rules! of_int {
    ($ty:expr, |$($x:ident),*| $body:expr) => {
        match $ty {
            $crate::types::Type::U16 | $crate::types::Type::B16 => {
                $crate::lanes::of_type!(u16, u16, u32, |$($x),*| $body)
            }
            $crate::types::Type::U32 | $crate::types::Type::B32 => {
                $crate::lanes::of_type!(u32, u32, u64, |$($x),*| $body)
            }
            $crate::types::Type::U64 | $crate::types::Type::B64 => {
                $crate::lanes::of_type!(u64, u64, u128, |$($x),*| $body)
            }
            $crate::types::Type::S16 => $crate::lanes::of_type!(i16, u16, i32, |$($x),*| $body),
            $crate::types::Type::S32 => $crate::lanes::of_type!(i32, u32, i64, |$($x),*| $body),
            $crate::types::Type::S64 => $crate::lanes::of_type!(i64, u64, i128, |$($x),*| $body),
            _ => None,
        }
    };
}
pub(crate) use of_int;
