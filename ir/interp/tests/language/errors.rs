//! Run-time errors: each kind, with its whole message. It names the place, the operation and its result, and says what happened with
//! the index and the extents, or the two sizes. A place is the
//! line and the column of the operation's name, or of the operator, in the text.

use std::collections::BTreeSet;

use fusebox_ir::Fault;

use crate::support::{fails, fault, run};

/// A program, inputs with which it fails, and the message.
struct Failure {
    program: &'static str,
    inputs: &'static [&'static str],
    message: &'static str,
}

/// One for each kind of fault.
const FAILURES: &[Failure] = &[
    Failure {
        program: "fn f(x: [n, m]i32, i: i64) -> i32 { let y = x[i, 2] return y }",
        inputs: &["[[1, 2, 3], [4, 5, 6]]", "24"],
        message: "1:45: unit `y`: index [24, 2] is outside of `x`, whose extents are [2, 3]",
    },
    Failure {
        program: "fn f(k: i64) -> [?]i32 { let y: [k]i32 = generate([k], |i| 1i32) return y }",
        inputs: &["-4"],
        message: "1:42: generate `y`: extent -4 of `y` is negative",
    },
    Failure {
        program: "fn f(x: [n]i32, k: i64) -> [?]i32 { let y: [k]i32 = reshape([k], x) return y }",
        inputs: &["[1, 2, 3]", "4"],
        message: "1:53: reshape `y`: extent 4 of `y` and extent 3 of `x` should be equal",
    },
    Failure {
        program: "fn f(x: [n]i32, k: i64) -> [?]i32 { let y: [k]i32 = map(|v| v, x) return y }",
        inputs: &["[1, 2, 3]", "4"],
        message: "1:53: map `y`: extent 4 of `y` is more than the 3 of `x`",
    },
    Failure {
        program: "fn f(x: [n]i32) -> [n]i32 { let y: [n]i32 = map(|v| 1 + 6 / v, x) return y }",
        inputs: &["[1, 0]"],
        message: "1:59: map `y`: division by zero",
    },
    Failure {
        program: "fn f(x: [n, m]i32) -> [n]i32 { let y: [n]i32 = fold1(|a, b| a + b, x) return y }",
        inputs: &["empty [2, 0]"],
        message: "1:48: fold1 `y`: row 0 of `x` is empty, and there is no seed",
    },
    Failure {
        program: "fn f(x: [n]i32, o: [3]i32) -> [2]i32 { let y: [2]i32 = fold_seg(|a, b| a + b, 0, x, offsets: o) return y }",
        inputs: &["[1, 2, 3]", "[0, 7, 3]"],
        message: "1:56: fold_seg `y`: offset 1 of `o` is 7: offsets rise from 0 to the extent, 3",
    },
    Failure {
        program: "fn f(x: [n]i32, o: [k]i32) -> [n]i32 { let y: [n]i32 = scanl1_seg(|a, b| a + b, x, offsets: o) return y }",
        inputs: &["[]", "[]"],
        message: "1:56: scanl1_seg `y`: `o` is empty: there is one offset more than segments",
    },
    Failure {
        program: "fn f(x: [n]i32, at: [n]i64) -> [n]i32 { let y: [n]i32 = permute(|a, b| a, x, x, at: at, unique: true) return y }",
        inputs: &["[1, 2]", "[1, 1]"],
        message: "1:57: permute `y`: target [1] is met twice, although `unique` is promised",
    },
    Failure {
        program: "fn f(x: [n]f32) -> [n]f32 { let y: [n]f32 = map(|v| sqrt(assert(v >= 0.0, \"no root\", v)), x) return y }",
        inputs: &["[4.0, -1.0]"],
        message: "1:58: map `y`: assertion failed: no root",
    },
    Failure {
        program: "fn f(k: i64) -> [?]i32 { let y: [k]i32 = generate([k], |i| 1i32) return y }",
        inputs: &["9000000000000000000"],
        message: "1:42: generate `y`: `y` of extents [9000000000000000000] does not fit in memory",
    },
    Failure {
        program: "fn f(x: [n]i32) -> [n]i32 { let y: [n]i32 = nest([n], |i| { let q = 6 / x[i] return q }) return y }",
        inputs: &["[1, 0]"],
        message: "1:71: unit `q`: division by zero, in lane 1",
    },
];

#[test]
fn every_message() {
    for Failure { program, inputs, message } in FAILURES {
        assert_eq!(fails(program, inputs), *message, "{program}");
    }
}

/// The list above has every kind of fault there is: those that the file which defines them names.
#[test]
fn every_kind_of_fault() {
    let kind = |fault: &Fault| format!("{fault:?}").split([' ', '{']).next().unwrap_or_default().to_owned();
    let shown: BTreeSet<String> =
        FAILURES.iter().map(|failure| kind(&fault(failure.program, failure.inputs))).collect();
    let source = include_str!("../../../core/src/error.rs");
    let (_, variants) = source.split_once("pub enum Fault {").expect("the definition");
    let names = variants
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()) && line.ends_with(['{', ',']));
    let all: BTreeSet<String> = names.map(|line| line.trim_end_matches([' ', '{', ',']).to_owned()).collect();
    assert_eq!(shown, all);
}

/// The place is that of the instruction that fails, in functions of several lines too.
#[test]
fn the_place_of_an_instruction() {
    let program = "fn f(x: [n]i32) -> [n]i32 {
  let y: [n]i32 = map(|v| {
    let a = v + 1
    let b = 6 / v
    return a + b }, x)
  return y }";
    assert_eq!(fails(program, &["[0]"]), "4:15: map `y`: division by zero");
}

/// An error keeps the name and the operation of the binding it happened in, whoever needed that.
#[test]
fn the_binding_that_fails_is_named() {
    let program = "fn f(x: [n]i32) -> i32 {
  let q: [n]i32 = map(|v| 6 / v, x)
  let s: i32 = fold(|a, b| a + b, 0, q)
  return total: s }";
    assert_eq!(run(program, &["[1, 2]"]), "9");
    assert_eq!(fails(program, &["[0]"]), "2:29: map `q`: division by zero");
}

/// Of several results the one that is needed first gives the operation its name.
#[test]
fn the_result_that_fails_is_named() {
    let program = "fn f(x: [n]i32) -> [n]i32, [n]i32 {
  let p: [n]i32, q: [n]i32 = map(|v| { return v + 1, 6 / v }, x)
  return p, q }";
    assert_eq!(fails(program, &["[0]"]), "2:56: map `q`: division by zero");
}
