//! A block as an e-graph: its producers and stencils are operations, everything else is what they read and what reads them.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Boundary, ElementType, Extent, Operand, Part, Type,
    analysis::demand_is_known,
    operations::{How, Known, Relation, Signature},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    facts::{Facts, Outside},
    graph::{Classes, Graph, Tables},
    homes,
    language::{Edge, Operation, Shape, Source, Tapped},
    producers,
    region::{Inside, Region, Use},
    runs,
    sources::{self, Sourced},
};

/// Fills an empty graph with a block's operations.
pub(crate) fn encode(block: &Block, graph: &mut Graph) -> Region {
    let mut region = Region::default();
    let known = BlockArrays { traversals: traversals(block, &graph.analysis.tables), elsewhere: read_elsewhere(block) };
    for (position, binding) in block.bindings.iter().enumerate() {
        let operation = operation(position, binding, &known, graph);
        let class = operation.map(|operation| {
            let arrays: Vec<ArrayId> = binding.results.iter().map(|var| var.id).collect();
            let types = binding.results.iter().map(|var| var.ty.clone()).collect();
            let name = arrays.first().map_or_else(String::new, |&array| graph.name_of(array));
            let place = binding.place.clone();
            let id = graph.place(operation, Facts { position, place, ..Facts::of(arrays.clone(), types, name) });
            for (component, array) in arrays.into_iter().enumerate() {
                graph.analysis.of_array.insert(array, Source { class: id, component });
            }
            id
        });
        region.classes.push(class);
    }
    let inside = uses(block, graph, &mut region);
    let becomes = homes::plan(graph, &region, &inside);
    runs::plan(graph, &region, &inside, &becomes);
    region
}

/// What is known of a block's arrays before its graph is made.
struct BlockArrays {
    /// Results that a traversal makes.
    traversals: FxHashSet<ArrayId>,
    /// Arrays that are read at other places than the user's own, or that are part of what is.
    elsewhere: FxHashSet<ArrayId>,
}

fn read_elsewhere(block: &Block) -> FxHashSet<ArrayId> {
    let mut elsewhere: FxHashSet<ArrayId> = FxHashSet::default();
    for binding in block.bindings.iter().rev() {
        let shape = Shape::of(&binding.op);
        let follows = binding.results.iter().any(|var| elsewhere.contains(&var.id));
        for part in binding.op.parts() {
            match part {
                Part::Array(array) if shape.is_some_and(|shape| shape != Shape::Map || follows) => {
                    elsewhere.insert(*array);
                }
                Part::Function(f) => elsewhere.extend(f.arrays_read()),
                _ => {}
            }
        }
    }
    elsewhere
}

/// Results that a traversal makes in this block, element by element or row by row, so that clustering may fuse them with what traverses them:
/// everything else is stored whatever happens.
fn traversals(block: &Block, tables: &Tables) -> FxHashSet<ArrayId> {
    let mut made = FxHashSet::default();
    for binding in &block.bindings {
        // A reshape makes nothing, but laws may make a producer of it; a compute is there to be stored.
        let is_known = Shape::of(&binding.op).is_some();
        let traverses = binding.op.kind().makes_elements() && !matches!(binding.op, ArrayOp::Compute { .. });
        let results = signature(binding, tables).results;
        let made_by_it = binding
            .results
            .iter()
            .zip(&results)
            .filter(|(var, given)| var.ty.rank() > 0 && (is_known || traverses && given.known != Known::AtEnd));
        made.extend(made_by_it.map(|(var, _)| var.id));
    }
    made
}

/// What the table of operations says of a binding.
fn signature<'b>(binding: &'b Binding, tables: &Tables) -> Signature<'b> {
    Signature::of(binding, &|id| tables.types.get(&id).map(Type::rank))
}

