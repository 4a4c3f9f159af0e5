//! The chosen forms as bindings again: of each operation the most specific one.

use egg::Id;
use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Boundary, Name, Operand, ScalarOperand, Tap, TapBoundary, Var};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    extract::Solution,
    functions::FunctionId,
    graph::{Classes, Graph, operand},
    index::IndexMap,
    language::{Edge, Operation, Shape},
    region::Region,
};

/// Replaces the block's bindings: operations of the graph by their chosen forms, where they are needed.
pub(crate) fn decode(block: &mut Block, graph: &Graph, region: &Region, solution: &Solution) {
    let mut emitted: FxHashSet<Id> = FxHashSet::default();
    let mut bindings = Vec::with_capacity(block.bindings.len());
    let mut originals: Vec<Option<Binding>> = std::mem::take(&mut block.bindings).into_iter().map(Some).collect();
    for position in 0..originals.len() {
        match region.classes[position].map(|id| graph.find(id)) {
            Some(id) if graph.facts(id).position == position && solution.chosen.contains_key(&id) => {
                emit(id, graph, solution, &mut originals, &mut emitted, &mut bindings);
            }
            // It is not needed, or an operation before gives the same.
            Some(_) => {}
            None => bindings.extend(originals[position].take()),
        }
    }
    block.bindings = bindings;
    let mut aliases: FxHashMap<ArrayId, ArrayId> = FxHashMap::default();
    for (&array, &source) in &graph.analysis.of_array {
        let stands = graph.array(source);
        if stands != array {
            aliases.insert(array, stands);
        }
    }
    if !aliases.is_empty() {
        block.substitute(&mut |id| Operand::Value(aliases.get(&id).copied().unwrap_or(id)));
    }
}

/// A class, after what it needs of what laws made, or of what stood later.
fn emit(
    id: Id,
    graph: &Graph,
    solution: &Solution,
    originals: &mut [Option<Binding>],
    emitted: &mut FxHashSet<Id>,
    out: &mut Vec<Binding>,
) {
    let mut stack = vec![(id, false)];
    while let Some((id, ready)) = stack.pop() {
        if emitted.contains(&id) {
            continue;
        }
        let facts = graph.facts(id);
        let known = &facts.forms[solution.chosen[&id]];
        let operation = graph.operation(known.node);
        if !ready {
            stack.push((id, true));
            for source in operation.source_classes().into_iter().chain(graph.read_classes(known)) {
                if solution.chosen.contains_key(&source) && !emitted.contains(&source) {
                    stack.push((source, false));
                }
            }
            continue;
        }
        emitted.insert(id);
        let original = if facts.made { None } else { originals.get_mut(facts.position).and_then(Option::take) };
        let binding = match original {
            Some(binding) if solution.chosen[&id] == 0 && binding.op.name() == operation.shape.name() => binding,
            Some(binding) => Binding { op: array_op(graph, &operation), ..binding },
            None => {
                let vars = facts.arrays.iter().zip(&facts.types);
                let results =
                    vars.map(|(&id, ty)| Var { id, ty: ty.clone(), name: Name(facts.name.clone()) }).collect();
                Binding { results, op: array_op(graph, &operation), place: facts.place.clone() }
            }
        };
        out.push(binding);
    }
}

