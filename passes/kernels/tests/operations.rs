//! Every operation at several ranks and every element type: plans give what programs give.

use crate::strict::lower;
use fusebox_ir::{Array, ElementType, Value, text, validate_plan};
use fusebox_kernels::Config;

const SIZES: [i64; 7] = [0, 1, 3, 64, 65, 200, 4100];

/// Compares; floats may differ by what association allows.
fn same(source: &str, inputs: &[Value]) {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    fusebox_ir::validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    let (plan, _) = lower(&program, &Config::default()).unwrap();
    validate_plan(&plan).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    let expected =
        fusebox_interp::run(&program, inputs).unwrap_or_else(|error| panic!("the program: {error}\n{source}"));
    let (results, _) =
        fusebox_interp::run_plan(&plan, inputs).unwrap_or_else(|error| panic!("the plan: {error}\n{source}"));
    for (expected, result) in expected.iter().zip(&results) {
        let (Value::Array(expected), Value::Array(result)) = (expected, result) else { panic!("arrays") };
        assert_eq!(expected.extents(), result.extents(), "{source}");
        assert_eq!(expected.element(), result.element(), "{source}");
        let epsilon = match expected.element() {
            ElementType::F16 => 2e-2,
            ElementType::F32 => 1e-4,
            _ => 1e-9,
        };
        let near = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= epsilon * b.abs().max(1.0);
        let equal = expected.constants().zip(result.constants()).all(|(a, b)| match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => near(a, b),
            _ => a == b,
        });
        assert!(equal, "{result:?} where {expected:?} is meant\n{source}");
    }
}

fn number(value: i64) -> Value {
    Value::Array(Array::scalar(value))
}

/// An expression of type `ty` made of the `i64` called `i`: small numbers of both signs.
fn element(ty: ElementType, i: &str) -> String {
    match ty {
        ElementType::Bool => format!("mod({i} * 7, 3) == 1"),
        _ if ty.is_float() => format!("{ty}(mod({i} * 7, 11) - 5) / {ty}(4)"),
        _ => format!("{ty}(mod({i} * 7, 11) - 5)"),
    }
}

fn sum(ty: ElementType) -> &'static str {
    if ty == ElementType::Bool { "x ^ y" } else { "x + y" }
}

fn seed(ty: ElementType) -> String {
    if ty == ElementType::Bool { "true".to_owned() } else { format!("3{ty}").replace("3f", "3.0f") }
}

#[test]
fn folds_and_scans_of_every_type() {
    for ty in ElementType::ALL {
        let (e, f, s) = (element(ty, "i"), sum(ty), seed(ty));
        let source = format!(
            "fn f(n: i64) -> {ty}, {ty}, {ty}, [?]{ty}, [?]{ty}, [?]{ty}, {ty}, [?]{ty}, [?]{ty}, [?]{ty}, {ty} {{
               let a: [n]{ty} = generate([n], |i| {e})
               let m = n + 1
               let s: {ty} = fold(|x, y| {f}, {s}, a)
               let t: {ty} = fold(|x, y| min(y, x), {s}, a)
               let u: {ty} = fold(|x, y| if x < y {{ y }} else {{ x }}, {s}, a)
               let l: [m]{ty} = scanl(|x, y| {f}, {s}, a)
               let l1: [n]{ty} = scanl1(|x, y| {f}, a)
               let lb: [n]{ty}, lt: {ty} = scanl'(|x, y| {f}, {s}, a)
               let r: [m]{ty} = scanr(|x, y| {f}, {s}, a)
               let r1: [n]{ty} = scanr1(|x, y| {f}, a)
               let rb: [n]{ty}, rt: {ty} = scanr'(|x, y| {f}, {s}, a)
               return s, t, u, l, l1, lb, lt, r, r1, rb, rt }}"
        );
        let long = [ElementType::I32, ElementType::F32, ElementType::F64].contains(&ty);
        for n in if long { SIZES.to_vec() } else { vec![0, 1, 5, 40] } {
            same(&source, &[number(n)]);
        }
    }
}

