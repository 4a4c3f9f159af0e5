//! Folds, maps and scans over rows of all lengths beside each other: very short ones, those around gangs, around the thresholds of rows and of
//! ragged reduces, and around blocks; no rows, empty ones, and one with everything.

use crate::common::{Random, check, check_plan, every_schedule, plan};
use fusebox_ir::{
    Action, Array, Association, ElementType,
    ElementType::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64},
    Statement,
    analysis::kernels::one_row,
};

/// Lengths on both sides of gangs, thresholds and blocks, mixed.
const LENGTHS: [usize; 24] =
    [0, 1, 2, 7, 8, 9, 0, 0, 31, 32, 33, 1, 63, 64, 65, 4096, 3, 1000, 4097, 0, 128, 255, 8192, 5];

fn offsets(lengths: &[usize]) -> Vec<i64> {
    let mut offsets = vec![0i64];
    for &length in lengths {
        offsets.push(offsets[offsets.len() - 1] + length as i64);
    }
    offsets
}

/// Lengths of rows, of several shapes.
fn shapes() -> Vec<Vec<usize>> {
    let mut random = Random(29);
    let short = |random: &mut Random, most: u64| (0..700).map(|_| (random.next() % most) as usize).collect();
    let mut one = vec![0; 300];
    one[170] = 20_000;
    // Rows that all threads share: first, beside each other, last.
    let mut long = vec![5; 600];
    [long[0], long[300], long[301], long[599]] = [16_385, 40_000, 16_384, 33_000];
    vec![
        vec![],
        vec![0],
        vec![1],
        vec![0; 100],
        LENGTHS.to_vec(),
        LENGTHS.iter().rev().copied().collect(),
        vec![11; 67],
        short(&mut random, 3),
        short(&mut random, 20),
        short(&mut random, 90),
        one,
        long,
    ]
}

/// Elements of these types, and offsets of rows.
fn inputs(elements: &[ElementType], shapes: &[Vec<usize>]) -> Vec<Vec<Array>> {
    let mut random = Random(31);
    let one = |lengths: &Vec<usize>| {
        let total = lengths.iter().sum();
        let mut all: Vec<Array> = elements.iter().map(|&element| random.array(element, &[total])).collect();
        all.push(Array::new(&[lengths.len() + 1], &offsets(lengths)).unwrap());
        all
    };
    shapes.iter().map(one).collect()
}

/// The sum, or what is wanted, of each row.
fn fold(element: ElementType, function: &str, seed: &str) -> String {
    format!(
        "fn f(a: [n]{element}, o: [m]i64) -> [?]{element} {{ let k = m - 1
        let s: [k]{element} = fold_seg(|x, y| {function}, {seed}, a, offsets: o) return s }}"
    )
}

#[test]
fn rows_of_every_type() {
    let shapes = shapes();
    for (element, function, seed) in [
        (F32, "x + y", "0.5"),
        (F32, "min(x, y)", "inf_f32"),
        (F64, "x + y", "0.5"),
        (F64, "max(x, y)", "-3.0"),
        (I8, "x + y", "1"),
        (U8, "max(x, y)", "2"),
        (I16, "x * y", "1"),
        (U16, "x ^ y", "1"),
        (I32, "x + y", "7"),
        (U32, "x | y", "0"),
        (I64, "x + y", "7"),
        (U64, "min(x, y)", "1000"),
        (Bool, "x && y", "true"),
        (Bool, "x ^ y", "false"),
    ] {
        check(&fold(element, function, seed), &inputs(&[element], &shapes));
    }
}