/// Whether the extents that an operation says it runs over, and those that have to agree, are proved to be so. A map runs over at most what
/// its sources have, a backpermute hands on: what is together is seen to by laws.
fn extents_are_known(binding: &Binding, tables: &Tables) -> bool {
    let own = |id: ArrayId| binding.results.iter().find(|var| var.id == id);
    let rank = |id: ArrayId| own(id).map(|var| &var.ty).or_else(|| tables.types.get(&id)).map(Type::rank);
    let hands_on = matches!(binding.op, ArrayOp::Backpermute { .. });
    let demands = signature(binding, tables).demands(&binding.results, &rank);
    let mut asked = demands.iter().filter(|demand| {
        let of_sources = demand.left.1.iter().chain(&demand.right.1).all(|&id| own(id).is_none());
        demand.relation == Relation::Equal && !(hands_on && of_sources)
    });
    asked.all(|demand| demand_is_known(demand, binding, &tables.sizes, &|id| tables.types.get(&id)))
}

/// The operation of a binding over classes; none of what is no producer or stencil, and of those whose extents are checked when they run.
fn operation(position: usize, binding: &Binding, known: &BlockArrays, graph: &mut Graph) -> Option<Operation> {
    let stored = &known.traversals;
    let shape = Shape::of(&binding.op)?;
    let first = binding.results.first()?;
    let extents = first.ty.extents.clone();
    let plain = binding.results.iter().all(|var| is_plain(&var.ty) && graph.equal(&var.ty.extents, &extents));
    if !plain || !extents_are_known(binding, &graph.analysis.tables) {
        return None;
    }
    let elements = binding.results.iter().map(|var| var.ty.element).collect();
    let mut operation = Operation::new(shape, extents.clone(), elements);
    let tapped = &graph.analysis.tables.tapped;
    operation.payload_mut().apart = binding.results.iter().map(|var| var.id).find(|id| tapped.contains(id));
    let mut arrays: Vec<ArrayId> = Vec::new();
    let mut functions = Vec::new();
    for part in binding.op.parts() {
        match part {
            Part::Array(array) => arrays.push(*array),
            Part::Function(f) => functions.push(f),
            _ => {}
        }
    }
    if let (Shape::Generate, [f]) = (shape, &functions[..])
        && let in_order = !binding.results.iter().any(|var| known.elsewhere.contains(&var.id))
        && let Some(sourced) = sources::of(graph, &extents, f, |graph, array| gains(graph, array, stored), in_order)
    {
        return over_sources(graph, stored, operation, sourced, (position, binding));
    }
    let functions: Vec<_> = functions.into_iter().map(|f| graph.analysis.functions.intern(f.clone())).collect();
    let mut functions = functions.into_iter();
    if matches!(shape, Shape::Backpermute | Shape::Transform) {
        operation.payload_mut().index = functions.next();
    }
    if matches!(shape, Shape::Generate | Shape::Map | Shape::Transform | Shape::Stencil) {
        operation.payload_mut().f = functions.next();
    }
    if let ArrayOp::Stencil { taps, boundaries, .. } = &binding.op {
        arrays = taps.iter().map(|tap| tap.array).collect();
        for tap in taps {
            let boundary = boundaries.iter().find(|boundary| boundary.array == tap.array)?;
            let edge = match &boundary.boundary {
                Boundary::Clamp => Edge::Clamp,
                Boundary::Mirror => Edge::Mirror,
                Boundary::Wrap => Edge::Wrap,
                Boundary::Constant(value) => Edge::Constant(*value),
                Boundary::Function(f) => Edge::Function(graph.analysis.functions.intern(f.clone())),
            };
            operation.payload_mut().taps.push(Tapped { offsets: tap.offsets.clone(), edge });
        }
    }
    if let ArrayOp::Replicate { dims, .. } | ArrayOp::Slice { dims, .. } = &binding.op {
        operation.payload_mut().dims.clone_from(dims);
    }
    let sources: Vec<Source> = arrays.iter().map(|&array| source(graph, stored, array)).collect::<Option<_>>()?;
    Some(operation.reading(&sources))
}

