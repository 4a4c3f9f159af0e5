//! Sequence computations: a body that takes an element at a time becomes one that takes a chunk of them, each an element of its lanes.
//!
//! Source: Clifton-Everest, "Optimising purely functional GPU programs" (sequences).

use std::borrow::Cow;

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block,
    ElementType::{Bool, I64},
    Extent, Lambda, LambdaBuilder, Name, Operand, ScalarOp, ScalarValue, Sink, Type, Var,
};

use super::{
    Bound, Lifter, Value,
    context::{ContextId, LaneExtent, ROOT},
    flat::operands,
};
use crate::{Error, streams::is_concatenation};

/// A chunk as the parameters of a body: its elements one after the other, and their extents if they are no scalars.
struct Chunk {
    extents: Option<ArrayId>,
    values: ArrayId,
    /// How many values there are.
    total: ArrayId,
}

impl<'p> Lifter<'p> {
    /// Lifts a sequence computation: outside of lanes, or one that puts arrays one after the other.
    pub fn consume(&mut self, binding: &'p Binding, home: ContextId) -> Result<(), Error> {
        let ArrayOp::Consume { limit, body, sinks, streams, chunks } = &binding.op else {
            fusebox_ir::bug!(self.program, "it is a traversal");
        };
        if is_concatenation(binding, |id| Cow::Borrowed(self.source_type(id))) {
            self.concatenated(binding, home, streams);
            return Ok(());
        }
        if self.here != ROOT {
            fusebox_ir::bug!(self.program, "a traversal in lanes is a nest by now");
        }
        let limit = limit.map(|limit| self.flat_operand(limit));
        let body = if *chunks { self.plain_block(body)? } else { self.chunk_body(body, sinks, streams)? };
        let sinks = sinks.iter().map(|sink| self.sink(sink)).collect::<Result<_, Error>>()?;
        let streams = streams.iter().map(|&id| self.array_value(id).array).collect();
        let mut results = Vec::new();
        for var in &binding.results {
            let id = self.flat.id();
            self.define_plain(var, id);
            let ty = Type { stream: var.ty.stream, ..self.flat_type(&var.ty) };
            results.push((id, var.name.clone(), ty));
        }
        let level = self.flat.here();
        self.flat.bind_ids(level, ArrayOp::Consume { limit, body, sinks, streams, chunks: true }, results);
        Ok(())
    }