#[test]
fn functions_that_do_not_commute_keep_their_order() {
    let source = "fn f(n: i64, k: i64) -> i64, i64, [?]i64, [?]i64, [?]i64, [?]i64, [?]i64, [?]i64 {
        let a: [n]i64, b: [n]i64 = generate([n], |i| { return i % 5 - 2, i % 7 })
        let m = n + 1
        let p: i64, q: i64 = fold(|x, y, u, v| { return x * u, y * u + v }, 3, 1, a, b)
        let c: [m]i64, d: [m]i64 = scanl(|x, y, u, v| { return x * u, y * u + v }, 3, 1, a, b)
        let e: [m]i64, g: [m]i64 = scanr(|x, y, u, v| { return x * u, y * u + v }, 3, 1, a, b)
        let r: [k, n]i64, s: [k, n]i64 = generate([k, n], |j, i| { return j + i % 5 - 2, i % 7 })
        let t: [k]i64, w: [k]i64 = fold(|x, y, u, v| { return x * u, y * u + v }, 1, 0, r, s)
        return p, q, c, d, e, g, t, w }";
    for n in SIZES {
        same(source, &[number(n), number(3)]);
    }
    let first = "fn f(n: i64) -> [?]i64, [?]i64 { let a: [3, n]i64 = generate([3, n], |j, i| j * 100 + i)
        let b: [3]i64 = fold1(|x, y| x, a) let c: [3]i64 = fold1(|x, y| y, a) return b, c }";
    for n in [1, 2, 63, 64, 65, 4096, 4097] {
        same(first, &[number(n)]);
    }
}

#[test]
fn segments_of_every_type() {
    for ty in ElementType::ALL {
        let (e, f, s) = (element(ty, "i"), sum(ty), seed(ty));
        let source = format!(
            "fn f(lengths: [k]i64) -> [?]{ty}, [?]{ty}, [?]{ty}, [?]{ty}, [?]{ty}, [?]{ty}, [?]{ty}, [?]{ty}, [?]{ty}, [?]{ty} {{
               let m = k + 1
               let o: [m]i64 = scanl(|x, y| x + y, 0, lengths)
               let o32: [m]i32 = map(|x| i32(x), o)
               let n = o[k]
               let z = n + k
               let a: [n]{ty} = generate([n], |i| {e})
               let s: [k]{ty} = fold_seg(|x, y| {f}, {s}, a, offsets: o32)
               let t: [k]{ty} = fold_seg(|x, y| if x < y {{ y }} else {{ x }}, {s}, a, offsets: o)
               let l: [z]{ty} = scanl_seg(|x, y| {f}, {s}, a, offsets: o)
               let l1: [n]{ty} = scanl1_seg(|x, y| {f}, a, offsets: o)
               let lb: [n]{ty}, lt: [k]{ty} = scanl'_seg(|x, y| {f}, {s}, a, offsets: o)
               let r: [z]{ty} = scanr_seg(|x, y| {f}, {s}, a, offsets: o)
               let r1: [n]{ty} = scanr1_seg(|x, y| {f}, a, offsets: o32)
               let rb: [n]{ty}, rt: [k]{ty} = scanr'_seg(|x, y| {f}, {s}, a, offsets: o)
               return s, t, l, l1, lb, lt, r, r1, rb, rt }}"
        );
        for lengths in [&[][..], &[0], &[0, 0], &[3, 0, 1, 20], &[70, 1, 0, 64]] {
            same(&source, &[Value::Array(Array::new::<i64>(&[lengths.len()], lengths).unwrap())]);
        }
    }
    // Rows in which the same segments are cut.
    same(
        "fn f(n: i64) -> [?, ?]i64, [?, ?]i64, [?, ?]i64 {
           let o: [4]i64 = constant([0, 2, 2, 7]) let a: [n, 7]i64 = generate([n, 7], |i, j| i * 10 + j)
           let s: [n, 3]i64 = fold_seg(|x, y| x + y, 0, a, offsets: o)
           let l: [n, 10]i64 = scanl_seg(|x, y| x + y, 1, a, offsets: o)
           let r: [n, 10]i64 = scanr_seg(|x, y| x + y, 1, a, offsets: o) return s, l, r }",
        &[number(3)],
    );
    // Segments whose loops gather, short and long.
    for n in [0i64, 5, 63, 64, 300] {
        same(
            "fn f(n: i64) -> [?]f32 { let m = 2 * n let o: [3]i64 = generate([3], |i| i * n)
               let x: [m]f32 = generate([m], |i| f32(i % 9) / 8.0) let at: [m]i64 = generate([m], |i| m - 1 - i)
               let y: [m]f32 = map(|i| x[i], at) let s: [2]f32 = fold_seg(|a, b| a + b, 0.0, y, offsets: o) return s }",
            &[number(n)],
        );
    }
}

