//! Sorts: every type of key, rows of all lengths, several keys, what is carried along.

use fusebox_ir::{Array, Constant, ElementType, primitive};

use crate::{Random, Ways, check};

/// Numbers of a type: of all bits, of few values, in order or all the same; floats with both zeros, infinities and NaN of both signs.
fn keys(element: ElementType, extents: &[usize], kind: usize) -> Array {
    let mut random = Random(kind as u64 + 1);
    let (n, bits) = (extents.iter().product::<usize>(), element.bits());
    let elements: Vec<Constant> = (0..n as u64)
        .map(|at| {
            let any = random.next();
            let number = match kind {
                0 => any,
                1 => any % 3,
                2 => 7,
                3 => at,
                // The highest bits are the same, or most of them.
                4 => (any >> 50) << (bits / 4),
                _ => (any % 100).pow(2) | u64::from(any.is_multiple_of(1000)) << (bits - 1),
            };
            let number = number & (u64::MAX >> (64 - bits));
            match (element, any % 50) {
                (ElementType::Bool, _) => Constant::from(number & 1 == 1),
                (float, special) if float.is_float() && kind < 2 && special < 6 => {
                    let values = [f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY];
                    primitive::float(float, values[special as usize])
                }
                _ => Constant::from_bits(element, number),
            }
        })
        .collect();
    Array::from_constants(element, extents, &elements).unwrap_or_else(|error| panic!("{error}"))
}

/// Kinds of keys: all of them, or every other one where runs are slow.
fn kinds(ways: &dyn Ways) -> impl Iterator<Item = usize> + use<> {
    (0..6).step_by(if ways.part() < 100 { 2 } else { 1 })
}

/// Vectors of all types of keys.
pub fn vectors_of_all_types(ways: &dyn Ways) {
    for element in ElementType::ALL {
        let source = format!("fn f(a: [n]{element}) -> [n]{element} {{ let b: [n]{element} = sort(a) return b }}");
        let inputs: Vec<Vec<Array>> = [0, 1, 2, 23, 150, 700, 5000]
            .iter()
            .flat_map(|&n| kinds(ways).map(move |kind| vec![keys(element, &[n], kind)]))
            .collect();
        check(ways, &source, &inputs);
    }
}

/// Vectors that threads or blocks share.
pub fn large_vectors(ways: &dyn Ways) {
    let count = if ways.part() < 100 { 20_001 } else { 150_001 };
    for element in [ElementType::F32, ElementType::I64] {
        let source = format!("fn f(a: [n]{element}) -> [n]{element} {{ let b: [n]{element} = sort(a) return b }}");
        let inputs: Vec<Vec<Array>> = kinds(ways).map(|kind| vec![keys(element, &[count], kind)]).collect();
        check(ways, &source, &inputs);
    }
}

/// Rows of all lengths.
pub fn rows_of_all_lengths(ways: &dyn Ways) {
    let source = "fn f(a: [n, m]f32) -> [n, m]f32 { let b: [n, m]f32 = sort(a) return b }";
    let extents = [[0, 4], [4, 0], [1, 9000], [3, 2500], [900, 1], [1000, 7], [70, 130], [40, 500]];
    let inputs: Vec<Vec<Array>> = extents
        .iter()
        .flat_map(|extents| kinds(ways).map(move |kind| vec![keys(ElementType::F32, extents, kind)]))
        .collect();
    check(ways, source, &inputs);
}

/// Old places are carried along, so that it shows where equal keys were.
pub fn equal_keys_keep_their_order(ways: &dyn Ways) {
    for element in ElementType::ALL {
        let source = format!(
            "fn f(a: [n, m]{element}) -> [n, m]{element}, [n, m]i64, [n, m]u8 {{
            let at: [n, m]i64 = generate([n, m], |i, j| j) let own: [n, m]u8 = generate([n, m], |i, j| u8(i + 3 * j))
            let b: [n, m]{element}, from: [n, m]i64, bytes: [n, m]u8 = sort(a, carry: (at, own)) return b, from, bytes }}"
        );
        let inputs: Vec<Vec<Array>> = [[1, 6000], [90, 40], [5, 900]]
            .iter()
            .flat_map(|extents| kinds(ways).map(move |kind| vec![keys(element, extents, kind)]))
            .collect();
        check(ways, &source, &inputs);
    }
}

/// Several keys of different types.
pub fn several_keys(ways: &dyn Ways) {
    for (first, second) in [("f32", "i16"), ("bool", "u64"), ("i8", "f64"), ("u16", "f16")] {
        let source = format!(
            "fn f(a: [n]{first}, b: [n]{second}) -> [n]{first}, [n]{second}, [n]i32 {{
            let at: [n]i32 = generate([n], |i| i32(i))
            let x: [n]{first}, y: [n]{second}, from: [n]i32 = sort((a, b), carry: at) return x, y, from }}"
        );
        let element = |name| ElementType::from_name(name).unwrap_or(ElementType::I64);
        let inputs: Vec<Vec<Array>> = [0, 1, 100, 5000]
            .iter()
            .flat_map(|&n| {
                kinds(ways).map(move |kind| {
                    vec![keys(element(first), &[n], [1, 2, 5][kind % 3]), keys(element(second), &[n], kind)]
                })
            })
            .collect();
        check(ways, &source, &inputs);
    }
}

/// Several keys, of rows.
pub fn several_keys_of_rows(ways: &dyn Ways) {
    for (first, second) in [("i16", "f32"), ("u8", "i64")] {
        let source = format!(
            "fn f(a: [n, m]{first}, b: [n, m]{second}) -> [n, m]{first}, [n, m]{second}, [n, m]i32 {{
            let at: [n, m]i32 = generate([n, m], |i, j| i32(j))
            let x: [n, m]{first}, y: [n, m]{second}, from: [n, m]i32 = sort((a, b), carry: at) return x, y, from }}"
        );
        let element = |name| ElementType::from_name(name).unwrap_or(ElementType::I64);
        let inputs: Vec<Vec<Array>> = [[3, 50], [23, 9], [70, 40]]
            .iter()
            .flat_map(|extents| {
                kinds(ways).map(move |kind| {
                    vec![keys(element(first), extents, [1, 2, 5][kind % 3]), keys(element(second), extents, kind)]
                })
            })
            .collect();
        check(ways, &source, &inputs);
    }
}

/// Makes a test of each case.
#[macro_export]
macro_rules! sorts {
    ($ways:expr) => {
        $crate::each!($ways, sorts: vectors_of_all_types, large_vectors, rows_of_all_lengths, equal_keys_keep_their_order, several_keys, several_keys_of_rows);
    };
}
