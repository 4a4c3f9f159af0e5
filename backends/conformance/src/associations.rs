//! Folds, scans and permutes of every association, at sizes around gangs, lanes, blocks and tiles.

use fusebox_ir::{Array, ElementType::*};

use crate::{Random, SIZES, Ways, check};

fn vectors(element: fusebox_ir::ElementType, count: usize) -> Vec<Vec<Array>> {
    let mut random = Random(1);
    SIZES.iter().map(|&size| (0..count).map(|_| random.array(element, &[size])).collect()).collect()
}

/// Folds of functions that commute.
pub fn folds_of_functions_that_commute(ways: &dyn Ways) {
    check(ways, "fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 1.5, a) return s }", &vectors(F32, 1));
    check(
        ways,
        "fn f(a: [n]f64, b: [n]f64) -> f64 { let p: [n]f64 = map(|x, y| x * y, a, b) let s: f64 = fold(|x, y| x + y, 0.0, p) return s }",
        &vectors(F64, 2),
    );
    check(
        ways,
        "fn f(a: [n]f32) -> f32, f32 { let s: f32 = fold(|x, y| min(x, y), inf_f32, a) let t: f32 = fold(|x, y| max(x, y), 2.0, a) return s, t }",
        &vectors(F32, 1),
    );
    check(ways, "fn f(a: [n]i32) -> i32 { let s: i32 = fold(|x, y| x + y, 7, a) return s }", &vectors(I32, 1));
    check(
        ways,
        "fn f(a: [n]u8) -> u8, u8 { let s: u8 = fold(|x, y| max(x, y), 0, a) let t: u8 = fold(|x, y| x ^ y, 1, a) return s, t }",
        &vectors(U8, 1),
    );
    check(ways, "fn f(a: [n]i64) -> i64 { let s: i64 = fold(|x, y| x * y, 1, a) return s }", &vectors(I64, 1));
    check(
        ways,
        "fn f(a: [n]f32) -> bool { let b: [n]bool = map(|x| x > 0.0, a) let s: bool = fold(|x, y| x ^ y, false, b) return s }",
        &vectors(F32, 1),
    );
}

/// Folds of functions without an identity.
pub fn folds_of_functions_without_an_identity(ways: &dyn Ways) {
    let argmin = "fn f(a: [n]f32) -> f32, i64 {
        let i: [n]i64 = generate([n], |i| i)
        let s: f32, k: i64 = fold(|x, j, y, l| { let first = x < y || (x == y && j <= l) let m = if first { x } else { y } let p = if first { j } else { l } return m, p },
            inf_f32, 0, a, i, commutes: true)
        return s, k }";
    check(ways, argmin, &vectors(F32, 1));
    let mut random = Random(3);
    let some: Vec<Vec<Array>> =
        SIZES.iter().filter(|&&size| size > 0).map(|&size| vec![random.array(F64, &[size])]).collect();
    check(ways, "fn f(a: [n]f64) -> f64 { let s: f64 = fold1(|x, y| x * 0.5 + y, a) return s }", &some);
}

/// Folds of functions that do not commute.
pub fn folds_of_functions_that_do_not_commute(ways: &dyn Ways) {
    check(ways, "fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x * 0.5 + y, 0.25, a) return s }", &vectors(F32, 1));
    let matrices = "fn f(a: [n]f64, b: [n]f64) -> f64, f64 {
        let s: f64, t: f64 = fold(|x, y, z, w| { return x * z, y * z + w }, 1.0, 0.0, a, b) return s, t }";
    check(ways, matrices, &vectors(F64, 2));
}

/// Folds of rows and columns.
pub fn folds_of_rows_and_columns(ways: &dyn Ways) {
    let mut random = Random(5);
    let shapes = [[0, 4], [4, 0], [1, 1], [7, 3], [3, 100], [2, 9000], [300, 40]];
    let inputs: Vec<Vec<Array>> = shapes.iter().map(|shape| vec![random.array(F32, shape)]).collect();
    check(ways, "fn f(a: [n, m]f32) -> [n]f32 { let s: [n]f32 = fold(|x, y| x + y, 0.5, a) return s }", &inputs);
    check(ways, "fn f(a: [n, m]f32) -> [n]f32 { let s: [n]f32 = fold(|x, y| x * 0.5 + y, 0.5, a) return s }", &inputs);
    let columns = "fn f(a: [n, m]f32) -> [m]f32 {
        let t: [m, n]f32 = backpermute([m, n], |i, j| { return j, i }, a)
        let s: [m]f32 = fold(|x, y| x + y, 0.5, t) return s }";
    check(ways, columns, &inputs);
}

