//! Everything a block function may compute, in gangs of every length and for every set of features: its code decodes and keeps to the
//! features, or the refusal says what is lacking, the same for every set.

mod decoded;

use std::collections::BTreeSet;

use decoded::decoded;
use fusebox_ir::{Binary, Constant, ElementType, Unary, primitive};
use fusebox_wide::{
    Features, Refusal, compile,
    vector::{Append, Builder, Function, Memory, Op, Value},
};

const LANES: [u32; 4] = [1, 2, 16, 64];

/// A function that stores what is made of two loaded values of a type.
fn function(element: ElementType, lanes: u32, make: impl FnOnce(&mut Builder, Value, Value) -> Value) -> Function {
    let mut b = Builder::new();
    let (x, y) = (b.argument(0), b.argument(1));
    let (zero, next) = (b.int(0), b.parameter(0));
    let a = b.load(element, lanes, x, zero, Memory::Input);
    let c = b.load(element, lanes, x, next, Memory::Input);
    let result = make(&mut b, a, c);
    b.store(y, zero, result, None);
    b.finish(format!("{lanes} lanes of {element}"))
}

/// How much code there is of a function for each set, and what it lacks if there is none.
fn made(function: &Function) -> Result<Vec<usize>, String> {
    let all = Features::NAMED.map(|(_, features)| match compile(function, features) {
        Ok(code) => match decoded(&code, features) {
            Ok(instructions) => Ok(instructions.len()),
            Err(fault) => panic!("{fault}\n{function}"),
        },
        Err(Refusal::Lacks(what)) => Err(what),
        Err(Refusal::Failed(why)) => panic!("{why}\n{function}"),
    });
    for other in &all {
        assert_eq!(other.as_ref().err(), all[0].as_ref().err(), "what is refused hangs on features\n{function}");
    }
    all.into_iter().collect()
}

/// Makes code of functions; gives what is lacking, once each.
fn lacking(functions: impl IntoIterator<Item = Function>) -> Vec<String> {
    let lacking: BTreeSet<String> = functions.into_iter().filter_map(|function| made(&function).err()).collect();
    lacking.into_iter().collect()
}

/// A mask of the lanes below the range's first step.
fn below(b: &mut Builder, lanes: u32) -> Value {
    let (positions, from) = (b.iota(ElementType::I64, lanes), b.parameter(0));
    b.binary(Binary::Lt, positions, from)
}

fn types() -> impl Iterator<Item = (ElementType, u32)> {
    ElementType::ALL.into_iter().flat_map(|element| LANES.map(|lanes| (element, lanes)))
}

/// Those that something is computed of: numbers of type `f16` are only moved and converted.
fn computed() -> impl Iterator<Item = (ElementType, u32)> {
    types().filter(|&(element, _)| element != ElementType::F16)
}

#[test]
fn functions_of_one_value() {
    let exists = |function, element| primitive::unary(function, Constant::from_i64(element, 1)).is_some();
    let all = computed().flat_map(|(element, lanes)| {
        let functions = Unary::ALL.iter().filter(move |&&one| exists(one, element) && primitive::is_exact(one));
        functions.map(move |&one| function(element, lanes, |b, a, _| b.unary(one, a)))
    });
    assert_eq!(lacking(all), [""; 0]);
}

#[test]
fn functions_of_two_values() {
    let one = |element| Constant::from_i64(element, 1);
    let exists = |function, element| matches!(primitive::binary(function, one(element), one(element)), Ok(Some(_)));
    let all = computed().flat_map(|(element, lanes)| {
        let functions = Binary::ALL.iter().filter(move |&&f| exists(f, element) && primitive::is_exact_binary(f));
        functions.map(move |&f| function(element, lanes, |b, a, c| b.binary(f, a, c)))
    });
    assert_eq!(lacking(all), ["% of f32", "% of f64"]);
}

/// Where no operand is NaN.
#[test]
fn the_least_and_the_greatest_of_numbers() {
    let floats = || types().filter(|(element, _)| matches!(element, ElementType::F32 | ElementType::F64));
    let all = floats().flat_map(|(element, lanes)| {
        [Binary::Min, Binary::Max].map(|f| {
            function(element, lanes, |b, a, c| {
                let result = b.fresh(element, lanes);
                b.push(&[result], Op::OfNumbers(f, a, c));
                result
            })
        })
    });
    assert!(lacking(all).is_empty());
}

#[test]
fn whether_two_are_numbers() {
    let floats =
        || types().filter(|(element, lanes)| matches!(element, ElementType::F32 | ElementType::F64) && *lanes > 1);
    let all = floats().map(|(element, lanes)| {
        function(element, lanes, |b, a, c| {
            let numbers = b.are_numbers(a, c);
            b.select(numbers, a, c)
        })
    });
    assert!(lacking(all).is_empty());
}

/// By uniform amounts, and amounts of lanes of another width.
#[test]
fn shifts_of_bits() {
    let integers = || types().filter(|(element, _)| element.is_integer());
    let all = integers().flat_map(|(element, lanes)| {
        let shifts = Binary::ALL.iter().filter(|f| f.is_shift());
        shifts.flat_map(move |&shift| {
            [ElementType::U8, ElementType::I16, ElementType::U32, ElementType::I64].into_iter().flat_map(move |own| {
                let by = move |b: &mut Builder, c, lanes| {
                    let amount = b.extract(c, 0);
                    let amount = b.convert(own, amount);
                    if lanes == 1 { amount } else { b.convert(own, c) }
                };
                [1, lanes].map(|width| {
                    function(element, lanes, |b, a, c| {
                        let amount = by(b, c, width);
                        b.binary(shift, a, amount)
                    })
                })
            })
        })
    });
    assert_eq!(lacking(all), [""; 0]);
}

