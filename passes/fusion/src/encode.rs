//! A block as an e-graph: its producers and stencils are operations, everything else is what they read and what reads them.

use std::collections::{HashMap, HashSet};

use egg::Id;
use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Boundary, Extent, Operand, Part, Type};

use crate::{
    functions::read_arrays,
    graph::{Class, Edge, Graph, Kind, Source, Term},
    reads,
};

/// Who uses a class, besides operations of the graph.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    /// The first result of the user, or `return`.
    pub name: String,
    /// What the user is.
    pub op: &'static str,
    /// In which pass it is, about.
    pub level: usize,
    /// Whether clustering may fuse the two.
    pub fusible: bool,
}

/// What is known of a block beside its graph.
#[derive(Default)]
pub(crate) struct Region {
    /// Of the binding at each position: its class, if it is an operation of the graph.
    pub classes: Vec<Option<Id>>,
    /// Users of classes other than operations of the graph.
    pub outside: HashMap<Id, Vec<Outside>>,
    /// Which operation a class ends up in, if it is used in one alone; else itself.
    pub home: HashMap<Id, Id>,
    /// Dependences that no clustering fuses on the way to a binding, the most.
    pub levels: Vec<usize>,
    /// The level of what makes an array in this block.
    pub level_of: HashMap<ArrayId, usize>,
}

/// How a binding uses a value.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// Element by element, in its own order or another: clustering may fuse.
    Traversed,
    /// Around each place.
    Tapped,
    /// By index, in a function.
    Read,
    /// As a scalar, as a whole, in a block.
    Other,
}

pub(crate) fn encode(block: &Block, tapped: &HashSet<ArrayId>, graph: &mut Graph<'_>) -> Region {
    let mut region = Region::default();
    let stored: HashSet<ArrayId> = traversals(block);
    for (position, binding) in block.bindings.iter().enumerate() {
        let term = term(binding, &stored, tapped, graph);
        let class = term.map(|term| {
            let class = Class {
                arrays: binding.results.iter().map(|var| var.id).collect(),
                types: binding.results.iter().map(|var| var.ty.clone()).collect(),
                manifest: false,
                forms: Vec::new(),
                tight: 0,
                position,
                made: false,
                place: binding.place.clone(),
                name: binding.results.first().map_or_else(String::new, |var| graph.name(var.id)),
            };
            let id = graph.add(term, class);
            for (component, var) in binding.results.iter().enumerate() {
                graph.of_array.insert(var.id, Source { class: id, component });
            }
            id
        });
        region.classes.push(class);
    }
    uses(block, graph, &mut region);
    region
}

/// Results that a traversal makes in this block, so that clustering may fuse them with what traverses them: everything else is stored
/// whatever happens.
fn traversals(block: &Block) -> HashSet<ArrayId> {
    let mut made = HashSet::new();
    for binding in &block.bindings {
        let fusible = match &binding.op {
            ArrayOp::Fold { .. } | ArrayOp::Scan { .. } | ArrayOp::Expand { .. } | ArrayOp::Filter { .. } => true,
            op => is_producer(op) || matches!(op, ArrayOp::Stencil { .. }),
        };
        if fusible {
            made.extend(binding.results.iter().filter(|var| var.ty.rank() > 0).map(|var| var.id));
        }
    }
    made
}

fn is_producer(op: &ArrayOp) -> bool {
    matches!(
        op,
        ArrayOp::Generate { .. }
            | ArrayOp::Map { .. }
            | ArrayOp::Backpermute { .. }
            | ArrayOp::Transform { .. }
            | ArrayOp::Replicate { .. }
            | ArrayOp::Slice { .. }
            | ArrayOp::Reshape { .. }
    )
}