/// Matrix products.
pub fn matrix_products(ways: &dyn Ways) {
    let source = "fn f(a: [n, k]f32, b: [k, m]f32) -> [n, m]f32 {
        let x: [n, m, k]f32 = generate([n, m, k], |i, j, l| a[i, l] * b[l, j])
        let c: [n, m]f32 = fold(|x, y| x + y, 0.0, x) return c }";
    let mut random = Random(7);
    let shapes = [(0, 3, 2), (3, 0, 2), (5, 7, 0), (1, 1, 1), (17, 33, 9), (40, 20, 30)];
    let inputs: Vec<Vec<Array>> =
        shapes.iter().map(|&(n, m, k)| vec![random.array(F32, &[n, k]), random.array(F32, &[k, m])]).collect();
    check(ways, source, &inputs);
}

/// Scans of functions that commute.
pub fn scans_of_functions_that_commute(ways: &dyn Ways) {
    check(
        ways,
        "fn f(a: [n]f32) -> [?]f32 { let m = n + 1 let s: [m]f32 = scanl(|x, y| x + y, 0.5, a) return s }",
        &vectors(F32, 1),
    );
    check(ways, "fn f(a: [n]i32) -> [n]i32 { let s: [n]i32 = scanl1(|x, y| x + y, a) return s }", &vectors(I32, 1));
    check(
        ways,
        "fn f(a: [n]f64) -> [n]f64, f64 { let s: [n]f64, t: f64 = scanl'(|x, y| x + y, 0.0, a) return s, t }",
        &vectors(F64, 1),
    );
    check(
        ways,
        "fn f(a: [n]f32) -> [n]f32, f32 { let s: [n]f32, t: f32 = scanr'(|x, y| x + y, 0.0, a) return s, t }",
        &vectors(F32, 1),
    );
    check(ways, "fn f(a: [n]u8) -> [n]u8 { let s: [n]u8 = scanr1(|x, y| max(x, y), a) return s }", &vectors(U8, 1));
    check(
        ways,
        "fn f(a: [n]f32) -> [?]f32, f32 { let m = n + 1 let s: [m]f32 = scanl(|x, y| x + y, 0.5, a) let t: f32 = fold(|x, y| max(x, y), 0.0, a) return s, t }",
        &vectors(F32, 1),
    );
}

/// Scans of functions that do not commute.
pub fn scans_of_functions_that_do_not_commute(ways: &dyn Ways) {
    let recurrence = "fn f(a: [n]f32, b: [n]f32) -> [n]f32, [n]f32 {
        let s: [n]f32, t: [n]f32 = scanl1(|x, y, z, w| { return x * z, y * z + w }, a, b) return s, t }";
    check(ways, recurrence, &vectors(F32, 2));
    let seeded = "fn f(a: [n]f64, b: [n]f64) -> [n]f64, [n]f64, f64, f64 {
        let s: [n]f64, t: [n]f64, u: f64, v: f64 = scanl'(|x, y, z, w| { return x * z, y * z + w }, 1.0, 0.0, a, b) return s, t, u, v }";
    check(ways, seeded, &vectors(F64, 2));
}

/// Scans of rows.
pub fn scans_of_rows(ways: &dyn Ways) {
    let mut random = Random(11);
    let shapes = [[0, 4], [4, 0], [1, 1], [7, 3], [5, 100], [2, 40_000]];
    let inputs: Vec<Vec<Array>> = shapes.iter().map(|shape| vec![random.array(F32, shape)]).collect();
    check(ways, "fn f(a: [n, m]f32) -> [n, m]f32 { let s: [n, m]f32 = scanl1(|x, y| x + y, a) return s }", &inputs);
    check(
        ways,
        "fn f(a: [n, m]f32) -> [n, ?]f32, [n]f32 { let k = m + 1 let s: [n, k]f32 = scanl(|x, y| x + y, 0.5, a) let t: [n]f32 = fold(|x, y| x + y, 0.0, a) return s, t }",
        &inputs,
    );
}

