//! Functions on arrays, mapped over the rows of arrays.

use fusebox_ir::{
    ArrayOp, Block, ElementType, Type,
    term::{BlockTerm, Term, TermId},
};

use crate::{
    acc::Acc,
    arena::{self, At, here, operands},
    array::{Array, Vector},
    elt::Elt,
    exp::Exp,
    nest::{Nested, UNKNOWN, nested_type},
    reach::reached,
    shape::{Dimensions, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, Ix7, Ix8, Shape},
};

/// The rows of an array: what there is for each index of its outermost dimension. Made by [`rows`].
#[derive(Clone, Copy, Debug)]
pub struct Rows<Sh: Shape, T: Elt> {
    array: Acc<Array<Sh, T>>,
}

/// The rows of an array, for a function of arrays to be mapped over them: arrays of one dimension less.
///
/// The function is any that makes an array, a scalar, or a tuple of these, and may use what is outside of it; it may itself map a function
/// over rows. Its results are arrays of arrays, or vectors of scalars.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 2, 3, 4, 5, 6]).unwrap();
/// let sums = example::run1(|xs: Acc<Vector<i64>>| rows(reshape((2, 3), xs)).map(|row| sum(row).get()), &xs);
/// assert_eq!(sums.to_vec(), [6, 15]);
/// let last = example::run1(
///     |xs: Acc<Vector<i64>>| {
///         let (above, least) = rows(reshape((2, 3), xs)).map(|row| (filter_vector(|x| x.gt(2), row), minimum(row).get()));
///         zip_with(|a, b| a * b, above.map(|row| sum(row).get()), least)
///     },
///     &xs,
/// );
/// assert_eq!(last.to_vec(), [3, 60]);
/// ```
pub fn rows<Sh: Dimensions, T: Elt>(array: Acc<Array<Sh, T>>) -> Rows<Sh, T> {
    Rows { array }
}

impl<Sh: Dimensions, T: Elt> Rows<Sh, T> {
    /// `f` of each row.
    #[track_caller]
    pub fn map<R: Lane>(self, f: impl FnOnce(Acc<Array<Sh::Down, T>>) -> R) -> R::Lanes {
        let at = here();
        let array = self.array.parts(at);
        mapped(array.extents[0], at, |row| {
            let dims = (0..Sh::RANK).map(|dim| (dim == 0).then(|| operands(&[row])[0])).collect();
            let op = ArrayOp::Slice { dims, sources: array.sources() };
            let inner = &array.extents[1..];
            let types = || T::types().into_iter().map(|element| Type::array(arena::extents(inner), element)).collect();
            f(Acc::new(inner, &arena::array_op(op, Vec::new(), Vec::new(), |_| types(), at)))
        })
    }
}

impl<In: Shape, T: Elt> Acc<Nested<Ix1, In, T>> {
    /// `f` of each of the arrays.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run(|| nest(4, |i| generate(i, |j| i + j)).map(|row| sum(row).get()));
    /// assert_eq!(r.to_vec(), [0, 1, 5, 12]);
    /// ```
    #[track_caller]
    pub fn map<R: Lane>(self, f: impl FnOnce(Acc<Array<In, T>>) -> R) -> R::Lanes {
        let at = here();
        let extent = self.shape().term(at);
        mapped(extent, at, |row| f(self.element(Exp::<i64>::from_terms(&[row]))))
    }
}

/// What a function gives for each of many rows: an array, a scalar, or a tuple of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a function of rows gives",
    label = "expected an array, a scalar, or a tuple of these"
)]
pub trait Lane: Copy {
    /// What all rows together give.
    type Lanes;

    /// The parts, each an array.
    #[doc(hidden)]
    fn parts(self, at: At, out: &mut Vec<Part>);

    /// The handles of all rows, of these parts.
    #[doc(hidden)]
    fn lanes(rows: TermId, parts: &mut dyn Iterator<Item = Part>) -> Self::Lanes;
}

/// One array that a row gives: extents, an array for each component, and their elements.
#[doc(hidden)]
pub struct Part {
    extents: Vec<TermId>,
    arrays: Vec<TermId>,
    elements: Vec<ElementType>,
}

