//! Where a sequence computation puts what its body gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Block, Operand, Var};

/// What becomes of values that the body of a `consume` gives at each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "sink", rename_all = "snake_case", deny_unknown_fields)]
pub enum Sink {
    /// All values in row-major order, one after the other. Results: the size, then a vector for each of `count` arrays.
    Elements {
        /// How many results of the body it takes, of equal extents.
        count: usize,
    },
    /// The arrays along a new outermost dimension, cut to the least extents. Results: the number, the extents, the array.
    #[serde(deserialize_with = "no_fields")]
    Tabulate,
    /// A stream of them.
    #[serde(deserialize_with = "no_fields")]
    StreamOut,
    /// Folds chunks of them into a state. Results: the state.
    Accumulate {
        /// How many results of the body it takes, of equal extents.
        count: usize,
        /// States, the extents of a chunk's elements once, and all values of each, to states.
        f: Block,
        /// The first state.
        seeds: Vec<Operand>,
    },
}

impl Sink {
    /// How many of an operation's results are the sink's; `results` begin with them.
    pub fn gives(&self, results: &[Var]) -> usize {
        match self {
            Self::Elements { count } => count.saturating_add(1),
            Self::Tabulate => results.iter().position(|var| !var.ty.is_scalar()).map_or(results.len(), |at| at + 1),
            Self::StreamOut => 1,
            Self::Accumulate { seeds, .. } => seeds.len(),
        }
    }

    /// How many results of the body the sink takes; the operation's `results` begin with the sink's. Of chunks, those that are no vectors of
    /// scalars are extents and values.
    pub fn takes(&self, results: &[Var], chunks: bool) -> usize {
        match self {
            Self::Elements { count } => *count,
            Self::Tabulate if chunks => {
                let table = results.iter().find(|var| !var.ty.is_scalar());
                1 + usize::from(table.is_some_and(|table| table.ty.rank() > 1))
            }
            Self::StreamOut if chunks => 1 + usize::from(results.first().is_some_and(|var| var.ty.rank() > 0)),
            Self::Tabulate | Self::StreamOut => 1,
            Self::Accumulate { count, f, seeds } if chunks => (*count).max(f.params.len().saturating_sub(seeds.len())),
            Self::Accumulate { count, .. } => *count,
        }
    }
}

/// What a variant without fields is read from. Of these serde itself does not refuse unknown fields.
fn no_fields<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(deserializer).map(|Nothing {}| ())
}
