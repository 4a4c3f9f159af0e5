//! The one place that knows what every operation and every scalar instruction holds.
//!
//! Everything else that walks programs (uses, substitution, renumbering, printing orders) is a short loop over these.

mod statement;

use std::{
    collections::BTreeSet,
    hash::{Hash, Hasher},
    mem::discriminant,
};

use smallvec::{SmallVec, smallvec};

pub use self::statement::{StatementPart, StatementPartMut};
use crate::{
    ArrayId, ArrayOp, Block, Boundary, Instruction, Lambda, LocalId, Operand, Order, ScalarOp, ScalarOperand, Sink,
};

/// What something holds: a list that needs no memory of its own while it is short, as most are.
pub type Parts<T> = SmallVec<[T; 6]>;

/// Something that an operation holds.
#[derive(Debug)]
pub enum Part<'a> {
    /// An array read as a whole, element by element or by chunks.
    Array(&'a ArrayId),
    /// A scalar operand: extent, seed, condition, index.
    Value(&'a Operand),
    /// A start of a loop or an argument: an array or a scalar.
    Argument(&'a Operand),
    /// A scalar function.
    Function(&'a Lambda),
    /// A block.
    Body(&'a Block),
    /// A name of a value inside the operation's own block (the order of a cluster).
    Inner(&'a ArrayId),
}

/// Something that an operation holds, to change.
#[derive(Debug)]
pub enum PartMut<'a> {
    /// As [`Part::Array`].
    Array(&'a mut ArrayId),
    /// As [`Part::Value`].
    Value(&'a mut Operand),
    /// As [`Part::Argument`].
    Argument(&'a mut Operand),
    /// As [`Part::Function`].
    Function(&'a mut Lambda),
    /// As [`Part::Body`].
    Body(&'a mut Block),
    /// As [`Part::Inner`].
    Inner(&'a mut ArrayId),
}

macro_rules! operation_parts {
    ($self:expr, $part:ident, $iter:ident, $flat:ident, $orders:ident $(, $mutability:tt)?) => {{
        use $part::{Argument, Array, Body, Function, Inner, Value};
        let mut parts = Parts::new();
        match $self {
            ArrayOp::Constant { .. } => {}
            ArrayOp::Unit { f } => parts.push(Function(f)),
            ArrayOp::Compute { sources } | ArrayOp::Concat { sources, dim: _ } => parts.extend(sources.$iter().map(Array)),
            ArrayOp::Generate { extents, f } => {
                parts.extend(extents.$iter().map(Value));
                parts.push(Function(f));
            }
            ArrayOp::Map { f, sources } => {
                parts.push(Function(f));
                parts.extend(sources.$iter().map(Array));
            }
            ArrayOp::Backpermute { extents, f, sources } => {
                parts.extend(extents.$iter().map(Value));
                parts.push(Function(f));
                parts.extend(sources.$iter().map(Array));
            }
            ArrayOp::Transform { extents, index, f, sources } => {
                parts.extend(extents.$iter().map(Value));
                parts.push(Function(index));
                parts.push(Function(f));
                parts.extend(sources.$iter().map(Array));
            }
            ArrayOp::Replicate { dims, sources } | ArrayOp::Slice { dims, sources } => {
                parts.extend(dims.$iter().$flat().map(Value));
                parts.extend(sources.$iter().map(Array));
            }
            ArrayOp::Reshape { extents, sources } => {
                parts.extend(extents.$iter().map(Value));
                parts.extend(sources.$iter().map(Array));
            }
            ArrayOp::ReplicateSegments { extent, sources, offsets } => {
                parts.push(Value(extent));
                parts.extend(sources.$iter().map(Array));
                parts.push(Array(offsets));
            }
            ArrayOp::Fold { combine, seeds, sources, offsets, commutes: _ } => {
                parts.push(Function(combine));
                parts.extend(seeds.$iter().map(Value));
                parts.extend(sources.$iter().map(Array));
                parts.extend(offsets.$iter().map(Array));
            }
            ArrayOp::Scan { direction: _, form: _, combine, seeds, sources, offsets, commutes: _ } => {
                parts.push(Function(combine));
                parts.extend(seeds.$iter().map(Value));
                parts.extend(sources.$iter().map(Array));
                parts.extend(offsets.$iter().map(Array));
            }
            ArrayOp::Permute { combine, defaults, values, targets, keep, order: _ } => {
                parts.push(Function(combine));
                parts.extend(defaults.$iter().map(Array));
                parts.extend(values.$iter().map(Array));
                parts.extend(targets.$iter().map(Array));
                parts.extend(keep.$iter().map(Array));
            }
            ArrayOp::Expand { size, get, sources } => {
                parts.push(Function(size));
                parts.push(Function(get));
                parts.extend(sources.$iter().map(Array));
            }
            ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order: _ } => {
                parts.push(Function(size));
                parts.push(Function(get));
                parts.push(Function(combine));
                parts.extend(defaults.$iter().map(Array));
                parts.extend(sources.$iter().map(Array));
            }
            ArrayOp::Filter { keep, sources } => {
                parts.push(Function(keep));
                parts.extend(sources.$iter().map(Array));
            }
            ArrayOp::Sort { keys, carry } => {
                parts.extend(keys.$iter().map(Array));
                parts.extend(carry.$iter().map(Array));
            }
            ArrayOp::Stencil { f, taps, boundaries } => {
                parts.push(Function(f));
                parts.extend(taps.$iter().map(|tap| Array(&$($mutability)? tap.array)));
                for boundary in boundaries.$iter() {
                    parts.push(Array(&$($mutability)? boundary.array));
                    match &$($mutability)? boundary.boundary {
                        Boundary::Clamp | Boundary::Mirror | Boundary::Wrap => {}
                        Boundary::Constant(value) => parts.push(Value(value)),
                        Boundary::Function(f) => parts.push(Function(f)),
                    }
                }
            }
            ArrayOp::Nest { extents, body } => {
                parts.extend(extents.$iter().map(Value));
                parts.push(Body(body));
            }
            ArrayOp::Element { source, index } => {
                parts.push(Array(source));
                parts.extend(index.$iter().map(Value));
            }
            ArrayOp::Cond { condition, then, otherwise } => {
                parts.push(Value(condition));
                parts.push(Body(then));
                parts.push(Body(otherwise));
            }
            ArrayOp::While { condition, step, starts } => {
                parts.push(Body(condition));
                parts.push(Body(step));
                parts.extend(starts.$iter().map(Argument));
            }
            ArrayOp::Foreign { name: _, fallback, arguments } => {
                parts.push(Body(fallback));
                parts.extend(arguments.$iter().map(Argument));
            }
            ArrayOp::Consume { limit, body, sinks, streams, chunks: _ } => {
                parts.extend(limit.$iter().map(Value));
                parts.push(Body(body));
                for sink in sinks.$iter() {
                    match sink {
                        Sink::Elements { .. } | Sink::Tabulate | Sink::StreamOut => {}
                        Sink::Accumulate { count: _, f, seeds } => {
                            parts.push(Body(f));
                            parts.extend(seeds.$iter().map(Argument));
                        }
                    }
                }
                parts.extend(streams.$iter().map(Array));
            }
            ArrayOp::Cluster { body, marks, order } => {
                parts.push(Body(body));
                for order in marks.$iter().filter_map(|mark| mark.order.$orders()).chain([order]) {
                    if let Order::Of(id) = order {
                        parts.push(Inner(id));
                    }
                }
            }
        }
        parts
    }};
}

impl ArrayOp {
    /// Everything this operation holds, in printing order, without descending into functions and blocks.
    pub fn parts(&self) -> Parts<Part<'_>> {
        operation_parts!(self, Part, iter, flatten, as_ref)
    }

    /// As [`Self::parts`], to change what is held.
    pub fn parts_mut(&mut self) -> Parts<PartMut<'_>> {
        operation_parts!(self, PartMut, iter_mut, flatten, as_mut, mut)
    }
}

/// Something that a scalar instruction holds.
#[derive(Debug)]
pub enum ScalarPart<'a> {
    /// An operand.
    Operand(&'a ScalarOperand),
    /// An array that is read.
    Array(&'a ArrayId),
    /// A branch, a loop's condition or its step.
    Body(&'a Lambda),
}

/// Something that a scalar instruction holds, to change.
#[derive(Debug)]
pub enum ScalarPartMut<'a> {
    /// As [`ScalarPart::Operand`].
    Operand(&'a mut ScalarOperand),
    /// As [`ScalarPart::Array`].
    Array(&'a mut ArrayId),
    /// As [`ScalarPart::Body`].
    Body(&'a mut Lambda),
}

macro_rules! scalar_parts {
    ($self:expr, $part:ident, $iter:ident) => {{
        use $part::{Array, Body, Operand};
        match $self {
            ScalarOp::Unary { function: _, a } | ScalarOp::Convert { to: _, a } | ScalarOp::Bits { to: _, a } => {
                smallvec![Operand(a)]
            }
            ScalarOp::Binary { function: _, a, b } => smallvec![Operand(a), Operand(b)],
            ScalarOp::Fma { a, b, c } => smallvec![Operand(a), Operand(b), Operand(c)],
            ScalarOp::Read { array, index } => [Array(array)].into_iter().chain(index.$iter().map(Operand)).collect(),
            ScalarOp::ReadFlat { array, position } => smallvec![Array(array), Operand(position)],
            ScalarOp::If { condition, then, otherwise } => smallvec![Operand(condition), Body(then), Body(otherwise)],
            ScalarOp::While { condition, step, starts } => {
                [Body(condition), Body(step)].into_iter().chain(starts.$iter().map(Operand)).collect()
            }
            ScalarOp::Assert { condition, message: _, shown, value } => {
                [condition, value].into_iter().chain(shown.$iter()).map(Operand).collect()
            }
        }
    }};
}

impl ScalarOp {
    /// Everything this instruction holds, in printing order, without descending into bodies.
    pub fn parts(&self) -> Parts<ScalarPart<'_>> {
        scalar_parts!(self, ScalarPart, iter)
    }

    /// As [`Self::parts`], to change what is held.
    pub fn parts_mut(&mut self) -> Parts<ScalarPartMut<'_>> {
        scalar_parts!(self, ScalarPartMut, iter_mut)
    }

    /// Hashes it without its bodies, of which the sizes are enough to tell most apart.
    pub fn hash_without_bodies(&self, hasher: &mut impl Hasher) {
        self.hash_function(hasher);
        for part in self.parts() {
            match part {
                ScalarPart::Operand(operand) => operand.hash(hasher),
                ScalarPart::Array(id) => id.hash(hasher),
                ScalarPart::Body(body) => (body.params.len(), body.instructions.len()).hash(hasher),
            }
        }
    }

    /// Hashes what it does, and none of its [`Self::parts`]: tables of instructions that are looked up decide by themselves what of those
    /// counts as equal.
    pub fn hash_function(&self, hasher: &mut impl Hasher) {
        discriminant(self).hash(hasher);
        match self {
            Self::Unary { function, .. } => function.hash(hasher),
            Self::Binary { function, .. } => function.hash(hasher),
            Self::Convert { to, .. } | Self::Bits { to, .. } => to.hash(hasher),
            Self::Assert { message, .. } => message.hash(hasher),
            Self::Fma { .. } | Self::Read { .. } | Self::ReadFlat { .. } | Self::If { .. } | Self::While { .. } => {}
        }
    }
}

impl Lambda {
    /// Calls `visit` with every operand and every result, of inner bodies too.
    pub fn for_each_operand<'a>(&'a self, visit: &mut dyn FnMut(&'a ScalarOperand)) {
        let mut bodies = vec![self];
        while let Some(body) = bodies.pop() {
            body.results.iter().for_each(&mut *visit);
            for part in body.instructions.iter().flat_map(|instruction| instruction.op.parts()) {
                match part {
                    ScalarPart::Operand(operand) => visit(operand),
                    ScalarPart::Array(_) => {}
                    ScalarPart::Body(inner) => bodies.push(inner),
                }
            }
        }
    }

    /// Its instructions, and those of inner bodies, in no order that means anything.
    pub fn instructions_within(&self) -> impl Iterator<Item = &Instruction> {
        let mut rest: Vec<&Instruction> = self.instructions.iter().collect();
        std::iter::from_fn(move || {
            let instruction = rest.pop()?;
            let bodies = instruction.op.parts().into_iter();
            let bodies = bodies.filter_map(|part| if let ScalarPart::Body(inner) = part { Some(inner) } else { None });
            rest.extend(bodies.flat_map(|body| &body.instructions));
            Some(instruction)
        })
    }

    /// The arrays that it reads by index, in inner bodies too, each once, in the order of their ids.
    pub fn arrays_read(&self) -> BTreeSet<ArrayId> {
        let parts = self.instructions_within().flat_map(|instruction| instruction.op.parts());
        parts.filter_map(|part| if let ScalarPart::Array(id) = part { Some(*id) } else { None }).collect()
    }

    /// A local that none of the function has, nor any after it.
    pub fn next_local(&self) -> LocalId {
        let mut next = 0;
        let mut bodies = vec![self];
        while let Some(body) = bodies.pop() {
            let inner = body.instructions.iter().flat_map(|instruction| &instruction.results);
            next = body.params.iter().chain(inner).fold(next, |next, local| next.max(local.id.0.saturating_add(1)));
            for part in body.instructions.iter().flat_map(|instruction| instruction.op.parts()) {
                if let ScalarPart::Body(inner) = part {
                    bodies.push(inner);
                }
            }
        }
        LocalId(next)
    }

    /// Whether it reads an array by index.
    pub fn reads(&self, array: ArrayId) -> bool {
        self.arrays_read().contains(&array)
    }

    /// Calls `visit` with every value from outside that this function uses: scalars, and arrays that it reads.
    pub fn outer_uses(&self, visit: &mut dyn FnMut(ArrayId)) {
        let mut bodies = vec![self];
        while let Some(body) = bodies.pop() {
            for instruction in &body.instructions {
                for part in instruction.op.parts() {
                    match part {
                        ScalarPart::Operand(ScalarOperand::Outer(id)) | ScalarPart::Array(id) => visit(*id),
                        ScalarPart::Operand(_) => {}
                        ScalarPart::Body(inner) => bodies.push(inner),
                    }
                }
            }
            for result in &body.results {
                if let ScalarOperand::Outer(id) = result {
                    visit(*id);
                }
            }
        }
    }

    /// Replaces every value from outside, read arrays too.
    pub fn map_outer(&mut self, map: &mut dyn FnMut(ArrayId) -> Operand) {
        let array = |id: &mut ArrayId, map: &mut dyn FnMut(ArrayId) -> Operand| {
            if let Operand::Value(new) = map(*id) {
                *id = new;
            }
        };
        let mut bodies = vec![self];
        while let Some(body) = bodies.pop() {
            for result in &mut body.results {
                if let ScalarOperand::Outer(id) = *result {
                    *result = map(id).in_scalar();
                }
            }
            for instruction in &mut body.instructions {
                for part in instruction.op.parts_mut() {
                    match part {
                        ScalarPartMut::Operand(operand) => {
                            if let ScalarOperand::Outer(id) = *operand {
                                *operand = map(id).in_scalar();
                            }
                        }
                        ScalarPartMut::Array(id) => array(id, map),
                        ScalarPartMut::Body(inner) => bodies.push(inner),
                    }
                }
            }
        }
    }

    /// Replaces every local id: parameters, results of instructions, operands, in bodies too.
    pub fn map_locals(&mut self, map: &mut dyn FnMut(LocalId) -> LocalId) {
        let mut bodies = vec![self];
        while let Some(body) = bodies.pop() {
            let operand = |operand: &mut ScalarOperand, map: &mut dyn FnMut(LocalId) -> LocalId| {
                if let ScalarOperand::Local(id) = operand {
                    *id = map(*id);
                }
            };
            for param in &mut body.params {
                param.id = map(param.id);
            }
            for result in &mut body.results {
                operand(result, map);
            }
            for instruction in &mut body.instructions {
                for local in &mut instruction.results {
                    local.id = map(local.id);
                }
                for part in instruction.op.parts_mut() {
                    match part {
                        ScalarPartMut::Operand(value) => operand(value, map),
                        ScalarPartMut::Array(_) => {}
                        ScalarPartMut::Body(inner) => bodies.push(inner),
                    }
                }
            }
        }
    }
}
