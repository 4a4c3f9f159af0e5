//! Values that stay where programs run, and runs that are under way: the same on every backend.

use fusebox::{Backend, Error, OnDevice, Options, compile_program, ir, prelude::*};
use ir::{Array as IrArray, Value, text};

const BACKENDS: [Backend; 4] = [Backend::Interp, Backend::Cpu, Backend::Sim, Backend::Auto];

/// Options for a simulated device that no other test has, of so many bytes.
fn own_simulator(bytes: u64) -> Options {
    Options { device_memory: Some(bytes), ..Options::on(Backend::Sim) }
}

fn vector(elements: &[f32]) -> Vector<f32> {
    Vector::from_slice(elements).unwrap()
}

#[test]
fn results_of_one_program_are_inputs_of_another() {
    for backend in BACKENDS {
        let options = Options::on(backend);
        let step = fusebox::compile(|xs: Acc<Vector<f32>>, a: Exp<f32>| xs.map(|x| a * x + 1.0), &options).unwrap();
        let apart = |xs: Acc<Vector<f32>>| (sum(xs), xs.map(|x| (x, x.gt(10.0))), xs.shape());
        let apart = fusebox::compile(apart, &options).unwrap();
        let dot = |xs: Acc<Vector<(f32, bool)>>, total: Acc<Scalar<f32>>| {
            let total = total.get();
            let marked = xs.map(|pair| {
                let (x, mark) = pair.parts();
                mark.cond(x - total, 0.0)
            });
            sum(marked)
        };
        let dot = fusebox::compile(dot, &options).unwrap();

        let (mut xs, a) = step.to_device(&vector(&[1.0, 2.0, 3.0]), &2.0).unwrap();
        for _ in 0..2 {
            xs = step.run_on_device(&xs, &a).unwrap();
        }
        assert_eq!(xs.to_host().unwrap().to_vec(), [7.0, 11.0, 15.0], "{backend}");
        assert_eq!(a.to_host().unwrap(), 2.0);
        let results = apart.run_on_device(&xs).unwrap();
        assert_eq!(results.values().len(), 4, "{backend}");
        let (total, pairs, extent) = results.into_parts();
        let extent: OnDevice<Exp<i64>> = extent;
        assert_eq!(extent.to_host().unwrap(), 3, "{backend}");
        let last = dot.run_on_device(&pairs, &total).unwrap().to_host().unwrap();
        assert_eq!(last.value(), Some((11.0 - 33.0) + (15.0 - 33.0)), "{backend}");
        assert_eq!(pairs.clone().to_host().unwrap().to_vec(), [(7.0, false), (11.0, true), (15.0, true)]);
    }
}

#[test]
fn arrays_that_a_program_uses_are_brought_once() {
    let weights = vector(&[1.0, 2.0, 4.0]);
    let options = own_simulator(40_001);
    let weigh =
        fusebox::compile(|xs: Acc<Vector<f32>>| zip_with(|x, w| x * w, xs, use_array(&weights)), &options).unwrap();
    let (mut xs,) = weigh.to_device(&vector(&[1.0, 1.0, 1.0])).unwrap();
    xs = weigh.run_on_device(&xs).unwrap();
    let before = weigh.program().transfers();
    for _ in 0..3 {
        xs = weigh.clone().run_on_device(&xs).unwrap();
    }
    assert_eq!(weigh.program().transfers(), before);
    assert_eq!(xs.to_host().unwrap().to_vec(), [1.0, 16.0, 256.0]);
    assert_eq!(weigh.program().transfers().downloads, before.downloads + 1);
}

#[test]
fn on_the_cpu_nothing_is_copied() {
    let program = text::parse(
        "fn f(x: [n]f32, y: [n]f32) -> [n]f32, [n]f32 { let r: [n]f32 = map(|x, y| x + y, x, y) return x, r }",
    );
    let program = compile_program(&program.unwrap(), &Options::default()).unwrap();
    let host = IrArray::new(&[1000], &[1.5f32; 1000]).unwrap();
    let given = program.to_device(&[host.clone().into(), host.clone().into()]).unwrap();
    let shares = |value: Value, array: &IrArray| matches!(value, Value::Array(own) if own.shares_memory_with(array));
    assert!(given.iter().all(|value| shares(value.to_host().unwrap(), &host)));
    let results = program.run_on_device(&given).unwrap();
    assert!(shares(results[0].to_host().unwrap(), &host));
    let Value::Array(sum) = results[1].to_host().unwrap() else { panic!("an array") };
    assert!(shares(results[1].to_host().unwrap(), &sum));
    let again = program.run_on_device(&[results[1].clone(), given[0].clone()]).unwrap();
    assert!(shares(again[0].to_host().unwrap(), &sum));
    assert_eq!(program.transfers(), Default::default());
}

