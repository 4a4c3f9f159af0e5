//! Integers and bits.

use super::{Apply, bits, of_int};
use crate::types::Type;

/// Low half, high half, or all of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Low,
    High,
    Wide,
}

/// Instructions of one to three sources of one type.
///
/// What PTX leaves open has a value here: a quotient by zero is all ones, a remainder by zero the dividend.
pub(crate) fn plain(name: &str, ty: Type) -> Option<Apply> {
    match name {
        "add" => of_int!(ty, |a, b| a.wrapping_add(b)),
        "sub" => of_int!(ty, |a, b| a.wrapping_sub(b)),
        "div" => of_int!(ty, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) }),
        "rem" => of_int!(ty, |a, b| if b == 0 { a } else { a.wrapping_rem(b) }),
        "min" => of_int!(ty, |a, b| a.min(b)),
        "max" => of_int!(ty, |a, b| a.max(b)),
        "neg" => of_int!(ty, |a| (0 as T).wrapping_sub(a)),
        "abs" => of_int!(ty, |a| if (a as i128) < 0 { (0 as T).wrapping_sub(a) } else { a }),
        "sad" => of_int!(ty, |a, b, c| c.wrapping_add(if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) })),
        _ => None,
    }
}

/// Sums that stay in the range of 32-bit numbers.
pub(crate) fn saturating(name: &str) -> Option<Apply> {
    Some(match name {
        "add" => bits!(|a, b| u64::from((a as i32).saturating_add(b as i32) as u32)),
        "sub" => bits!(|a, b| u64::from((a as i32).saturating_sub(b as i32) as u32)),
        _ => return None,
    })
}

/// `mul` of a part; the sources have the type.
pub(crate) fn product(half: Half, ty: Type) -> Option<Apply> {
    match half {
        Half::Low => of_int!(ty, |a, b| a.wrapping_mul(b)),
        Half::High => of_int!(ty, |a, b| ((a as W).wrapping_mul(b as W) >> T::BITS) as T),
        Half::Wide => Some(match ty {
            Type::U16 => bits!(|a, b| a * b),
            Type::U32 => bits!(|a, b| a * b),
            Type::S16 => bits!(|a, b| u64::from((i32::from(a as i16) * i32::from(b as i16)) as u32)),
            Type::S32 => bits!(|a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64),
            _ => return None,
        }),
    }
}

/// `mul24` of sources whose upper eight bits do not count.
pub(crate) fn product24(half: Half, ty: Type) -> Option<Apply> {
    Some(match (half, ty) {
        (Half::Low, Type::U32) => bits!(|a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff) & 0xffff_ffff),
        (Half::High, Type::U32) => bits!(|a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff) >> 16),
        (Half::Low, Type::S32) => bits!(|a, b| (low24(a) * low24(b)) as u64 & 0xffff_ffff),
        (Half::High, Type::S32) => bits!(|a, b| ((low24(a) * low24(b)) >> 16) as u64 & 0xffff_ffff),
        _ => return None,
    })
}

fn low24(a: u64) -> i64 {
    i64::from((a as i32) << 8 >> 8)
}

/// Bitwise instructions; they are the same for all widths but for what `not` and `cnot` leave out.
pub(crate) fn bitwise(name: &str, ty: Type) -> Option<Apply> {
    Some(match (name, ty.bits()) {
        ("and", _) => bits!(|a, b| a & b),
        ("or", _) => bits!(|a, b| a | b),
        ("xor", _) => bits!(|a, b| a ^ b),
        ("not", 1) => bits!(|a| !a & 1),
        ("not", 16) => bits!(|a| !a & 0xffff),
        ("not", 32) => bits!(|a| !a & 0xffff_ffff),
        ("not", 64) => bits!(|a| !a),
        ("cnot", _) => bits!(|a| u64::from(a == 0)),
        ("popc", _) => bits!(|a| u64::from(a.count_ones())),
        ("clz", 32) => bits!(|a| u64::from((a as u32).leading_zeros())),
        ("clz", 64) => bits!(|a| u64::from(a.leading_zeros())),
        ("brev", 32) => bits!(|a| u64::from((a as u32).reverse_bits())),
        ("brev", 64) => bits!(|a| a.reverse_bits()),
        _ => return None,
    })
}

