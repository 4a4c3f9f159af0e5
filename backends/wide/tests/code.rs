//! What code promises beyond its functions: constants, failures, refusals, and that nothing is computed twice.

mod decoded;

use decoded::decoded;
use fusebox_ir::{Binary, Constant, ElementType, Failure, FailureKind, Unary};
use fusebox_wide::{
    Code, Features, Refusal, compile,
    vector::{Builder, Function, Memory, Site, Value},
};
use iced_x86::{Code as Instruction, Mnemonic};

/// The code of a function for all features, which decodes.
fn code(function: &Function) -> Code {
    let code = compile(function, Features::FULL).unwrap_or_else(|error| panic!("{error}\n{function}"));
    decoded(&code, Features::FULL).unwrap_or_else(|fault| panic!("{fault}\n{function}"));
    code
}

fn site(lanes: u32) -> Site {
    let fault = FailureKind::Assertion { message: "never".into(), shown: Vec::new() };
    Site { failure: Failure { operation: "a test".into(), place: Default::default(), fault }, lanes, operands: 1 }
}

/// Zeros in a gang of 16 `f32`.
fn zeros(b: &mut Builder) -> Value {
    let zero = b.constant(Constant::from(0f32));
    b.splat(zero, 16)
}

/// A loop over gangs of 16 `f32`, whose body stores what is made of an element.
fn map(make: impl FnOnce(&mut Builder, Value) -> Value) -> Function {
    let mut b = Builder::new();
    let (from, to) = (b.parameter(0), b.parameter(1));
    let (x, y) = (b.argument(0), b.argument(1));
    let steps = b.begin_loop(from, to, 16, &[]);
    let a = b.load(ElementType::F32, 16, x, steps.index, Memory::Input);
    let result = make(&mut b, a);
    b.store(y, steps.index, result, None);
    b.end_loop(steps, Vec::new());
    b.finish("map".to_owned())
}

/// `decoded` sees that each is read where it is, at a multiple of its length.
#[test]
fn constants_lie_behind_the_code_at_multiples_of_64_bytes() {
    let mut b = Builder::new();
    let (y, zero) = (b.argument(0), b.int(0));
    for element in ElementType::ALL {
        for lanes in [1, 2, 16, 64] {
            let numbers = if element == ElementType::Bool {
                let holds = b.constant(Constant::from(true));
                b.splat(holds, lanes)
            } else {
                b.iota(element, lanes)
            };
            b.store(y, zero, numbers, None);
        }
    }
    let code = code(&b.finish("constants".to_owned()));
    let pool = code.instructions.next_multiple_of(64);
    assert!(code.bytes.len() >= pool + 64);
    assert!(code.bytes[code.instructions..pool].iter().all(|&byte| byte == 0xcc), "what is between traps");
}

#[test]
fn code_without_constants_has_none() {
    let code = code(&map(|b, a| b.binary(Binary::Add, a, a)));
    assert_eq!(code.bytes.len(), code.instructions.next_multiple_of(64));
}

/// Lanes of a mask are bytes in the error slot; a uniform condition has none.
#[test]
fn failures_say_how_their_masks_lie() {
    let mut b = Builder::new();
    let [first, second] = [16, 1].map(|lanes| b.site(site(lanes)));
    let (x, zero) = (b.argument(0), b.int(0));
    let numbers = b.load(ElementType::I64, 16, x, zero, Memory::Guarded);
    let bad = b.binary(Binary::Lt, numbers, zero);
    b.fail_if(bad, first, vec![numbers]);
    let (from, to) = (b.parameter(0), b.parameter(1));
    let empty = b.binary(Binary::Ge, from, to);
    b.fail_if(empty, second, vec![from]);
    assert_eq!(code(&b.finish("failures".to_owned())).widths, [1, 0]);
}

