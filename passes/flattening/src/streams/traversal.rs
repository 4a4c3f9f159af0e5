//! One traversal: what its body reads is all elements of its streams, and the body is written in its place.

use fusebox_ir::{ArrayId, Binary, Block, ElementType::I64, Extent, Operand, ScalarValue, Sink, Type, Var};

use super::{
    Known, Stored, extents_of_elements,
    sinks::Sinks,
    writer::{Writer, number},
};
use crate::extents::scalar;

/// A traversal whose body takes chunks.
pub(super) struct Traversal<'t> {
    pub results: &'t [Var],
    pub limit: Option<Operand>,
    pub streams: &'t [ArrayId],
}

impl Traversal<'_> {
    /// Writes it.
    pub fn written(&self, body: Block, sinks: Vec<Sink>, known: &mut Known, writer: &mut Writer<'_>) {
        let numbers: Vec<Extent> = self
            .streams
            .iter()
            .map(|&id| match known.stored.get(&id) {
                Some(stored) => stored.number.into(),
                None => known.extent(id),
            })
            .collect();
        let (limit, count) = (self.limit, steps(self.limit, &numbers, writer));
        // One stream alone is read to its end.
        let whole = limit.is_none() && self.streams.len() == 1;
        let mut params = body.params.iter();
        let begins = params.next().map(|var| (var.id, Operand::from(0)));
        let counts = params.next().map(|var| (var.id, Operand::Value(count)));
        known.instead.extend(begins.into_iter().chain(counts));
        for id in self.streams {
            let chunk = match known.stored.get(id) {
                Some(stored) if whole => stored.clone(),
                Some(stored) => beginning(stored, count, writer),
                None => {
                    let ty = known.types.get(id).cloned().unwrap_or_else(|| Type::scalar(I64));
                    rows(*id, &ty, count, whole, writer)
                }
            };
            let given = chunk.extents.into_iter().chain([chunk.values]);
            for (given, param) in given.zip(params.by_ref()) {
                known.instead.insert(param.id, given.into());
                // Sizes that the parameter binds are those of what is given.
                let extents = [Extent::Value(if param.ty.rank() == 1 && given == chunk.values {
                    chunk.total
                } else {
                    chunk.number
                })];
                known.bind_sizes(&body, &param.ty, &extents);
            }
        }
        writer.bindings.extend(body.bindings);
        let sinks_of = Sinks { results: self.results, count };
        sinks_of.written(sinks, &body.results, known, writer);
    }
}

/// How many steps a traversal takes: as many as the limit and the shortest stream allow.
pub(super) fn steps(limit: Option<Operand>, numbers: &[Extent], writer: &mut Writer<'_>) -> ArrayId {
    writer.unit("count", |f| {
        let limit = limit.map(|limit| f.binary(Binary::Max, ScalarValue::int(limit.in_scalar()), 0i64));
        let mut all = limit.into_iter().chain(numbers.iter().map(|&number| scalar(number)));
        let first = all.next().unwrap_or(number(0));
        all.fold(first, |least, number| f.binary(Binary::Min, least, number))
    })
}

/// The first elements of a stream.
fn beginning(stored: &Stored, count: ArrayId, writer: &mut Writer<'_>) -> Stored {
    let &Stored { rank, element, .. } = stored;
    let Some(extents) = stored.extents else {
        let values = writer.first("values", stored.values, Type::array(vec![count.into()], element));
        return Stored { values, number: count, total: count, ..stored.clone() };
    };
    let ty = Type::array(extents_of_elements(count.into(), rank), I64);
    let extents = writer.first("extents", extents, ty);
    let sizes = writer.products(extents, count, rank);
    let total = writer.fold("total", Binary::Add, 0, sizes);
    let values = writer.first("values", stored.values, Type::array(vec![total.into()], element));
    Stored { extents: Some(extents), values, number: count, total, rank, element }
}

/// The elements of an array along its outermost dimension: the first `count` of them, or the whole array.
fn rows(array: ArrayId, ty: &Type, count: ArrayId, whole: bool, writer: &mut Writer<'_>) -> Stored {
    let inner = ty.extents.get(1..).unwrap_or_default().to_vec();
    let read = if whole {
        array
    } else {
        let extents = [Extent::Value(count)].into_iter().chain(inner.iter().copied()).collect();
        writer.first("rows", array, Type::array(extents, ty.element))
    };
    let (rank, element) = (inner.len(), ty.element);
    if inner.is_empty() {
        return Stored { extents: None, values: read, number: count, total: count, rank, element };
    }
    let total = writer.unit("total", |f| {
        inner.iter().fold(ScalarValue::outer(count, I64), |product, &extent| f.mul(product, scalar(extent)))
    });
    let values = writer.reshape("values", read, Type::array(vec![total.into()], ty.element));
    let extents = writer.generate("extents", &extents_of_elements(count.into(), rank), I64, |f, index| {
        let last = scalar(inner[rank - 1]);
        (0..rank - 1).rev().fold(last, |other, dim| {
            let here = f.binary(Binary::Eq, index[1], number(dim));
            f.select(here, scalar(inner[dim]), other)
        })
    });
    Stored { extents: Some(extents), values, number: count, total, rank, element }
}
