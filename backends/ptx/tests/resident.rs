//! Arrays that stay on a device, scalars that stay on the host: what is copied when, on a simulated one.

use crate::common::{Random, interpreted, plan, proved, same_bits, simulator};
use fusebox_backend::{DeviceArray, Program, start};
use fusebox_ir::{Array, ElementType};
use fusebox_ptx::{
    LoadedPlan, PtxBackend,
    sim::{Asked, Simulator},
};

type Loaded = LoadedPlan<Simulator>;

fn loaded(backend: &PtxBackend<Simulator>, source: &str) -> Loaded {
    backend.compile_proved_plan(&proved(&plan(source))).unwrap().load_plan().unwrap()
}

/// What the simulator is asked for while something is done.
fn asked<T>(backend: &PtxBackend<Simulator>, work: impl FnOnce() -> T) -> (T, Asked) {
    let before = backend.device().asked();
    let result = work();
    let after = backend.device().asked();
    let asked = Asked {
        uploads: after.uploads - before.uploads,
        uploaded_bytes: after.uploaded_bytes - before.uploaded_bytes,
        downloads: after.downloads - before.downloads,
        downloaded_bytes: after.downloaded_bytes - before.downloaded_bytes,
        launches: after.launches - before.launches,
    };
    (result, asked)
}

fn to_device(program: &Loaded, inputs: &[Array]) -> Vec<DeviceArray> {
    inputs.iter().map(|input| program.to_device(input).unwrap()).collect()
}

/// Programs, each with inputs of some sizes. Of the last one a kernel checks indices, which is one question to the device.
fn programs() -> Vec<(&'static str, Vec<Vec<Array>>)> {
    let mut random = Random(11);
    let floats = |random: &mut Random, n: usize| random.array(ElementType::F32, &[n]);
    let sizes = [0usize, 1, 5, 300, 5000];
    vec![
        (
            "fn f(x: [n]f32, a: f32) -> [n]f32 { let r: [n]f32 = map(|x| a * x + 0.5, x) return r }",
            sizes.map(|n| vec![floats(&mut random, n), random.array(ElementType::F32, &[])]).into(),
        ),
        (
            "fn f(x: [n]f32) -> f32, [n]f32 {
             let s: f32 = fold(|x, y| x + y, 0.0, x)
             let r: [n]f32 = map(|x| x - s, x) return s, r }",
            sizes.map(|n| vec![floats(&mut random, n)]).into(),
        ),
        (
            "fn f(x: [n]f32) -> [n]f32 { let r: [n]f32 = scanl1(|x, y| x + y, x) return r }",
            sizes.map(|n| vec![floats(&mut random, n)]).into(),
        ),
        // An array that the plan spells out.
        (
            "fn f(x: [n]f32) -> [n]f32 { let w: [4]f32 = constant([1.0, -2.0, 0.5, 3.0])
             let r: [n]f32 = generate([n], |i| x[i] * w[i % 4]) return r }",
            sizes.map(|n| vec![floats(&mut random, n)]).into(),
        ),
        // A loop that may write over its state, which is an input at first.
        (
            "fn f(x: [n]f32, k: i64) -> [n]f32 {
             let r: [n]f32, i: i64 = while(|v: [n]f32, i: i64| { let more = i < k return more }, |v: [n]f32, i: i64| {
               let w: [n]f32 = map(|x| x * 1.5 + 1.0, v) let j = i + 1 return w, j }, x, 0) return r }",
            sizes.map(|n| vec![floats(&mut random, n), Array::scalar(3i64)]).into(),
        ),
        // A scatter into a copy of an input, and into a scalar.
        (
            "fn f(x: [n]i32, d: [4]i32, t: i32) -> [4]i32, i32 {
             let at: [n]i64 = generate([n], |i| i % 4)
             let p: [4]i32 = permute(|x, y| x + y, d, x, at: at)
             let s: i32 = fold(|x, y| x + y, t, x) return p, s }",
            sizes
                .map(|n| {
                    let of = |random: &mut Random, extents: &[usize]| random.array(ElementType::I32, extents);
                    vec![of(&mut random, &[n]), of(&mut random, &[4]), of(&mut random, &[])]
                })
                .into(),
        ),
    ]
}

