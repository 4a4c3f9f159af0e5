//! Handles of array computations.

use std::marker::PhantomData;

use fusebox_ir::{ArrayId, ArrayOp, ElementType, ScalarOp, Type, term::TermId};

use crate::{
    arena::{self, At, Run, here, local},
    array::{Array, Scalar, Vector},
    elt::Elt,
    exp::Exp,
    shape::{AsIndex, Dim, IndexOf, Ix1, Shape, index_terms, product},
};

/// An array computation: a handle, freely copied, of `Vector<f32>`, `Matrix<i64>`, `Array<Ix3, T>`, `Scalar<T>`.
///
/// It stands for terms of the program being built: an extent for each dimension and an array for each component of its elements.
/// Using it several times computes it once.
pub struct Acc<A> {
    run: Run,
    of: PhantomData<fn() -> A>,
}

impl<A> Clone for Acc<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A> Copy for Acc<A> {}

impl<A> std::fmt::Debug for Acc<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Acc<{}>({:?})", std::any::type_name::<A>(), self.run)
    }
}

impl<A> Acc<A> {
    pub(crate) fn from_run(run: Run) -> Self {
        Self { run, of: PhantomData }
    }

    pub(crate) fn run(self) -> Run {
        self.run
    }
}

/// What a handle of an array stands for.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// An `i64` for each dimension, from the outermost.
    pub(crate) extents: Vec<TermId>,
    /// An array for each component.
    pub(crate) arrays: Vec<TermId>,
}

impl Parts {
    /// The arrays as operands.
    pub(crate) fn sources(&self) -> Vec<ArrayId> {
        arena::array_ids(&self.arrays)
    }
}

impl<Sh: Shape, T: Elt> Acc<Array<Sh, T>> {
    pub(crate) fn new(extents: &[TermId], arrays: &[TermId]) -> Self {
        const { assert!(Sh::RANK <= fusebox_ir::MAX_RANK, "an array has at most eight dimensions") };
        debug_assert_eq!((extents.len(), arrays.len()), (Sh::RANK, T::COUNT), "a handle has what its type says");
        let all: Vec<TermId> = extents.iter().chain(arrays).copied().collect();
        Self::from_run(arena::run(&all))
    }

    /// The terms. Where the handle is of another program: empty arrays, and the mistake is noted.
    pub(crate) fn parts(self, at: At) -> Parts {
        match arena::terms(self.run, Sh::RANK + T::COUNT, at) {
            Some(mut extents) => {
                let arrays = extents.split_off(Sh::RANK);
                Parts { extents, arrays }
            }
            None => missing(Sh::RANK, &T::types(), at),
        }
    }

    /// The extents, from the outermost dimension: of a vector an `Exp<i64>`, of a matrix two. They are known without the array.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let (n, m) = (3, 4);
    /// let r = example::run(|| lift::<(i64, i64)>(generate((n, m), |(i, j)| i * j).shape()));
    /// assert_eq!(r, (3, 4));
    /// ```
    #[track_caller]
    pub fn shape(self) -> Sh::Index {
        let at = here();
        let extents: Vec<Exp<i64>> =
            self.parts(at).extents.into_iter().map(|extent| Exp::from_terms(&[extent])).collect();
        Sh::index(&extents)
    }

    /// The number of elements.
    #[track_caller]
    pub fn size(self) -> Exp<i64> {
        let at = here();
        Exp::from_terms(&[product(&self.parts(at).extents, at)])
    }

    /// Whether there are no elements.
    #[track_caller]
    pub fn null(self) -> Exp<bool> {
        self.size().eq_(0)
    }

    /// The element at an index; outside of the array an error at run time.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run(|| generate((3, 4), |(i, j)| 10 * i + j).at((1, 2)));
    /// assert_eq!(r, 12);
    /// ```
    #[track_caller]
    pub fn at<I: IndexOf<Sh>>(self, index: I) -> Exp<T> {
        let at = here();
        if Sh::RANK == 0 {
            return Exp::from_terms(&self.parts(at).arrays);
        }
        let index: Vec<_> = index_terms(index, at).into_iter().map(local).collect();
        self.read(at, |array| ScalarOp::Read { array, index: index.clone() })
    }

    /// The element at a row-major position; outside of the array an error at run time.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run(|| generate((3, 4), |(i, j)| 10 * i + j).at_position(6));
    /// assert_eq!(r, 12);
    /// ```
    #[track_caller]
    pub fn at_position(self, position: impl crate::IntoExp<i64>) -> Exp<T> {
        let at = here();
        let position = local(position.into_exp().term(at));
        self.read(at, |array| ScalarOp::ReadFlat { array, position })
    }

    fn read(self, at: At, op: impl Fn(ArrayId) -> ScalarOp) -> Exp<T> {
        let types = T::types();
        let arrays = self.parts(at).arrays;
        let terms: Vec<TermId> =
            arrays.iter().zip(types).map(|(array, ty)| arena::scalar(op(array.as_array()), ty, at)).collect();
        Exp::from_terms(&terms)
    }
}

impl<T: Elt> Acc<Scalar<T>> {
    /// The element of an array of rank 0.
    #[track_caller]
    pub fn get(self) -> Exp<T> {
        Exp::from_terms(&self.parts(here()).arrays)
    }
}

impl<T: Elt> Acc<Vector<T>> {
    /// The number of elements of a vector.
    #[track_caller]
    pub fn length(self) -> Exp<i64> {
        self.shape()
    }
}

/// A scalar as an array of rank 0.
#[track_caller]
pub fn unit<T: Elt>(value: impl crate::IntoExp<T>) -> Acc<Scalar<T>> {
    Acc::new(&[], &value.into_exp().terms(here()))
}

/// The element of an array of rank 0.
#[track_caller]
pub fn the<T: Elt>(scalar: Acc<Scalar<T>>) -> Exp<T> {
    scalar.get()
}

/// Arrays without elements, in place of those of another program.
pub(crate) fn missing(rank: usize, types: &[ElementType], at: At) -> Parts {
    let zero = arena::constant(0i64, at);
    let extents = vec![zero; rank];
    let arrays = types
        .iter()
        .map(|&element| {
            let op = ArrayOp::Constant { extents: vec![0; rank], values: Vec::new() };
            let ty = Type::array(arena::extents(&extents), element);
            arena::array_op(op, Vec::new(), Vec::new(), |_| vec![ty], at)[0]
        })
        .collect();
    Parts { extents, arrays }
}

/// The types of arrays of these extents, one for each component of `T`.
pub(crate) fn types_of<T: Elt>(extents: &[TermId]) -> Vec<Type> {
    let extents = arena::extents(extents);
    T::types().into_iter().map(|element| Type::array(extents.clone(), element)).collect()
}

impl Dim for Acc<Scalar<i64>> {
    #[track_caller]
    fn dim(self) -> Exp<i64> {
        self.get()
    }
}

impl IndexOf<Ix1> for Acc<Scalar<i64>> {}

impl AsIndex for Acc<Scalar<i64>> {
    type Shape = Ix1;
    #[track_caller]
    fn parts(self) -> Vec<Exp<i64>> {
        vec![self.dim()]
    }
}
