//! What is clustered: operations, the arrays between them, and what may not share a pass. Needs no program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;

/// A graph of operations on arrays, for programs in any representation.
///
/// Nodes, externals and edges are numbered by position; equal numbers of classes (`extents`, `inner`, `need`, `segments`) mean that what
/// they number is known to be equal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// How reports call classes of extents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<u32, String>,
    /// Names of arrays that exist before: inputs.
    #[serde(default)]
    pub externals: Vec<String>,
    /// Operations, in any order.
    pub nodes: Vec<Node>,
    /// Who reads what.
    pub edges: Vec<Edge>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// For reports.
    pub name: String,
    /// Where it stands in a source, for reports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// How it runs over what it reads.
    pub kind: Kind,
    /// Class of the extents of the arrays that it traverses.
    #[serde(default)]
    pub extents: u32,
    /// Of an operation that opens a dimension inside ([`Kind::Expand`]): the class of that dimension; its own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<u32>,
    /// Arrays that it makes.
    #[serde(default = "one_output")]
    pub outputs: Vec<Output>,
    /// Who needs it: nodes of different classes never share a cluster (what only a branch needs, what is needed anyway).
    #[serde(default)]
    pub need: u32,
    /// Class of the segments that it runs over, if any: different ones never share a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    /// Of [`Kind::Elementwise`] and [`Kind::Source`]: whether elements are too expensive to be made again wherever they are read. Then they are
    /// made in the order of memory only, and never in a cluster with what reads them in an order of its own.
    #[serde(default, alias = "dear", skip_serializing_if = "std::ops::Not::not")]
    pub expensive: bool,
}

/// An array that an operation makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Class of its extents.
    #[serde(default)]
    pub extents: u32,
    /// Whether it is wanted in the end, so that it is written to memory whatever else reads it.
    #[serde(default)]
    pub result: bool,
    /// Of what a fold leaves: the class of the extent that was folded, one dimension inside. Of a [`Kind::Fold`] its own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<u32>,
}

fn one_output() -> Vec<Output> {
    vec![Output::default()]
}

impl Node {
    /// An operation with one output, of class 0 as all that it traverses, which everybody needs and which is no result.
    ///
    /// ```
    /// use fusebox_clustering::{Kind, Node};
    /// let sum = Node::new("sum", Kind::FoldAll).result();
    /// let rows = Node { extents: 1, ..Node::new("rows", Kind::Fold) };
    /// assert!(sum.outputs[0].result && rows.outputs.len() == 1);
    /// ```
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            place: String::new(),
            kind,
            extents: 0,
            inner: None,
            outputs: one_output(),
            need: 0,
            segments: None,
            expensive: false,
        }
    }

    /// The same, with all outputs wanted in the end.
    pub fn result(mut self) -> Self {
        self.outputs.iter_mut().for_each(|output| output.result = true);
        self
    }
}

impl Default for Node {
    /// [`Node::new`] of an elementwise operation without a name.
    fn default() -> Self {
        Self::new("", Kind::Elementwise)
    }
}

/// How an operation runs over what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Element by element, in any order: map, zip, compute.
    Elementwise,
    /// Makes elements in any order and traverses nothing: generate, stencil.
    Source,
    /// Reads in an order of its own: backpermute, transform, replicate, slice. Those with the same number read in the same order.
    Gather {
        /// `None`: like no other.
        order: Option<u32>,
    },
    /// Combines rows: a fold to rank 1 or more, upwards or downwards.
    Fold,
    /// Combines everything: its result is complete after the last element.
    FoldAll,
    /// A fold of segments, upwards or downwards.
    FoldSegments,
    /// Running combination, from the first.
    ScanLeft {
        /// Whether it has one element more than its source, so that it may also be traversed as if it had not.
        longer: bool,
    },
    /// Running combination, from the last.
    ScanRight {
        /// As of [`Kind::ScanLeft`].
        longer: bool,
    },
    /// Writes where targets say; its result is complete after the last element.
    Permute {
        /// Whether the order does not matter.
        any_order: bool,
    },
    /// Makes some elements of each, one after the other: filter, expand.
    Expand,
    /// An expand whose elements are written where targets say.
    PermutedExpand,
    /// Not an operation on elements (scalar code, control, a library call): a cluster never holds it, and it counts for nothing.
    Outside,
}

