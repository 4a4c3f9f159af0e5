//! Operations whose results are as long as running shows: expand, filter; and sort.

use fusebox_ir::{
    ArrayOp, ElementType, Lambda, PermuteOrder, Type,
    term::{FunctionTerm, TermId},
};

use crate::{
    acc::{Acc, types_of},
    arena::{self, At, here},
    array::{Array, Vector},
    elt::Elt,
    exp::{Exp, IntoExp, function1, function2},
    ops::map::{cut, map},
    ops::permute::Target,
    shape::{Dimensions, Shape},
};

/// An operation that gives a size, then vectors of it.
fn sized<T: Elt>(op: ArrayOp, functions: Vec<FunctionTerm>, at: At) -> Acc<Vector<T>> {
    let types = |result: &dyn Fn(usize) -> TermId| {
        let mut types = vec![Type::scalar(ElementType::I64)];
        types.extend(types_of::<T>(&[result(0)]));
        types
    };
    let results = arena::array_op(op, functions, Vec::new(), types, at);
    Acc::new(&results[..1], &results[1..])
}

/// Replaces each element `x` by `get(x, 0)`, …, `get(x, size(x) - 1)`, in order; a negative size counts as zero.
///
/// Shape: `[n]` to `[Σ size]`. Source: Elsman, Henriksen, Serup, "Data-parallel flattening by expansion", ARRAY 2019.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[2i64, 0, 3]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| expand(|x| x, |x, j| 10 * x + j, xs), &xs);
/// assert_eq!(r.to_vec(), [20, 21, 30, 31, 32]);
/// ```
#[track_caller]
pub fn expand<A: Elt, B: Elt, S: IntoExp<i64>, R: IntoExp<B>>(
    size: impl FnOnce(Exp<A>) -> S,
    get: impl FnOnce(Exp<A>, Exp<i64>) -> R,
    xs: Acc<Vector<A>>,
) -> Acc<Vector<B>> {
    let at = here();
    let size = function1::<A, i64, S>("x", at, size);
    let get = function2::<A, i64, B, R>(["x", "j"], at, get);
    let op = ArrayOp::Expand { size: Lambda::default(), get: Lambda::default(), sources: xs.parts(at).sources() };
    sized(op, vec![size, get], at)
}

/// An [`expand`] whose elements go to a [`permute`](crate::permute) at once: `get(x, j)` gives the target and the value.
///
/// A target is an index in the defaults, or an optional one, where `none` drops the element. Shape: that of the defaults.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 3]).unwrap();
/// let r = example::run1(
///     |xs: Acc<Vector<i64>>| permuted_expand(|x| x, |x, j| (j, x), |new, old| new + old, fill(4, 0), xs), &xs);
/// assert_eq!(r.to_vec(), [4, 3, 3, 0]);
/// ```
#[track_caller]
pub fn permuted_expand<A: Elt, To: Shape, T: Elt, S: IntoExp<i64>, I: Target<To>, V: IntoExp<T>, R: IntoExp<T>>(
    size: impl FnOnce(Exp<A>) -> S,
    get: impl FnOnce(Exp<A>, Exp<i64>) -> (I, V),
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    defaults: Acc<Array<To, T>>,
    xs: Acc<Vector<A>>,
) -> Acc<Array<To, T>> {
    let at = here();
    let (defaults, xs) = (defaults.parts(at), xs.parts(at));
    let size = function1::<A, i64, S>("x", at, size);
    let (x, mut params) = crate::exp::parameters::<A>("x", at);
    let (j, more) = crate::exp::parameters::<i64>("j", at);
    params.extend(more);
    let (target, value) = get(x, j);
    let (index, keep) = target.target();
    let mut results: Vec<TermId> = index.into_iter().map(|i| i.term(at)).collect();
    results.extend(value.into_exp().terms(at));
    results.extend(keep.map(|keep| keep.term(at)));
    let get = FunctionTerm { params, results };
    let combine = function2(["new", "old"], at, |new, old| f(new, old).into_exp());
    let op = ArrayOp::PermutedExpand {
        size: Lambda::default(),
        get: Lambda::default(),
        combine: Lambda::default(),
        defaults: defaults.sources(),
        sources: xs.sources(),
        order: PermuteOrder::Source,
    };
    let types = types_of::<T>(&defaults.extents);
    Acc::new(&defaults.extents, &arena::array_op(op, vec![size, get, combine], Vec::new(), |_| types, at))
}

