//! Shapes as types: how many dimensions an array has, and what an index of it is.

use fusebox_ir::term::TermId;

use crate::{
    arena::{self, At, here},
    elt::Elt,
    exp::{Exp, IntoExp, constant},
};

/// The number of dimensions of an array: [`Ix0`] to [`Ix8`].
///
/// Dimensions count from the outermost; the last is the innermost, and folds and scans run along it. Functions of any rank are
/// generic in a `Shape`, or in [`Dimensions`] where there has to be an innermost one.
#[diagnostic::on_unimplemented(message = "`{Self}` is no shape", note = "shapes are `Ix0` (scalars) to `Ix8`")]
pub trait Shape: Sized + Copy + 'static {
    /// The number of dimensions.
    const RANK: usize;
    /// An index or extents in a program: `()`, `Exp<i64>`, `(Exp<i64>, Exp<i64>)`, …
    type Index: AsIndex<Shape = Self> + IndexOf<Self> + IntoExp<Self::Element>;
    /// An index as an element of arrays: `()`, `i64`, `(i64, i64)`, …
    type Element: Elt;
    /// Known offsets, as of the taps of a stencil: `()`, `i64`, `(i64, i64)`, …
    type Offset: Copy;
    /// One dimension more.
    type Up: Shape;
    /// One dimension less: the innermost one is gone.
    type Down: Shape;

    /// An index of these parts, as many as there are dimensions.
    fn index(parts: &[Exp<i64>]) -> Self::Index;

    /// Offsets, from the outermost dimension.
    fn offsets(offset: Self::Offset) -> Vec<i64>;

    /// An index that is an element of an array.
    fn from_element(element: Exp<Self::Element>) -> Self::Index {
        let parts: Vec<_> = (0..Self::RANK).map(|i| element.component::<i64>(i)).collect();
        Self::index(&parts)
    }
}

/// Shapes of at least one dimension.
#[diagnostic::on_unimplemented(
    message = "an array of shape `{Self}` has no innermost dimension to work along",
    note = "scalars (`Ix0`) are read with `.get()`"
)]
pub trait Dimensions: Fits + Shape<Down: Shape<Up = Self>> {}

/// Shapes that arrays may have: at most eight dimensions.
#[diagnostic::on_unimplemented(message = "an array has at most eight dimensions", label = "one dimension too many")]
pub trait Fits: Shape {}

/// What can be extents or an index: a number, an `Exp<i64>`, a scalar array, tuples of these from the outermost dimension, and
/// elements `Exp<(i64, i64)>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither extents nor an index",
    label = "expected `i64`s, as many as there are dimensions",
    note = "an index is an `i64` or `Exp<i64>`, or a tuple of them from the outermost dimension; convert with `.cast::<i64>()`"
)]
pub trait AsIndex: Copy {
    /// As many dimensions as there are parts.
    type Shape: Shape;

    /// The parts, from the outermost.
    fn parts(self) -> Vec<Exp<i64>>;
}

/// An index of arrays of shape `Sh`: what [`AsIndex`] is of that shape.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no index of an array of shape `{Sh}`",
    label = "expected as many `i64`s as the array has dimensions",
    note = "a vector is read by `xs.at(i)`, a matrix by `m.at((i, j))`; a row of it is `m.slice((i, ..))`, a row-major position `m.at_position(p)`",
    note = "parts are `i64` or `Exp<i64>`; convert with `.cast::<i64>()`"
)]
pub trait IndexOf<Sh: Shape>: AsIndex<Shape = Sh> {}

/// One part of an index, one extent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no extent or part of an index",
    note = "it is an `i64` or an `Exp<i64>`; convert with `.cast::<i64>()`"
)]
pub trait Dim: Copy {
    /// The handle.
    fn dim(self) -> Exp<i64>;
}

impl Dim for i64 {
    #[track_caller]
    fn dim(self) -> Exp<i64> {
        constant(self)
    }
}
impl Dim for Exp<i64> {
    fn dim(self) -> Exp<i64> {
        self
    }
}

macro_rules! one_dimension {
    ($($one:ty)*) => {$(
        impl AsIndex for $one {
            type Shape = Ix1;
            #[track_caller]
            fn parts(self) -> Vec<Exp<i64>> {
                vec![self.dim()]
            }
        }
        impl IndexOf<Ix1> for $one {}
    )*};
}
one_dimension! { i64 Exp<i64> }

