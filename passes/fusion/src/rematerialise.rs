//! What a loop or branch reads element by element, and what costs less to make than to read, is made where it is read: so is what is
//! wider than what it is made of.
//!
//! Blocks are fused one by one, and what is made outside of a loop's body is made once: that is right for all that costs something. But a
//! repeated or a constant array would be written whole, to be read in every turn. Copies are only made where every use in the body takes
//! elements in passing, so that fusion or clustering takes them in.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Operand, PartMut, Var,
    analysis::{
        function_can_fail,
        work::{PER_BYTE, costs_less_than_its_read, work},
    },
    operations::{How, Signature},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::report::Choice;

/// The name of the law in reports.
const LAW: &str = "rematerialise";

/// Copies what costs nothing to make into the bodies that read it; `fresh` gives a new value like an old one.
pub(crate) fn rematerialise(block: &mut Block, fresh: &mut dyn FnMut(&Var) -> Var) -> Vec<Choice> {
    let mut choices = Vec::new();
    if !block.bindings.iter().any(|binding| has_bodies(&binding.op)) {
        return choices;
    }
    let made: Vec<Binding> = (block.bindings.iter())
        .filter(|binding| costs_less_than_its_read(binding) || is_wider_than_its_sources(binding, block))
        .cloned()
        .collect();
    for binding in &mut block.bindings {
        if !has_bodies(&binding.op) {
            continue;
        }
        for part in binding.op.parts_mut() {
            let PartMut::Body(body) = part else { continue };
            let mut copies = Vec::new();
            let mut instead: FxHashMap<ArrayId, ArrayId> = FxHashMap::default();
            for made in &made {
                if !is_taken_in(made, body) {
                    continue;
                }
                let mut copy = made.clone();
                for var in &mut copy.results {
                    let new = fresh(var);
                    instead.insert(var.id, new.id);
                    *var = new;
                }
                let name = copy.results.first().map_or_else(String::new, |var| var.name.0.clone());
                let op = copy.op.name();
                let (place, absorbed) = (copy.place.clone(), Vec::new());
                choices.push(Choice { name, place, before: op, after: op, laws: vec![LAW], absorbed });
                copies.push(copy);
            }
            if !copies.is_empty() {
                body.substitute(&mut |id| Operand::Value(instead.get(&id).copied().unwrap_or(id)));
                body.bindings.splice(0..0, copies);
            }
        }
    }
    choices
}

/// Whether elements take more bytes than those that they are made of, by more than it takes to make them (positions that were 32 bits wide, as
/// `i64`), and nothing can fail: the arrays are as long as the result.
fn is_wider_than_its_sources(binding: &Binding, block: &Block) -> bool {
    let ArrayOp::Map { f, sources } = &binding.op else { return false };
    let vars = || block.params.iter().chain(block.bindings.iter().flat_map(|binding| &binding.results));
    let alike = |id: &ArrayId| {
        let source = vars().find(|var| var.id == *id);
        source.is_some_and(|source| binding.results.iter().all(|var| var.ty.extents == source.ty.extents))
    };
    let mut reads = false;
    f.outer_uses(&mut |_| reads = true);
    let made: usize = binding.results.iter().map(|var| var.ty.element.bytes()).sum();
    let read: usize = f.params.iter().map(|param| param.ty.bytes()).sum();
    let saved = made.saturating_sub(read) as u64 * PER_BYTE;
    !reads && work(f) < saved && !function_can_fail(f) && sources.iter().all(alike)
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
    // Elements in order, or rows.
    let taken = body.bindings.iter().flat_map(|binding| Signature::of(binding, &|_| None).reads);
    let taken = taken.filter(|read| matches!(read.how, How::Same | How::Row) && results.contains(&read.array)).count();
    all > 0 && all == taken
}
