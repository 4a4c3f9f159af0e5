//! States that chunks of a traversal are folded into.

use fusebox_ir::{
    Block, ElementType, Extent, Sink as IrSink, Type,
    term::{BlockTerm, Term, TermId},
};

use super::{Closing, ResultType, Sink, parameter};
use crate::{
    acc::{Acc, types_of},
    arena::{self, here},
    array::{Array, Scalar, Vector},
    elt::Elt,
    interface::{Arrays, Place},
    shape::{Dimensions, Shape},
};

/// See [`accumulate`].
pub struct Accumulate<'a, S, In: Shape, T: Elt> {
    values: Acc<Array<In, T>>,
    seed: S,
    f: AccumulateFunction<'a, S, T>,
}

/// States, the extents of the elements of a chunk, all their values, to states.
type AccumulateFunction<'a, S, T> = Box<dyn FnOnce(S, Option<TermId>, Acc<Vector<T>>) -> S + 'a>;

impl<S, In: Shape, T: Elt> std::fmt::Debug for Accumulate<'_, S, In, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Accumulate({:?})", self.values)
    }
}

/// A state that every chunk of scalars is folded into: `f(state, values of the chunk)`. How steps are cut into chunks is not known, and
/// the result must not depend on it. The state is an array, a scalar, or a tuple of them, whose extents stay.
pub fn accumulate<'a, S: Arrays, T: Elt>(
    f: impl FnOnce(S, Acc<Vector<T>>) -> S + 'a,
    seed: S,
    value: Acc<Scalar<T>>,
) -> Accumulate<'a, S, crate::Ix0, T> {
    Accumulate { values: value, seed, f: Box::new(|state, _, values| f(state, values)) }
}

/// A state that every chunk of arrays is folded into: `f(state, extents, values)`. Of a chunk of c arrays of rank 1 the extents are
/// `[c]`, of rank r `[c, r]`, and the values are all of them in order. Otherwise as [`accumulate`].
pub fn accumulate_arrays<'a, S: Arrays, In: SinkExtents, T: Elt>(
    f: impl FnOnce(S, Acc<Array<In::Extents, i64>>, Acc<Vector<T>>) -> S + 'a,
    seed: S,
    values: Acc<Array<In, T>>,
) -> Accumulate<'a, S, In, T> {
    let at = here();
    let f = move |state, extents: Option<TermId>, values| {
        let array = extents.unwrap_or(TermId(0));
        let shape = with_type(array);
        let rank = <In::Extents as Shape>::RANK;
        let shape: Vec<TermId> =
            (0..rank).map(|i| shape.get(i).copied().unwrap_or_else(|| arena::constant(0i64, at))).collect();
        f(state, Acc::new(&shape, &[array]), values)
    };
    Accumulate { values, seed, f: Box::new(f) }
}

/// Shapes of arrays that [`accumulate_arrays`] takes: at least one dimension.
pub trait SinkExtents: Dimensions {
    /// The shape of the extents of a chunk's elements.
    type Extents: Shape;
}
impl SinkExtents for crate::Ix1 {
    type Extents = crate::Ix1;
}
macro_rules! sink_extents {
    ($($shape:ident)*) => {$(impl SinkExtents for crate::$shape { type Extents = crate::Ix2; })*};
}
sink_extents! { Ix2 Ix3 Ix4 Ix5 Ix6 Ix7 Ix8 }

/// The terms of the extents of a parameter.
fn with_type(id: TermId) -> Vec<TermId> {
    arena::with(|arena| match arena.nodes.get(id.index()).map(|node| &node.term) {
        Some(Term::BlockParameter { ty, .. }) => ty.extents.clone(),
        _ => Vec::new(),
    })
    .unwrap_or_default()
    .into_iter()
    .map(|extent| match extent {
        Extent::Value(id) => TermId::of_array(id),
        Extent::Constant(number) => arena::constant(number, here()),
        Extent::Unknown => crate::nest::UNKNOWN,
    })
    .collect()
}

impl<S: Arrays, In: Shape, T: Elt> Sink for Accumulate<'_, S, In, T> {
    type Result = S;
    fn yields(self, at: Place, closing: &mut Closing) -> Box<dyn FnOnce(&[TermId]) -> S> {
        let Self { values, seed, f } = self;
        let first = closing.types.len();
        closing.yielded.extend(values.parts(at).arrays);
        let seed = crate::ops::control::State::of(seed, at);
        let state_extents = seed.extents();
        let types = seed.types(&state_extents);
        let mut params: Vec<TermId> = types.iter().cloned().map(|ty| parameter(ty, "state", at)).collect();
        let state = crate::ops::control::State::make::<S>(&state_extents, &params);
        let size = || arena::push(Term::Size { name: arena::size_name() }, at);
        let chunk = match In::RANK {
            0 => None,
            1 => Some(vec![size()]),
            rank => Some(vec![size(), arena::constant(rank as i64, at)]),
        };
        let chunk =
            chunk.map(|extents| parameter(Type::array(arena::extents(&extents), ElementType::I64), "extents", at));
        params.extend(chunk);
        let count = size();
        let columns: Vec<TermId> = types_of::<T>(&[count]).into_iter().map(|ty| parameter(ty, "x", at)).collect();
        params.extend(&columns);
        let result = crate::ops::control::State::of(f(state, chunk, Acc::new(&[count], &columns)), at);
        closing.blocks.push(BlockTerm { params, results: result.arrays() });
        let seeds = arena::operands(&seed.arrays());
        closing.sinks.push(IrSink::Accumulate { count: T::COUNT, f: Block::default(), seeds });
        let count = types.len();
        closing.types.extend(types.into_iter().map(ResultType::Plain));
        Box::new(move |results| crate::ops::control::State::make::<S>(&state_extents, &results[first..first + count]))
    }
}
