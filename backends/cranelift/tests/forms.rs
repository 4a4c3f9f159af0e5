//! Forms that depend on the features, on all there is to tell them apart: counts of bits, appends of narrow lanes, lanes moved up.
//! Results are those of `fusebox_ir::primitive` and of the definition, for each set of features that this machine can run.

use crate::common::Random;
use fusebox_cranelift::{
    Block, Features,
    vector::{Append, Builder, Function, Memory, Op, Value},
};
use fusebox_ir::{Binary, Constant, ElementType, Unary, primitive};
use fusebox_wide::compile;

const UNSIGNED: [ElementType; 4] = [ElementType::U8, ElementType::U16, ElementType::U32, ElementType::U64];

/// Runs a function on arrays for each set that can be run here.
#[allow(unsafe_code)]
fn each_set(function: &Function, range: (i64, i64), arrays: &[Vec<u8>], check: impl Fn(&str, &[Vec<u8>])) {
    for (name, features) in Features::NAMED {
        let code = compile(function, features).unwrap_or_else(|error| panic!("{name}: {error}\n{function}"));
        if !features.run_here() {
            println!("{name} ({features}): not run, this machine cannot");
            continue;
        }
        let block = Block::from_code(function, code).unwrap();
        let mut arrays = arrays.to_vec();
        let table: Vec<u64> = arrays.iter_mut().map(|array| array.as_mut_ptr() as u64).collect();
        let mut slot = vec![0; 64 * 20];
        // SAFETY: each test gives arrays of as many elements as its function goes over; the machine has the features.
        let result = unsafe { block.call(&table, range, &mut [], &mut slot) };
        assert_eq!(result, 0);
        check(name, &arrays);
        println!("{name} ({features}): {} run", function.name);
    }
}

fn bytes(elements: impl IntoIterator<Item = u64>, element: ElementType) -> Vec<u8> {
    elements.into_iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(element.bytes())).collect()
}

fn elements(bytes: &[u8], element: ElementType) -> Vec<u64> {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(element.bytes()).map(word).collect()
}

/// Every byte, every word; of longer lanes each single bit, what is below it, and random ones.
fn patterns(element: ElementType) -> Vec<u64> {
    let mut random = Random(7);
    match element.bits() {
        width @ (8 | 16) => (0..1 << width).collect(),
        width => {
            let mut all = vec![0, u64::MAX];
            all.extend((0..width).flat_map(|bit| [1 << bit, (1 << bit) - 1, !(1 << bit)]));
            all.resize_with(1024, || random.next() >> (random.next() % 64));
            all.into_iter().map(|bits| bits & (u64::MAX >> (64 - width))).collect()
        }
    }
}

#[test]
fn counts_of_bits() {
    for element in UNSIGNED {
        let numbers = patterns(element);
        for function in [Unary::Popcount, Unary::Ctz, Unary::Clz] {
            // Lanes of two registers.
            let lanes = 128 / element.bytes() as u32;
            let mut b = Builder::new();
            let (from, to) = (b.parameter(0), b.parameter(1));
            let (x, y) = (b.argument(0), b.argument(1));
            let steps = b.begin_loop(from, to, i64::from(lanes), &[]);
            let a = b.load(element, lanes, x, steps.index, Memory::Input);
            let counts = b.unary(function, a);
            b.store(y, steps.index, counts, None);
            b.end_loop(steps, Vec::new());
            let made = b.finish(format!("{} of {element}", function.text()));
            let arrays = [bytes(numbers.iter().copied(), element), vec![0xaa; numbers.len() * element.bytes()]];
            each_set(&made, (0, numbers.len() as i64), &arrays, |set, arrays| {
                for (&number, got) in numbers.iter().zip(elements(&arrays[1], element)) {
                    let expected = primitive::unary(function, Constant::from_bits(element, number)).unwrap().bits();
                    assert_eq!(got, expected, "{set}: {} of {number:#x}: {element}", function.text());
                }
            });
        }
    }
}

