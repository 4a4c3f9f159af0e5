//! Programs of the library: compiled once, run from anywhere.

use std::sync::atomic::{AtomicUsize, Ordering};

use fusebox::{Backend, Compiled, Error, InputError, Options, compile_program, ir, prelude::*, run_passes};
use ir::{Array as IrArray, Value, text};

const BACKENDS: [Backend; 4] = [Backend::Interp, Backend::Cpu, Backend::Sim, Backend::Auto];

fn dotp(xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>) -> Acc<Scalar<f32>> {
    zip_with(|x, y| x * y, xs, ys).fold(|a, b| a + b, 0.0)
}

#[test]
fn embedded_programs_run_on_every_backend() {
    for backend in BACKENDS {
        let dotp = fusebox::compile(dotp, &Options::on(backend)).unwrap();
        let (xs, ys) =
            (Vector::from_slice(&[1.0, 2.0, 3.0]).unwrap(), Vector::from_slice(&[4.0, 5.0, 6.0, 7.0]).unwrap());
        assert_eq!(dotp.run(&xs, &ys).unwrap().value(), Some(32.0), "{backend}");
        let empty = Vector::from_slice(&[]).unwrap();
        assert_eq!(dotp.run(&xs, &empty).unwrap().value(), Some(0.0), "{backend}");
    }
}

#[test]
fn every_arity() {
    fn scalar(r: Scalar<i64>) -> Option<i64> {
        r.value()
    }
    type E = Exp<i64>;
    assert_eq!(scalar(fusebox::compile0(|| unit(7)).unwrap().run().unwrap()), Some(7));
    assert_eq!(scalar(fusebox::compile1(|a: E| unit(a + 1)).unwrap().run(&1).unwrap()), Some(2));
    assert_eq!(scalar(fusebox::compile2(|a: E, b: E| unit(a - b)).unwrap().run(&5, &3).unwrap()), Some(2));
    assert_eq!(
        scalar(fusebox::compile3(|a: E, b: E, c: E| unit(a - b * c)).unwrap().run(&7, &2, &3).unwrap()),
        Some(1)
    );
    let sum = fusebox::compile8(|a: E, b: E, c: E, d: E, e: E, f: E, g: E, h: E| {
        unit(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h)
    });
    assert_eq!(scalar(sum.unwrap().run(&1, &1, &1, &1, &1, &1, &1, &1).unwrap()), Some(36));
}

#[test]
fn tuples_go_in_and_out_by_component() {
    let swap = fusebox::compile1(|pairs: Acc<Vector<(f32, i32)>>| {
        pairs.map(|pair| {
            let (x, k) = pair.parts();
            (k, x)
        })
    })
    .unwrap();
    let signature = swap.program().signature().to_string();
    assert_eq!(signature.matches("f32").count(), 2, "{signature}");
    let given = Vector::<(f32, i32)>::new(2, &[(1.5, 2), (2.5, 3)]).unwrap();
    assert_eq!(swap.run(&given).unwrap().to_vec(), [(2, 1.5), (3, 2.5)]);
}

