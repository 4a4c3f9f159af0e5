//! A program without what its results do not need, in blocks inside too: what nobody needs makes nothing depend on a lane.

use std::collections::HashSet;

use fusebox_ir::{ArrayId, ArrayOp, Block, PartMut, Program};

/// The program without bindings, and results of nests and branches, that its results do not need.
pub(crate) fn live(program: &Program) -> Program {
    let mut program = program.clone();
    block(&mut program.body);
    program
}

fn block(block: &mut Block) {
    let mut needed: HashSet<ArrayId> = block.results.iter().copied().collect();
    let mut kept = Vec::with_capacity(block.bindings.len());
    for mut binding in std::mem::take(&mut block.bindings).into_iter().rev() {
        if !binding.results.iter().any(|var| needed.contains(&var.id)) {
            continue;
        }
        // Extents of a result are results before it.
        let mut wanted: Vec<bool> = binding.results.iter().map(|var| needed.contains(&var.id)).collect();
        for at in (0..wanted.len()).rev() {
            if wanted[at] {
                let results = &binding.results;
                results[at].ty.for_each_use(&mut |id| {
                    if let Some(sibling) = results.iter().position(|var| var.id == id) {
                        wanted[sibling] = true;
                    }
                });
            }
        }
        let blocks = match &mut binding.op {
            ArrayOp::Nest { body, .. } => vec![body],
            ArrayOp::Cond { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        };
        if !blocks.is_empty() {
            for inner in blocks {
                let mut at = wanted.iter();
                inner.results.retain(|_| at.next().copied().unwrap_or(true));
            }
            let mut at = wanted.iter();
            binding.results.retain(|_| at.next().copied().unwrap_or(true));
        }
        for part in binding.op.parts_mut() {
            if let PartMut::Body(body) = part {
                self::block(body);
            }
        }
        binding.for_each_use(&mut |id| _ = needed.insert(id));
        kept.push(binding);
    }
    kept.reverse();
    block.bindings = kept;
}
