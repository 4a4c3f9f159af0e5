//! Traversals inside of lanes, and of arrays of arrays: each element becomes a lane of a nest, and sinks take what all of them gave.
//!
//! A lane's own traversal has no elements but those in memory, so nothing is lost by computing all of them at once. What is left of it is the
//! one thing that nests cannot say: a `consume` that only puts the arrays of an array of arrays one after the other ([`is_concatenation`]).

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, ElementType::I64, Extent, Fresh, Operand, PartMut, Program, Sink, Type, Var,
};

use super::{
    Known, Streams,
    elements::{Element, named_inside},
    gathered::Nest,
    has_streams,
    state::Lanes,
    traversal::{Traversal, steps},
    writer::Writer,
};
use crate::{Error, NamedInside};

/// A traversal that is rewritten.
struct Own {
    results: Vec<Var>,
    limit: Option<Operand>,
    body: Block,
    sinks: Vec<Sink>,
    streams: Vec<ArrayId>,
}

/// The program with traversals in lanes, and those of arrays of arrays, as nests.
///
/// # Errors
/// [`Error::NamedInside`] where an element gives a name to an extent of arrays inside of it.
pub(crate) fn traversals_in_lanes(program: &Program) -> Result<Program, Error> {
    if !has_streams(program) {
        return Ok(program.clone());
    }
    let mut program = program.clone();
    let known = Known::of(&program);
    let mut streams = Streams { known, fresh: Fresh::new(&program) };
    let mut lanes = Lanes { streams: &mut streams, rows: HashMap::new() };
    lanes.block(&mut program.body, false)?;
    program.body.substitute(&mut |id| streams.known.resolved(id));
    Ok(program)
}

/// Whether a traversal only puts the arrays that it reads one after the other: all elements of all of them, which is so where they have equally
/// many. `ty` gives the types of values.
pub(crate) fn is_concatenation<'t>(binding: &Binding, ty: impl Fn(ArrayId) -> Cow<'t, Type>) -> bool {
    let ArrayOp::Consume { limit: None, body, sinks, streams, chunks: false } = &binding.op else { return false };
    let plain = matches!(sinks[..], [Sink::Elements { .. }])
        && body.bindings.is_empty()
        && body.results.len() + 1 == body.params.len()
        && body.results.iter().zip(&body.params[1..]).all(|(&id, param)| id == param.id);
    let number = |id: ArrayId| {
        let ty = ty(id);
        // Elements of streams are no rows of an array.
        ty.extents.first().copied().filter(|_| !ty.stream)
    };
    let Some(first) = plain.then(|| streams.first().and_then(|&id| number(id))).flatten() else { return false };
    let others = &streams[1..];
    others.is_empty() || first != Extent::Unknown && others.iter().all(|&id| number(id) == Some(first))
}