#[test]
fn one_program_is_run_from_eight_threads() {
    fn sendable<T: Send + Sync>(_: &T) {}
    let program: Compiled<_, _> =
        fusebox::compile(dotp, &Options { threads: std::num::NonZeroUsize::new(2), ..Options::default() }).unwrap();
    sendable(&program);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let (program, done) = (&program, &done);
            scope.spawn(move || {
                for round in 0..20 {
                    let n = 1000 * thread + round;
                    let xs = Vector::from_slice(&vec![1.0f32; n]).unwrap();
                    let ys = Vector::from_slice(&vec![2.0f32; n]).unwrap();
                    assert_eq!(program.run(&xs, &ys).unwrap().value(), Some(2.0 * n as f32));
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.into_inner(), 160);
}

const TWICE: &str = "fn twice(a: [n]i32) -> [n]i32 { let b: [n]i32 = map(|x| x + x, a) return b }";

fn i32s(elements: &[i32]) -> Value {
    IrArray::new(&[elements.len()], elements).unwrap().into()
}

#[test]
fn programs_of_the_ir_are_cached_by_what_they_are() {
    let program = text::parse(TWICE).unwrap();
    let options = Options::on(Backend::Interp);
    let first = compile_program(&program, &options).unwrap();
    assert!(compile_program(&program, &options).unwrap().was_cached());
    assert!(!compile_program(&program, &Options { cache: false, ..options.clone() }).unwrap().was_cached());
    let other = text::parse(&TWICE.replace("x + x", "x + 2")).unwrap();
    assert!(!compile_program(&other, &options).unwrap().was_cached());
    let elsewhere = text::parse(&format!("\n{TWICE}")).unwrap();
    assert!(!compile_program(&elsewhere, &options).unwrap().was_cached(), "errors name places");
    assert_eq!(first.run(&[i32s(&[1, -4])]).unwrap(), [i32s(&[2, -8])]);
}

#[test]
fn wrong_inputs_are_named() {
    let program = text::parse("fn f(a: [n]f32, b: [n, 3]i64, k: i64, c: [k]bool) -> [n]f32 { return a }").unwrap();
    for backend in BACKENDS {
        let program = compile_program(&program, &Options::on(backend)).unwrap();
        let a: Value = IrArray::new(&[2], &[1f32, 2.0]).unwrap().into();
        let b = |n: usize, m: usize| -> Value { IrArray::new(&[n, m], &vec![0i64; n * m]).unwrap().into() };
        let c = |n: usize| -> Value { IrArray::from_bools(&[n], &vec![true; n]).unwrap().into() };
        let k: Value = IrArray::scalar(1i64).into();
        assert_eq!(program.run(&[a.clone(), b(2, 3), k.clone(), c(1)]).unwrap(), vec![a.clone()]);
        let says = |inputs: &[Value], text: &str| {
            let error = program.run(inputs).unwrap_err();
            assert!(matches!(error, Error::Input(_)) && !error.is_run_error(), "{error}");
            assert_eq!(error.to_string(), text);
        };
        says(
            &[a.clone(), b(3, 3), k.clone(), c(1)],
            "extent 0 of input `b` is 3, and should be 2, `n`, from input `a`",
        );
        says(&[a.clone(), b(2, 4), k.clone(), c(1)], "extent 1 of input `b` is 4, and should be 3");
        says(&[a.clone(), b(2, 3), k.clone(), c(2)], "extent 0 of input `c` is 2, and should be 1, the value of `k`");
        says(&[a.clone(), a.clone(), k.clone(), c(1)], "input `b` should be [n, 3]i64, not [2]f32");
        says(&[a.clone(), b(2, 3), Value::Stream(vec![]), c(1)], "input `k` should be i64, not a stream of 0 elements");
        says(
            std::slice::from_ref(&a),
            "1 inputs are given, and the program has 4: a: [n]f32, b: [n, 3]i64, k: i64, c: [k]bool",
        );
        assert!(matches!(program.run(&[]), Err(Error::Input(InputError::Count { expected: 4, given: 0, .. }))));
    }
}

#[test]
fn what_fails_inside_names_the_operation() {
    let program =
        text::parse("fn f(a: [n]i32) -> [n]i32 {\n  let b: [n]i32 = map(|x| 10 / x, a)\n  return b }").unwrap();
    for backend in BACKENDS {
        let program = compile_program(&program, &Options::on(backend)).unwrap();
        let error = program.run(&[i32s(&[1, 0])]).unwrap_err();
        assert!(error.is_run_error(), "{backend}: {error}");
        assert!(
            error.to_string().contains("map `b`") && error.to_string().contains("division by zero"),
            "{backend}: {error}"
        );
        assert_eq!(program.run(&[i32s(&[5])]).unwrap(), [i32s(&[2])], "and runs again");
    }
}

#[test]
fn nested_programs_run_on_every_backend() {
    let source = "fn f(n: i64) -> [n]i64, [n][?]i64 {
      let s: [n]i64, t: [n][?]i64 = nest([n], |i| {
        let r: [i]i64 = generate([i], |j| j)
        let q: i64 = fold(|a, b| a + b, 0, r)
        return q, r })
      return s, t }";
    let program = text::parse(source).unwrap();
    let vector = |values: &[i64]| IrArray::new(&[values.len()], values).unwrap();
    let rows = ir::Nested { extents: vector(&[0, 1, 2, 3]), values: vector(&[0, 0, 1, 0, 1, 2]) };
    for backend in BACKENDS {
        let program = compile_program(&program, &Options::on(backend)).unwrap();
        let results = program.run(&[IrArray::scalar(4i64).into()]).unwrap();
        assert_eq!(results, [vector(&[0, 0, 1, 3]).into(), ir::Value::Nested(rows.clone())], "{backend}");
    }
}

#[test]
fn arrays_of_arrays_are_inputs_on_every_backend() {
    let source = "fn f(rows: [n][?]i64) -> [n]i64 {
      let s: [n]i64 = nest([n], |i| {
        let k: i64, r: [k]i64 = element(rows, i)
        let q: i64 = fold(|a, b| a + b, 0, r)
        return q })
      return s }";
    let program = text::parse(source).unwrap();
    let vector = |values: &[i64]| IrArray::new(&[values.len()], values).unwrap();
    let rows = ir::Nested { extents: vector(&[2, 0, 3]), values: vector(&[1, 2, 3, 4, 5]) };
    for backend in BACKENDS {
        let program = compile_program(&program, &Options::on(backend)).unwrap();
        let results = program.run(&[ir::Value::Nested(rows.clone())]).unwrap();
        assert_eq!(results, [vector(&[3, 0, 12]).into()], "{backend}");
    }
}