#[test]
fn rows_of_functions_without_an_identity() {
    let argmin = "fn f(a: [n]f32, o: [m]i64) -> [?]f32, [?]i64 {
        let i: [n]i64 = generate([n], |i| i)
        let k = m - 1
        let s: [k]f32, p: [k]i64 = fold_seg(|x, j, y, l| {
            let first = x < y || (x == y && j <= l) let m = if first { x } else { y } let p = if first { j } else { l } return m, p },
            inf_f32, 0, a, i, offsets: o, commutes: true)
        return s, p }";
    check(argmin, &inputs(&[F32], &shapes()));
    // It is said to commute, and what is combined with what then shows.
    let halves = "fn f(a: [n]f32, o: [m]i64) -> [?]f32 { let k = m - 1
        let s: [k]f32 = fold_seg(|x, y| x * 0.5 + y, 0.25, a, offsets: o, commutes: true) return s }";
    check(halves, &inputs(&[F32], &shapes()));
    let filled: Vec<Vec<usize>> =
        shapes().into_iter().map(|lengths| lengths.into_iter().filter(|&length| length > 0).collect()).collect();
    let first = "fn f(a: [n]f64, o: [m]i64) -> [?]f64 { let k = m - 1
        let s: [k]f64 = fold1_seg(|x, y| x * 0.5 + y, a, offsets: o, commutes: true) return s }";
    check(first, &inputs(&[F64], &filled));
    let in_order = "fn f(a: [n]f32, o: [m]i64) -> [?]f32 { let k = m - 1
        let s: [k]f32 = fold_seg(|x, y| x * 0.5 + y, 0.25, a, offsets: o) return s }";
    check(in_order, &inputs(&[F32], &shapes()));
}

#[test]
fn rows_with_not_a_number() {
    for function in ["x + y", "min(x, y)", "max(x, y)"] {
        let mut all = inputs(&[F32], &shapes());
        for inputs in &mut all {
            let mut values = inputs[0].as_slice::<f32>().unwrap().to_vec();
            for (position, value) in values.iter_mut().enumerate() {
                *value = match position % 37 {
                    5 => f32::NAN,
                    11 => -0.0,
                    17 => f32::INFINITY,
                    _ => *value,
                };
            }
            inputs[0] = Array::new(&[values.len()], &values).unwrap();
        }
        check(&fold(F32, function, "0.0"), &all);
    }
    // Of no elements, and of -0.0 alone, the sum is the seed's.
    let zeros = vec![vec![Array::new(&[3], &[-0.0f32; 3]).unwrap(), Array::new(&[4], &[0i64, 0, 1, 3]).unwrap()]];
    check(&fold(F32, "x + y", "-0.0"), &zeros);
    check(&fold(F32, "x + y", "0.0"), &zeros);
}

#[test]
fn rows_of_what_is_computed_on_the_way() {
    let squares = "fn f(a: [n]f32, b: [n]f64, o: [m]i64) -> [?]f32, [?]f64 {
        let k = m - 1
        let s: [k]f32, t: [k]f64 = cluster(|| {
            horizontal p: [n]f32 = map(|x| x * x + 1.0, a)
            vertical q: [n]f64 = map(|x, y| y * f64(x), a, b)
            horizontal s: [k]f32 = fold_seg(|x, y| x + y, 0.5, p, offsets: o)
            last t: [k]f64 = fold_seg(|x, y| x + y, 0.5, q, offsets: o)
            return s, t })
        return s, t }";
    check(squares, &inputs(&[F32, F64], &shapes()));
}

/// Elements come from elsewhere: the rows associate by their lengths.
fn gathered(element: ElementType) -> String {
    format!(
        "fn f(a: [n]{element}, o: [m]i64) -> [?]{element} {{
        let k = m - 1
        let s: [k]{element} = cluster(|| {{
            vertical g: [n]{element} = generate([n], |i| a[(i * 7) % n])
            last s: [k]{element} = fold_seg(|x, y| x + y, 3, g, offsets: o)
            return s }})
        return s }}"
    )
}

#[test]
fn rows_that_gather() {
    for element in [F32, F64, I32, I64, U8] {
        let source = gathered(element);
        let source = if element.is_float() { source.replace(" 3,", " 0.5,") } else { source };
        check(&source, &inputs(&[element], &shapes()));
    }
    let several = "fn f(a: [n]f32, b: [n]f64, o: [m]i64) -> [?]f32, [?]f64, [?]f32 {
        let k = m - 1
        let s: [k]f32, t: [k]f64, u: [k]f32 = cluster(|| {
            horizontal g: [n]f32 = generate([n], |i| a[(i * 7) % n])
            vertical h: [n]f64 = generate([n], |i| b[(i * 3) % n])
            horizontal s: [k]f32 = fold_seg(|x, y| x + y, 0.5, g, offsets: o)
            horizontal t: [k]f64 = fold_seg(|x, y| x * y, 1.5, h, offsets: o)
            last u: [k]f32 = fold_seg(|x, y| min(x, y), 1.5, g, offsets: o)
            return s, t, u })
        return s, t, u }";
    check(several, &inputs(&[F32, F64], &shapes()));
}

