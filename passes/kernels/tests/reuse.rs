//! Memory of plans: what is written over what, and how many bytes are live at most.

use crate::strict::lower;
use fusebox_interp::Counts;
use fusebox_ir::{
    Array, Plan, Program, Step, Value,
    generate::{Config as Generated, inputs, program},
    text, validate_plan,
};
use fusebox_kernels::Config;

fn plan_of(program: &Program) -> Plan {
    let (plan, _) = lower(program, &Config::default()).unwrap_or_else(|error| panic!("{error}\n{program}"));
    validate_plan(&plan).unwrap_or_else(|errors| panic!("{errors}\n{plan}"));
    plan
}

fn plan(source: &str) -> Plan {
    plan_of(&text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}")))
}

/// Every step, those in branches and loops too.
fn steps(plan: &Plan) -> Vec<&Step> {
    let mut all = Vec::new();
    let mut lists = vec![&plan.steps[..]];
    while let Some(steps) = lists.pop() {
        all.extend(steps);
        lists.extend(steps.iter().flat_map(Step::inner));
    }
    all
}

/// `b over a` for each value that takes over another, in order of values.
fn over(plan: &Plan) -> Vec<String> {
    let name = |id: &fusebox_ir::ValueId| plan.values[id.index()].name.clone();
    let mut pairs: Vec<_> = steps(plan)
        .into_iter()
        .filter_map(|step| match step {
            Step::Allocate { value, in_place_of: Some(source), .. } => {
                Some((*value, format!("{} over {}", name(value), name(source))))
            }
            _ => None,
        })
        .collect();
    pairs.sort();
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

fn run(plan: &Plan, inputs: &[Value]) -> (Vec<Value>, Counts) {
    fusebox_interp::run_plan(plan, inputs).unwrap_or_else(|error| panic!("{error}\n{plan}"))
}

fn without_reuse(plan: &Plan) -> Plan {
    fn apart(steps: &mut [Step]) {
        for step in steps {
            match step {
                Step::Allocate { in_place_of, .. } => *in_place_of = None,
                Step::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|steps| apart(steps)),
                Step::While { condition_steps, body, .. } => {
                    [condition_steps, body].into_iter().for_each(|steps| apart(steps));
                }
                _ => {}
            }
        }
    }
    let mut plan = plan.clone();
    apart(&mut plan.steps);
    plan.kernels.iter_mut().flat_map(|kernel| &mut kernel.arrays).for_each(|array| array.in_place_of = None);
    plan
}

/// The most bytes, after a look at the results: those of the plan that takes nothing over.
fn peak(plan: &Plan, inputs: &[Value]) -> u64 {
    let (results, counts) = run(plan, inputs);
    let (expected, apart) = run(&without_reuse(plan), inputs);
    assert_eq!(results, expected, "{plan}");
    assert!(counts.peak_bytes <= apart.peak_bytes, "{plan}");
    counts.peak_bytes
}

fn vector(n: usize) -> Value {
    Array::new(&[n], &(0..n).map(|i| i as f32 * 0.25 - 3.0).collect::<Vec<_>>()).unwrap().into()
}

fn matrix(n: usize, m: usize) -> Value {
    let Value::Array(array) = vector(n * m) else { unreachable!() };
    array.reshaped(&[n, m]).unwrap().into()
}

/// A program of `count` operations, each of the one before.
fn chain(count: usize, operation: impl Fn(&str) -> String) -> Plan {
    let lines: String =
        (1..=count).map(|i| format!("let a{i}: [n]f32 = {} ", operation(&format!("a{}", i - 1)))).collect();
    plan(&format!("fn f(a0: [n]f32) -> [n]f32 {{ {lines} return a{count} }}"))
}

#[test]
fn a_chain_of_50_maps_runs_in_one_buffer_beside_the_input() {
    let plan = chain(50, |a| format!("map(|x| x * 0.5 + 1.0, {a})"));
    assert_eq!(over(&plan).len(), 49, "{plan}");
    assert_eq!(peak(&plan, &[vector(1000)]), 4000);
}

#[test]
fn a_chain_of_50_stencils_runs_in_two() {
    let plan = chain(50, |a| format!("stencil(|l, r| 0.5 * (l + r), {a}[-1], {a}[1], {a}: clamp)"));
    assert_eq!(over(&plan), Vec::<String>::new());
    assert_eq!(peak(&plan, &[vector(1000)]), 8000);
}

