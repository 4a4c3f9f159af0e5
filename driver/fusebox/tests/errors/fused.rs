//! Errors of what is fused away, and of what is made simpler.

use super::{check, fails, flag, matrix, runs, scalar, vector};

/// The function of `b` ignores what it is made of: its elements are there all the same, and no more of them.
#[test]
fn users_of_a_map_that_ignores_its_sources_check_its_extents() {
    let reshape = "fn f(a: [n]i64, k: i64) -> [?]i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: [k]i64 = reshape([k], b) return r }";
    let slice = "fn f(a: [n]i64, k: i64) -> i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: i64 = slice([k], b) return r }";
    let backpermute = "fn f(a: [n]i64, k: i64) -> [n]i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: [n]i64 = backpermute([n], |i| i + k, b) return r }";
    let transform = "fn f(a: [n]i64, k: i64) -> [n]i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: [n]i64 = transform([n], |i| i + k, |x| x + 1, b) return r }";
    let wider = "fn f(a: [n]i64, k: i64) -> [?]i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: [k]i64 = map(|x| x + 1, b) return r }";
    let read = "fn f(a: [n]i64, k: i64) -> [n]i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: [n]i64 = generate([n], |i| b[i + k] + i) return r }";
    let read_in_map = "fn f(a: [n]i64, k: i64) -> [n]i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: [n]i64 = map(|i| b[k] + i, a) return r }";
    let row = "fn f(m: [p, q]i64, k: i64) -> [q]i64 {
        let b: [p, q]i64 = map(|x| 3i64, m) let r: [q]i64 = slice([k, _], b) return r }";
    let folded = "fn f(a: [n]i64, k: i64) -> i64 {
        let b: [n]i64 = map(|x| 3i64, a) let c: [k]i64 = map(|x| x + 1, b) let r: i64 = fold(|x, y| x + y, 0, c) return r }";
    check(&[
        fails(reshape, vec![vector(4), scalar(5)], "should be equal"),
        runs(reshape, vec![vector(4), scalar(4)]),
        fails(slice, vec![vector(4), scalar(4)], "index [4] is outside"),
        fails(slice, vec![vector(4), scalar(-1)], "index [-1] is outside"),
        runs(slice, vec![vector(4), scalar(3)]),
        fails(backpermute, vec![vector(4), scalar(1)], "index [4] is outside"),
        runs(backpermute, vec![vector(4), scalar(0)]),
        fails(transform, vec![vector(4), scalar(1)], "index [4] is outside"),
        fails(wider, vec![vector(4), scalar(5)], "is more than"),
        fails(wider, vec![vector(4), scalar(-1)], "negative"),
        runs(wider, vec![vector(4), scalar(3)]),
        fails(read, vec![vector(4), scalar(1)], "index [4] is outside"),
        runs(read, vec![vector(4), scalar(0)]),
        fails(read_in_map, vec![vector(4), scalar(4)], "index [4] is outside"),
        runs(read_in_map, vec![vector(4), scalar(3)]),
        fails(row, vec![matrix(3, 2), scalar(3)], "index [3, 0] is outside"),
        runs(row, vec![matrix(3, 2), scalar(2)]),
        fails(folded, vec![vector(4), scalar(5)], "is more than"),
        runs(folded, vec![vector(4), scalar(2)]),
    ]);
}

/// The function of `b` may look at its source, or not.
#[test]
fn users_of_a_map_that_looks_only_sometimes_check_its_extents() {
    let backpermute = "fn f(a: [n]i64, k: i64, go: bool) -> [n]i64 {
        let b: [n]i64 = map(|x| if go { x } else { 3i64 }, a) let r: [n]i64 = backpermute([n], |i| i + k, b) return r }";
    let slice = "fn f(a: [n]i64, k: i64, go: bool) -> i64 {
        let b: [n]i64 = map(|x| if go { x } else { 3i64 }, a) let r: i64 = slice([k], b) return r }";
    let read = "fn f(a: [n]i64, k: i64, go: bool) -> [n]i64 {
        let b: [n]i64 = map(|x| if go { x } else { 3i64 }, a) let r: [n]i64 = generate([n], |i| b[i + k] + i) return r }";
    let rows = [backpermute, slice, read].map(|program| {
        [false, true].map(|go| {
            [
                fails(program, vec![vector(4), scalar(4), flag(go)], "index [4"),
                runs(program, vec![vector(4), scalar(0), flag(go)]),
            ]
        })
    });
    check(&rows.into_iter().flatten().flatten().collect::<Vec<_>>());
}