fn is_plain(ty: &Type) -> bool {
    !ty.stream && ty.inner.is_empty() && !ty.extents.contains(&Extent::Unknown)
}

/// What an operation reads, if laws know of such arrays.
fn source(graph: &mut Graph, stored: &FxHashSet<ArrayId>, array: ArrayId) -> Option<Source> {
    graph.analysis.tables.types.get(&array).filter(|ty| is_plain(ty))?;
    graph.source(array, !stored.contains(&array))
}

/// Whether clustering or a law may do more where an array is a source and not read by index: a traversal of this block makes it, and what
/// that reads is not all stored.
fn gains(graph: &Graph, array: ArrayId, stored: &FxHashSet<ArrayId>) -> bool {
    let Some(source) = graph.analysis.of_array.get(&array) else { return stored.contains(&array) };
    let Some(form) = graph.facts(source.class).forms.first() else { return !graph.facts(source.class).manifest };
    let is_stored = |source: Source| graph.is_leaf(source.class) && graph.facts(source.class).manifest;
    form.shape.is_producer() && !graph.operation(form.node).sources().all(is_stored)
}

/// A generate as an operation over sources.
fn over_sources(
    graph: &mut Graph,
    stored: &FxHashSet<ArrayId>,
    generate: Operation,
    sourced: Sourced,
    (position, binding): (usize, &Binding),
) -> Option<Operation> {
    let shape = sourced.shape();
    let (f, reads, dims) = match sourced {
        Sourced::Map { f, reads, dims } => (f, reads, dims),
        Sourced::Elsewhere { index, f, arrays } => {
            let sources: Vec<Source> =
                arrays.iter().map(|&array| source(graph, stored, array)).collect::<Option<_>>()?;
            let f = graph.analysis.functions.intern(f);
            return Some(producers::indexed(graph, index, f, &sources, &generate));
        }
    };
    let make = |graph: &mut Graph, operation: Operation, name: String| {
        let arrays: Vec<ArrayId> = operation.elements.iter().map(|_| graph.analysis.tables.fresh()).collect();
        let types = operation.elements.iter().map(|&element| Type::array(operation.extents.clone(), element)).collect();
        let facts =
            Facts { position, made: true, place: binding.place.clone(), ..Facts::of(arrays.clone(), types, name) };
        let class = graph.place(operation, facts);
        for (component, &array) in arrays.iter().enumerate() {
            graph.analysis.of_array.insert(array, Source { class, component });
        }
        class
    };
    let mut sources: Vec<Source> = Vec::new();
    for read in reads {
        let source = source(graph, stored, read.array)?;
        let Some(index) = read.index else {
            sources.push(source);
            continue;
        };
        let elements = vec![graph.element(source)];
        let elsewhere = Operation::new(Shape::Backpermute, generate.extents.clone(), elements);
        let name = graph.name_of(read.array);
        sources.push(Source { class: make(graph, elsewhere.reading(&[source]).at(index), name), component: 0 });
    }
    if !dims.is_empty() {
        let index = sources::own_index(generate.extents.len(), &dims);
        let index = graph.analysis.functions.intern(index);
        let elements = vec![ElementType::I64; dims.len()];
        let own = Operation::new(Shape::Generate, generate.extents.clone(), elements).function(index);
        let class = make(graph, own, "index".to_owned());
        sources.extend((0..dims.len()).map(|component| Source { class, component }));
    }
    let f = graph.analysis.functions.intern(f);
    Some(generate.like(shape).function(f).reading(&sources))
}