/// The operation of a binding as a term; none of what is no producer or stencil, and of those whose extents are checked when they run.
fn term(
    binding: &Binding,
    stored: &HashSet<ArrayId>,
    tapped: &HashSet<ArrayId>,
    graph: &mut Graph<'_>,
) -> Option<Term> {
    if !is_producer(&binding.op) && !matches!(binding.op, ArrayOp::Stencil { .. }) {
        return None;
    }
    let first = binding.results.first()?;
    let plain = |ty: &Type| !ty.stream && ty.inner.is_empty() && !ty.extents.contains(&Extent::Unknown);
    let extents = first.ty.extents.clone();
    if !binding.results.iter().all(|var| plain(&var.ty) && graph.equal(&var.ty.extents, &extents)) {
        return None;
    }
    let said = |operands: &[Operand], graph: &Graph<'_>| {
        operands.len() == extents.len()
            && operands.iter().zip(&extents).all(|(operand, &extent)| {
                let size = graph.sizes.operand(operand);
                size.is_some() && size == graph.sizes.extent(extent)
            })
    };
    let source = |id: &ArrayId, graph: &mut Graph<'_>| {
        graph.types.get(id).filter(|ty| plain(ty))?;
        graph.source(*id, !stored.contains(id))
    };
    let all =
        |ids: &[ArrayId], graph: &mut Graph<'_>| ids.iter().map(|id| source(id, graph)).collect::<Option<Vec<_>>>();
    let extents_of =
        |source: Option<&Source>, graph: &Graph<'_>| source.map(|&source| graph.ty(source).extents.clone());
    let (kind, sources) = match &binding.op {
        ArrayOp::Generate { extents: of, f } => {
            if !said(of, graph) {
                return None;
            }
            match reads::as_map(graph, &extents, f) {
                Some((f, arrays)) => {
                    let sources = all(&arrays, graph)?;
                    (Kind::Map { f: graph.functions.intern(f) }, sources)
                }
                None => (Kind::Generate { f: graph.functions.intern(f.clone()) }, Vec::new()),
            }
        }
        ArrayOp::Map { f, sources } => {
            let sources = all(sources, graph)?;
            (Kind::Map { f: graph.functions.intern(f.clone()) }, sources)
        }
        ArrayOp::Backpermute { extents: of, f, sources } => {
            if !said(of, graph) {
                return None;
            }
            let sources = all(sources, graph)?;
            (Kind::Backpermute { index: graph.functions.intern(f.clone()) }, sources)
        }
        ArrayOp::Transform { extents: of, index, f, sources } => {
            let sources = all(sources, graph)?;
            let common = extents_of(sources.first(), graph)?;
            if !said(of, graph) || !graph.cover(&sources, &common) {
                return None;
            }
            let (index, f) = (graph.functions.intern(index.clone()), graph.functions.intern(f.clone()));
            (Kind::Transform { index, f }, sources)
        }
        ArrayOp::Replicate { dims, sources } => {
            let sources = all(sources, graph)?;
            let common = extents_of(sources.first(), graph)?;
            let mut kept = common.iter();
            let made: Vec<Operand> = dims
                .iter()
                .map(|dim| dim.or_else(|| kept.next().map(|&extent| crate::graph::operand(extent))))
                .collect::<Option<_>>()?;
            if !said(&made, graph) || !graph.cover(&sources, &common) {
                return None;
            }
            (Kind::Replicate { dims: dims.clone() }, sources)
        }
        ArrayOp::Slice { dims, sources } => {
            let sources = all(sources, graph)?;
            let common = extents_of(sources.first(), graph)?;
            let kept: Vec<Operand> = common
                .iter()
                .zip(dims)
                .filter(|(_, dim)| dim.is_none())
                .map(|(&extent, _)| crate::graph::operand(extent))
                .collect();
            if !said(&kept, graph) || !graph.cover(&sources, &common) {
                return None;
            }
            (Kind::Slice { dims: dims.clone() }, sources)
        }
        ArrayOp::Reshape { extents: of, sources } => {
            let sources = all(sources, graph)?;
            let common = extents_of(sources.first(), graph)?;
            if !said(of, graph) || !graph.cover(&sources, &common) {
                return None;
            }
            (Kind::Reshape, sources)
        }
        ArrayOp::Stencil { f, taps, boundaries } => {
            let arrays: Vec<ArrayId> = taps.iter().map(|tap| tap.array).collect();
            let sources = all(&arrays, graph)?;
            let mut edges = Vec::with_capacity(taps.len());
            for tap in taps {
                let boundary = boundaries.iter().find(|boundary| boundary.array == tap.array)?;
                edges.push(match &boundary.boundary {
                    Boundary::Clamp => Edge::Clamp,
                    Boundary::Mirror => Edge::Mirror,
                    Boundary::Wrap => Edge::Wrap,
                    Boundary::Constant(value) => Edge::Constant(*value),
                    Boundary::Function(f) => Edge::Function(graph.functions.intern(f.clone())),
                });
            }
            let offsets = taps.iter().map(|tap| tap.offsets.clone()).collect();
            (Kind::Stencil { f: graph.functions.intern(f.clone()), offsets, edges }, sources)
        }
        _ => return None,
    };
    let elements = binding.results.iter().map(|var| var.ty.element).collect();
    let apart = binding.results.iter().map(|var| var.id).find(|id| tapped.contains(id));
    Some(Term { kind, extents, elements, sources, apart })
}

