//! How much code kernels are made of. Compile time grows with it; it is counted and not timed, and the machine at hand plays no part.

use std::fmt::Write as _;

use crate::common::{check, compiled, plan};
use fusebox_cranelift::{Config, Cranelift, Features};
use fusebox_ir::Array;

/// A line for each part of the kernels of a program: instructions of the vector IR and, for longer vectors, bytes of machine code.
fn sizes(source: &str) -> String {
    let plan = plan(source);
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).unwrap();
    let compiled = compiled(&backend, &plan).unwrap();
    let mut text = String::new();
    for (part, function) in compiled.kernels().unwrap().iter().flat_map(|kernel| &kernel.parts) {
        writeln!(text, "sse {part:?}: {} instructions", function.instructions().len()).unwrap();
    }
    for (name, features) in [("avx2", Features::AVX2), ("avx512", Features::BASE)] {
        for kernel in compiled.wide_code(features).unwrap().into_iter().flatten() {
            for ((part, function), code) in kernel.compiled.parts.iter().zip(kernel.codes) {
                let bytes = code.map_or("none".to_owned(), |code| code.instructions.to_string());
                writeln!(text, "{name} {part:?}: {} instructions, {bytes} bytes", function.instructions().len())
                    .unwrap();
            }
        }
    }
    text
}

#[test]
fn a_scan() {
    let source = "fn f(x: [n]f32) -> [n]f32 { let s: [n]f32 = scanl1(|a, b| a + b, x) return s }";
    insta::assert_snapshot!(sizes(source), @r"
    sse Body: 625 instructions
    sse Totals: 414 instructions
    sse Carry: 30 instructions
    avx2 Body: 751 instructions, 4247 bytes
    avx2 Totals: 501 instructions, 2043 bytes
    avx2 Carry: 30 instructions, 153 bytes
    avx512 Body: 751 instructions, 3128 bytes
    avx512 Totals: 501 instructions, 1716 bytes
    avx512 Carry: 30 instructions, 135 bytes
    ");
}

#[test]
fn a_fold() {
    let source = "fn f(x: [n]f32) -> f32 { let s: f32 = fold(|a, b| a + b, 0.0, x) return s }";
    insta::assert_snapshot!(sizes(source), @r"
    sse Body: 431 instructions
    sse Finish: 416 instructions
    avx2 Body: 501 instructions, 1965 bytes
    avx2 Finish: 416 instructions, 1438 bytes
    avx512 Body: 422 instructions, 1598 bytes
    avx512 Finish: 416 instructions, 1505 bytes
    ");
}

/// A tile has at most eight blocks, so the total of a tile is made without what larger reduces need.
#[test]
fn totals_of_tiles_are_those_of_any_number_of_blocks() {
    let (block, tile) = (4_096, 32_768);
    let lengths =
        [0, 1, 17, block - 1, block, block + 1, 2 * block, 3 * block + 5, 7 * block, tile - 1, tile, tile + 1];
    let lengths = lengths.into_iter().chain([tile + block, tile + 2 * block + 1, 2 * tile + 3 * block, 3 * tile + 1]);
    let floats = |count: usize| {
        let element = |i: usize| match i % 4_999 {
            17 => -0.0,
            4_000 if i > 100_000 => f32::NAN,
            rest => (rest % 23) as f32 * 0.37 - 3.9,
        };
        Array::new(&[count], &(0..count).map(element).collect::<Vec<_>>()).unwrap()
    };
    let inputs: Vec<Vec<Array>> = lengths.map(|count| vec![floats(count)]).collect();
    for combine in ["a + b", "max(a, b)", "a * b"] {
        for scan in ["scanl1", "scanr1"] {
            let source =
                format!("fn f(x: [n]f32) -> [n]f32 {{ let s: [n]f32 = {scan}(|a, b| {combine}, x) return s }}");
            check(&source, &inputs);
        }
    }
}

/// Also where each row is a scan of several tiles, and where a reduce has the blocks.
#[test]
fn totals_of_tiles_of_rows() {
    let rows = |count: usize, length: usize| {
        let elements: Vec<f32> = (0..count * length).map(|i| (i % 29) as f32 * 0.21 - 2.8).collect();
        vec![Array::new(&[count, length], &elements).unwrap()]
    };
    let inputs = [rows(0, 40_000), rows(3, 0), rows(2, 45_000), rows(1, 70_001), rows(5, 4_097)];
    check("fn f(x: [m, n]f32) -> [m, n]f32 { let s: [m, n]f32 = scanl1(|a, b| a + b, x) return s }", &inputs);
    check(
        "fn f(x: [m, n]f32) -> [m, n]f32, [m]f32 {
            let s: [m, n]f32 = scanl1(|a, b| a + b, x)
            let t: [m]f32 = fold1(|a, b| a + b, x)
            return s, t }",
        &inputs,
    );
}