#[test]
fn a_second_run_copies_nothing_and_results_are_copied_when_they_are_asked_for() {
    for (source, all_inputs) in programs() {
        let backend = simulator("sm_80", 3);
        let program = loaded(&backend, source);
        for inputs in all_inputs {
            let expected = interpreted(program.plan(), &inputs).unwrap();
            let given = to_device(&program, &inputs);
            program.run_resident(&given).unwrap();
            let ((results, _), second) = asked(&backend, || program.run_resident(&given).unwrap());
            // Of no elements nothing is launched that might fail.
            let questions = u64::from(source.contains("permute") && inputs[0].extents() != [0]);
            assert_eq!((second.uploads, second.downloads), (0, questions), "{source}: {second:?}");
            let (found, copied) =
                asked(&backend, || results.iter().map(|result| result.to_host().unwrap()).collect::<Vec<Array>>());
            assert!(copied.downloads as usize <= results.len() && copied.uploads == 0, "{source}: {copied:?}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(same_bits(found, expected), "{source}: {found:?}, not {expected:?}");
            }
            let (_, again) = asked(&backend, || results.iter().for_each(|result| drop(result.to_host().unwrap())));
            assert_eq!(again, Asked::default(), "{source}");
            // Inputs keep their values.
            for (given, input) in given.iter().zip(&inputs) {
                assert!(same_bits(&given.to_host().unwrap(), input), "{source}");
            }
        }
    }
}

#[test]
fn results_are_inputs_of_other_programs_and_of_other_devices() {
    let backend = simulator("sm_80", 1);
    let double = loaded(&backend, "fn f(x: [n]i32) -> [n]i32 { let r: [n]i32 = map(|x| 2 * x, x) return r }");
    let sum = loaded(&backend, "fn f(x: [n]i32) -> i32 { let s: i32 = fold(|x, y| x + y, 0i32, x) return s }");
    let input = Random(5).array(ElementType::I32, &[777]);
    let expected: i32 =
        input.as_slice::<i32>().unwrap().iter().fold(0i32, |sum, &x| sum.wrapping_add(x.wrapping_mul(16)));
    let mut array = double.to_device(&input).unwrap();
    let (_, chain) = asked(&backend, || {
        for _ in 0..4 {
            array = double.run_resident(&[array.clone()]).unwrap().0.swap_remove(0);
        }
        array = sum.run_resident(&[array.clone()]).unwrap().0.swap_remove(0);
    });
    // The one scalar is the seed of the sum, if its kernel reads one.
    assert!(chain.downloads == 0 && chain.uploaded_bytes <= 4, "{chain:?}");
    assert_eq!(array.to_host().unwrap().as_slice(), Some(&[expected][..]));
    // On another device, and from the host's memory, it goes through the host.
    let other = simulator("sm_70", 2);
    let add = loaded(&other, "fn f(x: i32, y: i32) -> i32 { let s = x + y return s }");
    let inputs = [array, DeviceArray::of_host(Array::scalar(1i32))];
    let results = add.run_resident(&inputs).unwrap().0;
    assert_eq!(results[0].to_host().unwrap().as_slice(), Some(&[expected.wrapping_add(1)][..]));
    let wrong = add.run_resident(&inputs[..1]).unwrap_err();
    assert_eq!(wrong.to_string(), "the program has 2 inputs, but 1 were given");
}

