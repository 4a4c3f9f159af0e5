//! Floats: IEEE 754, each operation rounded once in its own type.

use crate::support::{eval, run};

/// Each operation rounds once, half to even, in the type of its operands.
#[test]
fn each_operation_rounds_in_its_type() {
    assert_eq!(eval("f64", "0.1 + 0.2"), "0.30000000000000004");
    assert_eq!(eval("f32", "16777216.0 + 1.0"), "16777216.0");
    assert_eq!(eval("f32", "1.0 / 3.0"), "0.33333334");
    assert_eq!(eval("f32", "0.1 - 0.3"), "-0.20000002");
    assert_eq!(eval("f16", "0.1 + 0.2"), "0.2998");
    assert_eq!(eval("f32", "16777216.0 * 16777216.0"), "281474980000000.0");
}

/// `f16` rounds after every operation: nothing is kept in a wider type.
#[test]
fn half_precision_rounds_every_time() {
    assert_eq!(eval("f16", "2048.0 + 1.0 + 1.0"), "2048.0");
    assert_eq!(eval("f32", "2048.0 + 1.0 + 1.0"), "2050.0");
    assert_eq!(eval("f16", "60000.0 + 60000.0 - 60000.0"), "inf");
}

/// `a * b + c` rounds twice, `fma(a, b, c)` once.
#[test]
fn no_contraction() {
    // The square is 1 + 2^-11 + 2^-24, and 2^-24 is half of the last place.
    let twice = "fn f(a: f32, c: f32) -> f32, f32 { let r = a * a + c let s = fma(a, a, c) return r, s }";
    assert_eq!(run(twice, &["1.000244140625", "-1.00048828125"]), "0.0; 5.9604645e-8");
    // The square is 1 + 2^-5 + 2^-12, and 2^-12 is a quarter of the last place.
    let half = "fn f(a: f16, c: f16) -> f16, f16 { let r = a * a + c let s = fma(a, a, c) return r, s }";
    assert_eq!(run(half, &["1.015625", "-1.03125"]), "0.0; 0.0002441");
    assert_eq!(eval("f64", "fma(2.0, 3.0, 4.0)"), "10.0");
}

/// Nothing is assumed of NaN, infinities and zeros.
#[test]
fn no_fast_mathematics() {
    assert_eq!(eval("f32", "nan_f32 * 0.0"), "nan");
    assert_eq!(eval("f32", "inf_f32 * 0.0"), "nan");
    assert_eq!(eval("f32", "inf_f32 - inf_f32"), "nan");
    assert_eq!(eval("f32", "-1.0 * 0.0"), "-0.0");
    assert_eq!(eval("f32", "-0.0 + 0.0"), "0.0");
    assert_eq!(eval("f32", "-0.0 - 0.0"), "-0.0");
}

/// Division of floats by zero is no error.
#[test]
fn division_by_zero_gives_infinity() {
    assert_eq!(eval("f32", "1.0 / 0.0"), "inf");
    assert_eq!(eval("f64", "-1.0 / 0.0"), "-inf");
    assert_eq!(eval("f16", "0.0 / 0.0"), "nan");
    assert_eq!(eval("f32", "1.0 % 0.0"), "nan");
}

/// `%` is the exact remainder with the sign of the dividend.
#[test]
fn remainder() {
    assert_eq!(eval("f32", "5.5 % 2.0"), "1.5");
    assert_eq!(eval("f32", "-5.5 % 2.0"), "-1.5");
    assert_eq!(eval("f32", "5.5 % -2.0"), "1.5");
    assert_eq!(eval("f32", "-4.0 % 2.0"), "-0.0");
    assert_eq!(eval("f32", "1.0 % inf_f32"), "1.0");
    assert_eq!(eval("f64", "1e30 % 7.0"), "5.0");
}

/// `min` and `max` give NaN where there is one, and put -0 below +0.
#[test]
fn minimum_and_maximum() {
    let both = "fn f(x: f32, y: f32) -> f32, f32 { let a = min(x, y) let b = max(x, y) return a, b }";
    assert_eq!(run(both, &["1.5", "-2.0"]), "-2.0; 1.5");
    assert_eq!(run(both, &["0.0", "-0.0"]), "-0.0; 0.0");
    assert_eq!(run(both, &["-0.0", "0.0"]), "-0.0; 0.0");
    assert_eq!(run(both, &["nan", "1.0"]), "nan; nan");
    assert_eq!(run(both, &["1.0", "nan"]), "nan; nan");
    assert_eq!(run(both, &["inf", "-inf"]), "-inf; inf");
}

