//! All errors of a text at once, and nothing that only follows from another one.

use super::super::{parse, parse_all};

fn told(text: &str) -> Vec<String> {
    let errors = parse_all(text, None).expect_err(text);
    errors.errors().iter().map(|error| format!("{}: {}", error.place(), error.message())).collect()
}

#[test]
fn statements_that_cannot_be_read_are_left_out() {
    let text = "fn f(xs: [n]f32, ys: [n]f32) -> [n]f32 {
  let a: [n]f32 = map(|x| x + , xs)
  let b: [n]f32 = map(|x, y| x * y, a, ys)
  let k = n / / 2
  let c: [k]f32 = generate([k], |i| b[i])
  let d: [n]f32 = mpa(|x| x, b)
  let e = sqrt(n)
  return e2 }";
    assert_eq!(
        told(text),
        [
            "2:31: expected a value, found `,`",
            "4:15: expected a value, found `/`",
            "6:19: there is no function or operation `mpa`",
            "7:11: `sqrt` is for floats, and `i64` is given",
            "8:10: unknown name `e2`",
        ]
    );
}

#[test]
fn what_a_broken_statement_binds_is_not_unknown() {
    for broken in [
        "let a: [n]f32 = map(|x| x + , xs)",
        "let k: i64, a: [k]f32 = filter(|x| x >, xs)",
        "let a: [n]f32, b = map(|x| { return x, y }, xs)",
        "let a: [n] f32 map(|x| x, xs)",
        "let a [n]f32 = map(|x| x, xs)",
        "let a: [n]f32 = map(|x| x @ 2.0, xs)",
        "let a: [n]f32 = map(|x| { let y = x + return y }, xs)",
        "let a: [n]f32 = map(|x| { let y = x }, xs)",
        "let a: [n]f32 = map(|x| { return x, xs)",
        "let a: [n]f32 = map(|x| x }, xs)",
        "let a: [n]f32 = map(|x| x, (xs)",
        "a := xs",
        "var a = xs",
        "let a: [n]f32 = mapp(|x| x, xs)",
        "let a: [n]f32 = map(|x| x + 1, xs)",
        "let a: [n]f32 = map(|x| zs, xs)",
    ] {
        let text = format!(
            "fn f(xs: [n]f32) -> [n]f32 {{\n  {broken}\n  let c: [n]f32 = map(|x, y| x + y, a, xs)\n  return c }}"
        );
        let errors = told(&text);
        assert_eq!(errors.len(), 1, "{text}\n{errors:#?}");
        assert!(errors[0].starts_with("2:") || errors[0].starts_with("3:3"), "{text}\n{errors:#?}");
    }
}

#[test]
fn functions_and_blocks_are_read_to_their_ends() {
    let text = "fn f(xs: [n]f32, b: bool) -> [n]f32 {
  let a: [n]f32 = map(|x| {
    let u = x +
    let v = x * 2
    let w = u + v
    let z = q
    return w + u }, xs)
  let c: [n]f32 = cond(b, || {
    let d: [n]f32 = map(|x| x y, xs)
    return d }, || {
    let e: [n]f32 = map(|x| p, xs)
    return e })
  return c }";
    assert_eq!(
        told(text),
        [
            "4:5: expected a value, found `let`",
            "6:13: unknown name `q`",
            "9:31: expected `,` or `)`, found `y`",
            "11:29: unknown name `p`",
        ]
    );
}

#[test]
fn types_of_statements_of_one_function() {
    let text = "fn f(x: f32, n: i64) -> f32 {
  let y = 1.0f32 + n
  let a: [n]f32 = generate([n], |i| {
    let u = x * i
    let v = i + 1.5
    return u })
  return y }";
    assert_eq!(
        told(text),
        [
            "2:20: expected `f32`, found `i64`",
            "4:17: expected `f32`, found `i64`",
            "5:17: `1.5` is a float, and `i64` is expected",
        ]
    );
}

#[test]
fn inputs_and_types_that_cannot_be_read() {
    let text = "fn f(xs: [n]float, ys: [m + 1, k]f32, n: i64, z: f32) -> [n]double {
  let a: [n]f32 = map(|x| x, xs)
  let b = z + w
  return a }";
    assert_eq!(
        told(text),
        [
            "1:13: expected an element type, found `float`",
            "1:27: expected `,` or `]`, found `+`",
            "1:61: expected an element type, found `double`",
            "3:15: unknown name `w`",
        ]
    );
    assert_eq!(
        told("def f(x: f32) -> f32 { let y = x + return y }"),
        ["1:1: expected `fn`, found `def`", "1:36: expected a value, found `return`",]
    );
}

