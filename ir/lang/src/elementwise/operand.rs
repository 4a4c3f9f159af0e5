//! What a function on arrays takes beside an array: another array, or the same scalar for all elements.

use fusebox_ir::{ElementType, term::TermId};

use super::{agree::agreed, stretch::stretched};
use crate::{
    acc::{Acc, Parts},
    arena::At,
    array::{Array, Scalar},
    elt::Elt,
    exp::{Exp, function, parameters},
    ops::map::map_terms,
    shape::{Dimensions, Shape},
};

/// What stands beside an array of shape `Sh` in a function of elements: an array of equal extents, or a scalar for all elements, which
/// is an `Exp<T>`, a number of Rust, or an array of rank 0.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined by element with an array of shape `{Sh}` and elements `{T}`",
    label = "expected an array of this shape and these elements, or a scalar `{T}`",
    note = "elements become others with `.cast::<{T}>()`; `.broadcast(extents)` and `.expand_axis(axis)` add dimensions"
)]
pub trait Operand<Sh: Shape, T: Elt>: Copy {
    #[doc(hidden)]
    fn operand(self) -> Given<Sh, T>;
}

/// An array or a scalar.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Given<Sh: Shape, T: Elt> {
    Array(Acc<Array<Sh, T>>),
    Scalar(Exp<T>),
}

impl<Sh: Dimensions, T: Elt> Operand<Sh, T> for Acc<Array<Sh, T>> {
    fn operand(self) -> Given<Sh, T> {
        Given::Array(self)
    }
}
impl<Sh: Shape, T: Elt> Operand<Sh, T> for Acc<Scalar<T>> {
    #[track_caller]
    fn operand(self) -> Given<Sh, T> {
        Given::Scalar(self.get())
    }
}
impl<Sh: Shape, T: Elt> Operand<Sh, T> for Exp<T> {
    fn operand(self) -> Given<Sh, T> {
        Given::Scalar(self)
    }
}
macro_rules! numbers {
    ($($rust:ty)*) => {$(
        impl<Sh: Shape> Operand<Sh, $rust> for $rust {
            #[track_caller]
            fn operand(self) -> Given<Sh, $rust> {
                Given::Scalar(crate::exp::constant(self))
            }
        }
    )*};
}
numbers! { bool i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64 }

/// A map in the making: its parameters, and the arrays that it reads.
#[derive(Default)]
struct Reads {
    params: Vec<TermId>,
    /// Each array with the types of its elements.
    arrays: Vec<(Parts, Vec<ElementType>)>,
}

impl Reads {
    /// The element of an operand.
    fn add<Sh: Shape, T: Elt>(&mut self, operand: Given<Sh, T>, name: &str, at: At) -> Exp<T> {
        match operand {
            Given::Scalar(scalar) => scalar,
            Given::Array(array) => {
                self.arrays.push((array.parts(at), T::types()));
                let (x, params) = parameters::<T>(name, at);
                self.params.extend(params);
                x
            }
        }
    }

    fn map<Sh: Shape, R: Elt>(self, result: Exp<R>, at: At) -> Acc<Array<Sh, R>> {
        let all = self.arrays.iter().map(|(parts, _)| parts.extents.clone());
        let extents = all.reduce(|a, b| agreed(&a, &b, at)).unwrap_or_default();
        let stretch = |(parts, elements): (Parts, Vec<ElementType>)| stretched(parts, &elements, &extents, at);
        let sources = self.arrays.into_iter().flat_map(|array| stretch(array).sources()).collect();
        let f = function::<R>(self.params, result, at);
        Acc::new(&extents, &map_terms(f, sources, &extents, R::types(), at))
    }
}

/// `f` of each element.
pub(super) fn apply<Sh: Shape, A: Elt, R: Elt>(
    f: impl FnOnce(Exp<A>) -> Exp<R>,
    xs: Acc<Array<Sh, A>>,
    at: At,
) -> Acc<Array<Sh, R>> {
    let mut reads = Reads::default();
    let x = reads.add(Given::Array(xs), "x", at);
    reads.map(f(x), at)
}

/// `f` of the elements of two operands, one of which at least is an array.
pub(super) fn combine<Sh: Shape, A: Elt, B: Elt, R: Elt>(
    f: impl FnOnce(Exp<A>, Exp<B>) -> Exp<R>,
    xs: Given<Sh, A>,
    ys: Given<Sh, B>,
    at: At,
) -> Acc<Array<Sh, R>> {
    let mut reads = Reads::default();
    let (x, y) = (reads.add(xs, "x", at), reads.add(ys, "y", at));
    reads.map(f(x, y), at)
}

/// `f` of the elements of three operands, one of which at least is an array.
pub(super) fn combine3<Sh: Shape, A: Elt, B: Elt, C: Elt, R: Elt>(
    f: impl FnOnce(Exp<A>, Exp<B>, Exp<C>) -> Exp<R>,
    xs: Given<Sh, A>,
    ys: Given<Sh, B>,
    zs: Given<Sh, C>,
    at: At,
) -> Acc<Array<Sh, R>> {
    let mut reads = Reads::default();
    let (x, y, z) = (reads.add(xs, "x", at), reads.add(ys, "y", at), reads.add(zs, "z", at));
    reads.map(f(x, y, z), at)
}