#[test]
fn appends_of_narrow_lanes() {
    const LENGTH: usize = 4096;
    for element in [ElementType::U8, ElementType::U16, ElementType::U32] {
        for lanes in [2, 8, 16, 32, 64] {
            let mut b = Builder::new();
            let (from, to) = (b.parameter(0), b.parameter(1));
            let [x, keep, y, total, spare] = [0, 1, 2, 3, 4].map(|position| b.argument(position));
            let start = b.int(3);
            let steps = b.begin_loop(from, to, i64::from(lanes), &[start]);
            let value = b.load(element, lanes, x, steps.index, Memory::Input);
            let mask = b.load(ElementType::Bool, lanes, keep, steps.index, Memory::Input);
            let count = b.fresh(ElementType::I64, 1);
            let (bases, values, before) = (vec![y], vec![value], steps.carried[0]);
            b.push(
                &[count],
                Op::Append(Box::new(Append { bases, count: before, values, mask: Some(mask), spare, whole: false })),
            );
            let last = b.end_loop(steps, vec![count]);
            let zero = b.int(0);
            b.store(total, zero, last[0], None);
            let made = b.finish(format!("append of {lanes} lanes of {element}"));

            let mut random = Random(u64::from(lanes));
            let numbers: Vec<u64> = (0..LENGTH).map(|_| random.next() >> (64 - element.bits())).collect();
            // From blocks without any to blocks with all, a byte each.
            let kept: Vec<u8> = (0..LENGTH).map(|at| u8::from(random.next() % 8 < (at / 128 % 9) as u64)).collect();
            let width = element.bytes();
            let untouched = vec![0xaa; (LENGTH + 8) * width];
            let arrays = [bytes(numbers.iter().copied(), element), kept.clone(), untouched, vec![0; 8], vec![0; 8]];
            let survivors = || numbers.iter().zip(&kept).filter(|&(_, &kept)| kept == 1).map(|(&number, _)| number);
            // What is around is as it was.
            let mut expected = vec![0xaa; 3 * width];
            expected.extend(bytes(survivors(), element));
            expected.resize((LENGTH + 8) * width, 0xaa);
            each_set(&made, (0, LENGTH as i64), &arrays, |set, arrays| {
                let total = elements(&arrays[3], ElementType::U64)[0];
                assert_eq!(total, 3 + survivors().count() as u64, "{set}, {lanes} lanes of {element}");
                assert!(arrays[2] == expected, "{set}, {lanes} lanes of {element}");
            });
        }
    }
}

/// By every number of lanes, and with every kind of filling.
#[test]
fn lanes_moved_up() {
    for element in UNSIGNED {
        for lanes in [2, 4, 8, 16, 32, 64] {
            let mut b = Builder::new();
            let (x, y) = (b.argument(0), b.argument(1));
            let zero = b.int(0);
            let behind = b.int(i64::from(lanes));
            let value = b.load(element, lanes, x, zero, Memory::Input);
            let gang = b.load(element, lanes, x, behind, Memory::Input);
            let one = b.load(element, 1, x, behind, Memory::Input);
            let spread = b.splat(one, lanes);
            let number = b.constant(Constant::from_bits(element, 0x5d));
            let constant = b.splat(number, lanes);
            let fills: [(Value, fn(&[u64], usize) -> u64); 3] =
                [(gang, |gang, lane| gang[lane]), (spread, |gang, _| gang[0]), (constant, |_, _| 0x5d)];
            let mut place = 0;
            for (fill, _) in fills {
                for by in 1..lanes {
                    let moved = b.shift(value, by, fill);
                    let at = b.int(place);
                    b.store(y, at, moved, None);
                    place += i64::from(lanes);
                }
            }
            let made = b.finish(format!("shifts of {lanes} lanes of {element}"));
            let mut random = Random(u64::from(lanes));
            let numbers: Vec<u64> = (0..2 * lanes).map(|_| random.next() >> (64 - element.bits())).collect();
            let arrays = [bytes(numbers.iter().copied(), element), vec![0xaa; place as usize * element.bytes()]];
            let (low, gang) = numbers.split_at(lanes as usize);
            each_set(&made, (0, 0), &arrays, |set, arrays| {
                let got = elements(&arrays[1], element);
                let mut results = got.chunks(lanes as usize);
                for (kind, (_, filling)) in fills.iter().enumerate() {
                    for by in 1..lanes as usize {
                        let expected: Vec<u64> = (0..lanes as usize)
                            .map(|lane| if lane < by { filling(gang, lane) } else { low[lane - by] })
                            .collect();
                        let what = format!("{set}: {lanes} lanes of {element} by {by}, filling {kind}");
                        assert_eq!(results.next().unwrap(), expected, "{what}");
                    }
                }
            });
        }
    }
}