#[test]
fn conversions() {
    let exists = |to, element| primitive::convert(to, Constant::from_i64(element, 1)).is_some();
    // Between `f16` and integers, kernels go by `f32`.
    let half = |a, b: ElementType| a == ElementType::F16 && !b.is_float();
    let all = types().flat_map(|(element, lanes)| {
        let other = ElementType::ALL.into_iter();
        let other = other.filter(move |&to| exists(to, element) && !half(to, element) && !half(element, to));
        other.map(move |to| function(element, lanes, |b, a, _| b.convert(to, a)))
    });
    assert_eq!(lacking(all), [""; 0]);
}

#[test]
fn functions_of_f16_are_refused() {
    for lanes in LANES {
        let two = [Binary::Add, Binary::Min, Binary::Lt]
            .map(|f| function(ElementType::F16, lanes, |b, a, c| b.binary(f, a, c)));
        let one =
            [Unary::Neg, Unary::Sqrt, Unary::IsNan].map(|f| function(ElementType::F16, lanes, |b, a, _| b.unary(f, a)));
        let from = [function(ElementType::I8, lanes, |b, a, _| b.convert(ElementType::F16, a))];
        let fma = [function(ElementType::F16, lanes, |b, a, c| b.fma(a, c, a))];
        for function in two.into_iter().chain(one).chain(from).chain(fma) {
            let lacks = made(&function).unwrap_err();
            assert!(lacks.contains("f16"), "{lacks}\n{function}");
        }
    }
}

#[test]
fn choices_and_moves_between_lanes() {
    let all = types().flat_map(|(element, lanes)| {
        let chosen = function(element, lanes, |b, a, c| {
            let condition = below(b, lanes);
            b.select(condition, a, c)
        });
        let last = lanes - 1;
        let spread = function(element, lanes, move |b, a, _| {
            let one = b.extract(a, last);
            b.splat(one, lanes)
        });
        let replaced = function(element, lanes, move |b, a, c| {
            let one = b.extract(c, 0);
            b.insert(a, last, one)
        });
        let moved = (1..lanes).map(move |by| function(element, lanes, |b, a, c| b.shift(a, by, c)));
        let whole = element.bytes() >= 4 && element.bytes() * lanes as usize >= 64;
        let runs = (0..lanes.ilog2()).filter(move |_| whole).map(|bits| 1 << bits);
        let unzipped = runs
            .flat_map(move |run| [false, true].map(|odd| function(element, lanes, |b, a, c| b.unzip(a, c, run, odd))));
        [chosen, spread, replaced].into_iter().chain(moved).chain(unzipped).collect::<Vec<_>>()
    });
    assert_eq!(lacking(all), [""; 0]);
}

/// Under masks of lanes and uniform ones, at positions in a row, with gaps, and of each lane its own.
#[test]
fn memory() {
    let all = types().flat_map(|(element, lanes)| {
        let strided = function(element, lanes, |b, _, _| {
            let (x, zero, stride) = (b.argument(0), b.int(0), b.parameter(1));
            b.load_strided(element, lanes, x, zero, stride, Memory::Input)
        });
        let gathered = function(element, lanes, |b, _, _| {
            let (x, positions) = (b.argument(0), b.iota(ElementType::I64, lanes));
            b.load(element, lanes, x, positions, Memory::Guarded)
        });
        let masks = [1, lanes].into_iter().flat_map(move |width| {
            [false, true].map(|scatter| {
                function(element, lanes, |b, a, c| {
                    let holds = below(b, lanes);
                    let mask = if width == 1 { b.any(holds) } else { holds };
                    let base = b.argument(1);
                    let at = if scatter { b.iota(ElementType::I64, lanes) } else { b.parameter(1) };
                    b.store(base, at, c, Some(mask));
                    a
                })
            })
        });
        let ways = [(None, false), (Some(1), false), (Some(lanes), false), (Some(lanes), true)];
        let appended = ways.map(|(width, whole)| {
            function(element, lanes, |b, a, c| {
                let holds = below(b, lanes);
                let mask = width.map(|width| if width == 1 { b.any(holds) } else { holds });
                let (base, start, spare) = (b.argument(1), b.parameter(0), b.parameter(2));
                let count = b.fresh(ElementType::I64, 1);
                let append = Append { bases: vec![base], count: start, values: vec![c], mask, spare, whole };
                b.push(&[count], Op::Append(Box::new(append)));
                b.store(base, start, count, None);
                a
            })
        });
        [strided, gathered].into_iter().chain(masks).chain(appended).collect::<Vec<_>>()
    });
    assert_eq!(lacking(all), [""; 0]);
}

/// The instructions of a set are used where there are some, and each form has fewer instructions for them.
#[test]
fn features_make_code_shorter() {
    let counts = function(ElementType::U32, 16, |b, a, _| b.unary(Unary::Popcount, a));
    let made = made(&counts).unwrap();
    let [_, base, counts, compress, full] = made[..] else { panic!("{made:?}") };
    assert!(counts == full && base == compress && full < base, "{made:?}");
}
