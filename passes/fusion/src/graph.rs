//! The e-graph of a block and its analysis: what is known of each class, and the tables that laws read.
//!
//! A class is what an operation of the block computes; its e-nodes are the ways to compute it. The analysis keeps of a class who it is
//! (arrays, types, users) and of each e-node what laws and costs ask (index map, work, reads, what may fail). Nothing of it depends on
//! other classes, so nothing is propagated when classes turn out to be equal.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use egg::{Analysis, DidMerge, EGraph, Id, Language};
use fusebox_ir::{
    ArrayId, ElementType, Extent, Operand, ScalarOperand, Type,
    analysis::{Answer, Size, Sizes, function_can_fail},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Config,
    facts::{Facts, Known, Origin, Pair},
    functions::Functions,
    index::IndexMap,
    language::{Node, Operation, Shape, Source, each_once},
    reason::Reason,
};

/// The e-graph of a block.
pub(crate) type Graph = EGraph<Node, Knowledge>;

/// What is known of a program, whatever block is looked at.
pub(crate) struct Tables {
    pub sizes: Sizes,
    pub types: FxHashMap<ArrayId, Type>,
    pub names: FxHashMap<ArrayId, String>,
    /// Arrays that a stencil taps.
    pub tapped: FxHashSet<ArrayId>,
    /// The next number that no array has.
    pub next: u32,
}

impl Tables {
    pub(crate) fn fresh(&mut self) -> ArrayId {
        self.next += 1;
        ArrayId(self.next - 1)
    }

    pub(crate) fn name(&self, array: ArrayId) -> String {
        match self.names.get(&array) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => array.to_string(),
        }
    }
}

/// The tables beside the graph. Laws reach them as `graph.analysis`.
pub(crate) struct Knowledge {
    pub config: Config,
    pub functions: Functions,
    pub tables: Tables,
    /// Classes of operations, users after what they use.
    pub order: Vec<Id>,
    /// Which class an array is a result of: only those that the block's operations touch.
    pub of_array: FxHashMap<ArrayId, Source>,
    /// Of e-nodes that laws made.
    pub origins: FxHashMap<Id, Origin>,
    /// Runs of maps, by the last: its members, each after what it uses.
    pub runs: FxHashMap<Id, Vec<Id>>,
    /// Why the last law tried did not apply, by producer and consumer.
    pub refusals: BTreeMap<(Id, Id), Reason>,
    /// Laws that were refused: which, the e-node of the consumer, the producer, and its e-node.
    pub tried: FxHashSet<(&'static str, Id, Id, Id)>,
    /// Whether producers that others use too may be taken in now, and no others.
    pub copying: bool,
    /// The class at which laws are tried now, with the producers that it may take in: what each law searches in.
    pub at_work: Option<(Id, Rc<Vec<Pair>>)>,
    /// The e-node of each class from which copies were made.
    pub copied_from: FxHashMap<Id, Id>,
    /// What a node that is about to be added is of; none where it will be one with another class.
    incoming: Option<Facts>,
}

impl Knowledge {
    pub(crate) fn new(config: &Config, tables: Tables) -> Self {
        Self {
            config: config.clone(),
            functions: Functions::default(),
            tables,
            order: Vec::new(),
            of_array: FxHashMap::default(),
            origins: FxHashMap::default(),
            runs: FxHashMap::default(),
            refusals: BTreeMap::new(),
            tried: FxHashSet::default(),
            copying: false,
            at_work: None,
            copied_from: FxHashMap::default(),
            incoming: None,
        }
    }

    /// What is known of an operation.
    fn known(&self, node: Id, operation: &Operation) -> Known {
        let functions = &self.functions;
        let index = match operation.shape {
            Shape::Map => IndexMap::Identity,
            Shape::Backpermute | Shape::Transform => {
                let index = operation.index.unwrap_or_else(|| panic!("no index function: {operation:?}"));
                IndexMap::of(functions.get(index), &operation.extents, &self.tables.sizes)
            }
            Shape::Replicate => IndexMap::replicate(&operation.dims),
            Shape::Slice => IndexMap::slice(&operation.dims),
            Shape::Generate | Shape::Reshape | Shape::Stencil => IndexMap::Other,
        };
        let mut reads: Vec<ArrayId> = Vec::new();
        for f in operation.functions() {
            for array in functions.get(f).arrays_read() {
                if !reads.contains(&array) {
                    reads.push(array);
                }
            }
        }
        let index_work = operation.index.map_or(0, |index| functions.index_work(index));
        let work = operation.f.map_or(0, |f| functions.work(f)) + index_work + operation.taps.len() as u64;
        let index_may_fail = operation.index.is_some_and(|index| function_can_fail(functions.get(index)));
        let copies = self.origins.get(&node).is_some_and(|origin| origin.copies);
        Known { node, shape: operation.shape, index, work, reads, index_may_fail, copies }
    }
}

impl Analysis<Node> for Knowledge {
    type Data = Facts;

