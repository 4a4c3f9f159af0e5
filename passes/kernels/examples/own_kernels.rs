//! Kernels for a language of your own: loop nests as a code generator reads them, here as text of C.
//!
//! `cargo run -p fusebox-kernels --example own_kernels`

use std::fmt::Write;

use fusebox_ir::{
    Action, ArrayOp, Binary, ClusterMark, ElementType, Extent, IndexMap, Kernel, KernelExtent, Lambda, LocalId, Mark,
    Order, Plan, ProgramBuilder, ScalarOp, ScalarOperand, Type,
};
use fusebox_kernels::{Config, Error, lower};

/// The plan of a program that our language would make: the sums of the squares of each row, of integers.
fn plan() -> Result<Plan, Error> {
    let mut program = ProgramBuilder::new("squares");
    let (n, m) = (program.size("n"), program.size("m"));
    let a = program.input("a", ElementType::I64, &[Extent::Value(n), Extent::Value(m)]);
    // What is in a cluster becomes one kernel. Without clusters each operation is one.
    let body = program.block(|program| {
        let squares = program.map("squares", &[a], |f, x| f.mul(x[0], x[0]));
        let plus = Lambda::componentwise(&[(Binary::Add, ElementType::I64)]);
        program.fold("sums", plus, &[0i64.into()], &[squares])
    });
    let marks = [Mark::Vertical, Mark::Last].map(|mark| ClusterMark { mark, order: None });
    let op = ArrayOp::Cluster { body, marks: marks.to_vec(), order: Order::Ascending };
    let sums = program.bind_one("sums", Type::array(vec![Extent::Value(n)], ElementType::I64), op);
    program.output("sums", sums);
    let program = program.finish().expect("what is built is valid");
    Ok(lower(&program, &Config::default())?.0)
}

/// A kernel as a function of C. It knows maps and sums of integers, whose order does not matter: sums of floats would have to follow
/// [`fusebox_ir::Association`], as that is what fixes their bits.
fn c(kernel: &Kernel, name: &str) -> Result<String, std::fmt::Error> {
    let mut out = format!("void {name}(");
    let sizes = kernel.sizes.iter().map(|size| format!("int64_t {}", local(size.id)));
    let arrays = (0..kernel.arrays.len()).map(|array| format!("int64_t *a{array}"));
    writeln!(out, "{}) {{", sizes.chain(arrays).collect::<Vec<_>>().join(", "))?;
    let mut open = 0; // how many loops stand around the next statement
    for statement in &kernel.statements {
        let depth = statement.depth as usize;
        close(&mut out, &mut open, depth)?;
        while open < depth {
            // What is reduced over this level and deeper ones starts here.
            for (result, to, seed) in reduces(kernel) {
                if to == open {
                    writeln!(out, "{}int64_t {} = {};", indent(open), local(result), operand(seed))?;
                }
            }
            let level = &kernel.levels[open];
            let (i, from, to) = (local(level.index.id), operand(&level.from), operand(&level.to));
            writeln!(out, "{}for (int64_t {i} = {from}; {i} < {to}; {i}++) {{", indent(open))?;
            open += 1;
        }
        let code = match &statement.action {
            Action::Load { result, array, map, .. } => {
                format!("int64_t {} = {}", local(result.id), place(kernel, array.index(), map))
            }
            Action::Scalar(instruction) => {
                format!("int64_t {} = {}", local(instruction.results[0].id), binary(&instruction.op))
            }
            Action::Reduce { results, values, .. } => format!("{} += {}", local(results[0].id), operand(&values[0])),
            Action::Store { array, map, value } => {
                format!("{} = {}", place(kernel, array.index(), map), operand(value))
            }
            other => unreachable!("the example makes no {other:?}"),
        };
        writeln!(out, "{}{code};", indent(open))?;
    }
    close(&mut out, &mut open, 0)?;
    out.push_str("}\n");
    Ok(out)
}

/// Ends loops until `depth` are open.
fn close(out: &mut String, open: &mut usize, depth: usize) -> std::fmt::Result {
    while *open > depth {
        *open -= 1;
        writeln!(out, "{}}}", indent(*open))?;
    }
    Ok(())
}

/// Results of reduces, the depths at which they are there, and their seeds.
fn reduces(kernel: &Kernel) -> impl Iterator<Item = (LocalId, usize, &ScalarOperand)> {
    kernel.statements.iter().filter_map(|statement| match &statement.action {
        Action::Reduce { results, to, seeds, .. } => Some((results[0].id, *to as usize, &seeds[0])),
        _ => None,
    })
}

/// An element in row-major order.
fn place(kernel: &Kernel, array: usize, map: &IndexMap) -> String {
    let mut position = String::new();
    for (dim, extent) in map.dims.iter().zip(&kernel.arrays[array].extents) {
        let extent = match extent {
            KernelExtent::Constant(value) => value.to_string(),
            KernelExtent::Size(size) => local(*size),
        };
        let mut terms = vec![dim.offset.to_string()];
        terms.extend(dim.terms.iter().map(|(factor, term)| format!("{factor} * {}", local(*term))));
        let index = terms.join(" + ");
        position = if position.is_empty() { index } else { format!("({position}) * {extent} + {index}") };
    }
    format!("a{array}[{position}]")
}

fn binary(op: &ScalarOp) -> String {
    match op {
        ScalarOp::Binary { function: Binary::Mul, a, b } => format!("{} * {}", operand(a), operand(b)),
        other => unreachable!("the example computes no {other:?}"),
    }
}

fn operand(operand: &ScalarOperand) -> String {
    match operand {
        ScalarOperand::Local(id) => local(*id),
        ScalarOperand::Constant(constant) => constant.as_i64().map_or_else(|| constant.to_string(), |n| n.to_string()),
        ScalarOperand::Outer(_) => unreachable!("kernels load what is outside"),
    }
}

fn local(id: LocalId) -> String {
    format!("x{}", id.0)
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth + 1)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (number, kernel) in plan()?.kernels.iter().enumerate() {
        println!("{}", c(kernel, &format!("kernel{number}"))?);
    }
    Ok(())
}

#[test]
fn both_operations_are_one_nest() {
    let plan = plan().unwrap();
    let code: Vec<String> = plan.kernels.iter().map(|kernel| c(kernel, "f").unwrap()).collect();
    assert_eq!(
        code,
        ["void f(int64_t x0, int64_t x1, int64_t *a0, int64_t *a1) {
  for (int64_t x2 = 0; x2 < x0; x2++) {
    int64_t x9 = 0;
    for (int64_t x3 = 0; x3 < x1; x3++) {
      int64_t x4 = a0[(0 + 1 * x2) * x1 + 0 + 1 * x3];
      int64_t x5 = x4 * x4;
      x9 += x5;
    }
    a1[0 + 1 * x2] = x9;
  }
}
"]
    );
}
