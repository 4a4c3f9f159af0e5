//! Plans mean what their programs mean: the same results, the same errors, and no error that the program does not have.

use crate::strict::lower;
use fusebox_interp::Error;
use fusebox_ir::{Array, Plan, Program, RunError, Value, text, validate_plan};
use fusebox_kernels::Config;

fn parsed(source: &str) -> Program {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    fusebox_ir::validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    program
}

fn plan(program: &Program) -> Plan {
    let (plan, _) = lower(program, &Config::default()).unwrap();
    validate_plan(&plan).unwrap_or_else(|errors| panic!("{errors}\n{program}"));
    plan
}

fn near(left: &Value, right: &Value) -> bool {
    let (Value::Array(left), Value::Array(right)) = (left, right) else { return false };
    left.element() == right.element()
        && left.extents() == right.extents()
        && left.constants().zip(right.constants()).all(|(left, right)| match (left.as_f64(), right.as_f64()) {
            (Some(a), Some(b)) => a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-3 * b.abs().max(1.0),
            _ => left == right,
        })
}

/// Both interpreters give the same results; gives the first.
fn same(source: &str, inputs: &[Value]) -> Array {
    let program = parsed(source);
    let expected =
        fusebox_interp::run(&program, inputs).unwrap_or_else(|error| panic!("the program fails: {error}\n{source}"));
    let plan = plan(&program);
    let (results, _) =
        fusebox_interp::run_plan(&plan, inputs).unwrap_or_else(|error| panic!("the plan fails: {error}\n{source}"));
    assert_eq!(expected.len(), results.len());
    for (expected, result) in expected.iter().zip(&results) {
        assert!(near(result, expected), "{result:?} where {expected:?} is meant\n{source}");
    }
    let Value::Array(first) = results.into_iter().next().unwrap() else { panic!("an array") };
    first
}

/// Both interpreters fail with the same message.
fn fails(source: &str, inputs: &[Value]) {
    let (found, expected) = errors(source, inputs);
    assert_eq!(found.to_string(), expected.to_string(), "{source}");
}

/// Both interpreters fail in the same way at the same place; which of several it is, and whose operation holds it, may differ.
fn fails_alike(source: &str, inputs: &[Value]) {
    let (found, expected) = errors(source, inputs);
    assert_eq!(
        std::mem::discriminant(&found.fault),
        std::mem::discriminant(&expected.fault),
        "{found}, {expected}: {source}"
    );
    assert_eq!(format!("{:?}", found.place), format!("{:?}", expected.place), "{source}");
}

fn errors(source: &str, inputs: &[Value]) -> (RunError, RunError) {
    let program = parsed(source);
    let expected = fusebox_interp::run(&program, inputs).map(|_| ()).expect_err(source);
    let found = fusebox_interp::run_plan(&plan(&program), inputs).map(|_| ()).expect_err(source);
    let (Error::Run(expected), Error::Run(found)) = (expected, found) else { panic!("run-time errors\n{source}") };
    (found, expected)
}

fn ints(elements: &[i64]) -> Value {
    Value::Array(Array::new(&[elements.len()], elements).unwrap())
}

fn matrix(rows: usize, elements: &[i64]) -> Value {
    Value::Array(Array::new(&[rows, elements.len() / rows.max(1)], elements).unwrap())
}

fn whole(value: i64) -> Value {
    Value::Array(Array::scalar(value))
}

// What fails.

