//! Arrays that are read in another order of dimensions only: they are made in that order.
//!
//! Where every result of a generate ends up in a backpermute that only permutes dimensions (after `compute`, or a reshape that joins dimensions),
//! the generate runs over the permuted extents, and no pass over memory is left for the permutation. What it reads may then lie across memory:
//! a generate that it alone reads is made in another order too. Where more elements would be read across rows than before, all stays as it is.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Extent, Lambda, Operand, ScalarOp, ScalarOperand, ScalarPart, Type,
    analysis::{Sizes, Uses, effects::instruction_can_fail},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{index::Indices, report::Choice, reshapes::has_long_rows};

/// The name of the law in reports.
const LAW: &str = "made-as-it-is-read";

/// Turns what can be turned in a block.
pub(crate) fn turn(block: &mut Block, sizes: &Sizes, types: &mut FxHashMap<ArrayId, Type>) -> Vec<Choice> {
    if !block.bindings.iter().any(|binding| permutation(binding).is_some()) {
        return Vec::new();
    }
    types.extend(block.bindings.iter().flat_map(|binding| &binding.results).map(|var| (var.id, var.ty.clone())));
    let uses = Uses::of(block);
    let (mut choices, mut aliases, mut dropped) = (Vec::new(), FxHashMap::default(), FxHashSet::default());
    // Users come first, so that what feeds them is asked for the order in which they read now.
    for position in (0..block.bindings.len()).rev() {
        let Some(ways) = ways(block, position, &uses) else { continue };
        let Some(turns) = turns(block, position, &ways, &uses, sizes, types) else { continue };
        let binding = &block.bindings[position];
        choices.push(Choice {
            name: binding.results.first().map_or_else(String::new, |var| var.name.0.clone()),
            place: binding.place.clone(),
            before: binding.op.name(),
            after: binding.op.name(),
            laws: vec![LAW],
            absorbed: ways.iter().map(|way| block.bindings[way.end.0].results[way.end.1].name.0.clone()).collect(),
        });
        for turn in &turns {
            turn.apply(block);
        }
        for way in ways {
            let (end, component) = way.end;
            aliases.insert(block.bindings[end].results[component].id, way.last);
            dropped.insert(end);
            way.apply(block);
        }
        types.extend(block.bindings.iter().flat_map(|binding| &binding.results).map(|var| (var.id, var.ty.clone())));
    }
    if !choices.is_empty() {
        let mut position = 0..;
        block.bindings.retain(|_| position.next().is_none_or(|position| !dropped.contains(&position)));
        block.substitute(&mut |id| Operand::Value(aliases.get(&id).copied().unwrap_or(id)));
    }
    choices.reverse();
    choices
}

/// The way of a generate's result to the backpermute that it ends up in.
struct Way {
    /// Computes and a reshape on the way: position, and which result.
    steps: Vec<(usize, usize)>,
    /// From which of the steps on dimensions are joined.
    joined: usize,
    /// The backpermute, and which result.
    end: (usize, usize),
    /// What it reads.
    last: ArrayId,
    /// Of each dimension of the backpermute which it is of what it reads.
    outer: Vec<usize>,
    /// Of each dimension of the generate made in another order which it is now.
    order: Vec<usize>,
}

impl Way {
    fn apply(&self, block: &mut Block) {
        for (at, &(position, component)) in self.steps.iter().enumerate() {
            let binding = &mut block.bindings[position];
            let order = if at < self.joined { &self.order } else { &self.outer };
            let extents = &mut binding.results[component].ty.extents;
            *extents = permuted(extents, order);
            // All results of a reshape have the same extents, and all are on some way: the first changes what the operation says.
            if let (ArrayOp::Reshape { extents, .. }, 0) = (&mut binding.op, component) {
                *extents = permuted(extents, order);
            }
        }
    }
}

/// The ways of all results of a generate, if each has one and all ask for the same order.
fn ways(block: &Block, position: usize, uses: &Uses) -> Option<Vec<Way>> {
    let binding = &block.bindings[position];
    let ArrayOp::Generate { .. } = binding.op else { return None };
    let ways: Vec<Way> = binding.results.iter().map(|var| way(block, var.id, &var.ty, uses)).collect::<Option<_>>()?;
    let first = ways.first()?;
    if ways.iter().any(|way| way.order != first.order) || first.order.is_sorted() {
        return None;
    }
    // What stands on a way for one result must do so for all.
    let on: FxHashSet<(usize, usize)> =
        ways.iter().flat_map(|way| way.steps.iter().copied().chain([way.end])).collect();
    let whole = on.iter().all(|&(at, _)| (0..block.bindings[at].results.len()).all(|of| on.contains(&(at, of))));
    whole.then_some(ways)
}

