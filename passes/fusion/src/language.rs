//! The language of the e-graph: an e-node is an array from elsewhere, or an operation over the classes that it reads.
//!
//! A class is *all* results of an operation, and an operation says of each source which result of its class it reads. (A node of its own
//! for each result would let laws rewrite one result alone, but they never do: it would double the nodes, and every law would look
//! through it.) Functions are ids of a table in the analysis, so terms are first-order and nothing is substituted under binders.

use std::{ops::Deref, rc::Rc};

use egg::{Id, Language};
use fusebox_ir::{ArrayId, ArrayOp, ElementType, Extent, Operand};
use rustc_hash::FxHashSet;

use crate::functions::FunctionId;

/// One result of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Source {
    pub class: Id,
    pub component: usize,
}

/// The operations that laws know, as laws name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Shape {
    Generate,
    Map,
    Backpermute,
    Transform,
    Replicate,
    Slice,
    Reshape,
    Stencil,
}

impl Shape {
    /// What an operation of the program is; none where no law knows it.
    pub(crate) fn of(op: &ArrayOp) -> Option<Self> {
        match op {
            ArrayOp::Generate { .. } => Some(Self::Generate),
            ArrayOp::Map { .. } => Some(Self::Map),
            ArrayOp::Backpermute { .. } => Some(Self::Backpermute),
            ArrayOp::Transform { .. } => Some(Self::Transform),
            ArrayOp::Replicate { .. } => Some(Self::Replicate),
            ArrayOp::Slice { .. } => Some(Self::Slice),
            ArrayOp::Reshape { .. } => Some(Self::Reshape),
            ArrayOp::Stencil { .. } => Some(Self::Stencil),
            _ => None,
        }
    }

    /// As [`ArrayOp::name`] says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::Map => "map",
            Self::Backpermute => "backpermute",
            Self::Transform => "transform",
            Self::Replicate => "replicate",
            Self::Slice => "slice",
            Self::Reshape => "reshape",
            Self::Stencil => "stencil",
        }
    }

    /// Whether each element of a result depends on at most one of each source.
    pub(crate) fn is_producer(self) -> bool {
        self != Self::Stencil
    }

    /// Whether elements are read at an index that a function of the own index gives.
    pub(crate) fn is_indexed(self) -> bool {
        matches!(self, Self::Backpermute | Self::Transform | Self::Replicate | Self::Slice)
    }
}

/// What stands for an element outside of a tapped array.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Edge {
    Clamp,
    Mirror,
    Wrap,
    Constant(Operand),
    Function(FunctionId),
}

/// How a stencil reads a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Tapped {
    pub offsets: Vec<i64>,
    pub edge: Edge,
}

/// What an operation is but for the classes that it reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Payload {
    pub shape: Shape,
    /// Where sources are read: of a backpermute or transform.
    pub index: Option<FunctionId>,
    /// What elements become, or indices: of a generate, map, transform or stencil.
    pub f: Option<FunctionId>,
    /// Of a replicate or slice, as [`ArrayOp`] has them.
    pub dims: Vec<Option<Operand>>,
    /// Of a stencil: one for each source.
    pub taps: Vec<Tapped>,
    /// Of every result.
    pub extents: Vec<Extent>,
    /// Of each result.
    pub elements: Vec<ElementType>,
    /// Keeps apart what is equal: arrays that stencils tap, where an array has one boundary.
    pub apart: Option<ArrayId>,
    /// Which result of its class each source is.
    components: Vec<usize>,
}

/// An operation over classes. egg copies e-nodes often, so all but the children is shared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Operation {
    payload: Rc<Payload>,
    /// The classes of the sources: the children.
    classes: Vec<Id>,
}

impl Deref for Operation {
    type Target = Payload;

    fn deref(&self) -> &Payload {
        &self.payload
    }
}

impl Operation {
    /// An operation without functions, sources and the like.
    pub(crate) fn new(shape: Shape, extents: Vec<Extent>, elements: Vec<ElementType>) -> Self {
        let payload = Payload {
            shape,
            index: None,
            f: None,
            dims: Vec::new(),
            taps: Vec::new(),
            extents,
            elements,
            apart: None,
            components: Vec::new(),
        };
        Self { payload: Rc::new(payload), classes: Vec::new() }
    }

