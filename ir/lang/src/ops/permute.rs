//! Permute: elements sent to targets, combined where they meet.

use fusebox_ir::{
    ArrayOp, Lambda, PermuteOrder,
    term::{FunctionTerm, TermId},
};

use crate::{
    acc::{Acc, Parts, types_of},
    arena::{self, At, here},
    array::Array,
    elt::Elt,
    exp::{Exp, IntoExp, function2},
    ops::map::{cut, index_parameters},
    shape::{AsIndex, Shape},
};

/// Where an element goes: an index, or an `Exp<Option<_>>` of one, where `none` drops the element.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no target in an array of shape `{Sh}`",
    note = "a target is an index (`Exp<i64>`, or a tuple of them), or an `Exp<Option<_>>` of one to drop elements"
)]
pub trait Target<Sh: Shape> {
    /// The index, one term a dimension, and whether the element is kept.
    #[doc(hidden)]
    fn target(self) -> (Vec<Exp<i64>>, Option<Exp<bool>>);
}

impl<I: AsIndex> Target<I::Shape> for I {
    #[track_caller]
    fn target(self) -> (Vec<Exp<i64>>, Option<Exp<bool>>) {
        (self.parts(), None)
    }
}

macro_rules! optional_targets {
    ($($shape:ident)*) => {$(
        impl Target<crate::$shape> for Exp<Option<<crate::$shape as Shape>::Element>> {
            fn target(self) -> (Vec<Exp<i64>>, Option<Exp<bool>>) {
                let parts = (0..<crate::$shape as Shape>::RANK).map(|i| self.component(1 + i)).collect();
                (parts, Some(self.component(0)))
            }
        }
    )*};
}
optional_targets! { Ix0 Ix1 Ix2 Ix3 Ix4 Ix5 Ix6 Ix7 Ix8 }

/// Arrays of targets and whether to keep, for each index of `extents`.
fn targets<Sh: Shape, To: Shape, R: Target<To>>(
    extents: &[TermId],
    at: At,
    f: impl FnOnce(Sh::Index) -> R,
) -> (Vec<TermId>, Option<TermId>) {
    let (index, params) = index_parameters::<Sh>(at);
    let (index, keep) = f(index).target();
    let results: Vec<TermId> = index.into_iter().map(|i| i.term(at)).chain(keep.map(|k| k.term(at))).collect();
    if results.is_empty() {
        return (Vec::new(), None);
    }
    let op = ArrayOp::Generate { extents: arena::operands(extents), f: Lambda::default() };
    let mut types = vec![fusebox_ir::Type::array(arena::extents(extents), fusebox_ir::ElementType::I64); To::RANK];
    if keep.is_some() {
        types.push(fusebox_ir::Type::array(arena::extents(extents), fusebox_ir::ElementType::Bool));
    }
    let mut arrays = arena::array_op(op, vec![FunctionTerm { params, results }], Vec::new(), |_| types, at);
    let keep = keep.and_then(|_| arrays.pop());
    (arrays, keep)
}

fn permute_terms<T: Elt>(
    order: PermuteOrder,
    combine: FunctionTerm,
    defaults: &Parts,
    values: &Parts,
    targets: &[TermId],
    keep: Option<TermId>,
    at: At,
) -> Vec<TermId> {
    let op = ArrayOp::Permute {
        combine: Lambda::default(),
        defaults: defaults.sources(),
        values: values.sources(),
        targets: arena::array_ids(targets),
        keep: keep.map(|term| term.as_array()),
        order,
    };
    let types = types_of::<T>(&defaults.extents);
    arena::array_op(op, vec![combine], Vec::new(), |_| types, at)
}

fn permuted<Sh: Shape, To: Shape, T: Elt, R: Target<To>>(
    order: PermuteOrder,
    f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>,
    defaults: Acc<Array<To, T>>,
    target: impl FnOnce(Sh::Index) -> R,
    values: Acc<Array<Sh, T>>,
    at: At,
) -> Acc<Array<To, T>> {
    let (defaults, values) = (defaults.parts(at), values.parts(at));
    let combine = function2(["new", "old"], at, f);
    let (targets, keep) = targets::<Sh, To, R>(&values.extents, at, target);
    Acc::new(&defaults.extents, &permute_terms::<T>(order, combine, &defaults, &values, &targets, keep, at))
}

