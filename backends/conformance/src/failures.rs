//! Run-time errors, with everything they say, and never the end of the process.

use fusebox_backend::BackendError;
use fusebox_ir::{Array, Fault};

use crate::{Ways, interpreted, plan};

/// The error in every way, which is the interpreter's.
fn fails(ways: &dyn Ways, source: &str, inputs: &[Array]) -> Fault {
    let plan = plan(source);
    let expected = interpreted(&plan, inputs).unwrap_err();
    let mut fault = None;
    for (what, loaded) in ways.of(&plan, None) {
        match loaded.and_then(|loaded| loaded.run(inputs)) {
            Err(BackendError::Run(error)) => {
                assert_eq!(error.to_string(), expected, "{what}: {source}");
                fault = Some(error.fault);
            }
            other => panic!("{what}: {other:?} instead of {expected}\n{source}"),
        }
    }
    fault.expect("there is a way")
}

fn ints(elements: &[i64]) -> Array {
    Array::new(&[elements.len()], elements).unwrap()
}

/// An index outside of an array.
pub fn an_index_outside_of_an_array(ways: &dyn Ways) {
    let mut targets = vec![3i64; 50];
    targets[37] = 99;
    let a = Array::new(&[10], &[1.0f32; 10]).unwrap();
    let gather = "fn f(a: [m]f32, at: [n]i64) -> [n]f32 { let b: [n]f32 = map(|k| a[k] + 1.0, at) return b }";
    let fault = fails(ways, gather, &[a.clone(), ints(&targets)]);
    assert_eq!(fault, Fault::Index { array: "a".to_owned(), index: vec![99], extents: vec![10] });
    let permute = "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 { let p: [m]f32 = permute(|x, y| x + y, d, v, at: t) return p }";
    fails(ways, permute, &[a.clone(), Array::new(&[50], &[1.0f32; 50]).unwrap(), ints(&targets)]);
    let guarded = "fn f(a: [m]f32, at: [n]i64) -> [n]f32 { let b: [n]f32 = map(|k| if k > 5 { a[k] } else { 0.0 }, at) return b }";
    fails(ways, guarded, &[a, ints(&targets)]);
}

/// A division by zero.
pub fn a_division_by_zero(ways: &dyn Ways) {
    let mut divisors = vec![3i32; 50];
    divisors[41] = 0;
    let divisors = Array::new(&[50], &divisors).unwrap();
    for function in ["7 / x", "7 % x", "div(7, x)", "mod(7, x)"] {
        let fault = fails(
            ways,
            &format!("fn f(a: [n]i32) -> [n]i32 {{ let b: [n]i32 = map(|x| {function}, a) return b }}"),
            std::slice::from_ref(&divisors),
        );
        assert_eq!(fault, Fault::DivisionByZero);
    }
}

/// A failed assertion.
pub fn a_failed_assertion(ways: &dyn Ways) {
    let mut numbers = vec![3.0f32; 50];
    numbers[20] = -1.0;
    let source =
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| assert(x > 0.0, \"positive\", sqrt(x)), a) return b }";
    let fault = fails(ways, source, &[Array::new(&[50], &numbers).unwrap()]);
    assert_eq!(fault, Fault::Assertion { message: "positive".to_owned() });
}

/// Extents and rows that are not possible.
pub fn extents_and_rows_that_are_not_possible(ways: &dyn Ways) {
    fails(
        ways,
        "fn f(k: i64) -> [?]f32 { let b: [k]f32 = generate([k], |i| f32(i)) return b }",
        &[Array::scalar(-3i64)],
    );
    fails(
        ways,
        "fn f(k: i64) -> [?, ?]f64 { let b: [k, k]f64 = generate([k, k], |i, j| f64(i)) return b }",
        &[Array::scalar(1i64 << 40)],
    );
    fails(
        ways,
        "fn f(a: [n]f32) -> f32 { let s: f32 = fold1(|x, y| x + y, a) return s }",
        &[Array::new::<f32>(&[0], &[]).unwrap()],
    );
    fails(
        ways,
        "fn f(a: [n]f32, k: i64) -> [?]f32 { let b: [k]f32 = reshape([k], a) return b }",
        &[Array::new(&[4], &[1.0f32; 4]).unwrap(), Array::scalar(5i64)],
    );
    let segments = "fn f(a: [n]f32, o: [m]i64) -> [?]f32 { let k = m - 1 let s: [k]f32 = fold_seg(|x, y| x + y, 0.0, a, offsets: o) return s }";
    fails(ways, segments, &[Array::new(&[4], &[1.0f32; 4]).unwrap(), ints(&[0, 3, 2, 4])]);
}

/// Inputs that do not fit.
pub fn inputs_that_do_not_fit(ways: &dyn Ways) {
    let plan = plan("fn f(a: [n]f32, b: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x, y| x + y, a, b) return c }");
    let vector = |count: usize| Array::new(&[count], &vec![1.0f32; count]).unwrap();
    let (_, loaded) = ways.of(&plan, None).swap_remove(0);
    let loaded = loaded.unwrap();
    let message = |inputs: &[Array]| loaded.run(inputs).unwrap_err().to_string();
    assert_eq!(message(&[vector(3), vector(4)]), "input `b` should be [n = 3]f32, but is [4]f32");
    assert_eq!(message(&[ints(&[1]), vector(1)]), "input `a` should be [n]f32, but is [1]i64");
    assert_eq!(message(&[vector(1)]), "the program has 2 inputs, but 1 were given");
}

/// Makes a test of each case.
#[macro_export]
macro_rules! failures {
    ($ways:expr) => {
        $crate::each!($ways, failures: an_index_outside_of_an_array, a_division_by_zero, a_failed_assertion, extents_and_rows_that_are_not_possible, inputs_that_do_not_fit);
    };
}