/// An index function that fails, although what stands there does not matter.
#[test]
fn index_functions_fail_although_the_element_does_not_matter() {
    let divides = "fn f(a: [n]i64, k: i64) -> [n]i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: [n]i64 = backpermute([n], |i| min(max(i / k, 0), n - 1), b) return r }";
    let reads = "fn f(a: [n]i64, t: [l]i64) -> [n]i64 {
        let b: [n]i64 = map(|x| 3i64, a) let r: [n]i64 = backpermute([n], |i| min(max(t[i], 0), n - 1), b) return r }";
    let generated = "fn f(n: i64, t: [l]i64) -> [n]i64 {
        let b: [n]i64 = generate([n], |i| 3i64) let r: [n]i64 = backpermute([n], |i| min(max(t[i], 0), n - 1), b) return r }";
    check(&[
        fails(divides, vec![vector(4), scalar(0)], "division by zero"),
        runs(divides, vec![vector(4), scalar(2)]),
        fails(reads, vec![vector(4), vector(3)], "index [3] is outside"),
        runs(reads, vec![vector(4), vector(4)]),
        fails(generated, vec![scalar(4), vector(3)], "index [3] is outside"),
        runs(generated, vec![scalar(4), vector(4)]),
    ]);
}

/// An array of a negative extent, and every operation that may take it in.
#[test]
fn negative_extents_of_arrays_that_are_fused_away_fail() {
    let users = [
        "let r: i64 = fold(|x, y| x + y, 0, g) return r",
        "let h: [m]i64 = map(|x| x * 2, g) let r: i64 = fold(|x, y| x + y, 0, h) return r",
        "let s: [m]i64 = scanl1(|x, y| x + y, g) let r: i64 = fold(|x, y| x + y, 0, s) return r",
        "let r: i64, v: [r]i64 = filter(|x| x > 1, g) return r",
        "let d: [4]i64 = replicate([4], zero) let t: [m]i64 = map(|x| x % 4, g)
         let p: [4]i64 = permute(|new, old| new + old, d, g, at: t) let r: i64 = fold(|x, y| x + y, 0, p) return r",
        "let h: [l]i64 = backpermute([l], |i| i % m, g) let r: i64 = fold(|x, y| x + y, 0, h) return r",
        "let h: [l, m]i64 = replicate([l, _], g) let s: [l]i64 = fold(|x, y| x + y, 0, h) let r: i64 = fold(|x, y| x + y, 0, s) return r",
        "let h: [0]i64 = backpermute([0], |i| i, g) let r: i64 = fold(|x, y| x + y, 0, h) return r",
        "let h: [0]i64 = map(|x| x + 1, g) let r: i64 = fold(|x, y| x + y, 0, h) return r",
        "let r: i64, v: [r]i64 = expand(|x| x % 3, |x, j| x + j, g) return r",
    ];
    let makers = [
        "let g: [m]i64 = generate([m], |j| j)",
        "let g: [m]i64 = replicate([m], one)",
        "let g: [m]i64 = map(|x| x + 1, a)",
        "let g: [m]i64 = backpermute([m], |i| i % l, a)",
        "let g: [m]i64 = transform([m], |i| i % l, |x| x + 1, a)",
        "let u: [m, l]i64 = generate([m, l], |i, j| i + j) let z = l - 1 let g: [m]i64 = slice([_, z], u)",
        "let z = m - 1 let y = z + 1 let g: [m]i64 = map(|x| x + 1, a)",
    ];
    let mut rows = Vec::new();
    for user in users {
        for maker in makers {
            let program = format!("fn f(a: [l]i64, m: i64) -> i64 {{ let zero = 0i64 let one = 1i64 {maker} {user} }}");
            let program: &'static str = program.leak();
            rows.push(fails(program, vec![vector(5), scalar(-1)], "negative"));
            rows.push(runs(program, vec![vector(5), scalar(3)]));
        }
    }
    check(&rows);
}