    fn flat_operand(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Value(id) => self.array_value(id).array.into(),
            constant => constant,
        }
    }

    fn sink(&mut self, sink: &'p Sink) -> Result<Sink, Error> {
        Ok(match sink {
            Sink::Accumulate { f, seeds, .. } => Sink::Accumulate {
                // Of a chunk extents are a result of their own.
                count: f.params.len().saturating_sub(seeds.len()),
                seeds: seeds.iter().map(|&seed| self.flat_operand(seed)).collect(),
                f: self.plain_block(f)?,
            },
            other => other.clone(),
        })
    }

    /// A block outside of lanes, with its parameters as they are.
    fn plain_block(&mut self, block: &'p Block) -> Result<Block, Error> {
        self.flat.open();
        for size in &block.sizes {
            let id = self.flat.size(&size.name);
            self.define_plain(size, id);
        }
        for param in &block.params {
            let ty = self.flat_type(&param.ty);
            let id = self.flat.param(&param.name, ty);
            self.define_plain(param, id);
        }
        let mark = self.mark();
        self.bindings(block)?;
        let results = block.results.iter().map(|&id| self.array_value(id).array).collect();
        self.undo(mark);
        let block = self.flat.close(results);
        self.forget_closed();
        Ok(block)
    }

    /// The body for a chunk: a lane for each element.
    fn chunk_body(&mut self, body: &'p Block, sinks: &[Sink], streams: &[ArrayId]) -> Result<Block, Error> {
        self.flat.open();
        let first = self.flat.param(&"first".into(), Type::scalar(I64));
        let count = self.flat.param(&"count".into(), Type::scalar(I64));
        self.not_negative.extend([first, count]);
        let lanes = self.uniform(ROOT, Extent::Value(count));
        let chunks: Vec<Chunk> =
            streams.iter().zip(body.params.iter().skip(1)).map(|(&stream, param)| self.chunk(stream, param)).collect();
        if let Some(index) = body.params.first() {
            let f = Lambda::build(&[("j", I64)], |f, p| vec![f.add(p[0], ScalarValue::outer(first, I64))]);
            let extents = vec![Extent::Value(count)];
            let op = ArrayOp::Generate { extents: operands(&extents), f };
            let array = self.flat.bind_out(op, &index.name, Type::array(extents, I64));
            self.not_negative.insert(array);
            self.env.insert(index.id, Bound::Value(Value { array, home: lanes, elements: lanes, ty: I64 }));
        }
        for ((&stream, param), chunk) in streams.iter().zip(body.params.iter().skip(1)).zip(&chunks) {
            self.elements_of(body, stream, param, chunk, lanes);
        }
        let (outside, mark) = (std::mem::replace(&mut self.here, lanes), self.mark());
        let guard = self.needed_in(lanes);
        self.bindings(body)?;
        let mut given = Vec::new();
        let mut results = body.results.iter();
        for sink in sinks {
            let count = match sink {
                Sink::Elements { count } | Sink::Accumulate { count, .. } => *count,
                Sink::Tabulate | Sink::StreamOut => 1,
            };
            let taken: Vec<ArrayId> = results.by_ref().take(count).copied().collect();
            self.taken(sink, &taken, lanes, &mut given);
        }
        self.undo(mark);
        (self.here, self.guard) = (outside, guard);
        let body = self.flat.close(given);
        self.forget_closed();
        Ok(body)
    }

    /// The parameters that an element's parameter becomes.
    fn chunk(&mut self, stream: ArrayId, param: &Var) -> Chunk {
        let ty = self.source_type(stream);
        let rank = ty.rank() - usize::from(!ty.stream);
        let extents = (rank > 0).then(|| {
            let number = Extent::Value(self.flat.size(&format!("{}.count", param.name.0).as_str().into()));
            let inner = (rank > 1).then_some(Extent::Constant(rank as i64));
            let ty = Type::array([number].into_iter().chain(inner).collect(), I64);
            self.flat.param(&format!("{}.extents", param.name.0).as_str().into(), ty)
        });
        let total = self.flat.size(&format!("{}.total", param.name.0).as_str().into());
        let values = self.flat.param(&param.name, Type::array(vec![Extent::Value(total)], ty.element));
        self.not_negative.insert(total);
        Chunk { extents, values, total }
    }

    /// Defines an element's parameter as an array in the lanes of a chunk.
    fn elements_of(&mut self, body: &'p Block, stream: ArrayId, param: &'p Var, chunk: &Chunk, lanes: ContextId) {
        let source = self.source_type(stream);
        let own: Vec<Extent> = if source.stream { source.extents.clone() } else { source.extents[1..].to_vec() };
        let rank = own.len();
        let mut at = lanes;
        for (dim, (&declared, &own)) in param.ty.extents.iter().zip(&own).enumerate() {
            let binds = match declared {
                Extent::Value(id) if !self.env.contains_key(&id) => body.sizes.iter().find(|size| size.id == id),
                _ => None,
            };
            let known = match (binds, own) {
                // Elements along the outermost dimension of an array are all alike.
                (Some(size), Extent::Constant(_) | Extent::Value(_)) => {
                    let extent = self.lane_extent(own);
                    if let LaneExtent::Uniform(extent) = extent {
                        let value = self.scalar_of_extent(extent);
                        self.define(size, value);
                    }
                    extent
                }
                (None, _) if declared == own => self.lane_extent(declared),
                _ => {
                    let array = self.column(chunk, dim, rank, lanes);
                    let sizes = Value { array, home: lanes, elements: lanes, ty: I64 };
                    match binds {
                        Some(size) => {
                            self.define(size, sizes.clone());
                            LaneExtent::Varying(sizes)
                        }
                        None => {
                            let extent = self.lane_extent(declared);
                            self.as_declared(extent, &sizes, lanes, &param.name)
                        }
                    }
                }
            };
            at = match &known {
                LaneExtent::Varying(sizes) if dim + 1 == rank => self.ragged(at, sizes, Some(chunk.total)),
                known => self.extend(ROOT, at, known),
            };
        }
        let dims = self.dims(at);
        let array = self.reshaped(chunk.values, dims);
        self.define(param, Value { array, home: lanes, elements: at, ty: param.ty.element });
    }

    /// The extents of a chunk's elements along one dimension.
    fn column(&mut self, chunk: &Chunk, dim: usize, rank: usize, lanes: ContextId) -> ArrayId {
        let Some(extents) = chunk.extents else { fusebox_ir::bug!(self.program, "scalars have no extents") };
        let dims = self.dims(lanes);
        let array = if rank == 1 {
            let ty = Type::array(dims.clone(), I64);
            let op = ArrayOp::Reshape { extents: operands(&dims), sources: vec![extents] };
            self.flat.bind_out(op, &"extents".into(), ty)
        } else {
            let mut f = LambdaBuilder::new();
            let lane = f.param("", I64).operand;
            let index = vec![lane, Operand::Constant((dim as i64).into()).in_scalar()];
            let size = f.instruction(ScalarOp::Read { array: extents, index }, &[I64])[0].operand;
            let op = ArrayOp::Generate { extents: operands(&dims), f: f.finish(&[size]) };
            self.flat.bind_out(op, &"extents".into(), Type::array(dims, I64))
        };
        self.not_negative.insert(array);
        array
    }

    /// A known extent that those of all elements must equal, or the run fails.
    fn as_declared(&mut self, known: LaneExtent, own: &Value, lanes: ContextId, name: &Name) -> LaneExtent {
        let dims = self.dims(lanes);
        let mut f = LambdaBuilder::new();
        let own_size = f.param("", I64);
        let (wanted, sources) = match &known {
            LaneExtent::Uniform(extent) => (super::context::scalar(*extent), vec![own.array]),
            LaneExtent::Varying(sizes) => {
                let lifted = self.lifted(sizes, lanes);
                (f.param("", I64), vec![own.array, lifted.array])
            }
        };
        let equal = f.binary(Binary::Eq, own_size, wanted);
        let message = format!("an element of `{}` has an extent of {{}}, not {{}}", name.0);
        let op = ScalarOp::Assert {
            condition: equal.operand,
            message,
            shown: vec![own_size.operand, wanted.operand],
            value: own_size.operand,
        };
        let checked = f.instruction(op, &[I64]);
        let f = f.finish(&[checked[0]]);
        let op = ArrayOp::Map { f, sources };
        let array = self.flat.bind_out(op, &"extents".into(), Type::array(dims, I64));
        self.not_negative.insert(array);
        LaneExtent::Varying(Value { array, home: lanes, elements: lanes, ty: I64 })
    }

    /// What a sink takes of a chunk, from what it takes of each element.
    fn taken(&mut self, sink: &Sink, results: &[ArrayId], lanes: ContextId, given: &mut Vec<ArrayId>) {
        let Some(&first) = results.first() else { return };
        let inner = Type { extents: self.source_type(first).extents.clone(), ..Type::scalar(Bool) };
        for (at, &id) in results.iter().enumerate() {
            let value = self.array_value(id);
            // Of all that a sink takes, the extents are those of the first.
            let value = if at == 0 {
                self.lifted(&value, lanes)
            } else {
                let name = self.source_name(id);
                self.declared(&value, lanes, &inner, &name)
            };
            if at == 0 && inner.rank() > 0 && !matches!(sink, Sink::Elements { .. }) {
                let ty = Type { inner: vec![inner.extents.clone()], ..Type::array(vec![Extent::Unknown], value.ty) };
                let (extents, values) = self.apart(&Value { home: ROOT, ..value }, &ty);
                given.extend([extents, values]);
            } else {
                given.push(self.as_vector(value.array));
            }
        }
    }
}