#[test]
fn what_the_host_knows_costs_no_round_trip() {
    // A loop whose turns the host counts; extents that inputs say or that the host computes; a branch.
    let source = "fn f(x: [n]f32, turns: i64) -> [?]f32 {
        let r: [n]f32, k: i64 = while(|v: [n]f32, i: i64| { let more = i < turns && i * i < 1000 return more }, |v: [n]f32, i: i64| {
            let w: [n]f32 = map(|x| x * 1.5 + 1.0, v)
            let j = if i % 2 == 0 { i + 1 } else { i + 3 }
            return w, j }, x, 0)
        let m = k * 2 + n
        let s: [m]f32 = generate([m], |i| f32(i) + f32(k))
        return s }";
    for keeps in [false, true] {
        let backend = limited(u64::MAX, keeps);
        let program = loaded(&backend, source);
        for (n, turns) in [(0usize, 0i64), (1, 1), (50, 9), (50, 40)] {
            let inputs = [Random(8).array(ElementType::F32, &[n]), Array::scalar(turns)];
            let expected = interpreted(program.plan(), &inputs).unwrap();
            let given = to_device(&program, &inputs);
            let ((results, _), run) = asked(&backend, || program.run_resident(&given).unwrap());
            assert_eq!(run.downloads, 0, "{n} {turns}: {run:?}");
            assert!(same_bits(&results[0].to_host().unwrap(), &expected[0]));
            let (results, run) = asked(&backend, || program.run(&inputs).unwrap());
            assert!(run.downloads <= 1, "{n} {turns}: {run:?}");
            assert!(same_bits(&results[0], &expected[0]));
        }
    }
}

#[test]
fn what_the_device_computes_is_asked_for_once() {
    // The condition needs the sum of the state: one question a turn, of the number and not of the array.
    let source = "fn f(x: [n]i32) -> [n]i32, i64 {
        let r: [n]i32, k: i64 = while(|v: [n]i32, i: i64| { let s: i32 = fold(|x, y| x + y, 0i32, v) let more = s < 1000 && s < 2000 return more },
            |v: [n]i32, i: i64| { let w: [n]i32 = map(|x| x * 2, v) let j = i + 1 return w, j }, x, 0)
        return r, k }";
    let backend = simulator("sm_80", 4);
    let program = loaded(&backend, source);
    let inputs = [Array::new(&[10], &[1i32; 10]).unwrap()];
    let given = to_device(&program, &inputs);
    let ((results, _), run) = asked(&backend, || program.run_resident(&given).unwrap());
    assert_eq!(results[1].to_host().unwrap(), Array::scalar(7i64));
    assert_eq!(results[0].to_host().unwrap(), Array::new(&[10], &[128i32; 10]).unwrap());
    assert_eq!(run.downloads, 8, "{run:?}");
    assert!(run.downloaded_bytes <= 8 * 4, "{run:?}");
}

#[test]
fn errors_of_scalars_are_those_of_the_interpreter() {
    let backend = simulator("sm_80", 4);
    for source in [
        "fn f(a: i64, b: i64) -> i64 { let q = a / b return q }",
        "fn f(a: i64, b: i64) -> i64 { let q = assert(b > a, \"no {} below {}\", a, b, a - b) return q }",
        "fn f(a: i64, b: i64) -> i64 { let q = if a > 0 { a % b } else { 0 } return q }",
        "fn f(a: i64, b: i64) -> [?]i64 { let k = a * b - 3 let g: [k]i64 = generate([k], |i| i) return g }",
    ] {
        let program = loaded(&backend, source);
        for (a, b) in [(3i64, 0i64), (-1, 0), (i64::MIN, -1), (5, 7), (0, 0)] {
            let inputs = [Array::scalar(a), Array::scalar(b)];
            let expected = interpreted(program.plan(), &inputs);
            match (program.run(&inputs), expected) {
                (Ok(results), Ok(expected)) => assert!(same_bits(&results[0], &expected[0]), "{source} {a} {b}"),
                (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected, "{source} {a} {b}"),
                (found, expected) => panic!("{source} {a} {b}: {found:?}, not {expected:?}"),
            }
        }
    }
}

