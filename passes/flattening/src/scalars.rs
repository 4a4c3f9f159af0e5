//! Branches and loops of scalars in lanes: they are scalar code, as those of functions are. A lane then decides for itself inside of one
//! function, and no lanes have to be parted.

use fusebox_ir::{ArrayOp, Block, PartMut, Program, analysis::scalar_blocks::scalar_code};

/// The program with branches and loops in nests, of which all parts are scalars, as scalar code.
pub(crate) fn scalars(program: &Program) -> Program {
    let mut program = program.clone();
    block(&mut program.body, false);
    program
}

/// `lanes` says whether a nest is around.
fn block(block: &mut Block, lanes: bool) {
    for binding in &mut block.bindings {
        let inside = lanes || matches!(binding.op, ArrayOp::Nest { .. });
        for part in binding.op.parts_mut() {
            if let PartMut::Body(body) = part {
                self::block(body, inside);
            }
        }
        if lanes && let Some(f) = scalar_code(binding) {
            binding.op = ArrayOp::Unit { f };
        }
    }
}
