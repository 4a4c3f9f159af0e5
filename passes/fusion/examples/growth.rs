//! Times of fusion for growing programs: `cargo run --release -p fusebox-fusion --example growth [SIZE]...`. It decides nothing.

use std::{fmt::Write, time::Instant};

use fusebox_fusion::{Config, fuse};
use fusebox_ir::text;

/// A family: its name, what comes before, the bindings of step `I` (`P` is the step before), and what is returned after `I` steps.
const FAMILIES: &[(&str, &str, &str, &str)] = &[
    ("chain", "let x0: [n]f32 = map(|e| e + 0.5, a)", "let xI: [n]f32 = map(|e| e * 1.5, xP)", "xI"),
    ("caterpillar", "let x0: [n]f32 = map(|e| e + 0.5, a)", "let xI: [n]f32 = map(|e, g| e * g, b, xP)", "xI"),
    ("doubling", "let x0: [n]f32 = map(|e| e + 0.5, a)", "let xI: [n]f32 = map(|e, g| e + g, xP, xP)", "xI"),
    (
        "diamonds",
        "let x0: [n]f32 = map(|e| e + 0.5, a)",
        "let yI: [n]f32 = map(|e| e + 1.0, xP) let zI: [n]f32 = map(|e| e - 1.0, xP) let xI: [n]f32 = map(|e, g| e * g, yI, zI)",
        "xI",
    ),
    (
        "reversed",
        "let x0: [n]f32 = map(|e| e + 0.5, a)",
        "let rI: [n]f32 = backpermute([n], |i| n - 1 - i, xP) let xI: [n]f32 = map(|e, g| e + g, rI, xP)",
        "xI",
    ),
    ("reversals", "let x0: [n]f32 = map(|e| e + 0.5, a)", "let xI: [n]f32 = backpermute([n], |i| n - 1 - i, xP)", "xI"),
    (
        "mixed",
        "let x0: [n]f32 = map(|e| e + 0.5, a)",
        "let rI: [n]f32 = backpermute([n], |i| n - 1 - i, xP) let xI: [n]f32 = map(|e| e * 1.5, rI)",
        "xI",
    ),
    ("generates", "let x0: [n]f32 = generate([n], |i| f32(i))", "let xI: [n]f32 = generate([n], |i| xP[n - 1 - i] + 1.0)", "xI"),
    (
        "consumers",
        "let x: [n]f32 = map(|e| e + 0.5, a) let s0: f32 = fold(|u, v| u + v, 0.0, x)",
        "let yI: [n]f32 = map(|e| e * I.5, x) let tI: f32 = fold(|u, v| u + v, 0.0, yI) let sI = sP + tI",
        "sI",
    ),
    (
        "scans",
        "let x0: [n]f32 = map(|e| e + 0.5, a)",
        "let yI: [n]f32 = scanl1(|u, v| u + v, xP) let xI: [n]f32 = map(|e| e * 0.5, yI)",
        "xI",
    ),
    (
        "stencils",
        "let x0: [n]f32 = map(|e| e + 0.5, a)",
        "let yI: [n]f32 = stencil(|l, c, r| l + c + r, xP[-1], xP[0], xP[1], xP: clamp) let xI: [n]f32 = map(|e| e * 0.25, yI)",
        "xI",
    ),
    (
        "conds",
        "let x0: [n]f32 = map(|e| e + 0.5, a)",
        "let yI: [n]f32 = cond(go, || { let tI: [n]f32 = map(|e| e * 2.0, xP) return tI }, || { let wI: [n]f32 = map(|e| e - 1.0, xP) return wI })
         let xI: [n]f32 = map(|e| e * 0.5, yI)",
        "xI",
    ),
    (
        "loops",
        "let x0: [n]f32 = map(|e| e + 0.5, a)",
        "let kI: i64, yI: [n]f32 = while(|jI: i64, vI: [n]f32| { let gI = jI < 3 return gI }, |jI: i64, vI: [n]f32| {
           let wI: [n]f32 = map(|e| e * 2.0, vI) let tI: [n]f32 = map(|e| e + 1.0, wI) let hI = jI + 1 return hI, tI }, 0i64, xP)
         let xI: [n]f32 = map(|e| e * 0.5, yI)",
        "xI",
    ),
];

fn program(&(_, before, step, result): &(&str, &str, &str, &str), size: usize) -> String {
    let mut body = before.to_owned();
    for i in 1..=size {
        let _ = write!(body, "\n  {}", step.replace('I', &i.to_string()).replace('P', &(i - 1).to_string()));
    }
    let result = result.replace('I', &size.to_string());
    let ty = if result.starts_with('s') { "f32" } else { "[n]f32" };
    format!("fn f(a: [n]f32, b: [n]f32, go: bool) -> {ty} {{\n  {body}\n  return {result} }}")
}

/// A full binary tree of maps over leaves.
fn tree(size: usize, leaf: impl Fn(usize) -> String) -> String {
    let mut body = String::new();
    let mut level: Vec<String> = Vec::new();
    for i in 0..size.div_ceil(2) {
        let _ = write!(body, "\n  let l{i}: [n]f32 = {}", leaf(i));
        level.push(format!("l{i}"));
    }
    let mut next = 0;
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [x, y] => {
                    let _ = write!(body, "\n  let t{next}: [n]f32 = map(|e, g| e * g, {x}, {y})");
                    next += 1;
                    format!("t{}", next - 1)
                }
                pair => pair[0].clone(),
            })
            .collect();
    }
    format!("fn f(a: [n]f32, b: [n]f32, go: bool) -> [n]f32 {{{body}\n  return {} }}", level[0])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut sizes: Vec<usize> = arguments.iter().filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![300, 3_000];
    }
    let only: Vec<&String> = arguments.iter().filter(|name| name.parse::<usize>().is_err()).collect();
    for size in sizes {
        let mut sources: Vec<(&str, String)> = FAMILIES
            .iter()
            .map(|family| (family.0, program(family, size / family.2.matches("let ").count())))
            .collect();
        sources.push(("tree", tree(size, |i| format!("map(|e| e + {i}.5, {})", if i % 2 == 0 { "a" } else { "b" }))));
        sources.push(("rotations", tree(size, |i| format!("backpermute([n], |i| (i + {i}) % n, a)"))));
        for (name, source) in sources {
            if !only.is_empty() && !only.iter().any(|only| *only == name) {
                continue;
            }
            let before = text::parse(&source)?;
            let start = Instant::now();
            let (after, report) = fuse(&before, &Config::default())?;
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{name:>12} {size:>6}: {seconds:8.3} s, {:>5} bindings, {:>6} nodes, {:?}",
                after.body.bindings.len(),
                report.nodes,
                report.stop
            );
        }
    }
    Ok(())
}