#[test]
fn braces_that_do_not_fit_are_found_by_layout() {
    let open = "fn f(xs: [n]f32) -> [n]f32 {
  let a: [n]f32 = map(|x| {
    let y = x + 1.0
    return y
  , xs)
  let b = 1.5 + n
  return a }";
    assert_eq!(told(open), ["5:7: expected `}`, found `)`", "6:11: `1.5` is a float, and `i64` is expected"]);
    let close = "fn f(xs: [n]f32) -> [n]f32 {
  let a: [n]f32 = map(|x| x + 1.0 }, xs)
  let b = c
  return a }";
    assert_eq!(told(close), ["2:35: expected `,` or `)`, found `}`", "3:11: unknown name `c`"]);
}

#[test]
fn at_most_twenty_are_told() {
    let text = |k: usize| {
        let statements: String = (0..k).map(|i| format!("  let a{i} = b{i}x\n")).collect();
        parse_all(&format!("fn f(x: f32) -> f32 {{\n{statements}  return x }}"), Some("p.fbx")).unwrap_err()
    };
    let one = text(1);
    assert_eq!(one.to_string(), one.errors()[0].to_string());
    assert_eq!((text(20).errors().len(), text(20).more()), (20, 0));
    assert!(text(21).to_string().ends_with("\nand 1 more error"));
    let many = text(5000);
    assert_eq!((many.errors().len(), many.more()), (20, 4980));
    assert!(many.to_string().ends_with("\nand 4980 more errors"));
}

#[test]
fn nonsense_ends_soon() {
    let start = std::time::Instant::now();
    for piece in [
        "let x = ",
        "{ ",
        "} ",
        "let x = { ",
        "fn f(x: f32) -> f32 { ",
        "let a: [n]f32 = map(|x| { let y = ",
        "\"",
        "@",
        "return ",
        "(",
        "f(x: [",
        "let let\n",
    ] {
        for head in ["", "fn f(x: f32) -> f32 { ", "fn f("] {
            let errors = told(&format!("{head}{}", piece.repeat(50_000)));
            assert!(!errors.is_empty() && errors.len() <= 20);
        }
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

/// The places of tokens, and the tokens.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut lexer = super::super::lexer::Lexer::new(text);
    let mut tokens = Vec::new();
    while let Ok(token) = lexer.next() {
        if token.span.start == token.span.end {
            break;
        }
        tokens.push((token.span.start as usize, token.span.text(text)));
    }
    tokens
}

/// One thing wrong in a golden program, at each seventh token: at least one error, nearly always one alone, and the first where the mistake is.
#[test]
fn one_mistake_gives_one_error() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/programs");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts: Vec<_> = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let texts: Vec<_> = texts.iter().filter(|text| parse(text).is_ok()).collect();
    let (mut counts, mut before, mut near, mut planted) = ([0usize; 21], 0, 0, 0);
    let mut worst = (0, String::new());
    for (number, text) in texts.iter().enumerate() {
        let tokens = tokens(text);
        let body = tokens.iter().position(|(_, token)| *token == "{").unwrap_or(0) + 1;
        // Every seventh token, and other ones in the next program.
        for (at, (start, token)) in tokens.iter().enumerate().skip(body + number % 7).step_by(7) {
            let name = crate::is_name(token);
            let with = match at % 4 {
                0 => String::new(),
                1 if name => "nowhere".to_owned(),
                2 => format!("{token} )"),
                3 => "@".to_owned(),
                _ => format!("{token} {token}"),
            };
            let broken = format!("{}{with}{}", &text[..*start], &text[start + token.len()..]);
            let Err(errors) = parse_all(&broken, None) else { continue };
            planted += 1;
            let count = errors.errors().len();
            counts[count] += 1;
            if count > worst.0 {
                worst = (count, format!("{broken}\n{errors}"));
            }
            let line = 1 + text[..*start].matches('\n').count() as u32;
            let first = errors.errors()[0].place().line;
            before += usize::from(first < line);
            near += usize::from(first == line || first == line + 1);
        }
    }
    println!("{planted} planted; errors {counts:?}; {near} on the line or the next, {before} before\n{}", worst.1);
    let share = |of: usize| of as f64 / f64::from(planted);
    assert!(planted > 1000, "{planted}");
    assert!(share(counts[1]) > 0.9, "one error in {} of {planted}", counts[1]);
    assert!(share(counts[4..].iter().sum()) < 0.01, "more than three errors: {counts:?}");
    // What is missing from an operation is told where the operation begins.
    assert!(share(before) < 0.005 && share(near) > 0.98, "{near} of {planted} near, {before} before");
}
