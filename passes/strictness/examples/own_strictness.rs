//! Strictness for a language of your own: definitions that are used or not become statements that run in order.
//!
//! `cargo run -p fusebox-strictness --example own_strictness`

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block, ElementType, Operand, Program, ProgramBuilder, ScalarOp, ScalarOperand,
    Type,
};
use fusebox_strictness::{Config, Error, make_strict};

/// A definition of our own language, by need: what nobody uses is not computed.
enum Definition {
    /// The quotient of two numbers, which fails where the second is 0.
    Quotient { name: &'static str, left: &'static str, right: &'static str },
    /// One of two numbers: the first where the number `of` is positive.
    Choice { name: &'static str, of: &'static str, yes: &'static str, no: &'static str },
}

/// The definitions as bindings of a program; the last is the result.
fn encode(inputs: &[&'static str], definitions: &[Definition]) -> Program {
    let mut program = ProgramBuilder::new("definitions");
    let mut known: HashMap<&str, ArrayId> = HashMap::new();
    for input in inputs {
        known.insert(input, program.input(input, ElementType::I64, &[]));
    }
    let mut last = "";
    for definition in definitions {
        let (name, id) = match definition {
            Definition::Quotient { name, left, right } => {
                let (left, right) = (program.scalar(known[left]), program.scalar(known[right]));
                (name, program.unit(name, |f| f.binary(Binary::Div, left, right)))
            }
            Definition::Choice { name, of, yes, no } => {
                let of = program.scalar(known[of]);
                let condition = program.unit("positive", |f| f.binary(Binary::Gt, of, 0i64));
                let (then, otherwise) = (program.block(|_| vec![known[yes]]), program.block(|_| vec![known[no]]));
                let op = ArrayOp::Cond { condition: Operand::Value(condition), then, otherwise };
                (name, program.bind_one(name, Type::scalar(ElementType::I64), op))
            }
        };
        known.insert(name, id);
        last = name;
    }
    program.output("result", known[last]);
    program.finish().expect("what is encoded is valid")
}

/// A strict program as statements that run one after the other.
fn decode(program: &Program) -> String {
    let mut names: HashMap<ArrayId, String> = HashMap::new();
    for input in &program.body.params {
        names.insert(input.id, input.name.0.clone());
    }
    let mut out = String::new();
    block(&program.body, &mut names, "", &mut out);
    out + &format!("return {}", names[&program.body.results[0]])
}

fn block(block: &Block, names: &mut HashMap<ArrayId, String>, indent: &str, out: &mut String) {
    for binding in &block.bindings {
        statement(binding, names, indent, out);
    }
}

fn statement(binding: &Binding, names: &mut HashMap<ArrayId, String>, indent: &str, out: &mut String) {
    let result = &binding.results[0];
    let name = format!("{}{}", result.name.0, result.id.0);
    match &binding.op {
        ArrayOp::Unit { f } => {
            let text = |operand: &ScalarOperand| match operand {
                ScalarOperand::Outer(id) => names[id].clone(),
                ScalarOperand::Constant(constant) => constant.to_string(),
                ScalarOperand::Local(_) => unreachable!("one instruction each"),
            };
            let ScalarOp::Binary { function, a, b } = &f.instructions[0].op else { unreachable!("two kinds of code") };
            let sign = if *function == Binary::Div { "/" } else { ">" };
            *out += &format!("{indent}{name} = {} {sign} {}\n", text(a), text(b));
        }
        ArrayOp::Cond { condition: Operand::Value(condition), then, otherwise } => {
            *out += &format!("{indent}if {}:\n", names[condition]);
            for (branch, after) in [(then, "else:\n"), (otherwise, "")] {
                let inside = format!("{indent}  ");
                block(branch, names, &inside, out);
                *out += &format!("{inside}{name} = {}\n", names[&branch.results[0]]);
                if !after.is_empty() {
                    *out += &format!("{indent}{after}");
                }
            }
        }
        other => unreachable!("{}", other.name()),
    }
    names.insert(result.id, name);
}

fn example() -> Program {
    use Definition::{Choice, Quotient};
    let definitions = [
        Quotient { name: "half", left: "a", right: "two" },
        Quotient { name: "share", left: "a", right: "b" },
        Choice { name: "result", of: "b", yes: "share", no: "half" },
    ];
    encode(&["a", "b", "two"], &definitions)
}

fn main() -> Result<(), Error> {
    println!("{}", decode(&make_strict(&example(), &Config::default())?.0));
    Ok(())
}

#[test]
fn what_may_fail_is_computed_where_it_is_needed() {
    let (strict, report) = make_strict(&example(), &Config::default()).unwrap();
    assert_eq!(report.moved, 2);
    assert_eq!(
        decode(&strict),
        "positive3 = b > 0i64
if positive3:
  share4 = a / b
  result6 = share4
else:
  half5 = a / two
  result6 = half5
return result6"
    );
}

#[test]
fn what_nobody_needs_is_not_computed() {
    use Definition::Quotient;
    let definitions =
        [Quotient { name: "unused", left: "a", right: "b" }, Quotient { name: "half", left: "a", right: "two" }];
    let (strict, report) = make_strict(&encode(&["a", "b", "two"], &definitions), &Config::default()).unwrap();
    assert_eq!((report.dropped, decode(&strict).as_str()), (1, "half3 = a / two\nreturn half3"));
}
