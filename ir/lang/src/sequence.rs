//! Sequence computations: one traversal of streams, element by element, which the interpreter holds one at a time and compiled code all at once.

mod accumulate;

use std::marker::PhantomData;

use fusebox_ir::{
    ArrayOp, Block, ElementType, Extent, Sink as IrSink, Type, Value,
    term::{BlockTerm, Term, TermId},
};

pub use self::accumulate::{Accumulate, SinkExtents, accumulate, accumulate_arrays};
use crate::{
    acc::{Acc, types_of},
    arena::{self, At, here},
    array::{Array, ArrayError, Vector},
    elt::{Elt, Fields},
    exp::{Exp, IntoExp},
    interface::{Arrays, Component, Item, Maker, Place, Results, Taken, joined},
    shape::{Dimensions, Fits, Shape},
};

/// A stream of arrays of shape `In` that come one by one; their extents may differ.
///
/// A marker: handles are `Acc<Stream<In, T>>`, an input or a result of a program; the host holds a `Vec<Array<In, T>>`. A stream is
/// read once, by [`consume`].
#[derive(Clone, Copy, Debug)]
pub struct Stream<In: Shape, T: Elt> {
    of: PhantomData<fn() -> (In, T)>,
}

impl<In: Shape, T: Elt> Acc<Stream<In, T>> {
    fn stream_terms(self, at: At) -> Vec<TermId> {
        arena::terms(self.run(), T::COUNT, at).unwrap_or_else(|| crate::acc::missing(In::RANK, &T::types(), at).arrays)
    }
}

fn stream_type(rank: usize, element: ElementType) -> Type {
    Type { stream: true, ..Type::array(vec![Extent::Unknown; rank], element) }
}

impl<In: Shape, T: Elt> Arrays for Acc<Stream<In, T>> {
    type Host = Vec<Array<In, T>>;

    fn layout(prefix: &str, out: &mut Vec<Component>) {
        out.extend(Fields::of::<T>().into_iter().map(|(field, element)| Component {
            name: joined(prefix, &field),
            element,
            rank: In::RANK,
            inner: 0,
        }));
    }

    fn make(maker: &mut Maker<'_>) -> Self {
        let types = T::types().into_iter().map(|element| stream_type(In::RANK, element));
        let terms: Vec<TermId> = types.map(|ty| (maker.array)(ty)).collect();
        Self::from_run(arena::run(&terms))
    }

    fn take(self, at: Place, out: &mut Vec<Taken>) {
        let arrays = self.stream_terms(at);
        out.push(Taken { extents: Vec::new(), inner: Vec::new(), arrays, elements: T::types(), stream: true });
    }

    fn unpack(host: &Self::Host, out: &mut Vec<Value>) {
        for component in 0..T::COUNT {
            out.push(Value::Stream(host.iter().filter_map(|array| array.columns().get(component).cloned()).collect()));
        }
    }

    fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError> {
        let elements = |value| match value {
            Value::Stream(elements) => Some(elements.into_iter()),
            Value::Array(_) | Value::Nested(_) => None,
        };
        let mut components: Vec<_> = arrays.take(T::COUNT).filter_map(elements).collect();
        let count = components.iter().map(ExactSizeIterator::len).min().unwrap_or(0);
        (0..count).map(|_| Array::from_columns(components.iter_mut().filter_map(Iterator::next).collect())).collect()
    }
}

impl<In: Shape, T: Elt> Results for Acc<Stream<In, T>> {
    const COUNT: usize = 1;
    fn describe(names: &[String]) -> Vec<Item> {
        names.iter().map(|name| Item::of::<Self>(name)).collect()
    }
}

/// What a traversal has opened.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Opened {
    limits: Vec<TermId>,
    params: Vec<TermId>,
    streams: Vec<TermId>,
}

/// What a traversal runs over: streams, the rows of arrays ([`to_seq`]), a number of steps ([`produce`]), tuples of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be consumed",
    note = "sources are `Acc<Stream<...>>`, `to_seq(array)`, `produce(n)`, and tuples of them"
)]
pub trait Source {
    /// What a step gets.
    type Element;

    #[doc(hidden)]
    fn open(self, at: Place, opened: &mut Opened) -> Self::Element;
}

/// A number of steps: see [`produce`].
#[derive(Clone, Copy, Debug)]
pub struct Produce(Exp<i64>);

/// So many steps at most; a step gets nothing but its number.
#[track_caller]
pub fn produce(steps: impl IntoExp<i64>) -> Produce {
    Produce(steps.into_exp())
}

impl Source for Produce {
    type Element = ();
    fn open(self, at: Place, opened: &mut Opened) {
        opened.limits.push(self.0.term(at));
    }
}

