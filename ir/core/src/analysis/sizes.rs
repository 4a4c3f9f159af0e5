//! The one size analysis: whether two extents are equal, one is at most another, one is not negative.
//!
//! A [`Size`] is a sum of terms, with coefficients modulo 2⁶⁴: sums, differences and products of `i64` wrap, so normal
//! forms are exact in this ring and `equal` never errs by overflow. Order is not a matter of the ring: [`Sizes::at_most`] takes its
//! operands for extents, which are not negative, and otherwise goes by intervals that are known not to leave `i64`.

mod compare;
mod scalars;
mod size;
mod terms;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use rustc_hash::FxHashMap;

pub use self::size::{Size, Term};
use self::{
    scalars::Scalars,
    size::{Interval, Node},
};
use super::walk::Walk;
use crate::{
    ArrayId, ArrayOp, Binding, Block, ElementType, Extent, Lambda, Operand, Part, Program, Sink, Type, Var,
    analysis::{Equal, Rows},
};

/// What the analysis says: only running tells where it is [`Answer::Unknown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds, whatever the inputs.
    Proved,
    /// It does not hold, whatever the inputs.
    Refuted,
    /// It depends, or was not found out.
    Unknown,
}

impl Answer {
    /// Both hold: refuted if one is.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Refuted, _) | (_, Self::Refuted) => Self::Refuted,
            (Self::Proved, Self::Proved) => Self::Proved,
            _ => Self::Unknown,
        }
    }
}

fn is_vector_of_integers(var: &Var) -> bool {
    var.ty.rank() == 1 && var.ty.inner.is_empty() && !var.ty.stream && var.ty.element.is_integer()
}

#[derive(Clone, Debug, Default)]
struct Fact {
    size: Option<Size>,
    not_negative: bool,
}

/// What is known of sizes: filled in order of definition, by [`Sizes::of_program`] or one by one.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Every `i64` of rank 0 declared so far.
    facts: FxHashMap<ArrayId, Fact>,
    ids: FxHashMap<Node, u32>,
    table: Vec<(Node, Interval)>,
    opaque: u32,
    /// Vectors of integers, which may be offsets of segments.
    vectors: Equal,
    /// Where rows begin, and which elements stand in them.
    rows: Rows,
}

impl Sizes {
    /// Nothing known.
    pub fn new() -> Self {
        Self::default()
    }

    /// All values of a valid program.
    pub fn of_program(program: &Program) -> Self {
        let mut sizes = Self::new();
        sizes.add_block(&program.body, &mut HashMap::new());
        sizes
    }

