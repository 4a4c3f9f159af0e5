//! Integers and truth values.

use fusebox_ir::ElementType;

use crate::support::{eval, fails, run};

/// Sums, differences and products wrap.
#[test]
fn arithmetic_wraps() {
    assert_eq!(eval("i8", "100 + 100"), "-56");
    assert_eq!(eval("u8", "3 - 5"), "254");
    assert_eq!(eval("i16", "300 * 300"), "24464");
    assert_eq!(eval("u64", "0 - 1"), "18446744073709551615");
    assert_eq!(eval("i64", "9223372036854775807 + 1"), "-9223372036854775808");
}

/// Negation and `abs` wrap: the smallest integer is its own negation.
#[test]
fn negation_wraps() {
    assert_eq!(eval("i8", "-(-128)"), "-128");
    assert_eq!(eval("i8", "abs(-128)"), "-128");
    assert_eq!(eval("i32", "abs(-5)"), "5");
    assert_eq!(eval("u8", "abs(200)"), "200");
    assert_eq!(run("fn f(x: i64) -> i64 { let y = -x return y }", &["-9223372036854775808"]), "-9223372036854775808");
}

/// `/` rounds to zero, and `%` has the sign of the dividend.
#[test]
fn division_rounds_to_zero() {
    let divided = "fn f(a: [n]i32, b: [n]i32) -> [n]i32, [n]i32 {
        let q: [n]i32, r: [n]i32 = map(|x, y| { return x / y, x % y }, a, b) return q, r }";
    assert_eq!(run(divided, &["[7, -7, 7, -7, 6]", "[2, 2, -2, -2, -2]"]), "[3, -3, -3, 3, -3]; [1, -1, 1, -1, 0]");
    assert_eq!(eval("u8", "200 / 7"), "28");
    assert_eq!(eval("u8", "200 % 7"), "4");
    assert_eq!(eval("u64", "18446744073709551615 / 2"), "9223372036854775807");
}

/// `div` rounds down, and `mod` has the sign of the divisor.
#[test]
fn div_and_mod_round_down() {
    let divided = "fn f(a: [n]i32, b: [n]i32) -> [n]i32, [n]i32 {
        let q: [n]i32, r: [n]i32 = map(|x, y| { return div(x, y), mod(x, y) }, a, b) return q, r }";
    assert_eq!(run(divided, &["[7, -7, 7, -7, -6]", "[2, 2, -2, -2, 2]"]), "[3, -4, -4, 3, -3]; [1, 1, -1, -1, 0]");
    assert_eq!(eval("u8", "div(200, 7)"), "28");
    assert_eq!(eval("u8", "mod(200, 7)"), "4");
}

/// The smallest integer divided by -1 wraps too, without a rest.
#[test]
fn the_smallest_by_minus_one() {
    let divided = "fn f(x: i32, y: i32) -> i32, i32, i32, i32 {
        let a = x / y let b = x % y let c = div(x, y) let d = mod(x, y) return a, b, c, d }";
    assert_eq!(run(divided, &["-2147483648", "-1"]), "-2147483648; 0; -2147483648; 0");
    let divided = "fn f(x: i64, y: i64) -> i64, i64, i64, i64 {
        let a = x / y let b = x % y let c = div(x, y) let d = mod(x, y) return a, b, c, d }";
    assert_eq!(run(divided, &["-9223372036854775808", "-1"]), "-9223372036854775808; 0; -9223372036854775808; 0");
    assert_eq!(eval("i8", "-128 / -1"), "-128");
}

/// Division and remainder of integers by zero are errors.
#[test]
fn division_by_zero_is_an_error() {
    let by_zero = [
        "fn f(x: i32, y: i32) -> i32 { let z = x / y return z }",
        "fn f(x: i32, y: i32) -> i32 { let z = x % y return z }",
        "fn f(x: i32, y: i32) -> i32 { let z = div(x, y) return z }",
        "fn f(x: i32, y: i32) -> i32 { let z = mod(x, y) return z }",
        "fn f(x: u8, y: u8) -> u8 { let z = x / y return z }",
    ];
    for program in by_zero {
        assert!(fails(program, &["1", "0"]).ends_with("unit `z`: division by zero"), "{program}");
    }
}

/// A shift by the width or more gives 0, or all sign bits.
#[test]
fn shifts_beyond_the_width() {
    assert_eq!(eval("i32", "1 << 31"), "-2147483648");
    assert_eq!(eval("i32", "1 << 32"), "0");
    assert_eq!(eval("u8", "1 << 8"), "0");
    assert_eq!(eval("i32", "-8 >> 1"), "-4");
    assert_eq!(eval("i32", "-8 >> 40"), "-1");
    assert_eq!(eval("i32", "8 >> 40"), "0");
    assert_eq!(eval("u8", "200 >> 3"), "25");
    assert_eq!(eval("u8", "200 >> 8"), "0");
    assert_eq!(eval("i64", "-1 >> 64"), "-1");
}

/// The amount of a shift is of any integer type and read as unsigned: a negative one is beyond the width.
#[test]
fn amounts_of_shifts() {
    assert_eq!(eval("u8", "1u8 << 3i64"), "8");
    assert_eq!(eval("i64", "1i64 << 40u8"), "1099511627776");
    assert_eq!(eval("i32", "1i32 << -1i32"), "0");
    assert_eq!(eval("i32", "-8i32 >> -1i8"), "-1");
    assert_eq!(eval("u32", "8u32 >> -1i8"), "0");
}

