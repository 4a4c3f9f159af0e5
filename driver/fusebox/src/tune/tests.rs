use fusebox_ir::{Array, Program, Value, text};

use std::time::Duration;

use super::{Book, Sorts, Strips, TuneConfig, Tuned, TunedForm, TunedKernel, tune};
use crate::{Backend, Error, Options, compile_program};

fn program(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| panic!("{error}"))
}

/// What is no faster in the end is not handed on, although it was when it was tried.
#[test]
fn what_does_not_last_is_forgotten() {
    let mut book = Book::default();
    book.set_sorts(Some(Sorts::alternatives()[0]));
    let time = Duration::from_millis(1);
    let kernel = TunedKernel { name: "k".to_owned(), tried: (1, 1), chosen: Some("a schedule".to_owned()) };
    let strips = Some(TunedForm { tried: (1, 1), chosen: Some(Strips::Never) });
    let sorts = Some(TunedForm { tried: (1, 1), chosen: Some(Sorts::alternatives()[0]) });
    let schedules = book.to_json();
    let mut tuned = Tuned { schedules, kernels: vec![kernel], strips, sorts, times: (time, time), ratio: 1.1 };
    tuned.forget();
    assert_eq!(tuned.schedules, Book::default().to_json());
    assert!(tuned.kernels[0].chosen.is_none());
    assert!(tuned.strips.unwrap().chosen.is_none() && tuned.sorts.unwrap().chosen.is_none());
}

/// Whatever is chosen, the file is taken and the results are the same.
#[test]
fn what_is_found_is_taken_and_changes_nothing() {
    let products = program(
        "fn products(a: [n, k]f32, b: [k, m]f32) -> [n, m]f32, f32 {
          let left: [n, m, k]f32 = replicate([_, m, _], a)
          let turned: [m, k]f32 = backpermute([m, k], |i, j| { return j, i }, b)
          let right: [n, m, k]f32 = replicate([n, _, _], turned)
          let both: [n, m, k]f32 = map(|x, y| x * y, left, right)
          let c: [n, m]f32 = fold(|x, y| x + y, 0.0, both)
          let rows: [n]f32 = fold(|x, y| max(x, y), 0.0, c)
          let most: f32 = fold(|x, y| max(x, y), 0.0, rows)
          return c, most }",
    );
    let numbers = |count: usize| (0..count).map(|i| (i % 17) as f32 / 4.0 - 2.0).collect::<Vec<_>>();
    let inputs: Vec<Value> = vec![
        Array::new(&[33, 20], &numbers(660)).unwrap().into(),
        Array::new(&[20, 17], &numbers(340)).unwrap().into(),
    ];
    let options = Options { cache: false, ..Options::default() };
    let config = TuneConfig { rounds: 3, tries: 6 };
    let mut told = Vec::new();
    let tuned = tune(&products, &inputs, &options, &config, &mut |step| told.push(step.to_owned())).unwrap();
    assert!(!tuned.kernels.is_empty() && tuned.kernels.iter().all(|kernel| kernel.tried.0 <= 7), "{tuned:?}");
    assert!(tuned.kernels.iter().any(|kernel| kernel.tried.0 > 1), "{tuned:?}");
    assert!(told.len() > tuned.kernels.len(), "{told:?}");
    let folder = tempfile::tempdir().unwrap();
    let (file, nowhere) = (folder.path().join("found.json"), folder.path().join("none").join("found.json"));
    tuned.write(&file).unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), tuned.schedules);
    assert!(matches!(tuned.write(&nowhere), Err(Error::Write { path, .. }) if path == nowhere));
    let usual = compile_program(&products, &options).unwrap().run(&inputs).unwrap();
    let forced = Options { schedules: Some(tuned.schedules.into()), ..options };
    assert_eq!(compile_program(&products, &forced).unwrap().run(&inputs).unwrap(), usual);
}