#[test]
fn loops_and_branches_with_carried_values() {
    let mut b = Builder::new();
    let (from, to) = (b.parameter(0), b.parameter(1));
    let (x, y, zero) = (b.argument(0), b.argument(1), b.int(0));
    let sums = b.load(ElementType::F64, 32, x, from, Memory::Input);
    let mut open = b.begin_while(&[from, sums]);
    let [at, sums] = open.carried[..] else { unreachable!() };
    let more = b.less(at, to);
    b.while_body(&mut open, more);
    let even = b.int(1);
    let even = b.binary(Binary::And, at, even);
    let even = b.binary(Binary::Eq, even, zero);
    b.open();
    let doubled = b.binary(Binary::Add, sums, sums);
    let then = (b.close(), vec![doubled]);
    b.open();
    let otherwise = (b.close(), vec![sums]);
    let chosen = b.end_if(even, then, otherwise);
    let next = b.add_int(at, 1);
    let results = b.end_while(open, vec![next, chosen[0]]);
    b.store(y, zero, results[1], None);
    code(&b.finish("control".to_owned()));
}

/// How often an instruction is in the code of a function.
fn uses(function: &Function, which: impl Fn(Instruction) -> bool) -> usize {
    decoded(&code(function), Features::FULL).unwrap().iter().filter(|one| which(one.code())).count()
}

#[test]
fn a_comparison_under_a_condition_is_one_instruction() {
    let between = map(|b, a| {
        let [low, high] = [1.0f32, 2.0].map(|bound| b.constant(Constant::from(bound)));
        let (above, below) = (b.binary(Binary::Ge, a, low), b.binary(Binary::Lt, a, high));
        let both = b.binary(Binary::And, above, below);
        let zero = zeros(b);
        b.select(both, a, zero)
    });
    assert_eq!(uses(&between, |own| own.mnemonic() == Mnemonic::Vcmpps), 2);
    assert_eq!(uses(&between, |own| matches!(own.mnemonic(), Mnemonic::Kandq)), 0);
    // A comparison that is made first does not wait for what comes later.
    let early = map(|b, a| {
        let [low, high] = [1.0f32, 2.0].map(|bound| b.constant(Constant::from(bound)));
        let number = b.binary(Binary::Eq, a, a);
        let (below, above) = (b.binary(Binary::Lt, a, low), b.binary(Binary::Gt, a, high));
        let outside = b.binary(Binary::Or, below, above);
        let both = b.binary(Binary::And, number, outside);
        let zero = zeros(b);
        b.select(both, a, zero)
    });
    assert_eq!(uses(&early, |own| own.mnemonic() == Mnemonic::Kandq), 1);
    // What is compared before a loop stays before it.
    let mut b = Builder::new();
    let (from, to) = (b.parameter(0), b.parameter(1));
    let (x, y, zero) = (b.argument(0), b.argument(1), b.int(0));
    let first = b.load(ElementType::F32, 16, x, zero, Memory::Input);
    let none = zeros(&mut b);
    let positive = b.binary(Binary::Gt, first, none);
    let steps = b.begin_loop(from, to, 16, &[]);
    let a = b.load(ElementType::F32, 16, x, steps.index, Memory::Input);
    let negative = b.binary(Binary::Lt, a, none);
    let shifted = b.any(negative);
    let shifted = b.splat(shifted, 16);
    let both = b.binary(Binary::And, shifted, positive);
    b.store(y, steps.index, a, Some(both));
    b.end_loop(steps, Vec::new());
    assert_eq!(uses(&b.finish("before".to_owned()), |own| own.mnemonic() == Mnemonic::Kandq), 1);
}

#[test]
fn what_is_computed_already_is_not_computed_again() {
    let twice = map(|b, a| {
        let (first, second) = (b.unary(Unary::Sqrt, a), b.unary(Unary::Sqrt, a));
        b.binary(Binary::Add, first, second)
    });
    assert_eq!(uses(&twice, |code| code.mnemonic() == Mnemonic::Vsqrtps), 1);
}

/// A condition that is added, or taken away, as a number: one sum under its mask, and no gang of ones and zeros.
#[test]
fn conditions_are_counted_under_their_masks() {
    for (function, mnemonic) in [(Binary::Add, Mnemonic::Vpaddd), (Binary::Sub, Mnemonic::Vpsubd)] {
        let counted = map(|b, a| {
            let bits = b.bits(ElementType::I32, a);
            let zero = zeros(b);
            let below = b.binary(Binary::Lt, a, zero);
            let one = b.convert(ElementType::I32, below);
            b.binary(function, bits, one)
        });
        assert_eq!(uses(&counted, |code| code.mnemonic() == mnemonic), 1, "{function:?}");
        assert_eq!(uses(&counted, |code| code.mnemonic() == Mnemonic::Vmovdqu32), 0, "{function:?}");
    }
}