#[test]
fn a_chain_of_50_backpermutes_runs_in_two() {
    let plan = chain(50, |a| format!("backpermute([n], |i| n - 1 - i, {a})"));
    assert_eq!(over(&plan), Vec::<String>::new());
    assert_eq!(peak(&plan, &[vector(1000)]), 8000);
}

#[test]
fn maps_and_stencils_in_turn_run_in_two() {
    let lines: String = (1..=25)
        .map(|i| {
            let (a, b, c) = (2 * i - 2, 2 * i - 1, 2 * i);
            format!(
                "let a{b}: [n]f32 = stencil(|l, r| l - r, a{a}[-1], a{a}[1], a{a}: wrap) let a{c}: [n]f32 = map(|x| x * x, a{b}) "
            )
        })
        .collect();
    let plan = plan(&format!("fn f(a0: [n]f32) -> [n]f32 {{ {lines} return a50 }}"));
    assert_eq!(over(&plan).len(), 25, "{plan}");
    assert_eq!(peak(&plan, &[vector(1000)]), 8000);
}

const JACOBI: &str = "fn f(u0: [n, m]f32, g: [n, m]f32, count: i64) -> [n, m]f32 {
  let u: [n, m]f32, r: i64 = while(|s: [n, m]f32, r: i64| { let go = r < count return go }, |s: [n, m]f32, r: i64| {
    let p: [n, m]f32 = stencil(|a, b, c, d, e| 0.25 * (a + b + c + d) + e, s[0, -1], s[0, 1], s[-1, 0], s[1, 0], g[0, 0], s: clamp, g: clamp)
    let q = r + 1 return p, q }, u0, 0) return u }";

#[test]
fn a_loop_over_a_stencil_swaps_two_buffers() {
    let plan = plan(JACOBI);
    assert!(!steps(&plan).iter().any(|step| matches!(step, Step::Copy { .. })), "{plan}");
    let inputs = |turns: i64| [matrix(30, 40), matrix(30, 40), Array::scalar(turns).into()];
    let size = 4 * 30 * 40;
    // Beside the input, that is the state of the first turn; counters and conditions are a few bytes.
    let peaks: Vec<u64> = (0..6).map(|turns| peak(&plan, &inputs(turns))).collect();
    assert!(peaks[0] < 100 && (size..size + 100).contains(&peaks[1]), "{peaks:?}");
    assert!(peaks[2..].iter().all(|peak| (2 * size..2 * size + 100).contains(peak)), "{peaks:?}");
}

#[test]
fn a_loop_over_a_map_stays_in_one_buffer() {
    let plan = plan(
        "fn f(u0: [n]f32, g: [n]f32, count: i64) -> [n]f32, [n]f32 {
          let u: [n]f32, k: [n]f32, r: i64 = while(|s: [n]f32, k: [n]f32, r: i64| { let go = r < count return go }, |s: [n]f32, k: [n]f32, r: i64| {
            let p: [n]f32 = map(|a, b, c| a * 0.5 + b + c, s, g, k)
            let q = r + 1 return p, k, q }, u0, g, 0) return u, k }",
    );
    assert_eq!(over(&plan), ["p over u"], "the state is; what is handed on, or from outside, is not\n{plan}");
    let inputs = |turns: i64| [vector(1000), vector(1000), Array::scalar(turns).into()];
    // The first turn reads the input, and leaves it as it is.
    assert!((1..5).all(|turns| (4000..4100).contains(&peak(&plan, &inputs(turns)))));
}

#[test]
fn a_loop_that_scatters_into_its_state_copies_it_once() {
    let plan = plan(
        "fn f(u0: [n]i64, count: i64) -> [n]i64 {
          let u: [n]i64, r: i64 = while(|s: [n]i64, r: i64| { let go = r < count return go }, |s: [n]i64, r: i64| {
            let one: [1]i64 = generate([1], |i| r)
            let p: [n]i64 = permute(|new, old| new + old, s, one, at: one, unique: true)
            let q = r + 1 return p, q }, u0, 0) return u }",
    );
    let inputs = |turns: i64| [Array::new(&[1000], &vec![1i64; 1000]).unwrap().into(), Array::scalar(turns).into()];
    let (results, _) = run(&plan, &inputs(900));
    let expected: Vec<i64> = (0..1000).map(|i| if i < 900 { i + 1 } else { 1 }).collect();
    assert_eq!(results, [Array::new(&[1000], &expected).unwrap().into()]);
    // The input is left as it is, so the first turn copies it; from then on the state's memory is written.
    assert!((1..5).all(|turns| (8000..8100).contains(&peak(&plan, &inputs(turns)))), "{plan}");
}

