//! Stencils: each element from its neighbours.

use std::{cell::RefCell, rc::Rc};

use fusebox_ir::{
    ArrayOp, Boundary as IrBoundary, Lambda, Tap, TapBoundary,
    term::{FunctionTerm, Term, TermId},
};

use crate::{
    acc::{Acc, Parts, types_of},
    arena::{self, At, here},
    array::Array,
    elt::Elt,
    exp::{Exp, IntoExp},
    number::Num,
    ops::map::index_parameters,
    reach::reached,
    shape::{Ix1, Ix2, Shape},
};

/// What a stencil reads where a tap lies outside of the array. Arrays smaller than the stencil, too, are fine.
pub enum Boundary<Sh: Shape, T: Elt> {
    /// The nearest element inside, per dimension.
    Clamp,
    /// Reflected without repeating the edge, as often as needed, per dimension.
    Mirror,
    /// Modulo the extent, per dimension.
    Wrap,
    /// A value, where any dimension is outside.
    Constant(Exp<T>),
    /// A function of the index outside, where any dimension is.
    Function(BoundaryFunction<Sh, T>),
}

/// A function of the index outside.
pub type BoundaryFunction<Sh, T> = Box<dyn Fn(<Sh as Shape>::Index) -> Exp<T>>;

impl<Sh: Shape, T: Elt> std::fmt::Debug for Boundary<Sh, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Clamp => "Clamp",
            Self::Mirror => "Mirror",
            Self::Wrap => "Wrap",
            Self::Constant(_) => "Constant",
            Self::Function(_) => "Function",
        })
    }
}

impl<Sh: Shape, T: Elt> Boundary<Sh, T> {
    /// A value, where any dimension is outside.
    #[track_caller]
    pub fn constant(value: impl IntoExp<T>) -> Self {
        Self::Constant(value.into_exp())
    }

    /// A function of the index outside, where any dimension is.
    pub fn function<R: IntoExp<T>>(f: impl Fn(Sh::Index) -> R + 'static) -> Self {
        Self::Function(Box::new(move |index| f(index).into_exp()))
    }
}

/// The taps of a stencil so far: arrays, offsets, parameters.
#[derive(Default)]
struct Taps {
    taps: Vec<(TermId, Vec<i64>, TermId)>,
}

/// The neighbours of an element, as the function of a stencil sees them.
pub struct Neighbours<Sh, T> {
    taps: Rc<RefCell<Taps>>,
    arrays: Vec<TermId>,
    at: At,
    of: std::marker::PhantomData<fn() -> (Sh, T)>,
}

impl<Sh, T> std::fmt::Debug for Neighbours<Sh, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Neighbours({:?})", self.arrays)
    }
}

impl<Sh: Shape, T: Elt> Neighbours<Sh, T> {
    /// The element at an offset from the one that is computed: in a vector `-1`, in a matrix `(0, -1)`, row offset first.
    pub fn at(&self, offset: Sh::Offset) -> Exp<T> {
        let offsets = Sh::offsets(offset);
        let mut taps = self.taps.borrow_mut();
        let terms: Vec<TermId> = self
            .arrays
            .iter()
            .zip(T::types())
            .map(|(&array, ty)| {
                if let Some(known) = taps.taps.iter().find(|tap| tap.0 == array && tap.1 == offsets) {
                    return known.2;
                }
                let name = format!("x{}", taps.taps.len());
                let parameter = arena::push(Term::Parameter { ty, name }, self.at);
                taps.taps.push((array, offsets.clone(), parameter));
                parameter
            })
            .collect();
        Exp::from_terms(&terms)
    }
}

/// What is tapped: arrays and what lies around them.
struct Tapped {
    boundaries: Vec<(TermId, IrBoundary, Option<FunctionTerm>)>,
    extents: Vec<TermId>,
}

impl Tapped {
    /// Adds an array; one that is tapped already is stored apart, for its boundary may be another.
    fn add<Sh: Shape, T: Elt>(&mut self, boundary: &Boundary<Sh, T>, parts: Parts, at: At) -> Vec<TermId> {
        let mut arrays = parts.arrays.clone();
        if arrays.iter().any(|array| self.boundaries.iter().any(|known| known.0 == *array)) {
            let op = ArrayOp::Compute { sources: parts.sources() };
            let types = types_of::<T>(&parts.extents);
            arrays = arena::array_op(op, Vec::new(), Vec::new(), |_| types, at);
        }
        for (component, &array) in arrays.iter().enumerate() {
            let (boundary, function) = match boundary {
                Boundary::Clamp => (IrBoundary::Clamp, None),
                Boundary::Mirror => (IrBoundary::Mirror, None),
                Boundary::Wrap => (IrBoundary::Wrap, None),
                Boundary::Constant(value) => (IrBoundary::Constant(arena::operand(value.terms(at)[component])), None),
                Boundary::Function(f) => {
                    let (index, params) = index_parameters::<Sh>(at);
                    let results = vec![f(index).terms(at)[component]];
                    (IrBoundary::Function(Lambda::default()), Some(FunctionTerm { params, results }))
                }
            };
            self.boundaries.push((array, boundary, function));
        }
        self.extents =
            if self.extents.is_empty() { parts.extents } else { arena::meet(&self.extents, &parts.extents, at) };
        arrays
    }