/// Shifts by a 32-bit amount; what is shifted out is gone, and by as much as the width or more, all is.
pub(crate) fn shift(name: &str, ty: Type) -> Option<Apply> {
    macro_rules! by {
        ($t:ty, $u:ty, $method:ident, $beyond:expr) => {
            bits!(|a, n| {
                let a = a as $t;
                let shifted = if n < u64::from(<$t>::BITS) { a.$method(n as u32) } else { $beyond(a) };
                u64::from(shifted as $u)
            })
        };
    }
    Some(match (name, ty) {
        ("shl", Type::B16) => by!(u16, u16, wrapping_shl, |_| 0),
        ("shl", Type::B32) => by!(u32, u32, wrapping_shl, |_| 0),
        ("shl", Type::B64) => by!(u64, u64, wrapping_shl, |_| 0),
        ("shr", Type::B16 | Type::U16) => by!(u16, u16, wrapping_shr, |_| 0),
        ("shr", Type::B32 | Type::U32) => by!(u32, u32, wrapping_shr, |_| 0),
        ("shr", Type::B64 | Type::U64) => by!(u64, u64, wrapping_shr, |_| 0),
        ("shr", Type::S16) => by!(i16, u16, wrapping_shr, |a: i16| a >> 15),
        ("shr", Type::S32) => by!(i32, u32, wrapping_shr, |a: i32| a >> 31),
        ("shr", Type::S64) => by!(i64, u64, wrapping_shr, |a: i64| a >> 63),
        _ => return None,
    })
}

/// `shf`: 32 bits out of two registers, the second the upper.
pub(crate) fn funnel(left: bool, wrap: bool) -> Apply {
    fn both(a: u64, b: u64) -> u64 {
        b << 32 | a
    }
    match (left, wrap) {
        (true, true) => bits!(|a, b, n| (both(a, b) << (n & 31)) >> 32),
        (true, false) => bits!(|a, b, n| (both(a, b) << n.min(32)) >> 32),
        (false, true) => bits!(|a, b, n| (both(a, b) >> (n & 31)) & 0xffff_ffff),
        (false, false) => bits!(|a, b, n| (both(a, b) >> n.min(32)) & 0xffff_ffff),
    }
}

/// `bfe`: bits from a position (second source), as many as the third says.
pub(crate) fn extract(ty: Type) -> Option<Apply> {
    Some(match ty {
        Type::U32 => bits!(|a, b, c| field(a, b, c, 32, false)),
        Type::U64 => bits!(|a, b, c| field(a, b, c, 64, false)),
        Type::S32 => bits!(|a, b, c| field(a, b, c, 32, true)),
        Type::S64 => bits!(|a, b, c| field(a, b, c, 64, true)),
        _ => return None,
    })
}

/// `bfi`: the low bits of the first source put into the second at a position, as many as the fourth says.
pub(crate) fn insert(ty: Type) -> Option<Apply> {
    Some(match ty {
        Type::B32 => bits!(|a, b, c, d| put(a, b, c, d, 32)),
        Type::B64 => bits!(|a, b, c, d| put(a, b, c, d, 64)),
        _ => return None,
    })
}

/// So many low bits; at most 64.
fn low(length: u32) -> u64 {
    if length == 0 { 0 } else { u64::MAX >> (64 - length) }
}

fn field(a: u64, position: u64, length: u64, width: u32, signed: bool) -> u64 {
    let (position, length) = (position as u32 & 0xff, length as u32 & 0xff);
    let inside = length.min(width.saturating_sub(position));
    let field = if inside == 0 { 0 } else { a >> position & low(inside) };
    let is_negative = signed && length > 0 && a >> (position + length - 1).min(width - 1) & 1 == 1;
    if is_negative { field | low(width) & !low(inside) } else { field }
}

fn put(a: u64, b: u64, position: u64, length: u64, width: u32) -> u64 {
    let (position, length) = (position as u32 & 0xff, length as u32 & 0xff);
    let inside = length.min(width.saturating_sub(position));
    if inside == 0 {
        return b;
    }
    let bits = low(inside) << position;
    b & !bits | a << position & bits
}

/// `bfind`: the highest bit that is set, or that differs from the sign; all ones if there is none.
pub(crate) fn highest(ty: Type, amount: bool) -> Option<Apply> {
    fn position(a: u64, width: u32, amount: bool) -> u64 {
        if a == 0 {
            return 0xffff_ffff;
        }
        let at = 63 - a.leading_zeros();
        u64::from(if amount { width - 1 - at } else { at })
    }
    fn magnitude(a: i64) -> u64 {
        (if a < 0 { !a } else { a }) as u64
    }
    Some(match (ty, amount) {
        (Type::U32, false) => bits!(|a| position(a, 32, false)),
        (Type::U32, true) => bits!(|a| position(a, 32, true)),
        (Type::U64, false) => bits!(|a| position(a, 64, false)),
        (Type::U64, true) => bits!(|a| position(a, 64, true)),
        (Type::S32, false) => bits!(|a| position(magnitude(i64::from(a as i32)), 32, false)),
        (Type::S32, true) => bits!(|a| position(magnitude(i64::from(a as i32)), 32, true)),
        (Type::S64, false) => bits!(|a| position(magnitude(a as i64), 64, false)),
        (Type::S64, true) => bits!(|a| position(magnitude(a as i64), 64, true)),
        _ => return None,
    })
}