/// What arrays of a shape, one for each row, are together.
#[doc(hidden)]
pub trait Inner: Shape {
    /// The type.
    type Lanes<T: Elt>;
    /// The handle.
    fn lanes<T: Elt>(rows: TermId, part: &Part) -> Self::Lanes<T>;
}

impl Inner for Ix0 {
    type Lanes<T: Elt> = Acc<Vector<T>>;
    fn lanes<T: Elt>(rows: TermId, part: &Part) -> Self::Lanes<T> {
        Acc::new(&[rows], &part.arrays)
    }
}

macro_rules! arrays {
    ($($shape:ident)*) => {$(
        impl Inner for $shape {
            type Lanes<T: Elt> = Acc<Nested<Ix1, $shape, T>>;
            fn lanes<T: Elt>(rows: TermId, part: &Part) -> Self::Lanes<T> {
                Acc::of(&[rows], &part.extents, &part.arrays)
            }
        }
    )*};
}
arrays! { Ix1 Ix2 Ix3 Ix4 Ix5 Ix6 Ix7 Ix8 }

impl<In: Inner, T: Elt> Lane for Acc<Array<In, T>> {
    type Lanes = In::Lanes<T>;
    fn parts(self, at: At, out: &mut Vec<Part>) {
        let parts = Acc::parts(self, at);
        out.push(Part { extents: parts.extents, arrays: parts.arrays, elements: T::types() });
    }
    fn lanes(rows: TermId, parts: &mut dyn Iterator<Item = Part>) -> Self::Lanes {
        In::lanes::<T>(rows, &next::<T>(parts, In::RANK))
    }
}

impl<T: Elt> Lane for Exp<T> {
    type Lanes = Acc<Vector<T>>;
    fn parts(self, at: At, out: &mut Vec<Part>) {
        out.push(Part { extents: Vec::new(), arrays: self.terms(at), elements: T::types() });
    }
    fn lanes(rows: TermId, parts: &mut dyn Iterator<Item = Part>) -> Self::Lanes {
        Ix0::lanes::<T>(rows, &next::<T>(parts, 0))
    }
}

fn next<T: Elt>(parts: &mut dyn Iterator<Item = Part>, rank: usize) -> Part {
    let missing = || Part { extents: vec![UNKNOWN; rank], arrays: vec![TermId(0); T::COUNT], elements: T::types() };
    parts.next().unwrap_or_else(missing)
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),*))*) => {$(
        impl<$($t: Lane),*> Lane for ($($t,)*) {
            type Lanes = ($($t::Lanes,)*);
            fn parts(self, at: At, out: &mut Vec<Part>) {
                $(self.$i.parts(at, out);)*
            }
            fn lanes(rows: TermId, parts: &mut dyn Iterator<Item = Part>) -> Self::Lanes {
                ($($t::lanes(rows, parts),)*)
            }
        }
    )*};
}
tuples! {
    (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) (A 0, B 1, C 2, D 3, E 4, F 5)
}

/// A nest of one dimension, whose body is given its index.
fn mapped<R: Lane>(extent: TermId, at: At, f: impl FnOnce(TermId) -> R) -> R::Lanes {
    let first = arena::len();
    let row = arena::push(Term::BlockParameter { ty: Type::scalar(ElementType::I64), name: "i".to_owned() }, at);
    let mut parts = Vec::new();
    f(row).parts(at, &mut parts);
    for extent in parts.iter_mut().flat_map(|part| &mut part.extents) {
        if reached(&[*extent], first).contains(&row) {
            *extent = UNKNOWN;
        }
    }
    let types = |part: &Part| -> Vec<Type> {
        part.elements.iter().map(|&element| nested_type(&[extent], &part.extents, element)).collect()
    };
    let types: Vec<Type> = parts.iter().flat_map(types).collect();
    let results = parts.iter().flat_map(|part| part.arrays.iter().copied()).collect();
    let op = ArrayOp::Nest { extents: operands(&[extent]), body: Block::default() };
    let block = BlockTerm { params: vec![row], results };
    let arrays = arena::array_op(op, Vec::new(), vec![block], |_| types, at);
    let mut made = arrays.into_iter();
    for part in &mut parts {
        part.arrays = made.by_ref().take(part.arrays.len()).collect();
    }
    R::lanes(extent, &mut parts.into_iter())
}