#[test]
fn a_run_after_one_that_failed_is_right() {
    let backend = simulator("sm_80", 4);
    let program =
        loaded(&backend, "fn f(a: [m]f32, at: [n]i64) -> [n]f32 { let b: [n]f32 = map(|k| a[k] + 1.0, at) return b }");
    let a = Array::new(&[3], &[1.0f32, 2.0, 3.0]).unwrap();
    for round in 0..4i64 {
        let at = Array::new(&[2], &[2, round]).unwrap();
        let expected = interpreted(program.plan(), &[a.clone(), at.clone()]);
        match program.run(&[a.clone(), at]) {
            Ok(results) => assert_eq!(results, expected.unwrap()),
            Err(error) => assert_eq!((error.to_string(), round), (expected.unwrap_err(), 3)),
        }
    }
    let good = Array::new(&[2], &[0i64, 1]).unwrap();
    assert_eq!(program.run(&[a, good]).unwrap(), [Array::new(&[2], &[2.0f32, 3.0]).unwrap()]);
}

/// A backend whose device has so many bytes for arrays.
fn limited(bytes: u64, keeps_blocks: bool) -> PtxBackend<Simulator> {
    let simulated = Simulator::new(fusebox_ptx::sim::Options { seed: 7, ..Default::default() });
    let simulated = if keeps_blocks { simulated.that_keeps_blocks() } else { simulated };
    let memory = fusebox_ptx::DeviceMemory::with_limit(simulated, bytes);
    PtxBackend::with_memory(memory, fusebox_schedule::Target::named("sm_80").unwrap())
}

/// Elements of arrays below: 4 KiB.
const ELEMENTS: usize = 1024;
const BYTES: u64 = 4 * ELEMENTS as u64;

/// Twenty arrays are made of one, and all of them are needed at the end: each by a pass of its own.
fn many_arrays() -> String {
    let mut source = "fn f(x: [n]i32, k: i64) -> [n]i32 {\n".to_owned();
    let mut last = "x".to_owned();
    for number in 0..20 {
        // What is before depends on the element at another place, so that no two are one pass.
        source += &format!("let a{number}: [n]i32 = generate([n], |i| {last}[(i * 7 + {number}) % n] + {number}i32)\n");
        last = format!("a{number}");
    }
    let mut sum = "a19".to_owned();
    for number in (0..19).rev() {
        source +=
            &format!("let s{number}: [n]i32 = generate([n], |i| {sum}[(i * 5 + 1) % n] + a{number}[(i * 3) % n])\n");
        sum = format!("s{number}");
    }
    source + &format!("return {sum} }}")
}

#[test]
fn programs_of_ten_times_the_memory_run_right() {
    let source = many_arrays();
    let source = source.replace(", k: i64", "");
    let inputs = [Random(4).array(ElementType::I32, &[ELEMENTS])];
    let expected = {
        let plain = loaded(&simulator("sm_80", 0), &source);
        interpreted(plain.plan(), &inputs).unwrap()
    };
    for keeps_blocks in [false, true] {
        // Room for a little more than four arrays, of more than twenty at a time and forty in all.
        let backend = limited(4 * BYTES + 2048, keeps_blocks);
        let program = loaded(&backend, &source);
        for _ in 0..2 {
            let before = backend.memory().transfers();
            let results = program.run(&inputs).unwrap();
            assert!(same_bits(&results[0], &expected[0]), "{keeps_blocks}");
            let after = backend.memory().transfers();
            assert!(backend.device().used_bytes() <= 4 * BYTES + 2048);
            let (out, back) = (after.downloads - before.downloads, after.uploads - before.uploads);
            // Most of the twenty arrays leave, and come back once.
            assert!((15..=22).contains(&out) && (15..=22).contains(&back), "{keeps_blocks}: {out} {back}");
        }
    }
    // With room for all nothing leaves.
    let backend = limited(u64::MAX, true);
    let results = loaded(&backend, &source).run(&inputs).unwrap();
    assert!(same_bits(&results[0], &expected[0]));
    let transfers = backend.memory().transfers();
    assert_eq!((transfers.evictions, transfers.downloads, transfers.uploads), (0, 1, 1));
}