/// The elements along the outermost dimension of an array: see [`to_seq`].
#[derive(Clone, Copy, Debug)]
pub struct ToSeq<A>(Acc<A>);

/// The elements along the outermost dimension of an array, one a step: of a vector scalars, of a matrix rows.
pub fn to_seq<Sh: Dimensions, T: Elt>(xs: Acc<Array<Sh, T>>) -> ToSeq<Array<Sh, T>> {
    ToSeq(xs)
}

fn parameter(ty: Type, name: &str, at: At) -> TermId {
    arena::push(Term::BlockParameter { ty, name: name.to_owned() }, at)
}

impl<Sh: Dimensions, T: Elt> Source for ToSeq<Array<Sh, T>> {
    type Element = Acc<Array<Sh::Down, T>>;
    fn open(self, at: Place, opened: &mut Opened) -> Self::Element {
        let parts = self.0.parts(at);
        let extents = &parts.extents[1..];
        let params: Vec<TermId> = types_of::<T>(extents).into_iter().map(|ty| parameter(ty, "x", at)).collect();
        opened.params.extend(&params);
        opened.streams.extend(parts.arrays);
        Acc::new(extents, &params)
    }
}

impl<In: Shape, T: Elt> Source for Acc<Stream<In, T>> {
    type Element = Acc<Array<In, T>>;
    fn open(self, at: Place, opened: &mut Opened) -> Self::Element {
        let size = |_| arena::push(Term::Size { name: arena::size_name() }, at);
        let extents: Vec<TermId> = (0..In::RANK).map(size).collect();
        let params: Vec<TermId> = types_of::<T>(&extents).into_iter().map(|ty| parameter(ty, "x", at)).collect();
        opened.params.extend(&params);
        opened.streams.extend(self.stream_terms(at));
        Acc::new(&extents, &params)
    }
}

/// The type of a result of a traversal, in terms of other results by position.
enum ResultType {
    Plain(Type),
    /// A vector whose extent is that result.
    Vector(usize, ElementType),
    /// An array whose extents are these many results from that one on.
    Array(usize, usize, ElementType),
}

/// What a traversal gives, so far.
#[doc(hidden)]
#[derive(Default)]
pub struct Closing {
    yielded: Vec<TermId>,
    sinks: Vec<IrSink>,
    blocks: Vec<BlockTerm>,
    types: Vec<ResultType>,
}

/// What becomes of the values of a step: [`elements`], [`tabulate`], [`stream_out`], [`accumulate`], tuples of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what becomes of the values of a step",
    note = "give them to `elements`, `tabulate`, `stream_out` or `accumulate`, or a tuple of these"
)]
pub trait Sink {
    /// What the traversal gives.
    type Result;

    #[doc(hidden)]
    fn yields(self, at: Place, closing: &mut Closing) -> Box<dyn FnOnce(&[TermId]) -> Self::Result>;
}

/// See [`elements`].
#[derive(Clone, Copy, Debug)]
pub struct Elements<A>(Acc<A>);

/// All elements of the arrays of all steps, in row-major order, one step after the other: a vector.
pub fn elements<In: Shape, T: Elt>(xs: Acc<Array<In, T>>) -> Elements<Array<In, T>> {
    Elements(xs)
}

impl<In: Shape, T: Elt> Sink for Elements<Array<In, T>> {
    type Result = Acc<Vector<T>>;
    fn yields(self, at: Place, closing: &mut Closing) -> Box<dyn FnOnce(&[TermId]) -> Self::Result> {
        let first = closing.types.len();
        closing.yielded.extend(self.0.parts(at).arrays);
        closing.sinks.push(IrSink::Elements { count: T::COUNT });
        closing.types.push(ResultType::Plain(Type::scalar(ElementType::I64)));
        closing.types.extend(T::types().into_iter().map(|element| ResultType::Vector(first, element)));
        Box::new(move |results| Acc::new(&results[first..=first], &results[first + 1..][..T::COUNT]))
    }
}

/// See [`tabulate`].
#[derive(Clone, Copy, Debug)]
pub struct Tabulate<A>(Acc<A>);

/// The arrays of all steps along a new outermost dimension, cut to the least extents met.
pub fn tabulate<In: Shape<Up: Fits>, T: Elt>(xs: Acc<Array<In, T>>) -> Tabulate<Array<In, T>> {
    Tabulate(xs)
}