#[test]
fn arrays_of_arrays_and_streams() {
    let ints = |numbers: &[i64]| IrArray::new(&[numbers.len()], numbers).unwrap();
    let nested =
        |extents: &[i64], values: &[i64]| Value::Nested(ir::Nested { extents: ints(extents), values: ints(values) });
    let doubling = "fn f(rows: [n][?]i64) -> [n][?]i64, [n]i64 {
      let t: [n][?]i64, s: [n]i64 = nest([n], |i| {
        let k: i64, r: [k]i64 = element(rows, i)
        let d: [k]i64 = map(|x| 2 * x, r)
        let q: i64 = fold(|a, b| a + b, 0, r)
        return d, q })
      return t, s }";
    let streaming = "fn f(n: i64, rows: stream [?]i64, x: [m]i64) -> stream [?]i64, i64, [m]i64 {
      let doubled: stream [?]i64, s: i64 = consume([n], |i, row: [k]i64| {
        let twice: [k]i64 = map(|x| 2 * x, row)
        let t: i64 = fold(|a, b| a + b, i, row)
        yield stream_out(twice), accumulate(|all: i64, values: [z]i64| {
          let sum: i64 = fold(|a, b| a + b, all, values)
          return sum
        }, 100, t)
      }, rows)
      let y: [m]i64 = map(|x| x + s, x)
      return doubled, s, y }";
    let stream = |rows: &[&[i64]]| Value::Stream(rows.iter().map(|row| ints(row)).collect());
    for backend in BACKENDS {
        let options = Options::on(backend);
        let double = compile_program(&text::parse(doubling).unwrap(), &options).unwrap();
        let given = double.to_device(&[nested(&[2, 0, 3], &[1, 2, 3, 4, 5])]).unwrap();
        let once = double.run_on_device(&given).unwrap();
        let twice = double.run_on_device(&once[..1]).unwrap();
        let expected = [nested(&[2, 0, 3], &[4, 8, 12, 16, 20]), ints(&[6, 0, 24]).into()];
        assert_eq!(twice.iter().map(|value| value.to_host().unwrap()).collect::<Vec<_>>(), expected, "{backend}");
        // What is inside is looked at.
        let bad = double.to_device(&[nested(&[2, 1, 3], &[1, 2, 3, 4, 5])]).unwrap();
        assert!(matches!(double.run_on_device(&bad), Err(Error::Input(_))), "{backend}");

        let run = compile_program(&text::parse(streaming).unwrap(), &options).unwrap();
        for rows in [&[&[1, 2][..], &[], &[3]][..], &[]] {
            let number = IrArray::scalar(rows.len() as i64);
            let inputs = [number.into(), stream(rows), ints(&[10, 20]).into()];
            let expected = run.run(&inputs).unwrap();
            let results = run.run_on_device(&run.to_device(&inputs).unwrap()).unwrap();
            assert_eq!(results.iter().map(|value| value.to_host().unwrap()).collect::<Vec<_>>(), expected, "{backend}");
            // The stream that came out goes in again, beside an array that is on the device.
            let next = [run.to_device(&inputs[..1]).unwrap().remove(0), results[0].clone(), results[2].clone()];
            let next = run.run_on_device(&next).unwrap();
            let expected = run.run(&[inputs[0].clone(), expected[0].clone(), expected[2].clone()]).unwrap();
            assert_eq!(next.iter().map(|value| value.to_host().unwrap()).collect::<Vec<_>>(), expected, "{backend}");
        }
    }
}