impl AsIndex for () {
    type Shape = Ix0;
    fn parts(self) -> Vec<Exp<i64>> {
        Vec::new()
    }
}
impl IndexOf<Ix0> for () {}

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident $rank:literal $up:ident $down:ident $index:ty, $element:ty => ($($x:ident)*);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl Shape for $name {
            const RANK: usize = $rank;
            type Index = $index;
            type Element = $element;
            type Offset = $element;
            type Up = $up;
            type Down = $down;
            #[allow(unused_variables, unused_mut, clippy::unused_unit)]
            fn index(parts: &[Exp<i64>]) -> Self::Index {
                let mut parts = parts.iter().copied();
                $(let $x = parts.next().unwrap_or_else(|| constant(0i64));)*
                shapes!(@tuple $($x)*)
            }
            fn offsets(offset: Self::Offset) -> Vec<i64> {
                let shapes!(@pattern $($x)*) = offset;
                vec![$($x),*]
            }
        }
    )*};
    (@tuple $x:ident) => { $x };
    (@tuple $($x:ident)*) => { ($($x),*) };
    (@pattern $x:ident) => { $x };
    (@pattern $($x:ident)*) => { ($($x),*) };
}
type E = Exp<i64>;
shapes! {
    /// Scalars: no dimensions.
    Ix0 0 Ix1 Ix0 (), () => ();
    /// Vectors.
    Ix1 1 Ix2 Ix0 E, i64 => (a);
    /// Matrices: row, column.
    Ix2 2 Ix3 Ix1 (E, E), (i64, i64) => (a b);
    /// Three dimensions.
    Ix3 3 Ix4 Ix2 (E, E, E), (i64, i64, i64) => (a b c);
    /// Four dimensions.
    Ix4 4 Ix5 Ix3 (E, E, E, E), (i64, i64, i64, i64) => (a b c d);
    /// Five dimensions.
    Ix5 5 Ix6 Ix4 (E, E, E, E, E), (i64, i64, i64, i64, i64) => (a b c d e);
    /// Six dimensions.
    Ix6 6 Ix7 Ix5 (E, E, E, E, E, E), (i64, i64, i64, i64, i64, i64) => (a b c d e f);
    /// Seven dimensions.
    Ix7 7 Ix8 Ix6 (E, E, E, E, E, E, E), (i64, i64, i64, i64, i64, i64, i64) => (a b c d e f g);
    /// Eight dimensions, the most there are.
    Ix8 8 Ix9 Ix7 (E, E, E, E, E, E, E, E), (i64, i64, i64, i64, i64, i64, i64, i64) => (a b c d e f g h);
    /// One dimension too many: no array has this shape, which is found when the host program is compiled.
    #[doc(hidden)]
    Ix9 9 Ix9 Ix8 (E, E, E, E, E, E, E, E, E), (i64, i64, i64, i64, i64, i64, i64, i64, i64) => (a b c d e f g h i);
}
macro_rules! fits {
    ($($shape:ident)*) => {$(impl Fits for $shape {})*};
}
fits! { Ix0 Ix1 Ix2 Ix3 Ix4 Ix5 Ix6 Ix7 Ix8 }
impl Dimensions for Ix1 {}
impl Dimensions for Ix2 {}
impl Dimensions for Ix3 {}
impl Dimensions for Ix4 {}
impl Dimensions for Ix5 {}
impl Dimensions for Ix6 {}
impl Dimensions for Ix7 {}
impl Dimensions for Ix8 {}

macro_rules! tuple_indices {
    ($($shape:ident ($($d:ident $i:tt),*) ($($t:ty),*);)*) => {$(
        impl<$($d: Dim),*> AsIndex for ($($d,)*) {
            type Shape = $shape;
            #[track_caller]
            fn parts(self) -> Vec<Exp<i64>> {
                vec![$(self.$i.dim()),*]
            }
        }
        impl<$($d: Dim),*> IndexOf<$shape> for ($($d,)*) {}
        impl IndexOf<$shape> for Exp<($($t,)*)> {}
        impl AsIndex for Exp<($($t,)*)> {
            type Shape = $shape;
            fn parts(self) -> Vec<Exp<i64>> {
                (0..<$shape as Shape>::RANK).map(|i| self.component(i)).collect()
            }
        }
    )*};
}
tuple_indices! {
    Ix1 (A 0) (i64);
    Ix2 (A 0, B 1) (i64, i64);
    Ix3 (A 0, B 1, C 2) (i64, i64, i64);
    Ix4 (A 0, B 1, C 2, D 3) (i64, i64, i64, i64);
    Ix5 (A 0, B 1, C 2, D 3, E_ 4) (i64, i64, i64, i64, i64);
    Ix6 (A 0, B 1, C 2, D 3, E_ 4, F 5) (i64, i64, i64, i64, i64, i64);
    Ix7 (A 0, B 1, C 2, D 3, E_ 4, F 5, G 6) (i64, i64, i64, i64, i64, i64, i64);
    Ix8 (A 0, B 1, C 2, D 3, E_ 4, F 5, G 6, H 7) (i64, i64, i64, i64, i64, i64, i64, i64);
    Ix9 (A 0, B 1, C 2, D 3, E_ 4, F 5, G 6, H 7, I 8) (i64, i64, i64, i64, i64, i64, i64, i64, i64);
}