#[test]
fn every_rank() {
    for rank in 0..=8usize {
        let extents: Vec<String> =
            (0..rank).map(|d| if d % 3 == 1 { "n".to_owned() } else { "2".to_owned() }).collect();
        let reversed: Vec<String> = extents.iter().rev().cloned().collect();
        let params: Vec<String> = (0..rank).map(|d| format!("i{d}")).collect();
        let shape =
            |extents: &[String]| if extents.is_empty() { String::new() } else { format!("[{}]", extents.join(", ")) };
        let (s, r) = (shape(&extents), shape(&reversed));
        let list = |items: &[String]| format!("[{}]", items.join(", "));
        let value =
            params.iter().enumerate().fold("1".to_owned(), |sum, (d, i)| format!("{sum} + {i} * {}", d * d + 1));
        let bars = if params.is_empty() { "||".to_owned() } else { format!("|{}|", params.join(", ")) };
        let back: Vec<String> = params.iter().rev().cloned().collect();
        let any = if rank == 0 { String::new() } else { format!("[{}]", vec!["?"; rank].join(", ")) };
        let mut body = format!("let a: {s}i64 = generate({}, {bars} {value})\n", list(&extents));
        let mut results = vec!["a".to_owned()];
        let mut types = vec![format!("{any}i64")];
        let mut add = |line: String, name: &str, ty: String| {
            body.push_str(&line);
            body.push('\n');
            results.push(name.to_owned());
            types.push(ty);
        };
        let there = if rank == 1 { back[0].clone() } else { format!("{{ return {} }}", back.join(", ")) };
        add(format!("let m: {s}i64 = map(|x| x * x, a)"), "m", format!("{any}i64"));
        add(format!("let c: {s}i64 = compute(m)"), "c", format!("{any}i64"));
        if rank > 0 {
            add(
                format!("let b: {r}i64 = backpermute({}, {bars_back} {there}, a)", list(&reversed), bars_back = bars),
                "b",
                format!("{any}i64"),
            );
            add(
                format!("let t: {r}i64 = transform({}, {bars} {there}, |x| x + 1, a)", list(&reversed)),
                "t",
                format!("{any}i64"),
            );
            let outer = shape(&extents[..rank - 1]);
            let fewer = if rank == 1 { String::new() } else { format!("[{}]", vec!["?"; rank - 1].join(", ")) };
            add(format!("let f: {outer}i64 = fold(|x, y| x + y, 5, a)"), "f", format!("{fewer}i64"));
            add(format!("let l: {s}i64 = scanl1(|x, y| x + y, a)"), "l", format!("{any}i64"));
            add(format!("let lb: {s}i64, lt: {outer}i64 = scanr'(|x, y| x + y, 5, a)"), "lb", format!("{any}i64"));
            let mut fixed: Vec<String> = vec!["_".to_owned(); rank];
            fixed[0] = "1".to_owned();
            let inner = shape(&extents[1..]);
            add(format!("let v: {inner}i64 = slice({}, a)", list(&fixed)), "v", format!("{fewer}i64"));
            let mut dims: Vec<String> = vec!["_".to_owned(); rank];
            dims[rank / 2] = "3".to_owned();
            let mut more = extents.clone();
            more.remove(rank / 2);
            let few = shape(&more);
            more.insert(rank / 2, "3".to_owned());
            let zeros: Vec<String> = params.iter().skip(1).cloned().collect();
            let bars_few = if zeros.is_empty() { "||".to_owned() } else { format!("|{}|", zeros.join(", ")) };
            let mut few_extents = extents.clone();
            few_extents.remove(rank / 2);
            add(
                format!("let q: {few}i64 = generate({}, {bars_few} 7)", list(&few_extents)),
                "q",
                format!("{fewer}i64"),
            );
            add(format!("let w: {}i64 = replicate({}, q)", shape(&more), list(&dims)), "w", format!("{any}i64"));
            let dim = rank - 1;
            let last = &extents[dim];
            let mut wide = extents.clone();
            wide[dim] = "k".to_owned();
            add(
                format!(
                    "let k = {last} + 0i64 + {last} let cc: {}i64 = concat(a, m{})",
                    shape(&wide),
                    if rank > 1 { format!(", dim: {dim}") } else { String::new() }
                ),
                "cc",
                format!("{any}i64"),
            );
            let offsets: Vec<String> = (0..rank).map(|d| if d % 2 == 0 { "-1" } else { "2" }.to_owned()).collect();
            add(
                format!(
                    "let st: {s}i64 = stencil(|x, y| x - y, a[{}], a[{}], a: mirror)",
                    offsets.join(", "),
                    vec!["0"; rank].join(", ")
                ),
                "st",
                format!("{any}i64"),
            );
            let targets: Vec<String> = (0..rank).map(|d| format!("t{d}")).collect();
            for (d, target) in targets.iter().enumerate() {
                body.push_str(&format!(
                    "let {target}: {s}i64 = generate({}, {bars} {} - 1 - i{d})\n",
                    list(&extents),
                    extents[d]
                ));
            }
            let at = if rank == 1 { targets[0].clone() } else { format!("({})", targets.join(", ")) };
            let line = format!("let pm: {s}i64 = permute(|x, y| x + y, a, m, at: {at})");
            body.push_str(&line);
            body.push('\n');
            results.push("pm".to_owned());
            types.push(format!("{any}i64"));
        } else {
            add("let p: i64 = permute(|x, y| x + y, a, m, at: ())".to_owned(), "p", "i64".to_owned());
            add("let w: [2, 3]i64 = replicate([2, 3], a)".to_owned(), "w", "[2, 3]i64".to_owned());
            add("let u: [1]i64 = reshape([1], a)".to_owned(), "u", "[1]i64".to_owned());
        }
        let source = format!("fn f(n: i64) -> {} {{\n{body}return {} }}", types.join(", "), results.join(", "));
        for n in [0, 1, 2] {
            same(&source, &[number(n)]);
        }
    }
}