#[test]
fn streams_and_arrays_of_arrays_stay_on_the_device() {
    let ints = |numbers: &[i64]| IrArray::new(&[numbers.len()], numbers).unwrap();
    let streaming = "fn f(rows: stream [?]i64, numbers: stream i64) -> stream [?]i64, stream i64 {
      let r: stream [?]i64, s: stream i64 = consume(|i, row: [k]i64, x: i64| {
        let q: [k]i64 = map(|y| y * x + i, row)
        let t: i64 = fold(|a, b| a + b, 0, row)
        yield stream_out(q), stream_out(t)
      }, rows, numbers)
      return r, s }";
    let nested = "fn f(rows: [n][?]i64, numbers: [n]i64) -> [n][?]i64, [n]i64 {
      let r: [n][?]i64, s: [n]i64 = nest([n], |i| {
        let k: i64, row: [k]i64 = element(rows, i)
        let x = numbers[i]
        let q: [k]i64 = map(|y| y * x + i, row)
        let t: i64 = fold(|a, b| a + b, 0, row)
        return q, t })
      return r, s }";
    let rows: [&[i64]; 4] = [&[1, 2, 3], &[], &[4], &[5, 6]];
    let streams =
        [Value::Stream(rows.map(ints).to_vec()), Value::Stream((1..5i64).map(IrArray::scalar).collect::<Vec<_>>())];
    let arrays = [
        Value::Nested(ir::Nested { extents: ints(&[3, 0, 1, 2]), values: ints(&[1, 2, 3, 4, 5, 6]) }),
        ints(&[1, 2, 3, 4]).into(),
    ];
    for (number, (source, inputs)) in [(streaming, streams), (nested, arrays)].into_iter().enumerate() {
        let source = text::parse(source).unwrap();
        let program = compile_program(&source, &own_simulator(50_001 + number as u64)).unwrap();
        let mut expected = inputs.to_vec();
        let mut values = program.to_device(&inputs).unwrap();
        values = program.run_on_device(&values).unwrap();
        let before = program.transfers();
        for _ in 0..3 {
            values = program.run_on_device(&values).unwrap();
        }
        let after = program.transfers();
        // What is asked of the device between steps is how many elements there are, and nothing else.
        assert_eq!((after.uploads, after.evictions), (before.uploads, before.evictions), "{source}");
        let (copies, bytes) = (after.downloads - before.downloads, after.downloaded_bytes - before.downloaded_bytes);
        assert!(bytes <= 8 * copies && copies <= 6, "{copies} {bytes} {source}");
        for _ in 0..4 {
            expected = compile_program(&source, &Options::on(Backend::Interp)).unwrap().run(&expected).unwrap();
        }
        assert_eq!(values.iter().map(|value| value.to_host().unwrap()).collect::<Vec<_>>(), expected, "{source}");
    }
}

