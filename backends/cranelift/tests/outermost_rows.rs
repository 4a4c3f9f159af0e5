//! The outermost level as a row: what its steps combine, of all lengths around gangs, iterations and blocks; and boundaries along it, of which each
//! gang asks where they are.

use crate::common::{Random, changed, every_schedule, plan};
use fusebox_ir::{
    Array,
    ElementType::{self, Bool, F32, F64, I8, I64, U8, U16},
};
use fusebox_schedule::Preferences;

/// Steps around gangs, iterations, where rows with a border end, and blocks.
const STEPS: [usize; 22] = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 65, 255, 256, 257, 4095, 4096, 4097];

/// What a schedule says where the outermost level is a row.
const ROW: &str = "remainder masked";

fn inputs(elements: &[ElementType]) -> Vec<Vec<Array>> {
    let mut random = Random(47);
    let one = |&steps: &usize| elements.iter().map(|&element| random.array(element, &[steps])).collect();
    STEPS.iter().map(one).collect()
}

#[test]
fn what_few_steps_combine() {
    for (element, function, seed) in [
        (F32, "x + y", "0.5"),
        (F32, "min(x, y)", "inf_f32"),
        (F64, "x * y", "1.0"),
        (I64, "x + y", "7"),
        (I8, "max(x, y)", "-3"),
        (U16, "x ^ y", "1"),
        (U8, "x & y", "255"),
        (Bool, "x || y", "false"),
        (Bool, "x & y", "true"),
        (Bool, "max(x, y)", "false"),
        (Bool, "x != y", "true"),
    ] {
        let source = format!(
            "fn f(a: [n]{element}) -> {element} {{
                 let s: {element} = fold(|x, y| {function}, {seed}, a)
                 return s }}"
        );
        let [rows] = every_schedule(&source, &inputs(&[element]), &[ROW])[..] else { panic!("one form") };
        assert!(rows >= 2, "{source}");
    }
}

/// Several reduces, what comes behind them, and elements that are stored.
#[test]
fn several_that_few_steps_combine() {
    let source = "fn f(a: [n]f32, b: [n]f32) -> f32, f32, [n]f32 {
      let s: f32, m: f32, c: [n]f32 = cluster(|| {
        vertical p: [n]f32 = map(|x, y| x * y, a, b)
        last sum: f32 = fold(|x, y| x + y, 1.0, p)
        last most: f32 = fold(|x, y| max(x, y), -inf_f32, b)
        last c: [n]f32 = map(|x| x + 1.0, p)
        return sum, most, c })
      return s, m, c }";
    let [rows] = every_schedule(source, &inputs(&[F32, F32]), &[ROW])[..] else { panic!("one form") };
    assert!(rows >= 2);
}

/// Steps that go through a loop of scalars, which elements agree on or do not; elements are stored, or put somewhere, each place once.
#[test]
fn what_few_steps_of_loops_make() {
    let counts = "vertical rank: [n]i64 = generate([n], |p| {
      let x = a[p]
      let q, at = while(|q: i64, at: i64| q < n, |q: i64, at: i64| {
        let y = a[q]
        return q + 1, at + i64((y < x) | (y == x) & (q < p)) }, 0i64, 0i64)
      return at })";
    let bisects = "let rank: [n]i64 = generate([n], |p| {
      let x = a[p]
      let low, high = while(|low: i64, high: i64| low < high, |low: i64, high: i64| {
        let middle = low + high >> 1
        return if a[middle] < x { middle + 1 } else { low }, if a[middle] < x { high } else { middle } }, 0i64, n)
      return low })";
    let sorted = "last sorted: [n]T = permute(|new, old| new, a, a, at: rank, unique: true)";
    // Too many for a test of counting, and as many as a block.
    let few = |all: Vec<Vec<Array>>| all.into_iter().take(19).collect::<Vec<_>>();
    for element in [F32, I64, U16, I8] {
        let put = format!(
            "fn f(a: [n]{element}) -> [n]{element} {{
                let s: [n]{element} = cluster(|| {{ {counts} {sorted} return sorted }}) return s }}"
        );
        let found = format!("fn f(a: [n]{element}) -> [n]i64 {{ {bisects} return rank }}");
        for (source, inputs) in [(put, few(inputs(&[element]))), (found, inputs(&[element]))] {
            let source = source.replace("[n]T", &format!("[n]{element}"));
            let [rows] = every_schedule(&source, &inputs, &[ROW])[..] else { panic!("one form") };
            assert!(rows >= 1, "{source}");
        }
    }
}