/// Whether two integers have a bit in common is one instruction, which makes a mask.
#[test]
fn bits_in_common_are_tested_at_once() {
    for (function, mnemonic) in [(Binary::Eq, Mnemonic::Vptestnmd), (Binary::Ne, Mnemonic::Vptestmd)] {
        let tested = map(|b, a| {
            let bits = b.bits(ElementType::I32, a);
            let three = b.constant(Constant::from(3i32));
            let low = b.binary(Binary::And, bits, three);
            let none = b.constant(Constant::from(0i32));
            let common = b.binary(function, low, none);
            let zero = zeros(b);
            b.select(common, a, zero)
        });
        assert_eq!(uses(&tested, |code| code.mnemonic() == mnemonic), 1, "{function:?}");
        assert_eq!(uses(&tested, |code| code.mnemonic() == Mnemonic::Vpandd), 0, "{function:?}");
    }
}

/// Lanes that a load under a mask leaves out keep what is there: no choice afterwards. Where the function writes the memory, it is loaded where it was.
#[test]
fn what_a_load_leaves_out_is_something_else_already() {
    for (memory, choices) in [(Memory::Guarded, 0), (Memory::Shared, 1)] {
        let loaded = map(|b, a| {
            let zero = zeros(b);
            let mask = b.binary(Binary::Lt, a, zero);
            let (x, at) = (b.argument(0), b.parameter(0));
            let loaded = b.load_masked((ElementType::F32, 16), x, at, (mask, at), memory);
            b.select(mask, loaded, a)
        });
        assert_eq!(uses(&loaded, |code| code.mnemonic() == Mnemonic::Vpblendmd), choices, "{memory:?}");
    }
}

/// What an element in all lanes is used for, as a function of it, a gang and the lanes.
type OfElement = fn(&mut Builder, Value, Value) -> Value;

/// A loop over gangs of so many `f32`, whose body stores what is made of a gang and of an element of another array in all lanes.
fn of_element(lanes: u32, memory: Memory, make: OfElement) -> Function {
    let mut b = Builder::new();
    let (from, to) = (b.parameter(0), b.parameter(1));
    let (x, y, out) = (b.argument(0), b.argument(1), b.argument(2));
    let steps = b.begin_loop(from, to, i64::from(lanes), &[]);
    let element = b.load(ElementType::F32, 1, x, steps.index, memory);
    let everywhere = b.splat(element, lanes);
    let gang = b.load(ElementType::F32, lanes, y, steps.index, Memory::Input);
    let result = make(&mut b, everywhere, gang);
    b.store(out, steps.index, result, None);
    b.end_loop(steps, Vec::new());
    b.finish("of an element".to_owned())
}

/// An element that all lanes read is an operand of the few instructions that read it: no broadcast, which waits for the units that compute.
#[test]
fn elements_are_read_by_what_needs_them() {
    let product: OfElement = |b, element, gang| b.binary(Binary::Mul, element, gang);
    let swapped: OfElement = |b, element, gang| b.binary(Binary::Mul, gang, element);
    let sum: OfElement = |b, element, gang| {
        let root = b.unary(Unary::Sqrt, gang);
        b.fma(element, gang, root)
    };
    // The first operand of a difference is a register.
    let difference: OfElement = |b, element, gang| b.binary(Binary::Sub, element, gang);
    let square: OfElement = |b, element, gang| {
        let square = b.binary(Binary::Mul, element, element);
        b.binary(Binary::Add, square, gang)
    };
    for (what, lanes, memory, make, (broadcasts, read)) in [
        ("a product", 32, Memory::Input, product, (0, 2)),
        ("a product the other way", 32, Memory::Guarded, swapped, (0, 2)),
        ("a product and a sum", 32, Memory::Input, sum, (0, 2)),
        ("memory that is written", 32, Memory::Shared, product, (1, 0)),
        ("many registers", 128, Memory::Input, product, (1, 0)),
        ("a difference", 32, Memory::Input, difference, (1, 0)),
        ("a square", 16, Memory::Input, square, (1, 0)),
    ] {
        let all = decoded(&code(&of_element(lanes, memory, make)), Features::FULL).unwrap();
        let spread = all.iter().filter(|one| one.mnemonic() == Mnemonic::Vbroadcastss).count();
        let inside = all.iter().filter(|one| one.is_broadcast()).count();
        assert_eq!((spread, inside), (broadcasts, read), "{what}");
    }
}