#[test]
fn sequences_run_on_every_backend() {
    let source = "fn f(n: i64, rows: stream [?]i64) -> i64, [?]i64, stream [?]i64, i64 {
      let k: i64, v: [k]i64 = consume([n], |i| { let q = i * i; yield elements(q) })
      let doubled: stream [?]i64, s: i64 = consume([n], |i, row: [m]i64| {
        let twice: [m]i64 = map(|x| 2 * x, row)
        let t: i64 = fold(|a, b| a + b, i, row)
        yield stream_out(twice), accumulate(|all: i64, values: [z]i64| {
          let sum: i64 = fold(|a, b| a + b, all, values)
          return sum
        }, 100, t)
      }, rows)
      return k, v, doubled, s }";
    let program = text::parse(source).unwrap();
    let vector = |values: &[i64]| IrArray::new(&[values.len()], values).unwrap();
    let rows = ir::Value::Stream(vec![vector(&[1, 2]), vector(&[]), vector(&[3]), vector(&[4, 5, 6])]);
    for backend in BACKENDS {
        let program = compile_program(&program, &Options::on(backend)).unwrap();
        let results = program.run(&[IrArray::scalar(3i64).into(), rows.clone()]).unwrap();
        let doubled = ir::Value::Stream(vec![vector(&[2, 4]), vector(&[]), vector(&[6])]);
        let scalar = |x: i64| IrArray::scalar(x).into();
        assert_eq!(results, [scalar(3), vector(&[0, 1, 4]).into(), doubled, scalar(100 + 3 + 1 + 5)], "{backend}");
    }
}

#[test]
fn mistakes_of_embedded_programs_are_errors_with_places() {
    let outside = std::cell::Cell::new(None);
    fusebox::compile(
        |x: Exp<i64>| {
            outside.set(Some(x));
            unit(x)
        },
        &Options::on(Backend::Interp),
    )
    .unwrap();
    let error =
        fusebox::compile(|y: Exp<i64>| unit(y + outside.get().unwrap()), &Options::on(Backend::Interp)).unwrap_err();
    assert!(matches!(error, Error::Build(_)) && error.to_string().contains("facade.rs:"), "{error}");
}

#[test]
fn passes_are_found_by_name_and_chained() {
    let names: Vec<_> = fusebox::passes().iter().map(|pass| pass.name()).collect();
    assert_eq!(names, ["simplify", "flattening", "streams", "fusion", "strictness", "clustering", "kernels"]);
    assert_eq!(
        fusebox::pass("polish").err().unwrap().to_string(),
        "there is no pass `polish`; there are simplify, flattening, streams, fusion, strictness, clustering, kernels"
    );
    let program = text::parse(TWICE).unwrap();
    let stages = run_passes(&program, fusebox::passes(), true).unwrap();
    let (last, others) = stages.split_last().unwrap();
    assert!(others.iter().all(|stage| stage.program().is_some()) && last.plan().is_some());
    assert!(last.report.iter().any(|(name, count)| name == "kernels" && *count == 1));
}

#[test]
fn a_pass_that_breaks_a_program_is_named_and_its_program_shown() {
    struct Breaks;
    impl ir::Pass for Breaks {
        fn name(&self) -> &'static str {
            "breaks"
        }
        fn summary(&self) -> &'static str {
            "drops the last binding"
        }
        fn run(&self, program: &ir::Program) -> Result<ir::Passed, Box<dyn std::error::Error + Send + Sync>> {
            let mut program = program.clone();
            program.body.bindings.pop();
            Ok(ir::Passed { made: ir::Made::Program(program), report: Vec::new() })
        }
    }
    let program = text::parse(TWICE).unwrap();
    let error = run_passes(&program, &[&Breaks], true).unwrap_err().to_string();
    assert!(
        error.contains("pass `breaks` gave an invalid program") && error.contains("fn twice(a: [n]i32)"),
        "{error}"
    );
    assert!(run_passes(&program, &[&Breaks], false).is_ok());
}

#[test]
fn sharing_can_be_left_out_and_changes_no_result() {
    let f = |x: Acc<Vector<f64>>| {
        x.map(|x| {
            let a = (x + 1.0) * (x + 1.0);
            let b = a * a;
            b * b + a
        })
    };
    let x = Vector::from_slice(&[0.5f64, -2.0, 3.25]).unwrap();
    for backend in BACKENDS {
        let with = fusebox::compile(f, &Options::on(backend)).unwrap();
        let without = fusebox::compile(f, &Options { sharing: false, ..Options::on(backend) }).unwrap();
        assert_eq!(with.run(&x).unwrap(), without.run(&x).unwrap());
    }
}

/// What a run read and wrote is of that run, whatever runs of other sizes were before it.
#[test]
fn timed_runs_say_what_each_read_and_wrote() {
    let source = "fn twice(x: [n]f32) -> [n]f32 { let y: [n]f32 = map(|x| x + x, x) return y }";
    let program = compile_program(&text::parse(source).unwrap(), &Options::on(Backend::Cpu)).unwrap();
    for n in [3u64, 100, 3, 0, 100] {
        let x = Value::from(IrArray::zeros(ir::ElementType::F32, &[n as usize]).unwrap());
        let (_, _, times) = program.run_timed(&[x]).unwrap();
        let counts = times.kernels.iter().map(|own| (own.launches, own.bytes_read, own.bytes_written));
        assert_eq!(counts.collect::<Vec<_>>(), [(1, Some(4 * n), Some(4 * n))], "{n}");
    }
}
