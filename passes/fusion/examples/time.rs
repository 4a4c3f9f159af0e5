//! How long fusion takes: chains of maps, chains of maps and backpermutes, trees of zips, graphs in which everything is used twice.
//!
//! `cargo run --release -p fusebox-fusion --example time`

use std::time::Instant;

use fusebox_fusion::{Config, fuse};
use fusebox_ir::{Program, text};

fn program(body: &str, result: &str) -> Program {
    let source = format!("fn f(a: [n]f32) -> [n]f32 {{\n{body}return r: {result} }}");
    text::parse(&source).unwrap_or_else(|error| panic!("{error}"))
}

fn chain(count: usize) -> Program {
    let mut body = "let x0: [n]f32 = map(|e| e * 2.0, a)\n".to_owned();
    for i in 1..count {
        body += &format!("let x{i}: [n]f32 = map(|e| e * 0.5 + {i}.0, x{})\n", i - 1);
    }
    program(&body, &format!("x{}", count - 1))
}

fn mixed(count: usize) -> Program {
    let mut body = "let x0: [n]f32 = map(|e| e * 2.0, a)\n".to_owned();
    for i in 1..count {
        body += &if i % 2 == 0 {
            format!("let x{i}: [n]f32 = map(|e| e * 0.5 + {i}.0, x{})\n", i - 1)
        } else {
            format!("let x{i}: [n]f32 = backpermute([n], |i| n - 1 - i, x{})\n", i - 1)
        };
    }
    program(&body, &format!("x{}", count - 1))
}

fn tree(count: usize) -> Program {
    let leaves = count / 2 + 1;
    let mut body = String::new();
    let mut open: Vec<String> = Vec::new();
    for i in 0..leaves {
        body += &format!("let x{i}: [n]f32 = map(|e| e + {i}.0, a)\n");
        open.push(format!("x{i}"));
    }
    let mut next = leaves;
    while open.len() > 1 {
        let (left, right) = (open.remove(0), open.remove(0));
        body += &format!("let x{next}: [n]f32 = map(|e, g| e * 0.5 + g, {left}, {right})\n");
        open.push(format!("x{next}"));
        next += 1;
    }
    program(&body, &open[0])
}

fn shared(count: usize) -> Program {
    let mut body = "let x0: [n]f32 = scanl1(|u, v| max(u, v), a)\nlet x1: [n]f32 = map(|e| e * 2.0, x0)\n".to_owned();
    for i in 2..count {
        body += &match i % 5 {
            0 => format!("let x{i}: [n]f32 = scanl1(|u, v| max(u, v), x{})\n", i - 1),
            _ => format!("let x{i}: [n]f32 = map(|e, g| e * 0.5 + g, x{}, x{})\n", i - 1, i - 2),
        };
    }
    program(&body, &format!("x{}", count - 1))
}

fn main() {
    let kinds: [(&str, fn(usize) -> Program); 4] =
        [("chain of maps", chain), ("maps and backpermutes", mixed), ("tree of zips", tree), ("shared graph", shared)];
    for (name, make) in kinds {
        for count in [50, 300] {
            let program = make(count);
            let mut best = f64::INFINITY;
            let mut left = 0;
            for _ in 0..5 {
                let start = Instant::now();
                let (fused, _) = fuse(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
                best = best.min(start.elapsed().as_secs_f64());
                left = fused.body.bindings.len();
            }
            println!("{name:24} {count:4} operations: {:8.2} ms, {left} left", best * 1e3);
        }
    }
}
