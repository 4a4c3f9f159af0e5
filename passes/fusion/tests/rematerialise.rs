//! What is made outside of a loop, and costs less to make than to read, is made where the loop reads it; what does not, is not.

use fusebox_fusion::{Config, fuse};
use fusebox_ir::{Array, Program, Value, text, validate};

/// A program, and what fusion makes of it.
fn fused(source: &str) -> (Program, Program) {
    let before = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (after, _) = fuse(&before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
    (before, after)
}

/// The body of the loop that runs `body` three times over `v`, after `before`; what both programs give is compared.
fn turned(before: &str, body: &str) -> String {
    let source = format!(
        "fn f(a: [n]f32, b: [m]f32) -> [m, n]f32 {{
            let z: [m, n]f32 = generate([m, n], |i, j| f32(i + j))
            {before}
            let i: i64, r: [m, n]f32 = while(|i: i64, v: [m, n]f32| {{ let g = i < 3 return g }}, |i: i64, v: [m, n]f32| {{
                {body}
                let j = i + 1
                return j, w }}, 0i64, z)
            return r }}"
    );
    let (before, after) = fused(&source);
    for (n, m) in [(0, 3), (3, 0), (1, 1), (5, 3)] {
        let row = |n: usize| Value::Array(Array::new(&[n], &vec![1.5f32; n]).unwrap());
        let inputs = [row(n), row(m)];
        let (expected, found) =
            (fusebox_interp::run(&before, &inputs).unwrap(), fusebox_interp::run(&after, &inputs).unwrap());
        assert_eq!(expected, found, "{after}");
    }
    let text = after.to_string();
    let (_, turn) = text.rsplit_once("}, |").unwrap();
    turn.lines().skip(1).map(str::trim).take_while(|line| !line.starts_with("return")).collect::<Vec<_>>().join("\n")
}

#[test]
fn repeated_and_constant_arrays_are_made_in_the_loop() {
    insta::assert_snapshot!(
        turned("let x: [m, n]f32 = replicate([m, _], a)", "let w: [m, n]f32 = map(|e, g| e * g, v, x)"),
        @r"
    let x: [m, n]f32 = replicate([m, _], a)
    let w: [m, n]f32 = map(|e, g1| e * g1, v1, x)
    let j = i1 + 1
    "
    );
    insta::assert_snapshot!(
        turned("let x: [m, n]f32 = generate([m, n], |i, j| 2.5)", "let w: [m, n]f32 = map(|e, g| e * g, v, x)"),
        @r"
    let w: [m, n]f32 = map(|x| x * 2.5, v1)
    let j = i1 + 1
    "
    );
    // A fold takes in what a map would.
    insta::assert_snapshot!(
        turned(
            "let x: [m, n]f32 = generate([m, n], |i, j| f32(j))",
            "let s: [m]f32 = fold(|e, g| e + g, 0.0, x) let w: [m, n]f32 = generate([m, n], |i, j| s[i] + v[i, j])"
        ),
        @r"
    let x: [m, n]f32 = generate([m, n], |i3, j1| f32(j1))
    let s: [m]f32 = fold(|e, g1| e + g1, 0.0, x)
    let s1: [m, n]f32 = replicate([_, n], s)
    let w: [m, n]f32 = map(|x1, x2| x1 + x2, s1, v1)
    let j = i1 + 1
    "
    );
}

#[test]
fn where_a_permute_puts_elements_is_made_in_the_loop() {
    insta::assert_snapshot!(
        turned(
            "let x: [m, n]i64 = generate([m, n], |i, j| i) let y: [m, n]i64 = generate([m, n], |i, j| j)",
            "let w: [m, n]f32 = permute(|new, old| new + old, z, v, at: (x, y))"
        ),
        @r"
    let x: [m, n]i64 = generate([m, n], |i3, j1| i3)
    let y: [m, n]i64 = generate([m, n], |i3, j1| j1)
    let w: [m, n]f32 = permute(|new, old| new + old, z, v1, at: (x, y))
    let j = i1 + 1
    "
    );
}

#[test]
fn what_is_read_otherwise_or_costs_more_stays() {
    // By index.
    insta::assert_snapshot!(
        turned("let x: [m, n]f32 = replicate([m, _], a)", "let w: [m, n]f32 = generate([m, n], |i, j| x[j % m, i % n] + v[i, j])"),
        @r"
    let w: [m, n]f32 = generate([m, n], |i3, j1| x[j1 % m, i3 % n] + v1[i3, j1])
    let j = i1 + 1
    "
    );
    // What is expensive.
    insta::assert_snapshot!(
        turned("let x: [m, n]f32 = generate([m, n], |i, j| sin(f32(i)))", "let w: [m, n]f32 = map(|e, g| e * g, v, x)"),
        @r"
    let w: [m, n]f32 = map(|e, g1| e * g1, v1, x)
    let j = i1 + 1
    "
    );
    // What the loop gives.
    insta::assert_snapshot!(
        turned("let x: [m, n]f32 = replicate([m, _], a)", "let y: [m, n]f32 = map(|e, g| e * g, v, x) let w: [m, n]f32 = reshape([m, n], x)"),
        @r"
    let w: [m, n]f32 = reshape([m, n], x)
    let j = i1 + 1
    "
    );
}