/// The terms of the parts of an index.
#[track_caller]
pub(crate) fn index_terms<I: AsIndex>(index: I, at: At) -> Vec<TermId> {
    index.parts().into_iter().map(|part| part.term(at)).collect()
}

/// The terms of extents; those known to be negative are noted.
#[track_caller]
pub(crate) fn extent_terms<I: AsIndex>(index: I, at: At) -> Vec<TermId> {
    let terms = index_terms(index, at);
    for &term in &terms {
        if let Some(extent) = arena::value_of(term).and_then(fusebox_ir::Constant::as_i64).filter(|&e| e < 0) {
            arena::problem(crate::error::Mistake::NegativeExtent { extent }, at);
        }
    }
    terms
}

/// The number of elements within extents.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| shape_size((3, 4))), 12);
/// ```
#[track_caller]
pub fn shape_size<I: AsIndex>(extents: I) -> Exp<i64> {
    let at = here();
    let terms = index_terms(extents, at);
    Exp::from_terms(&[product(&terms, at)])
}

pub(crate) fn product(terms: &[TermId], at: At) -> TermId {
    terms
        .iter()
        .copied()
        .reduce(|a, b| arena::size(fusebox_ir::Binary::Mul, a, b, at))
        .unwrap_or_else(|| arena::constant(1i64, at))
}

/// The row-major position of an index within extents.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| to_position((3, 4), (1, 2))), 6);
/// ```
#[track_caller]
pub fn to_position<I: AsIndex, J: AsIndex<Shape = I::Shape>>(extents: I, index: J) -> Exp<i64> {
    let pairs = extents.parts().into_iter().zip(index.parts());
    pairs
        .fold(None, |position: Option<Exp<i64>>, (extent, i)| Some(position.map_or(i, |p| p * extent + i)))
        .unwrap_or_else(|| constant(0i64))
}

/// The index at a row-major position within extents.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| lift::<(i64, i64)>(from_position((3, 4), 6))), (1, 2));
/// ```
#[track_caller]
pub fn from_position<I: AsIndex>(extents: I, position: impl IntoExp<i64>) -> <I::Shape as Shape>::Index {
    let extents = extents.parts();
    let mut rest = position.into_exp();
    let mut parts = Vec::with_capacity(extents.len());
    for (dimension, &extent) in extents.iter().enumerate().rev() {
        if dimension == 0 {
            parts.push(rest);
        } else {
            parts.push(rest % extent);
            rest = rest / extent;
        }
    }
    parts.reverse();
    I::Shape::index(&parts)
}

/// Per dimension the smaller extent.
#[track_caller]
pub fn intersect<I: AsIndex, J: AsIndex<Shape = I::Shape>>(a: I, b: J) -> <I::Shape as Shape>::Index {
    let at = here();
    let (a, b) = (index_terms(a, at), index_terms(b, at));
    let parts: Vec<Exp<i64>> = arena::meet(&a, &b, at).into_iter().map(|term| Exp::from_terms(&[term])).collect();
    I::Shape::index(&parts)
}

/// Per dimension the larger extent.
#[track_caller]
pub fn union<I: AsIndex, J: AsIndex<Shape = I::Shape>>(a: I, b: J) -> <I::Shape as Shape>::Index {
    let at = here();
    let (a, b) = (index_terms(a, at), index_terms(b, at));
    let larger = |(&a, &b)| Exp::from_terms(&[arena::size(fusebox_ir::Binary::Max, a, b, at)]);
    let parts: Vec<Exp<i64>> = a.iter().zip(&b).map(larger).collect();
    I::Shape::index(&parts)
}
