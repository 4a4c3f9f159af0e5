//! Scans along the innermost dimension: the running combination.

use fusebox_ir::{ArrayOp, Binary, Direction, Lambda, ScanForm, term::TermId};

use crate::{
    acc::{Acc, types_of},
    arena::{self, At, here},
    array::{Array, Vector},
    elt::Elt,
    exp::{Exp, IntoExp, function2},
    number::Integer,
    ops::fold::segments,
    shape::{Dimensions, Shape},
};

struct Scan<'a, T: Elt> {
    direction: Direction,
    form: ScanForm,
    seed: Option<Exp<T>>,
    offsets: Option<(TermId, TermId)>,
    at: At,
    f: Box<dyn FnOnce(Exp<T>, Exp<T>) -> Exp<T> + 'a>,
}

impl<T: Elt> Scan<'_, T> {
    /// Extents and arrays of what runs along the dimension, and of the totals where there are any.
    fn of<Sh: Shape>(self, xs: Acc<Array<Sh, T>>) -> (Acc<Array<Sh, T>>, Vec<TermId>, Vec<TermId>) {
        let at = self.at;
        let parts = xs.parts(at);
        let seeds = self.seed.map(|seed| arena::operands(&seed.terms(at))).unwrap_or_default();
        let combine = function2(["x", "y"], at, self.f);
        let mut extents = parts.extents.clone();
        let mut total_extents = extents.clone();
        total_extents.pop();
        total_extents.extend(self.offsets.map(|(_, segments)| segments));
        if self.form == ScanForm::Exclusive {
            let more = self.offsets.map_or_else(|| arena::constant(1i64, at), |(_, segments)| segments);
            if let Some(innermost) = extents.last_mut() {
                *innermost = arena::size(Binary::Add, *innermost, more, at);
            }
        }
        let op = ArrayOp::Scan {
            direction: self.direction,
            form: self.form,
            combine: Lambda::default(),
            seeds,
            sources: parts.sources(),
            offsets: self.offsets.map(|(array, _)| array.as_array()),
            commutes: false,
        };
        let mut types = types_of::<T>(&extents);
        if self.form == ScanForm::Body {
            types.extend(types_of::<T>(&total_extents));
        }
        let mut arrays = arena::array_op(op, vec![combine], Vec::new(), |_| types, at);
        let totals = arrays.split_off(T::COUNT);
        (Acc::new(&extents, &arrays), total_extents, totals)
    }
}

macro_rules! scans {
    ($($(#[$doc:meta])* $name:ident $seg:ident $direction:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
        ) -> Acc<Array<Sh, T>> {
            let f = Box::new(|x, y| f(x, y).into_exp());
            let seed = Some(seed.into_exp());
            let (direction, form) = (Direction::$direction, ScanForm::Exclusive);
            Scan { direction, form, seed, offsets: None, at: here(), f }.of(xs).0
        }

        #[doc = concat!("[`", stringify!($name), "`] of each segment: one element more in each, at its place.")]
        ///
        /// Shapes: `[..sh, n]`, offsets `[segments + 1]`, to `[..sh, n + segments]`.
        #[track_caller]
        pub fn $seg<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
            offsets: Acc<Vector<I>>,
        ) -> Acc<Array<Sh, T>> {
            let at = here();
            let f = Box::new(|x, y| f(x, y).into_exp());
            let (seed, offsets) = (Some(seed.into_exp()), Some(segments(offsets, at)));
            let (direction, form) = (Direction::$direction, ScanForm::Exclusive);
            Scan { direction, form, seed, offsets, at, f }.of(xs).0
        }
    )*};
}
scans! {
    /// The running combination from the left, the seed first: its last element is the whole.
    ///
    /// Shape: `[..sh, n]` to `[..sh, n + 1]`. `f` is associative.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| scanl(|a, b| a + b, 10, xs), &xs).to_vec(), [10, 11, 13, 16]);
    /// ```
    scanl scanl_seg Left;
    /// The running combination from the right, the seed last: its first element is the whole.
    ///
    /// Shape: `[..sh, n]` to `[..sh, n + 1]`. `f` is associative; operands keep their order.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| scanr(|a, b| a + b, 10, xs), &xs).to_vec(), [16, 15, 13, 10]);
    /// ```
    scanr scanr_seg Right;
}

