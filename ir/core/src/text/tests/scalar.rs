//! Lexical rules, and types of scalar code.

use super::{parse, same};
use crate::{ArrayOp, Constant, ElementType, Lambda, ScalarOp, ScalarOperand, text::Error};

const INPUTS: &str =
    "n: i64, x: f32, y: f32, i: i32, j: i64, u: u8, w: u32, h: f16, d: f64, b: bool, a: [k]f32, m: [k, l]i32";

/// The function of `let r = expression`, with one scalar of many types around.
#[track_caller]
fn unit(expression: &str) -> Lambda {
    let program = same(&format!("fn f({INPUTS}) -> i64 {{ let r = {expression} return n }}"));
    let ArrayOp::Unit { f } = &program.body.bindings[0].op else { panic!("{expression} is no unit") };
    f.clone()
}

#[track_caller]
fn error(expression: &str) -> Error {
    match parse(&format!("fn f({INPUTS}) -> i64 {{ let r = {expression} return n }}")) {
        Ok(program) => panic!("{expression} is read as\n{program}"),
        Err(error) => error,
    }
}

/// The constant that an expression is.
#[track_caller]
fn constant(expression: &str) -> Constant {
    let f = unit(expression);
    assert!(f.instructions.is_empty());
    let ScalarOperand::Constant(constant) = f.results[0] else { panic!("{expression} is no constant") };
    constant
}

#[track_caller]
fn ty(expression: &str) -> ElementType {
    let program = same(&format!("fn f({INPUTS}) -> i64 {{ let r = {expression} return n }}"));
    program.body.bindings[0].results[0].ty.element
}

#[test]
fn whole_numbers() {
    assert_eq!(constant("1_000i32"), Constant::from(1000i32));
    assert_eq!(constant("0xFF_ffu32"), Constant::from(0xffffu32));
    assert_eq!(constant("0b101u8"), Constant::from(5u8));
    assert_eq!(constant("18446744073709551615u64"), Constant::from(u64::MAX));
    assert_eq!(constant("-9223372036854775808i64"), Constant::from(i64::MIN));
    assert_eq!(constant("-0x80i8"), Constant::from(-128i8));
    assert_eq!(constant("1f32"), Constant::from(1f32));
    assert_eq!(constant("0x1f32u64"), Constant::from(0x1f32u64));
    for wrong in [
        "1__0i32",
        "1_i32",
        "_",
        "0xi32",
        "0b12i32",
        "1i33",
        "0x1p3",
        "256u8",
        "-1u8",
        "-129i8",
        "0xffi8",
        "99999999999999999999u64",
    ] {
        error(wrong);
    }
}

#[test]
fn floats() {
    assert_eq!(constant("1.5f32"), Constant::from(1.5f32));
    assert_eq!(constant("1e-3f64"), Constant::from(1e-3f64));
    assert_eq!(constant("2E+3f32"), Constant::from(2000f32));
    assert_eq!(constant("-0.0f32"), Constant::from(-0.0f32));
    assert_eq!(constant("16777217f32"), Constant::from(16777216f32));
    assert_eq!(constant("5e-324f64"), Constant::from(f64::from_bits(1)));
    for wrong in ["1_0.5f32", "1.5_0f32", "1.f32", "1e999f64", "1e39f32", "65520f16", "1.5i32", "1e2i32", "0x1f32 + x"]
    {
        error(wrong);
    }
}

#[test]
fn halves_round_once() {
    // 1 + 2^-11 lies between two halves; the digits beyond what `f64` holds decide.
    let half = |text: &str| constant(text).bits();
    assert_eq!(half("1.00048828125f16"), 0x3c00);
    assert_eq!(half("1.000488281250000000000000000000001f16"), 0x3c01);
    assert_eq!(half("1.0014648437499999999999999999999f16"), 0x3c01);
    assert_eq!(half("1.00146484375f16"), 0x3c02);
}

#[test]
fn infinities_and_nan() {
    assert_eq!(constant("inf_f32"), Constant::from(f32::INFINITY));
    assert_eq!(constant("-inf_f64"), Constant::from(f64::NEG_INFINITY));
    assert_eq!(constant("nan_f32").bits(), 0x7fc0_0000);
    assert_eq!(constant("-nan_f16").bits(), 0xfe00);
    assert_eq!(constant("bits_f32(0x7fc00001)").bits(), 0x7fc0_0001);
    assert_eq!(constant("bits_i32(0xffffffff)"), Constant::from(-1i32));
    for wrong in ["inf_i32", "nan_bool", "bits_f32(0x1ffffffff)", "bits_f32(-1)", "bits_f32(1.0)"] {
        error(wrong);
    }
}