#[test]
fn errors_say_what_the_program_says() {
    let a = ints(&[1, 0, 3]);
    fails("fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| 10 / x, a) return b }", std::slice::from_ref(&a));
    fails("fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| mod(10, x), a) return b }", std::slice::from_ref(&a));
    fails(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = generate([n], |i| a[i + 1]) return b }",
        std::slice::from_ref(&a),
    );
    fails(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = generate([n], |i| if i > 1 { a[i + 7] } else { 0 }) return b }",
        std::slice::from_ref(&a),
    );
    fails("fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = backpermute([n], |i| a[i], a) return b }", &[ints(&[0, 1, 9])]);
    fails(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| assert(x > 0, \"positive\", x), a) return b }",
        std::slice::from_ref(&a),
    );
    fails("fn f(k: i64) -> [?]i64 { let b: [k]i64 = generate([k], |i| i) return b }", &[whole(-3)]);
    fails("fn f(a: [n]i64, j: i64) -> i64 { let b: i64 = slice([j], a) return b }", &[a.clone(), whole(3)]);
    fails("fn f(a: [n, m]i64) -> [n]i64 { let b: [n]i64 = fold1(|x, y| x + y, a) return b }", &[matrix(2, &[])]);
    fails(
        "fn f(a: [n, m, k]i64) -> [n, m]i64 { let b: [n, m]i64 = fold1(|x, y| x + y, a) return b }",
        &[Value::Array(Array::new::<i64>(&[2, 3, 0], &[]).unwrap())],
    );
    fails(
        "fn f(a: [n]i64, t: [n]i64) -> [n]i64 { let b: [n]i64 = permute(|x, y| x, a, a, at: t) return b }",
        &[a.clone(), ints(&[0, 5, 1])],
    );
    fails("fn f(a: [n]i64, k: i64) -> [?]i64 { let b: [k]i64 = reshape([k], a) return b }", &[a.clone(), whole(2)]);
    fails("fn f(a: [n]i64, k: i64) -> [?]i64 { let b: [k]i64 = map(|x| x, a) return b }", &[a.clone(), whole(4)]);
    fails("fn f(a: [n]i64) -> i64 { let b = a.flat[3] return b }", std::slice::from_ref(&a));
    fails("fn f(a: [n, m]i64) -> i64 { let b = a.flat[4] return b }", &[matrix(2, &[1, 2, 3, 4])]);
    fails(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = stencil(|x, y| x + y, a[0], c[1], a: clamp, c: wrap) return b }"
            .replace("let b", "let z = n - n let c: [z]i64 = generate([z], |i| i) let b")
            .as_str(),
        &[a],
    );
}

#[test]
fn offsets_are_checked() {
    for form in [
        "let s = m - 1 let r: [s]i64 = fold_seg(|x, y| x + y, 0, a, offsets: o)",
        "let s = m - 1 let r: [s]i64 = fold1_seg(|x, y| x + y, a, offsets: o)",
        "let r: [n]i64 = scanl1_seg(|x, y| x + y, a, offsets: o)",
        "let r: [n]i64 = scanr1_seg(|x, y| x + y, a, offsets: o)",
    ] {
        let source = format!("fn f(a: [n]i64, o: [m]i64) -> [?]i64 {{ {form} return r }}");
        let a = ints(&[1, 2, 3, 4, 5]);
        same(&source, &[a.clone(), ints(&[0, 2, 5])]);
        same(&source, &[ints(&[]), ints(&[0])]);
        for wrong in [&[1, 2, 5][..], &[0, 2, 4], &[0, 4, 2, 5], &[0, 9, 5], &[0, -1, 5], &[0, 2, 9], &[1], &[0]] {
            fails_alike(&source, &[a.clone(), ints(wrong)]);
        }
    }
    fails(
        "fn f(a: [n]i64, o: [m]i64) -> [?]i64 { let r: [n]i64 = scanl1_seg(|x, y| x + y, a, offsets: o) return r }",
        &[ints(&[]), ints(&[])],
    );
    fails(
        "fn f(a: [n]i64, o: [m]u8) -> [?]i64 { let s = m - 1 let r: [s]i64 = fold1_seg(|x, y| x + y, a, offsets: o) return r }",
        &[ints(&[1, 2]), Value::Array(Array::new(&[3], &[0u8, 0, 2]).unwrap())],
    );
}

// What is not needed does not fail.