macro_rules! inclusive_scans {
    ($($(#[$doc:meta])* $name:ident $seg:ident $direction:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            xs: Acc<Array<Sh, T>>,
        ) -> Acc<Array<Sh, T>> {
            let f = Box::new(|x, y| f(x, y).into_exp());
            let (direction, form) = (Direction::$direction, ScanForm::Inclusive);
            Scan { direction, form, seed: None, offsets: None, at: here(), f }.of(xs).0
        }

        #[doc = concat!("[`", stringify!($name), "`] of each segment. Shapes: `[..sh, n]`, offsets `[segments + 1]`, to `[..sh, n]`.")]
        #[track_caller]
        pub fn $seg<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            xs: Acc<Array<Sh, T>>,
            offsets: Acc<Vector<I>>,
        ) -> Acc<Array<Sh, T>> {
            let at = here();
            let f = Box::new(|x, y| f(x, y).into_exp());
            let offsets = Some(segments(offsets, at));
            let (direction, form) = (Direction::$direction, ScanForm::Inclusive);
            Scan { direction, form, seed: None, offsets, at, f }.of(xs).0
        }
    )*};
}
inclusive_scans! {
    /// The running combination from the left without a seed: the first element is that of the source.
    ///
    /// Shape: `[..sh, n]` to `[..sh, n]`; an empty row stays empty.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| scanl1(|a, b| a + b, xs), &xs).to_vec(), [1, 3, 6]);
    /// ```
    scanl1 scanl1_seg Left;
    /// The running combination from the right without a seed: the last element is that of the source.
    ///
    /// Shape: `[..sh, n]` to `[..sh, n]`; an empty row stays empty.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| scanr1(|a, b| a + b, xs), &xs).to_vec(), [6, 5, 3]);
    /// ```
    scanr1 scanr1_seg Right;
}

macro_rules! body_scans {
    ($($(#[$doc:meta])* $name:ident $seg:ident $direction:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
        ) -> (Acc<Array<Sh, T>>, Acc<Array<Sh::Down, T>>) {
            let f = Box::new(|x, y| f(x, y).into_exp());
            let seed = Some(seed.into_exp());
            let (direction, form) = (Direction::$direction, ScanForm::Body);
            let (body, extents, totals) = Scan { direction, form, seed, offsets: None, at: here(), f }.of(xs);
            (body, Acc::new(&extents, &totals))
        }

        #[doc = concat!("[`", stringify!($name), "`] of each segment: the bodies, and a total for each segment.")]
        ///
        /// Shapes: `[..sh, n]`, offsets `[segments + 1]`, to `[..sh, n]` and `[..sh, segments]`.
        #[track_caller]
        pub fn $seg<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
            offsets: Acc<Vector<I>>,
        ) -> (Acc<Array<Sh, T>>, Acc<Array<Sh, T>>) {
            let at = here();
            let f = Box::new(|x, y| f(x, y).into_exp());
            let (seed, offsets) = (Some(seed.into_exp()), Some(segments(offsets, at)));
            let (direction, form) = (Direction::$direction, ScanForm::Body);
            let (body, extents, totals) = Scan { direction, form, seed, offsets, at, f }.of(xs);
            (body, Acc::new(&extents, &totals))
        }
    )*};
}
body_scans! {
    /// The running combination from the left, before each element, and the total apart (Accelerate's `scanl'`).
    ///
    /// Shape: `[..sh, n]` to `[..sh, n]` and `[..sh]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// let (body, total) = example::run1(|xs: Acc<Vector<i64>>| scanl_total(|a, b| a + b, 10, xs), &xs);
    /// assert_eq!((body.to_vec(), total.value()), (vec![10, 11, 13], Some(16)));
    /// ```
    scanl_total scanl_total_seg Left;
    /// The running combination from the right, after each element, and the total apart (Accelerate's `scanr'`).
    ///
    /// Shape: `[..sh, n]` to `[..sh, n]` and `[..sh]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// let (body, total) = example::run1(|xs: Acc<Vector<i64>>| scanr_total(|a, b| a + b, 10, xs), &xs);
    /// assert_eq!((body.to_vec(), total.value()), (vec![15, 13, 10], Some(16)));
    /// ```
    scanr_total scanr_total_seg Right;
}
