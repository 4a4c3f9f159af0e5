//! Arrays of arrays: nested parallelism whose inner results are arrays.

use std::marker::PhantomData;

use fusebox_ir::{
    ArrayOp, Block, ElementType, Extent, Type, Value,
    term::{BlockTerm, Term, TermId},
};

use crate::{
    acc::Acc,
    arena::{self, At, here, operands},
    array::{Array, ArrayError},
    elt::{Elt, Fields},
    exp::Exp,
    interface::{Arrays, Component, Item, Maker, Place, Results, Taken, joined},
    reach::reached,
    shape::{AsIndex, Shape, extent_terms, index_terms},
};

/// In place of an extent: differs from element to element, `?`.
pub(crate) const UNKNOWN: TermId = TermId(u32::MAX);

/// The type of an array, of arrays where `inner` is not empty.
pub(crate) fn nested_type(outer: &[TermId], inner: &[TermId], element: ElementType) -> Type {
    let mut ty = Type::array(arena::extents(outer), element);
    if !inner.is_empty() {
        let extent = |&id: &TermId| if id == UNKNOWN { Extent::Unknown } else { arena::extent(id) };
        ty.inner = vec![inner.iter().map(extent).collect()];
    }
    ty
}

/// An array of shape `Sh` of arrays of shape `In`, whose extents may differ from one to the next.
///
/// A marker: handles are `Acc<Nested<Sh, In, T>>`; the host holds [`NestedArray`].
#[derive(Clone, Copy, Debug)]
pub struct Nested<Sh: Shape, In: Shape, T: Elt> {
    of: PhantomData<fn() -> (Sh, In, T)>,
}

/// An array of arrays as the host holds it: one column for each component of the elements.
#[derive(Clone, Debug, PartialEq)]
pub struct NestedArray {
    /// Extents and values of each component.
    pub columns: Vec<fusebox_ir::Nested>,
}

struct NestedParts {
    extents: Vec<TermId>,
    inner: Vec<TermId>,
    arrays: Vec<TermId>,
}

impl<Sh: Shape, In: Shape, T: Elt> Acc<Nested<Sh, In, T>> {
    pub(crate) fn of(extents: &[TermId], inner: &[TermId], arrays: &[TermId]) -> Self {
        const { assert!(In::RANK > 0, "arrays of scalars are no arrays of arrays: use `generate`") };
        let all: Vec<TermId> = extents.iter().chain(inner).chain(arrays).copied().collect();
        Self::from_run(arena::run(&all))
    }

    fn nested_parts(self, at: At) -> NestedParts {
        let count = Sh::RANK + In::RANK + T::COUNT;
        match arena::terms(self.run(), count, at) {
            Some(mut extents) => {
                let mut inner = extents.split_off(Sh::RANK);
                let arrays = inner.split_off(In::RANK);
                NestedParts { extents, inner, arrays }
            }
            None => {
                let zero = arena::constant(0i64, at);
                let arrays = crate::acc::missing(Sh::RANK, &T::types(), at).arrays;
                NestedParts { extents: vec![zero; Sh::RANK], inner: vec![UNKNOWN; In::RANK], arrays }
            }
        }
    }

    /// The outer extents.
    #[track_caller]
    pub fn shape(self) -> Sh::Index {
        let parts = self.nested_parts(here());
        let extents: Vec<Exp<i64>> = parts.extents.iter().map(|&term| Exp::from_terms(&[term])).collect();
        Sh::index(&extents)
    }

    /// The array at an index; outside an error at run time.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run(|| nest(5, |i| generate(i, |j| i * j)).element(3));
    /// assert_eq!(r.to_vec(), [0, 3, 6]);
    /// ```
    #[track_caller]
    pub fn element<I: AsIndex<Shape = Sh>>(self, index: I) -> Acc<Array<In, T>> {
        let at = here();
        let index = index_terms(index, at);
        let parts = self.nested_parts(at);
        let sizes = parts.inner.iter().filter(|&&id| id == UNKNOWN).count();
        let mut extents = parts.inner.clone();
        let mut arrays = Vec::with_capacity(T::COUNT);
        for (component, (&source, element)) in parts.arrays.iter().zip(T::types()).enumerate() {
            let op = ArrayOp::Element { source: source.as_array(), index: operands(&index) };
            let own_extents = |result: &dyn Fn(usize) -> TermId| -> Vec<TermId> {
                let mut next = 0..;
                let size = |&id: &TermId| if id == UNKNOWN { next.next().map_or(id, result) } else { id };
                parts.inner.iter().map(size).collect()
            };
            let types = |result: &dyn Fn(usize) -> TermId| {
                let mut types = vec![Type::scalar(ElementType::I64); sizes];
                types.push(Type::array(arena::extents(&own_extents(result)), element));
                types
            };
            let results = arena::array_op(op, Vec::new(), Vec::new(), types, at);
            if component == 0 {
                extents = own_extents(&|size| results.get(size).copied().unwrap_or(TermId(0)));
            }
            arrays.extend(results.last());
        }
        Acc::new(&extents, &arrays)
    }
}

