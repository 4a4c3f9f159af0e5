//! Lanes that run one at a time: on threads each by itself, and large ones on all of them.

use crate::common::{Random, check, compiled, interpreted, plan, same_bits};
use fusebox_backend::Program;
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{Array, ElementType, Plan};

/// Rows of a vector between offsets, each halved until all of it is small: a loop over an array that gets shorter, a fold that rounds, a scan, a
/// scatter and an append in a lane; results of every kind.
const ROWS: &str = "fn f(x: [total]f32, offsets: [more]i64, n: i64) -> [?]f32, [?]i64, [?]f32, [?]i64, [?]f32 {
    let a: i64, rows: [a]f32, b: i64, lengths: [b]i64, c: i64, sums: [c]f32, d: i64, numbers: [d]i64, e: i64, all: [e]f32 = consume([n], |i| {
        let from = offsets[i]
        let k = offsets[i + 1] - from
        let row: [k]f32 = generate([k], |j| x[from + j])
        let h: i64, last: [h]f32, t: i64 = while(|h: i64, v: [h]f32, t: i64| {
            let go = h > 3
            return go
        }, |h: i64, v: [h]f32, t: i64| {
            let half = h / 2
            let w: [half]f32 = generate([half], |j| v[j] + v[h - 1 - j])
            let again = t + 1
            return half, w, again
        }, k, row, 0i64)
        let running: [h]f32 = scanl1(|a, b| a + b, last)
        let sum: f32 = fold(|a, b| a + b, 0.5, row)
        let places: [k]i64 = generate([k], |j| k - 1 - j)
        let turned: [k]f32 = permute(|new, old| new, row, row, at: places, unique: true)
        let m: i64, positive: [m]f32 = filter(|a| a > 0.0, turned)
        yield elements(running), elements(m), elements(sum), elements(i), elements(positive)
    })
    return rows, lengths, sums, numbers, all }";

/// Rows of these lengths.
fn rows(lengths: &[usize]) -> Vec<Array> {
    let mut random = Random(lengths.iter().sum::<usize>() as u64 + 7);
    let total: usize = lengths.iter().sum();
    let mut offsets = vec![0i64];
    for &length in lengths {
        offsets.push(offsets[offsets.len() - 1] + length as i64);
    }
    vec![
        random.array(ElementType::F32, &[total]),
        Array::new(&[offsets.len()], &offsets).unwrap(),
        Array::scalar(lengths.len() as i64),
    ]
}

/// The greatest element of each class of a row: a scatter that combines in any order, in a lane that has a script.
#[test]
fn scatters_in_any_order_have_scripts() {
    let source = "fn f(x: [n]i64) -> [?]i64 {
        let t: i64, all: [t]i64 = consume([n], |i| {
            let k = x[i]
            let row: [k]i64 = generate([k], |j| (j * 7919 + i) % 1009)
            let class: [k]i64 = generate([k], |j| row[j] % 5)
            let none: [5]i64 = generate([5], |c| -1)
            let most: [5]i64 = permute(|new, old| max(new, old), none, row, at: class)
            yield elements(most)
        })
        return all }";
    let plan = plan(source);
    let inputs = [Array::new(&[5], &[3i64, 0, 100, 1, 5000]).unwrap()];
    let expected = interpreted(&plan, &inputs).unwrap();
    let found = ran(Config { threads: 2, ..Config::default() }, &plan, &inputs);
    assert!(found.iter().zip(&expected).all(|(own, other)| same_bits(own, other)));
}

fn some_lengths() -> Vec<Vec<usize>> {
    let many: Vec<usize> = (0..500).map(|row| row * 7919 % 61).collect();
    let mut uneven = vec![1; 40];
    uneven[23] = 20_000;
    vec![vec![], vec![0], vec![1], vec![9_000], vec![0, 5, 0, 31], many, uneven]
}

#[test]
fn rows_of_all_lengths_with_all_backends() {
    let inputs: Vec<_> = some_lengths().iter().map(|lengths| rows(lengths)).collect();
    check(ROWS, &inputs);
}

fn ran(config: Config, plan: &Plan, inputs: &[Array]) -> Vec<Array> {
    let alone = config.threads == 1;
    let backend = Cranelift::new(config).unwrap();
    let loaded = compiled(&backend, plan).unwrap().load_plan().unwrap();
    assert_eq!(loaded.scripts(), 1, "its lanes have a script");
    // The second run finds the memory of the first.
    loaded.run_plan(inputs).unwrap();
    let results = loaded.run_plan(inputs).unwrap();
    if alone {
        assert_eq!(loaded.lanes_stopped(), 0, "the code of a lane comes to its end");
    }
    results
}

