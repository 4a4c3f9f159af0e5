//! Nested programs on all cores: what they give is what is expected, however arrays in lanes are held, on any number of threads.

use std::num::NonZeroUsize;

use fusebox::{Flattening, Fusion, Options, compile_program, pipeline_of, run_passes};
use fusebox_golden::{Golden, load, names};
use fusebox_interp::{Counts, run_plan};
use fusebox_ir::{Action, Array, Association, Made, Nested, Plan, Program, Property, Value, text, validate};

/// The golden programs that are made flat.
fn nested() -> Vec<Golden> {
    let all = names().into_iter().map(|name| load(&name));
    all.filter(|golden| validate(&golden.program, &[Property::Flat]).is_err()).collect()
}

fn run(golden: &Golden, options: &Options) -> Vec<Value> {
    let compiled = compile_program(&golden.program, options).unwrap_or_else(|error| panic!("{}: {error}", golden.name));
    let results = compiled.run(&golden.inputs).unwrap_or_else(|error| panic!("{}: {error}", golden.name));
    golden.check(&results).unwrap_or_else(|mismatch| panic!("{}: {mismatch}", golden.name));
    results
}

#[test]
fn they_run_on_all_cores() {
    let all = nested();
    assert!(all.len() >= 22, "{} programs", all.len());
    for golden in &all {
        let of = |threads: usize| Options { threads: NonZeroUsize::new(threads), verify: true, ..Options::default() };
        let results = [1, 2, 7].map(|threads| run(golden, &of(threads)));
        assert!(results[0] == results[1] && results[0] == results[2], "{}", golden.name);
    }
}

#[test]
fn they_run_without_fusion_and_with_nothing_regular() {
    for golden in &nested() {
        run(golden, &Options { fusion: Fusion::None, ..Options::default() });
        run(golden, &Options { flattening: Flattening::Irregular, ..Options::default() });
    }
}

#[test]
fn what_no_lane_needs_does_not_fail() {
    let source = "fn f(n: i64, z: i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let k = 100 / z
        let row: [k]i64 = generate([k], |l| i + l)
        let s: i64 = fold(|a, b| a + b, 0, row)
        return s })
      return r }";
    let program = fusebox_ir::text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let compiled = compile_program(&program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let run = |n: i64, z: i64| compiled.run(&[Array::scalar(n).into(), Array::scalar(z).into()]);
    let vector = |list: &[i64]| Array::new(&[list.len()], list).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run(0, 0).ok(), Some(vec![vector(&[]).into()]));
    assert_eq!(run(2, 50).ok(), Some(vec![vector(&[1, 3]).into()]));
    assert!(run(1, 0).is_err());
}

fn planned(program: &Program) -> Plan {
    let stages = run_passes(program, &pipeline_of(program, &Options::default()), true);
    let Some(Made::Plan(plan)) = stages.unwrap_or_else(|error| panic!("{error}")).pop().map(|stage| stage.made) else {
        panic!("the last pass makes a plan");
    };
    *plan
}

/// The plan of a program of ragged rows `xss`, and what it counts on rows of these lengths. It gives what the compiled program gives.
fn counted(source: &str, lengths: &[i64]) -> (Plan, Counts) {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::default();
    let plan = planned(&program);
    let values: Vec<f32> = (0..lengths.iter().sum()).map(|at: i64| (at * 37 % 11) as f32 - 5.0).collect();
    let array = |array: Result<Array, _>| array.unwrap_or_else(|error: fusebox_ir::ArrayError| panic!("{error}"));
    let (extents, values) = (array(Array::new(&[lengths.len()], lengths)), array(Array::new(&[values.len()], &values)));
    let flat = [Value::Array(extents.clone()), Value::Array(values.clone())];
    let (results, counts) = run_plan(&plan, &flat).unwrap_or_else(|error| panic!("{error}"));
    let compiled = compile_program(&program, &options).unwrap_or_else(|error| panic!("{error}"));
    let given = compiled.run(&[Value::Nested(Nested { extents, values })]).unwrap_or_else(|error| panic!("{error}"));
    let [Value::Nested(given)] = &given[..] else { panic!("rows") };
    assert_eq!(results, [Value::Array(given.extents.clone()), Value::Array(given.values.clone())]);
    (plan, counts)
}

