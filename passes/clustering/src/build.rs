//! A block of a program as a graph: how the model sees each operation, which the table of operations decides.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Extent, Lambda, Operand, Part, ScanForm,
    analysis::{
        Definitions, Size, Sizes,
        spine::fills,
        work::{PER_BYTE, work},
    },
    operations::{self, How, RunsOver, Sequence, Signature},
};

use crate::{
    graph::{Complete, Edge, Graph, Kind, Node, Output, Source},
    in_order::read_in_order,
};

/// What is known of the whole program.
pub(crate) struct Context<'p> {
    pub(crate) definitions: Definitions<'p>,
    pub(crate) sizes: Sizes,
}

/// Whether making an element again costs more than loading it: the bound of producer fusion, which knows how often it would be.
fn is_expensive(binding: &Binding) -> bool {
    let (ArrayOp::Map { f, .. } | ArrayOp::Generate { f, .. } | ArrayOp::Stencil { f, .. }) = &binding.op else {
        return false;
    };
    let bytes: usize = binding.results.iter().map(|var| var.ty.element.bytes()).sum();
    work(f) >= PER_BYTE * bytes as u64
}

/// The graph of a block: a node for each binding, in order.
pub(crate) fn graph(block: &Block, context: &Context<'_>) -> Graph {
    let mut build = Build {
        context,
        graph: Graph::default(),
        sources: HashMap::new(),
        extents: HashMap::new(),
        inner: HashMap::new(),
        gathers: HashMap::new(),
        orders: 0,
        segments: HashMap::new(),
        over_segments: HashMap::new(),
        in_segments: HashMap::new(),
        chained: Vec::new(),
        longer: HashSet::new(),
        completed: HashMap::new(),
    };
    for binding in &block.bindings {
        build.binding(binding);
    }
    build.unite_segments();
    for id in &block.results {
        if let Some(&Source::Output(node, output)) = build.sources.get(id) {
            build.graph.nodes[node].outputs[output].result = true;
        }
    }
    build.graph
}

pub(crate) struct Build<'a, 'p> {
    pub(crate) context: &'a Context<'p>,
    pub(crate) graph: Graph,
    /// Values of the block, and those from outside that are traversed.
    sources: HashMap<ArrayId, Source>,
    /// Classes of lists of extents: equal if proved equal. An extent of which nothing is known is none but itself.
    pub(crate) extents: HashMap<Vec<Result<Size, Extent>>, u32>,
    pub(crate) inner: HashMap<Inner, u32>,
    /// The orders in which gathers read, by extents and what the index uses from outside.
    pub(crate) gathers: HashMap<(Vec<Operand>, Vec<ArrayId>), Vec<(Lambda, u32)>>,
    /// How many orders there are.
    pub(crate) orders: u32,
    pub(crate) segments: HashMap<ArrayId, u32>,
    /// Arrays with an element for each segment of a class.
    pub(crate) over_segments: HashMap<ArrayId, u32>,
    /// Arrays of the elements of all segments of a class, where an operation says no more of them.
    pub(crate) in_segments: HashMap<ArrayId, u32>,
    /// Classes of segments of which one has the others' segments as elements.
    pub(crate) chained: Vec<(u32, u32)>,
    /// What has one element more in each segment.
    longer: HashSet<ArrayId>,
    /// Arrays of the block for those that read them when they are complete.
    completed: HashMap<ArrayId, Source>,
}

/// What is folded one dimension inside.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Inner {
    Extent(Result<Size, Extent>),
    Segments(ArrayId),
}

/// How an operation uses arrays.
struct Row {
    kind: Kind,
    /// Arrays that it traverses.
    traversed: Vec<ArrayId>,
    /// The array whose extents it runs over; none: those of its (first) result.
    runs: Option<ArrayId>,
}