/// What a binding uses, and how.
fn uses_of(binding: &Binding) -> Vec<(ArrayId, Use)> {
    let mut uses = Vec::new();
    for var in &binding.results {
        var.ty.for_each_use(&mut |id| uses.push((id, Use::Other)));
    }
    let traversed = |id: &ArrayId| match &binding.op {
        ArrayOp::Fold { sources, .. }
        | ArrayOp::Scan { sources, .. }
        | ArrayOp::Expand { sources, .. }
        | ArrayOp::PermutedExpand { sources, .. }
        | ArrayOp::Filter { sources, .. } => sources.contains(id),
        ArrayOp::Permute { values, targets, keep, .. } => {
            values.contains(id) || targets.contains(id) || *keep == Some(*id)
        }
        op => is_producer(op),
    };
    for part in binding.op.parts() {
        match part {
            Part::Array(id) => {
                let how = match &binding.op {
                    ArrayOp::Stencil { .. } => Use::Tapped,
                    _ if traversed(id) => Use::Traversed,
                    _ => Use::Other,
                };
                uses.push((*id, how));
            }
            Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) | Part::Inner(id) => {
                uses.push((*id, Use::Other));
            }
            Part::Value(Operand::Constant(_)) | Part::Argument(Operand::Constant(_)) => {}
            Part::Function(f) => {
                let read = read_arrays(f);
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

/// Levels, users outside of the graph, and homes.
fn uses(block: &Block, graph: &mut Graph<'_>, region: &mut Region) {
    let mut made_at: HashMap<ArrayId, usize> = HashMap::new();
    let fusible = traversals(block);
    let mut inside: HashMap<Id, Vec<(usize, Use)>> = HashMap::new();
    for (position, binding) in block.bindings.iter().enumerate() {
        let mut uses = uses_of(binding);
        let becomes_map = region.classes[position].is_some_and(|class| {
            matches!(graph.class(class).forms.first().map(|form| &form.term.kind), Some(Kind::Map { .. }))
        });
        if let (true, ArrayOp::Generate { .. }) = (becomes_map, &binding.op) {
            uses.iter_mut().filter(|(_, how)| *how == Use::Read).for_each(|(_, how)| *how = Use::Traversed);
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
            let Some(source) = graph.of_array.get(&id).copied() else { continue };
            let class = graph.owner(source.class);
            let in_graph =
                region.classes[position].is_some() && matches!(how, Use::Traversed | Use::Tapped | Use::Read);
            if in_graph {
                inside.entry(class).or_default().push((position, how));
            } else {
                let user = Outside {
                    name: binding.results.first().map_or_else(String::new, |var| graph.name(var.id)),
                    op: binding.op.name(),
                    level,
                    fusible: how == Use::Traversed,
                };
                region.outside.entry(class).or_default().push(user);
            }
        }
        made_at.extend(binding.results.iter().map(|var| (var.id, position)));
    }
    for id in &block.results {
        if let Some(&source) = graph.of_array.get(id) {
            let class = graph.owner(source.class);
            let user = Outside { name: "return".to_owned(), op: "return", level: usize::MAX, fusible: false };
            region.outside.entry(class).or_default().push(user);
        }
    }
    // Users come after what they use: from the last to the first, homes of users are known.
    for &id in graph.order.iter().rev() {
        let class = graph.owner(id);
        let stays = region.outside.contains_key(&class)
            || matches!(graph.class(class).forms.first().map(|form| &form.term.kind), Some(Kind::Stencil { .. }));
        let mut home = None;
        let mut one = !stays;
        for &(position, _) in inside.get(&class).into_iter().flatten() {
            let user = region.classes[position].map(|user| graph.owner(user));
            let of_user = user.and_then(|user| region.home.get(&user).copied());
            one &= of_user.is_some() && (home.is_none() || home == of_user);
            home = of_user;
        }
        let home = home.filter(|_| one).unwrap_or(class);
        region.home.insert(class, home);
    }
}
