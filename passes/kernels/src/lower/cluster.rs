//! Clusters taken apart: each operation of a cluster is lowered by itself.

use std::{borrow::Cow, collections::HashMap};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Part, PartMut, Program};

/// The program without clusters: their bindings stand where they stood.
pub(super) fn dissolved(program: &Program) -> Cow<'_, Program> {
    if !has_cluster(&program.body) {
        return Cow::Borrowed(program);
    }
    let mut program = program.clone();
    let mut names = HashMap::new();
    dissolve(&mut program.body, &mut names);
    program.body.substitute(&mut |id| resolved(&names, id).into());
    Cow::Owned(program)
}

fn resolved(names: &HashMap<ArrayId, ArrayId>, mut id: ArrayId) -> ArrayId {
    while let Some(&other) = names.get(&id) {
        id = other;
    }
    id
}

fn has_cluster(body: &Block) -> bool {
    let mut blocks = vec![body];
    while let Some(block) = blocks.pop() {
        for binding in &block.bindings {
            if matches!(binding.op, ArrayOp::Cluster { .. }) {
                return true;
            }
            blocks.extend(
                binding
                    .op
                    .parts()
                    .into_iter()
                    .filter_map(|part| if let Part::Body(block) = part { Some(block) } else { None }),
            );
        }
    }
    false
}

fn dissolve(block: &mut Block, names: &mut HashMap<ArrayId, ArrayId>) {
    // A stack of what is still to be seen instead of recursion into clusters.
    let mut rest: Vec<Binding> = std::mem::take(&mut block.bindings);
    rest.reverse();
    while let Some(mut binding) = rest.pop() {
        if let ArrayOp::Cluster { body, .. } = binding.op {
            names.extend(binding.results.iter().map(|var| var.id).zip(body.results));
            rest.extend(body.bindings.into_iter().rev());
            continue;
        }
        for part in binding.op.parts_mut() {
            if let PartMut::Body(inner) = part {
                dissolve(inner, names);
            }
        }
        block.bindings.push(binding);
    }
}
