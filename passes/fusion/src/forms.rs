//! What each form uses, and how: what the choice between forms needs to know of them.

use egg::Id;
use fusebox_ir::{ArrayId, Extent, Operand};
use rustc_hash::FxHashMap;

use crate::{
    cost,
    facts::{Known, Outside},
    graph::{Classes, Graph},
    language::{Edge, Operation, Shape, Source},
    region::Region,
};

/// How an operation reads an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// Each element at its own place: free where the same pass makes it.
    InOrder,
    /// Each element at another place: free where the same pass makes it for this alone.
    Elsewhere,
    /// Several elements, or as a whole: it must be stored before.
    Stored,
    /// As a scalar.
    Scalar,
}

/// What the choice needs to know of a form.
pub(crate) struct Form {
    /// Arrays by number, in order, each once for each mode.
    pub uses: Vec<(usize, Mode)>,
    pub work: u64,
    pub elements: u128,
    /// Costs nothing: a reshape.
    pub free: bool,
    /// Repeats along inner dimensions alone: what it reads in passing is computed once a row.
    pub by_rows: bool,
}

/// An array that forms use.
pub(crate) struct Used<'g> {
    /// The number of the class that makes it; none of an array from elsewhere.
    pub class: Option<usize>,
    pub level: Option<usize>,
    pub outside: &'g [Outside],
    pub elements: u128,
    pub bytes: u64,
}

/// All arrays that forms use, each by a number.
pub(crate) struct Arrays<'t, 'g> {
    pub graph: &'g Graph,
    pub region: &'g Region,
    /// The numbers of classes of operations.
    pub number: &'t FxHashMap<Id, usize>,
    pub arrays: Vec<Used<'g>>,
    pub array_of: FxHashMap<Source, usize>,
}

impl Arrays<'_, '_> {
    pub(crate) fn array(&mut self, source: Source) -> usize {
        if let Some(&array) = self.array_of.get(&source) {
            return array;
        }
        let facts = self.graph.facts(source.class);
        let class = self.number.get(&source.class).copied();
        let level = match class {
            Some(_) => Some(self.region.levels.get(facts.position).copied().unwrap_or(0)),
            None if facts.manifest => None,
            None => self.region.level_of.get(&self.graph.array(source)).copied(),
        };
        let ty = self.graph.ty(source);
        self.arrays.push(Used {
            class,
            level,
            outside: if class.is_some() { &facts.outside } else { &[] },
            elements: cost::elements(&self.graph.analysis.tables.sizes, &ty.extents),
            bytes: ty.element.bytes() as u64,
        });
        self.array_of.insert(source, self.arrays.len() - 1);
        self.arrays.len() - 1
    }

    pub(crate) fn form(&mut self, known: &Known) -> Form {
        let graph = self.graph;
        let operation = graph.operation(known.node);
        let mode = match operation.shape {
            Shape::Map | Shape::Generate => Mode::InOrder,
            Shape::Backpermute | Shape::Transform | Shape::Replicate | Shape::Slice => Mode::Elsewhere,
            Shape::Reshape | Shape::Stencil => Mode::Stored,
        };
        let mut sources: Vec<(Source, Mode)> = operation.sources().map(|source| (source, mode)).collect();
        let mut value = |id: ArrayId, mode: Mode| {
            if let Some(&source) = graph.analysis.of_array.get(&id) {
                sources.push((Source { class: graph.find(source.class), ..source }, mode));
            }
        };
        for f in operation.functions() {
            graph.analysis.functions.get(f).outer_uses(&mut |id| {
                let scalar = graph.analysis.tables.types.get(&id).is_some_and(|ty| ty.rank() == 0);
                value(id, if scalar { Mode::Scalar } else { Mode::Stored });
            });
        }
        operands(&operation).into_iter().for_each(|id| value(id, Mode::Scalar));
        let mut uses: Vec<(usize, Mode)> =
            sources.into_iter().map(|(source, mode)| (self.array(source), mode)).collect();
        uses.sort_unstable();
        uses.dedup();
        Form {
            uses,
            work: known.work,
            elements: cost::elements(&graph.analysis.tables.sizes, &operation.extents),
            free: operation.shape == Shape::Reshape,
            by_rows: operation.shape == Shape::Replicate && known.index.is_by_rows(),
        }
    }
}

/// The scalars that an operation has as operands.
fn operands(operation: &Operation) -> Vec<ArrayId> {
    let edges = operation.taps.iter().filter_map(|tap| match &tap.edge {
        Edge::Constant(value) => Some(*value),
        Edge::Clamp | Edge::Mirror | Edge::Wrap | Edge::Function(_) => None,
    });
    let value = |operand: Operand| match operand {
        Operand::Value(id) => Some(id),
        Operand::Constant(_) => None,
    };
    let extents = operation.extents.iter().filter_map(|extent| match extent {
        Extent::Value(id) => Some(*id),
        Extent::Constant(_) | Extent::Unknown => None,
    });
    operation.dims.iter().copied().flatten().chain(edges).filter_map(value).chain(extents).collect()
}