#[test]
fn conversions_and_arithmetic_of_every_type() {
    let numbers: Vec<ElementType> = ElementType::ALL.into_iter().filter(|ty| ty.is_number()).collect();
    for &from in &numbers {
        let base = match from {
            _ if from.is_float() => {
                format!("{from}(i - 40) * {from}(1000) * {from}(i - 40) * {from}(i - 3) / {from}(7)")
            }
            _ => format!("{from}(i - 40) * {from}(i - 3) * {from}(123) * {from}(i * i)"),
        };
        let mut lines = format!("let a: [80]{from} = generate([80], |i| {base})\n");
        let mut results = Vec::new();
        let mut types = Vec::new();
        for &to in &numbers {
            lines.push_str(&format!("let to_{to}: [80]{to} = map(|x| {to}(x), a)\n"));
            results.push(format!("to_{to}"));
            types.push(format!("[80]{to}"));
        }
        let mut functions = vec![
            "x + y",
            "x - y",
            "x * y",
            "min(x, y)",
            "max(x, y)",
            "abs(x)",
            "sign(x)",
            "-x",
            "if x < y { x } else { y }",
        ];
        if from.is_float() {
            functions.extend(["x / y", "fma(x, y, x)", "floor(x)", "round(x)", "sqrt(abs(x))"]);
        } else {
            functions.extend([
                "x & y",
                "x | y",
                "x ^ y",
                "~x",
                "x << (y & T(3))",
                "x >> (y & T(3))",
                "popcount(x)",
                "clz(x)",
                "rotate_left(x, y & T(7))",
            ]);
            functions.extend(["x / (y | T(1))", "x % (y | T(1))", "div(x, y | T(1))", "mod(x, y | T(1))"]);
        }
        lines.push_str(&format!("let b: [80]{from} = backpermute([80], |i| 79 - i, a)\n"));
        for (number, function) in functions.iter().enumerate() {
            let function = function.replace("T(", &format!("{from}("));
            lines.push_str(&format!("let g{number}: [80]{from} = map(|x, y| {function}, a, b)\n"));
            results.push(format!("g{number}"));
            types.push(format!("[80]{from}"));
        }
        for (number, compare) in ["<", "<=", "==", "!=", ">", ">="].iter().enumerate() {
            lines.push_str(&format!("let h{number}: [80]bool = map(|x, y| x {compare} y, a, b)\n"));
            results.push(format!("h{number}"));
            types.push("[80]bool".to_owned());
        }
        same(&format!("fn f() -> {} {{\n{lines}return {} }}", types.join(", "), results.join(", ")), &[]);
    }
}