#[test]
fn strips_are_tried_where_something_goes_row_by_row() {
    let softmax = program(
        "fn softmax(x: [n, m]f32) -> [n, m]f32 {
          let top: [n]f32 = fold1(|a, b| max(a, b), x)
          let e: [n, m]f32 = generate([n, m], |i, j| exp(x[i, j] - top[i]))
          let sum: [n]f32 = fold(|a, b| a + b, 0.0, e)
          let y: [n, m]f32 = generate([n, m], |i, j| e[i, j] / sum[i])
          return y }",
    );
    let numbers: Vec<f32> = (0..1000 * 200).map(|i| (i % 23) as f32 / 8.0).collect();
    let inputs: Vec<Value> = vec![Array::new(&[1000, 200], &numbers).unwrap().into()];
    let options = Options { cache: false, ..Options::default() };
    let config = TuneConfig { rounds: 1, tries: 2 };
    let tuned = tune(&softmax, &inputs, &options, &config, &mut |_| {}).unwrap();
    assert_eq!(tuned.strips.unwrap().tried, (2, 6));
    let sum = program("fn sum(a: [n]i32) -> i32 { let s: i32 = fold(|x, y| x + y, 0, a) return s }");
    let inputs: Vec<Value> = vec![Array::new(&[3], &[1, 2, 3]).unwrap().into()];
    let tuned = tune(&sum, &inputs, &options, &config, &mut |_| {}).unwrap();
    assert_eq!((tuned.strips, tuned.sorts), (None, None));
}

#[test]
fn sorts_are_tried_and_forced() {
    let ordered = program("fn ordered(a: [n]f32) -> [n]f32 { let s: [n]f32 = sort(a) return s }");
    let numbers: Vec<f32> = (0..50_000).map(|i| (i * 7919 % 50_000) as f32 - 100.5).collect();
    let inputs: Vec<Value> = vec![Array::new(&[numbers.len()], &numbers).unwrap().into()];
    let options = Options { cache: false, ..Options::default() };
    let config = TuneConfig { rounds: 1, tries: 3 };
    let tuned = tune(&ordered, &inputs, &options, &config, &mut |_| {}).unwrap();
    assert_eq!(tuned.sorts.unwrap().tried, (3, 9));
    let usual = compile_program(&ordered, &options).unwrap().run(&inputs).unwrap();
    let forced = |text: &str| Options { schedules: Some(text.into()), ..options.clone() };
    let by = |text: &str| compile_program(&ordered, &forced(text)).and_then(|made| made.run(&inputs));
    assert_eq!(by("sorts by 3 bits spread by 2 bits into 5 compare 0").unwrap(), usual);
    let error = by("sorts by 3 bits spread by 12 bits into 5 compare 0").unwrap_err().to_string();
    assert!(error.contains("1 to 9 bits"), "{error}");
}

#[test]
fn what_cannot_be_tuned_is_an_error() {
    let add = program("fn add(a: [n]f32, b: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x, y| x / y, a, b) return c }");
    let inputs: Vec<Value> = vec![Array::new(&[1], &[1.0f32]).unwrap().into()];
    let config = TuneConfig::default();
    let tuned = |options: &Options, inputs: &[Value]| tune(&add, inputs, options, &config, &mut |_| {}).unwrap_err();
    assert!(matches!(tuned(&Options::default(), &inputs), Error::Input(_)));
    let both = [inputs[0].clone(), inputs[0].clone()];
    assert!(matches!(tuned(&Options::on(Backend::Interp), &both), Error::Schedules { .. }));
    let index = program("fn at(a: [n]f32, i: i64) -> f32 { let x = a[i] return x }");
    let failing = tune(
        &index,
        &[both[0].clone(), Value::from(Array::new(&[], &[7i64]).unwrap())],
        &Options::default(),
        &config,
        &mut |_| {},
    );
    assert!(failing.unwrap_err().is_run_error());
}