#[test]
fn an_array_of_a_branch_or_a_loop_is_taken_over_there() {
    let plan = plan(
        "fn f(a: [n]f32, c: bool) -> [n]f32 { let r: [n]f32 = cond(c, || {
           let x: [n]f32 = map(|x| x + 1.0, a) let y: [n]f32 = map(|x| x * x, x) let z: [n]f32 = map(|x, y| x * y, y, a) return z },
           || { let w: [n]f32 = map(|x| x - 1.0, a) return w }) let s: [n]f32 = map(|x| x * 3.0, r) return s }",
    );
    assert_eq!(over(&plan), ["y over x", "z over y", "s over r"]);
    for (n, c) in [(0, true), (7, true), (7, false)] {
        assert_eq!(peak(&plan, &[vector(n), Array::scalar(c).into()]), 4 * n as u64);
    }
}

#[test]
fn kernels_of_several_arrays_write_over_each_of_them() {
    let plan = plan(
        "fn f(a: [n]f32) -> [n]f32, [n]f32 { let x: [n]f32, y: [n]f32 = map(|x| { return x + 1.0, x - 1.0 }, a)
         let u: [n]f32, v: [n]f32 = map(|p, q| { return p * q, p - q }, x, y) return u, v }",
    );
    assert_eq!(over(&plan), ["u over x", "v over y"]);
    assert_eq!(peak(&plan, &[vector(100)]), 800);
}

#[test]
fn elements_of_the_same_width_may_be_of_another_type() {
    let plan = plan(
        "fn f(a: [n]f32) -> [n]f32 { let x: [n]i32 = map(|x| i32(x * 8.0), a) let y: [n]f32 = map(|x| f32(x) * 0.5, x) return y }",
    );
    assert_eq!(over(&plan), ["y over x"]);
    assert_eq!(peak(&plan, &[vector(100)]), 400);
}

#[test]
fn scans_write_over_what_they_read() {
    let plan = plan(
        "fn f(a: [n, m]f32) -> [n, m]f32 { let x: [n, m]f32 = map(|x| x + 1.0, a) let y: [n, m]f32 = scanl1(|x, y| x + y, x) return y }",
    );
    assert_eq!(over(&plan), ["y over x"]);
    assert_eq!(peak(&plan, &[matrix(20, 30)]), 2400);
}

macro_rules! refused {
    ($($name:ident: $source:literal, $peak:literal;)*) => {$(
        #[test]
        fn $name() {
            let plan = plan($source);
            assert_eq!(over(&plan), Vec::<String>::new(), "{plan}");
            assert_eq!(peak(&plan, &[vector(100)]), $peak);
        }
    )*};
}

refused! {
    an_input_is_not: "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a) return b }", 400;
    a_result_is_not: "fn f(a: [n]f32) -> [n]f32, [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a) let c: [n]f32 = map(|x| x * x, b) return b, c }", 800;
    what_is_read_later_is_not: "fn f(a: [n]f32) -> [n]f32, f32 { let b: [n]f32 = map(|x| x + 1.0, a) let c: [n]f32 = map(|x| x * x, b)
        let s: f32 = fold(|x, y| x + y, 0.0, b) return c, s }", 804;
    what_is_read_at_another_index_is_not: "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a)
        let c: [n]f32 = generate([n], |i| b[i] + b[n - 1 - i]) return c }", 800;
    what_is_read_in_a_branch_is_not: "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a)
        let c: [n]f32 = generate([n], |i| if i % 2 == 0 { b[i] } else { 0.0 }) return c }", 800;
    what_is_read_by_computed_index_is_not: "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a)
        let c: [n]f32 = map(|x| b[mod(i64(x), n)], b) return c }", 800;
    wider_elements_are_not: "fn f(a: [n]f32) -> [n]f64 { let b: [n]f32 = map(|x| x + 1.0, a) let c: [n]f64 = map(|x| f64(x), b) return c }", 1200;
    other_extents_are_not: "fn f(a: [n]f32) -> [?]f32 { let b: [n]f32 = map(|x| x + 1.0, a) let k = n / 2
        let c: [k]f32 = map(|x| x * x, b) return c }", 608;
    appended_arrays_are_not: "fn f(a: [n]f32) -> [?]f32 { let b: [n]f32 = map(|x| x + 100.0, a) let k: i64, c: [k]f32 = filter(|x| x > 0.0, b) return c }", 808;
}