/// What a program made, and another one does not take, is refused in the words of the host.
#[test]
fn streams_and_arrays_of_arrays_that_do_not_fit_are_refused_as_elsewhere() {
    let ints = |numbers: &[i64]| IrArray::new(&[numbers.len()], numbers).unwrap();
    let rows = |rows: &[&[i64]]| Value::Stream(rows.iter().map(|row| ints(row)).collect());
    let numbers = |numbers: &[i64]| Value::Stream(numbers.iter().map(|&number| IrArray::scalar(number)).collect());
    let nested =
        |extents: &[i64], values: &[i64]| Value::Nested(ir::Nested { extents: ints(extents), values: ints(values) });
    let table = |extents: &[usize]| {
        IrArray::new(extents, &vec![1i64; extents.iter().product()]).map(|table| Value::Stream(vec![table])).unwrap()
    };
    let same = |ty: &str| format!("fn same(a: {ty}) -> {ty} {{ return a }}");
    let given = [
        ("stream [?]i64", vec![rows(&[&[1, 2], &[3, 4]]), rows(&[&[1], &[]]), rows(&[]), rows(&[&[7, 8, 9]])]),
        ("stream [?, ?]i64", vec![table(&[2, 3]), table(&[2, 2]), table(&[0, 5])]),
        ("stream i64", vec![numbers(&[1, 2]), numbers(&[])]),
        ("[n][?]i64", vec![nested(&[2, 2], &[1, 2, 3, 4]), nested(&[1, 0], &[1]), nested(&[], &[])]),
        ("[n]i64", vec![ints(&[2, 2]).into(), ints(&[]).into()]),
        ("i64", vec![IrArray::scalar(2i64).into(), IrArray::scalar(3i64).into()]),
    ];
    let takers = [
        "fn f(k: i64, a: stream [k]i64) -> i64 { return k }",
        "fn f(k: i64, a: stream [?]i64) -> i64 { return k }",
        "fn f(k: i64, a: stream [2]i64) -> i64 { return k }",
        "fn f(k: i64, a: stream [2, k]i64) -> i64 { return k }",
        "fn f(k: i64, a: stream [?, 3]i64) -> i64 { return k }",
        "fn f(k: i64, a: stream i64) -> i64 { return k }",
        "fn f(k: i64, a: stream f32) -> i64 { return k }",
        "fn f(k: i64, a: [k][?]i64) -> i64 { return k }",
        "fn f(k: i64, a: [n][k]i64) -> i64 { return k }",
        "fn f(k: i64, a: [n][2]i64) -> i64 { return k }",
        "fn f(k: i64, a: [n][?]f64) -> i64 { return k }",
        "fn f(k: i64, a: [k]i64) -> i64 { return k }",
    ];
    for backend in [Backend::Interp, Backend::Cpu, Backend::Sim] {
        let options = Options::on(backend);
        let two = IrArray::scalar(2i64);
        let mut made: Vec<(Value, fusebox::DeviceValue)> = Vec::new();
        for (ty, values) in &given {
            let same = compile_program(&text::parse(&same(ty)).unwrap(), &options).unwrap();
            for value in values {
                let brought = same.to_device(std::slice::from_ref(value)).unwrap();
                made.push((value.clone(), same.run_on_device(&brought).unwrap().remove(0)));
                made.push((value.clone(), brought[0].clone()));
            }
        }
        let (mut right, mut wrong) = (0, 0);
        for taker in takers {
            let taker = compile_program(&text::parse(taker).unwrap(), &options).unwrap();
            let k = taker.to_device(&[two.clone().into()]).unwrap().remove(0);
            for (value, on_device) in &made {
                let here = taker.run(&[two.clone().into(), value.clone()]).map_err(|error| error.to_string());
                let there = taker.run_on_device(&[k.clone(), on_device.clone()]).map_err(|error| error.to_string());
                let there = there.map(|values| values.iter().map(|value| value.to_host().unwrap()).collect::<Vec<_>>());
                if here.is_ok() {
                    right += 1
                } else {
                    wrong += 1
                }
                assert_eq!(here, there, "{backend} {value:?} {}", taker.signature());
            }
        }
        assert!(right > 40 && wrong > 100, "{right} {wrong}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused_as_elsewhere() {
    let source =
        "fn f(k: i64, x: [n]f32, y: [n]f32, z: [k]f32) -> [n]f32 { let r: [n]f32 = map(|x, y| x + y, x, y) return r }";
    let program = text::parse(source).unwrap();
    let array = |n: usize| Value::from(IrArray::new(&[n], &vec![1.0f32; n]).unwrap());
    let number = |k: i64| Value::from(IrArray::scalar(k));
    for backend in BACKENDS {
        let program = compile_program(&program, &Options::on(backend)).unwrap();
        for inputs in [
            vec![number(2), array(3), array(3), array(2)],
            vec![number(2), array(3), array(4), array(2)],
            vec![number(2), array(3), array(3), array(3)],
            vec![array(1), array(3), array(3), array(3)],
            vec![number(2), array(3), number(3), array(2)],
            vec![number(2), array(3)],
        ] {
            let here = program.run(&inputs).map_err(|error| error.to_string());
            let given = program.to_device(&inputs).unwrap();
            let there = program.run_on_device(&given).map_err(|error| error.to_string());
            let there = there.map(|values| values.iter().map(|value| value.to_host().unwrap()).collect::<Vec<_>>());
            assert_eq!(here, there, "{backend}");
        }
    }
}

#[test]
fn values_go_from_one_device_to_another() {
    let source = text::parse("fn f(x: [n]i32) -> [n]i32 { let r: [n]i32 = map(|x| 3 * x, x) return r }").unwrap();
    let mut value = None;
    for backend in [Backend::Cpu, Backend::Sim, Backend::Interp, Backend::Sim, Backend::Cpu] {
        let program = compile_program(&source, &Options::on(backend)).unwrap();
        let first = || program.to_device(&[IrArray::new(&[2], &[1i32, -2]).unwrap().into()]).unwrap();
        let given = value.take().map_or_else(first, |value| vec![value]);
        value = program.run_on_device(&given).unwrap().pop();
    }
    assert_eq!(value.unwrap().to_host().unwrap(), IrArray::new(&[2], &[243i32, -486]).unwrap().into());
}

#[test]
fn runs_are_under_way_at_once() {
    for backend in BACKENDS {
        let mean = |xs: Acc<Vector<f32>>, a: Exp<f32>| sum(xs.map(|x| x * a));
        let mean = fusebox::compile(mean, &Options::on(backend)).unwrap();
        let xs = vector(&[1.0, 2.0, 3.0]);
        std::thread::scope(|scope| {
            for thread in 0..3u8 {
                let (mean, xs) = (&mean, &xs);
                scope.spawn(move || {
                    let factors = (0..5u8).map(|number| f32::from(10 * thread + number));
                    let running: Vec<_> = factors.clone().map(|a| mean.start(xs, &a)).collect();
                    drop(mean.start(xs, &0.5));
                    for (run, a) in running.into_iter().zip(factors).rev() {
                        assert_eq!(run.wait().unwrap().value(), Some(6.0 * a), "{backend}");
                    }
                    let (xs, a) = mean.to_device(xs, &2.0).unwrap();
                    let run = mean.start_on_device(&xs, &a);
                    assert_eq!(run.wait().unwrap().to_host().unwrap().value(), Some(12.0), "{backend}");
                });
            }
        });
        let divide = fusebox::compile(|a: Exp<i64>, b: Exp<i64>| unit(a / b), &Options::on(backend)).unwrap();
        let (good, bad) = (divide.start(&6, &3), divide.start(&6, &0));
        assert!(matches!(bad.wait(), Err(Error::Run(_))), "{backend}");
        assert_eq!(good.wait().unwrap().value(), Some(2), "{backend}");
    }
}

#[test]
fn programs_that_are_larger_than_the_device_run_right() {
    let source = text::parse(
        "fn f(x: [n]i32, k: i64) -> [n]i32, i64 {
         let a: [n]i32 = generate([n], |i| x[(i * 7) % n] + 1i32)
         let b: [n]i32 = generate([n], |i| a[(i * 5) % n] * 3i32)
         let c: [n]i32 = generate([n], |i| b[(i * 3) % n] - x[i])
         let d: [n]i32 = generate([n], |i| c[(i * 11) % n] + a[(i * 2) % n])
         let e: [n]i32, t: i64 = while(|v: [n]i32, t: i64| { let more = t < k return more }, |v: [n]i32, t: i64| {
           let w: [n]i32 = generate([n], |i| v[(i * 13) % n] + b[i]) let u = t + 1 return w, u }, d, 0)
         let r: [n]i32 = generate([n], |i| e[(i * 7) % n] + d[(i + 1) % n] + c[i])
         return r, t }",
    )
    .unwrap();
    let numbers: Vec<i32> = (0..2000).collect();
    let inputs = [IrArray::new(&[2000], &numbers).unwrap().into(), IrArray::scalar(4i64).into()];
    let expected = compile_program(&source, &Options::on(Backend::Interp)).unwrap().run(&inputs).unwrap();
    let program = compile_program(&source, &own_simulator(3 * 8000 + 2000)).unwrap();
    assert_eq!(program.run(&inputs).unwrap(), expected);
    assert!(program.transfers().evictions > 0, "{:?}", program.transfers());
    // What a kernel needs at one time has to fit.
    let program = compile_program(&source, &own_simulator(8000 + 2000)).unwrap();
    let error = program.run(&inputs).unwrap_err().to_string();
    assert!(
        error.contains("no room on the device for `x`, 8000 bytes") && error.contains("`a` of 8000 bytes (in use)"),
        "{error}"
    );
}
