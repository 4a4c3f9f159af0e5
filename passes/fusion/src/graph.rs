//! The e-graph of a block: operations that are equal stand in one class. Terms are first-order: functions are ids of a table beside it.
//!
//! A class is all results of an operation. Its `forms` are the alternatives in the order in which laws found them, each made from the
//! one before by taking in one producer more; the e-graph finds what is equal by whichever way it was made.

use std::collections::{BTreeSet, HashMap};

use egg::{EGraph, Id, Language};
use fusebox_ir::{
    ArrayId, ElementType, Extent, Operand, Place, ScalarOperand, Type,
    analysis::{Answer, Size, Sizes},
};

use crate::functions::{FunctionId, Functions};

/// One result of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Source {
    pub class: Id,
    pub component: usize,
}

/// What stands for an element outside of a tapped array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Edge {
    Clamp,
    Mirror,
    Wrap,
    Constant(Operand),
    Function(FunctionId),
}

/// What an operation computes; of its sources a [`Term`] knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Generate {
        f: FunctionId,
    },
    Map {
        f: FunctionId,
    },
    Backpermute {
        index: FunctionId,
    },
    Transform {
        index: FunctionId,
        f: FunctionId,
    },
    Replicate {
        dims: Vec<Option<Operand>>,
    },
    Slice {
        dims: Vec<Option<Operand>>,
    },
    Reshape,
    /// A source for each tap.
    Stencil {
        f: FunctionId,
        offsets: Vec<Vec<i64>>,
        edges: Vec<Edge>,
    },
}

/// The kinds as laws name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Kind {
    pub(crate) fn shape(&self) -> Shape {
        match self {
            Self::Generate { .. } => Shape::Generate,
            Self::Map { .. } => Shape::Map,
            Self::Backpermute { .. } => Shape::Backpermute,
            Self::Transform { .. } => Shape::Transform,
            Self::Replicate { .. } => Shape::Replicate,
            Self::Slice { .. } => Shape::Slice,
            Self::Reshape => Shape::Reshape,
            Self::Stencil { .. } => Shape::Stencil,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Generate { .. } => "generate",
            Self::Map { .. } => "map",
            Self::Backpermute { .. } => "backpermute",
            Self::Transform { .. } => "transform",
            Self::Replicate { .. } => "replicate",
            Self::Slice { .. } => "slice",
            Self::Reshape => "reshape",
            Self::Stencil { .. } => "stencil",
        }
    }

    /// Every function that it holds.
    pub(crate) fn functions(&self) -> Vec<FunctionId> {
        match self {
            Self::Generate { f } | Self::Map { f } => vec![*f],
            Self::Backpermute { index } => vec![*index],
            Self::Transform { index, f } => vec![*index, *f],
            Self::Replicate { .. } | Self::Slice { .. } | Self::Reshape => Vec::new(),
            Self::Stencil { f, edges, .. } => {
                let of_edges =
                    edges.iter().filter_map(|edge| if let Edge::Function(f) = edge { Some(*f) } else { None });
                std::iter::once(*f).chain(of_edges).collect()
            }
        }
    }
}

/// An operation over classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    pub kind: Kind,
    /// Of every result.
    pub extents: Vec<Extent>,
    /// Of each result.
    pub elements: Vec<ElementType>,
    pub sources: Vec<Source>,
    /// Keeps apart what is equal: arrays that stencils tap, where an array has one boundary.
    pub apart: Option<ArrayId>,
}

/// An operation without its sources: of each which child it is of, and which result.
type Operation = (Kind, Vec<Extent>, Vec<ElementType>, Vec<(usize, usize)>, Option<ArrayId>);

/// What the e-graph holds: a leaf, or an operation (an index into the table of operations without their sources) over classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Node {
    Leaf(ArrayId),
    Operation(u32, Box<[Id]>),
}

impl Language for Node {
    type Discriminant = (bool, u32);

    fn discriminant(&self) -> Self::Discriminant {
        match self {
            Self::Leaf(id) => (false, id.0),
            Self::Operation(operation, _) => (true, *operation),
        }
    }

    fn matches(&self, other: &Self) -> bool {
        self.discriminant() == other.discriminant() && self.children().len() == other.children().len()
    }

    fn children(&self) -> &[Id] {
        match self {
            Self::Leaf(_) => &[],
            Self::Operation(_, children) => children,
        }
    }

    fn children_mut(&mut self) -> &mut [Id] {
        match self {
            Self::Leaf(_) => &mut [],
            Self::Operation(_, children) => children,
        }
    }
}

