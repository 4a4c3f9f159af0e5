//! Which terms a term is made of.

use std::collections::HashSet;

use fusebox_ir::{
    Extent, Part, ScalarOperand, ScalarPart,
    term::{FunctionTerm, Term, TermId},
};

use crate::arena;

/// Every term from `first` on that `roots` are made of, themselves among them. Terms before `first` are not looked into.
pub(crate) fn reached(roots: &[TermId], first: usize) -> HashSet<TermId> {
    arena::with(|arena| {
        let mut seen = HashSet::new();
        let mut stack: Vec<TermId> = roots.to_vec();
        while let Some(id) = stack.pop() {
            if id.index() < first || !seen.insert(id) {
                continue;
            }
            if let Some(node) = arena.nodes.get(id.index()) {
                operands(&node.term, &mut |operand| stack.push(operand));
            }
        }
        seen
    })
    .unwrap_or_default()
}

/// Calls `visit` with each term that a term is made of.
fn operands(term: &Term, visit: &mut dyn FnMut(TermId)) {
    let functions = |list: &[FunctionTerm], visit: &mut dyn FnMut(TermId)| {
        list.iter().flat_map(|f| &f.results).copied().for_each(visit);
    };
    match term {
        Term::Size { .. } | Term::Parameter { .. } | Term::Constant(_) => {}
        Term::Input { ty, .. } | Term::BlockParameter { ty, .. } => extents(ty, visit),
        Term::Result { of, .. } => visit(*of),
        Term::Scalar { op, functions: list, .. } => {
            for part in op.parts() {
                match part {
                    ScalarPart::Operand(ScalarOperand::Local(id)) => visit(TermId::of_local(*id)),
                    ScalarPart::Operand(ScalarOperand::Outer(id)) | ScalarPart::Array(id) => {
                        visit(TermId::of_array(*id))
                    }
                    ScalarPart::Operand(ScalarOperand::Constant(_)) | ScalarPart::Body(_) => {}
                }
            }
            functions(list, visit);
        }
        Term::Array { op, functions: list, blocks, results } => {
            for part in op.parts() {
                match part {
                    Part::Array(id) | Part::Inner(id) => visit(TermId::of_array(*id)),
                    Part::Value(fusebox_ir::Operand::Value(id)) | Part::Argument(fusebox_ir::Operand::Value(id)) => {
                        visit(TermId::of_array(*id));
                    }
                    Part::Value(_) | Part::Argument(_) | Part::Function(_) | Part::Body(_) => {}
                }
            }
            functions(list, visit);
            blocks.iter().flat_map(|block| &block.results).copied().for_each(&mut *visit);
            results.iter().for_each(|ty| extents(ty, visit));
        }
    }
}

fn extents(ty: &fusebox_ir::Type, visit: &mut dyn FnMut(TermId)) {
    for extent in ty.all_extents() {
        if let Extent::Value(id) = extent {
            visit(TermId::of_array(*id));
        }
    }
}
