//! What a stencil reads, and what stands for elements outside of its arrays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ArrayId, Lambda, Operand};

/// One read of a stencil.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    /// The array.
    pub array: ArrayId,
    /// Added to the index, one a dimension.
    pub offsets: Vec<i64>,
}

/// What a stencil reads of one array where a tap lies outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TapBoundary {
    /// The array.
    pub array: ArrayId,
    /// Its boundary.
    pub boundary: Boundary,
}

/// What stands for an element outside of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The nearest inside, per dimension.
    Clamp,
    /// Reflected without repeating the edge, as often as needed, per dimension.
    Mirror,
    /// Modulo the extent, per dimension.
    Wrap,
    /// A value, where any dimension is outside.
    Constant(Operand),
    /// A function of the index outside, where any dimension is.
    Function(Lambda),
}
