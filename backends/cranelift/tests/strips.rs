//! Loops of stencils, of which several turns are done over one strip of rows after another.

use crate::common::{Random, check, compiled, interpreted, plan, same_bits};
use fusebox_backend::profiled;
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{
    Action, Array, Plan, Step,
    analysis::{NotByRow, RowLoop},
};

/// A loop of stencils over rows, so many turns.
fn heat(boundary: &str, reach: i64) -> String {
    format!(
        "fn f(grid: [n, m]f32, steps: i64) -> [n, m]f32 {{
        let after: [n, m]f32, t: i64 = while(|s: [n, m]f32, t: i64| {{ let go = t < steps return go }}, |s: [n, m]f32, t: i64| {{
            let next: [n, m]f32 = stencil(|a, b, c, d, e| 0.3 * a + 0.2 * (b - c) + 0.1 * (d + e), s[0, 0], s[-{reach}, 0], s[1, -1], s[0, 1], s[{reach}, 2], s: {boundary})
            let u = t + 1
            return next, u }}, grid, 0i64)
        return after }}"
    )
}

fn grid(rows: usize, columns: usize, steps: i64) -> Vec<Array> {
    let mut random = Random((31 * rows + columns) as u64);
    vec![random.array(fusebox_ir::ElementType::F32, &[rows, columns]), Array::scalar(steps)]
}

/// A backend with strips of so many bytes.
fn backend(threads: usize, strip_bytes: usize) -> Cranelift {
    let config = Config { threads, share_from_ns: 1, strips_from_bytes: 0, strip_bytes, ..Config::default() };
    Cranelift::new(config).unwrap()
}

/// Runs a plan in strips and compares with the interpreter; gives how many launches the host made.
fn in_strips(plan: &Plan, inputs: &[Array], threads: usize, strip_bytes: usize) -> usize {
    launches_by(&backend(threads, strip_bytes), plan, inputs)
}

/// Runs a plan whose arrays are taken to be in the caches, and compares with the interpreter; gives how many launches the host made.
fn over_all(plan: &Plan, inputs: &[Array], threads: usize) -> usize {
    let backend = Cranelift::new(Config { threads, share_from_ns: 1, script_from_runs: 0, ..Config::default() });
    launches_by(&backend.unwrap(), plan, inputs)
}

fn launches_by(backend: &Cranelift, plan: &Plan, inputs: &[Array]) -> usize {
    let loaded = compiled(backend, plan).unwrap().load_plan().unwrap();
    let expected = interpreted(plan, inputs).unwrap();
    let mut count = 0;
    // Later runs find what the first has made.
    for _ in 0..2 {
        let (result, launches) = profiled(|| loaded.run_plan(inputs));
        for (own, other) in result.unwrap().iter().zip(&expected) {
            assert!(same_bits(own, other), "{backend:?}\n{}", plan.name);
        }
        count = launches.len();
    }
    count
}

/// The loops of a plan.
fn loops(plan: &Plan) -> Vec<Result<RowLoop, NotByRow>> {
    let steps = plan.steps.iter().flat_map(Step::within);
    steps.filter(|step| matches!(step, Step::While { .. })).map(|step| RowLoop::of(plan, step)).collect()
}

#[test]
fn every_boundary_and_reach_has_the_bits_of_turns_in_order() {
    for boundary in ["clamp", "wrap", "mirror", "constant(2.5)"] {
        for reach in [1, 3] {
            let source = heat(boundary, reach);
            let plan = plan(&source);
            assert_eq!(loops(&plan)[0].as_ref().map(RowLoop::reach), Ok((reach, reach)), "{source}");
            for (rows, columns, steps) in
                [(200, 7, 9), (331, 20, 5), (120, 33, 40), (1000, 1, 17), (64, 5, 1), (90, 8, 0)]
            {
                let inputs = grid(rows, columns, steps);
                let bytes = 8 * 20 * columns * reach as usize;
                for (threads, strip_bytes) in [(1, bytes), (2, 2 * bytes), (7, 3 * bytes)] {
                    let launches = in_strips(&plan, &inputs, threads, strip_bytes);
                    // The condition is a launch of its own, and the host computes the number of the turn.
                    let in_order = 2 * steps as usize + 1;
                    let is_long = 8 * rows * columns >= 4 * strip_bytes;
                    assert!(
                        if is_long && steps > 1 { launches < in_order } else { launches == in_order },
                        "{launches}"
                    );
                }
            }
        }
    }
}