/// The elements of which `keep` holds, in order, of an array of any rank: a vector of them, and how many there are in each row.
///
/// Shapes: `[..sh, n]` to `[?]` and `[..sh]`. Of a vector, [`filter_vector`] gives the elements alone.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((2, 3), &[1, -2, 3, -4, -5, -6i64]).unwrap();
/// let (kept, counts) = example::run1(|m: Acc<Matrix<i64>>| filter(|x| x.gt(0), m), &m);
/// assert_eq!((kept.to_vec(), counts.to_vec()), (vec![1, 3], vec![2, 0]));
/// ```
#[track_caller]
pub fn filter<Sh: Dimensions, A: Elt, R: IntoExp<bool>>(
    keep: impl Fn(Exp<A>) -> R,
    xs: Acc<Array<Sh, A>>,
) -> (Acc<Vector<A>>, Acc<Array<Sh::Down, i64>>) {
    let at = here();
    if Sh::RANK == 1 {
        let kept = filter_vector(keep, crate::flatten(xs));
        // A vector's count is its extent.
        let count = kept.parts(at).extents;
        return (kept, Acc::new(&[], &count));
    }
    let counts = map(|x| crate::cond(keep(x), 1i64, 0i64), xs).fold(|a, b| a + b, 0);
    (filter_vector(keep, crate::flatten(xs)), counts)
}

/// The elements of a vector of which `keep` holds, in order.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, -2, 3]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| filter_vector(|x| x.gt(0), xs), &xs).to_vec(), [1, 3]);
/// ```
#[track_caller]
pub fn filter_vector<A: Elt, R: IntoExp<bool>>(keep: impl FnOnce(Exp<A>) -> R, xs: Acc<Vector<A>>) -> Acc<Vector<A>> {
    let at = here();
    let keep = function1::<A, bool, R>("x", at, keep);
    let op = ArrayOp::Filter { keep: Lambda::default(), sources: xs.parts(at).sources() };
    sized(op, vec![keep], at)
}

/// Rows in ascending order, stably: -0 before +0, NaN last, `false` before `true`; of tuples the first component decides first.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[3.0f32, f32::NAN, -1.0]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<f32>>| sort(xs), &xs);
/// assert_eq!(r.to_vec()[..2], [-1.0, 3.0]);
/// ```
#[track_caller]
pub fn sort<Sh: Dimensions, K: Elt>(keys: Acc<Array<Sh, K>>) -> Acc<Array<Sh, K>> {
    let at = here();
    let keys = keys.parts(at);
    if K::COUNT == 0 {
        return Acc::new(&keys.extents, &[]);
    }
    let types = types_of::<K>(&keys.extents);
    let op = ArrayOp::Sort { keys: keys.sources(), carry: Vec::new() };
    Acc::new(&keys.extents, &arena::array_op(op, Vec::new(), Vec::new(), |_| types, at))
}

/// Rows of keys in ascending order as by [`sort`], and what is carried along with them. Shape: per dimension the smaller of theirs.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[3i64, 1, 2]).unwrap();
/// let (keys, from) = example::run1(|xs: Acc<Vector<i64>>| sort_with(xs, enum_from_n(xs.length(), 0i64)), &xs);
/// assert_eq!((keys.to_vec(), from.to_vec()), (vec![1, 2, 3], vec![1, 2, 0]));
/// ```
#[track_caller]
pub fn sort_with<Sh: Dimensions, K: Elt, V: Elt>(
    keys: Acc<Array<Sh, K>>,
    carry: Acc<Array<Sh, V>>,
) -> (Acc<Array<Sh, K>>, Acc<Array<Sh, V>>) {
    let at = here();
    let (keys, carry) = (keys.parts(at), carry.parts(at));
    let extents = arena::meet(&keys.extents, &carry.extents, at);
    let (keys, carry) = (cut::<K>(keys, &extents, at), cut::<V>(carry, &extents, at));
    if K::COUNT == 0 {
        return (Acc::new(&extents, &[]), Acc::new(&extents, &carry.arrays));
    }
    let mut types = types_of::<K>(&extents);
    types.extend(types_of::<V>(&extents));
    let op = ArrayOp::Sort { keys: keys.sources(), carry: carry.sources() };
    let sorted = arena::array_op(op, Vec::new(), Vec::new(), |_| types, at);
    (Acc::new(&extents, &sorted[..K::COUNT]), Acc::new(&extents, &sorted[K::COUNT..]))
}

/// Rows in ascending order of a key of each element, stably.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[3i64, -4, 1]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| sort_by_key(|x| x.abs(), xs), &xs);
/// assert_eq!(r.to_vec(), [1, 3, -4]);
/// ```
#[track_caller]
pub fn sort_by_key<Sh: Dimensions, A: Elt, K: Elt, R: IntoExp<K>>(
    key: impl FnOnce(Exp<A>) -> R,
    xs: Acc<Array<Sh, A>>,
) -> Acc<Array<Sh, A>> {
    sort_with(map(key, xs), xs).1
}

/// How many elements each row has of which `keep` holds. Shape: `[..sh, n]` to `[..sh]`.
#[track_caller]
pub fn count<Sh: Dimensions, A: Elt, R: IntoExp<bool>>(
    keep: impl FnOnce(Exp<A>) -> R,
    xs: Acc<Array<Sh, A>>,
) -> Acc<Array<Sh::Down, i64>> {
    map(|x| crate::cond(keep(x), 1i64, 0i64), xs).fold(|a, b| a + b, 0)
}
