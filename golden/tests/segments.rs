//! Random programs over segments of segments of segments: folds, scans, maps and what is repeated, at each depth, run by the interpreter and as machine code.

use std::{fmt::Write, num::NonZeroUsize};

use fusebox::{Fusion, Options, Stage, compile_program, pipeline, run_passes};
use fusebox_interp::run;
use fusebox_ir::{Array, Program, Value, text};

/// The sequence of Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % limit as u64) as usize
    }
}

/// How deep segments are in each other.
const DEPTH: usize = 3;

/// A program: `n0` elements in `n1` segments, and so on. Arrays of depth `d` have `n{d}` elements.
fn program(random: &mut Random) -> Program {
    let mut arrays: Vec<(String, usize)> = vec![("x".to_owned(), 0), ("y".to_owned(), 0)];
    let mut lines = String::new();
    for depth in 1..=DEPTH {
        writeln!(lines, "let n{depth} = s{depth} - 1").unwrap();
    }
    let mut scalars = Vec::new();
    for at in 0..3 + random.below(9) {
        let (of, depth) = arrays[arrays.len() - 1 - random.below(arrays.len().min(4))].clone();
        let alike: Vec<&String> = arrays.iter().filter(|(_, d)| *d == depth).map(|(name, _)| name).collect();
        let other = alike[random.below(alike.len())].clone();
        let function = ["|p, q| p + q", "|p, q| max(p, q)"][random.below(2)];
        let offsets = format!("offsets: o{}", depth + 1);
        let (name, inner) = (format!("a{at}"), depth < DEPTH);
        let (line, depth) = match random.below(8) {
            0 if inner => (format!("fold_seg({function}, 0, {of}, {offsets})"), depth + 1),
            1 if inner => (format!("fold_seg({function}, 5, {of}, {offsets})"), depth + 1),
            2 if inner => (format!("scanl1_seg({function}, {of}, {offsets})"), depth),
            3 if inner => (format!("scanr1_seg({function}, {of}, {offsets})"), depth),
            6 | 7 if depth > 0 => {
                let within = depth - 1;
                (format!("replicate_seg([n{within}], {of}, offsets: o{depth})"), within)
            }
            4 => {
                scalars.push(name.clone());
                writeln!(lines, "let {name}: i64 = fold({function}, 1, {of})").unwrap();
                continue;
            }
            _ => (format!("map(|p, q| p - 2 * q, {of}, {other})"), depth),
        };
        writeln!(lines, "let {name}: [n{depth}]i64 = {line}").unwrap();
        arrays.push((name, depth));
    }
    let results: Vec<&(String, usize)> = arrays[2..].iter().filter(|_| random.below(2) == 0).collect();
    let last = arrays.last().into_iter();
    let mut names: Vec<(&str, &str)> = results.into_iter().chain(last).map(|(name, _)| (&name[..], "[?]i64")).collect();
    names.extend(scalars.iter().map(|name| (&name[..], "i64")));
    names.dedup();
    let (names, types): (Vec<&str>, Vec<&str>) = names.into_iter().unzip();
    let inputs = (1..=DEPTH).map(|depth| format!("o{depth}: [s{depth}]{}", ["i64", "i32"][depth % 2]));
    let source = format!(
        "fn f(x: [n0]i64, y: [n0]i64, {}) -> {} {{\n{lines}return {} }}",
        inputs.collect::<Vec<_>>().join(", "),
        types.join(", "),
        names.join(", ")
    );
    text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// Offsets of `count` segments of no, few or many elements, and how many elements they have.
fn offsets(random: &mut Random, count: usize) -> Vec<i64> {
    let mut all = vec![0];
    for _ in 0..count {
        let length = match random.below(8) {
            0 | 1 => 0,
            2..=6 => random.below(4),
            _ => random.below(90),
        };
        all.push(all[all.len() - 1] + length as i64);
    }
    all
}

fn inputs(random: &mut Random) -> Vec<Value> {
    let mut count = random.below(9);
    let mut lists = Vec::new();
    for _ in 0..DEPTH {
        let list = offsets(random, count);
        count = list[list.len() - 1] as usize;
        lists.push(list);
    }
    let mut elements = || (0..count).map(|_| random.below(2000) as i64 - 1000).collect::<Vec<_>>();
    let (x, y) = (elements(), elements());
    let mut all: Vec<Value> = [x, y].iter().map(|list| Array::new(&[list.len()], list).unwrap().into()).collect();
    for (depth, list) in (1..=DEPTH).zip(lists.iter().rev()) {
        let narrow: Vec<i32> = list.iter().map(|&offset| offset as i32).collect();
        all.push(match depth % 2 {
            0 => Array::new(&[list.len()], list).unwrap().into(),
            _ => Array::new(&[list.len()], &narrow).unwrap().into(),
        });
    }
    all
}

#[test]
fn random_programs_over_segments_of_segments() {
    let mut random = Random(1);
    let mut deepest = 0;
    for _ in 0..150 {
        let program = program(&mut random);
        let compiled: Vec<_> = [(Fusion::Optimal, 1), (Fusion::Optimal, 3), (Fusion::None, 1)]
            .map(|(fusion, threads)| {
                let threads = NonZeroUsize::new(threads);
                let options = Options { fusion, threads, cache: false, verify: true, ..Options::default() };
                compile_program(&program, &options).unwrap_or_else(|error| panic!("{error}\n{program}"))
            })
            .into();
        let stages = run_passes(&program, &pipeline(&Options::default()), false).unwrap();
        let kernels = stages.last().and_then(Stage::plan).map(|plan| &plan.kernels[..]).unwrap_or_default();
        let levels = kernels.iter().map(|kernel| kernel.levels.len()).max().unwrap_or(0);
        deepest = deepest.max(levels);
        for _ in 0..3 {
            let inputs = inputs(&mut random);
            let expected = run(&program, &inputs).unwrap_or_else(|error| panic!("{error}\n{program}\n{inputs:?}"));
            for compiled in &compiled {
                let found = compiled.run(&inputs).unwrap_or_else(|error| panic!("{error}\n{program}\n{inputs:?}"));
                assert_eq!(found, expected, "{program}\n{inputs:?}");
            }
        }
    }
    assert_eq!(deepest, DEPTH + 1, "segments of segments of segments and their elements");
}