/// Elements at the ends take the place of those beyond, however far away these are.
#[test]
fn boundaries_along_few_steps() {
    for (element, taps, boundary) in [
        (I64, "v[-1], v[0], v[1]", "clamp"),
        (F32, "v[-3], v[0], v[2]", "clamp"),
        (F64, "v[0], v[1], v[20]", "clamp"),
        (I8, "v[-1], v[0], v[1]", "clamp"),
        (U16, "v[-40], v[-9], v[0]", "clamp"),
        (F32, "v[-1], v[0], v[1]", "wrap"),
        (I64, "v[-2], v[0], v[5]", "mirror"),
        (F64, "v[-1], v[0], v[1]", "constant(2.0)"),
        (I64, "v[-2], v[0], v[3]", "function(|i| i * 3)"),
        (F32, "v[-9], v[0], v[20]", "function(|i| f32(i))"),
    ] {
        let source = format!(
            "fn f(v: [n]{element}) -> {element}, [n]{element} {{
               let s: {element}, w: [n]{element} = cluster(|| {{
                 diagonal w: [n]{element} = stencil(|l, x, r| max(min(l, x), r), {taps}, v: {boundary})
                 last s: {element} = fold(|x, y| max(x, y), 0, w)
                 return s, w }})
               return s, w }}"
        );
        let source = if element.is_float() { source.replace(", 0, w", ", 0.0, w") } else { source };
        let [rows] = every_schedule(&source, &inputs(&[element]), &[ROW])[..] else { panic!("one form") };
        assert!(rows >= 1, "{source}");
    }
}

/// Inner levels are rows with boundaries, too, where that is asked for: along both directions of a picture.
#[test]
fn boundaries_along_rows_of_a_picture() {
    for boundary in ["clamp", "constant(0.5)", "function(|i, j| f32(i - 2 * j))"] {
        let source = format!(
            "fn f(a: [m, n]f32) -> [m]f32 {{
      let s: [m]f32 = cluster(|| {{
        vertical w: [m, n]f32 = stencil(|u, l, x, r, d| (l - x) * (x - r) + (u - d), a[-1, 0], a[0, -2], a[0, 0], a[0, 1], a[3, 0], a: {boundary})
        last s: [m]f32 = fold(|x, y| x + y, 0.0, w)
        return s }})
      return s }}"
        );
        let mut random = Random(53);
        let shapes = [[1, 1], [0, 5], [5, 0], [7, 2], [3, 16], [5, 31], [6, 33], [4, 200], [2, 4097]];
        let inputs: Vec<_> = shapes.iter().map(|shape| vec![random.array(F32, shape)]).collect();
        let [rows] = every_schedule(&source, &inputs, &[ROW])[..] else { panic!("one form") };
        assert!(rows >= 1, "{boundary}");
    }
}

#[test]
fn they_are_refused_with_the_reason() {
    let of = |source: &str| plan(source).kernels.pop().unwrap();
    let sum = of("fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, a) return s }");
    let change = |changes: &[(&str, &str)]| changed(&sum, "avx512", Preferences::default(), changes);
    assert_eq!(change(&[]), "accepted");
    let longer = change(&[("when x < 4097", "when x < 5000")]);
    assert!(longer.contains("level 0 is no row: it may have more than 4096 steps"), "{longer}");
    let few = of("fn f(a: [3000]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, a) return s }");
    let change = |by: &str| changed(&few, "avx512", Preferences::default(), &[("shares of 4096", by)]);
    assert_eq!(change("shares of 3008"), "accepted");
    let shorter = change("shares of 64");
    assert!(shorter.contains("shares of 64 steps end inside of a row, of which there is one result"), "{shorter}");
    let pairs = of("fn f(a: [n]f32) -> f32, i64 {
        let i: [n]i64 = generate([n], |j| j)
        let m: f32, at: i64 = fold1(|x, i, y, j| {
          let first = x <= y
          return if first { x } else { y }, if first { i } else { j } }, a, i)
        return m, at }");
    let text = changed(&pairs, "avx512", Preferences::default(), &[]);
    assert_eq!(text, "accepted");
}
