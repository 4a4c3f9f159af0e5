//! Term graphs: what an embedded language builds before sharing is recovered.
//!
//! [`TermGraph`] is what the sharing pass needs to see of any graph of terms; [`Terms`] is the arena that `fusebox-lang` fills and
//! that the pass turns into a [`Program`](crate::Program).

use crate::{ArrayId, ArrayOp, Constant, ElementType, LocalId, Place, ScalarOp, Type};

/// A term in a [`Terms`] arena: its position. Operands have smaller positions than the terms that use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(pub u32);

impl TermId {
    /// The position in the arena.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The term as an array operation of the arena names it: operations, types and reads of terms are those of programs, in which an
    /// [`ArrayId`] stands for a term. These four functions alone convert between the two.
    pub fn as_array(self) -> ArrayId {
        ArrayId(self.0)
    }

    /// The term that an array operation of the arena names: the inverse of [`Self::as_array`].
    pub fn of_array(id: ArrayId) -> Self {
        Self(id.0)
    }

    /// The term as scalar code of the arena names it: there a [`LocalId`] stands for a term.
    pub fn as_local(self) -> LocalId {
        LocalId(self.0)
    }

    /// The term that scalar code of the arena names: the inverse of [`Self::as_local`].
    pub fn of_local(id: LocalId) -> Self {
        Self(id.0)
    }
}

/// A closed graph of terms with node identity, as sharing recovery sees it.
///
/// Nodes are `0..len()`. A binder (a lambda) has the nodes of its variables, and its body among its children; a variable is a leaf
/// that belongs to exactly one binder.
pub trait TermGraph {
    /// The number of nodes.
    fn len(&self) -> usize;

    /// Whether there are no nodes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The node of the whole term.
    fn root(&self) -> usize;

    /// Calls `visit` with each child, in order, as often as it occurs.
    fn children(&self, node: usize, visit: &mut dyn FnMut(usize));

    /// Calls `visit` with each variable that this node binds; none if it is no binder.
    fn binds(&self, node: usize, visit: &mut dyn FnMut(usize));

    /// Whether the node is a variable, which a binder of this graph binds. Inputs are not variables: they are leaves, and trivial.
    fn is_variable(&self, node: usize) -> bool;

    /// Whether the node is so small that binding it gains nothing (constants); variables need not say so.
    fn is_trivial(&self, node: usize) -> bool;
}

/// The arena of terms that an embedded language fills, and its results.
///
/// In the skeletons of operations, ids stand for terms ([`TermId::as_array`], [`TermId::as_local`]); functions and blocks in skeletons are empty, and
/// stand in [`Term::Array`] and [`Term::Scalar`] beside, in the order of `parts()`.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// What the program is called.
    pub name: String,
    /// All terms.
    pub nodes: Vec<TermNode>,
    /// Input terms, in order ([`Term::Input`]).
    pub inputs: Vec<TermId>,
    /// Names and terms of the results; each a single array or scalar.
    pub outputs: Vec<(String, TermId)>,
}

/// A term and where it was built.
#[derive(Clone, Debug)]
pub struct TermNode {
    /// The term.
    pub term: Term,
    /// The place in the host program.
    pub place: Place,
    /// A hint for printing; of an operation's results those of the [`Term::Result`]s.
    pub name: String,
}

/// A term.
#[derive(Clone, Debug)]
pub enum Term {
    /// An input of the program. Its extents are [`Term::Size`] terms.
    Input {
        /// Its name, with dots for components.
        name: String,
        /// Its type; extents that are values are terms.
        ty: Type,
    },
    /// A size that the type of an input binds; an `i64`.
    Size {
        /// A hint for printing.
        name: String,
    },
    /// A parameter of exactly one function ([`FunctionTerm`]): a scalar.
    Parameter {
        /// Its type.
        ty: ElementType,
        /// A hint for printing.
        name: String,
    },
    /// A parameter of exactly one block ([`BlockTerm`]): an array or a scalar.
    BlockParameter {
        /// Its type; extents are terms.
        ty: Type,
        /// A hint for printing.
        name: String,
    },
    /// A constant.
    Constant(Constant),
    /// A scalar instruction; one result, or more, then [`Term::Result`] projects them.
    Scalar {
        /// The instruction; locals and arrays are terms.
        op: ScalarOp,
        /// Branches, a loop's condition and step: in the order of `ScalarOp::parts`.
        functions: Vec<FunctionTerm>,
        /// The types of the results.
        results: Vec<ElementType>,
    },
    /// An array operation; its results are projected by [`Term::Result`], also if there is one alone.
    Array {
        /// The operation; values are terms. A scalar term as an operand becomes a `unit`.
        op: Box<ArrayOp>,
        /// Functions, in the order of `ArrayOp::parts`.
        functions: Vec<FunctionTerm>,
        /// Blocks, in the order of `ArrayOp::parts`.
        blocks: Vec<BlockTerm>,
        /// The types of the results; extents are terms, also [`Term::Result`]s of this very term.
        results: Vec<Type>,
    },
    /// One result of a scalar or array term.
    Result {
        /// The term.
        of: TermId,
        /// Which result.
        index: u32,
    },
}

/// A scalar function of a term: its parameters are its own.
#[derive(Clone, Debug, Default)]
pub struct FunctionTerm {
    /// [`Term::Parameter`]s.
    pub params: Vec<TermId>,
    /// Scalar terms.
    pub results: Vec<TermId>,
}

/// A block of a term: its parameters are its own.
#[derive(Clone, Debug, Default)]
pub struct BlockTerm {
    /// [`Term::BlockParameter`]s.
    pub params: Vec<TermId>,
    /// Array or scalar terms.
    pub results: Vec<TermId>,
}