#[test]
fn lanes_in_the_other_order() {
    for element in UNSIGNED {
        for lanes in [2u32, 4, 8, 16, 32, 64, 128] {
            let mut b = Builder::new();
            let (x, y) = (b.argument(0), b.argument(1));
            let zero = b.int(0);
            let value = b.load(element, lanes, x, zero, Memory::Input);
            let reversed = b.reverse(value);
            b.store(y, zero, reversed, None);
            let made = b.finish(format!("{lanes} lanes of {element} reversed"));
            let mut random = Random(u64::from(lanes));
            let numbers: Vec<u64> = (0..lanes).map(|_| random.next() >> (64 - element.bits())).collect();
            let arrays = [bytes(numbers.iter().copied(), element), vec![0xaa; lanes as usize * element.bytes()]];
            let expected: Vec<u64> = numbers.iter().rev().copied().collect();
            each_set(&made, (0, 0), &arrays, |set, arrays| {
                assert_eq!(elements(&arrays[1], element), expected, "{set}: {lanes} lanes of {element}");
            });
        }
    }
}

/// Numbers of a type with all that is special about it.
fn corners(element: ElementType) -> Vec<u64> {
    if !element.is_float() {
        let width = element.bits();
        let mut all: Vec<u64> = (0..width).flat_map(|bit| [1 << bit, (1 << bit) - 1, !(1 << bit)]).collect();
        all.extend([0, u64::MAX, 3, 7, 100]);
        return all.into_iter().map(|bits| bits & (u64::MAX >> (64 - width))).collect();
    }
    let mut all =
        vec![0.0, 0.5, 0.75, 1.0, 1.5, 2.5, 126.9, 3e9, 1e-310, 1e-40, 1e300, 16_777_217.0, f64::INFINITY, f64::NAN];
    // At the ends of integers, and beside them.
    for bit in [7, 8, 15, 16, 31, 32, 53, 63, 64] {
        let end = 2f64.powi(bit);
        all.extend([end, end - 1.0, end + 1.0, end * 0.999_999_9, end * 1.000_001]);
    }
    let both = all.iter().flat_map(|&x| [x, -x]);
    both.map(|x| primitive::float(element, x).bits()).collect()
}