    /// The operation, of the taps that the results are made of.
    fn finish<Sh: Shape, B: Elt>(self, taps: &Taps, result: Exp<B>, first: usize, at: At) -> Acc<Array<Sh, B>> {
        let results = result.terms(at);
        let used = reached(&results, first);
        let taps: Vec<_> = taps.taps.iter().filter(|tap| used.contains(&tap.2)).collect();
        let f = FunctionTerm { params: taps.iter().map(|tap| tap.2).collect(), results };
        let boundaries: Vec<_> =
            self.boundaries.into_iter().filter(|(array, ..)| taps.iter().any(|tap| tap.0 == *array)).collect();
        let op = ArrayOp::Stencil {
            f: Lambda::default(),
            taps: taps.iter().map(|tap| Tap { array: tap.0.as_array(), offsets: tap.1.clone() }).collect(),
            boundaries: boundaries
                .iter()
                .map(|(array, boundary, _)| TapBoundary { array: array.as_array(), boundary: boundary.clone() })
                .collect(),
        };
        let functions = std::iter::once(f).chain(boundaries.into_iter().filter_map(|(_, _, f)| f)).collect();
        let types = types_of::<B>(&self.extents);
        Acc::new(&self.extents, &arena::array_op(op, functions, Vec::new(), |_| types, at))
    }
}

macro_rules! stencils {
    ($($(#[$doc:meta])* $name:ident $($boundary:ident $x:ident $t:ident),*;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Shape, $($t: Elt,)* Z: Elt, R: IntoExp<Z>>(
            f: impl FnOnce($(&Neighbours<Sh, $t>),*) -> R,
            $($boundary: Boundary<Sh, $t>, $x: Acc<Array<Sh, $t>>),*
        ) -> Acc<Array<Sh, Z>> {
            let at = here();
            let mut tapped = Tapped { boundaries: Vec::new(), extents: Vec::new() };
            $(let $x = tapped.add(&$boundary, $x.parts(at), at);)*
            let first = arena::len();
            let taps = Rc::new(RefCell::new(Taps::default()));
            let result = f($(&Neighbours {
                taps: taps.clone(),
                arrays: $x,
                at,
                of: std::marker::PhantomData,
            }),*).into_exp();
            let taps = taps.take();
            tapped.finish(&taps, result, first, at)
        }
    )*};
}
stencils! {
    /// Each element is `f` of the neighbours of that of `xs`. Shape: that of `xs`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 4]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| stencil(|x| x.at(1) - x.at(-1), Boundary::Clamp, xs), &xs);
    /// assert_eq!(r.to_vec(), [1, 3, 2]);
    /// ```
    stencil boundary xs A;
    /// Each element is `f` of the neighbours of those of two arrays. Shape: per dimension the smaller of theirs.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 4]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| {
    ///     stencil2(|x, y| x.at(1) + y.at(0), Boundary::constant(0), xs, Boundary::Wrap, map(|x| 10 * x, xs))
    /// }, &xs);
    /// assert_eq!(r.to_vec(), [12, 24, 40]);
    /// ```
    stencil2 boundary xs A, boundary2 ys B;
    /// Each element is `f` of the neighbours of those of three arrays. Shape: per dimension the smallest of theirs.
    stencil3 boundary xs A, boundary2 ys B, boundary3 zs C;
}

/// Convolution of a vector with weights, the middle one at the element itself; `weights[0]` is that of the neighbour before.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[0i64, 1, 0, 0]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| convolve([1, 2, 3], Boundary::constant(0), xs), &xs);
/// assert_eq!(r.to_vec(), [3, 2, 1, 0]);
/// ```
#[track_caller]
pub fn convolve<T: Num, const N: usize>(
    weights: [T; N],
    boundary: Boundary<Ix1, T>,
    xs: Acc<Array<Ix1, T>>,
) -> Acc<Array<Ix1, T>> {
    let middle = (N / 2) as i64;
    let taps = weights.into_iter().enumerate().map(|(i, weight)| (i as i64 - middle, weight));
    stencil(|x| weighted(taps.map(|(offset, weight)| (x.at(offset), weight))), boundary, xs)
}

/// Convolution of a matrix with weights, the middle one at the element itself: 3 by 3, 5 by 5, or any other extents.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((2, 2), &[1, 2, 3, 4i64]).unwrap();
/// let blur = |m| convolve2([[0, 1, 0], [1, 1, 1], [0, 1, 0]], Boundary::constant(0), m);
/// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| blur(m), &m).to_vec(), [6, 7, 8, 9]);
/// ```
#[track_caller]
pub fn convolve2<T: Num, const H: usize, const W: usize>(
    weights: [[T; W]; H],
    boundary: Boundary<Ix2, T>,
    xs: Acc<Array<Ix2, T>>,
) -> Acc<Array<Ix2, T>> {
    let middle = ((H / 2) as i64, (W / 2) as i64);
    let taps = weights.into_iter().enumerate().flat_map(|(i, row)| {
        row.into_iter().enumerate().map(move |(j, weight)| ((i as i64 - middle.0, j as i64 - middle.1), weight))
    });
    stencil(|x| weighted(taps.map(|(offset, weight)| (x.at(offset), weight))), boundary, xs)
}

/// The sum of elements times weights, in order.
#[track_caller]
fn weighted<T: Num>(taps: impl Iterator<Item = (Exp<T>, T)>) -> Exp<T> {
    let products = taps.map(|(x, weight)| x * weight);
    products.reduce(|a, b| a + b).unwrap_or_else(|| crate::constant(T::number(0)))
}