/// Compares runs on so many threads, with lanes of so many bytes left to all of them, with the interpreter.
fn same_on(threads_and_bytes: &[(usize, usize)], plan: &Plan, inputs: &[Array]) {
    let expected = interpreted(plan, inputs).unwrap();
    for &(threads, lane_bytes) in threads_and_bytes {
        let found = ran(Config { threads, lane_bytes, share_from_ns: 1, ..Config::default() }, plan, inputs);
        let same = found.iter().zip(&expected).all(|(own, other)| same_bits(own, other));
        let extents: Vec<&[usize]> = inputs.iter().map(Array::extents).collect();
        assert!(same, "{threads} threads, lanes of {lane_bytes} bytes, inputs of {extents:?}");
    }
}

#[test]
fn large_lanes_are_left_to_all_threads() {
    let plan = plan(ROWS);
    for lengths in some_lengths() {
        same_on(&[(1, 0), (2, 0), (2, 100), (7, 64), (3, 40_000), (7, usize::MAX)], &plan, &rows(&lengths));
    }
}

#[test]
fn of_lanes_that_fail_the_first_is_told() {
    let source = "fn f(x: [n]i64) -> [?]i64 {
        let t: i64, all: [t]i64 = consume([n], |i| {
            let k = x[i]
            let row: [k]i64 = generate([k], |j| 100 / (j - x[i] + 5))
            let s: i64 = fold(|a, b| a + b, 0, row)
            yield elements(s)
        })
        return all }";
    let plan = plan(source);
    let fails = |x: &[i64]| interpreted(&plan, &[Array::new(&[x.len()], x).unwrap()]).unwrap_err();
    assert!(fails(&[1, 2, 9, -1]).ends_with("division by zero, in lane 2"), "{}", fails(&[1, 2, 9, -1]));
    assert!(fails(&[1, -4, 9]).contains("in lane 1"), "{}", fails(&[1, -4, 9]));
    let many: Vec<i64> = (0..3_000).map(|lane| if lane % 700 == 699 { 5 } else { 3 }).collect();
    let inputs = [vec![1, 2, 9, -1], vec![1, -4, 9], vec![4, 3], vec![], many];
    let inputs: Vec<Vec<Array>> = inputs.iter().map(|x| vec![Array::new(&[x.len()], x).unwrap()]).collect();
    check(source, &inputs);
}

/// Large lanes of like sizes run on a thread each, those that ask for most first, so that one behind the first that fails may fail before it.
#[test]
fn of_large_lanes_that_fail_the_first_is_told() {
    let source = "fn f(x: [n]i64) -> [?]i64 {
        let t: i64, all: [t]i64 = consume([n], |i| {
            let k = x[i]
            let row: [k]i64 = generate([k], |j| j * x[i])
            let s: i64 = fold(|a, b| a + b, 0, row)
            let q = s / (x[i] % 10)
            yield elements(q)
        })
        return all }";
    let plan = plan(source);
    let lanes = |fails: &[usize]| -> [Array; 1] {
        let length = |lane: usize| (400 + lane * 37 % 60 * 10) as i64 + if fails.contains(&lane) { 0 } else { 3 };
        [Array::new(&[70], &(0..70).map(length).collect::<Vec<_>>()).unwrap()]
    };
    for fails in [&[][..], &[69], &[0], &[51, 13, 66], &[68, 69], &[5, 6, 7, 8, 9]] {
        let inputs = lanes(fails);
        let expected = interpreted(&plan, &inputs);
        assert_eq!(expected.is_err(), !fails.is_empty());
        for (threads, lane_bytes) in [(1, 0), (2, 64), (3, 1), (7, 7 * 4_000)] {
            let config = Config { threads, lane_bytes, share_from_ns: 1, ..Config::default() };
            let backend = Cranelift::new(config).unwrap();
            let loaded = compiled(&backend, &plan).unwrap().load_plan().unwrap();
            for _ in 0..3 {
                match (loaded.run_plan(&inputs), &expected) {
                    (Ok(own), Ok(other)) => assert!(own.iter().zip(other).all(|(own, other)| same_bits(own, other))),
                    (Err(own), Err(other)) => assert_eq!(&own.to_string(), other, "{threads} threads, {fails:?}"),
                    (own, _) => panic!("{threads} threads, {fails:?}: {own:?}"),
                }
            }
        }
    }
}