/// What an e-node is as an operation of the program.
fn array_op(graph: &Graph, operation: &Operation) -> ArrayOp {
    let sources: Vec<ArrayId> = operation.sources().map(|source| graph.array(source)).collect();
    let extents = || operation.extents.iter().map(|&extent| operand(extent)).collect();
    let function = |f: FunctionId| graph.analysis.functions.get(f).clone();
    let f = || function(operation.of_elements());
    let index = || operation.index.map(function).unwrap_or_else(|| panic!("no index function: {operation:?}"));
    match operation.shape {
        Shape::Generate => ArrayOp::Generate { extents: extents(), f: f() },
        Shape::Map => ArrayOp::Map { f: f(), sources },
        Shape::Backpermute => match replicate_or_slice(graph, operation) {
            Some((Shape::Replicate, dims)) => ArrayOp::Replicate { dims, sources },
            Some((_, dims)) => ArrayOp::Slice { dims, sources },
            None => ArrayOp::Backpermute { extents: extents(), f: index(), sources },
        },
        Shape::Transform => {
            let in_place = operation.index.is_some_and(|index| graph.analysis.functions.is_identity(index))
                && operation.sources().all(|source| graph.within(&operation.extents, &graph.ty(source).extents));
            if in_place {
                ArrayOp::Map { f: f(), sources }
            } else {
                ArrayOp::Transform { extents: extents(), index: index(), f: f(), sources }
            }
        }
        Shape::Replicate => ArrayOp::Replicate { dims: operation.dims.clone(), sources },
        Shape::Slice => ArrayOp::Slice { dims: operation.dims.clone(), sources },
        Shape::Reshape => ArrayOp::Reshape { extents: extents(), sources },
        Shape::Stencil => stencil(graph, operation, sources),
    }
}

fn stencil(graph: &Graph, operation: &Operation, arrays: Vec<ArrayId>) -> ArrayOp {
    let mut taps = Vec::with_capacity(arrays.len());
    let mut boundaries: Vec<TapBoundary> = Vec::new();
    for (array, tap) in arrays.into_iter().zip(&operation.taps) {
        taps.push(Tap { array, offsets: tap.offsets.clone() });
        if boundaries.iter().all(|boundary| boundary.array != array) {
            let boundary = match &tap.edge {
                Edge::Clamp => Boundary::Clamp,
                Edge::Mirror => Boundary::Mirror,
                Edge::Wrap => Boundary::Wrap,
                Edge::Constant(value) => Boundary::Constant(*value),
                Edge::Function(f) => Boundary::Function(graph.analysis.functions.get(*f).clone()),
            };
            boundaries.push(TapBoundary { array, boundary });
        }
    }
    ArrayOp::Stencil { f: graph.analysis.functions.get(operation.of_elements()).clone(), taps, boundaries }
}

/// What a backpermute is as a replicate or a slice, with its dimensions: it keeps whole extents of the sources, in order.
fn replicate_or_slice(graph: &Graph, backpermute: &Operation) -> Option<(Shape, Vec<Option<Operand>>)> {
    let extents = &backpermute.extents;
    let index = graph.analysis.functions.get(backpermute.index?);
    match IndexMap::of(index, extents, &graph.analysis.tables.sizes) {
        IndexMap::Replicate(kept) => {
            let of: Vec<_> = kept.iter().map(|&dim| extents[dim]).collect();
            let dim = |dim: usize| if kept.contains(&dim) { None } else { Some(operand(extents[dim])) };
            let whole = graph.cover(backpermute.sources(), &of);
            whole.then(|| (Shape::Replicate, (0..extents.len()).map(dim).collect()))
        }
        IndexMap::Slice(fixed) => {
            let dims: Vec<Option<Operand>> = fixed.into_iter().map(|fixed| fixed.and_then(from_outside)).collect();
            let mut whole = extents.iter();
            let fits = dims.iter().enumerate().filter(|(_, dim)| dim.is_none()).all(|(at, _)| {
                whole.next().is_some_and(|&extent| {
                    backpermute.sources().all(|source| graph.equal(&graph.ty(source).extents[at..=at], &[extent]))
                })
            });
            fits.then_some((Shape::Slice, dims))
        }
        _ => None,
    }
}

fn from_outside(operand: ScalarOperand) -> Option<Operand> {
    match operand {
        ScalarOperand::Local(_) => None,
        ScalarOperand::Outer(id) => Some(Operand::Value(id)),
        ScalarOperand::Constant(constant) => Some(Operand::Constant(constant)),
    }
}