/// What has another name keeps its memory: nothing is taken over at run time.
#[test]
fn memory_of_two_names_is_not_taken_over() {
    let plan = plan(
        "fn f(a: [n]f32) -> [n]f32, [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a) let d: [n]f32 = reshape([n], b)
         let c: [n]f32 = map(|x| x * x, b) return c, d }",
    );
    assert_eq!(peak(&plan, &[vector(100)]), 800);
}

#[test]
fn defaults_of_a_permute_are_taken_over() {
    let plan = plan(
        "fn f(a: [n]f32) -> [n]f32 { let d: [n]f32 = map(|x| x + 1.0, a) let at: [n]i64 = generate([n], |i| n - 1 - i)
         let r: [n]f32 = permute(|x, y| x + y, d, a, at: at) return r }",
    );
    assert_eq!(peak(&plan, &[vector(100)]), 1200);
}

/// The interpreter finds what would be read after it was written over, in whatever order points run.
#[test]
fn unsound_reuse_is_found() {
    for (source, breaks) in [
        ("generate([n], |i| b[i] + b[min(i + 1, n - 1)])", "element 1 of `b`"),
        ("generate([n], |i| b[max(i - 1, 0)])", "element 0 of `b`"),
        ("backpermute([n], |i| n - 1 - i, b)", "of `b`"),
    ] {
        let mut plan = plan(&format!(
            "fn f(a: [n]f32) -> [n]f32 {{ let b: [n]f32 = map(|x| x + 1.0, a) let c: [n]f32 = {source} return c }}"
        ));
        let kernel = plan.kernels.last_mut().unwrap();
        let read = kernel.arrays.iter().position(|array| array.name == "b").unwrap();
        let written = kernel.arrays.iter().position(|array| array.name == "c").unwrap();
        kernel.arrays[written].in_place_of = Some(fusebox_ir::KernelArrayId::at(read));
        assert!(validate_plan(&plan).is_err());
        let panic = std::panic::catch_unwind(|| run(&plan, &[vector(10)])).expect_err("it is read too late");
        let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(message.contains(breaks), "{message}");
    }
}

/// Random programs: taking over changes nothing, and no order of points would.
#[test]
fn programs_give_the_same_with_and_without() {
    let count = std::env::var("FUSEBOX_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(400u64);
    let mut taken = 0;
    for seed in 0..count {
        let config = Generated { clusters: seed % 2 == 1, ..Generated::default() };
        let program = program(seed, &config);
        let Ok((plan, _)) = lower(&program, &Config::default()) else { continue };
        validate_plan(&plan).unwrap_or_else(|errors| panic!("seed {seed}: {errors}\n{program}\n{plan}"));
        let inputs = inputs(&program, seed, &config);
        let (Ok((results, counts)), Ok((expected, apart))) =
            (fusebox_interp::run_plan(&plan, &inputs), fusebox_interp::run_plan(&without_reuse(&plan), &inputs))
        else {
            continue;
        };
        // Bits, since a NaN is not itself.
        assert_eq!(format!("{results:?}"), format!("{expected:?}"), "seed {seed}: {program}\n{plan}");
        // What takes over the first elements of something longer keeps all of its memory.
        let longer = steps(&plan).iter().any(|step| matches!(step, Step::Truncate { .. }));
        assert!(counts.peak_bytes <= apart.peak_bytes || longer, "seed {seed}: {program}\n{plan}");
        taken += over(&plan).len();
    }
    println!("{taken} taken over in {count} programs");
    assert!(count < 100 || taken as u64 > count / 20, "{taken} in {count}");
}