/// An extent of a matrix that is gone after a fold of the other.
#[test]
fn negative_extents_of_matrices_fail_whichever_they_are() {
    let sums = "fn f(p: i64, q: i64) -> i64 {
        let g: [p, q]i64 = generate([p, q], |i, j| i + j)
        let s: [p]i64 = fold(|x, y| x + y, 0, g) let r: i64 = fold(|x, y| x + y, 0, s) return r }";
    let transposed = "fn f(p: i64, q: i64) -> i64 {
        let g: [p, q]i64 = generate([p, q], |i, j| i + j) let h: [q, p]i64 = backpermute([q, p], |i, j| { return j, i }, g)
        let s: [q]i64 = fold(|x, y| x + y, 0, h) let r: i64 = fold(|x, y| x + y, 0, s) return r }";
    let diagonal = "fn f(p: i64, q: i64) -> i64 {
        let g: [p, q]i64 = generate([p, q], |i, j| i + j) let l = min(p, q)
        let k = max(l, 0) let h: [k]i64 = backpermute([k], |i| { return i, i }, g)
        let r: i64 = fold(|x, y| x + y, 0, h) return r }";
    let reshaped = "fn f(p: i64, q: i64) -> i64 {
        let g: [p, q]i64 = generate([p, q], |i, j| i + j) let l = p * q let h: [l]i64 = reshape([l], g)
        let r: i64 = fold(|x, y| x + y, 0, h) return r }";
    let rows = [sums, transposed, diagonal, reshaped].map(|program| {
        [
            fails(program, vec![scalar(-1), scalar(3)], "negative"),
            fails(program, vec![scalar(3), scalar(-1)], "negative"),
            fails(program, vec![scalar(0), scalar(-2)], "negative"),
            fails(program, vec![scalar(-2), scalar(-3)], "negative"),
            runs(program, vec![scalar(2), scalar(3)]),
            runs(program, vec![scalar(0), scalar(3)]),
        ]
    });
    check(&rows.into_iter().flatten().collect::<Vec<_>>());
}

/// The producer's own check of its source.
#[test]
fn what_is_fused_away_checks_its_own_sources() {
    let short = "fn f(a: [n]i64, h: i64) -> [?]i64 {
        let x: [h]i64 = map(|e| e * 2, a) let r: [1]i64 = backpermute([1], |i| 0i64, x) return r }";
    let shortened = "fn f(a: [n]i64, b: [l]i64, h: i64) -> [?]i64 {
        let x: [h]i64 = map(|e| e * 2, a) let k = min(h, l) let r: [k]i64 = map(|e, g| e + g, x, b) return r }";
    let reshaped = "fn f(a: [n]i64, h: i64) -> [?]i64 {
        let x: [h]i64 = reshape([h], a) let r: [n]i64 = map(|e, g| e + g, x, a) return r }";
    let empty = "fn f(a: [n]i64, h: i64) -> [?]i64 {
        let x: [h]i64 = map(|e| 1i64, a) let y: [h]i64 = map(|e| e * 2, x) let k = max(h, 1) let r: [k]i64 = reshape([k], y) return r }";
    let stencil = "fn f(a: [n]i64) -> [?]i64 {
        let x: [n]i64 = map(|e| 2i64, a) let r: [3]i64 = stencil(|l, c| l + c, x[-1], x[0], x: clamp) return r }";
    let unequal = "fn f(a: [n]i64, b: [k]i64) -> [?]i64, [?]i64 { let h = min(n, k)
        let x: [h]i64, y: [h]i64 = map(|e, g| { return e, g }, a, b)
        let r: [h]i64, s: [h]i64 = backpermute([h], |i| h - 1 - i, x, y) return r, s }";
    check(&[
        fails(short, vec![vector(3), scalar(5)], "is more than"),
        runs(short, vec![vector(3), scalar(2)]),
        fails(short, vec![vector(3), scalar(0)], "index [0] is outside"),
        fails(shortened, vec![vector(3), vector(2), scalar(5)], "is more than"),
        runs(shortened, vec![vector(3), vector(2), scalar(3)]),
        fails(reshaped, vec![vector(3), scalar(5)], "should be equal"),
        runs(reshaped, vec![vector(3), scalar(3)]),
        fails(empty, vec![vector(3), scalar(0)], "should be equal"),
        fails(empty, vec![vector(3), scalar(-1)], "negative"),
        fails(stencil, vec![vector(0)], "is outside"),
        runs(stencil, vec![vector(2)]),
        runs(unequal, vec![vector(2), vector(3)]),
    ]);
}

