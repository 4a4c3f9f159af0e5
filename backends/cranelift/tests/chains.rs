//! Reduces with one accumulator, where their association fixes no bit: exact functions, and choices of one of both operands.

use crate::common::{Random, every_schedule, plan};
use fusebox_ir::{
    Action, Array,
    ElementType::{F32, I32},
    Kernel, Statement,
};
use fusebox_schedule::{Form, Preferences, Schedule, Target, check as legal, schedule};

/// Extents around gangs, accumulators and blocks.
const SIZES: [[usize; 2]; 9] = [[0, 4], [1, 1], [3, 70], [16, 33], [17, 5], [70, 16], [130, 2], [4100, 3], [5, 4200]];

/// The place of the first smallest element, and of the first NaN before all.
const FIRST_SMALLEST: &str = "|x, i, y, j| {
       let right = !(x != x) && (y < x || y != y)
       let k = if right { y } else { x } let p = if right { j } else { i } return k, p }";

/// Programs on `[n, m]f32` and `[n, m]i32` that reduce columns, so that points of the rows are lanes.
fn programs() -> Vec<String> {
    let columns =
        "let t: [m, n]f32 = generate([m, n], |i, j| a[j, i]) let u: [m, n]i32 = generate([m, n], |i, j| b[j, i])";
    let places = "let p: [m, n]i64 = generate([m, n], |i, j| j)";
    vec![
        format!(
            "fn f(a: [n, m]f32, b: [n, m]i32) -> [m]i32 {{ {columns} let r: [m]i32 = fold(|x, y| x + y, 7, u) return r }}"
        ),
        format!(
            "fn f(a: [n, m]f32, b: [n, m]i32) -> [m]i32 {{ {columns} let r: [m]i32 = fold1(|x, y| x * y, u) return r }}"
        ),
        format!(
            "fn f(a: [n, m]f32, b: [n, m]i32) -> [m]f32 {{ {columns} let r: [m]f32 = fold1(|x, y| max(x, y), t) return r }}"
        ),
        format!(
            "fn f(a: [n, m]f32, b: [n, m]i32) -> [m]f32, [m]i64 {{ {columns} {places}
             let k: [m]f32, r: [m]i64 = fold1({FIRST_SMALLEST}, t, p) return k, r }}"
        ),
        format!(
            "fn f(a: [n, m]f32, b: [n, m]i32) -> [m]f32, [m]i64 {{ {columns} {places}
             let k: [m]f32, r: [m]i64 = fold({FIRST_SMALLEST}, 0.5, 1000000, t, p) return k, r }}"
        ),
        // From the last element on.
        format!(
            "fn f(a: [n, m]f32, b: [n, m]i32) -> [m]f32, [m]i64 {{ {columns} {places}
             let v: [m, n]f32 = generate([m, n], |i, j| t[i, n - 1 - j]) let q: [m, n]i64 = generate([m, n], |i, j| n - 1 - j)
             let k: [m]f32, r: [m]i64 = fold1({FIRST_SMALLEST}, v, q) return k, r }}"
        ),
        // Along the rows, with what is exact and what rounds beside it.
        "fn f(a: [n, m]f32, b: [n, m]i32) -> [n]f32, [n]i32 {
         let s: [n]f32, r: [n]i32 = cluster(|| {
           horizontal s: [n]f32 = fold(|x, y| x + y, 0.0, a)
           last r: [n]i32 = fold(|x, y| max(x, y), -5, b)
           return s, r })
         return s, r }"
            .to_owned(),
    ]
}

fn inputs() -> Vec<Vec<Array>> {
    let mut random = Random(47);
    let one = |extents: &[usize; 2]| {
        let values = random.array(F32, extents);
        // Equal ones, NaN and zeros of both signs.
        let values = values.as_slice::<f32>().unwrap().iter().enumerate().map(|(at, &value)| match at % 41 {
            3 | 9 => -2.0,
            17 if at % 3 == 1 => f32::NAN,
            21 => -0.0,
            22 => 0.0,
            _ => value,
        });
        let values = Array::new(extents, &values.collect::<Vec<_>>()).unwrap();
        vec![values, random.array(I32, extents)]
    };
    SIZES.iter().map(one).collect()
}

#[test]
fn one_accumulator_has_the_bits_of_many() {
    for source in programs() {
        let seen = every_schedule(&source, &inputs(), &["chain "]);
        assert!(seen[0] > 0, "{source}");
    }
}

fn kernel(source: &str) -> Kernel {
    plan(source).kernels.pop().unwrap()
}

#[test]
fn chains_are_refused_with_the_reason() {
    let target = Target::named("avx2").unwrap();
    for (function, seed, to, reason) in [
        ("x + y", "0.0", "[n]", "how elements are grouped"),
        ("x * 0.5 + y", "0.0", "[n]", "how elements are grouped"),
        ("max(x, y)", "0.0", "[]", "threads have results of blocks"),
        ("max(x, y)", "0.0", "[n]", ""),
    ] {
        let (from, result) = if to == "[]" { ("[n]f32", "f32") } else { ("[n, m]f32", "[n]f32") };
        let source = format!(
            "fn f(a: {from}) -> {result} {{ let r: {result} = fold(|x, y| {function}, {seed}, a, commutes: true) return r }}"
        );
        let kernel = kernel(&source);
        let wanted = Preferences { chains: Some(false), gang: Some(None), ..Preferences::default() };
        let usual = schedule(&kernel, &target, wanted).schedule;
        let reduces = |statement: &Statement| matches!(statement.action, Action::Reduce { .. });
        let statement = kernel.statements.iter().position(reduces).unwrap() as u32;
        for (times, reason) in [(1, reason), (2, "named twice")] {
            let mut edited = usual.clone();
            edited.versions[0].nest.forms.extend(vec![Form::Chain { statement }; times]);
            assert_eq!(Schedule::parse(&edited.to_text(&kernel), &kernel).as_ref(), Ok(&edited));
            let said = legal(&kernel, &edited, &target);
            let said = said.map_or_else(|faults| format!("{faults:?}"), |()| String::new());
            assert!(said.contains(reason) && said.is_empty() == reason.is_empty(), "{source}\n{said}");
            let gpu = Target::named("sm_90").unwrap();
            let mut of_a_gpu = schedule(&kernel, &gpu, Preferences::default()).schedule;
            of_a_gpu.versions[0].nest.forms.extend(edited.versions[0].nest.forms.clone());
            let said = format!("{:?}", legal(&kernel, &of_a_gpu, &gpu));
            assert!(said.contains("one accumulator on processors"), "{said}");
        }
    }
}