fn way(block: &Block, from: ArrayId, ty: &Type, uses: &Uses) -> Option<Way> {
    let mut groups: Vec<Vec<usize>> = (0..ty.rank()).map(|dim| vec![dim]).collect();
    let (mut id, mut extents, mut steps, mut joined) = (from, ty.extents.clone(), Vec::new(), None);
    loop {
        let &[at] = uses.users(id) else { return None };
        let user = &block.bindings[at];
        let plain = user.results.iter().all(|var| var.ty.rank() > 0 && var.ty.inner.is_empty() && !var.ty.stream);
        if uses.is_result(id) || !plain {
            return None;
        }
        let (ArrayOp::Compute { sources } | ArrayOp::Reshape { sources, .. } | ArrayOp::Backpermute { sources, .. }) =
            &user.op
        else {
            return None;
        };
        let mut of = sources.iter().enumerate().filter(|&(_, &source)| source == id);
        let (Some((component, _)), None) = (of.next(), of.next()) else { return None };
        if sources.len() != user.results.len() {
            return None;
        }
        let result = &user.results[component];
        match &user.op {
            ArrayOp::Backpermute { .. } => {
                let permutation = permutation(user)?;
                let whole = result.ty.extents.len() == permutation.len()
                    && permutation.iter().zip(&extents).all(|(&own, extent)| result.ty.extents[own] == *extent);
                if !whole || extents.contains(&Extent::Unknown) {
                    return None;
                }
                let mut outer = vec![0; permutation.len()];
                permutation.iter().enumerate().for_each(|(dim, &own)| outer[own] = dim);
                let order = outer.iter().flat_map(|&dim| groups[dim].iter().copied()).collect();
                let joined = joined.unwrap_or(steps.len());
                return Some(Way { steps, joined, end: (at, component), last: id, outer, order });
            }
            ArrayOp::Reshape { .. } => {
                if joined.is_some() {
                    return None;
                }
                joined = Some(steps.len());
                groups = joins(&extents, &result.ty.extents)?;
            }
            _ => {}
        }
        steps.push((at, component));
        (id, extents) = (result.id, result.ty.extents.clone());
    }
}

/// Which dimensions are joined by a reshape to these extents, if it does nothing else.
fn joins(from: &[Extent], to: &[Extent]) -> Option<Vec<Vec<usize>>> {
    let mut next = 0;
    let mut groups = Vec::new();
    for &wanted in to {
        let first = next;
        let mut known = *from.get(next)?;
        next += 1;
        while known != wanted {
            let (Extent::Constant(all), &Extent::Constant(more)) = (known, from.get(next)?) else { return None };
            known = Extent::Constant(all.checked_mul(more)?);
            next += 1;
        }
        groups.push((first..next).collect());
    }
    (next == from.len()).then_some(groups)
}

/// Of each dimension of its sources which of its own a backpermute reads, if it permutes them and does nothing else.
pub(crate) fn permutation(binding: &Binding) -> Option<Vec<usize>> {
    let ArrayOp::Backpermute { f, .. } = &binding.op else { return None };
    let own = |of: &ScalarOperand| f.params.iter().position(|param| *of == param.id.into());
    let dims: Vec<usize> = f.results.iter().map(own).collect::<Option<_>>()?;
    let mut sorted = dims.clone();
    sorted.sort_unstable();
    (sorted.into_iter().eq(0..f.params.len()) && !dims.is_sorted()).then_some(dims)
}

/// A generate made in another order, and what reads it by index.
struct Turn {
    position: usize,
    /// Of each dimension that it has then which it has now.
    order: Vec<usize>,
    /// A binding that reads it at indices in the old order.
    reader: Option<usize>,
}

impl Turn {
    fn apply(&self, block: &mut Block) {
        let binding = &mut block.bindings[self.position];
        for var in &mut binding.results {
            var.ty.extents = permuted(&var.ty.extents, &self.order);
        }
        if let ArrayOp::Generate { extents, f } = &mut binding.op {
            *extents = permuted(extents, &self.order);
            *f = in_order(f, &self.order);
        }
        let arrays: Vec<ArrayId> = binding.results.iter().map(|var| var.id).collect();
        if let Some(ArrayOp::Generate { f, .. }) = self.reader.map(|reader| &mut block.bindings[reader].op) {
            reorder(f, &arrays, &self.order);
        }
    }
}

