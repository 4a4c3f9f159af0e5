//! Fuses a program and prints it in the form in which it came, text or JSON; the report goes to standard error.
//!
//! `cargo run -p fusebox-fusion --example fuse -- FILE`; without a file, a program of its own.

use std::{error::Error, fs};

use fusebox_fusion::{Config, fuse};
use fusebox_ir::{json, text};

const PROGRAM: &str = "fn f(xs: [n]f32, ys: [n]f32) -> f32 {
  let a: [n]f32 = map(|x| x * 2.0, xs)
  let b: [n]f32 = backpermute([n], |i| n - 1 - i, ys)
  let c: [n]f32 = map(|x| x + 1.0, b)
  let d: [n]f32 = map(|x, y| x * y, a, c)
  let s: f32 = fold(|x, y| x + y, 0.0, d)
  return s }";

fn main() -> Result<(), Box<dyn Error>> {
    let source = std::env::args().nth(1).map_or_else(|| Ok(PROGRAM.to_owned()), fs::read_to_string)?;
    let is_json = source.trim_start().starts_with('{');
    let program = if is_json { json::from_json(&source)?.0 } else { text::parse(&source)? };
    let (fused, report) = fuse(&program, &Config::default())?;
    if is_json {
        println!("{}", json::to_json(&fused, &[]))
    } else {
        println!("{fused}")
    }
    eprintln!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
