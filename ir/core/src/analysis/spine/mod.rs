//! Whether operations can be one nest of loops, and where in it each of them stands.
//!
//! The one analysis that `validate` (property `Clustered`), clustering and the making of kernels share: what it accepts is lowered to one
//! kernel, and what it refuses is no cluster. A nest is a list of levels, one inside the other and none beside another. Each operation
//! stands at a depth of it, before or after what is deeper:
//!
//! - Arrays of equal extents share levels, a level for each dimension. Beside a `scanl` or `scanr`, whose results have one element more,
//!   a level has as many steps as the longest of what runs over it; the others leave out what is beyond their own extent.
//! - What is made before a deeper level may be used in it (`replicate` along new inner dimensions); what a fold makes is there after it.
//! - Segmented operations stand in a level over segments and one over the elements of each; arrays of as many elements may run there too.
//!   Where the segments are the elements of other segments, these are a level around, and so on.
//! - What a `replicate_seg` repeats, or a `backpermute` reads at the segment that each element stands in, was made before the elements of that
//!   segment.
//! - The elements of `expand` and `filter` are used where they are met: nothing knows their positions. What is filled without sources, as many
//!   times, is made where they are met; and an `expand` of such elements is a level inside.
//! - What a `backpermute` reads is made in its order, element by element, by operations whose results nobody else needs.

mod access;
mod chain;
mod orders;
mod placement;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    ArrayId, ArrayOp, Binding, Extent, LevelOrder, Type,
    analysis::Sizes,
    operations::{RunsOver, Signature},
};

pub use self::access::{fills, follows};
pub use crate::operations::makes_elements;

/// Operations that are to be one nest.
#[derive(Clone, Copy)]
pub struct Members<'a> {
    /// In program order; what one of them uses of another stands before it.
    pub bindings: &'a [&'a Binding],
    /// Whether a result of theirs is used outside, and so stored.
    pub manifest: &'a dyn Fn(ArrayId) -> bool,
    /// Types of values that they use and do not make.
    pub type_of: &'a dyn Fn(ArrayId) -> Option<&'a Type>,
    /// What is known of sizes.
    pub sizes: &'a Sizes,
}

/// A nest, and where each operation stands in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spine {
    /// From the outermost.
    pub levels: Vec<SpineLevel>,
    /// One for each operation, in order.
    pub placements: Vec<Placement>,
    /// The filter whose elements, or what is made of them, are put one behind the other: its position.
    pub appended: Option<usize>,
}

/// A level of a nest.
#[derive(Clone, Debug, PartialEq)]
pub struct SpineLevel {
    /// What it runs over.
    pub over: Over,
    /// In which order.
    pub order: LevelOrder,
}

/// What a level runs over.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// From 0 to an extent.
    Extent(Extent),
    /// Segments: from 0 to one less than there are offsets.
    Segments(ArrayId),
    /// The elements of the segment of the level around it, which runs over segments, or over elements of other segments.
    Elements(ArrayId),
    /// The elements that an `expand` or `permuted_expand` makes of one: its position.
    Inner(usize),
}

/// Where an operation stands in a nest: at the point where the elements of its sources are met.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The number of levels around it.
    pub depth: u32,
    /// Whether it stands after what is deeper.
    pub after: bool,
    /// The order in which it makes its elements.
    pub iteration_order: IterationOrder,
    /// The level and the extent of each dimension that it runs over. Empty unless its order is that of the levels.
    pub dims: Vec<DimMap>,
    /// The depth at which the results of folds and the totals of scans are known: outside of the innermost dimension.
    pub to: u32,
    /// Whether the level of a `scanl` or `scanr` has a step for each of its results, of which there is one more than of its elements.
    pub longer: bool,
    /// The offsets of the segments that it runs in and reads at: each element reads what belongs to its segment.
    pub row: Option<ArrayId>,
    /// Whether the results of an `expand` are stored. Their positions are then counted before.
    pub stored: bool,
}

/// The order in which an operation makes its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationOrder {
    /// The order of the levels.
    Own,
    /// The order in which the operation at this position reads by an index that it computes.
    Through(usize),
    /// The order of the elements that the `expand` or `filter` at this position makes.
    Counted(usize),
}

/// Which level of a nest a dimension of an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DimMap {
    /// The position of the level.
    pub level: usize,
    /// The extent of the dimension.
    pub extent: Extent,
    /// Whether the level has more steps than this extent.
    pub short: bool,
}

/// Two operations that cannot share a nest. If one alone is the reason, both positions are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The position of the earlier one.
    pub first: usize,
    /// The position of the later one.
    pub second: usize,
    /// Why.
    pub why: Why,
}