impl Build<'_, '_> {
    fn binding(&mut self, binding: &Binding) {
        let position = self.graph.nodes.len();
        let name = binding.results.iter().map(|var| &var.name).find(|name| !name.is_empty());
        let name = name.map_or_else(
            || binding.results.first().map_or(String::new(), |var| var.id.to_string()),
            |name| name.0.clone(),
        );
        let outputs =
            binding.results.iter().map(|var| Output { extents: self.class(&var.ty.extents), ..Output::default() });
        let mut node = Node {
            name,
            place: binding.place.to_string(),
            kind: Kind::Outside,
            extents: 0,
            inner: None,
            outputs: outputs.collect(),
            // Blocks of strict programs compute all of their bindings.
            need: 0,
            segments: None,
            expensive: is_expensive(binding),
        };
        let mut complete: HashMap<ArrayId, Complete> = HashMap::new();
        let mut traversed: Vec<ArrayId> = Vec::new();
        let filled = self.filled(binding);
        match self.row(binding) {
            // It is made where the elements are met: as if it looked at them.
            Some(_) if filled.is_some() => {
                node.kind = Kind::Elementwise;
                let runs = binding.results.first().map(|var| var.ty.extents.clone()).unwrap_or_default();
                node.extents = self.class(&runs);
                self.finish(binding, &runs, &mut node);
                traversed = filled.into_iter().collect();
                self.complete(binding, &traversed, &mut complete);
            }
            None => {
                binding.for_each_use(&mut |id| _ = complete.insert(id, Complete::Outside));
            }
            Some(row) => {
                node.kind = row.kind;
                let runs = row.runs.and_then(|id| self.context.definitions.ty(id)).map(|ty| ty.extents.clone());
                let first = || binding.results.first().map(|var| var.ty.extents.clone()).unwrap_or_default();
                let runs = runs.unwrap_or_else(first);
                node.extents = self.class(&runs);
                self.finish(binding, &runs, &mut node);
                traversed = row.traversed;
                self.complete(binding, &traversed, &mut complete);
            }
        }
        self.follow_segments(binding, &node, &traversed);
        let near = if node.kind == Kind::Outside {
            Vec::new()
        } else {
            read_in_order(binding, &self.context.definitions, &self.context.sizes)
        };
        self.graph.nodes.push(node);
        let mut edges: Vec<(ArrayId, Option<Complete>)> = complete.iter().map(|(&id, &why)| (id, Some(why))).collect();
        edges.sort_unstable();
        let scalar = |id: ArrayId| self.context.definitions.ty(id).is_none_or(|ty| ty.extents.is_empty());
        let mut all = HashSet::new();
        for id in traversed {
            if all.insert(id) {
                let longer = self.longer.contains(&id).then_some(Complete::LongerSegments);
                // A function may leave out what it reads, and the index of what it leaves out may be outside.
                let by_need = matches!(binding.op, ArrayOp::Transform { .. }).then_some(Complete::ByNeed);
                let longer = longer.or(by_need);
                edges.push((id, scalar(id).then_some(Complete::Scalar).or(longer)));
            }
        }
        for (id, why) in edges {
            let from = match self.sources.get(&id) {
                Some(&from) => from,
                // What comes from outside is complete: only who else traverses it matters.
                None if why.is_some() => continue,
                None => {
                    let from = self.external(id);
                    self.sources.insert(id, from);
                    from
                }
            };
            if why.is_some() && matches!(from, Source::External(_)) {
                continue;
            }
            self.graph.edges.push(Edge { from, to: position, complete: why });
        }
        for id in near.into_iter().filter(|id| !all.contains(id)) {
            let from = self.complete_source(id);
            self.graph.edges.push(Edge { from, to: position, complete: None });
        }
        let longer = matches!(&binding.op, ArrayOp::Scan { form: ScanForm::Exclusive, offsets: Some(_), .. });
        for (output, var) in binding.results.iter().enumerate() {
            self.sources.insert(var.id, Source::Output(position, output));
            if longer {
                self.longer.insert(var.id);
            }
        }
    }

    fn external(&mut self, id: ArrayId) -> Source {
        let name = self.context.definitions.get(id).map_or(String::new(), |d| d.var().name.0.clone());
        self.graph.externals.push(if name.is_empty() { id.to_string() } else { name });
        Source::External(self.graph.externals.len() - 1)
    }

    /// An array that is complete for whoever asks: of one that the block makes this is not the node, with which its reader is not fused.
    fn complete_source(&mut self, id: ArrayId) -> Source {
        match self.sources.get(&id) {
            Some(&from @ Source::External(_)) => return from,
            Some(Source::Output(..)) => {}
            None => {
                let from = self.external(id);
                self.sources.insert(id, from);
                return from;
            }
        }
        if let Some(&from) = self.completed.get(&id) {
            return from;
        }
        let from = self.external(id);
        self.completed.insert(id, from);
        from
    }

    /// Of what is filled without sources, as often as an `expand` or `filter` makes elements: these elements.
    fn filled(&self, binding: &Binding) -> Option<ArrayId> {
        let [var] = &binding.results[..] else { return None };
        let [Extent::Value(count)] = var.ty.extents[..] else { return None };
        match self.sources.get(&count) {
            Some(&Source::Output(node, 0)) if fills(&binding.op) && self.graph.nodes[node].kind == Kind::Expand => {
                let maker = self.context.definitions.binding(count)?;
                maker.results.get(1).map(|first| first.id)
            }
            _ => None,
        }
    }