#[test]
fn what_no_branch_takes_does_not_fail() {
    let a = ints(&[4, 0, 2]);
    let n = [a.clone()];
    same(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| { let q = 8 / x return if x == 0 { 0 } else { q } }, a) return b }",
        &n,
    );
    same("fn f(a: [n]i64) -> [n]bool { let b: [n]bool = map(|x| x != 0 && 8 / x > 2, a) return b }", &n);
    same(
        "fn f(a: [n]i64) -> [n]bool { let b: [n]bool = map(|x| x == 0 || 8 / x > 2 && a[8 / x] > 0, a) return b }",
        &[ints(&[9, 0, 8])],
    );
    same(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| { let q = 8 / x let r = a[x] return x }, a) return b }",
        &n,
    );
    same("fn f(a: [n]i64) -> [n]i64 { let b: [n]i64, c: [n]i64 = map(|x| { return x, 8 / x }, a) return b }", &n);
    same(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = generate([n], |i| if i > 0 { a[i - 1] } else { 0 }) return b }",
        &n,
    );
    // Used in both branches, and in a branch of a branch.
    same(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| { let q = 8 / x
           return if x == 0 { 1 } else { if x > 2 { q } else { q + 1 } } }, a) return b }",
        &n,
    );
    // A loop that does not run, and one that does.
    same(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| { let q = 8 / x
           let k = while(|k: i64| k < x, |k: i64| k + q, 0) return k }, a) return b }",
        &n,
    );
    same(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| { let q = 8 / x
           let k, l = while(|k: i64, l: i64| k < 3, |k: i64, l: i64| { return k + 1, if x != 0 && k > 0 { l + q } else { l } }, 0, 0) return l }, a) return b }",
        &n,
    );
}

#[test]
fn scalars_that_fail_are_computed_where_they_are_needed() {
    let source = "fn f(k: i64, a: [n]i64) -> [n]i64 { let q = 100 / k let r = q + 1 let b: [n]i64 = map(|x| if x > 2 { x } else { r }, a) return b }";
    same(source, &[whole(0), ints(&[5, 6])]);
    same(source, &[whole(7), ints(&[5, 1])]);
    fails_alike(
        "fn f(k: i64, a: [n]i64) -> [n]i64 { let q = 100 / k let b: [n]i64 = map(|x| x + q, a) return b }",
        &[whole(0), ints(&[5, 6])],
    );
    let loops = "fn f(k: i64, a: [n]i64) -> [n]i64 { let q = 100 / k
        let t: i64, b: [n]i64 = while(|t: i64, s: [n]i64| { let go = t < k return go },
          |t: i64, s: [n]i64| { let u = t + 1 let v: [n]i64 = map(|x| x + q, s) return u, v }, 0, a) return b }";
    same(loops, &[whole(0), ints(&[5, 6])]);
    same(loops, &[whole(3), ints(&[5, 6])]);
    let branches = "fn f(k: i64, a: [n]i64) -> i64 { let q = 100 / k let c = k == 0
        let r: i64 = cond(c, || { let z: i64 = fold(|x, y| x + y, 0, a) return z }, || { return q }) return r }";
    same(branches, &[whole(0), ints(&[5, 6])]);
    same(branches, &[whole(5), ints(&[5, 6])]);
}

