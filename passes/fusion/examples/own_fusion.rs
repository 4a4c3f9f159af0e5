//! Fusion for a language of your own: a chain of filters on a signal becomes a program, is fused, and comes back as loops.
//!
//! `cargo run -p fusebox-fusion --example own_fusion`

use fusebox_fusion::{Config, Error, fuse};
use fusebox_ir::{
    ArrayId, ArrayOp, Binary, ElementType, Extent, Lambda, LambdaBuilder, Operand, Program, ProgramBuilder, ScalarOp,
    ScalarOperand, Type,
};

/// A filter of a signal: of our own language.
#[derive(Clone, Copy)]
enum Filter {
    /// Each sample times a number.
    Gain(f32),
    /// Each sample and a number.
    Offset(f32),
    /// From the last sample to the first.
    Reversed,
}

/// A loop over all samples of the result: where each is read from, and what is done with it, as text.
#[derive(Debug, PartialEq)]
struct Loop {
    from: String,
    code: String,
}

/// Each filter as an operation.
fn encode(filters: &[Filter]) -> Program {
    let mut program = ProgramBuilder::new("filters");
    let n = program.size("n");
    let extent = Extent::Value(n);
    let mut signal = program.input("signal", ElementType::F32, &[extent]);
    for filter in filters {
        signal = match *filter {
            Filter::Gain(gain) => program.map("gain", &[signal], |f, x| f.mul(x[0], gain)),
            Filter::Offset(offset) => program.map("offset", &[signal], |f, x| f.add(x[0], offset)),
            Filter::Reversed => {
                let f = reversed(n);
                let op = ArrayOp::Backpermute { extents: vec![Operand::Value(n)], f, sources: vec![signal] };
                program.bind_one("reversed", Type::array(vec![extent], ElementType::F32), op)
            }
        };
    }
    program.output("signal", signal);
    program.finish().expect("what is encoded is valid")
}

/// `|i| n - 1 - i`
fn reversed(n: ArrayId) -> Lambda {
    let mut f = LambdaBuilder::new();
    let i = f.param("i", ElementType::I64);
    let last = f.sub(fusebox_ir::ScalarValue::outer(n, ElementType::I64), 1i64);
    let from = f.sub(last, i);
    f.finish(&[from])
}

/// Each operation that is left as a loop.
fn decode(program: &Program) -> Vec<Loop> {
    let bindings = program.body.bindings.iter();
    bindings
        .map(|binding| match &binding.op {
            ArrayOp::Map { f, .. } => Loop { from: "i".into(), code: apply(program, f, "x") },
            ArrayOp::Backpermute { f, .. } => Loop { from: apply(program, f, "i"), code: "x".into() },
            ArrayOp::Transform { index, f, .. } => {
                Loop { from: apply(program, index, "i"), code: apply(program, f, "x") }
            }
            // Fusion makes no other operations of these three.
            other => unreachable!("{}", other.name()),
        })
        .collect()
}

/// What a function of one parameter gives, as text of our language.
fn apply(program: &Program, f: &Lambda, argument: &str) -> String {
    let mut known = vec![(f.params[0].id, argument.to_owned())];
    let text = |operand: &ScalarOperand, known: &[(fusebox_ir::LocalId, String)]| match operand {
        ScalarOperand::Local(id) => known.iter().find(|(local, _)| local == id).expect("defined before").1.clone(),
        ScalarOperand::Outer(id) => {
            let size = program.body.sizes.iter().find(|size| size.id == *id);
            size.map_or(format!("{id}"), |size| size.name.0.clone())
        }
        ScalarOperand::Constant(constant) => match constant.as_i64() {
            Some(number) => number.to_string(),
            None => constant.as_f64().map_or(constant.to_string(), |number| number.to_string()),
        },
    };
    for instruction in &f.instructions {
        let code = match &instruction.op {
            ScalarOp::Binary { function, a, b } => {
                let sign = match function {
                    Binary::Mul => "*",
                    Binary::Add => "+",
                    Binary::Sub => "-",
                    other => unreachable!("{other:?}"),
                };
                format!("({} {sign} {})", text(a, &known), text(b, &known))
            }
            other => unreachable!("{other:?}"),
        };
        known.push((instruction.results[0].id, code));
    }
    text(&f.results[0], &known)
}

fn fused(filters: &[Filter]) -> Result<Vec<Loop>, Error> {
    Ok(decode(&fuse(&encode(filters), &Config::default())?.0))
}

fn main() -> Result<(), Error> {
    for Loop { from, code } in fused(&[Filter::Gain(2.0), Filter::Reversed, Filter::Offset(1.0)])? {
        println!("for i in 0..n {{ let x = signal[{from}]; out[i] = {code} }}");
    }
    Ok(())
}

#[test]
fn a_chain_becomes_one_loop() {
    let chain = [Filter::Gain(2.0), Filter::Reversed, Filter::Offset(1.0)];
    assert_eq!(decode(&encode(&chain)).len(), 3);
    assert_eq!(fused(&chain).unwrap(), [Loop { from: "((n - 1) - i)".into(), code: "((x * 2) + 1)".into() }]);
}

#[test]
fn nothing_is_rounded_otherwise() {
    // `x + 0.75` may have other bits, so both sums stay.
    let loops = fused(&[Filter::Offset(0.5), Filter::Offset(0.25)]).unwrap();
    assert_eq!(loops, [Loop { from: "i".into(), code: "((x + 0.5) + 0.25)".into() }]);
}
