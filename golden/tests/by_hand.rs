//! Nested programs beside the same flattened by hand in this language: they give the same, in as many passes, read and write as much, and hold
//! as much memory.

use fusebox::{Options, compile_program, pipeline_of, run_passes};
use fusebox_interp::{Counts, run_plan};
use fusebox_ir::{Array, FlatInterface, Made, Nested, Program, Scalar, Value, text};

fn array<T: Scalar>(extents: &[usize], values: &[T]) -> Array {
    Array::new(extents, values).unwrap_or_else(|error| panic!("{error}"))
}

/// Numbers that are sums of powers of two, so that sums do not round.
fn numbers(extents: &[usize]) -> Value {
    let values: Vec<f32> = (0..extents.iter().product()).map(|at: usize| (at * 37 % 11) as f32 - 5.0).collect();
    array(extents, &values).into()
}

/// What a program gives compiled, as flat arrays, and what its plan counts.
fn measured(source: &str, inputs: &[Value]) -> (Vec<Array>, Counts) {
    let program: Program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::default();
    let stages = run_passes(&program, &pipeline_of(&program, &options), true);
    let Some(Made::Plan(plan)) = stages.unwrap_or_else(|error| panic!("{error}")).pop().map(|stage| stage.made) else {
        panic!("the last pass makes a plan");
    };
    let flat = FlatInterface::of(&program).flat(inputs).unwrap_or_else(|error| panic!("{error}"));
    let flat: Vec<Value> = flat.into_iter().map(Value::Array).collect();
    let (results, counts) = run_plan(&plan, &flat).unwrap_or_else(|error| panic!("{error}\n{plan}"));
    let compiled = compile_program(&program, &options).unwrap_or_else(|error| panic!("{error}"));
    let given = compiled.run(inputs).unwrap_or_else(|error| panic!("{error}"));
    let of = |value: Value| match value {
        Value::Array(array) => vec![array],
        Value::Nested(nested) => vec![nested.extents, nested.values],
        Value::Stream(stream) => stream,
    };
    let results: Vec<Array> = results.into_iter().flat_map(of).collect();
    assert_eq!(results, given.into_iter().flat_map(of).collect::<Vec<_>>(), "{plan}");
    (results, counts)
}

/// Fails unless a nested program gives what one by hand gives, but for the extents of rows, with at most a tenth more of everything, and
/// `descriptors` more loops over one number for each row.
fn as_by_hand(nested: (&str, &[Value]), by_hand: (&str, &[Value]), rows: u64, descriptors: u64) {
    let ((mine, own), (other, theirs)) = (measured(nested.0, nested.1), measured(by_hand.0, by_hand.1));
    let values = |arrays: Vec<Array>| -> Vec<Vec<u64>> {
        let floats = arrays.iter().filter(|array| array.element().is_float());
        floats.map(|array| (0..array.len()).map(|at| array.get(at).bits()).collect()).collect()
    };
    assert_eq!(values(mine), values(other), "{}", nested.0);
    let of_rows = descriptors * (rows + 1);
    assert!(own.loops <= theirs.loops + descriptors, "{} loops, not {}\n{}", own.loops, theirs.loops, nested.0);
    for (own, theirs) in [(own.reads, theirs.reads), (own.writes, theirs.writes)] {
        assert!(10 * own <= 11 * theirs + 10 * of_rows, "{own} elements, not {theirs}\n{}", nested.0);
    }
    // At the peak there are as many bytes, but for the descriptors.
    let (own, theirs, of_rows) = (own.peak_bytes, theirs.peak_bytes, 8 * of_rows);
    assert!(own <= theirs + of_rows, "{own} bytes at the peak, not {theirs} and {of_rows}\n{}", nested.0);
}

#[test]
fn a_product_of_matrices() {
    let nested = include_str!("../programs/nested_matmul.fbx");
    let by_hand = include_str!("../programs/matmul.fbx");
    for (n, k, m) in [(7, 11, 5), (1, 1, 1), (0, 3, 2), (3, 0, 4)] {
        let inputs = [numbers(&[n, k]), numbers(&[k, m])];
        as_by_hand((nested, &inputs), (by_hand, &inputs), n as u64, 0);
    }
}

#[test]
fn softmax_of_rows() {
    let nested = include_str!("../programs/nested_softmax.fbx");
    let by_hand = include_str!("../programs/softmax_rows.fbx");
    for (n, m) in [(30, 70), (1, 1), (0, 3)] {
        let inputs = [numbers(&[n, m])];
        // The extents of the rows are written.
        as_by_hand((nested, &inputs), (by_hand, &inputs), n as u64, 1);
    }
}

