//! What was fused, what was not, and why. Plain data, without clocks: the same for the same program on every machine.

use fusebox_ir::Place;
use serde::Serialize;

/// What the pass did. Operations go by the name of their first result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Why the search for laws that apply ended; the first limit that was met, if one was.
    pub stop: Stop,
    /// Sweeps over the operations of a block, the most of any block.
    pub iterations: usize,
    /// Operations in the e-graphs of all blocks, alternatives included.
    pub nodes: usize,
    /// Classes of equal operations in them.
    pub classes: usize,
    /// What the program costs as it was, in the unit of `Config::default()`'s documentation; a decimal number.
    pub cost_before: String,
    /// What it costs now.
    pub cost_after: String,
    /// Operations that became others.
    pub choices: Vec<Choice>,
    /// Producers that stay apart from a user of them.
    pub refusals: Vec<Refusal>,
    /// Producers that are computed in several places.
    pub duplications: Vec<Duplication>,
}

/// Why the search for laws that apply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// No law applies any more.
    Saturated,
    /// As many sweeps as allowed.
    Iterations,
    /// As many nodes as allowed.
    Nodes,
    /// No law applies any more, but as many choices were compared as allowed.
    Steps,
}

/// An operation that became another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Its first result.
    pub name: String,
    /// Where it stands in the source.
    #[serde(skip_serializing_if = "Place::is_unknown")]
    pub place: Place,
    /// What it was.
    pub before: &'static str,
    /// What it is.
    pub after: &'static str,
    /// The laws that made it, in order.
    pub laws: Vec<&'static str>,
    /// What was taken in, in order of the program.
    pub absorbed: Vec<String>,
}

/// A producer that stays apart from one of its users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// The producer.
    pub producer: String,
    /// Where it stands in the source.
    #[serde(skip_serializing_if = "Place::is_unknown")]
    pub place: Place,
    /// Who uses it; `return` for results of the block.
    pub consumer: String,
    /// Why, a sentence.
    pub reason: String,
}

/// A producer that is computed in several places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Duplication {
    /// The producer.
    pub producer: String,
    /// Where it is computed now; itself among them if it stays an operation.
    pub places: Vec<String>,
    /// Weighted instructions an element.
    pub work: u64,
}