/// Reduces along one level that are interleaved from different lengths on, as a plan may have them: each length asks for each of them.
#[test]
fn rows_of_several_thresholds() {
    let source = "fn f(a: [n]f32, b: [n]f64, o: [m]i64) -> [?]f32, [?]f64, [?]f32 {
        let k = m - 1
        let s: [k]f32, t: [k]f64, u: [k]f32 = cluster(|| {
            horizontal g: [n]f32 = generate([n], |i| a[n - 1 - i])
            vertical h: [n]f64 = generate([n], |i| b[n - 1 - i])
            horizontal s: [k]f32 = fold_seg(|x, y| x + y, 0.5, g, offsets: o)
            horizontal t: [k]f64 = fold_seg(|x, y| x * y, 1.5, h, offsets: o)
            last u: [k]f32 = fold_seg(|x, y| x * y, 1.5, g, offsets: o)
            return s, t, u })
        return s, t, u }";
    let mut plan = plan(source);
    let mut thresholds = [64, 32, 8].into_iter();
    for statement in plan.kernels.iter_mut().flat_map(|kernel| &mut kernel.statements) {
        if let Action::Reduce { association, .. } = &mut statement.action
            && let Some(least) = thresholds.next()
        {
            *association = Association::Ragged { lanes: 4, least };
        }
    }
    assert_eq!(thresholds.next(), None);
    check_plan(&plan, source, &inputs(&[F32, F64], &shapes()));
}

/// Folds of rows that gather, and inputs for each list of the indices that are outside.
fn gathering_outside(function: &str, lengths: &[usize], wrong: &[&[usize]]) -> (String, Vec<Vec<Array>>) {
    let source = format!(
        "fn f(a: [n]f32, c: [n]i64, o: [m]i64) -> [?]f32 {{
        let k = m - 1
        let s: [k]f32 = cluster(|| {{
            vertical g: [n]f32 = map(|i| a[i], c)
            last s: [k]f32 = fold_seg(|x, y| {function}, 0.5, g, offsets: o)
            return s }})
        return s }}"
    );
    let total: usize = lengths.iter().sum();
    let values: Vec<f32> = (0..total).map(|i| i as f32).collect();
    let inputs = |wrong: &&[usize]| {
        let mut index: Vec<i64> = (0..total as i64).rev().collect();
        wrong.iter().for_each(|&wrong| index[wrong] = (total + wrong) as i64);
        vec![
            Array::new(&[total], &values).unwrap(),
            Array::new(&[total], &index).unwrap(),
            Array::new(&[lengths.len() + 1], &offsets(lengths)).unwrap(),
        ]
    };
    (source, wrong.iter().map(inputs).collect())
}

/// An index outside is found in a row of any length, and a row without steps reads nothing.
#[test]
fn rows_that_gather_outside() {
    let wrong: [&[usize]; 8] = [&[], &[0], &[5], &[60], &[83], &[90], &[4000], &[5108]];
    let (source, all) = gathering_outside("x + y", &[3, 0, 9, 70, 1, 0, 0, 12, 12, 5000, 2], &wrong);
    check(&source, &all);
}

/// The first index outside is reported also where it is in a row that all threads share, and those behind it are not.
#[test]
fn the_first_index_outside_of_rows_that_threads_share() {
    let wrong: [&[usize]; 5] = [&[10, 20_005], &[19_000, 53_017], &[20_005, 30_000], &[30_000, 53_017], &[0, 10]];
    let (source, all) = gathering_outside("max(x, y)", &[3, 20_000, 5, 5, 33_000, 5], &wrong);
    check(&source, &all);
}