/// Turns whose arrays are in the caches go over all rows, many in one call of the machine.
#[test]
fn turns_over_all_rows_have_the_bits_of_turns_in_order() {
    for boundary in ["clamp", "wrap", "mirror", "constant(2.5)"] {
        let plan = plan(&heat(boundary, 3));
        for (rows, columns, steps) in
            [(200, 7, 9), (33, 20, 70), (7, 33, 40), (1, 5, 3), (3, 1, 64), (90, 8, 1), (90, 8, 0)]
        {
            for threads in [1, 2, 7] {
                let launches = over_all(&plan, &grid(rows, columns, steps), threads);
                // The condition of each turn, and of 32 turns one call.
                let turns = steps as usize;
                assert_eq!(launches, turns + 1 + turns.div_ceil(32), "{boundary} {rows} {columns} {steps}");
            }
        }
    }
}

#[test]
fn all_sizes_with_all_backends() {
    for boundary in ["clamp", "wrap", "mirror", "constant(0.0)"] {
        let sizes = [(0, 0, 3), (1, 1, 3), (0, 5, 2), (5, 0, 2), (2, 3, 6), (100, 2, 20), (257, 1, 33), (64, 64, 3)];
        let inputs: Vec<_> = sizes.into_iter().map(|(rows, columns, steps)| grid(rows, columns, steps)).collect();
        check(&heat(boundary, 1), &inputs);
    }
}

/// Two arrays of which each is computed from the other (Yee's scheme in one dimension of rows), and one that never changes.
const FIELDS: &str = "fn f(electric: [n, m]f64, magnetic: [n, m]f64, medium: [n, m]f64, steps: i64, scale: f64) -> [n, m]f64, [n, m]f64 {
    let e: [n, m]f64, h: [n, m]f64, t: i64 = while(|e: [n, m]f64, h: [n, m]f64, t: i64| { let go = t < steps return go }, |e: [n, m]f64, h: [n, m]f64, t: i64| {
        let g: [n, m]f64 = stencil(|x, a, b| x + scale * (a - b), h[0, 0], e[1, 0], e[0, 0], h: clamp, e: clamp)
        let f: [n, m]f64 = stencil(|x, a, b, c| x + c * (a - b), e[0, 0], g[0, 0], g[-1, 0], medium[0, 1], e: clamp, g: clamp, medium: wrap)
        let u = t + 1
        return f, g, u }, electric, magnetic, 0i64)
    return e, h }";

#[test]
fn arrays_that_need_each_other() {
    let plan = plan(FIELDS);
    assert_eq!(loops(&plan).len(), 1);
    let row_loop = loops(&plan).remove(0).unwrap();
    assert_eq!((row_loop.launches.len(), row_loop.reach()), (2, (1, 1)));
    let mut random = Random(5);
    let inputs = |random: &mut Random, rows: usize, columns: usize, steps: i64| {
        let mut all: Vec<Array> =
            (0..3).map(|_| random.array(fusebox_ir::ElementType::F64, &[rows, columns])).collect();
        all.extend([Array::scalar(steps), Array::scalar(0.25f64)]);
        all
    };
    let all = [inputs(&mut random, 300, 9, 21), inputs(&mut random, 129, 4, 3), inputs(&mut random, 3, 4, 3)];
    for (threads, rows) in [(1, 20), (2, 31), (7, 40)] {
        let launches = in_strips(&plan, &all[0], threads, rows * 4 * 8 * 9);
        assert!(launches < 60, "{launches}");
    }
    for inputs in &all {
        for threads in [1, 2, 7] {
            over_all(&plan, inputs, threads);
        }
    }
    check(FIELDS, &all);
}

