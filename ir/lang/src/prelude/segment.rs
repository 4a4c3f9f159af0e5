//! Segmented operations by lengths of segments, as Accelerate has them; and how lengths, offsets and flags become each other.

use crate::{
    acc::Acc,
    arena::here,
    array::{Array, Vector},
    elt::Elt,
    exp::{Exp, IntoExp},
    number::Integer,
    ops::{fold, map::map, permute::permute, scan},
    prelude::{fill, scan as scans, take},
    shape::Dimensions,
};

/// Offsets of segments of these lengths: 0, and the end of each. Shape: `[segments]` to `[segments + 1]`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let lengths = Vector::from_slice(&[2i32, 0, 3]).unwrap();
/// assert_eq!(example::run1(|l: Acc<Vector<i32>>| offsets(l), &lengths).to_vec(), [0, 2, 2, 5]);
/// ```
#[track_caller]
pub fn offsets<I: Integer>(lengths: Acc<Vector<I>>) -> Acc<Vector<i64>> {
    scan::scanl(|a, b| a + b, 0, to_i64(lengths))
}

#[track_caller]
fn to_i64<I: Integer>(lengths: Acc<Vector<I>>) -> Acc<Vector<i64>> {
    let at = here();
    if I::TYPE == fusebox_ir::ElementType::I64 {
        let parts = lengths.parts(at);
        return Acc::new(&parts.extents, &parts.arrays);
    }
    map(|length| length.cast::<i64>(), lengths)
}

/// `true` at the first element of each segment that has one. Shape: offsets `[segments + 1]` to `[n]`, the last offset.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let offsets = Vector::from_slice(&[0i64, 2, 2, 3]).unwrap();
/// assert_eq!(example::run1(|o: Acc<Vector<i64>>| head_flags(o), &offsets).to_vec(), [true, false, true]);
/// ```
#[track_caller]
pub fn head_flags(offsets: Acc<Vector<i64>>) -> Acc<Vector<bool>> {
    let segments = offsets.length() - 1;
    let n = offsets.at(segments);
    let defaults: Acc<Vector<bool>> = fill(n, false);
    let target = |i: Exp<i64>| {
        let start = offsets.at(i);
        crate::some_if::<i64>(start.lt(n), start)
    };
    permute(|new, _| new, defaults, target, fill(segments, true))
}

/// What the segments of these lengths cover, and their offsets. Elements behind the last segment are left out.
#[track_caller]
fn covered<Sh: Dimensions, T: Elt, I: Integer>(
    xs: Acc<Array<Sh, T>>,
    lengths: Acc<Vector<I>>,
) -> (Acc<Array<Sh, T>>, Acc<Vector<i64>>) {
    let offsets = offsets(lengths);
    let total = offsets.at(offsets.length() - 1);
    (take(total, xs), offsets)
}

macro_rules! seeded_by_lengths {
    ($($name:ident $seg:ident $module:ident -> $result:ty;)*) => {$(
        #[doc = concat!("[`", stringify!($seg), "`](crate::", stringify!($seg), ") by lengths of segments instead of offsets.")]
        ///
        /// Elements behind the last segment are left out; lengths whose sum is more than there is are an error at run time.
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
            lengths: Acc<Vector<I>>,
        ) -> $result {
            let (xs, offsets) = covered(xs, lengths);
            $module::$seg(f, seed, xs, offsets)
        }
    )*};
}
seeded_by_lengths! {
    fold_seg_lengths fold_seg fold -> Acc<Array<Sh, T>>;
    scanl_seg_lengths scanl_seg scan -> Acc<Array<Sh, T>>;
    scanr_seg_lengths scanr_seg scan -> Acc<Array<Sh, T>>;
    scanl_total_seg_lengths scanl_total_seg scan -> (Acc<Array<Sh, T>>, Acc<Array<Sh, T>>);
    scanr_total_seg_lengths scanr_total_seg scan -> (Acc<Array<Sh, T>>, Acc<Array<Sh, T>>);
}

seeded_by_lengths! {
    prescanl_seg_lengths prescanl_seg scans -> Acc<Array<Sh, T>>;
    prescanr_seg_lengths prescanr_seg scans -> Acc<Array<Sh, T>>;
}

macro_rules! postscans_by_lengths {
    ($($name:ident $seg:ident;)*) => {$(
        #[doc = concat!("[`", stringify!($seg), "`](crate::", stringify!($seg), ") by lengths of segments instead of offsets.")]
        ///
        /// Elements behind the last segment are left out; lengths whose sum is more than there is are an error at run time.
        ///
        /// ```
        /// # use fusebox_lang::*; example!();
        /// let (xs, lengths) = (Vector::from_slice(&[1i64, 2, 3]).unwrap(), Vector::from_slice(&[1i32, 2]).unwrap());
        #[doc = concat!("let r = example::run2(|xs: Acc<Vector<i64>>, l: Acc<Vector<i32>>| ", stringify!($name), "(|a, b| a + b, 10, xs, l), &xs, &lengths);")]
        /// assert_eq!(r.to_vec()[0], 11);
        /// ```
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
            f: impl Fn(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
            lengths: Acc<Vector<I>>,
        ) -> Acc<Array<Sh, T>> {
            let (xs, offsets) = covered(xs, lengths);
            scans::$seg(f, seed, xs, offsets)
        }
    )*};
}
postscans_by_lengths! {
    postscanl_seg_lengths postscanl_seg;
    postscanr_seg_lengths postscanr_seg;
}

macro_rules! by_lengths {
    ($($name:ident $seg:ident $module:ident;)*) => {$(
        #[doc = concat!("[`", stringify!($seg), "`](crate::", stringify!($seg), ") by lengths of segments instead of offsets.")]
        ///
        /// Elements behind the last segment are left out; lengths whose sum is more than there is are an error at run time.
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            xs: Acc<Array<Sh, T>>,
            lengths: Acc<Vector<I>>,
        ) -> Acc<Array<Sh, T>> {
            let (xs, offsets) = covered(xs, lengths);
            $module::$seg(f, xs, offsets)
        }
    )*};
}
by_lengths! {
    fold1_seg_lengths fold1_seg fold;
    scanl1_seg_lengths scanl1_seg scan;
    scanr1_seg_lengths scanr1_seg scan;
}