/// The generate and what it alone reads, in the orders that let each read along rows; none where more is read across rows than now.
fn turns(
    block: &Block,
    position: usize,
    ways: &[Way],
    uses: &Uses,
    sizes: &Sizes,
    types: &FxHashMap<ArrayId, Type>,
) -> Option<Vec<Turn>> {
    let order = &ways.first()?.order;
    let (extents, f) = generated(&block.bindings[position])?;
    let (mut own, own_extents) = (in_order(f, order), permuted(extents, order));
    // Short rows would be worse to compute than to permute.
    if !cannot_fail(f, extents, sizes, types) || has_long_rows(extents) && !has_long_rows(&own_extents) {
        return None;
    }
    let mut before = across(f, extents, sizes).len();
    let mut after = 0;
    let mut turns = vec![Turn { position, order: order.clone(), reader: None }];
    for source in sources_of(block, &across(&own, &own_extents, sizes), position, uses) {
        let made = &block.bindings[source];
        let Some((extents, f)) = generated(made) else { continue };
        let results: Vec<ArrayId> = made.results.iter().map(|var| var.id).collect();
        let order = order_in_rows(&own, &own_extents, &results, extents.len(), sizes);
        let Some(order) = order.filter(|_| cannot_fail(f, extents, sizes, types)) else { continue };
        before += across(f, extents, sizes).len();
        after += across(&in_order(f, &order), &permuted(extents, &order), sizes).len();
        reorder(&mut own, &results, &order);
        turns.push(Turn { position: source, order, reader: Some(position) });
    }
    after += across(&own, &own_extents, sizes).len();
    (after <= before).then_some(turns)
}

/// The extents and the function of a generate.
fn generated(binding: &Binding) -> Option<(&[Extent], &Lambda)> {
    let ArrayOp::Generate { f, .. } = &binding.op else { return None };
    Some((&binding.results.first()?.ty.extents, f))
}

/// Whether a function has neither branches nor loops, reads inside alone, and cannot fail: else another element might be the first that fails.
fn cannot_fail(f: &Lambda, extents: &[Extent], sizes: &Sizes, types: &FxHashMap<ArrayId, Type>) -> bool {
    let indices = Indices::of(f, Some(extents), sizes);
    f.instructions.iter().all(|instruction| match &instruction.op {
        ScalarOp::Read { array, index } => types.get(array).is_some_and(|ty| indices.inside(index, &ty.extents)),
        op => {
            let has_body = op.parts().into_iter().any(|part| matches!(part, ScalarPart::Body(_)));
            !has_body && !instruction_can_fail(instruction)
        }
    })
}

/// The arrays that a function reads neither along rows nor once for a row, each as often as it is read so.
fn across(f: &Lambda, extents: &[Extent], sizes: &Sizes) -> Vec<ArrayId> {
    let indices = Indices::of(f, Some(extents), sizes);
    let reads = f.instructions.iter().filter_map(|instruction| match &instruction.op {
        ScalarOp::Read { array, index } if !indices.is_in_rows(index) && !indices.is_one_a_row(index) => Some(*array),
        _ => None,
    });
    reads.collect()
}

/// The generates that make some of these arrays and that the binding at `reader` alone reads.
fn sources_of(block: &Block, arrays: &[ArrayId], reader: usize, uses: &Uses) -> Vec<usize> {
    let alone = |id: ArrayId| uses.users(id) == [reader] && !uses.is_result(id);
    let makes = |&position: &usize| {
        let binding = &block.bindings[position];
        binding.results.iter().any(|var| arrays.contains(&var.id)) && binding.results.iter().all(|var| alone(var.id))
    };
    (0..reader).filter(makes).collect()
}

/// The order of dimensions in which all reads of some arrays of one rank are along rows: one dimension is the last.
fn order_in_rows(f: &Lambda, extents: &[Extent], arrays: &[ArrayId], rank: usize, sizes: &Sizes) -> Option<Vec<usize>> {
    let indices = Indices::of(f, Some(extents), sizes);
    let mut orders = (0..rank).map(|last| (0..rank).filter(|&dim| dim != last).chain([last]).collect::<Vec<usize>>());
    orders.find(|order| {
        f.instructions.iter().all(|instruction| match &instruction.op {
            ScalarOp::Read { array, index } if arrays.contains(array) => indices.is_in_rows(&permuted(index, order)),
            _ => true,
        })
    })
}

/// A function of an index in another order of dimensions.
fn in_order(f: &Lambda, order: &[usize]) -> Lambda {
    Lambda { params: permuted(&f.params, order), ..f.clone() }
}

/// Reads of arrays whose dimensions are in another order now.
fn reorder(f: &mut Lambda, arrays: &[ArrayId], order: &[usize]) {
    for instruction in &mut f.instructions {
        match &mut instruction.op {
            ScalarOp::Read { array, index } if arrays.contains(array) => *index = permuted(index, order),
            _ => {}
        }
    }
}

fn permuted<T: Clone>(of: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|&dim| of[dim].clone()).collect()
}
