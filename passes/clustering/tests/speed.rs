//! How long clustering takes. Run alone, optimised: `cargo test --release -p fusebox-clustering --test all speed -- --ignored --nocapture`;
//! with `FUSEBOX_SOLVER=microlp` the solver in Rust is measured.

use std::{collections::HashSet, time::Instant};

use fusebox_clustering::{Config, Graph, SolverChoice, Status, cluster, cluster_graph};
use fusebox_ir::text;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

fn chain(count: usize) -> String {
    let steps: String = (1..count).map(|i| format!("let a{i}: [n]f32 = map(|x| x + {i}.0, a{})\n", i - 1)).collect();
    format!("fn p(a0: [n]f32) -> [n]f32 {{ {steps} return a{} }}", count - 1)
}

fn zips(count: usize) -> String {
    let leaves = count / 2;
    let mut steps = String::new();
    for i in 0..leaves {
        steps += &format!("let a{i}: [n]f32 = map(|x| x + {i}.0, x{})\n", i % 4);
    }
    for i in leaves..2 * leaves - 1 {
        let (l, r) = (2 * (i - leaves), 2 * (i - leaves) + 1);
        steps += &format!("let a{i}: [n]f32 = map(|x, y| x * y, a{l}, a{r})\n");
    }
    format!("fn p(x0: [n]f32, x1: [n]f32, x2: [n]f32, x3: [n]f32) -> [n]f32 {{ {steps} return a{} }}", 2 * leaves - 2)
}

fn stencils(count: usize) -> String {
    let mut steps = String::new();
    for i in 1..count {
        let of = i - 1;
        steps += &match i % 3 {
            0 => format!("let a{i}: [n]f32 = stencil(|l, r| l + r, a{of}[-1], a{of}[1], a{of}: clamp)\n"),
            _ => format!("let a{i}: [n]f32 = map(|x| x * 0.5, a{of})\n"),
        };
    }
    format!("fn p(a0: [n]f32) -> [n]f32 {{ {steps} return a{} }}", count - 1)
}

/// Maps, zips, scans both ways, folds, backpermutes: 10 % of operations read by index.
fn random(count: usize, seed: u64) -> String {
    let mut random = Random(seed | 1);
    let mut arrays = vec!["x".to_owned(), "y".to_owned()];
    let mut scalars: Vec<String> = Vec::new();
    let mut steps = String::new();
    let mut used: HashSet<String> = HashSet::new();
    for i in 0..count {
        let recent = arrays.len().min(8);
        let any = |random: &mut Random| arrays[arrays.len() - 1 - random.below(recent)].clone();
        let (a, b) = (any(&mut random), any(&mut random));
        let scalar = match scalars.last() {
            Some(scalar) if random.below(4) == 0 => {
                used.insert(scalar.clone());
                scalar.clone()
            }
            _ => "1.0".to_owned(),
        };
        let index = if random.below(10) == 0 { format!(" + {b}[0]") } else { String::new() };
        let (name, line) = match random.below(10) {
            0..=3 => (format!("a{i}"), format!("let a{i}: [n]f32 = map(|v| v * {scalar}{index}, {a})\n")),
            4 | 5 => (format!("a{i}"), format!("let a{i}: [n]f32 = map(|v, w| v * w + {scalar}, {a}, {b})\n")),
            6 => (format!("a{i}"), format!("let a{i}: [n]f32 = scanl1(|v, w| v + w, {a})\n")),
            7 => (format!("a{i}"), format!("let a{i}: [n]f32 = scanr1(|v, w| v + w, {a})\n")),
            8 => (format!("a{i}"), format!("let a{i}: [n]f32 = backpermute([n], |i| (i + {i}) % n, {a})\n")),
            _ => (String::new(), format!("let s{i}: f32 = fold(|v, w| v + w, 0.0, {a})\n")),
        };
        steps += &line;
        used.extend([&a, &b].into_iter().filter(|name| line.contains(*name)).cloned());
        if name.is_empty() { scalars.push(format!("s{i}")) } else { arrays.push(name) }
    }
    // Whatever nobody uses is a result, so that every operation counts.
    let kept = |names: Vec<String>, ty: &str| -> Vec<(String, String)> {
        names.into_iter().skip(1).filter(|name| !used.contains(name)).map(|name| (name, ty.to_owned())).collect()
    };
    scalars.insert(0, String::new());
    let (names, types): (Vec<String>, Vec<String>) =
        [kept(arrays, "[n]f32"), kept(scalars, "f32")].concat().into_iter().unzip();
    format!("fn p(x: [n]f32, y: [n]f32) -> {} {{ {steps} return {} }}", types.join(", "), names.join(", "))
}

#[test]
#[ignore = "a measurement"]
fn measure() {
    let solver = match std::env::var("FUSEBOX_SOLVER").as_deref() {
        Ok("microlp") => SolverChoice::Microlp,
        _ => SolverChoice::default(),
    };
    let config = Config { solver, ..Config::default() };
    for count in [50, 100, 300] {
        let mut sources = vec![("chain", chain(count)), ("zips", zips(count)), ("stencils", stencils(count))];
        for seed in 0..if count == 50 { 16 } else { 4 } {
            sources.push(("random", random(count, seed * 77 + 5)));
        }
        for (name, source) in sources {
            let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
            let start = Instant::now();
            let (_, report) = cluster(&program, &config).unwrap();
            let time = start.elapsed();
            let region = &report.regions[0];
            println!(
                "{name:9} {count:4} ({:3} operations) {:8.1} ms  {:?} objective {} bound {} gap {:.4} greedy {} variables {} rows {}  clusters {} notes {}",
                region.operations,
                time.as_secs_f64() * 1e3,
                region.status,
                region.objective,
                region.bound,
                region.gap,
                region.greedy.unfused_edges + region.greedy.unfused_siblings,
                region.variables,
                region.constraints,
                region.clusters.len(),
                region.notes.len(),
            );
            if let Some(note) = region.notes.first() {
                println!("    {note}");
            }
        }
    }
}

/// What a solver has to try is what costs time; this is the same on every machine.
#[test]
fn models_are_tight() {
    for seed in 0..4 {
        let program = text::parse(&random(100, seed * 77 + 5)).unwrap_or_else(|error| panic!("{error}"));
        let (_, report) = cluster(&program, &Config { max_nodes: 20, ..Config::default() }).unwrap();
        assert_ne!(report.regions[0].status, Status::Limit, "seed {seed}");
    }
}

/// Nothing is solved, so this is the same on every machine: a graph of many nodes does not overflow or take forever.
#[test]
fn a_long_chain_of_a_bare_graph() {
    let nodes: Vec<String> = (0..3_000).map(|i| format!(r#"{{"name": "v{i}", "kind": "elementwise"}}"#)).collect();
    let edges: Vec<String> =
        (1..3_000).map(|i| format!(r#"{{"from": {{"output": [{}, 0]}}, "to": {i}}}"#, i - 1)).collect();
    let graph: Graph =
        serde_json::from_str(&format!(r#"{{"nodes": [{}], "edges": [{}]}}"#, nodes.join(","), edges.join(",")))
            .unwrap();
    let found = cluster_graph(&graph, &Config::default()).unwrap();
    assert_eq!(found.clusters.len(), 1);
}
