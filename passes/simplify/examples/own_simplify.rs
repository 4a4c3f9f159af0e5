//! Simplification for a language of your own: formulas become scalar code, are simplified, and come back as formulas.
//!
//! `cargo run -p fusebox-simplify --example own_simplify`

use std::fmt;

use fusebox_ir::{
    ArrayOp, Binary, ElementType, Extent, LambdaBuilder, LocalId, Program, ProgramBuilder, ScalarOp, ScalarOperand,
    ScalarValue, Unary,
};
use fusebox_simplify::{Config, simplify};

/// A formula over one column of numbers, of our own language.
#[derive(Clone, Debug, PartialEq)]
enum Formula {
    Column,
    Number(f32),
    Sqrt(Box<Formula>),
    Of(char, Box<Formula>, Box<Formula>),
}

use Formula::{Column, Number, Sqrt};

fn of(sign: char, left: Formula, right: Formula) -> Formula {
    Formula::Of(sign, Box::new(left), Box::new(right))
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column => f.write_str("x"),
            Number(number) => write!(f, "{number}"),
            Sqrt(of) => write!(f, "sqrt({of})"),
            Self::Of(sign, left, right) => write!(f, "({left} {sign} {right})"),
        }
    }
}

/// The formula as the function of a `map`.
fn encode(formula: &Formula) -> Program {
    let mut program = ProgramBuilder::new("formula");
    let n = program.size("n");
    let column = program.input("column", ElementType::F32, &[Extent::Value(n)]);
    let result = program.map("result", &[column], |f, x| instructions(f, x[0], formula));
    program.output("result", result);
    program.finish().expect("what is encoded is valid")
}

fn instructions(f: &mut LambdaBuilder, column: ScalarValue, formula: &Formula) -> ScalarValue {
    match formula {
        Column => column,
        Number(number) => (*number).into(),
        Sqrt(of) => {
            let of = instructions(f, column, of);
            f.unary(Unary::Sqrt, of)
        }
        Formula::Of(sign, left, right) => {
            let (left, right) = (instructions(f, column, left), instructions(f, column, right));
            let function = SIGNS.iter().find(|(known, _)| known == sign).expect("a sign of the language").1;
            f.binary(function, left, right)
        }
    }
}

const SIGNS: [(char, Binary); 4] = [('+', Binary::Add), ('-', Binary::Sub), ('*', Binary::Mul), ('/', Binary::Div)];

/// The function of the `map` as a formula; the column itself where no operation is left.
fn decode(program: &Program) -> Formula {
    let Some(ArrayOp::Map { f, .. }) = program.body.bindings.first().map(|binding| &binding.op) else {
        return Column;
    };
    let mut known: Vec<(LocalId, Formula)> = vec![(f.params[0].id, Column)];
    let operand = |operand: &ScalarOperand, known: &[(LocalId, Formula)]| match operand {
        ScalarOperand::Local(id) => known.iter().find(|(local, _)| local == id).expect("defined before").1.clone(),
        ScalarOperand::Constant(constant) => Number(constant.as_f64().expect("formulas are of floats") as f32),
        ScalarOperand::Outer(_) => unreachable!("formulas use nothing from outside"),
    };
    for instruction in &f.instructions {
        let formula = match &instruction.op {
            ScalarOp::Unary { function: Unary::Sqrt, a } => Sqrt(Box::new(operand(a, &known))),
            ScalarOp::Binary { function, a, b } => {
                let sign = SIGNS.iter().find(|(_, known)| known == function).expect("a function of the language").0;
                of(sign, operand(a, &known), operand(b, &known))
            }
            // Simplification brings in no functions but those that are there.
            other => unreachable!("{other:?}"),
        };
        known.push((instruction.results[0].id, formula));
    }
    operand(&f.results[0], &known)
}

fn simplified(formula: &Formula) -> Formula {
    decode(&simplify(&encode(formula), &Config::default()).0)
}

fn main() {
    let formula = of('+', of('*', Column, Number(1.0)), Sqrt(Box::new(of('*', Number(2.0), Number(8.0)))));
    println!("{formula} is {}", simplified(&formula));
}

#[test]
fn constants_are_folded_and_neutral_elements_go() {
    let formula = of('+', of('*', Column, Number(1.0)), Sqrt(Box::new(of('*', Number(2.0), Number(8.0)))));
    assert_eq!(simplified(&formula), of('+', Column, Number(4.0)));
    assert_eq!(simplified(&of('*', Column, Number(1.0))), Column);
}

#[test]
fn what_is_true_on_paper_alone_stays() {
    // Infinity times 0 is NaN, and -0 + 0 is +0.
    for formula in [of('*', Column, Number(0.0)), of('-', Column, Column), of('+', Column, Number(0.0))] {
        assert_eq!(simplified(&formula), formula);
    }
}