    fn make(graph: &mut EGraph<Node, Self>, node: &Node, id: Id) -> Facts {
        let facts = graph.analysis.incoming.take();
        let mut facts = facts.unwrap_or_else(|| Facts::of(Vec::new(), Vec::new(), String::new()));
        if let Some(operation) = node.operation() {
            facts.forms = vec![graph.analysis.known(id, operation)];
        }
        facts
    }

    /// Of two classes of the program that turn out to be equal the first in order stands for both, in its own forms: those of the other may
    /// use what stands between, which may use the first. Nothing in the data of a class depends on that of another, so no user needs to be
    /// looked at again.
    fn merge(&mut self, to: &mut Facts, mut from: Facts) -> DidMerge {
        if from.order < to.order {
            std::mem::swap(to, &mut from);
        }
        to.outside.append(&mut from.outside);
        if from.order == usize::MAX {
            to.forms.append(&mut from.forms);
        }
        DidMerge(false, false)
    }
}

/// What laws ask of the graph, and do to it.
pub(crate) trait Classes {
    fn facts(&self, id: Id) -> &Facts;
    /// The operation that an e-node is, over the classes as they are now.
    fn operation(&self, node: Id) -> Operation;
    /// The classes that an e-node reads as sources, each once.
    fn source_classes(&self, node: Id) -> Vec<Id>;
    /// The classes of arrays that the functions of a form read by index.
    fn read_classes(&self, known: &Known) -> Vec<Id>;
    /// The result of a class that an array is; made a leaf where no operation of the graph makes it. None of what has no type.
    fn source(&mut self, array: ArrayId, manifest: bool) -> Option<Source>;
    /// A class for an operation; an earlier one where an equal operation stands.
    fn place(&mut self, operation: Operation, facts: Facts) -> Id;
    /// A class for an operation that no binding of the program is: laws make it for a class.
    fn make(&mut self, operation: Operation, for_class: Id) -> Id;
    /// One form more of a class. Where an equal operation stands elsewhere, the classes are one from then on. Says whether it is new.
    fn extend(&mut self, id: Id, operation: Operation, origin: Origin) -> bool;

    fn name_of(&self, array: ArrayId) -> String;

    fn array(&self, source: Source) -> ArrayId;
    fn ty(&self, source: Source) -> &Type;

    fn element(&self, source: Source) -> ElementType {
        self.ty(source).element
    }

    fn is_leaf(&self, id: Id) -> bool {
        self.facts(id).is_leaf()
    }

    /// Whether two lists of extents are proved equal.
    fn equal(&self, a: &[Extent], b: &[Extent]) -> bool;
    /// Whether no extent is proved to differ.
    fn may_be_equal(&self, a: &[Extent], b: &[Extent]) -> bool;
    /// Whether all extents are proved to be at most the others.
    fn within(&self, a: &[Extent], b: &[Extent]) -> bool;

    /// Whether all sources have these extents, proved.
    fn cover(&self, mut sources: impl Iterator<Item = Source>, extents: &[Extent]) -> bool {
        sources.all(|source| self.equal(&self.ty(source).extents, extents))
    }

    fn size(&self, extent: Extent) -> Option<Size>;
}

impl Classes for Graph {
    fn facts(&self, id: Id) -> &Facts {
        &self[id].data
    }

    fn operation(&self, node: Id) -> Operation {
        match self.id_to_node(node) {
            Node::Operation(operation) => operation.over(|class| self.find(class)),
            Node::Array(array) => panic!("{array} is no operation of the graph"),
        }
    }

    fn source_classes(&self, node: Id) -> Vec<Id> {
        each_once(self.id_to_node(node).children().iter().map(|&class| self.find(class)))
    }

    fn read_classes(&self, known: &Known) -> Vec<Id> {
        let of_array = |array| self.analysis.of_array.get(array).map(|source| self.find(source.class));
        let classes: BTreeSet<Id> = known.reads.iter().filter_map(of_array).collect();
        classes.into_iter().collect()
    }