/// Segments of which some have nearly all elements, each of which goes to one of a few targets: all threads share the long ones, where elements of one
/// target may come in any order.
#[test]
fn long_rows_that_scatter() {
    for (element, function, any) in [
        (I32, "old + new", true),
        (I64, "max(old, new)", true),
        (U8, "old ^ new", true),
        (F32, "old + new", false),
        (I32, "new", false),
    ] {
        let source = format!(
            "fn f(sizes: [n]i64, wrong: i64, counts: [m]{element}) -> [m]{element} {{
             let c: [m]{element} = cluster(|| {{
               vertical k: i64, at: [k]i64, x: [k]{element} = expand(|s| s, |s, j| {{
                 return if j == wrong {{ -j }} else {{ (s + j * 7) % m }}, {element}(j % 100) }}, sizes)
               last r: [m]{element} = permute(|new, old| {function}, counts, x, at: at)
               return r }})
             return c }}"
        );
        let plan = plan(&source);
        let shared = plan.kernels.iter().filter(|kernel| {
            let scatters = |statement: &Statement| matches!(statement.action, Action::Scatter { .. });
            kernel.statements.iter().any(scatters) && one_row(kernel, 16_384).is_some()
        });
        assert_eq!(shared.count(), usize::from(any), "{source}");
        let mut all = Vec::new();
        for sizes in [Vec::<i64>::new(), vec![70_000], vec![1, 40_000, 2, 17_000, 0, 3], vec![20; 900]] {
            for targets in [1usize, 10, 5_000] {
                for wrong in [-1i64, 0, 19, 16_500] {
                    all.push(vec![
                        Array::new(&[sizes.len()], &sizes).unwrap(),
                        Array::new(&[], &[wrong]).unwrap(),
                        Random(37).array(element, &[targets]),
                    ]);
                }
            }
        }
        check_plan(&plan, &source, &all);
    }
}

#[test]
fn offsets_that_fall_or_leave() {
    let values: Vec<f32> = (0..20).map(|i| i as f32).collect();
    for function in [fold(F32, "x + y", "0.5"), gathered(F32).replace(" 3,", " 0.5,")] {
        let all: Vec<Vec<Array>> = [vec![0i64, 5, 3, 20], vec![0, 21, 20], vec![0, -4, 20], vec![0, i64::MAX, 20]]
            .iter()
            .map(|offsets| vec![Array::new(&[20], &values).unwrap(), Array::new(&[offsets.len()], offsets).unwrap()])
            .collect();
        check(&function, &all);
    }
}

#[test]
fn scans_and_maps_over_rows() {
    let shapes = shapes();
    check(
        "fn f(a: [n]f32, o: [m]i64) -> [n]f32 { let s: [n]f32 = scanl1_seg(|x, y| x + y, a, offsets: o) return s }",
        &inputs(&[F32], &shapes),
    );
    let expanded = "fn f(a: [n]i64) -> [?]i64 {
        let k: i64, r: [k]i64 = expand(|x| x, |x, j| x * 10 + j, a) return r }";
    let sizes: Vec<Vec<Array>> = shapes
        .iter()
        .map(|lengths| {
            let sizes: Vec<i64> = lengths.iter().map(|&length| if length == 31 { -3 } else { length as i64 }).collect();
            vec![Array::new(&[sizes.len()], &sizes).unwrap()]
        })
        .collect();
    check(expanded, &sizes);
}

#[test]
fn every_schedule_of_rows_has_the_bits_of_the_interpreter() {
    let mut one = vec![0; 40];
    one[17] = 9000;
    let shapes = [LENGTHS.to_vec(), vec![11; 9], one, vec![], vec![3, 0, 0, 0, 1, 12, 64, 2, 63]];
    let forms = ["remainder masked", "abreast", "by elements"];
    let seen = [
        every_schedule(&fold(F32, "x + y", "0.5"), &inputs(&[F32], &shapes), &forms),
        every_schedule(&fold(U8, "max(x, y)", "2"), &inputs(&[U8], &shapes), &forms),
        every_schedule(&gathered(F64).replace(" 3,", " 0.5,"), &inputs(&[F64], &shapes), &forms),
        every_schedule(&gathered(I64), &inputs(&[I64], &shapes), &forms),
    ];
    assert!(seen[0][0] > 20 && seen[1][0] > 20, "{seen:?}");
    // Sums of floats are in order in short rows; those of integers are the same in gangs.
    assert!(seen[2][1] > 3 && seen[3][0] > 20, "{seen:?}");
    assert!(seen.iter().all(|forms| forms[2] > 3), "{seen:?}");
    // Long ones are gangs, where these gain.
    let indexed = "fn f(a: [n]f32, c: [n]i64, o: [m]i64) -> [?]f32 {
        let k = m - 1
        let s: [k]f32 = cluster(|| {
            vertical g: [n]f32 = map(|i, x| a[i] * x, c, a)
            last s: [k]f32 = fold_seg(|x, y| x + y, 0.5, g, offsets: o)
            return s })
        return s }";
    let inputs = inputs(&[F32], &shapes).into_iter().map(|mut own| {
        let n = own[0].extents()[0];
        let index: Vec<i64> = (0..n as i64).map(|i| i * 7919 % n as i64).collect();
        own.insert(1, Array::new(&[n], &index).unwrap());
        own
    });
    let seen = every_schedule(indexed, &inputs.collect::<Vec<_>>(), &forms);
    assert!(seen[0] > 3 && seen[1] > 3, "{seen:?}");
}

