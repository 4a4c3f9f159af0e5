//! Other extents for the same elements: reshape, flatten; concat; replicate and slice.

use fusebox_ir::{ArrayOp, Binary, term::TermId};

use crate::{
    acc::{Acc, Parts, types_of},
    arena::{self, At, here},
    array::{Array, Vector},
    elt::Elt,
    error::Mistake,
    exp::Exp,
    ops::map::cut,
    shape::{AsIndex, Dimensions, Fits, Shape, extent_terms, product},
    slice::{ReplicateSpec, Selected, SliceSpec},
};

/// The same elements, in row-major order, in other extents; their product is the same, else an error at run time.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 2, 3, 4, 5, 6]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| reshape((2, 3), xs), &xs).extents(), [2, 3]);
/// ```
#[track_caller]
pub fn reshape<I: AsIndex, Sh: Shape, A: Elt>(extents: I, xs: Acc<Array<Sh, A>>) -> Acc<Array<I::Shape, A>> {
    let at = here();
    let extents = extent_terms(extents, at);
    let parts = xs.parts(at);
    if A::COUNT == 0 || extents == parts.extents {
        return Acc::new(&extents, &parts.arrays);
    }
    let op = ArrayOp::Reshape { extents: arena::operands(&extents), sources: parts.sources() };
    let types = types_of::<A>(&extents);
    Acc::new(&extents, &arena::array_op(op, Vec::new(), Vec::new(), |_| types, at))
}

/// All elements as a vector, in row-major order.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((2, 2), &[1, 2, 3, 4i64]).unwrap();
/// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| flatten(m), &m).to_vec(), [1, 2, 3, 4]);
/// ```
#[track_caller]
pub fn flatten<Sh: Shape, A: Elt>(xs: Acc<Array<Sh, A>>) -> Acc<Vector<A>> {
    let at = here();
    let parts = xs.parts(at);
    if Sh::RANK == 1 {
        return Acc::new(&parts.extents, &parts.arrays);
    }
    reshape(Exp::<i64>::from_terms(&[product(&parts.extents, at)]), xs)
}

/// One array after the other along the innermost dimension.
///
/// Shape: `[..sh, n]` and `[..sh, m]` to `[..sh, n + m]`; of the outer extents the smaller.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 2]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| concat(xs, xs), &xs).to_vec(), [1, 2, 1, 2]);
/// ```
#[track_caller]
pub fn concat<Sh: Dimensions, A: Elt>(xs: Acc<Array<Sh, A>>, ys: Acc<Array<Sh, A>>) -> Acc<Array<Sh, A>> {
    concat_all_on(Sh::RANK - 1, &[xs, ys])
}

/// One array after the other along a dimension, counted from the outermost, 0. Of the other extents the smaller.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((1, 2), &[1i64, 2]).unwrap();
/// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| concat_on(0, m, m), &m).extents(), [2, 2]);
/// ```
#[track_caller]
pub fn concat_on<Sh: Dimensions, A: Elt>(
    dimension: usize,
    xs: Acc<Array<Sh, A>>,
    ys: Acc<Array<Sh, A>>,
) -> Acc<Array<Sh, A>> {
    concat_all_on(dimension, &[xs, ys])
}