/// `prmt`: four bytes out of the eight of two registers, by the third source.
pub(crate) fn permute(mode: Option<&str>) -> Option<Apply> {
    fn select(a: u64, b: u64, selectors: [u64; 4]) -> u64 {
        let bytes = b << 32 | a;
        let byte = |selector: u64| {
            let byte = bytes >> (8 * (selector & 7)) & 0xff;
            // The fourth bit of a selector asks for the sign, eight times.
            if selector & 8 == 0 { byte } else { (byte >> 7) * 0xff }
        };
        (0..4).fold(0, |word, at| word | byte(selectors[at]) << (8 * at))
    }
    Some(match mode {
        None => bits!(|a, b, c| select(a, b, std::array::from_fn(|at| c >> (4 * at) & 15))),
        Some("f4e") => bits!(|a, b, c| select(a, b, std::array::from_fn(|at| (c & 3) + at as u64))),
        Some("b4e") => bits!(|a, b, c| select(a, b, std::array::from_fn(|at| ((c & 3) + 8 - at as u64) & 7))),
        Some("rc8") => bits!(|a, b, c| select(a, b, [c & 3; 4])),
        Some("ecl") => bits!(|a, b, c| select(a, b, std::array::from_fn(|at| (c & 3).max(at as u64)))),
        Some("ecr") => bits!(|a, b, c| select(a, b, std::array::from_fn(|at| (c & 3).min(at as u64)))),
        Some("rc16") => bits!(|a, b, c| select(a, b, std::array::from_fn(|at| (c & 1) * 2 + (at as u64 & 1)))),
        Some(_) => return None,
    })
}

/// `lop3`: each bit by a table of eight, the fourth source.
pub(crate) fn logic() -> Apply {
    bits!(|a, b, c, table| {
        (0..8).filter(|row| table >> row & 1 == 1).fold(0, |result, row| {
            let matches = |x: u64, bit: u64| if bit == 1 { x } else { !x };
            result | matches(a, row >> 2 & 1) & matches(b, row >> 1 & 1) & matches(c, row & 1) & 0xffff_ffff
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{field, put};
    use crate::random::Random;

    /// As PTX defines it, bit by bit.
    fn field_by_bits(a: u64, position: u64, length: u64, width: u32, signed: bool) -> u64 {
        let (position, length) = (position as u32 & 0xff, length as u32 & 0xff);
        let bit = |at: u32| a >> at.min(width - 1) & 1;
        let sign = if signed && length > 0 { bit((position + length - 1).min(width - 1)) } else { 0 };
        (0..width).fold(0, |field, at| {
            let inside = at < length && position + at < width;
            field | if inside { bit(position + at) } else { sign } << at
        })
    }

    fn put_by_bits(a: u64, b: u64, position: u64, length: u64, width: u32) -> u64 {
        let (position, length) = (position as u32 & 0xff, length as u32 & 0xff);
        (position..(position + length).min(width)).fold(b, |b, at| {
            let bit = a >> (at - position) & 1;
            b & !(1 << at) | bit << at
        })
    }

    #[test]
    fn fields_are_those_of_their_bits() {
        let mut random = Random(4);
        for width in [32, 64] {
            let mask = u64::MAX >> (64 - width);
            let places = [0, 1, 7, 8, 15, 16, 31, 32, 33, 40, 63, 64, 65, 100, 254, 255, 256, 300];
            for (position, length) in places.into_iter().flat_map(|at| places.map(|length| (at, length))) {
                for _ in 0..8 {
                    let (a, b) = (random.below(usize::MAX) as u64 & mask, random.below(usize::MAX) as u64 & mask);
                    for signed in [false, true] {
                        let expected = field_by_bits(a, position, length, width, signed);
                        assert_eq!(field(a, position, length, width, signed), expected, "{a:#x} {position} {length}");
                    }
                    let expected = put_by_bits(a, b, position, length, width);
                    assert_eq!(put(a, b, position, length, width), expected, "{a:#x} {b:#x} {position} {length}");
                }
            }
        }
    }
}