impl Kind {
    /// How much it carries from element to element, which a pass over memory keeps in registers or next to them: a fold counts once, and twice
    /// what has a result for each element too.
    pub fn accumulates(self) -> usize {
        match self {
            Self::Fold | Self::FoldAll | Self::FoldSegments => 1,
            Self::ScanLeft { .. } | Self::ScanRight { .. } | Self::Permute { .. } => 2,
            Self::Expand | Self::PermutedExpand => 2,
            Self::Elementwise | Self::Source | Self::Gather { .. } | Self::Outside => 0,
        }
    }
}

/// What reads what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The array read.
    pub from: Source,
    /// Position of the reading node.
    pub to: usize,
    /// Why it must be complete before; absent if the node traverses it element by element, so that the two may be fused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<Complete>,
}

impl Edge {
    /// Node `to` traverses the array element by element.
    pub fn traversed(from: Source, to: usize) -> Self {
        Self { from, to, complete: None }
    }

    /// The array must be complete before node `to` begins, for this reason.
    pub fn complete(from: Source, to: usize, why: Complete) -> Self {
        Self { from, to, complete: Some(why) }
    }
}

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Position of an external.
    External(usize),
    /// An output of a node.
    Output(
        /// Position of the node.
        usize,
        /// Position among its outputs.
        usize,
    ),
}

/// Why an array must be complete before something reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Complete {
    /// Read by index.
    Indexed,
    /// Tapped by a stencil.
    Tapped,
    /// Defaults of a permute.
    Defaults,
    /// Offsets of segments.
    Offsets,
    /// A size.
    Size,
    /// A scalar, complete after the last element.
    Scalar,
    /// The result of a permute, complete after the last element.
    Permuted,
    /// Segments of one element more each, which have no place of their own.
    LongerSegments,
    /// Used by scalar code, control or a library call, or made by one.
    Outside,
    /// Its extents (of the first class) are not known to be those that the reader runs over (of the second).
    Extents(
        /// Of the array.
        u32,
        /// Of the reader.
        u32,
    ),
    /// The reader may not need all of it, and what is not needed is not computed.
    ByNeed,
    /// Anything else that the maker of the graph knows.
    Other,
}

impl Complete {
    /// A sentence without its subject.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Indexed => "it is read by index, so it must be complete before",
            Self::Tapped => "it is tapped by a stencil, so it must be complete before",
            Self::Defaults => "a permute starts from it, so it must be complete before",
            Self::Offsets => "it holds the offsets of segments, so it must be complete before",
            Self::Size => "a size must be known before what it is an extent of",
            Self::Scalar => "a scalar is complete only after the last element",
            Self::Permuted => "what a permute writes is complete only after the last element",
            Self::LongerSegments => "its segments have one element more each",
            Self::Outside => "scalar code, control or a library call stands between them",
            Self::Extents(..) => "its extents are not known to be equal to those that the other runs over",
            Self::ByNeed => "the reader may not need what would be made for it",
            Self::Other => "it must be complete before",
        }
    }
}

impl Graph {
    /// Checks that positions exist and that every name fits what it names.
    ///
    /// # Errors
    /// [`Error::Graph`] with what is wrong, [`Error::TooLarge`].
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::Graph { what });
        if self.nodes.len().max(self.edges.len()).max(self.externals.len()) > MAX_PARTS {
            return Err(Error::TooLarge { parts: self.nodes.len().max(self.edges.len()), most: MAX_PARTS });
        }
        for (position, edge) in self.edges.iter().enumerate() {
            if edge.to >= self.nodes.len() {
                return wrong(format!("edge {position} leads to node {}, and there are {}", edge.to, self.nodes.len()));
            }
            match edge.from {
                Source::External(external) if external >= self.externals.len() => {
                    return wrong(format!(
                        "edge {position} comes from external {external}, and there are {}",
                        self.externals.len()
                    ));
                }
                Source::Output(node, output)
                    if self.nodes.get(node).is_none_or(|node| output >= node.outputs.len()) =>
                {
                    return wrong(format!("edge {position} comes from output {output} of node {node}, which is none"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The most nodes, edges or externals.
pub const MAX_PARTS: usize = 1 << 24;