    /// What must be complete before an operation, and why.
    fn complete(&self, binding: &Binding, traversed: &[ArrayId], complete: &mut HashMap<ArrayId, Complete>) {
        let mut note = |id: ArrayId, why: Complete| {
            complete.entry(id).or_insert(why);
        };
        match &binding.op {
            ArrayOp::Stencil { taps, boundaries, .. } => {
                taps.iter().for_each(|tap| note(tap.array, Complete::Tapped));
                boundaries.iter().for_each(|boundary| note(boundary.array, Complete::Tapped));
            }
            ArrayOp::Permute { defaults, .. } | ArrayOp::PermutedExpand { defaults, .. } => {
                defaults.iter().for_each(|&id| note(id, Complete::Defaults));
            }
            ArrayOp::Fold { offsets: Some(offsets), .. }
            | ArrayOp::Scan { offsets: Some(offsets), .. }
            | ArrayOp::ReplicateSegments { offsets, .. } => {
                note(*offsets, Complete::Offsets);
            }
            _ => {}
        }
        let count = self.filled(binding).and_then(|_| match binding.results[0].ty.extents[0] {
            Extent::Value(id) => Some(id),
            Extent::Constant(_) | Extent::Unknown => None,
        });
        for part in binding.op.parts() {
            match part {
                Part::Value(Operand::Value(id)) if Some(*id) == count => {}
                Part::Function(f) => {
                    let arrays = f.arrays_read();
                    f.outer_uses(&mut |id| {
                        note(id, if arrays.contains(&id) { Complete::Indexed } else { Complete::Scalar });
                    });
                }
                Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => note(*id, Complete::Scalar),
                Part::Array(id) if !traversed.contains(id) => note(*id, Complete::Other),
                _ => {}
            }
        }
        // A size that an operation returns is known as it goes to those that run over its elements.
        let makers: HashSet<usize> = traversed
            .iter()
            .filter_map(|id| match self.sources.get(id) {
                Some(&Source::Output(node, _)) => Some(node),
                _ => None,
            })
            .collect();
        for extent in binding.results.iter().flat_map(|var| var.ty.all_extents()) {
            if let Extent::Value(id) = extent
                && !binding.results.iter().any(|var| var.id == *id)
            {
                let counted = match self.sources.get(id) {
                    Some(&Source::Output(node, 0)) => {
                        makers.contains(&node) && self.graph.nodes[node].kind == Kind::Expand
                    }
                    _ => false,
                };
                if !counted {
                    note(*id, Complete::Size);
                }
            }
        }
    }

    /// How the model sees an operation, by the table of operations; `None` for what no cluster holds.
    fn row(&mut self, binding: &Binding) -> Option<Row> {
        let op = &binding.op;
        if !op.kind().makes_elements() {
            return None;
        }
        let rank = |id: ArrayId| self.context.definitions.ty(id).map(|ty| ty.rank());
        let signature = Signature::of(binding, &rank);
        let of = |signature: &Signature<'_>, hows: &[How]| -> Vec<ArrayId> {
            signature.reads.iter().filter(|read| hows.contains(&read.how)).map(|read| read.array).collect()
        };
        let moved = of(&signature, &[How::Mapped, How::Prefix]);
        let runs = match (moved.first(), signature.runs_over) {
            // What it reads in another order decides with whom it shares loops.
            (Some(&first), _) | (None, RunsOver::Array(first)) => Some(first),
            (None, RunsOver::Result | RunsOver::Nothing) => None,
        };
        let traversed = of(&signature, &[How::Same, How::Row, How::Mapped, How::Prefix]);
        let kind = match op.kind() {
            operations::Kind::Stencil => Kind::Source,
            operations::Kind::Elementwise if traversed.is_empty() => Kind::Source,
            operations::Kind::Elementwise if moved.is_empty() => Kind::Elementwise,
            operations::Kind::Elementwise => Kind::Gather { order: self.order_of(op) },
            operations::Kind::Rows => self.rows(op, runs.and_then(rank)),
            operations::Kind::Counted => Kind::Expand,
            operations::Kind::Scattered if matches!(op, ArrayOp::PermutedExpand { .. }) => Kind::PermutedExpand,
            operations::Kind::Scattered => Kind::Permute { any_order: op.sequence() == Sequence::Any },
            operations::Kind::Whole | operations::Kind::Scalars | operations::Kind::Control => return None,
        };
        Some(Row { kind, traversed, runs })
    }

    fn rows(&self, op: &ArrayOp, rank: Option<usize>) -> Kind {
        match op {
            ArrayOp::Scan { form, offsets, .. } => {
                let longer = *form == ScanForm::Exclusive && offsets.is_none();
                match op.sequence() {
                    Sequence::Descending => Kind::ScanRight { longer },
                    Sequence::Ascending | Sequence::Any => Kind::ScanLeft { longer },
                }
            }
            ArrayOp::Fold { offsets: Some(_), .. } => Kind::FoldSegments,
            _ if rank.unwrap_or(0) <= 1 => Kind::FoldAll,
            _ => Kind::Fold,
        }
    }
}