/// The array of arrays whose element at each index is `f` of the index: nested parallelism.
///
/// Where the inner extents do not depend on the index, all elements have them.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run(|| {
///     let rows = nest(4, |i| generate(i, |j| i + j));
///     generate(4, |i| sum(rows.element(i)).get())
/// });
/// assert_eq!(r.to_vec(), [0, 1, 5, 12]);
/// ```
#[track_caller]
pub fn nest<I: AsIndex, In: Shape, T: Elt>(
    extents: I,
    f: impl FnOnce(<I::Shape as Shape>::Index) -> Acc<Array<In, T>>,
) -> Acc<Nested<I::Shape, In, T>> {
    let at = here();
    let extents = extent_terms(extents, at);
    let first = arena::len();
    let names = ["i", "j", "k", "l", "m", "n", "o", "p"];
    let parameter = |&name: &&str| {
        let ty = Type::scalar(ElementType::I64);
        arena::push(Term::BlockParameter { ty, name: name.to_owned() }, at)
    };
    let params: Vec<TermId> = names.iter().take(<I::Shape as Shape>::RANK).map(parameter).collect();
    let index: Vec<Exp<i64>> = params.iter().map(|&term| Exp::from_terms(&[term])).collect();
    let body = f(<I::Shape as Shape>::index(&index)).parts(at);
    let depends = |&extent: &TermId| {
        let seen = reached(&[extent], first);
        params.iter().any(|param| seen.contains(param))
    };
    let inner: Vec<TermId> = body.extents.iter().map(|id| if depends(id) { UNKNOWN } else { *id }).collect();
    let types = T::types().into_iter().map(|element| nested_type(&extents, &inner, element)).collect();
    let op = ArrayOp::Nest { extents: operands(&extents), body: Block::default() };
    let block = BlockTerm { params, results: body.arrays };
    let arrays = arena::array_op(op, Vec::new(), vec![block], |_| types, at);
    Acc::of(&extents, &inner, &arrays)
}

impl<Sh: Shape, In: Shape, T: Elt> Arrays for Acc<Nested<Sh, In, T>> {
    type Host = NestedArray;

    fn layout(prefix: &str, out: &mut Vec<Component>) {
        out.extend(Fields::of::<T>().into_iter().map(|(field, element)| Component {
            name: joined(prefix, &field),
            element,
            rank: Sh::RANK,
            inner: In::RANK,
        }));
    }

    fn make(maker: &mut Maker<'_>) -> Self {
        let extents = (maker.extents)(Sh::RANK, false);
        let inner = (maker.extents)(In::RANK, true);
        let types = T::types().into_iter().map(|element| nested_type(&extents, &inner, element));
        let arrays: Vec<TermId> = types.map(|ty| (maker.array)(ty)).collect();
        Self::of(&extents, &inner, &arrays)
    }

    fn take(self, at: Place, out: &mut Vec<Taken>) {
        let parts = self.nested_parts(at);
        out.push(Taken {
            extents: parts.extents,
            inner: parts.inner,
            arrays: parts.arrays,
            elements: T::types(),
            stream: false,
        });
    }

    fn unpack(host: &Self::Host, out: &mut Vec<Value>) {
        out.extend(host.columns.iter().cloned().map(Value::Nested));
    }

    fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError> {
        let nested = |value| match value {
            Value::Nested(nested) => Some(nested),
            Value::Array(_) | Value::Stream(_) => None,
        };
        let columns: Vec<fusebox_ir::Nested> = arrays.take(T::COUNT).filter_map(nested).collect();
        if columns.len() == T::COUNT {
            return Ok(NestedArray { columns });
        }
        let given = columns.iter().map(|column| column.values.element()).collect();
        let extents = columns.iter().map(|column| column.extents.extents().to_vec()).collect();
        Err(ArrayError::Columns { given, extents, rank: Sh::RANK, wanted: T::types() })
    }
}

impl<Sh: Shape, In: Shape, T: Elt> Results for Acc<Nested<Sh, In, T>> {
    const COUNT: usize = 1;
    fn describe(names: &[String]) -> Vec<Item> {
        names.iter().map(|name| Item::of::<Self>(name)).collect()
    }
}