#[test]
fn wider_copies_are_made_in_the_loop() {
    let turned = |wide: &str, at: &str| {
        let source = format!(
            "fn f(p: [n]i32, q: [n]i64, k: i64) -> [n]f32 {{
                let z: [n]f32 = generate([n], |i| f32(i))
                let x: [n]i64 = {wide}
                let i: i64, r: [n]f32 = while(|i: i64, v: [n]f32| {{ let g = i < k return g }}, |i: i64, v: [n]f32| {{
                    let w: [n]f32 = {at}
                    let j = i + 1
                    return j, w }}, 0i64, z)
                return r }}"
        );
        let (before, after) = fused(&source);
        let positions = [3, 0, 2, 2];
        let inputs = [
            Value::Array(Array::new(&[4], &positions).unwrap()),
            Value::Array(Array::new(&[4], &positions.map(i64::from)).unwrap()),
            Value::Array(Array::scalar(5i64)),
        ];
        assert_eq!(fusebox_interp::run(&before, &inputs), fusebox_interp::run(&after, &inputs), "{after}");
        let text = after.to_string();
        let (before, turn) = text.split_once("while(").unwrap();
        // Where the array is made, if anywhere.
        (before.contains("let x: "), turn.contains("i64("))
    };
    let gathered = "map(|e| v[e], x)";
    assert_eq!(turned("map(|e| i64(e), p)", gathered), (false, true));
    // As wide as what it is made of, too much work, another use, or it may fail.
    assert!(turned("map(|e| e + 1 - 1 + 0 * e, q)", gathered).0);
    assert_eq!(turned("map(|e| i64(e) % 3 * 2 / 2 % 5 % 3, p)", gathered), (true, false));
    assert_eq!(turned("map(|e| i64(e), p)", "generate([n], |i| v[x[n - 1 - i]])"), (true, false));
}

#[test]
fn what_has_its_dimensions_in_another_order_is_read_in_the_loop_that_repeats_its_rows() {
    /// Whether there is a copy before the loop, and whether the loop reads the source.
    fn turned(extents: &str, wide: &str, distances: &str, results: [&str; 2]) -> (bool, bool) {
        let source = format!(
            "fn f(p: [n, m]f32, c: [k, n]f32, t: i64) -> [m, k]f32{} {{
                let rows: [m, n]f32 = backpermute({extents}, |i, j| {{ return j, i }}, p)
                let z: [m, k]f32 = generate([m, k], |i, j| 0.0)
                {wide}
                let i: i64, r: [m, k]f32 = while(|i: i64, v: [m, k]f32| {{ let g = i < t return g }}, |i: i64, v: [m, k]f32| {{
                    let b: [m, k, n]f32 = replicate([m, _, _], c)
                    {distances}
                    let s: [m, k]f32 = fold(|x, y| x + y, 0.0, d)
                    let w: [m, k]f32 = map(|x, y| x + y, s, v)
                    let j = i + 1
                    return j, w }}, 0i64, z)
                return r{} }}",
            results[0], results[1]
        );
        let (before, after) = fused(&source);
        for (n, m, k, t) in [(2, 3, 4, 2), (1, 5, 1, 1), (3, 3, 2, 0), (0, 3, 2, 1), (4, 0, 2, 1)] {
            let array = |rows: usize, columns: usize| {
                let values: Vec<f32> = (0..rows * columns).map(|at| (at * 7 % 11) as f32).collect();
                Value::Array(Array::new(&[rows, columns], &values).unwrap())
            };
            let inputs = [array(n, m), array(k, n), Value::Array(Array::scalar(t as i64))];
            assert_eq!(fusebox_interp::run(&before, &inputs), fusebox_interp::run(&after, &inputs), "{after}");
        }
        let text = after.to_string();
        let (before, turn) = text.split_once("while(").unwrap();
        (before.contains("let rows"), turn.contains(", p)") || turn.contains(" p["))
    }
    let (wide, distances) = ("let a: [m, k, n]f32 = replicate([_, k, _], rows)", "map(|x, y| (x - y) * (x - y), a, b)");
    let distances = format!("let d: [m, k, n]f32 = {distances}");
    assert_eq!(turned("[m, n]", wide, &distances, [""; 2]), (false, true));
    // The repetition too may be in the loop.
    assert_eq!(turned("[m, n]", "", &format!("{wide} {distances}"), [""; 2]), (false, true));
    // It is in memory anyway.
    assert_eq!(turned("[m, n]", wide, &distances, [", [m, n]f32", ", rows"]), (true, false));
    // Elements are read at indices that the loop computes.
    let anywhere = "let d: [m, k, n]f32 = generate([m, k, n], |i, j, l| rows[m - 1 - i, l] - b[i, j, l])";
    assert_eq!(turned("[m, n]", "", anywhere, [""; 2]), (true, false));
    // Each is read once in a turn.
    let once = "let e: [m, n]f32 = map(|x| x + 1.0, rows) let o: [m]f32 = fold(|x, y| x + y, 0.0, e)
        let d: [m, k, n]f32 = map(|x, y| (x - y), replicate([_, k, n], o), b)";
    let once = once
        .replace("replicate([_, k, n], o), b)", "u, b)")
        .replace("let d:", "let u: [m, k, n]f32 = replicate([_, k, n], o) let d:");
    assert_eq!(turned("[m, n]", "", &once, [""; 2]), (true, false));
}