#[test]
fn half_precision_rounds_once() {
    // Every one of these rounds; through f32 and f64 the bits are those of one rounding.
    same(
        "fn f() -> [64, 64]f16, [64, 64]f16, [64, 64]f16, [64, 64]f16, [64, 64]f16 {
           let a: [64, 64]f16 = generate([64, 64], |i, j| bits_f16(u16(i * 997 + j * 31)))
           let b: [64, 64]f16 = generate([64, 64], |i, j| bits_f16(u16(i * 131 + j * 1009)))
           let c: [64, 64]f16 = generate([64, 64], |i, j| bits_f16(u16(i * 37 + j * 613 + 5)))
           let s: [64, 64]f16, p: [64, 64]f16, q: [64, 64]f16, m: [64, 64]f16, r: [64, 64]f16 =
             map(|x, y, z| { return x + y, x * y, x / y, fma(x, y, z), sqrt(x) }, a, b, c)
           return s, p, q, m, r }",
        &[],
    );
    same(
        "fn f() -> [300]f16, [300]f16, [300]f16 {
           let a: [300]f16 = generate([300], |i| f16((i - 150) * 443 + 1)) let b: [300]f16 = generate([300], |i| f16(u32(i) * 14316557u32))
           let c: [300]f16 = generate([300], |i| f16(1i64 << (i % 70))) return a, b, c }",
        &[],
    );
}

#[test]
fn sizes_that_only_running_tells() {
    let source = "fn f(a: [n]i64) -> i64, [?]i64, [?]i64, i64, [?]i64, [?]f32, [?]i64, [?]i64 {
        let k: i64, v: [k]i64, w: [k]i64 = filter(|x, y| x > y, a, b)
        let t: i64, e: [t]i64, g: [t]f32 = expand(|x| x - 1, |x, j| { return x * 10 + j, f32(j) / 2.0 }, v)
        let s: [k]i64, c: [k]i64 = sort(v, carry: w)
        return k, v, w, t, e, g, s, c }"
        .replace("let k:", "let b: [n]i64 = map(|x| x % 3, a) let k:");
    for list in [&[][..], &[1], &[5, 0, 2, 8, -3, 4, 4, 1], &[0, 0, -1]] {
        same(&source, &[Value::Array(Array::new::<i64>(&[list.len()], list).unwrap())]);
    }
}
