//! The marks of a cluster: how each of its bindings is fused with the others, and in which order it runs over its elements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ArrayId;

/// How a binding of a cluster is fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Used later inside, no result.
    Vertical,
    /// Both used inside and a result.
    Diagonal,
    /// A result only.
    Horizontal,
    /// The last of the cluster.
    Last,
}

/// The order in which a cluster, or a binding of it, runs over its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// From the first.
    #[default]
    Ascending,
    /// From the last.
    Descending,
    /// That in which a `backpermute` (`transform`, `replicate`, `slice`) reads, named by its (first) result.
    Of(ArrayId),
}

impl Order {
    pub(crate) fn is_ascending(&self) -> bool {
        *self == Self::Ascending
    }
}

/// The mark of a binding in a cluster, and its order where directions differ inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterMark {
    /// Of all the binding's results.
    pub mark: Mark,
    /// Where it differs from the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
}