/// More rows than anybody could go through, which take no memory as they have no elements; two launches beside others, that small plans have too.
pub fn rows_of_no_elements(ways: &dyn Ways) {
    let inputs = [vec![Array::scalar(1i64 << 49), Array::scalar(0i64)]];
    for (extents, at) in [("k, m", "i, j"), ("4, k, m", "l, i, j"), ("k, 3, m", "l, i, j")] {
        let ty = extents.replace(['k', 'm'], "?");
        let made = format!("let a: [{extents}]i64 = generate([{extents}], |{at}| i + j)");
        for then in ["map(|x| x * 2, a)", "scanl1(|x, y| x + y, a)"] {
            let source = format!(
                "fn f(k: i64, m: i64) -> [{ty}]i64, [4]i64 {{ {made} let b: [{extents}]i64 = {then} let c: [4]i64 = generate([4], |p| p + m) let d: [4]i64 = scanl1(|x, y| x + y, c) return b, d }}"
            );
            check(ways, &source, &inputs);
        }
    }
}

/// Scans of rows of the same length by functions that cost more than their loads: in order, so that rows may be lanes.
pub fn scans_of_rows_by_costly_functions(ways: &dyn Ways) {
    let mut random = Random(12);
    let shapes = [[0, 4], [4, 0], [1, 1], [1, 90], [7, 3], [16, 5], [21, 33], [70, 20], [3, 5000]];
    let inputs: Vec<Vec<Array>> =
        shapes.iter().map(|shape| vec![random.array(F64, shape), random.array(F64, shape)]).collect();
    let function =
        "|x, y, z, w| { let c = x * z - y * w let d = x * w + y * z let s = 1.0 / max(1.0, max(abs(c), abs(d)))
        return c * s, d * s }";
    for (results, scan) in [("[n, m]", "scanl1"), ("[n, m]", "scanr1"), ("[n, ?]", "scanl")] {
        let (own, seeds, k) =
            if scan == "scanl" { ("[n, k]", "1.0, 0.5, ", "let k = m + 1") } else { (results, "", "") };
        let source = format!(
            "fn f(a: [n, m]f64, b: [n, m]f64) -> {results}f64, {results}f64 {{ {k}
             let s: {own}f64, t: {own}f64 = {scan}({function}, {seeds}a, b) return s, t }}"
        );
        check(ways, &source, &inputs);
    }
    let totals = format!(
        "fn f(a: [n, m]f64, b: [n, m]f64) -> [n, m]f64, [n, m]f64, [n]f64, [n]f64 {{
         let s: [n, m]f64, t: [n, m]f64, u: [n]f64, v: [n]f64 = scanr'({function}, 1.0, 0.5, a, b) return s, t, u, v }}"
    );
    check(ways, &totals, &inputs);
}

/// Segments.
pub fn segments(ways: &dyn Ways) {
    let mut random = Random(13);
    let mut inputs = Vec::new();
    for lengths in [vec![], vec![0], vec![3, 0, 5, 1], vec![100, 63, 64, 65, 2], vec![5000, 1, 0, 9000]] {
        let mut offsets = vec![0i64];
        for &length in &lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let total = offsets[offsets.len() - 1] as usize;
        inputs.push(vec![random.array(F32, &[total]), Array::new(&[offsets.len()], &offsets).unwrap()]);
    }
    check(
        ways,
        "fn f(a: [n]f32, o: [m]i64) -> [?]f32 { let k = m - 1 let s: [k]f32 = fold_seg(|x, y| x + y, 0.5, a, offsets: o) return s }",
        &inputs,
    );
    check(
        ways,
        "fn f(a: [n]f32, o: [m]i64) -> [n]f32 { let s: [n]f32 = scanl1_seg(|x, y| x + y, a, offsets: o) return s }",
        &inputs,
    );
    let gathers = "fn f(a: [n]f32, o: [m]i64) -> [?]f32 {
        let k = m - 1
        let g: [n]f32 = generate([n], |i| a[(i * 7) % n])
        let s: [k]f32 = fold_seg(|x, y| x + y, 0.5, g, offsets: o) return s }";
    check(ways, gathers, &inputs);
}