/// The kernels of a plan that read rows by their offsets, and those of them that look up the row of each element.
fn over_rows(plan: &Plan) -> (usize, usize) {
    let reads = |name: &str| {
        let named = |kernel: &&fusebox_ir::Kernel| kernel.arrays.iter().any(|array| array.name.starts_with(name));
        plan.kernels
            .iter()
            .filter(|kernel| kernel.arrays.iter().any(|array| array.name == "xss.values"))
            .filter(named)
            .count()
    };
    (reads("offsets"), reads("lane"))
}

#[test]
fn a_row_of_its_own_length_is_looked_up_once() {
    // The greatest element, the sum of the powers, the quotients: three passes, the last over the powers. Nothing looks up where an element stands.
    let softmax = "fn softmax(xss: [n][?]f32) -> [n][?]f32 {
      let y: [n][?]f32 = nest([n], |i| {
        let k: i64, row: [k]f32 = element(xss, i)
        let top: f32 = fold1(|a, b| max(a, b), row)
        let e: [k]f32 = map(|v| exp(v - top), row)
        let sum: f32 = fold(|a, b| a + b, 0.0, e)
        let z: [k]f32 = map(|v| v / sum, e)
        return z })
      return y }";
    let (plan, counts) = counted(softmax, &[3, 1, 70, 5]);
    assert_eq!(over_rows(&plan), (2, 0), "{plan}");
    assert!(!makes_rows(&plan), "{plan}");
    assert_eq!((counts.reads, counts.writes), (279, 171), "{plan}");
    // The greatest element and the sum in one fold, which scales the sum when there is a greater one: two passes.
    let online = "fn softmax(xss: [n][?]f32) -> [n][?]f32 {
      let y: [n][?]f32 = nest([n], |i| {
        let k: i64, row: [k]f32 = element(xss, i)
        let one: [k]f32 = generate([k], |j| 1.0)
        let top: f32, sum: f32 = fold1(|a, s, b, t| {
          let m = max(a, b)
          return m, s * exp(a - m) + t * exp(b - m) }, row, one)
        let z: [k]f32 = map(|v| exp(v - top) / sum, row)
        return z })
      return y }";
    let (plan, counts) = counted(online, &[3, 1, 70, 5]);
    assert_eq!(over_rows(&plan), (2, 0), "{plan}");
    assert!(!makes_rows(&plan), "{plan}");
    assert_eq!((counts.reads, counts.writes), (190, 92), "{plan}");
}

/// Whether all scans of a plan are by tiles, as those of whole rows are; there is one at least.
fn scans_in_tiles(plan: &Plan) -> bool {
    let statements = plan.kernels.iter().flat_map(|kernel| &kernel.statements);
    let scans = statements.filter_map(|statement| match &statement.action {
        Action::Scan { association, .. } => Some(matches!(association, Association::Tiles { .. })),
        _ => None,
    });
    let scans: Vec<bool> = scans.collect();
    !scans.is_empty() && scans.into_iter().all(|tiles| tiles)
}

#[test]
fn scans_of_regular_rows_stay_in_tiles() {
    let of = |row: &str, rows: &str| {
        format!(
            "fn f({rows}) -> [n]f32 {{
      let top: [n]f32 = nest([n], |i| {{
        {row}
        let s: [k]f32 = scanl1(|a, b| a + b, row)
        let t: [k]f32 = scanr1(|a, b| max(a, b), row)
        let z: [k]f32 = map(|v, w| v - w, s, t)
        let top: f32 = fold(|a, b| max(a, b), 0.0, z)
        return top }})
      return top }}"
        )
    };
    let regular = of("let row: [k]f32 = slice([i, _], xs)", "xs: [n, k]f32");
    let program = text::parse(&regular).unwrap_or_else(|error| panic!("{error}"));
    let plan = planned(&program);
    assert!(scans_in_tiles(&plan), "{plan}");
    assert!(!plan.to_string().contains("offsets"), "{plan}");
    // It is the plan of the matrix.
    let matrix = "fn f(xs: [n, k]f32) -> [n]f32 {
      let s: [n, k]f32 = scanl1(|a, b| a + b, xs)
      let t: [n, k]f32 = scanr1(|a, b| max(a, b), xs)
      let z: [n, k]f32 = map(|v, w| v - w, s, t)
      let top: [n]f32 = fold(|a, b| max(a, b), 0.0, z)
      return top }";
    let by_hand = planned(&text::parse(matrix).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(plan.to_string(), by_hand.to_string());
}

/// Whether a plan makes an array of the row of each element.
fn makes_rows(plan: &Plan) -> bool {
    plan.kernels.iter().flat_map(|kernel| &kernel.arrays).any(|array| array.name.starts_with("lane"))
}