#[test]
fn arrays_that_only_a_branch_needs_are_computed_there() {
    let source = "fn f(c: bool, k: i64, a: [n]i64) -> [n]i64 {
        let big: [n]i64 = map(|x| 10 / x, a)
        let r: [n]i64 = cond(c, || { let d: [n]i64 = map(|x| x + 1, big) return d }, || { return a }) return r }";
    let no = Value::Array(Array::from_bools(&[], &[false]).unwrap());
    same(source, &[no, whole(1), ints(&[0, 1])]);
    let loops = "fn f(k: i64, a: [n]i64) -> [n]i64 {
        let table: [n]i64 = map(|x| 10 / x, a)
        let t: i64, b: [n]i64 = while(|t: i64, s: [n]i64| { let go = t < k return go },
          |t: i64, s: [n]i64| { let u = t + 1 let v: [n]i64 = map(|x, y| x + y, s, table) return u, v }, 0, a) return b }";
    same(loops, &[whole(0), ints(&[0, 6])]);
    assert_eq!(same(loops, &[whole(2), ints(&[2, 5])]).as_slice::<i64>().unwrap(), [12, 9]);
    let perhaps = "fn f(k: i64, a: [n]i64) -> [n]i64 {
        let table: [n]i64 = map(|x| 10 / x, a)
        let t: i64, b: [n]i64 = while(|t: i64, s: [n]i64| { let go = t < 4 return go },
          |t: i64, s: [n]i64| { let u = t + 1 let c = t == k
            let v: [n]i64 = cond(c, || { let w: [n]i64 = map(|x, y| x + y, s, table) return w }, || { return s }) return u, v }, 0, a) return b }";
    same(perhaps, &[whole(9), ints(&[0, 6])]);
    same(perhaps, &[whole(2), ints(&[3, 6])]);
    fails(perhaps, &[whole(2), ints(&[0, 6])]);
}

#[test]
fn loops_of_scalars_are_one_kernel() {
    let loops = [
        // Steps to one, after Collatz, of each element of a vector by its place.
        "fn f(k: i64, a: [n]i64) -> i64, i64 {
         let turns: i64, at: i64 = while(|turns: i64, at: i64| { let go = at < n return go }, |turns: i64, at: i64| {
           let start = a[at]
           let own: i64, end: i64 = while(|own: i64, x: i64| { let go = x > 1 return go }, |own: i64, x: i64| {
             let even = x % 2 == 0
             let y = cond(even, || { let y = x / 2 return y }, || { let y = 3 * x + k return y })
             let next = own + 1
             return next, y }, 0, start)
           let sum = turns + own
           let behind = at + 1
           return sum, behind }, 0, 0)
         return turns, at }"
            .replace("let y = cond", "let y: i64 = cond"),
        // No turn, so that nothing fails.
        "fn f(k: i64, a: [n]i64) -> i64, i64 {
         let s: i64, i: i64 = while(|s: i64, i: i64| { let go = i < n return go }, |s: i64, i: i64| {
           let q = 100 / (k - 1) let t = s + q * a[i] let j = i + 1 return t, j }, 0, 0)
         return s, i }"
            .to_owned(),
    ];
    for source in &loops {
        same(source, &[whole(1), ints(&[])]);
        let program = parsed(source);
        let plan = plan(&program);
        assert_eq!(plan.kernels.len(), 1, "{plan}");
        assert!(!plan.to_string().contains("while {"), "{plan}");
    }
    same(&loops[0], &[whole(1), ints(&[27, 1, 6, 97])]);
    same(&loops[1], &[whole(5), ints(&[27, 1, 6, 97])]);
    fails_alike(&loops[1], &[whole(1), ints(&[27])]);
    // Around arrays as well, where a branch of scalars is code in each turn.
    let around = "fn f(k: i64, a: [n]i64) -> [n]i64 {
        let t: i64, b: [n]i64 = while(|t: i64, s: [n]i64| { let go = t < k return go }, |t: i64, s: [n]i64| {
          let odd = t % 2 == 1
          let by: i64 = cond(odd, || { let q = 100 / t return q }, || { return t })
          let u = t + 1 let v: [n]i64 = map(|x| x + by, s) return u, v }, 0, a) return b }";
    same(around, &[whole(0), ints(&[5, 6])]);
    same(around, &[whole(7), ints(&[5, 6])]);
}

