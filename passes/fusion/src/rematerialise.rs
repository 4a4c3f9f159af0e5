//! What a loop or branch reads element by element, and what costs less to make than to read, is made where it is read: so is what is
//! wider than what it is made of.
//!
//! Blocks are fused one by one, and what is made outside of a loop's body is made once: that is right for all that costs something. But a
//! repeated or a constant array would be written whole, to be read in every turn. Copies are only made where every use in the body takes
//! elements in passing, so that fusion or clustering takes them in.
//!
//! An array with its dimensions in another order is made there where the body repeats its rows: each element is read for many of a result, gangs
//! may go along the dimension whose elements lie side by side, and nothing is copied before the loop.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Operand, PartMut, Var,
    analysis::{
        function_can_fail,
        work::{PER_BYTE, costs_less_than_its_read, work},
    },
    operations::{How, Signature},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{report::Choice, turned::permutation};

/// The name of the law in reports.
const LAW: &str = "rematerialise";

/// Copies what costs nothing to make into the bodies that read it; `fresh` gives a new value like an old one.
pub(crate) fn rematerialise(block: &mut Block, fresh: &mut dyn FnMut(&Var) -> Var) -> Vec<Choice> {
    let mut choices = Vec::new();
    if !block.bindings.iter().any(|binding| has_bodies(&binding.op)) {
        return choices;
    }
    // What others are made of comes after them: it is read by their copies too.
    for position in (0..block.bindings.len()).rev() {
        let made = &block.bindings[position];
        let turned = is_read_in_another_order(made, block);
        if !turned && !costs_less_than_its_read(made) && !is_wider_than_its_sources(made, block) {
            continue;
        }
        let made = made.clone();
        let mut copied = false;
        let later = block.bindings.iter_mut().skip(position + 1).filter(|binding| has_bodies(&binding.op));
        for part in later.flat_map(|binding| binding.op.parts_mut()) {
            let PartMut::Body(body) = part else { continue };
            if !is_taken_in(&made, body) || turned && !repeats_rows(&made, body) {
                continue;
            }
            let mut copy = made.clone();
            let mut instead: FxHashMap<ArrayId, ArrayId> = FxHashMap::default();
            for var in &mut copy.results {
                let new = fresh(var);
                instead.insert(var.id, new.id);
                *var = new;
            }
            let name = copy.results.first().map_or_else(String::new, |var| var.name.0.clone());
            let op = copy.op.name();
            let (place, absorbed) = (copy.place.clone(), Vec::new());
            choices.push(Choice { name, place, before: op, after: op, laws: vec![LAW], absorbed });
            body.substitute(&mut |id| Operand::Value(instead.get(&id).copied().unwrap_or(id)));
            body.bindings.insert(0, copy);
            copied = true;
        }
        if copied && !is_used(&made, block, |_| true) {
            block.bindings.remove(position);
        }
    }
    choices.reverse();
    choices
}

/// Whether elements take more bytes than those that they are made of, by more than it takes to make them (positions that were 32 bits wide, as
/// `i64`), and nothing can fail: the arrays are as long as the result.
fn is_wider_than_its_sources(binding: &Binding, block: &Block) -> bool {
    let ArrayOp::Map { f, sources } = &binding.op else { return false };
    let alike = |id: &ArrayId| {
        made_in(block, *id).is_some_and(|source| binding.results.iter().all(|var| var.ty.extents == source.ty.extents))
    };
    let mut reads = false;
    f.outer_uses(&mut |_| reads = true);
    let made: usize = binding.results.iter().map(|var| var.ty.element.bytes()).sum();
    let read: usize = f.params.iter().map(|param| param.ty.bytes()).sum();
    let saved = made.saturating_sub(read) as u64 * PER_BYTE;
    !reads && work(f) < saved && !function_can_fail(f) && sources.iter().all(alike)
}

/// What a block takes or makes of this name.
fn made_in(block: &Block, id: ArrayId) -> Option<&Var> {
    block.params.iter().chain(block.bindings.iter().flat_map(|binding| &binding.results)).find(|var| var.id == id)
}

/// Whether a block uses what a binding makes: its results do, or bindings in `users`.
fn is_used(made: &Binding, block: &Block, users: impl Fn(&Binding) -> bool) -> bool {
    let mut used = false;
    let mut count = |id: ArrayId| used |= made.results.iter().any(|var| var.id == id);
    block.results.iter().for_each(|&id| count(id));
    block.bindings.iter().filter(|binding| users(binding)).for_each(|binding| binding.for_each_use(&mut count));
    used
}

/// Whether an array is all of another with its dimensions in another order, and is not in memory anyway: only bodies of loops and branches use it.
fn is_read_in_another_order(binding: &Binding, block: &Block) -> bool {
    let (Some(order), ArrayOp::Backpermute { sources, .. }) = (permutation(binding), &binding.op) else { return false };
    let whole = binding.results.iter().zip(sources).all(|(var, source)| {
        let source = made_in(block, *source).map(|source| &source.ty.extents);
        source.is_some_and(|source| order.iter().zip(source).all(|(&own, extent)| var.ty.extents[own] == *extent))
    });
    whole && !is_used(binding, block, |user| !has_bodies(&user.op))
}

/// Whether a body repeats rows of what a binding makes.
fn repeats_rows(made: &Binding, body: &Block) -> bool {
    let replicates = body.bindings.iter().filter(|binding| matches!(binding.op, ArrayOp::Replicate { .. }));
    replicates
        .flat_map(|binding| Signature::of(binding, &|_| None).reads)
        .any(|read| made.results.iter().any(|var| var.id == read.array))
}

/// Whether an operation is one into whose bodies copies are made.
fn has_bodies(op: &ArrayOp) -> bool {
    matches!(op, ArrayOp::While { .. } | ArrayOp::Cond { .. })
}

/// Whether a body uses what a binding makes, and every use is one that takes its elements in.
fn is_taken_in(made: &Binding, body: &Block) -> bool {
    let results: FxHashSet<ArrayId> = made.results.iter().map(|var| var.id).collect();
    let mut all = 0;
    let mut count = |id: ArrayId| all += usize::from(results.contains(&id));
    body.results.iter().for_each(|&id| count(id));
    for var in body.sizes.iter().chain(&body.params) {
        var.ty.for_each_use(&mut count);
    }
    for binding in &body.bindings {
        binding.results.iter().for_each(|var| var.ty.for_each_use(&mut count));
        binding.op.for_each_use(&mut count);
    }
    // Elements in order, or rows, or rows that are repeated.
    let repeats = |binding: &Binding| matches!(binding.op, ArrayOp::Replicate { .. });
    let taken = body.bindings.iter().flat_map(|binding| {
        let reads = Signature::of(binding, &|_| None).reads;
        reads.into_iter().filter(|read| matches!(read.how, How::Same | How::Row) || repeats(binding))
    });
    let taken = taken.filter(|read| results.contains(&read.array)).count();
    all > 0 && all == taken
}
