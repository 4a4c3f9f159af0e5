//! The least and the greatest of floats: NaN anywhere, zeros of both signs, first values of all kinds.

use crate::common::{Random, check};
use fusebox_ir::{Array, ElementType};

/// Elements of which one is special, at a place that moves: in every gang, accumulator, block and remainder sooner or later.
fn arrays(float: ElementType, length: usize, special: f64) -> impl Iterator<Item = Array> {
    let places = [0, 1, 7, 15, 16, 31, 40, 63, 64, 200, 4095, 4096, length / 2, length - 1];
    places.into_iter().filter(move |&place| place < length).map(move |place| {
        let numbers = (0..length).map(|at| if at == place { special } else { ((at * 37) % 101) as f64 / 8.0 - 3.0 });
        if float == ElementType::F32 {
            Array::new(&[length], &numbers.map(|number| number as f32).collect::<Vec<_>>()).expect("as many")
        } else {
            Array::new(&[length], &numbers.collect::<Vec<_>>()).expect("as many")
        }
    })
}

/// Both at once, with a sum beside them, and of what is made of the elements.
#[test]
fn of_all_elements() {
    for float in [ElementType::F32, ElementType::F64] {
        let source = format!(
            "fn f(a: [n]{float}) -> {float}, {float}, {float}, {float}, {float} {{
            let low: {float} = fold(|x, y| min(x, y), inf_{float}, a)
            let high: {float} = fold(|x, y| max(x, y), -inf_{float}, a)
            let sum: {float} = fold(|x, y| x + y, 0{float}, a)
            let squares: [n]{float} = map(|x| x * x, a)
            let square: {float} = fold(|x, y| max(x, y), 0{float}, squares)
            let first: {float} = fold1(|x, y| min(x, y), a)
            return low, high, sum, square, first }}"
        );
        let mut inputs: Vec<Vec<Array>> = Vec::new();
        for length in [1, 5, 16, 33, 100, 1000, 9000] {
            for special in [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY] {
                inputs.extend(arrays(float, length, special).map(|array| vec![array]));
            }
        }
        check(&source, &inputs);
    }
}

/// Zeros alone, of both signs, and first values that are NaN or beyond.
#[test]
fn of_zeros_and_from_any_first_value() {
    let source = "fn f(a: [n]f32, from: f32) -> f32, f32 {
        let low: f32 = fold(|x, y| min(x, y), from, a)
        let high: f32 = fold(|x, y| max(x, y), from, a)
        return low, high }";
    let mut inputs = Vec::new();
    for length in [1, 16, 40, 700] {
        for zero in 0..3 {
            let numbers: Vec<f32> = (0..length).map(|at| if (at + zero) % 3 == 0 { -0.0 } else { 0.0 }).collect();
            for from in [0.0, -0.0, f32::NAN, f32::INFINITY, -1.0] {
                inputs.push(vec![Array::new(&[length], &numbers).expect("as many"), Array::scalar(from)]);
            }
        }
    }
    check(source, &inputs);
}

/// Of each row, of each column, and of rows of random bits.
#[test]
fn of_rows_and_columns() {
    let source = "fn f(a: [n, m]u32) -> [n]f32, [n]f32, [m]f32 {
        let b: [n, m]f32 = map(|x| if x % 50 == 0 { bits_f32(x) } else { f32(x % 1000) - 500.0 }, a)
        let low: [n]f32 = fold(|x, y| min(x, y), inf_f32, b)
        let high: [n]f32 = fold(|x, y| max(x, y), -inf_f32, b)
        let turned: [m, n]f32 = backpermute([m, n], |i, j| { return j, i }, b)
        let top: [m]f32 = fold(|x, y| max(x, y), -inf_f32, turned)
        return low, high, top }";
    let shapes = [[1, 300], [7, 64], [40, 33], [300, 5], [3, 0]];
    let random = |shape: [usize; 2]| vec![Random(shape[1] as u64).array(ElementType::U32, &shape)];
    check(source, &shapes.map(random));
}
