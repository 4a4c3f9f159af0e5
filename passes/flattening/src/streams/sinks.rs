//! Computes the results of sinks from what the body returns for the only chunk.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Block, Direction,
    ElementType::{Bool, I64},
    Lambda, Operand, ScalarValue, ScanForm, Sink, Type, Var,
};

use super::{
    Known, Stored,
    writer::{Writer, number},
};
use crate::extents::scalar;

/// The sinks of a traversal.
pub(super) struct Sinks<'t> {
    pub results: &'t [Var],
    /// How many elements the chunk has.
    pub count: ArrayId,
}

impl Sinks<'_> {
    /// Writes the results of all sinks; `given` is what the body gives.
    pub fn written(&self, sinks: Vec<Sink>, given: &[ArrayId], known: &mut Known, writer: &mut Writer<'_>) {
        let (mut results, mut given) = (self.results, given);
        for sink in sinks {
            let (taken, rest) = given.split_at(sink.takes(results, true).min(given.len()));
            given = rest;
            let (own, rest) = results.split_at(sink.gives(results).min(results.len()));
            results = rest;
            match sink {
                Sink::Elements { .. } => self.elements(own, taken, known, writer),
                Sink::Tabulate => self.tabulate(own, taken, own.len().saturating_sub(2), writer),
                Sink::StreamOut => {
                    let (Some(own), Some((&values, extents))) = (own.first(), taken.split_last()) else { continue };
                    let total = writer.unit("total", |_| scalar(known.extent(values)));
                    let extents = extents.first().copied();
                    let (rank, element) = (own.ty.rank(), own.ty.element);
                    let number = self.count;
                    known.stored.insert(own.id, Stored { extents, values, number, total, rank, element });
                }
                Sink::Accumulate { f, seeds, .. } => self.accumulate(own, f, &seeds, taken, known, writer),
            }
        }
    }

    /// The size and the vectors.
    fn elements(&self, own: &[Var], given: &[ArrayId], known: &Known, writer: &mut Writer<'_>) {
        let (Some((size, vectors)), Some(&first)) = (own.split_first(), given.first()) else { return };
        writer.unit_as(size.clone(), |_| scalar(known.extent(first)));
        for (var, &given) in vectors.iter().zip(given) {
            writer.reshape_as(var.clone(), given);
        }
    }

    /// The number, the least extents, the array of elements cut to these.
    fn tabulate(&self, own: &[Var], given: &[ArrayId], rank: usize, writer: &mut Writer<'_>) {
        let (Some((table, sizes)), Some((&values, extents))) = (own.split_last(), given.split_last()) else { return };
        let Some((rows, least)) = sizes.split_first() else { return };
        let count = self.count;
        writer.unit_as(rows.clone(), |_| ScalarValue::outer(count, I64));
        let Some(&extents) = extents.first() else { return writer.reshape_as(table.clone(), values) };
        let extent = move |f: &mut fusebox_ir::LambdaBuilder, row: ScalarValue, dim: usize| match rank {
            1 => f.read(extents, I64, &[row]),
            _ => f.read(extents, I64, &[row, number(dim)]),
        };
        for (dim, var) in least.iter().enumerate() {
            let all = writer.generate("extents", &[count.into()], I64, |f, index| extent(f, index[0], dim));
            let shortest = writer.fold("least", Binary::Min, i64::MAX, all);
            writer.unit_as(var.clone(), |f| {
                let some = f.binary(Binary::Gt, ScalarValue::outer(count, I64), 0i64);
                f.select(some, ScalarValue::outer(shortest, I64), 0i64)
            });
        }
        let sizes = writer.products(extents, count, rank);
        let offsets = offsets(sizes, count, writer);
        writer.generate_as(table.clone(), |f, index| {
            let within = (1..rank).fold(index[1], |position, dim| {
                let own = extent(f, index[0], dim);
                let whole = f.mul(position, own);
                f.add(whole, index[dim + 1])
            });
            let begin = f.read(offsets, I64, &[index[0]]);
            let position = f.add(begin, within);
            f.read(values, table.ty.element, &[position])
        });
    }

    /// The state after the chunk; of no elements, before it.
    fn accumulate(
        &self,
        own: &[Var],
        f: Block,
        seeds: &[Operand],
        given: &[ArrayId],
        known: &mut Known,
        writer: &mut Writer<'_>,
    ) {
        for (param, &given) in f.params.iter().skip(seeds.len()).zip(given) {
            known.instead.insert(param.id, given.into());
            let extents = known.types.get(&given).map(|ty| ty.extents.clone()).unwrap_or_default();
            known.bind_sizes(&f, &param.ty, &extents);
        }
        let some = writer.bind("some", Type::scalar(Bool), {
            let f = Lambda::build(&[], |f, _| vec![f.binary(Binary::Gt, ScalarValue::outer(self.count, I64), 0i64)]);
            ArrayOp::Unit { f }
        });
        let (mut bindings, ()) = writer.inner(|writer| {
            for (param, &seed) in f.params.iter().zip(seeds) {
                match seed {
                    Operand::Value(_) => _ = known.instead.insert(param.id, seed),
                    Operand::Constant(_) => writer.bind_as(vec![param.clone()], constant(seed)),
                }
            }
        });
        bindings.extend(f.bindings);
        let then = Block { bindings, results: f.results, ..Block::default() };
        let (bindings, results) = writer.inner(|writer| {
            seeds
                .iter()
                .zip(own)
                .map(|(&seed, var)| match seed {
                    Operand::Value(id) => id,
                    Operand::Constant(_) => writer.bind("seed", var.ty.clone(), constant(seed)),
                })
                .collect()
        });
        let otherwise = Block { bindings, results, ..Block::default() };
        writer.bind_as(own.to_vec(), ArrayOp::Cond { condition: some.into(), then, otherwise });
    }
}

fn constant(operand: Operand) -> ArrayOp {
    ArrayOp::Unit { f: Lambda { results: vec![operand.in_scalar()], ..Lambda::default() } }
}

/// Where each element's values begin, and behind them how many there are in all.
pub(super) fn offsets(sizes: ArrayId, count: ArrayId, writer: &mut Writer<'_>) -> ArrayId {
    let more = writer.unit("more", |f| f.add(ScalarValue::outer(count, I64), 1i64));
    let op = ArrayOp::Scan {
        direction: Direction::Left,
        form: ScanForm::Exclusive,
        combine: Lambda::componentwise(&[(Binary::Add, I64)]),
        seeds: vec![0i64.into()],
        sources: vec![sizes],
        offsets: None,
        commutes: false,
    };
    writer.bind("offsets", Type::array(vec![more.into()], I64), op)
}