/// Laws of scalar code make functions that ignore what they looked at.
#[test]
fn simpler_functions_check_as_much() {
    let wider = "fn f(b: [n]i64, k: i64) -> [?]i64 { let r: [k]i64 = map(|x| x * 0, b) return r }";
    let zipped = "fn f(b: [n]i64, c: [l]i64) -> [?]i64 { let r: [n]i64 = map(|x, y| x + y * 0, b, c) return r }";
    let both = "fn f(b: [n]i64, c: [l]i64) -> i64, i64 {
        let r: i64, s: i64 = fold(|x, y, u, v| { return x + u + v * 0, y + v }, 0, 0, b, c) return r, s }";
    let one = "fn f(b: [n]i64, c: [l]i64) -> i64 {
        let r: i64, s: i64 = fold(|x, y, u, v| { return x + u + v * 0, y + v }, 0, 0, b, c) return r }";
    let transformed = "fn f(b: [n]i64, c: [l]i64) -> [?]i64 {
        let r: [2]i64 = transform([2], |i| i, |x, y| x + y * 0, b, c) return r }";
    let index = "fn f(b: [n]i64) -> [?]i64 { let r: [2]i64 = transform([2], |i| i + 5, |x| x * 0, b) return r }";
    let read = "fn f(b: [n]i64) -> [2]i64 { let r: [2]i64 = generate([2], |i| i + b[i + 5] * 0) return r }";
    let divided =
        "fn f(b: [n]i64) -> [n]i64 { let r: [n]i64 = map(|x| { let q = 12 / (x - 2); return q - q }, b) return r }";
    let decided =
        "fn f(b: [n]i64) -> [n]i64 { let r: [n]i64 = map(|x| if 12 / (x - 2) > 3 { x } else { x }, b) return r }";
    check(&[
        fails(wider, vec![vector(4), scalar(5)], "is more than"),
        runs(wider, vec![vector(4), scalar(3)]),
        fails(zipped, vec![vector(4), vector(3)], "is more than"),
        runs(zipped, vec![vector(4), vector(5)]),
        fails(both, vec![vector(4), vector(3)], "should be equal"),
        fails(one, vec![vector(4), vector(3)], "should be equal"),
        fails(transformed, vec![vector(4), vector(3)], "should be equal"),
        runs(transformed, vec![vector(4), vector(4)]),
        fails(index, vec![vector(4)], "index [5] is outside"),
        fails(read, vec![vector(4)], "index [5] is outside"),
        runs(read, vec![vector(7)]),
        fails(divided, vec![vector(4)], "division by zero"),
        runs(divided, vec![vector(1)]),
        fails(decided, vec![vector(4)], "division by zero"),
    ]);
}

/// What nobody reads fails nowhere, and nothing is made to fail.
#[test]
fn no_error_is_made() {
    let ignored = "fn f(a: [n]i64, k: i64) -> [?]i64 { let r: [k]i64 = map(|x| 3i64, a) return r }";
    let beside = "fn f(a: [n]i64, b: [l]i64) -> [n]i64 { let r: [n]i64 = map(|x, y| x + 1, a, b) return r }";
    let siblings = "fn f(a: [n]i64, b: [l]i64) -> [n]i64 {
        let r: [n]i64, s: [n]i64 = map(|x, y| { return x + 1, y + 1 }, a, b) let t: [n]i64 = map(|x| x * 2, r) return t }";
    let branch = "fn f(m: i64, go: bool) -> i64 {
        let r: i64 = cond(go, || { let g: [m]i64 = generate([m], |j| j) let s: i64 = fold(|x, y| x + y, 0, g) return s }, || { let s = m + 1 return s }) return r }";
    check(&[
        runs(ignored, vec![vector(3), scalar(5)]),
        fails(ignored, vec![vector(3), scalar(-5)], "negative"),
        runs(beside, vec![vector(3), vector(2)]),
        runs(siblings, vec![vector(3), vector(2)]),
        runs(branch, vec![scalar(-1), flag(false)]),
        fails(branch, vec![scalar(-1), flag(true)], "negative"),
    ]);
}