    fn add_block<'a>(&mut self, block: &'a Block, types: &mut HashMap<ArrayId, &'a Type>) {
        self.enter_block(block);
        for param in &block.params {
            types.insert(param.id, &param.ty);
        }
        for binding in &block.bindings {
            if let ArrayOp::Foreign { fallback, arguments, .. } = &binding.op {
                self.enter_fallback(fallback, arguments, &|id| types.get(&id).copied());
            }
            for part in binding.op.parts() {
                if let Part::Body(body) = part {
                    self.add_block(body, types);
                }
            }
            self.add_binding(binding);
            types.extend(binding.results.iter().map(|var| (var.id, &var.ty)));
        }
    }

    /// A value; nothing is known of it. Only `i64` of rank 0 count, others are ignored.
    pub fn declare(&mut self, var: &Var) {
        if var.ty.is_scalar() && var.ty.element == ElementType::I64 {
            self.facts.entry(var.id).or_default();
        }
    }

    /// A value that is known to be an extent of an array that exists.
    pub fn declare_size(&mut self, var: &Var) {
        self.declare(var);
        if let Some(fact) = self.facts.get_mut(&var.id) {
            fact.not_negative = true;
        }
    }

    /// The sizes and parameters of a block. Arrays that are parameters exist while the block runs: of the block's own scalars those that are
    /// their extents are not negative. (Of scalars from outside it says nothing, as the block may not run at all.)
    pub fn enter_block(&mut self, block: &Block) {
        block.sizes.iter().for_each(|var| self.declare_size(var));
        block.params.iter().for_each(|var| self.declare(var));
        block.params.iter().filter(|var| is_vector_of_integers(var)).for_each(|var| self.vectors.declare(var));
        for extent in block.params.iter().filter(|var| !var.ty.stream).flat_map(|var| &var.ty.extents) {
            if let Extent::Value(id) = extent
                && let Some(own) = block.params.iter().find(|var| var.id == *id)
            {
                self.declare_size(own);
            }
        }
    }

    /// A value that is known to be equal to `size`.
    pub fn define(&mut self, id: ArrayId, size: Size) {
        self.facts.entry(id).or_default().size = Some(size);
    }

    /// Makes sizes and scalars among a fallback's parameters those of the arguments: in a fallback, sizes can then be compared with
    /// those outside.
    pub fn enter_fallback<'a>(
        &mut self,
        fallback: &Block,
        arguments: &[Operand],
        type_of: &dyn Fn(ArrayId) -> Option<&'a Type>,
    ) {
        let mut unbound: HashSet<ArrayId> = fallback.sizes.iter().map(|var| var.id).collect();
        for (param, argument) in fallback.params.iter().zip(arguments) {
            if param.ty.is_scalar()
                && param.ty.element == ElementType::I64
                && let Some(size) = self.operand(argument)
            {
                self.define(param.id, size);
            }
            if let Operand::Value(id) = argument
                && let Some(ty) = type_of(*id)
            {
                self.bind_sizes(&param.ty, ty, &mut unbound);
            }
        }
    }

    /// Defines sizes that are first met in type `param` as the extents of type `argument`.
    pub fn bind_sizes(&mut self, param: &Type, argument: &Type, unbound: &mut HashSet<ArrayId>) {
        for (extent, actual) in param.all_extents().zip(argument.all_extents()) {
            if let Extent::Value(id) = extent
                && unbound.remove(id)
                && let Some(size) = self.extent(*actual)
            {
                let fact = self.facts.entry(*id).or_default();
                (fact.size, fact.not_negative) = (Some(size), true);
            }
        }
    }

    /// The results of a binding: `unit`s are followed, numbers that operations count are not negative.
    pub fn add_binding(&mut self, binding: &Binding) {
        binding.results.iter().for_each(|var| self.declare(var));
        if binding.results.iter().all(is_vector_of_integers) {
            self.vectors.add(binding);
        }
        self.rows.add(binding, &self.vectors);
        let counted = |sizes: &mut Self, results: &[Var]| results.iter().for_each(|var| sizes.declare_size(var));
        match &binding.op {
            ArrayOp::Unit { f } => {
                for (var, size) in binding.results.iter().zip(self.function(f)) {
                    if let (Some(size), true) = (size, self.facts.contains_key(&var.id)) {
                        self.define(var.id, size);
                    }
                }
            }
            ArrayOp::Constant { values, .. } => {
                if let ([var], [value]) = (&binding.results[..], &values[..])
                    && self.facts.contains_key(&var.id)
                    && let Some(value) = value.as_i64()
                {
                    self.define(var.id, Size::constant(value));
                }
            }
            ArrayOp::Expand { .. } | ArrayOp::Filter { .. } => {
                counted(self, binding.results.get(..1).unwrap_or_default())
            }
            ArrayOp::Element { .. } => {
                counted(self, &binding.results[..binding.results.len().saturating_sub(1)]);
            }
            ArrayOp::Consume { sinks, .. } => {
                // Results that are no `i64` of rank 0 are ignored, and states may be anything.
                let mut results = &binding.results[..];
                for sink in sinks {
                    let taken = match sink {
                        Sink::Elements { count } => count.saturating_add(1),
                        Sink::Tabulate => {
                            results.iter().position(|var| !var.ty.is_scalar()).map_or(results.len(), |p| p + 1)
                        }
                        Sink::StreamOut => 1,
                        Sink::Accumulate { seeds, .. } => seeds.len(),
                    };
                    let (these, rest) = results.split_at(taken.min(results.len()));
                    if let Sink::Elements { .. } | Sink::Tabulate = sink {
                        counted(self, these);
                    }
                    results = rest;
                }
            }
            ArrayOp::Cluster { body, .. } => {
                for (var, &inner) in binding.results.iter().zip(&body.results) {
                    self.vectors.note(var.id, inner);
                    self.rows.note(var.id, inner);
                    if let (true, Some(size)) = (self.facts.contains_key(&var.id), self.value(inner)) {
                        self.define(var.id, size);
                    }
                }
            }
            _ => {}
        }
    }

    /// The first vector of integers that is known to be equal to one.
    pub fn first_equal(&self, id: ArrayId) -> ArrayId {
        self.vectors.of(id)
    }

    /// Whether two vectors of integers are known to be equal.
    pub fn same_array(&self, a: ArrayId, b: ArrayId) -> bool {
        self.first_equal(a) == self.first_equal(b)
    }

    /// Whether `rows` is known to hold, for each element of the segments that begin at `offsets`, the position of its segment.
    pub fn are_rows_of(&self, rows: ArrayId, offsets: ArrayId) -> bool {
        self.rows.are_rows_of(rows, offsets, &self.vectors)
    }

    /// Whether `places` is known to hold, for each element of the segments that begin at `offsets`, how many of its segment are before it.
    pub fn are_places_of(&self, places: ArrayId, offsets: ArrayId) -> bool {
        self.rows.are_places_of(places, offsets, &self.vectors)
    }

    /// The size that an extent is; none of `?` and of values that are no `i64` of rank 0.
    pub fn extent(&self, extent: Extent) -> Option<Size> {
        match extent {
            Extent::Constant(value) => Some(Size::constant(value)),
            Extent::Value(id) => self.value(id),
            Extent::Unknown => None,
        }
    }

    /// The size that a value is.
    pub fn value(&self, id: ArrayId) -> Option<Size> {
        let fact = self.facts.get(&id)?;
        Some(fact.size.clone().unwrap_or_else(|| Size::term(Term::Value(id))))
    }

    /// The size that a value is of which nothing is known.
    pub fn unknown(id: ArrayId) -> Size {
        Size::term(Term::Value(id))
    }

    /// The size that an operand is.
    pub fn operand(&self, operand: &Operand) -> Option<Size> {
        match operand {
            Operand::Value(id) => self.value(*id),
            Operand::Constant(c) => (c.ty() == ElementType::I64).then(|| c.as_i64().map(Size::constant)).flatten(),
        }
    }

    /// What a function without parameters gives: a size for each result that is an `i64`.
    fn function(&mut self, f: &Lambda) -> Vec<Option<Size>> {
        Walk::new(Scalars(self)).function(f, &[])
    }
}