    fn source(&mut self, array: ArrayId, manifest: bool) -> Option<Source> {
        if let Some(&source) = self.analysis.of_array.get(&array) {
            return Some(Source { class: self.find(source.class), ..source });
        }
        let ty = self.analysis.tables.types.get(&array)?.clone();
        let name = self.name_of(array);
        self.analysis.incoming = Some(Facts { manifest, ..Facts::of(vec![array], vec![ty], name) });
        let class = self.add(Node::Array(array));
        let source = Source { class, component: 0 };
        self.analysis.of_array.insert(array, source);
        Some(source)
    }

    fn place(&mut self, operation: Operation, facts: Facts) -> Id {
        let node = Node::Operation(operation);
        if let Some(found) = self.lookup(node.clone()) {
            return found;
        }
        self.analysis.incoming = Some(Facts { order: self.analysis.order.len(), ..facts });
        let id = self.add(node);
        self.analysis.order.push(id);
        id
    }

    fn make(&mut self, operation: Operation, for_class: Id) -> Id {
        let node = Node::Operation(operation.clone());
        if let Some(found) = self.lookup(node) {
            return found;
        }
        let arrays: Vec<ArrayId> = operation.elements.iter().map(|_| self.analysis.tables.fresh()).collect();
        let types = operation.elements.iter().map(|&element| Type::array(operation.extents.clone(), element)).collect();
        let name = operation.sources().next().map_or_else(String::new, |source| self.facts(source.class).name.clone());
        let user = self.facts(for_class);
        let facts = Facts {
            position: user.position,
            made: true,
            place: user.place.clone(),
            home: user.home,
            depth: user.depth,
            ..Facts::of(arrays.clone(), types, name)
        };
        let id = self.place(operation, facts);
        for (component, array) in arrays.into_iter().enumerate() {
            self.analysis.of_array.insert(array, Source { class: id, component });
        }
        id
    }

    fn extend(&mut self, id: Id, operation: Operation, origin: Origin) -> bool {
        let node = Node::Operation(operation);
        if let Some(found) = self.lookup(node.clone()) {
            if found == self.find(id) {
                return false;
            }
            let other = self.facts(found);
            let known = other.forms.iter().find(|known| node.operation() == Some(&self.operation(known.node))).cloned();
            let known = known.filter(|_| self.facts(id).order < other.order);
            self.union(id, found);
            let Some(known) = known else { return false };
            let known = Known { copies: origin.copies, ..known };
            self.analysis.origins.insert(known.node, origin);
            self[id].data.forms.push(known);
            return true;
        }
        let next = Id::from(self.nodes().len());
        self.analysis.origins.insert(next, origin);
        let made = self.add(node);
        assert_eq!(made, next, "egg numbers e-nodes in the order in which they are made");
        self.union(id, made)
    }

    fn name_of(&self, array: ArrayId) -> String {
        self.analysis.tables.name(array)
    }

    fn array(&self, source: Source) -> ArrayId {
        self.facts(source.class).arrays[source.component]
    }

    fn ty(&self, source: Source) -> &Type {
        &self.facts(source.class).types[source.component]
    }

    fn equal(&self, a: &[Extent], b: &[Extent]) -> bool {
        all(a, b, |a, b| self.analysis.tables.sizes.equal(a, b) == Answer::Proved)
    }

    fn may_be_equal(&self, a: &[Extent], b: &[Extent]) -> bool {
        all(a, b, |a, b| self.analysis.tables.sizes.equal(a, b) != Answer::Refuted)
    }

    fn within(&self, a: &[Extent], b: &[Extent]) -> bool {
        all(a, b, |a, b| self.analysis.tables.sizes.at_most(a, b) == Answer::Proved)
    }

    fn size(&self, extent: Extent) -> Option<Size> {
        self.analysis.tables.sizes.extent(extent)
    }
}

fn all(a: &[Extent], b: &[Extent], holds: impl Fn(Extent, Extent) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| holds(a, b))
}

/// An extent as an operand of an operation.
pub(crate) fn operand(extent: Extent) -> Operand {
    match extent {
        Extent::Constant(value) => Operand::Constant(value.into()),
        Extent::Value(id) => Operand::Value(id),
        Extent::Unknown => panic!("operations whose extents are unknown do not enter the graph"),
    }
}

/// An extent as an operand of scalar code.
pub(crate) fn scalar(extent: Extent) -> ScalarOperand {
    operand(extent).in_scalar()
}
