//! What some elements alone read: of each type, with lanes that take no part at the ends of arrays, in every schedule; and errors of those that do.

use crate::common::{Random, check, every_schedule};
use fusebox_ir::{
    Array, ElementType,
    ElementType::{Bool, F32, F64, I8, I32, I64, U16},
};

const SIZES: [usize; 8] = [0, 1, 2, 15, 33, 64, 65, 130];

/// `a [n]` of a type, and `c [n]bool`.
fn inputs(element: ElementType) -> Vec<Vec<Array>> {
    let mut random = Random(3);
    SIZES.map(|n| vec![random.array(element, &[n]), random.array(Bool, &[n])]).into()
}

#[test]
fn neighbours_of_every_type() {
    for element in [I8, U16, F32, I32, F64, I64, Bool] {
        let nothing = match element {
            Bool => "false",
            F32 | F64 => "0.0",
            _ => "0",
        };
        let source = format!(
            "fn f(a: [n]{element}, c: [n]bool) -> [n]{element}, [n]{element}, [n]{element} {{
             let p: [n]{element}, q: [n]{element}, r: [n]{element} = generate([n], |j| {{
               let before = if j == 0 {{ {nothing} }} else {{ a[j - 1] }}
               let behind = if j + 2 < n {{ a[j + 2] }} else {{ {nothing} }}
               let either = if c[j] {{ a[j] }} else {{ a[n - 1 - j] }}
               return before, behind, either }})
             return p, q, r }}"
        );
        every_schedule(&source, &inputs(element), &[]);
        check(&source, &inputs(element));
    }
}

/// Reads in branches of branches, in loops, by row-major position, and of matrices; some of them outside.
const PROGRAMS: [&str; 5] = [
    "fn f(a: [n]i32, c: [n]bool) -> [n]i32 {
     let r: [n]i32 = generate([n], |j| if c[j] { if j > 3 { a[j - 4] } else { a[j] } } else { if j + 1 < n { a[j + 1] } else { 7 } })
     return r }",
    // Where `c` says so, the element behind the last is read.
    "fn f(a: [n]i32, c: [n]bool) -> [n]i32 {
     let r: [n]i32 = generate([n], |j| if c[j] { a[j + 1] } else { 5 })
     return r }",
    "fn f(a: [n]i32, c: [n]bool) -> [n]i32 {
     let r: [n]i32 = generate([n], |j| if c[j] { a[j - 1] } else { a[j] })
     return r }",
    "fn f(a: [n]i32, c: [n]bool) -> [n]i32 {
     let r: [n]i32 = generate([n], |j| {
       let t, sum = while(|t: i64, sum: i32| (t < 5) & c[j], |t: i64, sum: i32| {
         return t + 1, sum + if j + t < n { a[j + t] } else { 1 } }, 0i64, 0)
       return sum })
     return r }",
    "fn f(a: [n]i32, c: [n]bool) -> [n, n]i32 {
     let m: [n, n]i32 = generate([n, n], |i, j| a[i] * 3 + a[j])
     let r: [n, n]i32 = generate([n, n], |i, j| if c[j] & (j > 0) { m[i, j - 1] } else { if c[i] { m.flat[i * n + j] } else { 1 } })
     return r }",
];

#[test]
fn branches_loops_and_matrices() {
    let inputs: Vec<Vec<Array>> = inputs(I32).into_iter().filter(|inputs| inputs[0].len() <= 65).collect();
    for source in PROGRAMS {
        every_schedule(source, &inputs, &[]);
        check(source, &inputs);
    }
}
