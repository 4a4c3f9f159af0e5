//! Scalar loops in gangs whose lanes make different numbers of turns: what the lanes that have left go on with is seen by nobody.

use crate::common::{Random, check};
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