#[test]
fn quotients_and_deviations_of_rows_go_by_offsets() {
    let of = |body: &str| {
        format!(
            "fn f(xss: [n][?]f32) -> [n][?]f32 {{
      let y: [n][?]f32 = nest([n], |i| {{
        let k: i64, row: [k]f32 = element(xss, i)
        let sum: f32 = fold(|a, b| a + b, 0.0, row)
        {body}
        return z }})
      return y }}"
        )
    };
    let quotients = of("let z: [k]f32 = map(|v| v / sum, row)");
    // The mean is repeated where the squares are summed, and again where elements are divided: neither is stored.
    let deviations = of("let mean = sum / f32(k)
        let d: [k]f32 = map(|v| (v - mean) * (v - mean), row)
        let square: f32 = fold(|a, b| a + b, 0.0, d)
        let deviation = sqrt(square / f32(k))
        let z: [k]f32 = map(|v| (v - mean) / deviation, row)");
    for (source, passes) in [(quotients, 2), (deviations, 3)] {
        for lengths in [&[3, 1, 70, 5][..], &[], &[0, 0], &[0, 4100, 0, 1]] {
            let elements = lengths.iter().sum::<i64>() as u64;
            let (plan, counts) = counted(&source, lengths);
            assert_eq!(over_rows(&plan), (passes, 0), "{plan}");
            assert!(!makes_rows(&plan), "{plan}");
            // Beside offsets and what there is for each row.
            let rows = 16 * (lengths.len() as u64 + 1);
            assert!((passes as u64 * elements..=passes as u64 * elements + rows).contains(&counts.reads), "{plan}");
            assert!((elements..=elements + rows).contains(&counts.writes), "{plan}");
        }
    }
}

#[test]
fn a_number_that_is_copied_and_an_extent_behind_it_is_not_taken_over() {
    // The number of lanes is the start of a scalar that is scattered into, and then the extent of a result.
    let source = "fn f(n: i64, m: i64, t: [k]i64) -> [?]i8, i64 {
      let size = n * m
      let row: [n, m]i8 = generate([n, m], |i, j| 7)
      let at: [k]i64 = map(|x| x, t)
      let last: i64 = permute(|new, old| new, size, at, at: ())
      let all: [size]i8 = reshape([size], row)
      return all, last }";
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let inputs =
        [Array::scalar(2i64).into(), Array::scalar(3i64).into(), Value::Array(Array::new(&[1], &[5i64]).unwrap())];
    for backend in [fusebox::Backend::Interp, fusebox::Backend::Cpu] {
        let compiled = compile_program(&program, &Options { backend, ..Options::default() });
        let results = compiled.unwrap_or_else(|error| panic!("{error}")).run(&inputs);
        let results = results.unwrap_or_else(|error| panic!("{backend}: {error}"));
        assert_eq!(results[1], Array::scalar(5i64).into());
        assert_eq!(results[0], Array::new(&[6], &[7i8; 6]).unwrap().into());
    }
}