impl Lanes<'_> {
    /// `lanes` says whether the block is one of lanes.
    fn block(&mut self, block: &mut Block, lanes: bool) -> Result<(), Error> {
        for mut binding in std::mem::take(&mut block.bindings) {
            let inside = lanes || matches!(binding.op, ArrayOp::Nest { .. } | ArrayOp::Consume { chunks: false, .. });
            for part in binding.op.parts_mut() {
                if let PartMut::Body(body) = part {
                    self.block(body, inside)?;
                }
            }
            let nested = matches!(&binding.op, ArrayOp::Consume { chunks: false, streams, .. }
                if streams.iter().any(|&id| self.is_nested(id)));
            if !(lanes || nested) || is_concatenation(&binding, |id| Cow::Owned(self.ty(id))) {
                block.bindings.push(binding);
                continue;
            }
            match binding.op {
                ArrayOp::Consume { limit, body, sinks, streams, chunks: false } => {
                    if let Some((param, size)) = named_inside(&body) {
                        let read = body.params.iter().position(|other| other.id == param.id);
                        let read = read.and_then(|at| streams.get(at.checked_sub(1)?));
                        let (of, made) = read.map(|&id| self.streams.known.origin(id)).unwrap_or_default();
                        return Err(Error::NamedInside(Box::new(NamedInside {
                            name: binding.results.first().map_or(String::new(), |var| var.name.0.clone()),
                            element: param.name.0.clone(),
                            size: size.name.0.clone(),
                            of,
                            place: binding.place.clone(),
                            made,
                        })));
                    }
                    let own = Own { results: binding.results, limit, body, sinks, streams };
                    let mut bindings = std::mem::take(&mut block.bindings);
                    let streamed = own.sinks.iter().any(|sink| matches!(sink, Sink::StreamOut))
                        || own.streams.iter().any(|&id| self.is_stream(id));
                    let mut fresh = self.streams.fresh.clone();
                    let mut writer = Writer { bindings: &mut bindings, fresh: &mut fresh, place: &binding.place };
                    if lanes || !streamed {
                        self.as_nest(own, &mut writer);
                    } else {
                        self.without_nested(own, &mut writer);
                    }
                    self.streams.fresh = fresh;
                    block.bindings = bindings;
                }
                ArrayOp::Consume { limit, body, sinks, streams, chunks: true } => {
                    let Streams { known, fresh } = &mut *self.streams;
                    let mut writer = Writer { bindings: &mut block.bindings, fresh, place: &binding.place };
                    let traversal = Traversal { results: &binding.results, limit, streams: &streams };
                    traversal.written(body, sinks, known, &mut writer);
                }
                _ => block.bindings.push(binding),
            }
        }
        Ok(())
    }

    fn is_nested(&self, id: ArrayId) -> bool {
        !self.ty(id).inner.is_empty()
    }

    /// Whether it is a stream that is not in memory.
    fn is_stream(&self, id: ArrayId) -> bool {
        self.ty(id).stream && !self.streams.known.stored.contains_key(&id)
    }

    /// The traversal outside of lanes without the arrays of arrays that it reads: their elements are read by the number of the step.
    fn without_nested(&mut self, own: Own, writer: &mut Writer<'_>) {
        let Own { results, limit, mut body, sinks, streams } = own;
        let (nested, others): (Vec<ArrayId>, Vec<ArrayId>) = streams.iter().partition(|&id| self.is_nested(*id));
        let numbers: Vec<Extent> = nested.iter().map(|&id| self.streams.known.extent(id)).collect();
        let limit = steps(limit, &numbers, writer);
        let index = body.params.first().map_or(limit, |param| param.id);
        let taken = std::mem::take(&mut body.params);
        let (read, params): (Vec<(ArrayId, Var)>, Vec<(ArrayId, Var)>) =
            [index].into_iter().chain(streams).zip(taken).partition(|(stream, _)| nested.contains(stream));
        let params: Vec<Var> = params.into_iter().map(|(_, param)| param).collect();
        // A size that only an element of an array of arrays binds is a value of the body.
        let binds = |size: &Var| params.iter().any(|param| param.ty.extents.contains(&Extent::Value(size.id)));
        let (bound, free) = std::mem::take(&mut body.sizes).into_iter().partition(binds);
        body.sizes = free;
        let (bindings, ()) = writer.inner(|writer| {
            for (stream, param) in &read {
                let element = Element { stream: *stream, ty: self.ty(*stream), param };
                self.element(&element, &body, index, writer);
            }
        });
        body.sizes = bound;
        body.params = params;
        body.bindings.splice(0..0, bindings);
        let op = ArrayOp::Consume { limit: Some(limit.into()), body, sinks, streams: others, chunks: false };
        writer.bind_as(results, op);
    }

    /// The traversal as a nest of its steps, and what sinks make of that.
    fn as_nest(&mut self, own: Own, writer: &mut Writer<'_>) {
        let Own { results, limit, mut body, sinks, streams } = own;
        let numbers: Vec<Extent> = streams.iter().map(|&id| self.number(id)).collect();
        let count = match (limit, &numbers[..]) {
            (None, [Extent::Value(first), rest @ ..]) if rest.iter().all(|other| *other == numbers[0]) => *first,
            _ => steps(limit, &numbers, writer),
        };
        let index = match body.params.first() {
            Some(param) => param.clone(),
            None => Var { id: writer.fresh.id(), ty: Type::scalar(I64), name: "".into() },
        };
        let (mut bindings, ()) = writer.inner(|writer| {
            for (&stream, param) in streams.iter().zip(body.params.iter().skip(1)) {
                let element = Element { stream, ty: self.ty(stream), param };
                self.element(&element, &body, index.id, writer);
            }
        });
        bindings.append(&mut body.bindings);
        let mut inside: HashSet<ArrayId> = bindings.iter().flat_map(|b| &b.results).map(|var| var.id).collect();
        inside.insert(index.id);

        // What the nest gives: results of the body, and extents of those whose sinks ask for them.
        let mut nest = Nest { results: Vec::new(), given: Vec::new(), count, inside };
        let (mut plans, mut taken) = (Vec::new(), body.results.iter().copied());
        for sink in &sinks {
            let number = match sink {
                Sink::Elements { count } | Sink::Accumulate { count, .. } => *count,
                Sink::Tabulate | Sink::StreamOut => 1,
            };
            let own: Vec<ArrayId> = taken.by_ref().take(number).collect();
            let given: Vec<Var> = own.iter().map(|&id| self.given(id, &mut nest, writer)).collect();
            let extents = match own.first() {
                Some(&first) if !matches!(sink, Sink::Elements { .. }) => self.extents_given(first, &mut nest, writer),
                _ => Vec::new(),
            };
            plans.push((given, extents));
        }
        let Nest { results: of_nest, given, .. } = nest;
        let body = Block { params: vec![index], bindings, results: given, ..Block::default() };
        for var in &of_nest {
            self.streams.known.types.insert(var.id, var.ty.clone());
        }
        if !of_nest.is_empty() {
            writer.bind_as(of_nest, ArrayOp::Nest { extents: vec![count.into()], body });
        }

        let mut results = &results[..];
        for (sink, (given, extents)) in sinks.into_iter().zip(plans) {
            let (own, rest) = results.split_at(sink.gives(results).min(results.len()));
            results = rest;
            if let (Sink::StreamOut, [own], [rows]) = (&sink, own, &given[..]) {
                self.rows.insert(own.id, rows.id);
            }
            self.sink(sink, own, &given, &extents, count, writer);
        }
    }

    /// How many elements a stream has.
    fn number(&self, id: ArrayId) -> Extent {
        let known = &self.streams.known;
        known.stored.get(&id).map_or_else(|| known.extent(id), |stored| stored.number.into())
    }
}
