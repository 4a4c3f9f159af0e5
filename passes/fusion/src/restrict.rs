//! Producers of which every user reads less: they run over no more than is read.
//!
//! A map of several arrays runs over the least of their extents. What it reads of longer ones need not be made, and arrays of equal
//! extents are what laws and clusters ask for: `zip_with f (map g xs) ys` has `min(n, m)` elements where `xs` has n.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, ElementType, Extent, Lambda, Local, LocalId, Name, Operand, ScalarOperand, Type,
    analysis::{Answer, Sizes, Uses},
};
use rustc_hash::FxHashMap;

use crate::report::Choice;

/// The name of the law in reports.
const LAW: &str = "map-reads-less";

/// Restricts the domains of what a block's maps do not read all of. An error of an element that nobody reads may be lost.
pub(crate) fn restrict(block: &mut Block, sizes: &Sizes, types: &mut FxHashMap<ArrayId, Type>) -> Vec<Choice> {
    if !block.bindings.iter().any(|binding| matches!(binding.op, ArrayOp::Map { .. })) {
        return Vec::new();
    }
    let uses = Uses::of(block);
    let mut order: Vec<usize> = (0..block.bindings.len()).collect();
    let mut choices = Vec::new();
    // Users come first, so that what feeds them is asked for what they need now.
    for position in (0..block.bindings.len()).rev() {
        let Some((extents, user)) = wanted(block, position, &uses, sizes) else { continue };
        if !cannot_fail(&block.bindings[position], &extents, sizes, types) {
            continue;
        }
        let binding = &mut block.bindings[position];
        let before = binding.op.name();
        if !set_extents(binding, &extents) {
            continue;
        }
        for var in &mut binding.results {
            var.ty.extents.clone_from(&extents);
            types.insert(var.id, var.ty.clone());
        }
        choices.push(Choice {
            name: binding.results.first().map_or_else(String::new, |var| var.name.0.clone()),
            place: binding.place.clone(),
            before,
            after: binding.op.name(),
            laws: vec![LAW],
            absorbed: Vec::new(),
        });
        // The extents may be made after the array was: it stands where they are known, before its first user.
        let at = |order: &[usize], of: usize| order.iter().position(|&other| other == of);
        if let (Some(from), Some(to)) = (at(&order, position), at(&order, user)) {
            order[from..to].rotate_left(1);
        }
    }
    choices.reverse();
    if !choices.is_empty() {
        let mut bindings: Vec<Option<Binding>> = std::mem::take(&mut block.bindings).into_iter().map(Some).collect();
        block.bindings = order.into_iter().filter_map(|position| bindings[position].take()).collect();
    }
    choices
}

/// The extents that the users of a producer read, if these are maps alone, agree, and are proved to need less; and the first user.
fn wanted(block: &Block, position: usize, uses: &Uses, sizes: &Sizes) -> Option<(Vec<Extent>, usize)> {
    let binding = &block.bindings[position];
    let own = &binding.results.first()?.ty.extents;
    let mut users: Vec<usize> = Vec::new();
    for var in &binding.results {
        if uses.is_result(var.id) {
            return None;
        }
        users.extend(uses.users(var.id));
    }
    users.sort_unstable();
    let mut asked: Option<&[Extent]> = None;
    for &user in &users {
        let user = &block.bindings[user];
        let ArrayOp::Map { f, .. } = &user.op else { return None };
        let mut read = false;
        f.outer_uses(&mut |id| read |= binding.results.iter().any(|var| var.id == id));
        let extents = &user.results.first()?.ty.extents;
        let alike = asked.is_none_or(|other| {
            other.iter().zip(extents).all(|(&a, &b)| a == b || sizes.equal(a, b) == Answer::Proved)
        });
        if read || !alike || extents.len() != own.len() {
            return None;
        }
        asked = asked.or(Some(extents));
    }
    let mut less = false;
    let mut extents = Vec::new();
    for (&own, &asked) in own.iter().zip(asked?) {
        if own == asked || sizes.equal(own, asked) == Answer::Proved {
            extents.push(own);
        } else if asked != Extent::Unknown && sizes.at_most(asked, own) == Answer::Proved {
            extents.push(asked);
            less = true;
        } else {
            return None;
        }
    }
    less.then_some((extents, *users.first()?))
}