/// A function of two numbers or one, of all pairs of corners, uniform and in gangs of two registers and of half of one.
fn each_pair(
    what: &str,
    (element, to): (ElementType, ElementType),
    make: impl Fn(&mut Builder, Value, Value) -> Value,
    expected: impl Fn(Constant, Constant) -> Option<Constant>,
) {
    let corners = corners(element);
    let mut pairs: Vec<(u64, u64)> = corners.iter().flat_map(|&a| corners.iter().map(move |&b| (a, b))).collect();
    pairs.resize(pairs.len().next_multiple_of(128), (corners[0], corners[0]));
    for lanes in [1, 16 / element.bytes() as u32, 128 / element.bytes() as u32] {
        let mut b = Builder::new();
        let (from, end) = (b.parameter(0), b.parameter(1));
        let [x, y, z] = [0, 1, 2].map(|position| b.argument(position));
        let steps = b.begin_loop(from, end, i64::from(lanes), &[]);
        let a = b.load(element, lanes, x, steps.index, Memory::Input);
        let c = b.load(element, lanes, y, steps.index, Memory::Input);
        let result = make(&mut b, a, c);
        b.store(z, steps.index, result, None);
        b.end_loop(steps, Vec::new());
        let made = b.finish(format!("{what} of {lanes} lanes"));
        let arrays = [
            bytes(pairs.iter().map(|pair| pair.0), element),
            bytes(pairs.iter().map(|pair| pair.1), element),
            vec![0xaa; pairs.len() * to.bytes()],
        ];
        each_set(&made, (0, pairs.len() as i64), &arrays, |set, arrays| {
            for (&(a, c), got) in pairs.iter().zip(elements(&arrays[2], to)) {
                let [a, c] = [a, c].map(|bits| Constant::from_bits(element, bits));
                let Some(expected) = expected(a, c) else { continue };
                let got = Constant::from_bits(to, got);
                let nan = |x: Constant| x.as_f64().is_some_and(f64::is_nan);
                assert!(
                    got == expected || nan(got) && nan(expected),
                    "{set}: {what} of {a} and {c}: {got}, not {expected}"
                );
            }
        });
    }
}

fn numbers() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.into_iter().filter(|&element| element.is_number() && element != ElementType::F16)
}

#[test]
fn conversions() {
    for element in numbers() {
        for to in numbers().filter(|&to| to != element) {
            let convert = |b: &mut Builder, a: Value, _: Value| b.convert(to, a);
            each_pair(&format!("{element} to {to}"), (element, to), convert, |a, _| primitive::convert(to, a));
        }
    }
}

#[test]
fn functions_of_two_numbers() {
    let one = |element| Constant::from_i64(element, 1);
    for element in numbers() {
        for &function in Binary::ALL.iter().filter(|&&function| primitive::is_exact_binary(function)) {
            let exists = matches!(primitive::binary(function, one(element), one(element)), Ok(Some(_)));
            if !exists || (function == Binary::Rem && element.is_float()) {
                continue;
            }
            let to = if function.is_comparison() { ElementType::Bool } else { element };
            let what = format!("{} of {element}", function.text());
            let make = |b: &mut Builder, a: Value, c: Value| b.binary(function, a, c);
            // By 0 nothing is divided.
            each_pair(&what, (element, to), make, |a, c| primitive::binary(function, a, c).ok().flatten());
        }
    }
}

#[test]
fn functions_of_one_number() {
    for element in numbers() {
        for &function in Unary::ALL.iter().filter(|&&function| primitive::is_exact(function)) {
            let Some(to) = function.result_type(element) else { continue };
            let what = format!("{} of {element}", function.text());
            let make = |b: &mut Builder, a: Value, _: Value| b.unary(function, a);
            each_pair(&what, (element, to), make, |a, _| primitive::unary(function, a));
        }
    }
}

/// Amounts that are known, and so part of instructions.
#[test]
fn shifts_by_numbers() {
    for element in numbers().filter(|element| element.is_integer()) {
        for &function in Binary::ALL.iter().filter(|function| function.is_shift()) {
            for by in [0, 1, 5, i64::from(element.bits()) - 1, i64::from(element.bits()), 70] {
                let by = Constant::from_i64(element, by);
                let make = |b: &mut Builder, a: Value, _: Value| {
                    let by = b.constant(by);
                    b.binary(function, a, by)
                };
                let what = format!("{} of {element} by {by}", function.text());
                each_pair(&what, (element, element), make, |a, _| primitive::binary(function, a, by).ok().flatten());
            }
        }
    }
}
