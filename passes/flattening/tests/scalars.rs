//! Branches and loops of scalars in lanes are scalar code; others, and those outside of lanes, are not.

use crate::common::{flat, vector};
use fusebox_ir::Array;

#[test]
fn a_loop_of_scalars_is_a_loop_in_a_function() {
    // Each lane takes as many turns as it likes, and only some take the branch, where others would fail.
    let source = "fn f(a: [n]i64, most: i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let x = a[i]
        let c = x != 0
        let start: i64 = cond(c, || { let q = 100 / x; return q }, || { let q = most; return q })
        let y: i64, t: i64 = while(|y: i64, t: i64| { let go = y < most && t < x; return go }, |y: i64, t: i64| {
          let even = y % 2 == 0
          let z: i64 = cond(even, || { let h = y / 2 + x; return h }, || { let h = y * 3 + 1; return h })
          let u = t + 1
          return z, u }, start, 0i64)
        let s = y + t
        return s })
      return r }";
    insta::assert_snapshot!(flat(source, &[vector(&[3, 0, 7, 50]), Array::scalar(60i64).into()]), @r#"
    fn f(a: [n]i64, most: i64) -> [n]i64 {
      let y: [n]i64, t: [n]i64 = generate([n], |x| {
        let x1 = a[x]
        let x2 = x1 != 0
        let x3, x4 = while(|y1: i64, t1: i64| y1 < most && t1 < a[x], |y2: i64, t2: i64| { return if y2 % 2 == 0 { y2 / 2 + a[x] } else { y2 * 3 + 1 }, t2 + 1 }, if x2 { 100 / assert(x2, "division by zero, in lane {}", x1, x) } else { most }, 0i64)
        return x3, x4 })
      let r: [n]i64 = map(|x, x1| x + x1, y, t)
      return r }
    "#);
}

#[test]
fn a_loop_of_arrays_or_outside_of_lanes_stays() {
    let source = "fn f(n: i64, most: i64) -> [n]i64, i64 {
      let o: i64 = while(|y: i64| { let go = y < most; return go }, |y: i64| { let z = y * 2; return z }, 1i64)
      let r: [n]i64 = nest([n], |i| {
        let v: [3]i64 = generate([3], |j| i + j)
        let w: [3]i64, t: i64 = while(|w: [3]i64, t: i64| { let go = t < i; return go }, |w: [3]i64, t: i64| {
          let x: [3]i64 = map(|e| e * 2, w)
          let u = t + 1
          return x, u }, v, 0i64)
        let s: i64 = fold(|a, b| a + b, 0, w)
        return s })
      return r, o }";
    let text = flat(source, &[Array::scalar(4i64).into(), Array::scalar(9i64).into()]);
    assert_eq!(text.matches(" = while(").count(), 2, "{text}");
}
