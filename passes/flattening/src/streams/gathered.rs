//! What the sinks of a traversal in lanes make of what the nest of its steps gave.

use std::collections::HashSet;

use fusebox_ir::{ArrayId, ArrayOp, Binary, Block, ElementType::I64, Extent, ScalarValue, Sink, Type, Var};

use super::{
    Known, extents_of_elements,
    sinks::Sinks,
    state::Lanes,
    writer::{Writer, number},
};
use crate::extents::scalar;

/// The results of a nest while they are found.
pub(super) struct Nest {
    pub results: Vec<Var>,
    pub given: Vec<ArrayId>,
    pub count: ArrayId,
    /// What its body defines.
    pub inside: HashSet<ArrayId>,
}

impl Nest {
    /// A value of the body as a result of this type; each value is one once.
    fn result(&mut self, id: ArrayId, ty: Type, writer: &mut Writer<'_>) -> Var {
        if let Some(at) = self.given.iter().position(|&given| given == id) {
            return self.results[at].clone();
        }
        let var = Var { id: writer.fresh.id(), ty, name: "".into() };
        self.given.push(id);
        self.results.push(var.clone());
        var
    }
}

/// An extent of what all steps give.
#[derive(Clone, Copy, Debug)]
pub(super) enum Along {
    Same(Extent),
    /// A vector of one for each step.
    Own(ArrayId),
}

impl Lanes<'_> {
    /// A value of the body as a result of the nest.
    pub fn given(&self, id: ArrayId, nest: &mut Nest, writer: &mut Writer<'_>) -> Var {
        let ty = self.ty(id);
        let own = |extent: &Extent| match self.streams.known.extent_now(*extent) {
            Extent::Value(id) if nest.inside.contains(&id) => Extent::Unknown,
            other => other,
        };
        let inner: Vec<Extent> = ty.extents.iter().map(own).collect();
        let inner = if inner.is_empty() { Vec::new() } else { vec![inner] };
        let ty = Type { inner, ..Type::array(vec![nest.count.into()], ty.element) };
        nest.result(id, ty, writer)
    }

    /// The extents of a value of the body for all steps: the same, or a vector.
    pub fn extents_given(&self, id: ArrayId, nest: &mut Nest, writer: &mut Writer<'_>) -> Vec<Along> {
        let extents = self.ty(id).extents;
        let own = |extent: Extent| match self.streams.known.extent_now(extent) {
            Extent::Value(id) if nest.inside.contains(&id) => {
                Along::Own(nest.result(id, Type::array(vec![nest.count.into()], I64), writer).id)
            }
            other => Along::Same(other),
        };
        extents.into_iter().map(own).collect()
    }

    /// What a sink makes of what all steps gave.
    pub fn sink(
        &mut self,
        sink: Sink,
        own: &[Var],
        given: &[Var],
        extents: &[Along],
        count: ArrayId,
        writer: &mut Writer<'_>,
    ) {
        let known = &mut self.streams.known;
        let rank = given.first().and_then(|first| first.ty.inner.first()).map_or(0, Vec::len);
        if rank == 0 {
            let given: Vec<ArrayId> = given.iter().map(|var| var.id).collect();
            return match sink {
                // What steps give is the result, as it is.
                Sink::Elements { .. } | Sink::Tabulate => known.stands_for(own, count, &given),
                Sink::Accumulate { .. } | Sink::StreamOut => {
                    Sinks { results: own, count }.written(vec![sink], &given, known, writer);
                }
            };
        }
        let (size, values) = concatenated(given, known, writer);
        if let Sink::Elements { .. } = sink {
            return known.stands_for(own, size, &values);
        }
        if let (Sink::Tabulate, Some((table, sizes))) = (&sink, own.split_last())
            && let Some(same) = all_same(extents)
            && let Some((rows, sizes)) = sizes.split_first()
        {
            known.stands_for(std::slice::from_ref(rows), count, &[]);
            for (var, &same) in sizes.iter().zip(&same) {
                writer.unit_as(var.clone(), |f| {
                    let some = f.binary(Binary::Gt, ScalarValue::outer(count, I64), 0i64);
                    f.select(some, scalar(same), 0i64)
                });
            }
            return writer.reshape_as(table.clone(), values[0]);
        }
        let mut all = vec![table_of(extents, count, known, writer)];
        all.extend(values);
        Sinks { results: own, count }.written(vec![sink], &all, known, writer);
    }
}

fn all_same(extents: &[Along]) -> Option<Vec<Extent>> {
    extents.iter().map(|along| if let Along::Same(extent) = along { Some(*extent) } else { None }).collect()
}

/// The extents of all steps as one array, as chunks have them.
fn table_of(extents: &[Along], count: ArrayId, known: &mut Known, writer: &mut Writer<'_>) -> ArrayId {
    if let [Along::Own(vector)] = extents {
        return *vector;
    }
    let shape = extents_of_elements(count.into(), extents.len());
    let table = writer.generate("extents", &shape, I64, |f, index| {
        let mut along = extents.iter().map(|along| match *along {
            Along::Same(extent) => scalar(extent),
            Along::Own(vector) => f.read(vector, I64, &[index[0]]),
        });
        let all: Vec<ScalarValue> = along.by_ref().collect();
        let last = all.len() - 1;
        (0..last).rev().fold(all[last], |other, dim| {
            let here = f.binary(Binary::Eq, index[1], number(dim));
            f.select(here, all[dim], other)
        })
    });
    known.types.insert(table, Type::array(shape, I64));
    table
}

/// How many elements arrays of arrays have, and these, one array after the other; of the same extents, or the run fails.
fn concatenated(given: &[Var], known: &mut Known, writer: &mut Writer<'_>) -> (ArrayId, Vec<ArrayId>) {
    let step = Var { id: writer.fresh.id(), ty: Type::scalar(I64), name: "".into() };
    let mut body = Block { params: vec![step], ..Block::default() };
    let size = Var { id: writer.fresh.id(), ty: Type::scalar(I64), name: "size".into() };
    let mut results = vec![size.clone()];
    for var in given {
        let mut extents = Vec::new();
        for &extent in var.ty.inner.iter().flatten() {
            extents.push(match extent {
                Extent::Unknown => {
                    let size = Var { id: writer.fresh.id(), ty: Type::scalar(I64), name: "".into() };
                    body.sizes.push(size.clone());
                    Extent::Value(size.id)
                }
                known => known,
            });
        }
        let id = writer.fresh.id();
        body.params.push(Var { id, ty: Type::array(extents, var.ty.element), name: "".into() });
        body.results.push(id);
        let ty = Type::array(vec![size.id.into()], var.ty.element);
        results.push(Var { id: writer.fresh.id(), ty, name: var.name.clone() });
    }
    for var in &results {
        known.types.insert(var.id, var.ty.clone());
    }
    let values = results[1..].iter().map(|var| var.id).collect();
    let op = ArrayOp::Consume {
        limit: None,
        body,
        sinks: vec![Sink::Elements { count: given.len() }],
        streams: given.iter().map(|var| var.id).collect(),
        chunks: false,
    };
    writer.bind_as(results, op);
    (size.id, values)
}