/// As [`concat_on`], of any number of arrays, at least one.
#[track_caller]
pub fn concat_all_on<Sh: Dimensions, A: Elt>(dimension: usize, arrays: &[Acc<Array<Sh, A>>]) -> Acc<Array<Sh, A>> {
    let at = here();
    let parts: Vec<_> = arrays.iter().map(|array| array.parts(at)).collect();
    let Some(first) = parts.first() else {
        arena::problem(Mistake::Empty { operation: "concat", what: "array" }, at);
        let missing = crate::acc::missing(Sh::RANK, &A::types(), at);
        return Acc::new(&missing.extents, &missing.arrays);
    };
    if dimension >= Sh::RANK {
        arena::problem(Mistake::Dimension { dimension, rank: Sh::RANK }, at);
        return arrays[0];
    }
    if parts.len() == 1 || A::COUNT == 0 {
        return arrays[0];
    }
    let common = parts[1..].iter().fold(first.extents.clone(), |a, b| arena::meet(&a, &b.extents, at));
    let mut extents = common.clone();
    let lengths = parts.iter().map(|part| part.extents[dimension]);
    extents[dimension] = lengths.reduce(|a, b| arena::size(Binary::Add, a, b, at)).unwrap_or(common[dimension]);
    let cut: Vec<_> = parts
        .into_iter()
        .map(|part| {
            let mut wanted = common.clone();
            wanted[dimension] = part.extents[dimension];
            cut::<A>(part, &wanted, at)
        })
        .collect();
    let types = types_of::<A>(&extents);
    let components = types.into_iter().enumerate().map(|(component, ty)| {
        let sources: Vec<_> = cut.iter().map(|part| part.arrays[component]).collect();
        let op = ArrayOp::Concat { sources: arena::array_ids(&sources), dim: dimension };
        arena::array_op(op, Vec::new(), Vec::new(), |_| vec![ty], at)[0]
    });
    let components: Vec<_> = components.collect();
    Acc::new(&extents, &components)
}

/// Repeats an array along new dimensions: in `dims`, [`All`](crate::All) keeps the next dimension of the array, an extent is a new
/// dimension; [`Any`](crate::Any) at the front keeps all outer ones.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 2]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| (replicate((3, All), xs), replicate((Any, 3), xs)), &xs);
/// assert_eq!(r.0.to_vec(), [1, 2, 1, 2, 1, 2]);
/// assert_eq!(r.1.to_vec(), [1, 1, 1, 2, 2, 2]);
/// ```
#[track_caller]
pub fn replicate<S: ReplicateSpec<Sh, Result: Fits>, Sh: Shape, A: Elt>(
    dims: S,
    xs: Acc<Array<Sh, A>>,
) -> Acc<Array<S::Result, A>> {
    let at = here();
    let parts = xs.parts(at);
    let dims = dims.dims(at, Sh::RANK);
    let mut kept = parts.extents.iter().copied();
    let mut extents = Vec::with_capacity(dims.len());
    for dim in &dims {
        extents.push(match dim {
            Some(extent) => *extent,
            None => kept.next().unwrap_or_else(|| {
                arena::problem(Mistake::Kept { kept: dims.iter().filter(|d| d.is_none()).count(), rank: Sh::RANK }, at);
                arena::constant(0i64, at)
            }),
        });
    }
    if extents.len() != <S::Result as Shape>::RANK {
        extents.resize_with(<S::Result as Shape>::RANK, || arena::constant(0i64, at));
    }
    replicated(&dims, &extents, parts, at)
}

fn replicated<Sh: Shape, A: Elt>(
    dims: &[Option<TermId>],
    extents: &[TermId],
    parts: Parts,
    at: At,
) -> Acc<Array<Sh, A>> {
    if A::COUNT == 0 {
        return Acc::new(extents, &[]);
    }
    let dims = dims.iter().map(|dim| dim.map(arena::operand)).collect();
    let op = ArrayOp::Replicate { dims, sources: parts.sources() };
    let types = types_of::<A>(extents);
    Acc::new(extents, &arena::array_op(op, Vec::new(), Vec::new(), |_| types, at))
}

/// A replicate whose dimensions are terms: an extent, or `None` to keep the next dimension of the array, all of which are kept.
pub(crate) fn replicate_terms<Sh: Shape, A: Elt>(dims: &[Option<TermId>], parts: Parts, at: At) -> Acc<Array<Sh, A>> {
    let mut own = parts.extents.iter().copied();
    let zero = || arena::constant(0i64, at);
    let extents: Vec<TermId> = dims.iter().map(|dim| dim.or_else(|| own.next()).unwrap_or_else(zero)).collect();
    replicated(dims, &extents, parts, at)
}

/// A slice whose dimensions are terms: an index, or `None` to keep the dimension.
pub(crate) fn fix<Sh: Shape, To: Shape, A: Elt>(
    xs: Acc<Array<Sh, A>>,
    dims: &[Option<TermId>],
    at: At,
) -> Acc<Array<To, A>> {
    let selected: Vec<Selected> = dims.iter().map(|dim| dim.map_or(Selected::All, Selected::Index)).collect();
    let fixed = fixed::<A>(xs.parts(at), &selected, at);
    Acc::new(&fixed.extents, &fixed.arrays)
}

