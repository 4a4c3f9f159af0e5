//! Deep, huge and senseless texts end in an error, soon, and without a crash.

use std::time::Instant;

use super::{parse, same};
use crate::MAX_NESTING;

/// An error within seconds, in a thread with half the stack of any other.
#[track_caller]
fn refused(text: String) -> String {
    let start = Instant::now();
    let parsed = move || parse(&text).map(|_| ()).unwrap_err().to_string();
    let message = std::thread::Builder::new().stack_size(1 << 20).spawn(parsed).unwrap().join().unwrap();
    assert!(start.elapsed().as_secs() < 20, "{:?} for {message}", start.elapsed());
    assert!(message.len() < 1000, "a message of {} bytes", message.len());
    message
}

fn scalar(expression: &str) -> String {
    format!("fn f(x: f32, b: bool, a: [n]f32) -> f32 {{ let y = {expression} return x }}")
}

#[test]
fn deep_nesting_is_an_error_that_names_the_limit() {
    let many = 200_000;
    for text in [
        scalar(&"(".repeat(many)),
        scalar(&"-".repeat(many)),
        scalar(&"! ".repeat(many)),
        scalar(&"abs(".repeat(many)),
        scalar(&"f32(".repeat(many)),
        scalar(&"a[".repeat(many)),
        scalar(&"a.flat[".repeat(many)),
        scalar(&"if b { ".repeat(many)),
        scalar(&"if ".repeat(many)),
        scalar(&"if b { x } else ".repeat(many)),
        scalar(&"if b { let y = ".repeat(many)),
        scalar(&"while(|v: f32| ".repeat(many)),
        scalar(&"(b || b && b == (b | b ^ b & b << b + b * -".repeat(many)),
        format!("fn f() -> f32 {{ let x: f32 = constant({}", "[".repeat(many)),
        format!("fn f() -> f32 {{ let x: f32 = {}", "nest([], || { let x: f32 = ".repeat(many)),
        format!("fn f() -> f32 {{ let x: f32 = {}", "consume(|i| { yield accumulate(|| { let x: f32 = ".repeat(many)),
    ] {
        let message = refused(text);
        assert!(message.contains("nested more than 356 deep"), "{message}");
    }
}

#[test]
fn open_brackets_and_noise() {
    for piece in [
        "(",
        "[",
        "{",
        "|",
        "fn",
        "\"",
        "\u{0}",
        "0",
        "ä",
        "let x = ",
        "#",
        "\n",
        "=",
        ".",
        "fn f(",
        "fn f(x: f32) -> f32 {",
    ] {
        refused(piece.repeat(200_000));
    }
    // A hundred million bytes of bytes.
    let mut state = 1u32;
    let noise: Vec<u8> = (0..100_000_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8 & 0x7f
        })
        .collect();
    refused(String::from_utf8(noise).unwrap());
}

#[test]
fn huge_tokens() {
    let long = 1_000_000;
    same(&scalar(&format!("{}f32", "1".repeat(30))));
    refused(scalar(&format!("{}i64", "1".repeat(long))));
    refused(scalar(&"x".repeat(long)));
    refused(scalar(&format!("x + \"{}", "y".repeat(long))));
    refused(scalar(&format!("1.{}e{}f16", "1".repeat(long), "9".repeat(long))));
    refused(scalar(&format!("{}(x)", "s".repeat(long))));
    refused(format!("fn f(x: [{}]f32) -> f32 {{ return y }}", "n".repeat(long)));
}

#[test]
fn wide_programs_take_linear_time() {
    // A sum of 200,000 terms: no nesting for the parser, nor for the printer.
    let sum = scalar(&vec!["x"; 200_000].join(" + "));
    same(&sum);
    same(&scalar(&format!("assert(b, \"{}\", x)", "é".repeat(100_000))));
    let statements: String = (0..20_000).map(|k| format!("let v{k} = x + {k}.0 ")).collect();
    same(&format!("fn f(x: f32) -> f32 {{ {statements} return v7 }}"));
    let inputs: Vec<_> = (0..20_000).map(|k| format!("v{k}: [n{k}]f32")).collect();
    same(&format!("fn f({}) -> [n3]f32 {{ return v3 }}", inputs.join(", ")));
    let elements: Vec<_> = (0..200_000).map(|k| k.to_string()).collect();
    same(&format!("fn f() -> [200000]i32 {{ let c: [200000]i32 = constant([{}]) return c }}", elements.join(", ")));
}