/// NaN compares unequal to everything, itself too, and has no order; zeros are equal.
#[test]
fn comparisons() {
    let all = "fn f(x: f32, y: f32) -> bool, bool, bool, bool, bool, bool {
        let a = x == y let b = x != y let c = x < y let d = x <= y let e = x > y let g = x >= y return a, b, c, d, e, g }";
    assert_eq!(run(all, &["nan", "nan"]), "false; true; false; false; false; false");
    assert_eq!(run(all, &["1.0", "nan"]), "false; true; false; false; false; false");
    assert_eq!(run(all, &["-0.0", "0.0"]), "true; false; false; true; false; true");
    assert_eq!(run(all, &["-inf", "1.0"]), "false; true; true; true; false; false");
}

/// `floor`, `ceil`, `trunc` and `round` give whole numbers of the same type; `round` puts halves to the even one. Signs of zeros stay.
#[test]
fn whole_numbers() {
    let all = "fn f(x: [n]f32) -> [n]f32, [n]f32, [n]f32, [n]f32 {
        let a: [n]f32, b: [n]f32, c: [n]f32, d: [n]f32 = map(|v| { return floor(v), ceil(v), trunc(v), round(v) }, x)
        return a, b, c, d }";
    assert_eq!(
        run(all, &["[0.5, 1.5, 2.5, -0.5, -1.5, -2.5]"]),
        "[0.0, 1.0, 2.0, -1.0, -2.0, -3.0]; [1.0, 2.0, 3.0, -0.0, -1.0, -2.0]; \
         [0.0, 1.0, 2.0, -0.0, -1.0, -2.0]; [0.0, 2.0, 2.0, -0.0, -2.0, -2.0]"
    );
    assert_eq!(eval("f32", "round(nan_f32)"), "nan");
    assert_eq!(eval("f32", "floor(-inf_f32)"), "-inf");
}

/// Negation and `abs` change the sign alone; `sign` of zeros and of NaN is itself.
#[test]
fn signs() {
    assert_eq!(eval("f32", "-(0.0f32)"), "-0.0");
    assert_eq!(eval("f32", "abs(-0.0)"), "0.0");
    assert_eq!(eval("f32", "abs(-inf_f32)"), "inf");
    assert_eq!(eval("f32", "sign(-3.5)"), "-1.0");
    assert_eq!(eval("f32", "sign(1e-40)"), "1.0");
    assert_eq!(eval("f32", "sign(-0.0)"), "-0.0");
    assert_eq!(eval("f32", "sign(nan_f32)"), "nan");
    assert_eq!(eval("bool", "is_nan(nan_f16)"), "true");
    assert_eq!(eval("bool", "is_nan(inf_f32)"), "false");
    assert_eq!(eval("bool", "is_inf(-inf_f64)"), "true");
    assert_eq!(eval("bool", "is_inf(1.0f32)"), "false");
}

/// From float to integer the fraction goes, values beyond the range become the nearest, NaN becomes 0.
#[test]
fn conversions_to_integers_saturate() {
    assert_eq!(eval("i32", "i32(2.9f32)"), "2");
    assert_eq!(eval("i32", "i32(-2.9f32)"), "-2");
    assert_eq!(eval("i8", "i8(300.0f32)"), "127");
    assert_eq!(eval("i8", "i8(-300.5f32)"), "-128");
    assert_eq!(eval("u8", "u8(-1.0f32)"), "0");
    assert_eq!(eval("u32", "u32(1e20f64)"), "4294967295");
    assert_eq!(eval("u64", "u64(1e30f64)"), "18446744073709551615");
    assert_eq!(eval("i64", "i64(-inf_f32)"), "-9223372036854775808");
    assert_eq!(eval("i16", "i16(inf_f16)"), "32767");
    assert_eq!(eval("i64", "i64(nan_f64)"), "0");
}

/// To a float there is one rounding, half to even, whatever the source.
#[test]
fn conversions_to_floats_round_once() {
    assert_eq!(eval("f32", "f32(16777217i32)"), "16777216.0");
    assert_eq!(eval("f32", "f32(16777219i32)"), "16777220.0");
    assert_eq!(eval("f64", "f64(9007199254740993i64)"), "9007199254740992.0");
    assert_eq!(eval("f32", "f32(18446744073709551615u64)"), "1.8446744e19");
    assert_eq!(eval("f16", "f16(2049i32)"), "2048.0");
    assert_eq!(eval("f16", "f16(70000i32)"), "inf");
    assert_eq!(eval("f64", "f64(0.1f32)"), "0.10000000149011612");
    assert_eq!(eval("f32", "f32(0.1f64)"), "0.1");
    // Half of the last place of 1 is a tie, anything above it is none, even below the last place of an f32.
    assert_eq!(eval("f16", "f16(1.00048828125f64)"), "1.0");
    assert_eq!(eval("f16", "f16(1.0004882812500002f64)"), "1.001");
    assert_eq!(eval("f16", "f16(65519.0f32)"), "65500.0");
    assert_eq!(eval("f16", "f16(65520.0f32)"), "inf");
}