#[test]
fn lanes_in_branches_and_loops_and_of_numbers() {
    // Lanes see what a loop around them makes; they give constants and what is outside; some sort.
    let source = "fn f(x: [n]i64, turns: i64, sorts: bool) -> [?]i64, [?]i64, [n]i64 {
        let w: [n]i64, t: i64 = while(|v: [n]i64, t: i64| { let go = t < turns return go }, |v: [n]i64, t: i64| {
            let p: i64, sums: [p]i64 = consume([n], |i| {
                let k = v[i] % 5 + 1
                let row: [k]i64 = generate([k], |j| v[(i + j) % n])
                let s: i64 = fold(|a, b| a + b, 0, row)
                yield elements(s)
            })
            let next: [n]i64 = generate([n], |i| sums[i] % 97)
            let u = t + 1
            return next, u }, x, 0i64)
        let a: i64, ones: [a]i64, b: i64, xs: [b]i64 = cond(sorts, || {
            let a: i64, ones: [a]i64, b: i64, xs: [b]i64 = consume([n], |i| {
                let row: [n]i64 = generate([n], |j| w[j] * (i + 1) % 31)
                let sorted: [n]i64 = sort(row)
                let one = 1i64
                yield elements(one), elements(sorted)
            })
            return a, ones, b, xs
        }, || {
            let a: i64, ones: [a]i64, b: i64, xs: [b]i64 = consume([3], |i| {
                yield elements(i), elements(w)
            })
            return a, ones, b, xs
        })
        return ones, xs, w }";
    let mut inputs = Vec::new();
    for (n, turns) in [(0, 2), (1, 3), (17, 4), (300, 1)] {
        for sorts in [false, true] {
            let x: Vec<i64> = (0..n as i64).map(|i| i * 37 % 101).collect();
            inputs.push(vec![Array::new(&[n], &x).unwrap(), Array::scalar(turns as i64), Array::scalar(sorts)]);
        }
    }
    check(source, &inputs);
}

/// Loops in a lane whose states change places, or become the same array, or keep what was there before the loop; branches that make arrays or hand
/// on others; arrays by another name, and the first elements of others.
#[test]
fn states_change_places_and_share_arrays() {
    let source = "fn f(x: [n]i64, y: [k]i64) -> [?]i64, [?]i64, [?]i64, [?]i64 {
        let a: i64, us: [a]i64, b: i64, vs: [b]i64, c: i64, ws: [c]i64, d: i64, ps: [d]i64 = consume([n], |i| {
            let m = x[i] % 7 + 2
            let one: [m]i64 = generate([m], |j| j * 3 + i)
            let two: [m]i64 = generate([m], |j| x[(i + j) % n] - j)
            let u: [m]i64, v: [m]i64, w: [m]i64, s: i64, t: i64 = while(|u: [m]i64, v: [m]i64, w: [m]i64, s: i64, t: i64| {
                let go = s < x[i] % 11
                return go
            }, |u: [m]i64, v: [m]i64, w: [m]i64, s: i64, t: i64| {
                let sum: [m]i64 = map(|p, q| p * 5 - q, u, w)
                let next = s + 1
                let even = s % 2 == 0
                let p: [m]i64, q: [m]i64 = cond(even, || {
                    let other: [m]i64 = map(|p| p + 1, v)
                    return sum, other
                }, || { return u, sum })
                let both = t + s
                return v, p, q, next, both
            }, one, two, two, 0i64, i)
            let e: [m]i64, g: [m]i64, r: i64 = while(|e: [m]i64, g: [m]i64, r: i64| {
                let go = r < 3
                return go
            }, |e: [m]i64, g: [m]i64, r: i64| {
                let both: [m]i64 = map(|p, q| p + q * 3, e, g)
                let next = r + 1
                return both, both, next
            }, u, v, 0i64)
            let kept: i64, positive: [kept]i64, other: [kept]i64 = filter(|p, q| p > q, e, w)
            let square: [1, m]i64 = reshape([1, m], g)
            let again: [m]i64 = reshape([m], square)
            let outside: [k]i64 = map(|p| p + t, y)
            yield elements(positive), elements(again), elements(w), elements(outside)
        })
        return us, vs, ws, ps }";
    let plan = plan(source);
    for (n, k) in [(0, 3), (1, 0), (5, 2), (200, 3)] {
        let numbers = |count: usize, seed: i64| (0..count as i64).map(|i| (i * 7919 + seed) % 1009).collect::<Vec<_>>();
        let inputs = [Array::new(&[n], &numbers(n, 5)).unwrap(), Array::new(&[k], &numbers(k, 11)).unwrap()];
        same_on(&[(1, 0), (2, 1 << 20), (2, 80)], &plan, &inputs);
    }
}

#[test]
fn turns_find_the_memory_of_those_before() {
    let source = "fn f(x: [n]i64) -> [?]i64 {
        let a: i64, all: [a]i64 = consume([n], |i| {
            let row: [8]i64 = generate([8], |j| x[i] + j)
            let v: [8]i64, t: i64 = while(|v: [8]i64, t: i64| { let go = t < 3000 return go }, |v: [8]i64, t: i64| {
                let turned: [8]i64 = generate([8], |j| v[7 - j] * 3 + t)
                let next = t + 1
                return turned, next
            }, row, 0i64)
            yield elements(v)
        })
        return all }";
    let plan = plan(source);
    let inputs = [Array::new(&[2], &[5i64, 7]).unwrap()];
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).unwrap();
    let loaded = compiled(&backend, &plan).unwrap().load_plan().unwrap();
    let mut results = Vec::new();
    let peak = loaded.run_into(&inputs, &mut results).unwrap().peak_bytes;
    assert!(same_bits(&results[0], &interpreted(&plan, &inputs).unwrap()[0]));
    assert_eq!((loaded.scripts(), loaded.lanes_stopped()), (1, 0));
    assert!(peak < 10_000, "{peak} bytes for three arrays of 64");
}