/// The square root of a uniform number comes before the loop.
#[test]
fn what_a_loop_does_not_change_is_computed_before_it() {
    let function = map(|b, a| {
        let from = b.parameter(0);
        let one = b.convert(ElementType::F32, from);
        let spread = b.splat(one, 16);
        let root = b.unary(Unary::Sqrt, spread);
        b.binary(Binary::Mul, a, root)
    });
    let all = decoded(&code(&function), Features::FULL).unwrap();
    let at = |mnemonic| all.iter().position(|one| one.mnemonic() == mnemonic).unwrap();
    let back = all.iter().find(|one| one.is_jcc_short_or_near() && one.near_branch64() < one.ip()).unwrap();
    let root = &all[at(Mnemonic::Vsqrtps)];
    assert!(root.ip() < back.near_branch64(), "{root:?} and {back:?}");
}

#[test]
fn dead_code_is_left_out() {
    let function = map(|b, a| {
        b.unary(Unary::Sqrt, a);
        a
    });
    assert_eq!(uses(&function, |code| code.mnemonic() == Mnemonic::Vsqrtps), 0);
}

/// More values at once than there are registers go to the stack, and come back.
#[test]
fn many_values_at_once() {
    let function = map(|b, a| {
        let number = |n: usize| Constant::from(n as f32 + 0.5);
        let all: Vec<Value> = (0..60)
            .map(|n| {
                let number = b.constant(number(n));
                let number = b.splat(number, 16);
                b.binary(Binary::Div, a, number)
            })
            .collect();
        let first = all[0];
        all.into_iter().rev().fold(first, |sum, value| b.binary(Binary::Sub, sum, value))
    });
    assert!(uses(&function, |code| code == Instruction::EVEX_Vmovaps_zmmm512_k1z_zmm) > 0);
}

#[test]
fn what_has_no_code_is_refused() {
    type Make = fn(&mut Builder, Value);
    let all: [(&str, Make); 3] = [
        ("an element far from its index", |b, x| {
            let far = b.fresh(ElementType::F32, 1);
            let op = fusebox_wide::vector::Op::Load { base: x, index: x, offset: 1 << 40, memory: Memory::Input };
            b.push(&[far], op);
            b.store(x, x, far, None);
        }),
        ("a failure of more than 64 lanes", |b, _| {
            let numbers = b.iota(ElementType::I64, 128);
            let from = b.parameter(0);
            let bad = b.binary(Binary::Lt, numbers, from);
            let site = b.site(site(128));
            b.fail_if(bad, site, vec![numbers]);
        }),
        ("% of f64", |b, x| {
            let zero = b.int(0);
            let a = b.load(ElementType::F64, 8, x, zero, Memory::Input);
            let rest = b.binary(Binary::Rem, a, a);
            b.store(x, zero, rest, None);
        }),
    ];
    for (what, make) in all {
        let mut b = Builder::new();
        let x = b.argument(0);
        make(&mut b, x);
        let function = b.finish("refused".to_owned());
        for (name, features) in Features::NAMED {
            match compile(&function, features) {
                Err(error @ Refusal::Lacks(_)) => assert_eq!(error.to_string(), format!("no vector code for {what}")),
                other => panic!("{name}: {other:?}\n{function}"),
            }
        }
    }
}

/// Each set is inside of those that have more, and runs where they do.
#[test]
fn sets_of_features() {
    let own = Features::of_this_machine();
    for (name, features) in Features::NAMED {
        println!("{name} ({features}): {}", if features.run_here() { "runs here" } else { "does not run here" });
        assert!(!features.run_here() || Features::AVX2.run_here(), "{name}");
        assert!(!features.run_here() || !features.avx512 || Features::BASE.run_here(), "{name}");
    }
    assert_eq!(Features::AVX2.run_here(), own.is_some());
    assert!(own.is_none_or(Features::run_here));
}