    /// Another operation with the extents and the results of this one, and without sources.
    pub(crate) fn like(&self, shape: Shape) -> Self {
        let mut like = Self::new(shape, self.extents.clone(), self.elements.clone());
        like.payload_mut().apart = self.apart;
        like
    }

    pub(crate) fn payload_mut(&mut self) -> &mut Payload {
        Rc::make_mut(&mut self.payload)
    }

    pub(crate) fn function(mut self, f: FunctionId) -> Self {
        self.payload_mut().f = Some(f);
        self
    }

    pub(crate) fn at(mut self, index: FunctionId) -> Self {
        self.payload_mut().index = Some(index);
        self
    }

    pub(crate) fn tapping(mut self, taps: Vec<Tapped>) -> Self {
        self.payload_mut().taps = taps;
        self
    }

    pub(crate) fn reading(mut self, sources: &[Source]) -> Self {
        self.classes = sources.iter().map(|source| source.class).collect();
        self.payload_mut().components = sources.iter().map(|source| source.component).collect();
        self
    }

    /// The operation over classes by other ids.
    pub(crate) fn over(&self, rename: impl FnMut(Id) -> Id) -> Self {
        let classes = self.classes.iter().copied().map(rename).collect();
        Self { payload: Rc::clone(&self.payload), classes }
    }

    pub(crate) fn sources(&self) -> impl ExactSizeIterator<Item = Source> + '_ {
        self.classes.iter().zip(&self.components).map(|(&class, &component)| Source { class, component })
    }

    /// The sources, as a list.
    pub(crate) fn source_list(&self) -> Vec<Source> {
        self.sources().collect()
    }

    /// The classes that sources are of, each once.
    pub(crate) fn source_classes(&self) -> Vec<Id> {
        each_once(self.classes.iter().copied())
    }

    /// The function of elements or indices to elements.
    pub(crate) fn of_elements(&self) -> FunctionId {
        self.f.unwrap_or_else(|| panic!("a {} has a function: {self:?}", self.shape.name()))
    }

    /// Every function that it holds.
    pub(crate) fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        let of_edges = self.taps.iter().filter_map(|tap| match tap.edge {
            Edge::Function(f) => Some(f),
            _ => None,
        });
        self.index.into_iter().chain(self.f).chain(of_edges)
    }
}

/// Classes in order, each once.
pub(crate) fn each_once(classes: impl ExactSizeIterator<Item = Id>) -> Vec<Id> {
    /// So many are compared with one another; a table is made for more.
    const FEW: usize = 16;
    let mut once: Vec<Id> = Vec::with_capacity(classes.len());
    let mut seen: FxHashSet<Id> = FxHashSet::default();
    let few = classes.len() <= FEW;
    for class in classes {
        if if few { !once.contains(&class) } else { seen.insert(class) } {
            once.push(class);
        }
    }
    once
}

/// An e-node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Node {
    /// An array that no operation of the graph makes.
    Array(ArrayId),
    Operation(Operation),
}

impl Node {
    pub(crate) fn operation(&self) -> Option<&Operation> {
        match self {
            Self::Array(_) => None,
            Self::Operation(operation) => Some(operation),
        }
    }
}

impl Language for Node {
    /// What an operation is without its functions and extents: enough to find candidates, [`Language::matches`] compares all.
    type Discriminant = Result<(Shape, usize), ArrayId>;

    fn discriminant(&self) -> Self::Discriminant {
        match self {
            Self::Array(id) => Err(*id),
            Self::Operation(operation) => Ok((operation.shape, operation.classes.len())),
        }
    }

    fn matches(&self, other: &Self) -> bool {
        let (Self::Operation(a), Self::Operation(b)) = (self, other) else { return self == other };
        a.classes.len() == b.classes.len() && a.payload == b.payload
    }

    fn children(&self) -> &[Id] {
        self.operation().map_or(&[], |operation| &operation.classes)
    }

    fn children_mut(&mut self) -> &mut [Id] {
        match self {
            Self::Array(_) => &mut [],
            Self::Operation(operation) => &mut operation.classes,
        }
    }
}