/// Whether what a producer checks of the extents that it has, and not of those that it gets, is proved.
fn cannot_fail(binding: &Binding, to: &[Extent], sizes: &Sizes, types: &FxHashMap<ArrayId, Type>) -> bool {
    let Some(own) = binding.results.first().map(|var| &var.ty.extents) else { return false };
    let restricted = |dim: &usize| own[*dim] != to[*dim];
    let changed: Vec<usize> = (0..own.len()).filter(restricted).collect();
    if !changed.iter().all(|&dim| sizes.not_negative(own[dim]) == Answer::Proved) {
        return false;
    }
    let is_own = |operand: &Operand, dim: usize| match (sizes.operand(operand), sizes.extent(own[dim])) {
        (Some(given), Some(own)) => sizes.equal_sizes(&given, &own) == Answer::Proved,
        _ => false,
    };
    let of = |source: &ArrayId, dim: usize| types.get(source).and_then(|ty| ty.extents.get(dim).copied());
    match &binding.op {
        // Its sources have as many.
        ArrayOp::Map { sources, .. } => changed.iter().all(|&dim| {
            let as_many = |available: Extent| sizes.at_most(own[dim], available) == Answer::Proved;
            sources.iter().all(|source| of(source, dim).is_some_and(as_many))
        }),
        // The extents that it keeps are those of its sources.
        ArrayOp::Replicate { dims, sources } => changed.iter().all(|&dim| {
            let kept = dims[..dim].iter().filter(|dim| dim.is_none()).count();
            let same = |extent: Extent| sizes.equal(own[dim], extent) == Answer::Proved;
            match &dims[dim] {
                Some(operand) => is_own(operand, dim),
                None => sources.iter().all(|source| of(source, kept).is_some_and(same)),
            }
        }),
        // Its operands are what its type says.
        ArrayOp::Generate { extents, .. }
        | ArrayOp::Backpermute { extents, .. }
        | ArrayOp::Transform { extents, .. } => {
            changed.iter().all(|&dim| extents.get(dim).is_some_and(|operand| is_own(operand, dim)))
        }
        _ => true,
    }
}

/// Makes a producer run over these extents; not for what is no producer.
fn set_extents(binding: &mut Binding, to: &[Extent]) -> bool {
    let Some(operands) = to.iter().map(|&extent| operand(extent)).collect::<Option<Vec<Operand>>>() else {
        return false;
    };
    match &mut binding.op {
        ArrayOp::Map { .. } => true,
        ArrayOp::Generate { extents, .. }
        | ArrayOp::Backpermute { extents, .. }
        | ArrayOp::Transform { extents, .. } => {
            *extents = operands;
            true
        }
        // A dimension that is kept has the extent of the source: as an index function it may have less.
        ArrayOp::Replicate { dims, sources } => {
            let kept: Vec<LocalId> =
                (0u32..).zip(dims.iter()).filter(|(_, dim)| dim.is_none()).map(|(at, _)| LocalId(at)).collect();
            let params = (0..dims.len() as u32)
                .map(|at| Local { id: LocalId(at), ty: ElementType::I64, name: Name::default() })
                .collect();
            let results = kept.into_iter().map(ScalarOperand::Local).collect();
            let f = Lambda { params, instructions: Vec::new(), results };
            binding.op = ArrayOp::Backpermute { extents: operands, f, sources: std::mem::take(sources) };
            true
        }
        _ => false,
    }
}

fn operand(extent: Extent) -> Option<Operand> {
    match extent {
        Extent::Value(id) => Some(id.into()),
        Extent::Constant(constant) => Some(Operand::Constant(constant.into())),
        Extent::Unknown => None,
    }
}
