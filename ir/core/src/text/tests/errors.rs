//! What wrong texts are told.

use super::parse;

#[track_caller]
fn told(text: &str) -> String {
    match parse(text) {
        Ok(program) => panic!("{text}\nis read as\n{program}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn lexical_errors() {
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = x @ 2.0 return y }"), @r"
    1:33: unexpected character `@`
      1 | fn f(x: f32) -> f32 { let y = x @ 2.0 return y }
        |                                 ^
      help: `@` is written as a `fold` of products: `let t: [p, r, q]f32 = generate([p, r, q], |i, j, l| a[i, l] * b[l, j]) let c: [p, r]f32 = fold(|x, y| x + y, 0.0, t)`
    ");
    insta::assert_snapshot!(told(r#"fn f(x: f32) -> f32 { let y = assert(x > 0.0, "open, x) return y }"#), @r#"
    1:47: a string without end
      1 | fn f(x: f32) -> f32 { let y = assert(x > 0.0, "open, x) return y }
        |                                               ^
      help: a string ends on its line; `\n` stands for a new one
    "#);
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = x + 1__0 return y }"), @r"
    1:35: `1__0` is no number: `_` stands between digits of whole numbers
      1 | fn f(x: f32) -> f32 { let y = x + 1__0 return y }
        |                                   ^^^^
    ");
    insta::assert_snapshot!(told("fn f(x: u8) -> u8 { let y = x + 0x1g return y }"), @r"
    1:33: `0x1g` is no number: `g` is no number type
      1 | fn f(x: u8) -> u8 { let y = x + 0x1g return y }
        |                                 ^^^^
      help: types are i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64
    ");
}

#[test]
fn errors_of_form() {
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = x + 1.0 }"), @r"
    1:39: a block ends with `return`
      1 | fn f(x: f32) -> f32 { let y = x + 1.0 }
        |                                       ^
    ");
    insta::assert_snapshot!(told("fn f(x: f32, ) -> f32 { return x }"), @r"
    1:12: a comma after the last one
      1 | fn f(x: f32, ) -> f32 { return x }
        |            ^
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let b = x < 1.0 < 2.0 return x }"), @r"
    1:39: comparisons do not chain
      1 | fn f(x: f32) -> f32 { let b = x < 1.0 < 2.0 return x }
        |                                       ^
      help: put parentheses around one of them, or join two comparisons by `&&`
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = if x > 0.0 { x } return y }"), @r"
    1:48: expected `else`, found `return`
      1 | fn f(x: f32) -> f32 { let y = if x > 0.0 { x } return y }
        |                                                ^^^^^^
      help: `if` gives a value on both branches
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let let = x return let }"), @r"
    1:27: expected a name, found `let`
      1 | fn f(x: f32) -> f32 { let let = x return let }
        |                           ^^^
      help: `let` is a keyword
    ");
    insta::assert_snapshot!(told("fn f(x: [n]float) -> [n]f32 { return x }"), @r"
    1:12: expected an element type, found `float`
      1 | fn f(x: [n]float) -> [n]f32 { return x }
        |            ^^^^^
      help: `float` is written `f32`; element types are bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64; an array is `[n, 3]f32`
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { return x } fn g(x: f32) -> f32 { return x }"), @r"
    1:34: expected the end of the text, found `fn`
      1 | fn f(x: f32) -> f32 { return x } fn g(x: f32) -> f32 { return x }
        |                                  ^^
      help: a text holds one program
    ");
    // The place is behind what stands last, and not on an empty line.
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 {\n  let y = x +  # and\n\n\n"), @r"
    2:14: expected a value, found the end of the text
      2 |   let y = x +  # and
        |              ^
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> (f32, f32) { return x, y: x }"), @r"
    1:17: expected a type, found `(`
      1 | fn f(x: f32) -> (f32, f32) { return x, y: x }
        |                 ^
      help: types stand without parentheses: `-> [n]f32, i64` gives two results
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let (s: f32, k: i64) = a return s }"), @r"
    1:30: expected a name, found `(`
      1 | fn f(a: [n]f32) -> f32 { let (s: f32, k: i64) = a return s }
        |                              ^
      help: several names stand without parentheses: `let a, b = …`, `|x, y| …`
    ");
}

#[test]
fn the_line_of_a_place_is_marked() {
    let source = "fn f(x: f32) -> f32 {\n  let größe = sqrt(x)\n  return größe }";
    let marked = |line, column| crate::text::marked(source, &crate::Place { file: None, line, column });
    insta::assert_snapshot!(marked(2, 7).unwrap_or_default(), @r"
      2 |   let größe = sqrt(x)
        |       ^^^^^
    ");
    insta::assert_snapshot!(marked(2, 15).unwrap_or_default(), @r"
      2 |   let größe = sqrt(x)
        |               ^^^^
    ");
    // A place of another text is in none of its lines.
    assert_eq!([marked(0, 1), marked(2, 0), marked(2, 90), marked(9, 1)], [None, None, None, None]);
}

#[test]
fn errors_of_names() {
    insta::assert_snapshot!(told("fn f(values: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, valeus) return s }"), @r"
    1:68: unknown name `valeus`
      1 | fn f(values: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, valeus) return s }
        |                                                                    ^^^^^^
      help: did you mean `values`?
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let s: f32 = fodl(|x, y| x + y, 0.0, a) return s }"), @r"
    1:39: there is no function or operation `fodl`
      1 | fn f(a: [n]f32) -> f32 { let s: f32 = fodl(|x, y| x + y, 0.0, a) return s }
        |                                       ^^^^
      help: did you mean `fold`?
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = sqr(x) return y }"), @r"
    1:31: there is no function or operation `sqr`
      1 | fn f(x: f32) -> f32 { let y = sqr(x) return y }
        |                               ^^^
      help: did you mean `sqrt`?
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = x let y = x return y }"), @r"
    1:37: `y` is bound already in this block
      1 | fn f(x: f32) -> f32 { let y = x let y = x return y }
        |                                     ^
      help: a block binds a name once; a size that a type names counts too
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32, n: i64) -> f32 { return n }"), @r"
    1:17: `n` is bound already in this block
      1 | fn f(a: [n]f32, n: i64) -> f32 { return n }
        |                 ^
      help: a block binds a name once; a size that a type names counts too
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32, f32 { return x, x }"), @r"
    1:38: two results are called `x`
      1 | fn f(x: f32) -> f32, f32 { return x, x }
        |                                      ^
      help: give one of them another name: `return other: x`
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> [k]f32 { return a }"), @r"
    1:21: unknown name `k`
      1 | fn f(a: [n]f32) -> [k]f32 { return a }
        |                     ^
      help: an extent that the program computes is written `?` here
    ");
    insta::assert_snapshot!(told(r#"fn f(a: [n]f32, u: f32) -> f32 { let c: f32 = foreign("g", |b: [m]f32| { let s = u + 1.0 return s }, a) return c }"#), @r#"
    1:82: unknown name `u`
      1 | fn f(a: [n]f32, u: f32) -> f32 { let c: f32 = foreign("g", |b: [m]f32| { let s = u + 1.0 return s }, a) return c }
        |                                                                                  ^
    "#);
}

#[test]
fn errors_of_types() {
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = 1.0 return x }"), @r"
    1:31: nothing tells the type of `1.0`
      1 | fn f(x: f32) -> f32 { let y = 1.0 return x }
        |                               ^^^
      help: append one of f16, f32, f64, such as `1.0f32`
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = x + 1 return y }"), @r"
    1:35: `1` is a whole number, and `f32` is expected
      1 | fn f(x: f32) -> f32 { let y = x + 1 return y }
        |                                   ^
      help: write `1.0`, or `1f32`
    ");
    insta::assert_snapshot!(told("fn f(x: u8) -> u8 { let y = x + 256 return y }"), @r"
    1:33: `256` does not fit in `u8`
      1 | fn f(x: u8) -> u8 { let y = x + 256 return y }
        |                                 ^^^
    ");
    insta::assert_snapshot!(told("fn f(x: f32, n: i64) -> f32 { let y = x * n return y }"), @r"
    1:43: expected `f32`, found `i64`
      1 | fn f(x: f32, n: i64) -> f32 { let y = x * n return y }
        |                                           ^
      help: `f32(…)` converts
    ");
    insta::assert_snapshot!(told("fn f(x: i32) -> i32 { let y = sqrt(x) return y }"), @r"
    1:31: `sqrt` is for floats, and `i32` is given
      1 | fn f(x: i32) -> i32 { let y = sqrt(x) return y }
        |                               ^^^^^^^
      help: `f32(x)` or `f64(x)` converts
    ");
    insta::assert_snapshot!(told("fn f(x: i32) -> i32 { let y = if x { 1 } else { x } return y }"), @r"
    1:34: expected `bool`, found `i32`
      1 | fn f(x: i32) -> i32 { let y = if x { 1 } else { x } return y }
        |                                  ^
      help: a comparison gives a `bool`
    ");
    insta::assert_snapshot!(told("fn f(x: f32, a: [n]f32) -> f32 { let y = x + a return y }"), @r"
    1:46: `a` is an array of rank 1, and a scalar is wanted
      1 | fn f(x: f32, a: [n]f32) -> f32 { let y = x + a return y }
        |                                              ^
      help: `a[i]` reads an element
    ");
    insta::assert_snapshot!(told("fn f(a: [n, m]f32) -> f32 { let y = a[0] return y }"), @r"
    1:37: `a` has rank 2, and 1 index is given
      1 | fn f(a: [n, m]f32) -> f32 { let y = a[0] return y }
        |                                     ^^^^
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y: [x]f32 = generate([3], |i| x) return x }"), @r"
    1:31: extents are `i64`, and `x` is a scalar of `f32`
      1 | fn f(x: f32) -> f32 { let y: [x]f32 = generate([3], |i| x) return x }
        |                               ^
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = i64(x) > 0xffffffffffffffff return x }"), @r"
    1:40: `0xffffffffffffffff` does not fit in `i64`
      1 | fn f(x: f32) -> f32 { let y = i64(x) > 0xffffffffffffffff return x }
        |                                        ^^^^^^^^^^^^^^^^^^
      help: its bits are written `bits_i64(0xffffffffffffffff)`
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let y = bool(x) return x }"), @r"
    1:31: `f32` does not convert to `bool`
      1 | fn f(x: f32) -> f32 { let y = bool(x) return x }
        |                               ^^^^^^^
      help: compare: `x != …`
    ");
}

#[test]
fn errors_of_operations() {
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> [n]f32 { let b = map(|x| x, a) return b }"), @r"
    1:33: `b` needs a type, as the result of an operation
      1 | fn f(a: [n]f32) -> [n]f32 { let b = map(|x| x, a) return b }
        |                                 ^
      help: `let b: [n]f32 = …`, or `let b: f32 = …` where it is one number
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x, y| x, a) return b }"), @r"
    1:49: this function takes 1 parameter here, and has 2
      1 | fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x, y| x, a) return b }
        |                                                 ^^^^^^^^
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| { return x, x }, a) return b }"), @r"
    1:62: this gives 2 results, and 1 is expected
      1 | fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| { return x, x }, a) return b }
        |                                                              ^^^^
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, a) return s }"), @r"
    1:39: `fold` of a function of 2 parameters takes 1 seed and 1 array, and 1 argument is given
      1 | fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, a) return s }
        |                                       ^^^^^^^^^^^^^^^^^^^^^
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, a, offset: a) return s }"), @r"
    1:66: `fold` has no argument called `offset`
      1 | fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, a, offset: a) return s }
        |                                                                  ^^^^^^
      help: did you mean `offsets`?
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let s: f32 = fold_seg(|x, y| x + y, 0.0, a) return s }"), @r"
    1:39: `fold_seg` needs `offsets: …`
      1 | fn f(a: [n]f32) -> f32 { let s: f32 = fold_seg(|x, y| x + y, 0.0, a) return s }
        |                                       ^^^^^^^^
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let s = 1.0 + fold(|x, y| x + y, 0.0, a) return s }"), @r"
    1:40: `fold` is an array operation, and this is scalar code
      1 | fn f(a: [n]f32) -> f32 { let s = 1.0 + fold(|x, y| x + y, 0.0, a) return s }
        |                                        ^^^^
      help: give its result a name before: `let x: … = fold(…)`
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| { let t: f32 = fold(|p, q| p + q, 0.0, a) return t }, 0.0, a) return s }"), @r"
    1:66: `fold` is an array operation, and this is scalar code
      1 | fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| { let t: f32 = fold(|p, q| p + q, 0.0, a) return t }, 0.0, a) return s }
        |                                                                  ^^^^
      help: only `map`, `generate`, `nest` and blocks hold array operations
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> [n]f32 { let s: [n]f32 = stencil(|x| x, a[1], a: clmp) return s }"), @r"
    1:69: `clmp` is no boundary
      1 | fn f(a: [n]f32) -> [n]f32 { let s: [n]f32 = stencil(|x| x, a[1], a: clmp) return s }
        |                                                                     ^^^^
      help: did you mean `clamp`?
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, n + 1) return s }"), @r"
    1:63: expected the name of a value
      1 | fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, n + 1) return s }
        |                                                               ^^^^^
      help: give it a name before: `let x = …`
    ");
    insta::assert_snapshot!(told("fn f(x: f32) -> f32 { let v = while(|v: f32| v > 1.0, |v: f32| v / 2.0, x) return v }"), @r"
    1:27: `v` needs a type, as the result of an operation
      1 | fn f(x: f32) -> f32 { let v = while(|v: f32| v > 1.0, |v: f32| v / 2.0, x) return v }
        |                           ^
      help: types tell the state; a loop of scalars stands in parentheses: `let x = (while(…))`
    ");
    insta::assert_snapshot!(told("fn f(a: stream f32) -> f32 { let s: f32 = consume(|i, x: f32| { return x }, a) return s }"), @r"
    1:63: the body of a `consume` ends with `yield`
      1 | fn f(a: stream f32) -> f32 { let s: f32 = consume(|i, x: f32| { return x }, a) return s }
        |                                                               ^^^^^^^^^^^^
      help: `yield elements(s)`, or tabulate, stream_out, accumulate
    ");
    insta::assert_snapshot!(told("fn f(a: [n]f32) -> f32 { let s: f32 = cluster(|| { let s: f32 = fold(|x, y| x + y, 0.0, a) return s }) return s }"), @r"
    1:52: a binding of a cluster has a mark instead of `let`
      1 | fn f(a: [n]f32) -> f32 { let s: f32 = cluster(|| { let s: f32 = fold(|x, y| x + y, 0.0, a) return s }) return s }
        |                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      help: marks are vertical, diagonal, horizontal, last
    ");
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let text = format!(
        "fn f(x: f32) -> f32 {{ {}let yy = x + ü {}return x }}",
        "let ä = x; ".repeat(20),
        "let z = x ".repeat(30)
    );
    insta::assert_snapshot!(told(&text), @r"
    1:38: `ä` is bound already in this block
      1 | fn f(x: f32) -> f32 { let ä = x; let ä = x; let ä = x; let ä = x; let ä = x; let ä = x; let ä = x; let ä = x; let ä =…
        |                                      ^
      help: a block binds a name once; a size that a type names counts too
    ");
    let name = "n".repeat(1_000_000);
    assert!(told(&format!("fn f(x: f32) -> f32 {{ return {name} }}")).len() < 1000);
}

#[test]
fn errors_carry_place_help_and_file() {
    let error = crate::text::parse_named("fn f(values: f32) -> f32 {\n  return vlaues }", "dir/p.fbx").unwrap_err();
    assert_eq!(error.place().to_string(), "dir/p.fbx:2:10");
    assert_eq!(error.message(), "unknown name `vlaues`");
    assert_eq!(error.help(), Some("did you mean `values`?"));
}

#[test]
fn nothing_where_something_is_expected() {
    for text in [
        "fn f() -> f32 { return }",
        "fn f(x: f32) -> { return x }",
        "fn f(x: f32, b: bool) -> f32 { let y = if b { return } else { return } return x }",
        "fn f(x: f32, b: bool) -> f32 { let y: f32 = if b { return } else { return } return x }",
        "fn f(x: f32, b: bool) -> f32 { let y = x + (if b { return } else { return }) return x }",
        "fn f(x: f32, b: bool) -> f32 { let y = 1.0 + (if b { return } else { return 1.0 }) return x }",
        "fn f(x: f32, b: bool) -> f32 { let y = (while(|| b, || { return })) return x }",
        "fn f(x: f32, b: bool) -> f32 { let y = (while(|| { return }, || { return })) return x }",
        "fn f(x: f32, b: bool) -> f32 { let y = (while(|v: f32| { return }, |v: f32| { return }, x)) return x }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| { return }, a) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|| 1.0) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = fold(|| { return }) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = fold(|x, y| { return }, 0.0, a) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = constant() return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = constant([[], [1.0]]) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = permute(|| { return }, (), (), at: ()) return c }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = permuted_expand(|| 1, || { return }, || { return }, (), a) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = sort(()) return c }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = consume(|| { yield elements() }) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = consume(|i| { yield accumulate(|| { return }) }) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = generate([n], |i| { let c: [n]f32 = compute(a) return }) return b }",
        "fn f(a: [n]f32) -> [n]f32 { let = a return a }",
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = element() return b }",
        "",
        "fn",
        "fn f",
    ] {
        assert!(told(text).len() > 20);
    }
}

/// What strangers wrote, and what they were told to write.
#[test]
fn strangers_are_told_what_to_write() {
    for (statements, help) in [
        ("let k = n - 1 let y: [n - 1]f32 = map(|x| x, xs)", "`let k = n - 1`, then `[k]f32`"),
        ("xs[0] = 1.0", "arrays do not change"),
        ("let y = if n % 2 = 0 { 1.0 } else { 2.0 }", "`==` compares"),
        ("let y: f32 = fold(max, 0.0, xs)", "`|a, b| max(a, b)`"),
        ("let y: f32 = fold(|a, b| a + b, 0.0, xs) / 2.0", "an operation on arrays stands alone"),
        ("let y: [n]i64 = map(|x| n * x, xs)", "to compute in `f32`, convert what is beside it: `f32(…)`"),
        ("let y: [?]f32 = filter(|x| x > 0.0, xs)", "`let k: i64, y: [k]f32 = filter(…)`"),
    ] {
        let error = parse(&format!("fn f(xs: [n]f32) -> [n]f32 {{\n{statements}\nreturn xs }}")).unwrap_err();
        assert!(error.help().unwrap_or_default().contains(help), "{statements}\n{error}");
    }
    let error = parse("fn f(xs: [n]f32) -> [k]f32 { return xs }").unwrap_err();
    assert!(error.help().unwrap_or_default().contains("is written `?` here"), "{error}");
}
