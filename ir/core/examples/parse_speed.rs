//! How long a megabyte of text takes to parse and to validate: `cargo run --release --example parse_speed`.
//!
//! A megabyte should take less than 100 ms, on a machine that does nothing else.

use std::time::{Duration, Instant};

use fusebox_ir::{text, validate};

const SIZE: usize = 1_000_000;

/// Pieces, numbered, until there is a megabyte.
fn pieces(piece: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(SIZE + 100);
    let mut count = 0;
    while text.len() < SIZE {
        text += &piece(count);
        count += 1;
    }
    text
}

fn main() {
    let sources = [
        ("one sum", format!("fn f(x: i32) -> i32 {{ let y = x{} return y }}", pieces(|_| " + x".to_owned()))),
        (
            "one function",
            format!(
                "fn f(a: [n]f32) -> [n]f32 {{ let b: [n]f32 = map(|x| {{ let v0 = x\n {} return x }}, a) return b }}",
                pieces(|i| format!("let v{} = v{i} * 0.5 + max(x, {i}.25)\n", i + 1))
            ),
        ),
        (
            "many operations",
            format!(
                "fn f(a0: [n]f32) -> [n]f32 {{ {} return a0 }}",
                pieces(|i| format!(
                    "let a{}: [n]f32 = map(|x, y| if x > y {{ x - 1.0 }} else {{ y * x }}, a{i}, a0)\n",
                    i + 1
                ))
            ),
        ),
    ];
    for (what, source) in sources {
        let (mut parse, mut check) = (Duration::MAX, Duration::MAX);
        for _ in 0..7 {
            let begin = Instant::now();
            let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
            parse = parse.min(begin.elapsed());
            let begin = Instant::now();
            validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}"));
            check = check.min(begin.elapsed());
        }
        println!("{what}: {} bytes, parsed in {parse:.1?}, validated in {check:.1?}", source.len());
    }
    println!("{} bytes an instruction", size_of::<fusebox_ir::Instruction>());
}