/// What is the same in all lanes is computed outside of them: where no lane needs it, what it asks of extents is not asked.
#[test]
fn what_no_lane_needs_asks_nothing_of_extents() {
    let programs = [
        // An extent that is declared wrongly, in a traversal and in a nest.
        "fn f(t: [n]i64, d: i64) -> i64, [?]i64 {
          let w: [3]i64 = generate([3], |j| j)
          let k: i64, r: [k]i64 = consume(|i, x: i64| {
            let s: [d]i64 = scanl(|a, b| a + b, 0, w)
            let y: i64 = fold(|a, b| a + b, x, s)
            yield elements(y) }, t)
          return k, r }",
        "fn f(t: [n]i64, d: i64) -> [n]i64 {
          let w: [3]i64 = generate([3], |j| j)
          let r: [n]i64 = nest([n], |i| {
            let s: [d]i64 = scanl(|a, b| a + b, 0, w)
            let y: i64 = fold(|a, b| a + b, i, s)
            return y })
          return r }",
        // A negative extent, of what is the same in all lanes and of what is not.
        "fn f(t: [n]i64, d: i64) -> [n]i64, [n]i64 {
          let e = d - 3
          let r: [n]i64, q: [n]i64 = nest([n], |i| {
            let s: [e]i64 = generate([e], |j| j)
            let own: [e]i64 = generate([e], |j| i + j)
            let y: i64 = fold(|a, b| a + b, 0, s)
            let z: i64 = fold(|a, b| a + b, 0, own)
            return y + i, z })
          return r, q }",
        // In a branch that no lane takes, and where no lane has lanes of its own.
        "fn f(t: [n]i64, d: i64) -> [n]i64 {
          let e = d - 3
          let r: [n]i64 = nest([n], |i| {
            let c = t[i] > 1000
            let y: i64 = cond(c, || {
              let s: [e]i64 = generate([e], |j| i + j)
              let z: i64 = fold(|a, b| a + b, 0, s)
              return z }, || {
              let z: i64 = unit(|| n)
              return z })
            return y })
          return r }",
        "fn f(t: [n]i64, d: i64) -> [3]i64 {
          let w: [2]i64 = generate([2], |j| j)
          let r: [3]i64 = nest([3], |i| {
            let inner: [n]i64 = nest([n], |j| {
              let s: [d]i64 = scanl(|a, b| a + b, 0, w)
              let x: i64 = fold(|a, b| a + b, i, s)
              return x + j })
            let y: i64 = fold(|a, b| a + b, 0, inner)
            return y })
          return r }",
        // In a turn of a loop that no lane takes, of a state that is as large in all lanes, and of one that is not.
        "fn f(t: [n]i64, d: i64) -> [n]i64 {
          let e = d - 3
          let r: [n]i64 = nest([n], |i| {
            let v0: [2]i64 = generate([2], |j| t[i] + j)
            let v: [2]i64 = while(|v: [2]i64| { let go = v[0] > 1000 return go }, |v: [2]i64| {
              let s: [e]i64 = generate([e], |j| j)
              let z: i64 = fold(|a, b| a + b, 0, s)
              let w: [2]i64 = map(|x| x - 1 - z, v)
              return w }, v0)
            let y: i64 = fold(|a, b| a + b, 0, v)
            return y })
          return r }",
        "fn f(t: [n]i64, d: i64) -> [n]i64 {
          let w: [3]i64 = generate([3], |j| j)
          let r: [n]i64 = nest([n], |i| {
            let k0 = max(t[i], 0)
            let v0: [k0]i64 = generate([k0], |j| t[i] + j)
            let k: i64, v: [k]i64 = while(|k: i64, v: [k]i64| { let go = k > 1000 return go }, |k: i64, v: [k]i64| {
              let s: [d]i64 = scanl(|a, b| a + b, 0, w)
              let l = k - 1 - s[0]
              let x: [l]i64 = generate([l], |j| v[j])
              return l, x }, k0, v0)
            let y: i64 = fold(|a, b| a + b, 0, v)
            return y })
          return r }",
        // What divides by zero there, the same in all lanes.
        "fn f(t: [n]i64, d: i64) -> [n]i64 {
          let r: [n]i64 = nest([n], |i| {
            let v0: [2]i64 = generate([2], |j| t[i] + j)
            let v: [2]i64 = while(|v: [2]i64| { let go = v[0] > 6 return go }, |v: [2]i64| {
              let q = 12 / d
              let w: [2]i64 = map(|x| x - 1 - q, v)
              return w }, v0)
            let y: i64 = fold(|a, b| a + b, 0, v)
            return y })
          return r }",
    ];
    for source in programs {
        let program = fusebox_ir::text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let ways =
            [(Flattening::Regular, 1), (Flattening::Regular, 3), (Flattening::Irregular, 1), (Flattening::Alone, 3)];
        for (flattening, threads) in ways {
            let options = Options { flattening, threads: NonZeroUsize::new(threads), ..Options::default() };
            let compiled = compile_program(&program, &options).unwrap_or_else(|error| panic!("{error}\n{source}"));
            for (t, d) in
                [(&[][..], 0), (&[], -1), (&[], 3), (&[], 4), (&[5], 0), (&[7], 0), (&[7, 5], 3), (&[7, 5], 4)]
            {
                let inputs: [Value; 2] = [vector(t).into(), Array::scalar(d).into()];
                let expected = fusebox_interp::run(&program, &inputs);
                match (expected, compiled.run(&inputs)) {
                    (Ok(expected), Ok(found)) => assert_eq!(expected, found, "{source}\n{t:?} {d}"),
                    (Ok(_), Err(error)) => panic!("{error}\n{source}\n{t:?} {d}"),
                    (Err(error), Ok(_)) => panic!("an error is lost: {error}\n{source}\n{t:?} {d}"),
                    (Err(_), Err(_)) => {}
                }
            }
        }
    }
}

fn vector(values: &[i64]) -> Array {
    Array::new(&[values.len()], values).unwrap_or_else(|error| panic!("{error}"))
}
