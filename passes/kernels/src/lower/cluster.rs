//! Clusters dissolved into the blocks around them: what of them is needed is decided binding by binding, and what was in one shares a nest.

use std::{borrow::Cow, collections::HashMap};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Part, PartMut, Program,
    analysis::{
        Definitions, Sizes,
        spine::{Members, spine},
    },
};

use super::name;
use crate::error::Error;

/// A program without clusters.
pub(super) struct Dissolved<'a> {
    pub(super) program: Cow<'a, Program>,
    /// The cluster that a binding was in, by its first result.
    pub(super) groups: HashMap<ArrayId, usize>,
}

/// The program without clusters: their bindings stand where they stood.
///
/// # Errors
/// [`Error::Apart`] where a cluster is not one nest.
pub(super) fn dissolved(program: &Program) -> Result<Dissolved<'_>, Error> {
    let mut groups = HashMap::new();
    if !has_cluster(&program.body) {
        return Ok(Dissolved { program: Cow::Borrowed(program), groups });
    }
    check(program)?;
    let mut program = program.clone();
    let mut names = HashMap::new();
    dissolve(&mut program.body, &mut names, &mut groups);
    program.body.substitute(&mut |id| resolved(&names, id).into());
    Ok(Dissolved { program: Cow::Owned(program), groups })
}

fn check(program: &Program) -> Result<(), Error> {
    let (definitions, sizes) = (Definitions::of(program), Sizes::of_program(program));
    let mut blocks = vec![&program.body];
    while let Some(block) = blocks.pop() {
        for binding in &block.bindings {
            for part in binding.op.parts() {
                if let Part::Body(body) = part {
                    blocks.push(body);
                }
            }
            let ArrayOp::Cluster { body, .. } = &binding.op else { continue };
            let bindings: Vec<&Binding> = body.bindings.iter().collect();
            let members = Members {
                bindings: &bindings,
                manifest: &|id| body.results.contains(&id),
                type_of: &|id| definitions.ty(id),
                sizes: &sizes,
            };
            if let Err(apart) = spine(&members) {
                let of = |position: usize| bindings[position].results.first().map(name).unwrap_or_default();
                let (first, second, why) = (of(apart.first), of(apart.second), apart.why);
                return Err(Error::Apart { first, second, why, place: bindings[apart.second].place.clone() });
            }
        }
    }
    Ok(())
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

fn dissolve(block: &mut Block, names: &mut HashMap<ArrayId, ArrayId>, groups: &mut HashMap<ArrayId, usize>) {
    for mut binding in std::mem::take(&mut block.bindings) {
        if let ArrayOp::Cluster { body, .. } = binding.op {
            names.extend(binding.results.iter().map(|var| var.id).zip(body.results));
            // Each cluster has a first binding, so this tells clusters apart.
            let group = groups.len();
            for inner in &body.bindings {
                groups.extend(inner.results.first().map(|var| (var.id, group)));
            }
            block.bindings.extend(body.bindings);
            continue;
        }
        for part in binding.op.parts_mut() {
            if let PartMut::Body(inner) = part {
                dissolve(inner, names, groups);
            }
        }
        block.bindings.push(binding);
    }
}