/// Starts from `defaults` and combines each element of `values` in at its target: `f(new, old)`, whole elements at a time.
///
/// The target of the element at `ix` is `target(ix)`: an index in the defaults, or an optional one, where `none` drops the element.
/// Elements of one target are combined in source order up to association (on a GPU in any order: [`permute_ordered`]), so `f` is
/// associative. A target outside of the defaults is an error at run time. Shape: that of the defaults.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[3i64, 0, 3]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| permute(|new, old| new + old, fill(4, 0), |i| xs.at(i), fill(3, 1)), &xs);
/// assert_eq!(r.to_vec(), [1, 0, 0, 2]);
/// ```
#[track_caller]
pub fn permute<Sh: Shape, To: Shape, T: Elt, R: IntoExp<T>, I: Target<To>>(
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    defaults: Acc<Array<To, T>>,
    target: impl FnOnce(Sh::Index) -> I,
    values: Acc<Array<Sh, T>>,
) -> Acc<Array<To, T>> {
    permuted(PermuteOrder::Source, |new, old| f(new, old).into_exp(), defaults, target, values, here())
}

/// As [`permute`], one element after the other in source order, on every backend.
#[track_caller]
pub fn permute_ordered<Sh: Shape, To: Shape, T: Elt, R: IntoExp<T>, I: Target<To>>(
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    defaults: Acc<Array<To, T>>,
    target: impl FnOnce(Sh::Index) -> I,
    values: Acc<Array<Sh, T>>,
) -> Acc<Array<To, T>> {
    permuted(PermuteOrder::Ordered, |new, old| f(new, old).into_exp(), defaults, target, values, here())
}

/// Puts each element of `values` in its place in `defaults`. That no two have the same target is a promise.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[5i64, 6, 7]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| permute_unique(fill(6, 0), |i| 2 * i, xs), &xs);
/// assert_eq!(r.to_vec(), [5, 0, 6, 0, 7, 0]);
/// ```
#[track_caller]
pub fn permute_unique<Sh: Shape, To: Shape, T: Elt, I: Target<To>>(
    defaults: Acc<Array<To, T>>,
    target: impl FnOnce(Sh::Index) -> I,
    values: Acc<Array<Sh, T>>,
) -> Acc<Array<To, T>> {
    permuted(PermuteOrder::Unique, |new, _| new, defaults, target, values, here())
}

/// As [`permute`], with targets that are arrays: `targets` of indices in the defaults, and `keep`, which drops an element where it is
/// `false`. Elements beyond the smallest of the arrays are left out.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let at = Vector::from_slice(&[3i64, 0, 3]).unwrap();
/// let r = example::run1(
///     |at: Acc<Vector<i64>>| permute_at(PermuteOrder::Source, |new, old| new + old, fill(4, 0), at, None, fill(3, 1)), &at);
/// assert_eq!(r.to_vec(), [1, 0, 0, 2]);
/// ```
#[track_caller]
pub fn permute_at<Sh: Shape, To: Shape, T: Elt, R: IntoExp<T>>(
    order: PermuteOrder,
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    defaults: Acc<Array<To, T>>,
    targets: Acc<Array<Sh, To::Element>>,
    keep: Option<Acc<Array<Sh, bool>>>,
    values: Acc<Array<Sh, T>>,
) -> Acc<Array<To, T>> {
    let at = here();
    let (defaults, values, targets) = (defaults.parts(at), values.parts(at), targets.parts(at));
    let keep = keep.map(|keep| keep.parts(at));
    let mut extents = arena::meet(&targets.extents, &values.extents, at);
    if let Some(keep) = &keep {
        extents = arena::meet(&extents, &keep.extents, at);
    }
    let values = cut::<T>(values, &extents, at);
    let targets = cut::<To::Element>(targets, &extents, at);
    let keep = keep.map(|keep| cut::<bool>(keep, &extents, at).arrays[0]);
    let combine = function2(["new", "old"], at, |new, old| f(new, old).into_exp());
    Acc::new(&defaults.extents, &permute_terms::<T>(order, combine, &defaults, &values, &targets.arrays, keep, at))
}
