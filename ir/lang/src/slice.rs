//! Which dimensions a replicate or a slice keeps: tuples of [`All`], extents or indices, with [`Any`] at the front.

use fusebox_ir::term::TermId;

use crate::{
    acc::Acc,
    arena::At,
    array::Scalar,
    exp::Exp,
    shape::{Dim, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, Ix7, Ix8, Shape},
};

/// Keeps a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct All;

/// Keeps all outer dimensions; at the front of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Any;

/// One dimension of a replicate or slice: [`All`], or an extent or index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no dimension of a replicate or slice",
    note = "a dimension is `All`, or an extent or index: an `i64` or an `Exp<i64>`"
)]
pub trait SliceDim: Copy {
    /// `Sh`, and a dimension more if this one is kept.
    type Kept<Sh: Shape>: Shape;
    /// `Sh`, and a dimension more if this one is an extent.
    type Added<Sh: Shape>: Shape;
    /// `Sh`, and a dimension less if this one is fixed.
    type Fixed<Sh: Shape>: Shape;

    /// The extent or index; `None` of `All`.
    fn slice_dim(self, at: At) -> Option<TermId>;
}

impl SliceDim for All {
    type Kept<Sh: Shape> = Sh::Up;
    type Added<Sh: Shape> = Sh;
    type Fixed<Sh: Shape> = Sh;
    fn slice_dim(self, _: At) -> Option<TermId> {
        None
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl SliceDim for $number {
            type Kept<Sh: Shape> = Sh;
            type Added<Sh: Shape> = Sh::Up;
            type Fixed<Sh: Shape> = Sh::Down;
            fn slice_dim(self, at: At) -> Option<TermId> {
                Some(self.dim().term(at))
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
    label = "an `All` or an index for each dimension of the array",
    note = "for a matrix: `(i, All)`, `(All, j)`, or `(Any, j)`"
)]
pub trait SliceSpec<Sh: Shape> {
    /// The shape of the result.
    type Result: Shape;

    /// From the outermost: an index, or `None` to keep.
    #[doc(hidden)]
    fn dims(self, at: At, rank: usize) -> Vec<Option<TermId>>;
}

/// Two shapes that are the same.
pub trait Same<Sh: Shape> {}
impl<Sh: Shape> Same<Sh> for Sh {}

macro_rules! nested {
    ($kind:ident $start:ty;) => { $start };
    ($kind:ident $start:ty; $d:ident $($rest:ident)*) => { nested!($kind <$d as SliceDim>::$kind<$start>; $($rest)*) };
}

macro_rules! specs {
    ($($shape:ident $($d:ident $i:tt),*;)*) => {$(
        impl<Sh: Shape, $($d: SliceDim),*> ReplicateSpec<Sh> for ($($d,)*)
        where
            nested!(Kept Ix0; $($d)*): Same<Sh>,
        {
            type Result = $shape;
            fn dims(self, at: At, _: usize) -> Vec<Option<TermId>> {
                vec![$(self.$i.slice_dim(at)),*]
            }
        }
        impl<$($d: SliceDim),*> SliceSpec<$shape> for ($($d,)*) {
            type Result = nested!(Kept Ix0; $($d)*);
            fn dims(self, at: At, _: usize) -> Vec<Option<TermId>> {
                vec![$(self.$i.slice_dim(at)),*]
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
        impl<Sh: Shape, $($d: SliceDim),*> ReplicateSpec<Sh> for (Any, $($d),*) {
            type Result = nested!(Added Sh; $($d)*);
            fn dims(self, at: At, rank: usize) -> Vec<Option<TermId>> {
                let named: Vec<Option<TermId>> = vec![$(self.$i.slice_dim(at)),*];
                let kept = named.iter().filter(|dim| dim.is_none()).count();
                let mut dims = vec![None; rank.saturating_sub(kept)];
                dims.extend(named);
                dims
            }
        }
        impl<Sh: Shape, $($d: SliceDim),*> SliceSpec<Sh> for (Any, $($d),*) {
            type Result = nested!(Fixed Sh; $($d)*);
            fn dims(self, at: At, rank: usize) -> Vec<Option<TermId>> {
                let named: Vec<Option<TermId>> = vec![$(self.$i.slice_dim(at)),*];
                let mut dims = vec![None; rank.saturating_sub(named.len())];
                dims.extend(named);
                dims
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