/// An alternative of a class.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub term: Term,
    /// The law that made it, and from which form; none of the first.
    pub by: Option<(&'static str, usize)>,
    /// All that it took in.
    pub absorbed: BTreeSet<Id>,
    /// Whether it took in producers that others use too; users take in only forms that did not.
    pub loose: bool,
}

/// What is known of a class beside its nodes.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Its results.
    pub arrays: Vec<ArrayId>,
    /// The types of its results.
    pub types: Vec<Type>,
    /// Of a leaf: whether it is stored whatever happens, because no traversal makes it in this block.
    pub manifest: bool,
    /// Alternatives; none where it is a leaf.
    pub forms: Vec<Form>,
    /// The form that users in the same region take in: it holds no producer that others use too.
    pub tight: usize,
    /// The binding that it stands for (of what laws made: that it was made for), in the block's order.
    pub position: usize,
    /// Whether a law made it.
    pub made: bool,
    pub place: Place,
    pub name: String,
}

/// The graph of a block, and what laws need to know of the program.
pub(crate) struct Graph<'a> {
    pub egraph: EGraph<Node, ()>,
    pub functions: Functions,
    operations: HashMap<Operation, u32>,
    classes: HashMap<Id, Class>,
    /// Which id of several that turned out equal knows about the class.
    owners: HashMap<Id, Id>,
    /// Classes of operations, users after what they use.
    pub order: Vec<Id>,
    /// Which class an array is a result of: only those that the block's operations touch.
    pub of_array: HashMap<ArrayId, Source>,
    pub sizes: &'a mut Sizes,
    pub types: &'a HashMap<ArrayId, Type>,
    pub names: &'a HashMap<ArrayId, String>,
    pub next_array: &'a mut u32,
}

impl<'a> Graph<'a> {
    pub(crate) fn new(
        sizes: &'a mut Sizes,
        types: &'a HashMap<ArrayId, Type>,
        names: &'a HashMap<ArrayId, String>,
        next_array: &'a mut u32,
    ) -> Self {
        Self {
            egraph: EGraph::default(),
            functions: Functions::default(),
            operations: HashMap::new(),
            classes: HashMap::new(),
            owners: HashMap::new(),
            order: Vec::new(),
            of_array: HashMap::new(),
            sizes,
            types,
            names,
            next_array,
        }
    }

    /// The result of a class that an array is; a leaf where no operation of the graph makes it.
    pub(crate) fn source(&mut self, array: ArrayId, manifest: bool) -> Option<Source> {
        if let Some(&source) = self.of_array.get(&array) {
            return Some(Source { class: self.egraph.find(source.class), ..source });
        }
        let ty = self.types.get(&array)?.clone();
        let class = self.egraph.add(Node::Leaf(array));
        let leaf = Class {
            arrays: vec![array],
            types: vec![ty],
            manifest,
            forms: Vec::new(),
            tight: 0,
            position: 0,
            made: false,
            place: Place::default(),
            name: self.name(array),
        };
        self.classes.insert(class, leaf);
        let source = Source { class, component: 0 };
        self.of_array.insert(array, source);
        Some(source)
    }