#[test]
fn what_nothing_uses_is_not_computed() {
    let source =
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| 1 / x, a) let c: i64 = fold1(|x, y| x + y, b) return a }";
    same(source, &[ints(&[0])]);
    let program = parsed(source);
    assert_eq!(plan(&program).kernels.len(), 0);
    // Components of a fold that nobody asks for.
    same(
        "fn f(a: [n]i64) -> i64 { let b: [n]i64 = map(|x| 1 / x, a) let s: i64, t: i64 = fold(|x, y, u, v| { return x + u, y * v }, 0, 1, a, b) return s }",
        &[ints(&[0, 2])],
    );
    // A carried array, a source that the function drops.
    same(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| 1 / x, a) let s: [n]i64, c: [n]i64 = sort(a, carry: b) return s }",
        &[ints(&[0, 2])],
    );
    same(
        "fn f(a: [n]i64) -> [n]i64 { let b: [n]i64 = map(|x| 1 / x, a) let s: [n]i64 = map(|x, y| x, a, b) return s }",
        &[ints(&[0, 2])],
    );
}

#[test]
fn dropped_elements_of_a_permuted_expand_need_no_target() {
    let source = "fn f(a: [n]i64, d: [m]i64) -> [m]i64 {
        let r: [m]i64 = permuted_expand(|x| x, |x, j| { return 6 / j, x, j > 0 }, |new, old| new + old, d, a) return r }";
    same(source, &[ints(&[3, 0, 2, -1]), ints(&[1, 1, 1, 1, 1, 1, 1])]);
}

#[test]
fn stencils_over_nothing() {
    let source = "fn f(c: [z]i64, n: i64) -> [?]i64 { let r: [n]i64 = stencil(|x| x, c[1], c: BOUNDARY) return r }";
    for boundary in ["clamp", "mirror", "wrap"] {
        same(&source.replace("BOUNDARY", boundary), &[ints(&[]), whole(0)]);
        same(&source.replace("BOUNDARY", boundary), &[ints(&[7]), whole(4)]);
        same(&source.replace("BOUNDARY", boundary), &[ints(&[7, 8, 9]), whole(11)]);
        fails(&source.replace("BOUNDARY", boundary), &[ints(&[]), whole(2)]);
        // In a branch that is not taken.
        let branch = source.replace(
            "|x| x, c[1], c: BOUNDARY",
            &format!("|x, y| if y > 0 {{ y }} else {{ x }}, c[-3], d[0], c: {boundary}, d: wrap"),
        );
        let branch = branch.replace("let r", "let d: [n]i64 = generate([n], |i| i + 1) let r");
        same(&branch, &[ints(&[]), whole(3)]);
        let taken = branch.replace("y > 0", "y > 2");
        same(&taken, &[ints(&[7, 8, 9, 10]), whole(9)]);
    }
    same(&source.replace("BOUNDARY", "constant(5)"), &[ints(&[]), whole(3)]);
    same(&source.replace("BOUNDARY", "function(|i| i * 2)"), &[ints(&[4]), whole(3)]);
    let two = "fn f(c: [h, w]i64) -> [h, w]i64 { let r: [h, w]i64 = stencil(|a, b, d| a + b * d, c[-1, 2], c[0, 0], c[1, -3], c: function(|i, j| 100 / (i * i + j * j))) return r }";
    same(two, &[matrix(3, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])]);
}

#[test]
fn what_is_the_same_everywhere_is_computed_once_if_at_all() {
    let source = "fn f(a: [n, m]i64, k: i64, t: [z]i64) -> [n, m]i64 {
        let b: [n, m]i64 = map(|x| x + 100 / k + t[k], a) return b }";
    for (rows, elements) in [(2, &[1, 2, 3, 4][..]), (0, &[]), (2, &[])] {
        same(source, &[matrix(rows, elements), whole(2), ints(&[1, 2, 3])]);
    }
    // Where there is nothing to compute nothing fails.
    same(source, &[matrix(2, &[]), whole(0), ints(&[])]);
    fails(source, &[matrix(2, &[1, 2]), whole(0), ints(&[1])]);
    fails(source, &[matrix(2, &[1, 2]), whole(3), ints(&[1])]);
    let text = plan(&parsed(source)).kernels[0].to_string();
    assert!(text.contains("0: x") && text.contains("{ 100 / "), "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("2:") && line.contains('/')), "{text}");
}