#[test]
fn a_minus_belongs_to_the_literal_after_it() {
    assert!(unit("-1i32").instructions.is_empty());
    assert_eq!(unit("-(1i32)").instructions.len(), 1);
    assert_eq!(unit("--1i32").instructions.len(), 1);
    assert_eq!(unit("i - -1").instructions.len(), 1);
    assert_eq!(unit("-(-inf_f32)").instructions.len(), 1);
    assert_eq!(unit("-(2.0 * x)").instructions.len(), 2);
}

#[test]
fn literals_under_conversions() {
    assert_eq!(constant("u8(7)"), Constant::from(7u8));
    assert_eq!(constant("f32(1.5)"), Constant::from(1.5f32));
    assert_eq!(constant("i8(-128)"), Constant::from(-128i8));
    assert_eq!(unit("u8(7u8)").instructions.len(), 1);
    assert_eq!(unit("i32(true)").instructions.len(), 1);
    assert_eq!(unit("bits_u32(1.5f32)").instructions.len(), 1);
    assert_eq!(unit("f64(1i32)").instructions.len(), 1);
    for wrong in ["u8(256)", "i32(1.5)", "bool(1)", "bool(i)", "bits_u32(d)", "f32(1.0 + 2.0)", "bits_u32(1.5 + 2.0)"] {
        error(wrong);
    }
}

#[test]
fn types_come_from_leaves_and_go_down() {
    assert_eq!(ty("1.0 + 2.0 * x"), ElementType::F32);
    assert_eq!(ty("if b { 1.0 } else { d }"), ElementType::F64);
    assert_eq!(ty("if b { return 1.0 } else { let t = d * 2.0 return t }"), ElementType::F64);
    assert_eq!(ty("min(0, u)"), ElementType::U8);
    assert_eq!(ty("fma(1.0, 2.0, h)"), ElementType::F16);
    assert_eq!(ty("1 < j"), ElementType::Bool);
    assert_eq!(ty("assert(1 < 2i32, \"so\", 1 + u)"), ElementType::U8);
    assert_eq!(ty("-(1 - i)"), ElementType::I32);
    assert_eq!(ty("a[0] + 1.0"), ElementType::F32);
    assert_eq!(ty("m.flat[0] + 1"), ElementType::I32);
    for wrong in [
        "1",
        "1.0 + 2.0",
        "1 < 2",
        "1 + x",
        "1.5 + i",
        "x + d",
        "i + j",
        "x && b",
        "!i",
        "~b",
        "-b",
        "b + b",
        "sqrt(i)",
        "popcount(x)",
        "is_nan(1.0)",
        "i % x",
        "if i { x } else { y }",
        "if b { x } else { d }",
    ] {
        error(wrong);
    }
}

#[test]
fn types_do_not_go_through_a_let() {
    let text = "fn f(a: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x| { let t = 1.0 return x + t }, a) return c }";
    assert_eq!(parse(text).unwrap_err().message(), "nothing tells the type of `1.0`");
    same(&text.replace("let t", "let t: f32"));
}

#[test]
fn amounts_of_shifts() {
    let amount = |expression: &str| match &unit(expression).instructions.last().unwrap().op {
        ScalarOp::Binary { b: ScalarOperand::Constant(c), .. } => c.ty(),
        _ => panic!(),
    };
    assert_eq!(amount("w << 3"), ElementType::U32);
    assert_eq!(amount("w >> 3i64"), ElementType::I64);
    assert_eq!(amount("rotate_left(u, 5)"), ElementType::U8);
    assert_eq!(ty("w << j"), ElementType::U32);
    assert_eq!(ty("(1 << j) + w"), ElementType::U32);
    assert_eq!(ty("(1 << (1 + 2)) + w"), ElementType::U32);
    assert_eq!(ty("(1 << (1i64 + 2)) + w"), ElementType::U32);
    for wrong in ["1 << j", "w << x", "x << 1"] {
        error(wrong);
    }
}

#[test]
fn operators_bind_as_the_table_says() {
    let printed = |expression: &str| unit(expression).to_string();
    // From loosest to tightest, each with the next inside.
    for expression in [
        "b || b && i == 1",
        "i | i ^ i & i << i + i * -i",
        "x - y - x",
        "x - (y - x)",
        "x / y * x % y",
        "x / (y * x)",
        "i & 1 == 0",
        "(i | i) & i",
        "(x + y) * x",
        "-x * y",
        "-(x * y)",
        "!(x < y)",
        "(b == b) == b",
        "~i << 2",
        "b && (b || b)",
        "(b || b) && b",
    ] {
        let ids = |text: String| text.trim_start_matches("|| ").to_owned();
        let names = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11"];
        let mut text = ids(printed(expression));
        for (id, name) in
            (0..12).rev().map(|n| (names[n], ["k", "l", "n", "x", "y", "i", "j", "u", "w", "h", "d", "b"][n]))
        {
            text = text.replace(id, name);
        }
        assert_eq!(text.replace("i32", ""), expression.replace("i32", ""));
    }
    error("i < i < i");
    error("i == i != i");
}