/// The amount of a rotation counts modulo the width.
#[test]
fn rotations() {
    assert_eq!(eval("u8", "rotate_left(0b10000001, 1)"), "3");
    assert_eq!(eval("u8", "rotate_right(0b10000001, 1)"), "192");
    assert_eq!(eval("u8", "rotate_left(0b10000001, 8)"), "129");
    assert_eq!(eval("u8", "rotate_left(0b10000001u8, 9i64)"), "3");
    assert_eq!(eval("u8", "rotate_left(0b10000001u8, -1i32)"), "192");
    assert_eq!(eval("i8", "rotate_right(3, 1)"), "-127");
}

/// Bitwise functions see two's complement; counts have the operand's type.
#[test]
fn bits() {
    assert_eq!(eval("i32", "12 & 10"), "8");
    assert_eq!(eval("i32", "12 | 10"), "14");
    assert_eq!(eval("i32", "12 ^ 10"), "6");
    assert_eq!(eval("i32", "-1 & 255"), "255");
    assert_eq!(eval("i32", "~5"), "-6");
    assert_eq!(eval("u8", "~5"), "250");
    assert_eq!(eval("i16", "popcount(-1)"), "16");
    assert_eq!(eval("i32", "clz(1)"), "31");
    assert_eq!(eval("u8", "clz(0)"), "8");
    assert_eq!(eval("i64", "ctz(8)"), "3");
    assert_eq!(eval("i16", "ctz(0)"), "16");
}

/// `sign` is -1, 0 or 1; order is that of the type.
#[test]
fn order() {
    assert_eq!(eval("i32", "sign(-5)"), "-1");
    assert_eq!(eval("i32", "sign(0)"), "0");
    assert_eq!(eval("u8", "sign(200)"), "1");
    assert_eq!(eval("i8", "min(-1, 1)"), "-1");
    assert_eq!(eval("u8", "min(255, 1)"), "1");
    assert_eq!(eval("i8", "max(-1, 1)"), "1");
    assert_eq!(eval("u8", "max(255, 1)"), "255");
    assert_eq!(eval("bool", "-1i8 < 1"), "true");
    assert_eq!(eval("bool", "255u8 < 1"), "false");
    assert_eq!(eval("bool", "18446744073709551615u64 > 1"), "true");
    let all = "fn f(x: i32, y: i32) -> bool, bool, bool, bool, bool, bool {
        let a = x == y let b = x != y let c = x < y let d = x <= y let e = x > y let g = x >= y return a, b, c, d, e, g }";
    assert_eq!(run(all, &["-3", "2"]), "false; true; true; true; false; false");
    assert_eq!(run(all, &["2", "2"]), "true; false; false; true; false; true");
    assert_eq!(run(all, &["2", "-3"]), "false; true; false; false; true; true");
}

/// A `bool` has `& | ^ !`, comparisons, `min` and `max`, with `false < true`.
#[test]
fn truth_values() {
    let all = "fn f(x: bool, y: bool) -> bool, bool, bool, bool, bool, bool, bool, bool {
        let a = x & y let b = x | y let c = x ^ y let d = !x let e = min(x, y) let g = max(x, y) let h = x < y let i = x == y
        return a, b, c, d, e, g, h, i }";
    assert_eq!(run(all, &["false", "false"]), "false; false; false; true; false; false; false; true");
    assert_eq!(run(all, &["false", "true"]), "false; true; true; true; false; true; true; false");
    assert_eq!(run(all, &["true", "false"]), "false; true; true; false; false; true; false; false");
    assert_eq!(run(all, &["true", "true"]), "true; true; false; false; true; true; false; true");
}

/// Between integers, conversions keep the low bits; those of a signed integer are extended by its sign.
#[test]
fn conversions_between_integers_wrap() {
    assert_eq!(eval("i8", "i8(300i32)"), "44");
    assert_eq!(eval("u8", "u8(-1i32)"), "255");
    assert_eq!(eval("i32", "i32(4294967295u32)"), "-1");
    assert_eq!(eval("i64", "i64(4294967295u32)"), "4294967295");
    assert_eq!(eval("u16", "u16(-1i8)"), "65535");
    assert_eq!(eval("u64", "u64(-1i8)"), "18446744073709551615");
    assert_eq!(eval("i64", "i64(18446744073709551615u64)"), "-1");
}

/// Every type converts to every number type, its own too; a `bool` counts as 0 or 1.
#[test]
fn every_conversion_keeps_one() {
    for from in ElementType::ALL {
        for to in ElementType::ALL.into_iter().filter(|to| to.is_number()) {
            let one = if from == ElementType::Bool { "true".to_owned() } else { format!("1{from}") };
            let expected = if to.is_float() { "1.0" } else { "1" };
            assert_eq!(eval(to.name(), &format!("{to}({one})")), expected, "{to} of {one}");
        }
    }
    assert_eq!(eval("i32", "i32(false)"), "0");
}

/// `bits_T` reads the same bits as another type of the same width.
#[test]
fn the_same_bits_as_another_type() {
    assert_eq!(eval("u32", "bits_u32(1.0f32)"), "1065353216");
    assert_eq!(eval("f32", "bits_f32(1065353216u32)"), "1.0");
    assert_eq!(eval("i16", "bits_i16(65535u16)"), "-1");
    assert_eq!(eval("u16", "bits_u16(1.0f16)"), "15360");
    assert_eq!(eval("i64", "bits_i64(-0.0f64)"), "-9223372036854775808");
}
