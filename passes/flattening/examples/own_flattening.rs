//! Flattening for a language of your own: a function of one row becomes instructions of a vector machine, for all rows at once.
//!
//! `cargo run -p fusebox-flattening --example own_flattening`

use fusebox_flattening::{Config, Error, flatten};
use fusebox_ir::{ArrayId, ArrayOp, Binary, ElementType, Extent, Lambda, Operand, Program, ProgramBuilder, Type, Var};

/// A step of a function of one row, of our own language: the rows come in with lengths of their own.
enum Step {
    /// Each element of the row times a number.
    Scale(f32),
    /// Running sums of the row.
    Running,
}

/// The sums of all rows, after the steps, as a nest over the rows.
fn encode(steps: &[Step]) -> Program {
    let mut program = ProgramBuilder::new("rows");
    let n = program.size("n");
    let outer = vec![Extent::Value(n)];
    let nested = Type { inner: vec![vec![Extent::Unknown]], ..Type::array(outer.clone(), ElementType::F32) };
    let rows = program.param("rows", nested);
    let plus = || Lambda::componentwise(&[(Binary::Add, ElementType::F32)]);
    let body = program.block(|program| {
        let i = program.param("i", Type::scalar(ElementType::I64));
        let op = ArrayOp::Element { source: rows, index: vec![Operand::Value(i)] };
        let row = |ids: &[ArrayId]| {
            let length = Extent::Value(ids[0]);
            vec![("k", Type::scalar(ElementType::I64)), ("row", Type::array(vec![length], ElementType::F32))]
        };
        let mut row = program.bind(2, op, row)[1];
        for step in steps {
            row = match *step {
                Step::Scale(by) => program.map("scaled", &[row], |f, x| f.mul(x[0], by)),
                Step::Running => {
                    let ty = program.type_of(row).clone();
                    let op = ArrayOp::Scan {
                        direction: fusebox_ir::Direction::Left,
                        form: fusebox_ir::ScanForm::Inclusive,
                        combine: plus(),
                        seeds: vec![],
                        sources: vec![row],
                        offsets: None,
                        commutes: false,
                    };
                    program.bind_one("running", ty, op)
                }
            };
        }
        program.fold("sum", plus(), &[0f32.into()], &[row])
    });
    let op = ArrayOp::Nest { extents: vec![Operand::Value(n)], body };
    let sums = program.bind_one("sums", Type::array(outer, ElementType::F32), op);
    program.output("sums", sums);
    program.finish().expect("what is encoded is valid")
}

/// Each operation of a flat program as an instruction of a vector machine: a name, and the vectors that it takes and makes.
fn decode(program: &Program) -> Vec<String> {
    let mut names: Vec<&Var> = program.body.sizes.iter().chain(&program.body.params).collect();
    let mut code = Vec::new();
    for binding in &program.body.bindings {
        let mut taken = Vec::new();
        binding.op.for_each_use(&mut |id| {
            let name = names.iter().find(|var| var.id == id).map_or_else(|| id.to_string(), |var| var.name.0.clone());
            taken.push(name);
        });
        let made: Vec<&str> = binding.results.iter().map(|var| var.name.0.as_str()).collect();
        code.push(format!("{} = {}({})", made.join(", "), binding.op.name(), taken.join(", ")));
        names.extend(&binding.results);
    }
    code
}

fn main() -> Result<(), Error> {
    let (flat, report) = flatten(&encode(&[Step::Scale(2.0), Step::Running]), &Config::default())?;
    decode(&flat).iter().for_each(|instruction| println!("{instruction}"));
    println!("{} arrays of offsets", report.descriptors);
    Ok(())
}

#[test]
fn a_function_of_a_row_becomes_one_of_all_rows() {
    let (flat, report) = flatten(&encode(&[Step::Scale(2.0), Step::Running]), &Config::default()).unwrap();
    assert_eq!(
        decode(&flat),
        [
            "more = unit(n)",
            "offsets = scanl(rows.extents)",
            "scaled = map(rows.values)",
            "running = scanl1_seg(scaled, offsets)",
            "sum = fold_seg(running, offsets)",
        ]
    );
    assert_eq!(report.descriptors, 1);
}