impl<In: Shape, T: Elt> Sink for Tabulate<Array<In, T>> {
    type Result = Acc<Array<In::Up, T>>;
    fn yields(self, at: Place, closing: &mut Closing) -> Box<dyn FnOnce(&[TermId]) -> Self::Result> {
        let start = closing.types.len();
        let (extents, stride) = (In::RANK + 1, In::RANK + 2);
        for (array, element) in self.0.parts(at).arrays.into_iter().zip(T::types()) {
            let first = closing.types.len();
            closing.yielded.push(array);
            closing.sinks.push(IrSink::Tabulate);
            closing.types.extend((0..extents).map(|_| ResultType::Plain(Type::scalar(ElementType::I64))));
            closing.types.push(ResultType::Array(first, extents, element));
        }
        Box::new(move |results| {
            let arrays: Vec<TermId> =
                (0..T::COUNT).map(|component| results[start + component * stride + extents]).collect();
            Acc::new(&results[start..start + extents], &arrays)
        })
    }
}

/// See [`stream_out`].
#[derive(Clone, Copy, Debug)]
pub struct StreamOut<A>(Acc<A>);

/// A stream of the arrays, one a step.
pub fn stream_out<In: Shape, T: Elt>(xs: Acc<Array<In, T>>) -> StreamOut<Array<In, T>> {
    StreamOut(xs)
}

impl<In: Shape, T: Elt> Sink for StreamOut<Array<In, T>> {
    type Result = Acc<Stream<In, T>>;
    fn yields(self, at: Place, closing: &mut Closing) -> Box<dyn FnOnce(&[TermId]) -> Self::Result> {
        let first = closing.types.len();
        closing.yielded.extend(self.0.parts(at).arrays);
        closing.sinks.extend((0..T::COUNT).map(|_| IrSink::StreamOut));
        let types = T::types().into_iter().map(|element| ResultType::Plain(stream_type(In::RANK, element)));
        closing.types.extend(types);
        Box::new(move |results| Acc::from_run(arena::run(&results[first..first + T::COUNT])))
    }
}

macro_rules! tuples {
    ($(($($t:ident $x:ident),*))*) => {$(
        impl<$($t: Source),*> Source for ($($t,)*) {
            type Element = ($($t::Element,)*);
            fn open(self, at: Place, opened: &mut Opened) -> Self::Element {
                let ($($x,)*) = self;
                ($($x.open(at, opened),)*)
            }
        }
        impl<$($t: Sink),*> Sink for ($($t,)*)
        where
            $($t::Result: 'static),*
        {
            type Result = ($($t::Result,)*);
            fn yields(self, at: Place, closing: &mut Closing) -> Box<dyn FnOnce(&[TermId]) -> Self::Result> {
                let ($($x,)*) = self;
                $(let $x = $x.yields(at, closing);)*
                Box::new(move |results| ($($x(results),)*))
            }
        }
    )*};
}
tuples! {
    (A a)
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
}

/// One traversal: `step` gets the number of the step and an element of each source, and says what becomes of what it computes. The
/// shortest source decides how many steps there are.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((3, 2), &[1, 2, 3, 4, 5, 6i64]).unwrap();
/// let (sums, total, odd) = example::run1(|m: Acc<Matrix<i64>>| {
///     consume(to_seq(m), |_, row| {
///         let s = sum(row);
///         (tabulate(s), accumulate(|total, s| unit(total + sum(s)), unit(100), s), elements(filter(|x| x.is_odd(), row).0))
///     })
/// }, &m);
/// assert_eq!((sums.to_vec(), total.value(), odd.to_vec()), (vec![3, 7, 11], Some(121), vec![1, 3, 5]));
/// ```
#[track_caller]
pub fn consume<S: Source, K: Sink>(source: S, step: impl FnOnce(Exp<i64>, S::Element) -> K) -> K::Result {
    let at = here();
    let number = parameter(Type::scalar(ElementType::I64), "i", at);
    let mut opened = Opened { params: vec![number], ..Opened::default() };
    let element = source.open(at, &mut opened);
    let mut closing = Closing::default();
    let finish = step(Exp::from_terms(&[number]), element).yields(at, &mut closing);
    let limit = opened.limits.into_iter().reduce(|a, b| arena::size(fusebox_ir::Binary::Min, a, b, at));
    let op = ArrayOp::Consume {
        limit: limit.map(arena::operand),
        body: Block::default(),
        sinks: closing.sinks,
        streams: arena::array_ids(&opened.streams),
        chunks: false,
    };
    let mut blocks = vec![BlockTerm { params: opened.params, results: closing.yielded }];
    blocks.extend(closing.blocks);
    let types = |result: &dyn Fn(usize) -> TermId| {
        let ty = |ty: &ResultType| match ty {
            ResultType::Plain(ty) => ty.clone(),
            ResultType::Vector(size, element) => Type::array(arena::extents(&[result(*size)]), *element),
            ResultType::Array(first, count, element) => {
                let extents: Vec<TermId> = (*first..first + count).map(result).collect();
                Type::array(arena::extents(&extents), *element)
            }
        };
        closing.types.iter().map(ty).collect()
    };
    let results = arena::array_op(op, Vec::new(), blocks, types, at);
    finish(&results)
}
