//! Memory that cannot be had is a run-time error that says what it was for. Each case runs in a process whose memory is limited; on Linux only.

mod common;

use std::process::Command;

use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{Array, ElementType};

const CASE: &str = "FUSEBOX_MEMORY_CASE";

/// Each case: what the error names, the program, and its inputs. All loops are fused, so that what is large is
/// what a launch works in; results of blocks of 2^49 elements are a terabyte.
const CASES: [(&str, &str, &str); 6] = [
    (
        "reduce",
        "`results of blocks`",
        "fn f(n: i64) -> f32 { let s: f32 = cluster(|| {
            vertical a: [n]f32 = generate([n], |i| f32(i)) last s: f32 = fold(|x, y| x + y, 0.0, a) return s }) return s }",
    ),
    (
        "scan",
        "`carries of tiles`",
        "fn f(n: i64) -> i64 { let s: i64 = cluster(|| {
            vertical a: [n]i64 = generate([n], |i| i) vertical c: [n]i64 = scanl1(|x, y| x + y, a)
            last s: i64 = fold(|x, y| x * 3 + y, 0, c) return s }) return s }",
    ),
    (
        "scatter",
        "`copies of `h``",
        "fn f(n: i64) -> [16777216]f32 { let z: [16777216]f32 = generate([16777216], |i| 0.0)
            let h: [16777216]f32 = cluster(|| {
                vertical v: [n]f32 = generate([n], |i| f32(i)) vertical at: [n]i64 = generate([n], |i| i % 16777216)
                last h: [16777216]f32 = permute(|new, old| new + old, z, v, at: at) return h }) return h }",
    ),
    (
        "append",
        ": `b` of extents",
        "fn f(n: i64) -> i64, [?]i64 { let k: i64, b: [k]i64 = cluster(|| {
            vertical a: [n]i64 = generate([n], |i| i) last k: i64, b: [k]i64 = filter(|x| x % 3 == 0, a) return k, b }) return k, b }",
    ),
    // Positions take eight times as much memory as what is sorted.
    (
        "sort",
        "sort `c`: `c`",
        "fn f(a: [n]u8) -> [n]u8, [n]u8 { let c: [n]u8, d: [n]u8 = sort(a, carry: a) return c, d }",
    ),
    ("interpreter", "generate `a`: `a`", "fn f(n: i64) -> [n]u8 { let a: [n]u8 = generate([n], |i| u8(i)) return a }"),
];

fn inputs(case: &str) -> Vec<Array> {
    match case {
        "sort" => vec![Array::zeros(ElementType::U8, &[1 << 27]).unwrap()],
        "scatter" => vec![Array::scalar(1i64 << 36)],
        "interpreter" => vec![Array::scalar(1i64 << 27)],
        _ => vec![Array::scalar(1i64 << 49)],
    }
}

/// The other process: says which error one case ends with.
#[test]
fn worker() {
    let Ok(wanted) = std::env::var(CASE) else { return };
    let (case, _, source) = CASES.into_iter().find(|(case, ..)| *case == wanted).unwrap();
    let plan = common::plan(source);
    let error = if case == "interpreter" {
        common::interpreted(&plan, &inputs(case)).unwrap_err()
    } else {
        let backend = Cranelift::new(Config { threads: 2, share_from_ns: 1, ..Config::default() }).unwrap();
        common::run(&backend, &plan, &inputs(case)).unwrap_err().to_string()
    };
    println!("\nerror: {error}");
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    if std::env::var_os(CASE).is_some() {
        return;
    }
    if !cfg!(target_os = "linux") {
        return eprintln!("skipped: memory is limited on Linux only");
    }
    let this = std::env::current_exe().unwrap();
    for (case, names, _) in CASES {
        let out = Command::new("sh")
            .args(["-c", "ulimit -v 900000; ulimit -c 0; exec \"$0\" \"$@\""])
            .arg(&this)
            .args(["--exact", "worker", "--nocapture"])
            .env(CASE, case)
            .output()
            .unwrap();
        let (said, complained) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{case}: {}\n{said}\n{complained}", out.status);
        let error = said.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        assert!(error.contains(names) && error.contains("does not fit in memory"), "{case}: {error}");
    }
}
