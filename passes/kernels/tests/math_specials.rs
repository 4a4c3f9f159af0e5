//! Values that standards fix: IEEE 754-2019 §9.2.1, and C (Annex F) where it says more; exactly, signs of zeros included.

use crate::math_lanes::{self, LANES, Lanes, Machine, binary, unary};
use fusebox_ir::{Binary, Constant, ElementType, LambdaBuilder, Place, ScalarOp, ScalarOperand, Unary, primitive};
use fusebox_kernels::math;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const PI: f64 = std::f64::consts::PI;

/// Whether both are NaN, or the same to the bit.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn of_one_operand() {
    use Unary::*;
    #[rustfmt::skip]
    let table: &[(Unary, &[(f64, f64)])] = &[
        (Exp, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1e30, INF), (-1e30, 0.0)]),
        (Exp2, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (10.0, 1024.0), (-3.0, 0.125), (1e30, INF), (-1e30, 0.0)]),
        (Expm1, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (NAN, NAN), (-1e30, -1.0), (1e30, INF)]),
        (Log, &[(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (-1e-40, NAN), (NAN, NAN)]),
        (Log2, &[(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (8.0, 3.0), (0.25, -2.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (NAN, NAN)]),
        (Log10, &[(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (10.0, 1.0), (100.0, 2.0), (1e10, 10.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (NAN, NAN)]),
        (Log1p, &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)]),
        (Sin, &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
        (Cos, &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
        (Tan, &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
        (Asin, &[(0.0, 0.0), (-0.0, -0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
        (Acos, &[(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
        (Atan, &[(0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]),
        (Sinh, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (1e30, INF), (-1e30, -INF)]),
        (Cosh, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (-1e30, INF)]),
        (Tanh, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (1e30, 1.0)]),
        (Asinh, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
        (Acosh, &[(1.0, 0.0), (0.5, NAN), (0.0, NAN), (-1.0, NAN), (-1e30, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)]),
        (Atanh, &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
        (Erf, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (1e30, 1.0)]),
        (Erfc, &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (NAN, NAN), (1e30, 0.0), (-1e30, 2.0)]),
        (Cbrt, &[(0.0, 0.0), (-0.0, -0.0), (1.0, 1.0), (27.0, 3.0), (-8.0, -2.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    ];
    for (function, rows) in table {
        let (x, expected): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
        let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let [double, contracted] = [|code| code, Machine::contracted]
            .map(|change: fn(Machine) -> Machine| change(unary(*function, ElementType::F64)).all(&[&x]));
        let single = unary(*function, ElementType::F32).all(&[&narrow]);
        for (at, &expected) in expected.iter().enumerate() {
            let name = function.text();
            assert!(same(double[at], expected), "{name}({}) is {}, expected {expected}", x[at], double[at]);
            assert!(same(contracted[at], expected), "with fma: {name}({}) is {}", x[at], contracted[at]);
            assert!(same(single[at].into(), expected), "f32 {name}({}) is {}, expected {expected}", x[at], single[at]);
        }
    }
    // Every function that is not exact has a row.
    for &function in Unary::ALL {
        assert!(primitive::is_exact(function) || table.iter().any(|row| row.0 == function), "{function:?}");
    }
}

#[test]
fn of_two_operands() {
    use Binary::*;
    // Correctly rounded in each type; so are quarters and halves of it. Not 3/4 of it in f64.
    let half = PI / 2.0;
    #[rustfmt::skip]
    let table: &[(Binary, &[(f64, f64, f64)])] = &[
        (Pow, &[
            (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (1.0, NAN, 1.0), (1.0, INF, 1.0), (1.0, -INF, 1.0), (0.0, 0.0, 1.0), (INF, 0.0, 1.0), (-INF, -0.0, 1.0),
            (-1.0, INF, 1.0), (-1.0, -INF, 1.0), (NAN, 1.0, NAN), (2.0, NAN, NAN), (-1.0, NAN, NAN), (0.0, NAN, NAN), (INF, NAN, NAN),
            (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (-0.0, 2.5, 0.0), (0.0, 0.5, 0.0),
            (0.0, -3.0, INF), (-0.0, -3.0, -INF), (0.0, -2.0, INF), (-0.0, -2.0, INF), (-0.0, -2.5, INF), (0.0, INF, 0.0), (-0.0, INF, 0.0), (0.0, -INF, INF), (-0.0, -INF, INF),
            (0.5, INF, 0.0), (-0.5, INF, 0.0), (0.5, -INF, INF), (-0.5, -INF, INF), (2.0, INF, INF), (-2.0, INF, INF), (2.0, -INF, 0.0), (-2.0, -INF, 0.0),
            (INF, 2.0, INF), (INF, -2.0, 0.0), (INF, 0.5, INF), (INF, INF, INF), (INF, -INF, 0.0), (-INF, INF, INF), (-INF, -INF, 0.0),
            (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 2.5, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -2.5, 0.0),
            (-2.0, 0.5, NAN), (-1e30, -2.5, NAN), (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0), (-2.0, -1.0, -0.5), (3.0, 4.0, 81.0), (2.0, 0.5, std::f64::consts::SQRT_2),
            (10.0, 400.0, INF), (10.0, -400.0, 0.0), (-10.0, 401.0, -INF), (-10.0, -401.0, -0.0), (1e30, 1e30, INF), (1e30, -1e30, 0.0), (0.5, 1e30, 0.0), (-1.0, 1e30, 1.0), (-3.0, 1e30, INF),
        ]),
        (Atan2, &[
            (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, PI), (-0.0, -0.0, -PI), (0.0, -1.0, PI), (-0.0, -1.0, -PI),
            (1.0, 0.0, half), (-1.0, 0.0, -half), (1.0, -0.0, half), (-1.0, -0.0, -half), (1.0, INF, 0.0), (-1.0, INF, -0.0), (1.0, -INF, PI), (-1.0, -INF, -PI),
            (INF, 1.0, half), (-INF, -1.0, -half), (INF, INF, PI / 4.0), (-INF, INF, -PI / 4.0), (INF, -INF, 2.356194490192345), (-INF, -INF, -2.356194490192345),
            (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN), (INF, NAN, NAN), (NAN, 0.0, NAN), (0.0, NAN, NAN), (NAN, NAN, NAN),
            (1e-30, -1e30, PI), (1e30, 1e-30, half),
        ]),
        (Hypot, &[
            (3.0, 4.0, 5.0), (-3.0, 4.0, 5.0), (0.0, 0.0, 0.0), (-0.0, -0.0, 0.0), (0.0, -2.0, 2.0), (INF, NAN, INF), (NAN, -INF, INF), (-INF, 1.0, INF), (1.0, INF, INF),
            (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, NAN, NAN), (INF, INF, INF), (3e37, 4e37, 5e37), (0.0, 1e-40, 1e-40),
        ]),
        (Rem, &[
            (5.5, 2.0, 1.5), (-5.5, 2.0, -1.5), (5.5, -2.0, 1.5), (6.0, 2.0, 0.0), (-6.0, 2.0, -0.0), (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (-0.0, INF, -0.0),
            (1.0, 0.0, NAN), (1.0, -0.0, NAN), (0.0, 0.0, NAN), (INF, 1.0, NAN), (-INF, 1.0, NAN), (INF, INF, NAN), (1.0, INF, 1.0), (-1.0, -INF, -1.0),
            (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, NAN, NAN), (1e-40, NAN, NAN), (INF, NAN, NAN), (NAN, INF, NAN), (NAN, 0.0, NAN),
        ]),
    ];
    for (function, rows) in table {
        let x: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let y: Vec<f64> = rows.iter().map(|row| row.1).collect();
        let narrow = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let [double, contracted] = [|code| code, Machine::contracted]
            .map(|change: fn(Machine) -> Machine| change(binary(*function, ElementType::F64)).all(&[&x, &y]));
        let single = binary(*function, ElementType::F32).all(&[&narrow(&x), &narrow(&y)]);
        for (at, row) in rows.iter().enumerate() {
            let name = function.text();
            // For results that are not exact one step is allowed.
            let near = |got: f64, step: f64| {
                let exact = row.2 == 0.0 || row.2.fract() == 0.0 || !row.2.is_finite();
                same(got, row.2) || (!exact && (got - row.2).abs() <= step * row.2.abs())
            };
            assert!(near(double[at], 2.3e-16), "{name}{row:?} is {}", double[at]);
            assert!(near(contracted[at], 2.3e-16), "with fma: {name}{row:?} is {}", contracted[at]);
            let same_in_f32 = same(single[at].into(), f64::from(row.2 as f32));
            assert!(same_in_f32 || near(single[at].into(), 1.2e-7), "f32 {name}{row:?} is {}", single[at]);
        }
    }
    for &function in Binary::ALL {
        assert!(primitive::is_exact_binary(function) || table.iter().any(|row| row.0 == function), "{function:?}");
    }
}

/// `f16` is computed in `f32` and rounded.
#[test]
fn f16_is_converted_around() {
    let mut code = LambdaBuilder::new();
    let x = code.param("x", ElementType::F16).operand;
    math::expand_unary(Unary::Exp, ElementType::F16, x, &Place::default(), &mut code).expect("exp is expanded");
    let ops = code.instructions();
    assert!(matches!(ops[0].op, ScalarOp::Convert { to: ElementType::F32, .. }));
    assert!(matches!(ops[ops.len() - 1].op, ScalarOp::Convert { to: ElementType::F16, .. }));
}

#[test]
fn instructions_of_their_own_stay() {
    let place = Place::default();
    for &function in Unary::ALL {
        let mut code = LambdaBuilder::new();
        let x = code.param("x", ElementType::F32).operand;
        let expanded = math::expand_unary(function, ElementType::F32, x, &place, &mut code);
        assert_eq!(expanded.is_none(), primitive::is_exact(function), "{function:?}");
        assert_eq!(code.instructions().is_empty(), expanded.is_none());
        assert!(math::expand_unary(function, ElementType::I32, x, &place, &mut code).is_none());
    }
    for &function in Binary::ALL {
        let mut code = LambdaBuilder::new();
        let x = code.param("x", ElementType::F64).operand;
        let expanded = math::expand_binary(function, ElementType::F64, x, x, &place, &mut code);
        assert_eq!(
            expanded.is_some(),
            function == Binary::Rem || !primitive::is_exact_binary(function),
            "{function:?}"
        );
    }
}

/// Locals are dense, defined before they are used, and of the types that instructions need: what `validate` asks of kernels.
#[test]
fn code_is_made_of_primitive_instructions() {
    fn check(instructions: &[fusebox_ir::Instruction], next: &mut u32) {
        for instruction in instructions {
            match &instruction.op {
                ScalarOp::Unary { function, .. } => assert!(primitive::is_exact(*function)),
                ScalarOp::Binary { function, .. } => {
                    assert!(primitive::is_exact_binary(*function) && *function != Binary::Rem);
                }
                ScalarOp::If { then, otherwise, .. } => {
                    check(&then.instructions, next);
                    check(&otherwise.instructions, next);
                }
                ScalarOp::While { condition, step, .. } => {
                    for body in [condition, step] {
                        for param in &body.params {
                            assert_eq!(param.id.0, *next);
                            *next += 1;
                        }
                        check(&body.instructions, next);
                    }
                }
                ScalarOp::Fma { .. } | ScalarOp::Convert { .. } | ScalarOp::Bits { .. } => {}
                other => panic!("{other:?}"),
            }
            for result in &instruction.results {
                assert_eq!(result.id.0, *next);
                *next += 1;
            }
        }
    }
    for ty in [ElementType::F32, ElementType::F64] {
        for &function in Unary::ALL.iter().filter(|&&function| !primitive::is_exact(function)) {
            check(&unary(function, ty).lambda.instructions, &mut 1);
        }
        for function in [Binary::Pow, Binary::Atan2, Binary::Hypot, Binary::Rem] {
            check(&binary(function, ty).lambda.instructions, &mut 2);
        }
    }
}

/// The machine of these tests against the meaning of instructions, on bits of every kind.
#[test]
fn the_machine_means_what_the_interpreter_means() {
    use ElementType::*;
    let bits = |at: usize, ty: ElementType| -> u64 {
        let special = [
            0,
            1,
            31,
            32,
            33,
            63,
            64,
            65,
            u64::MAX,
            1 << 31,
            1 << 63,
            0x7f80_0000,
            0x7ff0 << 48,
            0xff80_0000,
            0x7fc0_0000,
            0x3f80_0000,
        ];
        let noise = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = if at.is_multiple_of(3) { special[at / 3 % special.len()] } else { noise ^ (noise >> 29) };
        Constant::from_bits(ty, bits).bits()
    };
    let lanes = |ty: ElementType, shift: usize| -> (Lanes, Vec<Constant>) {
        let constants: Vec<Constant> = (0..LANES).map(|at| Constant::from_bits(ty, bits(at * 7 + shift, ty))).collect();
        let map = || constants.iter().map(|c| c.bits());
        let lanes = match ty {
            Bool => Lanes::Bool(map().map(|b| b != 0).collect()),
            I32 => Lanes::I32(map().map(|b| b as i32).collect()),
            I64 => Lanes::I64(map().map(|b| b as i64).collect()),
            U32 => Lanes::U32(map().map(|b| b as u32).collect()),
            U64 => Lanes::U64(map().collect()),
            F32 => Lanes::F32(map().map(|b| f32::from_bits(b as u32)).collect()),
            _ => Lanes::F64(map().map(f64::from_bits).collect()),
        };
        (lanes, constants)
    };
    let get = |lanes: &Lanes, at: usize| -> Constant {
        match lanes {
            Lanes::Bool(a) => a[at].into(),
            Lanes::I32(a) => a[at].into(),
            Lanes::I64(a) => a[at].into(),
            Lanes::U32(a) => a[at].into(),
            Lanes::U64(a) => a[at].into(),
            Lanes::F32(a) => a[at].into(),
            Lanes::F64(a) => a[at].into(),
        }
    };
    let agree = |a: Constant, b: Constant| {
        a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a.is_nan() && b.is_nan())
    };
    let mut seen = std::collections::BTreeSet::new();
    let mut run = |ops: &[fusebox_ir::Instruction]| {
        for instruction in ops {
            let result = instruction.results[0].ty;
            match &instruction.op {
                ScalarOp::Unary { function, .. } => seen.insert((0, *function as u32, result)),
                ScalarOp::Binary { function, .. } => seen.insert((1, *function as u32, result)),
                _ => false,
            };
        }
    };
    for ty in [F32, F64] {
        for &function in Unary::ALL.iter().filter(|&&function| !primitive::is_exact(function)) {
            run(&unary(function, ty).lambda.instructions);
        }
        run(&binary(Binary::Pow, ty).lambda.instructions);
    }
    for &(arity, function, result) in &seen {
        if arity == 0 {
            let function = Unary::ALL.iter().copied().find(|&f| f as u32 == function).expect("listed");
            let (a, constants) = lanes(result, 0);
            let got = math_lanes::run_unary(function, a);
            for (at, &a) in constants.iter().enumerate() {
                let expected = primitive::unary(function, a).expect("of this type");
                assert!(agree(get(&got, at), expected), "{function:?} of {a}: {}", get(&got, at));
            }
        } else {
            let function = Binary::ALL.iter().copied().find(|&f| f as u32 == function).expect("listed");
            let types = if function.is_comparison() { vec![F32, F64, U32, U64] } else { vec![result] };
            for ty in types {
                let ((a, left), (b, right)) = (lanes(ty, 0), lanes(ty, 5));
                let got = math_lanes::run_binary(function, a, b);
                for at in 0..LANES {
                    let expected =
                        primitive::binary(function, left[at], right[at]).ok().flatten().expect("of this type");
                    assert!(
                        agree(get(&got, at), expected),
                        "{} {function:?} {}: {}",
                        left[at],
                        right[at],
                        get(&got, at)
                    );
                }
            }
        }
    }
    // The three that have a form of their own.
    let params = |types: &[ElementType]| {
        (0..)
            .zip(types)
            .map(|(id, &ty)| fusebox_ir::Local { id: fusebox_ir::LocalId(id), ty, name: Default::default() })
            .collect::<Vec<_>>()
    };
    let machine = |types: &[ElementType], op: ScalarOp, to: ElementType| {
        let id = fusebox_ir::LocalId(types.len() as u32);
        let results = vec![fusebox_ir::Local { id, ty: to, name: Default::default() }];
        let instruction = fusebox_ir::Instruction { results, op, place: Default::default() };
        Machine::of(
            fusebox_ir::Lambda { params: params(types), instructions: vec![instruction], results: vec![id.into()] },
            types.len() + 1,
        )
    };
    let local = |at: u32| ScalarOperand::from(fusebox_ir::LocalId(at));
    for ty in [F32, F64] {
        let [(a, x), (b, y), (c, z)] = [lanes(ty, 0), lanes(ty, 5), lanes(ty, 11)];
        let got =
            machine(&[ty; 3], ScalarOp::Fma { a: local(0), b: local(1), c: local(2) }, ty).run_lanes(vec![a, b, c]);
        for at in 0..LANES {
            let expected = primitive::fma(x[at], y[at], z[at]).expect("floats");
            assert!(agree(get(&got, at), expected), "fma of {}, {}, {}", x[at], y[at], z[at]);
        }
    }
    for from in [I32, I64, U32, U64, F32, F64] {
        for to in [I32, I64, U32, U64, F32, F64] {
            let (a, x) = lanes(from, 0);
            let got = machine(&[from], ScalarOp::Convert { to, a: local(0) }, to).run_lanes(vec![a.clone()]);
            for (at, &x) in x.iter().enumerate() {
                assert!(agree(get(&got, at), primitive::convert(to, x).expect("numbers")), "{x} to {to}");
            }
            if from.bits() == to.bits() {
                let got = machine(&[from], ScalarOp::Bits { to, a: local(0) }, to).run_lanes(vec![a]);
                for (at, &x) in x.iter().enumerate() {
                    assert!(agree(get(&got, at), primitive::reinterpret(to, x).expect("as wide")), "{x} as {to}");
                }
            }
        }
    }
}