    pub(crate) fn name(&self, array: ArrayId) -> String {
        match self.names.get(&array) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => array.to_string(),
        }
    }

    /// The node that a term is.
    pub(crate) fn node(&mut self, term: &Term) -> Node {
        let mut children: Vec<Id> = Vec::new();
        let mut sources = Vec::with_capacity(term.sources.len());
        for source in &term.sources {
            let class = self.egraph.find(source.class);
            let child = children.iter().position(|&child| child == class).unwrap_or_else(|| {
                children.push(class);
                children.len() - 1
            });
            sources.push((child, source.component));
        }
        let next = self.operations.len() as u32;
        let key = (term.kind.clone(), term.extents.clone(), term.elements.clone(), sources, term.apart);
        let operation = *self.operations.entry(key).or_insert(next);
        Node::Operation(operation, children.into())
    }

    /// A class for an operation; an earlier one where an equal operation stands.
    pub(crate) fn add(&mut self, term: Term, class: Class) -> Id {
        let node = self.node(&term);
        if let Some(found) = self.egraph.lookup(node.clone()) {
            return self.egraph.find(found);
        }
        let id = self.egraph.add(node);
        let first = Form { term, by: None, absorbed: BTreeSet::new(), loose: false };
        self.classes.insert(id, Class { forms: vec![first], ..class });
        self.order.push(id);
        id
    }

    /// A class for an operation that no binding of the program is: laws make it for the class at `position`.
    pub(crate) fn make(&mut self, term: Term, for_class: Id) -> Id {
        let node = self.node(&term);
        if let Some(found) = self.egraph.lookup(node) {
            return self.egraph.find(found);
        }
        let arrays: Vec<ArrayId> = term
            .elements
            .iter()
            .map(|_| {
                *self.next_array += 1;
                ArrayId(*self.next_array - 1)
            })
            .collect();
        let types = term.elements.iter().map(|&element| Type::array(term.extents.clone(), element)).collect();
        let (position, place) = {
            let class = self.class(for_class);
            (class.position, class.place.clone())
        };
        let name = term.sources.first().map_or_else(String::new, |source| self.class(source.class).name.clone());
        let class =
            Class { arrays, types, manifest: false, forms: Vec::new(), tight: 0, position, made: true, place, name };
        let id = self.add(term, class);
        for (component, array) in self.class(id).arrays.clone().into_iter().enumerate() {
            self.of_array.insert(array, Source { class: id, component });
        }
        id
    }

    /// The id that knows about a class: the first of several that turned out equal.
    pub(crate) fn owner(&self, id: Id) -> Id {
        let canonical = self.egraph.find(id);
        self.owners.get(&canonical).copied().unwrap_or(canonical)
    }

    pub(crate) fn class(&self, id: Id) -> &Class {
        &self.classes[&self.owner(id)]
    }

    /// One form more of a class. Where an equal operation stands elsewhere, the classes are one from then on: what is earlier in order
    /// knows about it, and the form is dropped if that is another. Says whether it was not.
    pub(crate) fn extend(&mut self, id: Id, form: Form) -> bool {
        let node = self.node(&form.term);
        let found = self.egraph.add(node);
        self.egraph.union(id, found);
        self.egraph.rebuild();
        self.settle();
        if self.owner(id) != id {
            return false;
        }
        let Some(class) = self.classes.get_mut(&id) else { return false };
        if !form.loose {
            class.tight = class.forms.len();
        }
        class.forms.push(form);
        true
    }

    /// After unions: of several ids of a class the first in order knows about it.
    fn settle(&mut self) {
        self.owners.clear();
        for &id in &self.order {
            self.owners.entry(self.egraph.find(id)).or_insert(id);
        }
    }

    /// The array that a source is.
    pub(crate) fn array(&self, source: Source) -> ArrayId {
        self.class(source.class).arrays[source.component]
    }

    pub(crate) fn ty(&self, source: Source) -> &Type {
        &self.class(source.class).types[source.component]
    }

    pub(crate) fn element(&self, source: Source) -> ElementType {
        self.ty(source).element
    }

    pub(crate) fn is_leaf(&self, id: Id) -> bool {
        self.class(id).forms.is_empty()
    }

    fn all(&self, a: &[Extent], b: &[Extent], holds: impl Fn(&Sizes, Extent, Extent) -> Answer) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| holds(self.sizes, a, b) == Answer::Proved)
    }

    /// Whether two lists of extents are proved equal.
    pub(crate) fn equal(&self, a: &[Extent], b: &[Extent]) -> bool {
        self.all(a, b, Sizes::equal)
    }

    /// Whether no extent is proved to differ.
    pub(crate) fn may_be_equal(&self, a: &[Extent], b: &[Extent]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.sizes.equal(a, b) != Answer::Refuted)
    }

    /// Whether all extents are proved to be at most the others.
    pub(crate) fn within(&self, a: &[Extent], b: &[Extent]) -> bool {
        self.all(a, b, Sizes::at_most)
    }

    /// Whether all sources have these extents, proved.
    pub(crate) fn cover(&self, sources: &[Source], extents: &[Extent]) -> bool {
        sources.iter().all(|&source| self.equal(&self.ty(source).extents, extents))
    }

    pub(crate) fn size(&self, extent: Extent) -> Option<Size> {
        self.sizes.extent(extent)
    }
}

/// An extent as an operand of an operation.
pub(crate) fn operand(extent: Extent) -> Operand {
    match extent {
        Extent::Constant(value) => Operand::Constant(value.into()),
        Extent::Value(id) => Operand::Value(id),
        Extent::Unknown => Operand::Constant(0i64.into()),
    }
}

/// An extent as an operand of scalar code.
pub(crate) fn scalar(extent: Extent) -> ScalarOperand {
    operand(extent).in_scalar()
}