/// Arrays whose rows are equally long in one run share memory, and in another they are not.
#[test]
fn runs_of_other_extents_have_memory_of_their_own() {
    let source = "fn f(a: [n, m]f32, b: [n, k]f32, steps: i64) -> [n, m]f32, [n, k]f32 {
        let x: [n, m]f32, y: [n, k]f32, t: i64 = while(|x: [n, m]f32, y: [n, k]f32, t: i64| { let go = t < steps return go }, |x: [n, m]f32, y: [n, k]f32, t: i64| {
            let v: [n, m]f32 = stencil(|a, b| 0.5 * a + b, x[0, 0], x[1, 0], x: clamp)
            let w: [n, k]f32 = stencil(|a, b| a - 0.5 * b, y[0, 0], y[-1, 0], y: clamp)
            let u = t + 1
            return v, w, u }, a, b, 0i64)
        return x, y }";
    let plan = plan(source);
    let config = Config { threads: 1, script_from_runs: 0, ..Config::default() };
    let loaded = compiled(&Cranelift::new(config).unwrap(), &plan).unwrap().load_plan().unwrap();
    let mut random = Random(12);
    for (m, k) in [(60, 60), (60, 3), (2, 60), (60, 60)] {
        let mut inputs: Vec<Array> =
            [m, k].iter().map(|&width| random.array(fusebox_ir::ElementType::F32, &[40, width])).collect();
        inputs.push(Array::scalar(6i64));
        let expected = interpreted(&plan, &inputs).unwrap();
        for (own, other) in loaded.run_plan(&inputs).unwrap().iter().zip(&expected) {
            assert!(same_bits(own, other), "rows of {m} and {k}");
        }
    }
}

#[test]
fn waves_that_need_two_turns_before() {
    let source = "fn f(now: [n, m]f32, before: [n, m]f32, steps: i64) -> [n, m]f32, [n, m]f32 {
        let x: [n, m]f32, y: [n, m]f32, t: i64 = while(|x: [n, m]f32, y: [n, m]f32, t: i64| { let go = t < steps return go }, |x: [n, m]f32, y: [n, m]f32, t: i64| {
            let z: [n, m]f32 = stencil(|a, b, c, o| 2.0 * a - o + 0.1 * (b + c - 2.0 * a), x[0, 0], x[-1, 0], x[1, 0], y[0, 0], x: mirror, y: clamp)
            let u = t + 1
            return z, x, u }, now, before, 0i64)
        return x, y }";
    let plan = plan(source);
    assert!(loops(&plan)[0].is_ok(), "{:?}", loops(&plan)[0]);
    let mut random = Random(8);
    for steps in [1i64, 2, 3, 16, 17, 33] {
        let mut inputs: Vec<Array> = (0..2).map(|_| random.array(fusebox_ir::ElementType::F32, &[200, 6])).collect();
        inputs.push(Array::scalar(steps));
        for threads in [1, 2, 7] {
            in_strips(&plan, &inputs, threads, 40 * 2 * 4 * 6);
            over_all(&plan, &inputs, threads);
        }
    }
}

#[test]
fn rows_of_vectors_are_their_elements() {
    let source = "fn f(x: [n]i32, steps: i64) -> [n]i32 {
        let y: [n]i32, t: i64 = while(|x: [n]i32, t: i64| { let go = t < steps return go }, |x: [n]i32, t: i64| {
            let z: [n]i32 = stencil(|a, b, c| 3 * a - b + c, x[0], x[-2], x[1], x: wrap)
            let u = t + 1
            return z, u }, x, 0i64)
        return y }";
    let plan = plan(source);
    let mut random = Random(9);
    for n in [1000, 2049, 5000] {
        let inputs = vec![random.array(fusebox_ir::ElementType::I32, &[n]), Array::scalar(25i64)];
        for threads in [1, 2, 7] {
            let launches = in_strips(&plan, &inputs, threads, 1600);
            assert!(launches < 70, "{launches}");
        }
    }
}

