//! The chosen forms as bindings again: of each operation the most specific one.

use std::collections::{HashMap, HashSet};

use egg::Id;
use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Boundary, Name, Operand, ScalarOperand, Tap, TapBoundary, Var};

use crate::{
    encode::Region,
    extract::Solution,
    functions::FunctionId,
    graph::{Edge, Graph, Kind, Source, Term, operand},
};

/// Replaces the block's bindings: operations of the graph by their chosen forms, where they are needed.
pub(crate) fn decode(block: &mut Block, graph: &Graph<'_>, region: &Region, solution: &Solution) {
    let mut emitted: HashSet<Id> = HashSet::new();
    let mut bindings = Vec::with_capacity(block.bindings.len());
    let mut originals: Vec<Option<Binding>> = std::mem::take(&mut block.bindings).into_iter().map(Some).collect();
    for position in 0..originals.len() {
        match region.classes[position] {
            Some(id) if graph.owner(id) == id && solution.needed.contains(&id) => {
                emit(id, graph, solution, &mut originals, &mut emitted, &mut bindings);
            }
            // It is not needed, or an operation before gives the same.
            Some(_) => {}
            None => bindings.extend(originals[position].take()),
        }
    }
    block.bindings = bindings;
    let mut aliases: HashMap<ArrayId, ArrayId> = HashMap::new();
    for (&array, &source) in &graph.of_array {
        let stands = graph.array(Source { class: graph.owner(source.class), ..source });
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
    graph: &Graph<'_>,
    solution: &Solution,
    originals: &mut [Option<Binding>],
    emitted: &mut HashSet<Id>,
    out: &mut Vec<Binding>,
) {
    let mut stack = vec![(id, false)];
    while let Some((id, ready)) = stack.pop() {
        if emitted.contains(&id) {
            continue;
        }
        let class = graph.class(id);
        let form = solution.choice.get(&id).copied().unwrap_or(0);
        let term = &class.forms[form].term;
        if !ready {
            stack.push((id, true));
            let needs = term.sources.iter().map(|source| graph.owner(source.class));
            let reads = crate::search::read_classes(graph, term);
            for source in needs.chain(reads) {
                if solution.needed.contains(&source) && !emitted.contains(&source) {
                    stack.push((source, false));
                }
            }
            continue;
        }
        emitted.insert(id);
        let original = if class.made { None } else { originals.get_mut(class.position).and_then(Option::take) };
        let binding = match original {
            Some(binding) if form == 0 && binding.op.name() == term.kind.name() => binding,
            Some(binding) => Binding { op: operation(graph, term), ..binding },
            None => {
                let vars = class.arrays.iter().zip(&class.types);
                let results =
                    vars.map(|(&id, ty)| Var { id, ty: ty.clone(), name: Name(class.name.clone()) }).collect();
                Binding { results, op: operation(graph, term), place: class.place.clone() }
            }
        };
        out.push(binding);
    }
}

/// What a form is as an operation of the program.
fn operation(graph: &Graph<'_>, term: &Term) -> ArrayOp {
    let sources: Vec<ArrayId> = term.sources.iter().map(|&source| graph.array(source)).collect();
    let extents = || term.extents.iter().map(|&extent| operand(extent)).collect();
    let function = |f: &FunctionId| graph.functions.get(*f).clone();
    match &term.kind {
        Kind::Generate { f } => ArrayOp::Generate { extents: extents(), f: function(f) },
        Kind::Map { f } => ArrayOp::Map { f: function(f), sources },
        Kind::Backpermute { index } => replicated(graph, term, *index)
            .map(|dims| ArrayOp::Replicate { dims, sources: sources.clone() })
            .or_else(|| sliced(graph, term, *index).map(|dims| ArrayOp::Slice { dims, sources: sources.clone() }))
            .unwrap_or_else(|| ArrayOp::Backpermute { extents: extents(), f: function(index), sources }),
        Kind::Transform { index, f } => {
            let in_place = graph.functions.is_identity(*index)
                && term.sources.iter().all(|&source| graph.within(&term.extents, &graph.ty(source).extents));
            if in_place {
                ArrayOp::Map { f: function(f), sources }
            } else {
                ArrayOp::Transform { extents: extents(), index: function(index), f: function(f), sources }
            }
        }
        Kind::Replicate { dims } => ArrayOp::Replicate { dims: dims.clone(), sources },
        Kind::Slice { dims } => ArrayOp::Slice { dims: dims.clone(), sources },
        Kind::Reshape => ArrayOp::Reshape { extents: extents(), sources },
        Kind::Stencil { f, offsets, edges } => stencil(graph, term, *f, offsets, edges),
    }
}

fn stencil(graph: &Graph<'_>, term: &Term, f: FunctionId, offsets: &[Vec<i64>], edges: &[Edge]) -> ArrayOp {
    let mut taps = Vec::with_capacity(offsets.len());
    let mut boundaries: Vec<TapBoundary> = Vec::new();
    for ((&source, offsets), edge) in term.sources.iter().zip(offsets).zip(edges) {
        let array = graph.array(source);
        taps.push(Tap { array, offsets: offsets.clone() });
        if boundaries.iter().all(|boundary| boundary.array != array) {
            let boundary = match edge {
                Edge::Clamp => Boundary::Clamp,
                Edge::Mirror => Boundary::Mirror,
                Edge::Wrap => Boundary::Wrap,
                Edge::Constant(value) => Boundary::Constant(*value),
                Edge::Function(f) => Boundary::Function(graph.functions.get(*f).clone()),
            };
            boundaries.push(TapBoundary { array, boundary });
        }
    }
    ArrayOp::Stencil { f: graph.functions.get(f).clone(), taps, boundaries }
}

/// An index function that leaves out dimensions, over the source's extents where it keeps them: a replicate.
fn replicated(graph: &Graph<'_>, term: &Term, index: FunctionId) -> Option<Vec<Option<Operand>>> {
    let f = graph.functions.get(index);
    if !f.instructions.is_empty() || f.results.len() >= f.params.len() {
        return None;
    }
    let kept: Vec<usize> = f
        .results
        .iter()
        .map(|&result| f.params.iter().position(|param| result == param.id.into()))
        .collect::<Option<_>>()?;
    if !kept.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let extents: Vec<_> = kept.iter().map(|&dim| term.extents[dim]).collect();
    let dims = term.extents.iter().enumerate();
    graph
        .cover(&term.sources, &extents)
        .then(|| dims.map(|(dim, &extent)| if kept.contains(&dim) { None } else { Some(operand(extent)) }).collect())
}

/// An index function that fixes dimensions, over the source's extents where it does not: a slice.
fn sliced(graph: &Graph<'_>, term: &Term, index: FunctionId) -> Option<Vec<Option<Operand>>> {
    let f = graph.functions.get(index);
    if !f.instructions.is_empty() || f.results.len() <= f.params.len() {
        return None;
    }
    let mut params = f.params.iter().zip(&term.extents);
    let mut dims = Vec::with_capacity(f.results.len());
    for (at, &result) in f.results.iter().enumerate() {
        dims.push(match result {
            ScalarOperand::Local(id) => {
                let (param, &extent) = params.next()?;
                let whole = |&source: &Source| graph.equal(&graph.ty(source).extents[at..=at], &[extent]);
                if param.id != id || !term.sources.iter().all(whole) {
                    return None;
                }
                None
            }
            ScalarOperand::Outer(id) => Some(Operand::Value(id)),
            ScalarOperand::Constant(constant) => Some(Operand::Constant(constant)),
        });
    }
    params.next().is_none().then_some(dims)
}