/// Parts of an array along each dimension: in `dims`, `..` or [`All`](crate::All) keeps a dimension, an index fixes it, a range such as
/// `1..-1` keeps some of it; [`Any`](crate::Any) at the front keeps all outer ones. A range alone takes rows.
///
/// An index outside is an error at run time. A range is cut to what there is; negative bounds count from the end, as in Python;
/// [`step`](crate::Indices::step) leaves elements out. (Clippy takes `1..-1` for an empty range of Rust: allow
/// `clippy::reversed_empty_ranges` where it is written.)
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6i64]).unwrap();
/// let r = example::run1(|m: Acc<Matrix<i64>>| (slice((1, ..), m), slice((Any, 0), m), m.slice((.., 1..)), m.slice(..-1)), &m);
/// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![4, 5, 6], vec![1, 4]));
/// assert_eq!((r.2.to_vec(), r.3.to_vec()), (vec![2, 3, 5, 6], vec![1, 2, 3]));
/// ```
#[track_caller]
pub fn slice<S: SliceSpec<Sh>, Sh: Shape, A: Elt>(dims: S, xs: Acc<Array<Sh, A>>) -> Acc<Array<S::Result, A>> {
    let at = here();
    let parts = xs.parts(at);
    let selected = dims.select(&parts.extents, at);
    if selected.len() != Sh::RANK {
        arena::problem(Mistake::Fixed { dims: selected.len(), rank: Sh::RANK }, at);
        let missing = crate::acc::missing(<S::Result as Shape>::RANK, &A::types(), at);
        return Acc::new(&missing.extents, &missing.arrays);
    }
    let ranges: Vec<Selected> = selected.iter().copied().filter(|dim| !matches!(dim, Selected::Index(_))).collect();
    let is_range = |dim: &Selected| matches!(dim, Selected::Range { .. });
    let only_ranges = ranges.len() == selected.len() && selected.iter().any(is_range);
    let fixed = if only_ranges { parts } else { fixed::<A>(parts, &selected, at) };
    let xs: Acc<Array<S::Result, A>> = Acc::new(&fixed.extents, &fixed.arrays);
    if !ranges.iter().any(is_range) {
        return xs;
    }
    let count = |(&extent, dim): (&TermId, &Selected)| match *dim {
        Selected::Range { count, .. } => count,
        Selected::All | Selected::Index(_) => extent,
    };
    let extents: Vec<TermId> = fixed.extents.iter().zip(&ranges).map(count).collect();
    crate::prelude::reindex(&extents, xs, at, |index| {
        for (i, dim) in index.iter_mut().zip(&ranges) {
            if let Selected::Range { start, step, .. } = *dim {
                let stepped = if step == 1 { *i } else { *i * step };
                let starts_at_0 = arena::value_of(start).is_some_and(|start| start.as_i64() == Some(0));
                *i = if starts_at_0 { stepped } else { stepped + Exp::<i64>::from_terms(&[start]) };
            }
        }
    })
}

/// An array without the dimensions of which one index is selected.
fn fixed<A: Elt>(parts: Parts, selected: &[Selected], at: At) -> Parts {
    let index = |dim: &Selected| match *dim {
        Selected::Index(index) => Some(index),
        Selected::All | Selected::Range { .. } => None,
    };
    let kept = parts.extents.iter().zip(selected).filter(|(_, dim)| index(dim).is_none());
    let extents: Vec<TermId> = kept.map(|(&extent, _)| extent).collect();
    if A::COUNT == 0 {
        return Parts { extents, arrays: Vec::new() };
    }
    let dims = selected.iter().map(|dim| index(dim).map(arena::operand)).collect();
    let op = ArrayOp::Slice { dims, sources: parts.sources() };
    let types = types_of::<A>(&extents);
    let arrays = arena::array_op(op, Vec::new(), Vec::new(), |_| types, at);
    Parts { extents, arrays }
}