#[test]
fn a_sparse_matrix_times_a_vector() {
    let nested = include_str!("../programs/nested_smvm.fbx");
    let by_hand = "fn f(extents: [n]i64, columns: [t]i64, values: [u]f32, x: [m]f32) -> [n]f32 {
      let more = n + 1
      let offsets: [more]i64 = scanl(|x, y| x + y, 0, extents)
      let k = min(t, u)
      let products: [k]f32 = map(|v, c| v * x[c], values, columns)
      let y: [n]f32 = fold_seg(|x, y| x + y, 0.0, products, offsets: offsets)
      return y }";
    for lengths in [&[3i64, 0, 70, 5, 1][..], &[0], &[]] {
        let total = lengths.iter().sum::<i64>() as usize;
        let columns: Vec<i64> = (0..total as i64).map(|at| at * 29 % 13).collect();
        let (extents, columns) = (array(&[lengths.len()], lengths), array(&[total], &columns));
        let (values, x) = (numbers(&[total]), numbers(&[13]));
        let Value::Array(elements) = &values else { panic!("an array") };
        let nest = |values: &Array| Value::Nested(Nested { extents: extents.clone(), values: values.clone() });
        let own = [nest(&columns), nest(elements), x.clone()];
        let theirs = [extents.clone().into(), columns.clone().into(), values.clone(), x];
        // The lengths of the rows of both arrays are compared.
        as_by_hand((nested, &own), (by_hand, &theirs), lengths.len() as u64, 1);
    }
}

#[test]
fn fourier_transforms_of_rows() {
    // Of 32 = 8 * 4 numbers: sums of eight, then of four.
    let body = "
        let p: [LANES4, 8, 8]f32, q: [LANES4, 8, 8]f32 = generate([LANES4, 8, 8], |INDEXm, k, j| {
          let t = -0.19634954 * f32((4 * j + m) * k & 31)
          let u = a[INDEX4 * j + m]
          let v = b[INDEX4 * j + m]
          return u * cos(t) - v * sin(t), u * sin(t) + v * cos(t) })
        let r: [LANES4, 8]f32, s: [LANES4, 8]f32 = fold(|x, y, z, w| { return x + z, y + w }, 0.0, 0.0, p, q)
        let c: [LANES4, 8, 4]f32, d: [LANES4, 8, 4]f32 = generate([LANES4, 8, 4], |INDEXh, k, m| {
          let t = -0.19634954 * f32((8 * h + k) * m & 31)
          let u = r[INDEXm, k]
          let v = s[INDEXm, k]
          return u * cos(t) - v * sin(t), u * sin(t) + v * cos(t) })
        let e: [LANES4, 8]f32, f: [LANES4, 8]f32 = fold(|x, y, z, w| { return x + z, y + w }, 0.0, 0.0, c, d)
        let g: [LANES32]f32, o: [LANES32]f32 = reshape([LANES32], e, f)";
    let nested = format!(
        "fn f(re: [n, 32]f32, im: [n, 32]f32) -> [n][32]f32, [n][32]f32 {{
      let x: [n][32]f32, y: [n][32]f32 = nest([n], |l| {{
        let a: [32]f32 = slice([l, _], re)
        let b: [32]f32 = slice([l, _], im){}
        return g, o }})
      return x, y }}",
        body.replace("LANES", "").replace("INDEX", "")
    );
    let by_hand = format!(
        "fn f(a: [n, 32]f32, b: [n, 32]f32) -> [n, 32]f32, [n, 32]f32 {{{}
      return g, o }}",
        body.replace("LANES", "n, ").replace("INDEX", "l, ")
    );
    for n in [9, 1, 0] {
        let inputs = [numbers(&[n, 32]), numbers(&[n, 32])];
        as_by_hand((&nested, &inputs), (&by_hand, &inputs), n as u64, 2);
    }
}

/// Matrices of 32 x 32 numbers.
fn matrices(n: usize, factor: usize) -> Value {
    let values: Vec<f64> = (0..n * 1024).map(|at| (at * factor % 11) as f64 - 5.0).collect();
    array(&[n, 32, 32], &values).into()
}

#[test]
fn fourier_transforms_of_matrices() {
    let nested = include_str!("../programs/nested_fft.fbx");
    let by_hand = include_str!("by_hand/fft.fbx");
    for n in [3, 1, 0] {
        let inputs = [matrices(n, 37), matrices(n, 41)];
        // The extents of the lanes' arrays are written.
        as_by_hand((nested, &inputs), (by_hand, &inputs), n as u64, 2);
    }
}

#[test]
fn transforms_of_rows_and_columns_as_of_whole_matrices() {
    let by_rows = include_str!("../programs/nested_fft_rows.fbx");
    let whole = include_str!("../programs/nested_fft.fbx");
    for n in [3, 1, 0] {
        let inputs = [matrices(n, 37), matrices(n, 41)];
        as_by_hand((by_rows, &inputs), (whole, &inputs), n as u64, 0);
    }
}