/// Square roots are rounded correctly; that of -0 is -0, of less NaN.
#[test]
fn square_roots() {
    assert_eq!(eval("f64", "sqrt(2.0)"), "1.4142135623730951");
    assert_eq!(eval("f32", "sqrt(2.0)"), "1.4142135");
    assert_eq!(eval("f16", "sqrt(2.0)"), "1.414");
    assert_eq!(eval("f32", "sqrt(-0.0)"), "-0.0");
    assert_eq!(eval("f32", "sqrt(-1.0)"), "nan");
}

/// The other functions are rounded correctly by the interpreter (other backends: within 2 units in the last place).
#[test]
fn functions() {
    assert_eq!(eval("f64", "cbrt(-27.0)"), "-3.0");
    assert_eq!(eval("f64", "exp(1.0)"), "2.718281828459045");
    assert_eq!(eval("f64", "exp2(-3.0)"), "0.125");
    assert_eq!(eval("f64", "expm1(1e-10)"), "1.00000000005e-10");
    assert_eq!(eval("f64", "log(2.0)"), "0.6931471805599453");
    assert_eq!(eval("f64", "log2(8.0)"), "3.0");
    assert_eq!(eval("f64", "log10(1000.0)"), "3.0");
    assert_eq!(eval("f64", "log1p(1e-10)"), "9.999999999500001e-11");
    assert_eq!(eval("f64", "sin(1.0)"), "0.8414709848078965");
    assert_eq!(eval("f64", "cos(1.0)"), "0.5403023058681398");
    assert_eq!(eval("f64", "tan(1.0)"), "1.5574077246549023");
    assert_eq!(eval("f64", "asin(1.0)"), "1.5707963267948966");
    assert_eq!(eval("f64", "acos(-1.0)"), "3.141592653589793");
    assert_eq!(eval("f64", "atan(1.0)"), "0.7853981633974483");
    assert_eq!(eval("f64", "sinh(1.0)"), "1.1752011936438014");
    assert_eq!(eval("f64", "cosh(0.0)"), "1.0");
    assert_eq!(eval("f64", "tanh(1.0)"), "0.7615941559557649");
    assert_eq!(eval("f64", "asinh(-0.0)"), "-0.0");
    assert_eq!(eval("f64", "acosh(1.0)"), "0.0");
    assert_eq!(eval("f64", "atanh(1.0)"), "inf");
    assert_eq!(eval("f64", "erf(0.5)"), "0.5204998778130465");
    assert_eq!(eval("f64", "erfc(0.0)"), "1.0");
    assert_eq!(eval("f32", "exp(1.0)"), "2.7182817");
    assert_eq!(eval("f32", "log(-1.0)"), "nan");
    assert_eq!(eval("f32", "log(0.0)"), "-inf");
    assert_eq!(eval("f32", "exp(-inf_f32)"), "0.0");
    assert_eq!(eval("f32", "tanh(inf_f32)"), "1.0");
    assert_eq!(eval("f16", "exp(1.0)"), "2.719");
}

/// `pow`, `atan2` and `hypot` have the special values of IEEE 754 and C.
#[test]
fn functions_of_two() {
    assert_eq!(eval("f64", "pow(2.0, 10.0)"), "1024.0");
    assert_eq!(eval("f64", "pow(-2.0, 3.0)"), "-8.0");
    assert_eq!(eval("f64", "pow(-8.0, 0.5)"), "nan");
    assert_eq!(eval("f32", "pow(nan_f32, 0.0)"), "1.0");
    assert_eq!(eval("f32", "pow(1.0, nan_f32)"), "1.0");
    assert_eq!(eval("f32", "pow(-0.0, -3.0)"), "-inf");
    assert_eq!(eval("f64", "atan2(0.0, -1.0)"), "3.141592653589793");
    assert_eq!(eval("f64", "atan2(-0.0, -1.0)"), "-3.141592653589793");
    assert_eq!(eval("f64", "atan2(1.0, 0.0)"), "1.5707963267948966");
    assert_eq!(eval("f64", "hypot(3e300, 4e300)"), "5e300");
    assert_eq!(eval("f32", "hypot(inf_f32, nan_f32)"), "inf");
    assert_eq!(eval("f16", "hypot(3.0, 4.0)"), "5.0");
}

/// A literal is the nearest value of its type; `bits_T` of a number writes any value, NaN with a payload too.
#[test]
fn literals() {
    assert_eq!(eval("f32", "0.1"), "0.1");
    assert_eq!(eval("f64", "f64(0.1f32)"), "0.10000000149011612");
    assert_eq!(eval("f32", "bits_f32(0x80000000)"), "-0.0");
    assert_eq!(eval("u32", "bits_u32(bits_f32(0x7fc00001))"), "2143289345");
    assert_eq!(eval("f32", "1e-45"), "1e-45");
    assert_eq!(eval("i64", "0xff + 0b101 + 1_000"), "1260");
}