#[test]
fn a_kernel_that_cannot_fit_says_what_is_there() {
    let backend = limited(2 * BYTES + 1024, false);
    let program = loaded(
        &backend,
        "fn f(left: [n]i32, right: [n]i32) -> [n]i32 { let total: [n]i32 = map(|x, y| x + y, left, right) return total }",
    );
    let mut random = Random(6);
    let mut of = |n: usize| vec![random.array(ElementType::I32, &[n]), random.array(ElementType::I32, &[n])];
    let error = program.run(&of(ELEMENTS)).unwrap_err().to_string();
    assert!(error.contains("no room on the device for `right`, 4096 bytes; there are"), "{error}");
    assert!(
        error.contains("`left` of 4096 bytes (in use)") && error.contains("`total` of 4096 bytes (in use)"),
        "{error}"
    );
    // What does fit runs after it.
    let small = of(100);
    assert_eq!(program.run(&small).unwrap(), interpreted(program.plan(), &small).unwrap());
    // One array that is larger than the device is what it is anywhere: too large.
    let generate = loaded(&backend, "fn f(n: i64) -> [?]i64 { let g: [n]i64 = generate([n], |i| i) return g }");
    let error = generate.run(&[Array::scalar(1i64 << 12)]).unwrap_err();
    assert!(matches!(error, fusebox_backend::BackendError::Run(_)), "{error}");
    assert_eq!(backend.device().used_bytes().checked_sub(2 * BYTES + 1024), None);
}

#[test]
fn several_runs_are_in_flight() {
    let source = "fn f(x: [n]i32, k: i64) -> [n]i32 {
        let r: [n]i32, i: i64 = while(|v: [n]i32, i: i64| { let more = i < k return more }, |v: [n]i32, i: i64| {
            let w: [n]i32 = generate([n], |p| v[(p * 7 + 1) % n] + 1i32) let j = i + 1 return w, j }, x, 0) return r }";
    for limit in [u64::MAX, 5 * BYTES] {
        let backend = limited(limit, true);
        let program: std::sync::Arc<Loaded> = loaded(&backend, source).into();
        let input = Random(2).array(ElementType::I32, &[ELEMENTS]);
        let shared = program.to_device(&input).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3i64 {
                let (program, shared, input) = (&program, &shared, &input);
                scope.spawn(move || {
                    let begin = |k: i64| {
                        let (program, shared) = (program.clone(), shared.clone());
                        start(move || program.run_resident(&[shared, DeviceArray::of_host(Array::scalar(k))]))
                    };
                    let running: Vec<_> = (0..4).map(|number| (thread + number, begin(thread + number))).collect();
                    drop(begin(9));
                    for (k, run) in running {
                        let (results, _) = run.wait().unwrap();
                        let expected = interpreted(program.plan(), &[input.clone(), Array::scalar(k)]).unwrap();
                        assert!(same_bits(&results[0].to_host().unwrap(), &expected[0]), "{k}");
                    }
                });
            }
        });
        assert!(same_bits(&shared.to_host().unwrap(), &input));
        assert!(backend.device().used_bytes() <= limit);
    }
}

#[test]
fn memory_is_allocated_once_for_all_runs() {
    let backend = limited(u64::MAX, true);
    // A sort, a scan with its tiles, a fold in two launches, checks: all of them work in memory.
    let program = loaded(
        &backend,
        "fn f(x: [n]i32, at: [n]i64) -> [n]i32, [n]i32, i32, [n]i32 {
         let s: [n]i32 = sort(x) let p: [n]i32 = scanl1(|x, y| x + y, x) let t: i32 = fold(|x, y| max(x, y), 0i32, x)
         let g: [n]i32 = map(|i| x[i], at) return s, p, t, g }",
    );
    let mut random = Random(3);
    let inputs = [random.array(ElementType::I32, &[5000]), random.ints(ElementType::I64, &[5000], 0, 5000)];
    let expected = interpreted(program.plan(), &inputs).unwrap();
    let mut used = Vec::new();
    for _ in 0..4 {
        assert_eq!(program.run(&inputs).unwrap(), expected);
        used.push(backend.device().used_bytes());
    }
    assert_eq!(used[1..], [used[1]; 3], "{used:?}");
}
