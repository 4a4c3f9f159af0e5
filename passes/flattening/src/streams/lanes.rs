//! Traversals inside of lanes, and of arrays of arrays: each element becomes a lane of a nest, and sinks take what all of them gave.
//!
//! A lane's own traversal has no elements but those in memory, so nothing is lost by computing all of them at once. What is left of it is the
//! one thing that nests cannot say: a `consume` that only puts the arrays of an array of arrays one after the other ([`is_concatenation`]).

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block, ElementType::I64, Extent, Fresh, Lambda, LambdaBuilder, Operand, Part,
    PartMut, Place, Program, ScalarOp, ScalarValue, Sink, Type, Var,
};

use super::{
    Known, Stored, Streams, extents_of_elements,
    sinks::{Sinks, offsets},
    traversal::{Traversal, steps},
    writer::{Writer, number},
};
use crate::{
    Error,
    extents::{operands, scalar},
};

/// What a body reads from one of the streams, and the element that it takes itself.
struct Element<'t> {
    stream: ArrayId,
    /// The type of the whole stream.
    ty: Type,
    param: &'t Var,
}

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
/// [`Error::Unsupported`] where an element gives a name to an extent of arrays inside of it.
pub(crate) fn traversals_in_lanes(program: &Program) -> Result<Program, Error> {
    if !any_to_rewrite(&program.body) {
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

fn any_to_rewrite(block: &Block) -> bool {
    let mut blocks = vec![block];
    while let Some(block) = blocks.pop() {
        for binding in &block.bindings {
            if matches!(binding.op, ArrayOp::Consume { .. }) {
                return true;
            }
            blocks.extend(
                binding
                    .op
                    .parts()
                    .into_iter()
                    .filter_map(|part| if let Part::Body(body) = part { Some(body) } else { None }),
            );
        }
    }
    false
}

/// Whether a traversal only puts the arrays that it reads one after the other.
pub(crate) fn is_concatenation(binding: &Binding) -> bool {
    matches!(&binding.op, ArrayOp::Consume { limit: None, body, sinks, chunks: false, .. }
        if matches!(sinks[..], [Sink::Elements { .. }])
            && body.bindings.is_empty()
            && body.results.len() + 1 == body.params.len()
            && body.results.iter().zip(&body.params[1..]).all(|(&id, param)| id == param.id))
}

/// A program on its way.
struct Lanes<'s> {
    streams: &'s mut Streams,
    /// The arrays of arrays that streams made in lanes are.
    rows: HashMap<ArrayId, ArrayId>,
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
            if !(lanes || nested) || is_concatenation(&binding) {
                block.bindings.push(binding);
                continue;
            }
            match binding.op {
                ArrayOp::Consume { limit, body, sinks, streams, chunks: false } => {
                    names_inside(&body, &binding.results, &binding.place)?;
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

    fn ty(&self, id: ArrayId) -> Type {
        self.streams.known.types.get(&id).cloned().unwrap_or_else(|| Type::scalar(I64))
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

    /// A value of the body as a result of the nest.
    fn given(&self, id: ArrayId, nest: &mut Nest, writer: &mut Writer<'_>) -> Var {
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
    fn extents_given(&self, id: ArrayId, nest: &mut Nest, writer: &mut Writer<'_>) -> Vec<Along> {
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
    fn sink(
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

    /// Binds what a body takes of a stream at a step.
    fn element(&mut self, of: &Element<'_>, body: &Block, index: ArrayId, writer: &mut Writer<'_>) {
        let (stream, source) = match self.rows.get(&of.stream) {
            Some(&rows) => (rows, self.ty(rows)),
            None => (of.stream, of.ty.clone()),
        };
        if let Some(stored) = self.streams.known.stored.get(&stream).cloned() {
            return self.element_of_stored(&stored, of, body, index, writer);
        }
        if source.inner.is_empty() {
            let own = &source.extents[1..];
            let declared = self.declared(of.param, own, body, writer);
            let dims = [Some(Operand::Value(index))].into_iter().chain(own.iter().map(|_| None)).collect();
            let op = ArrayOp::Slice { dims, sources: vec![stream] };
            return bound_as(of.param, own, &declared, op, writer);
        }
        // Of several dimensions outside, an element is an array of arrays again.
        if source.rank() > 1 {
            let declared = self.declared(of.param, &source.extents[1..], body, writer);
            return renested(of.param, &declared, stream, &source, &[index], writer);
        }
        let mut sizes = Vec::new();
        let level = &source.inner[0];
        let own: Vec<Extent> = level
            .iter()
            .map(|&extent| match extent {
                Extent::Unknown => {
                    let id = writer.fresh.id();
                    sizes.push(Var { id, ty: Type::scalar(I64), name: "".into() });
                    self.streams.known.types.insert(id, Type::scalar(I64));
                    Extent::Value(id)
                }
                known => known,
            })
            .collect();
        let declared = self.declared(of.param, &own, body, writer);
        let inner = source.inner[1..].to_vec();
        let (id, checks) =
            if inner.is_empty() { named(of.param, &own, &declared, writer) } else { (writer.fresh.id(), true) };
        let ty = Type { inner: inner.clone(), ..Type::array(own.clone(), source.element) };
        let var = Var { id, ty: ty.clone(), name: of.param.name.clone() };
        let results = sizes.into_iter().chain([var]).collect();
        writer.bind_as(results, ArrayOp::Element { source: stream, index: vec![index.into()] });
        if !inner.is_empty() {
            renested(of.param, &declared, id, &ty, &[], writer);
        } else if checks {
            checked(of.param, &own, &declared, id, writer);
        }
    }

    /// The extents that a parameter has: sizes that it binds are those of what is given.
    fn declared(&mut self, param: &Var, own: &[Extent], body: &Block, writer: &mut Writer<'_>) -> Vec<Extent> {
        let mut declared = Vec::new();
        for (&extent, &given) in param.ty.extents.iter().zip(own) {
            let known = &mut self.streams.known;
            let binds = |id: ArrayId| body.sizes.iter().any(|size| size.id == id);
            declared.push(match extent {
                Extent::Value(id) if binds(id) && !known.instead.contains_key(&id) => {
                    // The body may give it to a sink, which takes values.
                    let size = match given {
                        Extent::Value(size) => size,
                        constant => writer.unit("size", |_| scalar(constant)),
                    };
                    known.types.insert(size, Type::scalar(I64));
                    known.instead.insert(id, size.into());
                    given
                }
                other => known.extent_now(other),
            });
        }
        declared
    }

    /// An element of a stream that is in memory as chunks are: its extents and values among those of all.
    fn element_of_stored(
        &mut self,
        stored: &Stored,
        of: &Element<'_>,
        body: &Block,
        index: ArrayId,
        writer: &mut Writer<'_>,
    ) {
        let &Stored { extents, values, number: count, rank, element, .. } = stored;
        let Some(extents) = extents else {
            let op = ArrayOp::Slice { dims: vec![Some(index.into())], sources: vec![values] };
            return writer.bind_as(vec![of.param.clone()], op);
        };
        let sizes = writer.products(extents, count, rank);
        let offsets = offsets(sizes, count, writer);
        let own: Vec<Extent> = (0..rank)
            .map(|dim| {
                let size = writer.unit("size", |f| {
                    let step = ScalarValue::outer(index, I64);
                    if rank == 1 { f.read(extents, I64, &[step]) } else { f.read(extents, I64, &[step, number(dim)]) }
                });
                self.streams.known.types.insert(size, Type::scalar(I64));
                Extent::Value(size)
            })
            .collect();
        let declared = self.declared(of.param, &own, body, writer);
        let (id, checks) = named(of.param, &own, &declared, writer);
        let var = Var { id, ty: Type::array(own.clone(), element), name: of.param.name.clone() };
        writer.generate_as(var, |f, at| {
            let within = (1..rank).fold(at[0], |position, dim| {
                let whole = f.mul(position, scalar(own[dim]));
                f.add(whole, at[dim])
            });
            let begin = f.read(offsets, I64, &[ScalarValue::outer(index, I64)]);
            let position = f.add(begin, within);
            f.read(values, element, &[position])
        });
        if checks {
            checked(of.param, &own, &declared, id, writer);
        }
    }
}

/// An extent of arrays inside of an element cannot be a size of the body, as nothing else would bind it.
fn names_inside(body: &Block, results: &[Var], place: &Place) -> Result<(), Error> {
    for param in &body.params {
        let named = param.ty.inner.iter().flatten().find_map(|extent| match extent {
            Extent::Value(id) => body.sizes.iter().find(|size| size.id == *id),
            _ => None,
        });
        if let Some(size) = named {
            let why = format!(
                "the elements `{}` that it reads are arrays of arrays, and `{}` is an extent inside of them; write `?` there, and get it by `element`",
                param.name.0, size.name.0
            );
            let name = results.first().map_or(String::new(), |var| var.name.0.clone());
            return Err(Error::Unsupported { operation: "consume", name, why, place: place.clone() });
        }
    }
    Ok(())
}

/// The results of a nest while they are found.
struct Nest {
    results: Vec<Var>,
    given: Vec<ArrayId>,
    count: ArrayId,
    /// What its body defines.
    inside: HashSet<ArrayId>,
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
enum Along {
    Same(Extent),
    /// A vector of one for each step.
    Own(ArrayId),
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

/// The id under which an element is bound: that of the parameter, unless its extents have to be compared first.
fn named(param: &Var, own: &[Extent], declared: &[Extent], writer: &mut Writer<'_>) -> (ArrayId, bool) {
    let checks = own != declared;
    (if checks { writer.fresh.id() } else { param.id }, checks)
}

/// Binds a parameter to the arrays of an array of arrays that begin with an index, as arrays of the extents it declares.
fn renested(param: &Var, declared: &[Extent], source: ArrayId, ty: &Type, index: &[ArrayId], writer: &mut Writer<'_>) {
    let params: Vec<Var> =
        declared.iter().map(|_| Var { id: writer.fresh.id(), ty: Type::scalar(I64), name: "".into() }).collect();
    let (bindings, result) = writer.inner(|writer| {
        let mut sizes = Vec::new();
        let extents = ty.inner[0].iter().map(|&extent| match extent {
            Extent::Unknown => {
                let id = writer.fresh.id();
                sizes.push(Var { id, ty: Type::scalar(I64), name: "".into() });
                Extent::Value(id)
            }
            known => known,
        });
        let own = Type { inner: ty.inner[1..].to_vec(), ..Type::array(extents.collect(), ty.element) };
        let id = writer.fresh.id();
        let results = sizes.into_iter().chain([Var { id, ty: own, name: "".into() }]).collect();
        let index = index.iter().copied().chain(params.iter().map(|param| param.id)).map(Operand::Value).collect();
        writer.bind_as(results, ArrayOp::Element { source, index });
        id
    });
    let body = Block { params, bindings, results: vec![result], ..Block::default() };
    let var = Var { ty: Type { extents: declared.to_vec(), ..param.ty.clone() }, ..param.clone() };
    writer.bind_as(vec![var], ArrayOp::Nest { extents: operands(declared), body });
}

/// Binds an element of a plain array, and compares its extents with those declared.
fn bound_as(param: &Var, own: &[Extent], declared: &[Extent], op: ArrayOp, writer: &mut Writer<'_>) {
    let (id, checks) = named(param, own, declared, writer);
    let ty = Type::array(own.to_vec(), param.ty.element);
    writer.bind_as(vec![Var { id, ty, name: param.name.clone() }], op);
    if checks {
        checked(param, own, declared, id, writer);
    }
}

/// Binds a parameter to an element that must have the extents it declares.
fn checked(param: &Var, own: &[Extent], declared: &[Extent], from: ArrayId, writer: &mut Writer<'_>) {
    let mut f = LambdaBuilder::new();
    let mut index: Vec<ScalarValue> = own.iter().map(|_| f.param("", I64)).collect();
    for ((index, &own), &wanted) in index.iter_mut().zip(own).zip(declared) {
        if own == wanted {
            continue;
        }
        let (own, wanted) = (scalar(own), scalar(wanted));
        let equal = f.binary(Binary::Eq, own, wanted);
        let message = format!("an element of `{}` has an extent of {{}}, not {{}}", param.name.0);
        let shown = vec![own.operand, wanted.operand];
        let op = ScalarOp::Assert { condition: equal.operand, message, shown, value: index.operand };
        *index = f.instruction(op, &[I64])[0];
    }
    let f: Lambda = f.finish(&index);
    let op = ArrayOp::Backpermute { extents: operands(declared), f, sources: vec![from] };
    let ty = Type::array(declared.to_vec(), param.ty.element);
    writer.bind_as(vec![Var { ty, ..param.clone() }], op);
}