#[test]
fn failures_are_those_of_turns_in_order() {
    // The element that becomes zero first fails, in the turn in which it does, in whichever strip it is; or the scalar that does.
    let source = "fn f(x: [n, m]i32, d: i64, steps: i64) -> [n, m]i32 {
        let y: [n, m]i32, t: i64, k: i64 = while(|x: [n, m]i32, t: i64, k: i64| { let go = t < steps return go }, |x: [n, m]i32, t: i64, k: i64| {
            let z: [n, m]i32 = stencil(|a, b| a - 1 + 0 * (6 / b), x[0, 0], x[1, 0], x: clamp)
            let u = t + 1
            let v = 100 / (d - t)
            return z, u, v }, x, 0i64, 0i64)
        return y }";
    let of = |rows: usize, low: &[(usize, i32)], divisor: i64, steps: i64| {
        let mut elements = vec![1000i32; rows * 3];
        for &(at, value) in low {
            elements[at] = value;
        }
        vec![Array::new(&[rows, 3], &elements).unwrap(), Array::scalar(divisor), Array::scalar(steps)]
    };
    let all = [
        of(200, &[], -1, 30),
        of(200, &[(301, 9), (302, 7)], -1, 30),
        of(200, &[(0, 9), (599, 9)], -1, 30),
        of(200, &[(301, 20)], 12, 30),
        of(200, &[(301, 12)], 12, 30),
        of(200, &[(301, 13)], 12, 30),
        of(200, &[(301, 31)], 31, 30),
    ];
    check(source, &all);
    let loaded = compiled(&backend(2, 500), &plan(source)).unwrap().load_plan().unwrap();
    for inputs in &all {
        let expected = interpreted(&plan(source), inputs).map(drop).map_err(|error| error.to_string());
        assert_eq!(loaded.run_plan(inputs).map(drop).map_err(|error| error.to_string()), expected);
    }
}

#[test]
fn loops_that_are_not_of_rows_say_why() {
    let body = |before: &str, inside: &str, next: &str| {
        format!(
            "fn f(x: [n, m]f32, w: [n, m]f32, p: [n]i64, steps: i64) -> [n, m]f32 {{
            let y: [n, m]f32, t: i64 = while(|x: [n, m]f32, t: i64| {{ {before} }}, |x: [n, m]f32, t: i64| {{
                {inside}
                let u = t + 1
                return {next}, u }}, x, 0i64)
            return y }}"
        )
    };
    let turns = "let go = t < steps return go";
    let cases = [
        (
            body(turns, "let z: [n, m]f32 = generate([n, m], |i, j| x[p[i], j])", "z"),
            "generate `z` needs more of `y` than nearby rows",
        ),
        (
            body(
                turns,
                "let s: [m]f32 = fold(|a, b| a + b, 0.0, w) let z: [n, m]f32 = generate([n, m], |i, j| x[i, j] + f32(t))",
                "z",
            ),
            "generate `z` reads `t`, which is another one in each turn",
        ),
        (
            body(
                "let s: [n]f32 = fold(|a, b| a + b, 0.0, x) let r: f32 = fold(|a, b| a + b, 0.0, s) let go = r < 9.0 && t < steps return go",
                "let z: [n, m]f32 = generate([n, m], |i, j| x[i, j] + 1.0)",
                "z",
            ),
            "whether there is another turn depends on `s`",
        ),
        (body(turns, "let z: [n, m]f32 = sort(x)", "z"), "`y` is copied, sorted, renamed or computed in a branch"),
    ];
    for (source, expected) in cases {
        let found = loops(&plan(&source)).remove(0).map(drop).map_err(|why| why.to_string());
        assert_eq!(found, Err(expected.to_owned()), "{source}");
    }
    let scalars = "fn f(n: i64) -> i64 { let t: i64, s: i64 = while(|t: i64, s: i64| { let go = t < n return go }, |t: i64, s: i64| { let u = t + 1 let v = s + t return u, v }, 0i64, 0i64) return s }";
    for found in loops(&plan(scalars)) {
        assert_eq!(found, Err(NotByRow::Scalars));
    }
}

#[test]
fn rows_that_are_far_away_are_not_near() {
    for far in [i64::MIN, i64::MAX, 1 << 40] {
        let mut plan = plan(&heat("clamp", 1));
        let loads = plan.kernels.iter_mut().flat_map(|kernel| &mut kernel.statements);
        let mut maps = loads.filter_map(|statement| match &mut statement.action {
            Action::Load { map, .. } if map.dims.len() == 2 => Some(map),
            _ => None,
        });
        maps.next().unwrap().dims[0].offset = far;
        assert!(matches!(loops(&plan)[0], Err(NotByRow::Launch(..))), "{far}");
    }
}
