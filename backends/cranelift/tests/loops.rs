//! Scalar loops in gangs whose lanes make different numbers of turns: what the lanes that have left go on with is seen by nobody.

use crate::common::{Random, check, plan};
use fusebox_cranelift::{
    compile_kernel,
    vector::{Function, Op, Region, Type},
};
use fusebox_ir::{Array, ElementType};

/// Turns of a walk through a table: lanes that have left would read outside of it, divide by zero, and never come to an end of the loop inside.
fn walk(results: &str) -> String {
    format!(
        "fn f(x: [n]i64, table: [m]i64) -> [n]i64 {{
            let y: [n]i64 = map(|x| {{
                let at, sum, count = while(|at: i64, sum: i64, count: i64| at < m, |at: i64, sum: i64, count: i64| {{
                    let share = 1000 / (m - at)
                    let left, halves = while(|left: i64, halves: i64| left > 0, |left: i64, halves: i64| {{
                        return left / 2, halves + 1
                    }}, m - at, 0i64)
                    return at + table[at], sum + share + halves, count + 1
                }}, x, 0i64, 0i64)
                return {results}
            }}, x)
            return y }}"
    )
}

fn inputs() -> Vec<Vec<Array>> {
    let mut random = Random(37);
    let table = random.ints(ElementType::I64, &[50], 1, 7);
    [0, 1, 31, 33, 5000].map(|size| vec![random.ints(ElementType::I64, &[size], 0, 60), table.clone()]).to_vec()
}

#[test]
fn states_that_nobody_uses() {
    for results in ["count", "sum", "at", "sum + count", "at + sum", "at * 1000 + sum + count"] {
        check(&walk(results), &inputs());
    }
}

/// States that become infinite, and NaN, in lanes that have left.
#[test]
fn floats_run_away() {
    let source = "fn f(x: [n]f32, limit: i32) -> [n]i32 {
        let y: [n]i32 = map(|c| {
            let z, count = while(|z: f32, count: i32| count < limit && z <= 4.0, |z: f32, count: i32| {
                return z * z * z - c / z, count + 1
            }, c, 0i32)
            return count
        }, x)
        return y }";
    let mut random = Random(41);
    let inputs = [0, 1, 63, 700].map(|size| vec![random.array(ElementType::F32, &[size]), Array::scalar(200i32)]);
    check(source, &inputs);
}

/// A loop that lanes leave one by one. The count, what is read by it and what is read by the row are the same in all lanes that are left.
fn sums(results: &str) -> String {
    format!(
        "fn f(x: [n]i64, table: [m]i64) -> [n, 3]i64 {{
            let y: [n, 3]i64 = generate([n, 3], |i, j| {{
                let sum, turn = if (x[i] + j) % 4 == 0 {{ return 5, 6 }} else {{
                    let sum, turn = while(|sum: i64, turn: i64| sum < 40 * j + x[i], |sum: i64, turn: i64| {{
                        return sum + table[turn] + 8 * table[j] - 5, turn + 1
                    }}, j, i % 2)
                    return sum, turn
                }}
                return {results}
            }})
            return y }}"
    )
}

#[test]
fn what_is_the_same_in_the_lanes_that_are_left() {
    for results in ["sum", "turn", "sum - 1000 * turn", "j"] {
        check(&sums(results), &inputs());
        // Some lanes come to the end of the table before they have enough.
        let short = inputs().into_iter().map(|both| vec![both[0].clone(), Array::new(&[4], &[1i64, 2, 1, 3]).unwrap()]);
        check(&sums(results), &short.collect::<Vec<_>>());
    }
}

/// How many gangs are loaded from places of their own, lane by lane, in loops that lanes leave one by one.
fn gathers(region: &Region, inside: bool, types: &[Type]) -> usize {
    let of = |op: &Op| match op {
        Op::Load { index, .. } => usize::from(inside && types[index.0 as usize].lanes > 1),
        Op::Loop(own) => gathers(&own.body, inside, types),
        Op::While(own) => gathers(&own.header, true, types) + gathers(&own.body, true, types),
        Op::If(own) => gathers(&own.then, inside, types) + gathers(&own.otherwise, inside, types),
        _ => 0,
    };
    region.0.iter().map(|inst| of(&inst.op)).sum()
}

#[test]
fn what_is_the_same_is_read_once() {
    let source = |read: &str| {
        format!(
            "fn f(x: [n]f32, table: [m]f32, k: i64) -> [n]f32 {{
                let y: [n]f32 = map(|x| {{
                    let sum, turn = while(|sum: f32, turn: i64| turn < m && sum < x, |sum: f32, turn: i64| {{
                        return sum + {read}, turn + 1
                    }}, x - 9.0, 0i64)
                    return sum
                }}, x)
                return y }}"
        )
    };
    for (read, expected) in [("table[turn]", false), ("table[k]", false), ("table[i64(sum)]", true)] {
        let plan = plan(&source(read));
        let compiled = compile_kernel(plan.kernels.last().unwrap(), Some(64)).unwrap();
        let of = |function: &Function| gathers(&function.body, false, &function.types);
        let found = compiled.parts.iter().map(|(_, function)| of(function)).max();
        assert_eq!(found > Some(0), expected, "{read}");
    }
}
