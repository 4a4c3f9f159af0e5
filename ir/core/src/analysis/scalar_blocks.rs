//! Branches and loops of blocks of which all parts are scalars, as scalar code, as those of functions are.

use std::collections::BTreeSet;

use crate::{
    ArrayId, ArrayOp, Binding, Block, ElementType, Emit, Lambda, LambdaBuilder, Local, LocalId, PartMut, Place,
    Program, ScalarOp, ScalarOperand, ScalarPart, Scopes, Var, inline, unnamed,
};

/// The program with branches and loops of scalars as scalar code, where such an operation is around, or is one itself.
pub fn scalars_as_code(program: &Program, around: fn(&ArrayOp) -> bool) -> Program {
    let mut program = program.clone();
    block_as_code(&mut program.body, false, around);
    program
}

/// `inside` says whether such an operation is around the block.
fn block_as_code(block: &mut Block, inside: bool, around: fn(&ArrayOp) -> bool) {
    for binding in &mut block.bindings {
        let inside = inside || around(&binding.op);
        for part in binding.op.parts_mut() {
            if let PartMut::Body(body) = part {
                block_as_code(body, inside, around);
            }
        }
        if inside && let Some(f) = scalar_code(binding) {
            binding.op = ArrayOp::Unit { f };
        }
    }
}

/// A branch or loop of scalars as a function of them.
fn scalar_code(binding: &Binding) -> Option<Lambda> {
    let types: Vec<ElementType> = scalar_types(&binding.results)?;
    let mut code = Code { b: LambdaBuilder::new(), known: Scopes::new(), place: binding.place.clone() };
    let op = match &binding.op {
        ArrayOp::Cond { condition, then, otherwise } => {
            if !is_scalar_code(then) || !is_scalar_code(otherwise) {
                return None;
            }
            ScalarOp::If {
                condition: condition.in_scalar(),
                then: code.body(then, &[]),
                otherwise: code.body(otherwise, &[]),
            }
        }
        ArrayOp::While { condition, step, starts } => {
            if !is_scalar_code(condition) || !is_scalar_code(step) {
                return None;
            }
            ScalarOp::While {
                condition: code.body(condition, &condition.params),
                step: code.body(step, &step.params),
                starts: starts.iter().map(|start| start.in_scalar()).collect(),
            }
        }
        _ => return None,
    };
    let results = code.b.emit(op, &unnamed(&types), &binding.place);
    Some(code.b.finish(&results))
}

fn scalar_types(vars: &[Var]) -> Option<Vec<ElementType>> {
    vars.iter().map(|var| var.ty.is_scalar().then_some(var.ty.element)).collect()
}

/// Whether a block computes scalars of scalars, and reads none of its own as if it were an array.
fn is_scalar_code(block: &Block) -> bool {
    let own: BTreeSet<ArrayId> = block
        .params
        .iter()
        .chain(block.bindings.iter().flat_map(|binding| &binding.results))
        .map(|var| var.id)
        .collect();
    block.sizes.is_empty()
        && scalar_types(&block.params).is_some()
        && block.bindings.iter().all(|binding| {
            let ArrayOp::Unit { f } = &binding.op else { return false };
            scalar_types(&binding.results).is_some() && !reads(f, &own)
        })
}

/// Whether scalar code reads one of these at a position.
fn reads(f: &Lambda, own: &BTreeSet<ArrayId>) -> bool {
    f.instructions.iter().any(|instruction| {
        let positioned = matches!(instruction.op, ScalarOp::ReadFlat { .. });
        instruction.op.parts().into_iter().any(|part| match part {
            ScalarPart::Array(id) => positioned && own.contains(id),
            ScalarPart::Body(body) => reads(body, own),
            ScalarPart::Operand(_) => false,
        })
    })
}

/// Scalar code that is written, and what values of the blocks it is made of are there.
struct Code {
    b: LambdaBuilder,
    known: Scopes,
    /// Where the binding that is written stands in the source.
    place: Place,
}

impl Code {
    /// A block as a body with these parameters.
    fn body(&mut self, block: &Block, params: &[Var]) -> Lambda {
        let locals: Vec<Local> =
            params.iter().map(|var| Local { id: LocalId(0), ty: var.ty.element, name: var.name.clone() }).collect();
        let operands = self.open(&locals);
        self.know(params, &operands);
        for binding in &block.bindings {
            let ArrayOp::Unit { f } = &binding.op else { continue };
            self.place = binding.place.clone();
            let results = inline(self, f, &[]);
            self.know(&binding.results, &results);
        }
        let results = block.results.iter().map(|&id| self.outer(id)).collect();
        self.close(results)
    }

    fn know(&mut self, vars: &[Var], operands: &[ScalarOperand]) {
        vars.iter().zip(operands).for_each(|(var, &operand)| self.known.know(var.id, operand));
    }
}

impl Emit for Code {
    fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        match op {
            ScalarOp::Read { array, index } if index.is_empty() => vec![self.outer(array)],
            op => self.b.emit(op, results, if place.is_unknown() { &self.place } else { place }),
        }
    }

    fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand> {
        self.known.open(&mut self.b, params)
    }

    fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda {
        self.known.close(&mut self.b, results)
    }

    fn outer(&mut self, id: ArrayId) -> ScalarOperand {
        self.known.get(id).unwrap_or(ScalarOperand::Outer(id))
    }
}
