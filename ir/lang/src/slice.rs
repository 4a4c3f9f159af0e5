//! Which dimensions a replicate or a slice keeps: tuples of [`All`], extents, indices or ranges, with [`Any`] at the front.

mod range;

use fusebox_ir::term::TermId;

use crate::{
    acc::Acc,
    arena::At,
    array::Scalar,
    exp::Exp,
    shape::{Dim, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, Ix7, Ix8, Shape},
};

pub use self::range::{Bound, Indices, Stepped};

/// Keeps a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct All;

/// Keeps all outer dimensions; at the front of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Any;

/// One dimension of a replicate: [`All`], or the extent of a new dimension.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no dimension of a replicate",
    note = "a dimension is `All`, or an extent: an `i64` or an `Exp<i64>`"
)]
pub trait ReplicateDim: Copy {
    /// `Sh`, and a dimension more if this one is kept.
    type Kept<Sh: Shape>: Shape;
    /// `Sh`, and a dimension more if this one is an extent.
    type Added<Sh: Shape>: Shape;

    /// The extent; `None` of `All`.
    #[doc(hidden)]
    fn extent(self, at: At) -> Option<TermId>;
}

/// One dimension of a slice: [`All`] or `..`, an index, or a range of indices such as `1..-1`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no dimension of a slice",
    note = "a dimension is `..` or `All`, an index (an `i64` or an `Exp<i64>`), or a range such as `1..-1`"
)]
pub trait SliceDim {
    /// `Sh`, and a dimension more if this one is kept.
    type Kept<Sh: Shape>: Shape;
    /// `Sh`, and a dimension less if this one is fixed.
    type Fixed<Sh: Shape>: Shape;

    /// What is taken of a dimension of this extent.
    #[doc(hidden)]
    fn select(self, extent: TermId, at: At) -> Selected;
}

/// What a slice takes of a dimension.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Selected {
    /// All of it.
    All,
    /// One index; the dimension is gone.
    Index(TermId),
    /// So many indices from the first, each a step further.
    Range {
        /// The first.
        start: TermId,
        /// How many.
        count: TermId,
        /// From one to the next, at least 1.
        step: i64,
    },
}

impl ReplicateDim for All {
    type Kept<Sh: Shape> = Sh::Up;
    type Added<Sh: Shape> = Sh;
    fn extent(self, _: At) -> Option<TermId> {
        None
    }
}

impl SliceDim for All {
    type Kept<Sh: Shape> = Sh::Up;
    type Fixed<Sh: Shape> = Sh;
    fn select(self, _: TermId, _: At) -> Selected {
        Selected::All
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl ReplicateDim for $number {
            type Kept<Sh: Shape> = Sh;
            type Added<Sh: Shape> = Sh::Up;
            fn extent(self, at: At) -> Option<TermId> {
                Some(self.dim().term(at))
            }
        }
        impl SliceDim for $number {
            type Kept<Sh: Shape> = Sh;
            type Fixed<Sh: Shape> = Sh::Down;
            fn select(self, _: TermId, at: At) -> Selected {
                Selected::Index(self.dim().term(at))
            }
        }
    )*};
}
numbers! { i64 Exp<i64> Acc<Scalar<i64>> }

/// The dimensions of a replicate of an array of shape `Sh`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to replicate an array of shape `{Sh}`",
    label = "as many `All` as the array has dimensions, and extents for the new ones",
    note = "for a matrix: `(n, All, All)`, `(All, n, All)`, or `(Any, n)`"
)]
pub trait ReplicateSpec<Sh: Shape> {
    /// The shape of the result.
    type Result: Shape;

    /// From the outermost: an extent, or `None` to keep.
    #[doc(hidden)]
    fn dims(self, at: At, rank: usize) -> Vec<Option<TermId>>;
}

/// The dimensions of a slice of an array of shape `Sh`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to slice an array of shape `{Sh}`",
    label = "`..`, an index or a range for each dimension of the array",
    note = "for a matrix: `(i, ..)`, `(.., j)`, `(Any, j)`, `(1..-1, ..)`, or a range of rows: `1..-1`"
)]
pub trait SliceSpec<Sh: Shape> {
    /// The shape of the result.
    type Result: Shape;

    /// What is taken of each dimension, from the outermost.
    #[doc(hidden)]
    fn select(self, extents: &[TermId], at: At) -> Vec<Selected>;
}

/// Two shapes that are the same.
pub trait Same<Sh: Shape> {}
impl<Sh: Shape> Same<Sh> for Sh {}

macro_rules! nested {
    ($of:ident $kind:ident $start:ty;) => { $start };
    ($of:ident $kind:ident $start:ty; $d:ident $($rest:ident)*) => { nested!($of $kind <$d as $of>::$kind<$start>; $($rest)*) };
}

macro_rules! specs {
    ($($shape:ident $($d:ident $i:tt),*;)*) => {$(
        impl<Sh: Shape, $($d: ReplicateDim),*> ReplicateSpec<Sh> for ($($d,)*)
        where
            nested!(ReplicateDim Kept Ix0; $($d)*): Same<Sh>,
        {
            type Result = $shape;
            fn dims(self, at: At, _: usize) -> Vec<Option<TermId>> {
                vec![$(self.$i.extent(at)),*]
            }
        }
        impl<$($d: SliceDim),*> SliceSpec<$shape> for ($($d,)*) {
            type Result = nested!(SliceDim Kept Ix0; $($d)*);
            fn select(self, extents: &[TermId], at: At) -> Vec<Selected> {
                vec![$(self.$i.select(extents[$i], at)),*]
            }
        }
    )*};
}
specs! {
    Ix1 A 0;
    Ix2 A 0, B 1;
    Ix3 A 0, B 1, C 2;
    Ix4 A 0, B 1, C 2, D 3;
    Ix5 A 0, B 1, C 2, D 3, E 4;
    Ix6 A 0, B 1, C 2, D 3, E 4, F 5;
    Ix7 A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    Ix8 A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}

macro_rules! any_specs {
    ($($($d:ident $i:tt),*;)*) => {$(
        impl<Sh: Shape, $($d: ReplicateDim),*> ReplicateSpec<Sh> for (Any, $($d),*) {
            type Result = nested!(ReplicateDim Added Sh; $($d)*);
            fn dims(self, at: At, rank: usize) -> Vec<Option<TermId>> {
                let named: Vec<Option<TermId>> = vec![$(self.$i.extent(at)),*];
                let kept = named.iter().filter(|dim| dim.is_none()).count();
                let mut dims = vec![None; rank.saturating_sub(kept)];
                dims.extend(named);
                dims
            }
        }
        impl<Sh: Shape, $($d: SliceDim),*> SliceSpec<Sh> for (Any, $($d),*) {
            type Result = nested!(SliceDim Fixed Sh; $($d)*);
            fn select(self, extents: &[TermId], at: At) -> Vec<Selected> {
                let named = [$(stringify!($d)),*].len();
                let outer = extents.len().saturating_sub(named);
                let mut all = vec![Selected::All; outer];
                // Where more dimensions are named than there are, their number says so to whoever slices.
                let mut extents = extents[outer..].iter().copied();
                let mut next = || extents.next().unwrap_or_else(|| crate::arena::constant(0i64, at));
                $(all.push(self.$i.select(next(), at));)*
                all
            }
        }
    )*};
}
any_specs! {
    A 1;
    A 1, B 2;
    A 1, B 2, C 3;
    A 1, B 2, C 3, D 4;
}
