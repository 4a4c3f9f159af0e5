//! Writing scalar code, whatever holds it, and copying functions into it: one walk for functions, statements and kernels.

use rustc_hash::FxHashMap;

use crate::{ArrayId, ElementType, Lambda, Local, LocalId, Name, Place, ScalarOp, ScalarOperand, ScalarPartMut};

/// Where scalar code is written to, one instruction after the other.
pub trait Emit {
    /// Appends an instruction of operands that are known here, and gives what stands for its results: new locals of these types and names,
    /// or operands that are known to be the same. The ids of `results` mean nothing.
    fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand>;

    /// Begins a body of a branch or a loop, with parameters of these types and names, and gives them.
    fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand>;

    /// Ends the innermost body.
    fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda;

    /// What stands for a scalar that functions use from outside.
    fn outer(&mut self, id: ArrayId) -> ScalarOperand {
        ScalarOperand::Outer(id)
    }

    /// What stands for an array that functions read.
    fn array(&mut self, id: ArrayId) -> ArrayId {
        id
    }
}

/// Locals of these types without names, for [`Emit`], which numbers them.
pub fn unnamed(types: &[ElementType]) -> Vec<Local> {
    types.iter().map(|&ty| Local { id: LocalId(0), ty, name: Name::default() }).collect()
}

/// Appends what a function computes of these arguments, and gives its results. A local that the function does not define stays as it is.
///
/// ```
/// use fusebox_ir::{ElementType::F32, Lambda, LambdaBuilder, inline};
/// let twice = Lambda::build(&[("x", F32)], |f, p| vec![f.add(p[0], p[0])]);
/// let mut f = LambdaBuilder::new();
/// let x = f.param("x", F32).operand;
/// let two = inline(&mut f, &twice, &[x]);
/// let four = inline(&mut f, &twice, &two);
/// assert_eq!(f.finish_needed(&four).instructions.len(), 2);
/// ```
pub fn inline<E: Emit + ?Sized>(code: &mut E, f: &Lambda, arguments: &[ScalarOperand]) -> Vec<ScalarOperand> {
    debug_assert_eq!(f.params.len(), arguments.len(), "an argument for each parameter");
    let mut names = f.params.iter().map(|param| param.id).zip(arguments.iter().copied()).collect();
    instructions(code, f, &mut names)
}

/// What stands for the locals of a function.
type Names = FxHashMap<LocalId, ScalarOperand>;

fn instructions<E: Emit + ?Sized>(code: &mut E, f: &Lambda, names: &mut Names) -> Vec<ScalarOperand> {
    for instruction in &f.instructions {
        let op = match &instruction.op {
            ScalarOp::If { condition, then, otherwise } => ScalarOp::If {
                condition: named(code, names, *condition),
                then: body(code, then, names),
                otherwise: body(code, otherwise, names),
            },
            ScalarOp::While { condition, step, starts } => ScalarOp::While {
                condition: body(code, condition, names),
                step: body(code, step, names),
                starts: starts.iter().map(|&start| named(code, names, start)).collect(),
            },
            op @ (ScalarOp::Unary { .. }
            | ScalarOp::Binary { .. }
            | ScalarOp::Fma { .. }
            | ScalarOp::Convert { .. }
            | ScalarOp::Bits { .. }
            | ScalarOp::Read { .. }
            | ScalarOp::ReadFlat { .. }
            | ScalarOp::Assert { .. }) => {
                let mut op = op.clone();
                for part in op.parts_mut() {
                    match part {
                        ScalarPartMut::Operand(operand) => *operand = named(code, names, *operand),
                        ScalarPartMut::Array(array) => *array = code.array(*array),
                        ScalarPartMut::Body(_) => {}
                    }
                }
                op
            }
        };
        let results = code.emit(op, &instruction.results, &instruction.place);
        names.extend(instruction.results.iter().map(|local| local.id).zip(results));
    }
    f.results.iter().map(|&result| named(code, names, result)).collect()
}

fn body<E: Emit + ?Sized>(code: &mut E, f: &Lambda, names: &mut Names) -> Lambda {
    let params = code.open(&f.params);
    names.extend(f.params.iter().map(|param| param.id).zip(params));
    let results = instructions(code, f, names);
    code.close(results)
}

fn named<E: Emit + ?Sized>(code: &mut E, names: &Names, operand: ScalarOperand) -> ScalarOperand {
    match operand {
        ScalarOperand::Local(id) => names.get(&id).copied().unwrap_or(operand),
        ScalarOperand::Outer(id) => code.outer(id),
        ScalarOperand::Constant(_) => operand,
    }
}