/// What all steps of a row read is read once, also where some lanes alone take part; of a row without steps nothing is, wherever it would be.
#[test]
fn what_is_the_same_in_all_steps_of_a_row() {
    let regular = "fn f(a: [n]i32, p: [k]i32, at: [n]i64, b: [m]i32) -> [n]i32, [n, m]i32, [?]i32 {
      let taken: [n, m]i32 = generate([n, m], |i, j| (p[at[i]] ^ b[j]) / (a[i] + 7))
      let s: [n]i32 = fold(|x, y| x + y, 1, taken)
      let all: i64, r: [all]i32 = filter(|x| x % 3 == 0, taken)
      return s, taken, r }";
    let ragged = "fn f(a: [n]i32, p: [k]i32, at: [n]i64, offsets: [w]i64, b: [t]i32) -> [?]i32, i64, [?]i32 {
      let rows = w - 1
      let size: [n]i64 = generate([n], |i| offsets[i + 1] - offsets[i])
      let total: i64, r: [total]i32 = expand(|i, c, at, l| l, |i, c, at, l, j| (p[at] ^ b[offsets[i] + j]) / (c + 7), generate([n], |i| i), a, at, size)
      let s: [rows]i32 = fold_seg(|x, y| x + y, 0, r, offsets: offsets)
      return s, total, r }";
    let ragged = ragged
        .replace("generate([n], |i| i), a, at, size)", "number, a, at, size)")
        .replace("let total: i64", "let number: [n]i64 = generate([n], |i| i)\n let total: i64");
    let mut random = Random(41);
    let numbers = |random: &mut Random, n: usize| random.array(I32, &[n]);
    let places = |random: &mut Random, n: usize, k: u64, outside: Option<usize>| {
        let mut places: Vec<i64> = (0..n).map(|_| (random.next() % k) as i64).collect();
        outside.into_iter().for_each(|row| places[row] = k as i64);
        Array::new(&[n], &places).unwrap()
    };
    let mut inputs = Vec::new();
    for (n, m, outside) in
        [(5, 0, Some(3)), (9, 1, None), (4, 5, Some(2)), (7, 16, None), (3, 20, None), (6, 33, Some(5)), (2, 100, None)]
    {
        let a = Array::new(&[n], &(0..n as i32).collect::<Vec<_>>()).unwrap();
        inputs.push(vec![a, numbers(&mut random, 6), places(&mut random, n, 6, outside), numbers(&mut random, m)]);
    }
    every_schedule(regular, &inputs, &[]);
    let mut inputs = Vec::new();
    for lengths in shapes().into_iter().filter(|lengths| lengths.len() < 200) {
        let (n, total) = (lengths.len(), lengths.iter().sum());
        let empty = lengths.iter().position(|&length| length == 0);
        let a = Array::new(&[n], &(0..n as i32).collect::<Vec<_>>()).unwrap();
        let at = places(&mut random, n, 6, empty);
        let offsets = Array::new(&[n + 1], &offsets(&lengths)).unwrap();
        inputs.push(vec![a, numbers(&mut random, 6), at, offsets, numbers(&mut random, total)]);
    }
    every_schedule(&ragged, &inputs, &[]);
}
