//! A program as people draw it: operations, clusters around them, and how each is joined to what it reads.

mod draw;

pub(crate) use self::draw::graphs;

use std::collections::HashMap;

use serde::Serialize;

/// The operations of a block.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Graph {
    /// Which block: empty for the program's body, else the operations that hold it, from the outside in.
    pub path: String,
    /// In order of the program.
    pub nodes: Vec<Node>,
    /// Among nodes, by position.
    pub edges: Vec<Edge>,
    /// Clusters, in order.
    pub clusters: Vec<Cluster>,
}

/// Something that is made or given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// What the text of the program calls its results.
    pub results: Vec<String>,
    /// The operation's name; of inputs `input`.
    pub operation: &'static str,
    /// What it is.
    pub kind: NodeKind,
    /// The type of its first result, as text has it.
    #[serde(rename = "type")]
    pub ty: String,
    /// Whether its results are stored.
    pub manifest: bool,
    /// Whether the block gives one of its results.
    pub result: bool,
    /// The cluster that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<usize>,
    /// Where it stands in the source; empty where unknown.
    pub place: String,
    /// Whether it takes and gives arrays as wholes: control, library calls, copies.
    #[serde(skip)]
    pub(crate) whole: bool,
}

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// An input, or a value from around the block.
    Input,
    /// A collective operation.
    Operation,
    /// Scalar code, and constants.
    Scalar,
    /// Control, with blocks of its own.
    Control,
}

/// Nodes run as one pass over memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// Positions of nodes, in order.
    pub nodes: Vec<usize>,
}

/// How two nodes are joined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// The producer, or the first of two neighbours.
    pub from: usize,
    /// The consumer.
    pub to: usize,
    /// In which way.
    pub link: Link,
    /// The values that it is about.
    pub values: Vec<String>,
    /// Why they are not fused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Ways in which nodes are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// Fused; what is between them is never stored.
    Vertical,
    /// Fused; what is between them is stored too.
    Diagonal,
    /// Fused; both read the same array.
    Horizontal,
    /// Not fused: what is between them is stored, then read.
    Infusible,
    /// An input, or a scalar that is no operation's.
    Given,
}

impl Link {
    /// Every way, in the order of a legend.
    pub const ALL: [Self; 5] = [Self::Vertical, Self::Diagonal, Self::Horizontal, Self::Infusible, Self::Given];

    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vertical => "vertical",
            Self::Diagonal => "diagonal",
            Self::Horizontal => "horizontal",
            Self::Infusible => "infusible",
            Self::Given => "given",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Vertical => "fused, never stored",
            Self::Diagonal => "fused, stored too",
            Self::Horizontal => "fused, read together",
            Self::Infusible => "not fused: stored, then read",
            Self::Given => "input or scalar",
        }
    }
}

/// Why two operations are not fused, by the names of their first results.
pub(crate) type Reasons = HashMap<(String, String), String>;
