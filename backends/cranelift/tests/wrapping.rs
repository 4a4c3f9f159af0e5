//! Indices that wrap around on the way: what looks inside by signs or at both ends of a gang is not.

use crate::common::{self, check};
use fusebox_cranelift::compile_kernel;
use fusebox_ir::Array;

fn floats(n: usize) -> Array {
    Array::new(&[n], &(0..n).map(|x| x as f32).collect::<Vec<_>>()).unwrap()
}

/// The number whose product with an odd one is 1.
fn inverse(odd: i64) -> i64 {
    (0..6).fold(odd, |x, _| x.wrapping_mul(2i64.wrapping_sub(odd.wrapping_mul(x))))
}

#[test]
fn both_ends_of_a_gang_inside_say_nothing_where_steps_wrap() {
    assert_eq!(inverse(15).wrapping_mul(15), 1);
    // With enough to do that gangs are worth it although they gather.
    let source = "fn f(a: [m]f32, n: i64, k: i64) -> [?]f32 { let b: [n]f32 = generate([n], |i| {
        let v = a[i * k] return ((v * 3.0 + 1.0) * v - 2.0) * v + sqrt(abs(v)) * 0.5 + min(v, 1.0) * max(v, 2.0) }) return b }";
    let kernel = common::plan(source).kernels.pop().unwrap();
    let lanes = compile_kernel(&kernel, Some(16)).unwrap().gang.map_or(8, |gang| i64::from(gang.lanes));
    let mut inputs = Vec::new();
    for n in [lanes, 2 * lanes, 64] {
        for end in [0, 1, 2] {
            inputs.push(vec![floats(100), Array::scalar(n), Array::scalar(inverse(lanes - 1).wrapping_mul(end))]);
        }
    }
    check(source, &inputs);
}

#[test]
fn a_product_of_what_is_not_negative_may_be() {
    for body in [
        "generate([n], |i| a[min(2 * max(x, 0), n - 1)])",
        "generate([n], |i| a[min(max(x, 0) + max(y, 0), n - 1)])",
        "generate([n], |i| a[min(max(x, i) + 1, n - 1)])",
        "generate([n], |i| a[max(n - 1 - max(x, 0), 0)])",
    ] {
        let source = format!("fn f(a: [n]f32, x: i64, y: i64) -> [n]f32 {{ let b: [n]f32 = {body} return b }}");
        let numbers = [0, 1, -1, 1 << 50, 1 << 62, i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1];
        let inputs: Vec<Vec<Array>> = numbers
            .iter()
            .flat_map(|&x| numbers.map(|y| vec![floats(100), Array::scalar(x), Array::scalar(y)]))
            .collect();
        check(&source, &inputs);
    }
}