#[test]
fn as_deep_as_the_limit_allows() {
    let deep = |k: usize| scalar(&format!("{}x{}", "if b { ".repeat(k), " } else { x }".repeat(k)));
    let loops = |k: usize| {
        let inner = "(while(|v: f32| b, |v: f32| ".repeat(k) + "x" + &", x))".repeat(k);
        format!("fn f(x: f32, b: bool) -> f32 {{ let y = {inner} return y }}")
    };
    let nests = |k: usize| {
        let inner = "let y: [2]f32 = nest([2], |i| { ".repeat(k) + "let y = x " + &"return y }) ".repeat(k);
        format!("fn f(x: f32) -> [2]f32 {{ {inner} return y }}")
    };
    // A program, and in it a function, are one each.
    same(&deep(MAX_NESTING - 2));
    same(&loops(100));
    same(&nests(MAX_NESTING - 2));
    same(&scalar(&format!("{}x{}", "abs(".repeat(300), ")".repeat(300))));
    same(&scalar(&format!("x{}", " + (x - x".repeat(300) + &")".repeat(300))));
    same(&chain(MAX_NESTING - 2));
}

/// A chain of `if` with this many tests.
fn chain(tests: usize) -> String {
    scalar(&(vec!["if b { x }"; tests].join(" else ") + " else { x }"))
}

#[test]
fn chains_that_are_too_long_say_so() {
    let program = parse(&chain(MAX_NESTING + 1)).unwrap();
    let message = crate::validate(&program, &[]).unwrap_err().to_string();
    assert!(
        message.starts_with("1:") && message.contains("(each `else if` too) are nested more than 128 deep"),
        "{message}"
    );
    let message = refused(chain(400));
    assert!(message.contains("nested more than 356 deep: each `else if` is inside of the one before"), "{message}");
    assert!(message.contains("give the end of the chain a name before"), "{message}");
}

/// What the message says: the end of a chain under a name.
#[test]
fn a_long_chain_in_parts() {
    let part = |last: &str| vec!["if b { x }"; 100].join(" else ") + " else { " + last + " }";
    same(&scalar(&format!("{} let z = {}", part("x"), part("y"))));
}

/// The golden programs with tokens left out, doubled, exchanged, or taken from elsewhere: errors, or programs that print.
#[test]
fn mutilated_programs_are_errors_or_programs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/programs");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts: Vec<_> = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let pieces = |text: &str| -> Vec<String> {
        let mut pieces = vec![String::new()];
        let mut last = ' ';
        for c in text.chars() {
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            if !(word(c) && word(last)) {
                pieces.push(String::new());
            }
            pieces.last_mut().unwrap().push(c);
            last = c;
        }
        pieces
    };
    let texts: Vec<_> = texts.iter().map(|text| pieces(text)).collect();
    let mut state = 7u64;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    };
    let (mut read, mut refused) = (0, 0);
    for _ in 0..if std::env::var_os("FUSEBOX_QUICK").is_some() { 3_000 } else { 30_000 } {
        let mut text = texts[below(texts.len())].clone();
        for _ in 0..1 + below(3) {
            let (at, other) = (below(text.len()), below(text.len()));
            match below(4) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, text[other].clone()),
                2 => text.swap(at, other),
                _ => {
                    let from = &texts[below(texts.len())];
                    text[at] = from[below(from.len())].clone();
                }
            }
        }
        match parse(&text.concat()) {
            Ok(program) => {
                read += 1;
                assert!(program.to_string().len() > 10);
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().len() > 10);
            }
        }
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}
