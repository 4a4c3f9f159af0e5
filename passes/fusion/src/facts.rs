//! What is known of classes and e-nodes.

use egg::Id;
use fusebox_ir::{ArrayId, Place, Type};

use crate::{index::IndexMap, language::Shape};

/// What is known of an e-node.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The e-node, by the id that egg gave it.
    pub node: Id,
    pub shape: Shape,
    /// Where it reads its sources.
    pub index: IndexMap,
    /// Weighted instructions an element; arithmetic of indices is done beside loads and counts only where it is long or reads.
    pub work: u64,
    /// Arrays that its functions read by index.
    pub reads: Vec<ArrayId>,
    /// Whether the index function may fail by itself.
    pub index_may_fail: bool,
    /// Whether it took in producers that others use too; users take in only what did not.
    pub copies: bool,
}

/// What is known of a class.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Its results.
    pub arrays: Vec<ArrayId>,
    /// The types of its results.
    pub types: Vec<Type>,
    /// Of an array from elsewhere: whether it is stored whatever happens, because no traversal makes it in this block.
    pub manifest: bool,
    /// In which order classes were met; none of what laws make to be one with another.
    pub order: usize,
    /// The binding that it stands for (of what laws made: that it was made for), in the block's order.
    pub position: usize,
    /// Whether a law made it.
    pub made: bool,
    pub place: Place,
    pub name: String,
    /// Who uses it, besides operations of the graph.
    pub outside: Vec<Outside>,
    /// The class that it ends up in, if it is used in one alone; else itself.
    pub home: Option<Id>,
    /// How many operations that end up in the same home are on the way to it from the first, at most, with itself.
    pub depth: usize,
    /// The class whose map takes it in together with all others of the same run of maps.
    pub run: Option<Id>,
    /// Its e-nodes in the order in which they were made; none of an array from elsewhere.
    pub forms: Vec<Known>,
}

impl Facts {
    /// Of a class of which nothing but results is known.
    pub(crate) fn of(arrays: Vec<ArrayId>, types: Vec<Type>, name: String) -> Self {
        Self {
            arrays,
            types,
            manifest: false,
            order: usize::MAX,
            position: 0,
            made: false,
            place: Place::default(),
            name,
            outside: Vec::new(),
            home: None,
            depth: 0,
            run: None,
            forms: Vec::new(),
        }
    }

    /// What users take in: the last form that holds no producer that others use too.
    pub(crate) fn tight(&self) -> Option<&Known> {
        self.forms.iter().rev().find(|known| !known.copies)
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.forms.is_empty()
    }
}

/// How a law made an e-node.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub law: &'static str,
    /// The e-node of the consumer.
    pub from: Id,
    /// The classes that it took in, and in which forms.
    pub took: Vec<(Id, Id)>,
    /// Whether it holds producers that others use too.
    pub copies: bool,
}

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

/// A producer that a class reads, in a form that users may take in.
pub(crate) struct Pair {
    pub of: Id,
    pub at: Id,
    pub shape: Shape,
    /// Whether it is read by index in a function.
    pub reads: bool,
}