/// Why operations cannot share a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It does not make elements in one pass.
    Kind,
    /// The second needs all of the first before it begins.
    Whole,
    /// The first is read in two orders.
    TwoOrders,
    /// The first is stored in its own order, and the second reads it in another.
    StoredInOrder,
    /// The second reads it in an order of its own, and the first does not make each element by itself.
    NotElementwise,
    /// The second may not need what it would make of the first.
    ByNeed,
    /// Their extents are not known to be equal.
    Extents,
    /// Levels would stand beside each other.
    Beside,
    /// The first is known only after the level in which the second needs it.
    After,
    /// One runs up, the other down.
    Directions,
    /// The second is in the order of its elements, and the level runs down.
    SourceOrder,
    /// Their segments are not the same.
    Segments,
    /// The second needs positions among elements that are counted as they are met.
    Positions,
    /// Two groups of elements whose numbers are known only at the end.
    Appends,
    /// The elements are counted before they are stored, out of sources that must be there.
    Counted,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "it does not make its elements in one pass over memory",
            Self::Whole => "the second needs all of the first before it begins",
            Self::TwoOrders => "the first would be read in two orders",
            Self::StoredInOrder => "the first is stored in its own order, and the second reads it in another",
            Self::NotElementwise => "the second reads in an order of its own what is not made element by element",
            Self::ByNeed => "the second may not need what would be made of the first",
            Self::Extents => "their extents are not known to be equal",
            Self::Beside => "their inner loops would stand beside each other",
            Self::After => "the first is known only after the loop in which the second needs it",
            Self::Directions => "one runs up, the other down",
            Self::SourceOrder => "one keeps to the order of its elements, and the other runs down",
            Self::Segments => "their segments are not the same",
            Self::Positions => "the second needs positions among elements that are counted as they are met",
            Self::Appends => "the numbers of elements of both are known only at the end",
            Self::Counted => "elements are counted before they are stored, and that needs the first before",
        })
    }
}

/// Finds the nest of some operations. Of one operation that makes elements there always is one.
///
/// # Errors
/// [`Conflict`] names the first two operations found that cannot share a nest. There may be others.
pub fn spine(members: &Members<'_>) -> Result<Spine, Conflict> {
    let own = members
        .bindings
        .iter()
        .enumerate()
        .flat_map(|(position, binding)| {
            binding.results.iter().enumerate().map(move |(index, var)| (var.id, Made { position, index }))
        })
        .collect();
    let finder = Finder::new(*members, own);
    if let Some(position) = members.bindings.iter().position(|binding| !makes_elements(&binding.op)) {
        return Err(conflict(position, position, Why::Kind));
    }
    let uses = access::uses(&finder)?;
    let iteration_orders = access::iteration_orders(&finder, &uses)?;
    let mut nest = placement::Nest::of(&finder, &uses, &iteration_orders)?;
    nest.stand(&finder, &uses)?;
    orders::all(&finder, &mut nest)?;
    nest.finish(&finder)
}

fn conflict(first: usize, second: usize, why: Why) -> Conflict {
    Conflict { first: first.min(second), second: first.max(second), why }
}

/// A result of one of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Made {
    position: usize,
    index: usize,
}

struct Finder<'a> {
    members: Members<'a>,
    own: HashMap<ArrayId, Made>,
    /// What the table says of each operation.
    signatures: Vec<Signature<'a>>,
}

impl<'a> Finder<'a> {
    fn new(members: Members<'a>, own: HashMap<ArrayId, Made>) -> Self {
        let mut finder = Self { members, own, signatures: Vec::new() };
        let rank = |id: ArrayId| Some(finder.extents(id).len());
        finder.signatures = members.bindings.iter().map(|binding| Signature::of(binding, &rank)).collect();
        finder
    }

    fn binding(&self, position: usize) -> &'a Binding {
        self.members.bindings[position]
    }

    fn op(&self, position: usize) -> &'a ArrayOp {
        &self.binding(position).op
    }

    fn len(&self) -> usize {
        self.members.bindings.len()
    }

    fn extents(&self, id: ArrayId) -> &'a [Extent] {
        match self.own.get(&id) {
            Some(made) => &self.binding(made.position).results[made.index].ty.extents,
            None => (self.members.type_of)(id).map_or(&[], |ty| &ty.extents),
        }
    }

    fn is_manifest(&self, made: Made) -> bool {
        (self.members.manifest)(self.binding(made.position).results[made.index].id)
    }

    /// The extents that an operation runs over: of its results, or of what it traverses.
    fn traversed(&self, position: usize) -> &'a [Extent] {
        match self.signatures[position].runs_over {
            RunsOver::Array(array) => self.extents(array),
            RunsOver::Result | RunsOver::Nothing => {
                self.binding(position).results.first().map_or(&[], |var| &var.ty.extents)
            }
        }
    }
}