/// Permutes in every order.
pub fn permutes_in_every_order(ways: &dyn Ways) {
    let mut random = Random(17);
    let sizes = [0usize, 1, 100, 20_000, 40_000];
    let inputs: Vec<Vec<Array>> = sizes
        .iter()
        .map(|&n| vec![random.array(F32, &[50]), random.array(F32, &[n]), random.ints(I64, &[n], 0, 50)])
        .collect();
    check(
        ways,
        "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 { let p: [m]f32 = permute(|x, y| x + y, d, v, at: t) return p }",
        &inputs,
    );
    check(
        ways,
        "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 { let p: [m]f32 = permute(|x, y| x, d, v, at: t) return p }",
        &inputs,
    );
    check(
        ways,
        "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 { let p: [m]f32 = permute(|x, y| min(x, y), d, v, at: t) return p }",
        &inputs,
    );
    check(
        ways,
        "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 { let p: [m]f32 = permute(|x, y| x * 0.5 + y, d, v, at: t, ordered: true) return p }",
        &inputs,
    );
    let kept = "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 {
        let k: [n]bool = map(|x| x > 0.0, v)
        let p: [m]f32 = permute(|x, y| x + y, d, v, at: t, keep: k) return p }";
    check(ways, kept, &inputs);
    let counts = "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]i32 {
        let z: [m]i32 = generate([m], |i| 0i32) let o: [n]i32 = generate([n], |i| 1i32)
        let p: [m]i32 = permute(|x, y| x + y, z, o, at: t) return p }";
    check(ways, counts, &inputs);
    let pairs = "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32, [m]f32 {
        let w: [n]f32 = map(|x| x * 2.0, v)
        let p: [m]f32, q: [m]f32 = permute(|x, y, z, u| { return x * z, y * z + u }, (d, d), (v, w), at: t) return p, q }";
    check(ways, pairs, &inputs);
}

/// Filters and expands.
pub fn filters_and_expands(ways: &dyn Ways) {
    check(
        ways,
        "fn f(a: [n]f32) -> [?]f32 { let k: i64, r: [k]f32 = filter(|x| x > 1.0, a) return r }",
        &vectors(F32, 1),
    );
    check(
        ways,
        "fn f(a: [n]u8) -> [?]u8 { let k: i64, r: [k]u8 = filter(|x| x % 3 == 0, a) return r }",
        &vectors(U8, 1),
    );
    let mut random = Random(19);
    let inputs: Vec<Vec<Array>> = [0usize, 1, 50, 5000].iter().map(|&n| vec![random.ints(I64, &[n], -2, 9)]).collect();
    check(
        ways,
        "fn f(a: [n]i64) -> [?]i64 { let k: i64, r: [k]i64 = expand(|x| x, |x, j| x * 10 + j, a) return r }",
        &inputs,
    );
}

/// Stencils with every boundary.
pub fn stencils_with_every_boundary(ways: &dyn Ways) {
    let mut random = Random(23);
    let shapes = [[1, 1], [2, 3], [1, 40], [40, 1], [19, 77]];
    let inputs: Vec<Vec<Array>> = shapes.iter().map(|shape| vec![random.array(F32, shape)]).collect();
    for boundary in ["clamp", "mirror", "wrap", "constant(0.5)", "function(|i, j| f32(i) + f32(j) * 0.5)"] {
        let source = format!(
            "fn f(u: [h, w]f32) -> [h, w]f32 {{
            let p: [h, w]f32 = stencil(|a, b, c, d, e| 0.2 * (a + b + c + d + e), u[0, 0], u[-1, 0], u[1, 0], u[0, -2], u[0, 3], u: {boundary}) return p }}"
        );
        check(ways, &source, &inputs);
    }
}

/// Found by random programs: the components are scans of different gangs in one kernel.
pub fn scans_of_components_that_are_apart(ways: &dyn Ways) {
    let source = "fn f(a: [n]u32, b: [n]u64) -> [n]u32, [n]u64, u32, u64 {
        let p: [n]u32, q: [n]u64, s: u32, t: u64 = scanl'(|x, y, z, w| { return x + z, y * 3 + w }, 5, 7, a, b)
        return p, q, s, t }";
    let mut random = Random(11);
    let inputs: Vec<Vec<Array>> =
        SIZES.iter().map(|&size| vec![random.array(U32, &[size]), random.array(U64, &[size])]).collect();
    check(ways, source, &inputs);
    let source = "fn f(a: [n]f32, b: [n]f64) -> [n]f32, [n]f64 {
        let p: [n]f32, q: [n]f64 = scanr1(|x, y, z, w| { return x + z, y * 0.5 + w }, a, b)
        return p, q }";
    let inputs: Vec<Vec<Array>> =
        SIZES.iter().map(|&size| vec![random.array(F32, &[size]), random.array(F64, &[size])]).collect();
    check(ways, source, &inputs);
}

/// Makes a test of each case.
#[macro_export]
macro_rules! associations {
    ($ways:expr) => {
        $crate::each!($ways, associations: folds_of_functions_that_commute, folds_of_functions_without_an_identity, folds_of_functions_that_do_not_commute, folds_of_rows_and_columns, matrix_products, scans_of_functions_that_commute, scans_of_functions_that_do_not_commute, scans_of_rows, rows_of_no_elements, scans_of_rows_by_costly_functions, segments, permutes_in_every_order, filters_and_expands, stencils_with_every_boundary, scans_of_components_that_are_apart);
    };
}
