//! Kernels of one plan that are the same code share it, and tell their own failures.

use crate::common::{backends, check, compiled, interpreted, plan, run};
use fusebox_backend::BackendError;
use fusebox_ir::Array;

/// How many functions are made for the kernels of a program, of how many that would be made without sharing.
fn functions(source: &str) -> Vec<(usize, usize)> {
    let plan = plan(source);
    let count = |(_, backend): &(String, _)| {
        let compiled = compiled(backend, &plan).unwrap();
        let parts = compiled.kernels().unwrap().iter().map(|kernel| kernel.parts.len()).sum();
        (compiled.load_plan().unwrap().functions(), parts)
    };
    backends().iter().map(count).collect()
}

/// `count` operations, each of the result of the one before and by itself.
fn chain(count: usize, operation: impl Fn(usize) -> String) -> String {
    let bindings: String = (1..=count).map(|i| format!("let a{i}: [n]f32 = {}\n", operation(i))).collect();
    format!("fn f(a0: [n]f32) -> [n]f32 {{ {bindings} return a{count} }}")
}

fn floats(count: usize) -> Array {
    let elements: Vec<f32> = (0..count).map(|i| (i % 17) as f32 - 3.5).collect();
    Array::new(&[count], &elements).unwrap()
}

#[test]
fn equal_kernels_are_made_once() {
    let source = chain(6, |i| format!("scanl1(|x, y| max(x, y), a{})", i - 1));
    for (shared, apart) in functions(&source) {
        // The first reads an input, the others write over what they read: two kinds of six kernels.
        assert_eq!(shared * 3, apart);
    }
    check(&source, &[vec![floats(0)], vec![floats(50)], vec![floats(40_000)]]);
}

#[test]
fn numbers_in_which_kernels_differ_are_given_to_them() {
    for ty in ["f32", "f64"] {
        let source = chain(5, |i| format!("map(|x| x * {i}.5 + 2.0, a{})", i - 1)).replace("f32", ty);
        for (shared, apart) in functions(&source) {
            // The first is of another kind here too.
            assert_eq!(shared * 5, apart * 2, "{source}");
        }
    }
    let source = chain(5, |i| format!("map(|x| if x > {i}.5 {{ x * -{i}.25 }} else {{ x + {i}.25 }}, a{})", i - 1));
    check(&source, &[vec![floats(0)], vec![floats(3)], vec![floats(5_000)]]);
    let double = source.replace("f32", "f64");
    let elements: Vec<f64> = (0..5_000).map(|i| f64::from(i % 23) - 7.25).collect();
    check(&double, &[vec![Array::new(&[5_000], &elements).unwrap()]]);
}

#[test]
fn kernels_that_differ_in_more_are_not_shared() {
    let whole = chain(4, |i| format!("map(|x| x * f32(i64(x) + {i}), a{})", i - 1));
    let functions_of = chain(4, |i| format!("map(|x| {}(x), a{})", ["sqrt", "abs", "floor", "ceil"][i - 1], i - 1));
    for source in [whole, functions_of] {
        for (shared, apart) in functions(&source) {
            assert_eq!(shared, apart, "{source}");
        }
        check(&source, &[vec![floats(100)]]);
    }
}

#[test]
fn each_tells_its_own_failure() {
    // Both gather out of an array, and only the second index is wrong, then only the first.
    let source = "fn f(a: [m]f32, p: [n]i64, q: [n]i64) -> [n]f32, [n]f32 {
        let first: [n]f32 = map(|k| a[k] + 1.5, p)
        let second: [n]f32 = map(|k| a[k] + 2.5, q)
        return first, second }";
    for (shared, apart) in functions(source) {
        assert_eq!(shared * 2, apart);
    }
    let plan = plan(source);
    let good = Array::new(&[40], &[3i64; 40]).unwrap();
    let mut elements = [3i64; 40];
    elements[33] = 77;
    let bad = Array::new(&[40], &elements).unwrap();
    for (p, q, name) in [(&good, &bad, "second"), (&bad, &good, "first")] {
        let inputs = [floats(10), p.clone(), q.clone()];
        let expected = interpreted(&plan, &inputs).unwrap_err();
        assert!(expected.contains(&format!("map `{name}`")), "{expected}");
        for (what, backend) in backends() {
            match run(backend, &plan, &inputs) {
                Err(BackendError::Run(error)) => assert_eq!(error.to_string(), expected, "{what}"),
                other => panic!("{what}: {other:?} instead of {expected}"),
            }
        }
    }
}