/// What a binding uses, and how.
fn uses_of(binding: &Binding, tables: &Tables) -> Vec<(ArrayId, Use)> {
    let mut uses = Vec::new();
    for var in &binding.results {
        var.ty.for_each_use(&mut |id| uses.push((id, Use::Other)));
    }
    let reads = signature(binding, tables).reads;
    // Laws may take in the source of a reshape, which otherwise needs it as a whole.
    let is_known = Shape::of(&binding.op).is_some();
    let how = |id: ArrayId| {
        let of_array = reads.iter().filter(|read| read.array == id).map(|read| match read.how {
            How::Around => Use::Tapped,
            How::Same | How::Row | How::Prefix | How::Mapped => Use::Traversed,
            How::Anywhere if is_known => Use::Traversed,
            How::Anywhere => Use::Other,
        });
        of_array.fold(Use::Other, |known, how| if known == Use::Other { how } else { known })
    };
    for part in binding.op.parts() {
        match part {
            Part::Array(id) => uses.push((*id, how(*id))),
            Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) | Part::Inner(id) => {
                uses.push((*id, Use::Other));
            }
            Part::Value(Operand::Constant(_)) | Part::Argument(Operand::Constant(_)) => {}
            Part::Function(f) => {
                let read = f.arrays_read();
                f.outer_uses(&mut |id| uses.push((id, if read.contains(&id) { Use::Read } else { Use::Other })));
            }
            Part::Body(body) => {
                for inner in &body.bindings {
                    inner.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| uses.push((id, Use::Other))));
                    inner.op.for_each_use(&mut |id| uses.push((id, Use::Other)));
                }
                body.params.iter().for_each(|var| var.ty.for_each_use(&mut |id| uses.push((id, Use::Other))));
                uses.extend(body.results.iter().map(|&id| (id, Use::Other)));
            }
        }
    }
    uses
}

/// Levels, users outside of the graph, and users in it.
fn uses(block: &Block, graph: &mut Graph, region: &mut Region) -> Inside {
    let mut made_at: FxHashMap<ArrayId, usize> = FxHashMap::default();
    let fusible = traversals(block, &graph.analysis.tables);
    let mut inside: Inside = FxHashMap::default();
    for (position, binding) in block.bindings.iter().enumerate() {
        let mut uses = uses_of(binding, &graph.analysis.tables);
        let form = region.classes[position].map(|class| &graph.facts(class).forms[0]);
        let over_sources = form.filter(|form| form.shape != Shape::Generate);
        if let (Some(form), ArrayOp::Generate { .. }) = (over_sources, &binding.op) {
            let are_sources = uses.iter_mut().filter(|(id, how)| *how == Use::Read && !form.reads.contains(id));
            are_sources.for_each(|(_, how)| *how = Use::Traversed);
        }
        let mut level = 0;
        for &(id, how) in &uses {
            let Some(&from) = made_at.get(&id) else { continue };
            let fuses = how == Use::Traversed && fusible.contains(&id);
            let scalar_code = matches!(block.bindings[from].op, ArrayOp::Unit { .. } | ArrayOp::Constant { .. });
            level = level.max(region.levels[from] + usize::from(!fuses && !scalar_code));
        }
        region.levels.push(level);
        region.level_of.extend(binding.results.iter().map(|var| (var.id, level)));
        for &(id, how) in &uses {
            let Some(source) = graph.analysis.of_array.get(&id).copied() else { continue };
            let in_graph =
                region.classes[position].is_some() && matches!(how, Use::Traversed | Use::Tapped | Use::Read);
            if in_graph {
                inside.entry(source.class).or_default().push((position, how));
            } else {
                let name = binding.results.first().map_or_else(String::new, |var| graph.name_of(var.id));
                let user = Outside { name, op: binding.op.name(), level, fusible: how == Use::Traversed };
                graph[source.class].data.outside.push(user);
            }
        }
        made_at.extend(binding.results.iter().map(|var| (var.id, position)));
    }
    for id in &block.results {
        if let Some(&source) = graph.analysis.of_array.get(id) {
            let user = Outside { name: "return".to_owned(), op: "return", level: usize::MAX, fusible: false };
            graph[source.class].data.outside.push(user);
        }
    }
    inside
}