#[test]
fn reads() {
    assert!(matches!(unit("a[n + 1]").instructions[1].op, ScalarOp::Read { .. }));
    assert!(matches!(unit("m.flat[2]").instructions[0].op, ScalarOp::ReadFlat { .. }));
    assert!(matches!(unit("x[]").instructions[0].op, ScalarOp::Read { .. }));
    for wrong in ["a[i]", "a[0, 0]", "m[0]", "a", "a[]", "n.flat", "q[0]", "a.flat[0, 1]"] {
        error(wrong);
    }
}

#[test]
fn aliases_make_no_instruction() {
    let program = same(
        "fn f(a: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x| { let y = x let z: f32 = 2.0 let v = y * z let w = v return w }, a) return c }",
    );
    let ArrayOp::Map { f, .. } = &program.body.bindings[0].op else { panic!() };
    assert_eq!(f.instructions.len(), 1);
    assert_eq!(f.instructions[0].results[0].name.0, "v");
    let program = same("fn f(n: i64) -> i64 { let m = n let k: i64 = 3 return k }");
    assert!(
        program
            .body
            .bindings
            .iter()
            .all(|binding| matches!(&binding.op, ArrayOp::Unit { f } if f.instructions.is_empty()))
    );
}

#[test]
fn several_results() {
    let f = unit("if x < y { 1i32 } else if x == y { i } else { 2 }");
    assert_eq!(f.instructions.len(), 2);
    let text = format!(
        "fn f({INPUTS}) -> f32, f32, i64 {{
           let lo, hi = if x < y {{ return x, y }} else if b {{ return 0.0, 1.0 }} else {{ let t = x + y; return y, t }}
           let v, c = (while(|v: f32, c: i64| v > 1.0, |v: f32, c: i64| {{ return v / 2.0, c + 1 }}, x, 0))
           let one = (while(|v: f32| v > 1.0, |v: f32| v / 2.0, x))
           return lo, v, c }}"
    );
    let program = same(&text);
    assert!(program.body.bindings.iter().all(|binding| matches!(&binding.op, ArrayOp::Unit { .. })));
}

#[test]
fn scalar_code_that_is_no_single_expression_is_written_as_a_function() {
    let program = same(
        "fn f(x: f32) -> f32, f32 { let a: f32, b: f32 = unit(|| { let t = x * x return t + t, t - 1.0 }) return a, b }",
    );
    insta::assert_snapshot!(program, @r"
    fn f(x: f32) -> f32, f32 {
      let a: f32, b: f32 = unit(|| { let t = x * x; return t + t, t - 1.0 })
      return a, b }
    ");
}

#[test]
fn comments_semicolons_and_strings() {
    same(
        "# first\nfn f(x: f32) -> f32 { # then\n let y = assert(x > 0.0, \"# no comment \\\\ \\\" \\u{1f600} \\n\", x);; return y; } # end",
    );
    let program = same("fn f(x: f32) -> f32 { let y = assert(x > 0.0, \"\\u{e9}\\t\\r\", x) return y }");
    let ArrayOp::Unit { f } = &program.body.bindings[0].op else { panic!() };
    assert!(matches!(&f.instructions[1].op, ScalarOp::Assert { message, .. } if message == "\u{e9}\t\r"));
    for wrong in ["\"", "\"\\q\"", "\"\\u{}\"", "\"\\u{d800}\"", "\"\\u{1234567}\"", "\"\\u41\"", "\"\n\""] {
        error(&format!("assert(b, {wrong}, x)"));
    }
}

#[test]
fn names() {
    same(
        "fn größe(ä.re: f32, _x: f32, a._: f32, fold: f32, vertical: f32, order: f32) -> f32 { let flat = fold + vertical return flat }",
    );
    for wrong in ["fn", "f32", "inf_f16", "nan_i32", "bits_u8", "_", "1x", "x.flat", "stream"] {
        assert!(parse(&format!("fn f({wrong}: f32) -> f32 {{ return {wrong} }}")).is_err(), "{wrong}");
    }
}

#[test]
fn places_are_of_the_operation() {
    let text = "fn f(a: [n]f32) -> [n]f32 {\n  let ä: [n]f32 = map(|x| x / a[0], a)\n  return ä }";
    let program = crate::text::parse_named(text, "p.fbx").unwrap();
    let binding = &program.body.bindings[0];
    assert_eq!(binding.place.to_string(), "p.fbx:2:19");
    let ArrayOp::Map { f, .. } = &binding.op else { panic!() };
    assert_eq!(f.instructions[0].place.to_string(), "p.fbx:2:31");
    assert!(f.instructions[1].place.is_unknown(), "a division of floats cannot fail");
}
