//! The one size analysis: whether two extents are equal, one is at most another, one is not negative.
//!
//! A [`Size`] is a polynomial over terms, with coefficients modulo 2⁶⁴: sums, differences and products of `i64` wrap, so normal
//! forms are exact in this ring and `equal` never errs by overflow. Order is not a matter of the ring: [`Sizes::at_most`] takes its
//! operands for extents, which are not negative, and otherwise goes by intervals that are known not to leave `i64`.

mod scalars;
#[cfg(test)]
mod tests;

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashMap, HashSet},
    fmt::Write,
};

use self::scalars::Scalars;
use super::walk::Walk;
use crate::{
    ArrayId, ArrayOp, Binary, Binding, Block, ElementType, Extent, Lambda, Operand, Part, Program, Sink, Type, Var,
    analysis::Equal,
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

/// What a polynomial multiplies with its coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Term {
    /// An `i64` of rank 0 of which no definition is known.
    Value(ArrayId),
    /// In [`Sizes::table`].
    Interned(u32),
}

/// An `i64` as a polynomial: a constant and terms with coefficients, in order of terms, none zero; all modulo 2⁶⁴.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    constant: i64,
    terms: Vec<(Term, i64)>,
}

impl Size {
    /// A number.
    pub fn constant(value: i64) -> Self {
        Self { constant: value, terms: Vec::new() }
    }

    fn term(term: Term) -> Self {
        Self { constant: 0, terms: vec![(term, 1)] }
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    fn as_term(&self) -> Option<Term> {
        match self.terms[..] {
            [(term, 1)] if self.constant == 0 => Some(term),
            _ => None,
        }
    }

    /// `self + factor · other`; wraps.
    pub fn plus(&self, other: &Self, factor: i64) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (&self.terms[..], &other.terms[..]);
        loop {
            let order = match (left, right) {
                ([], []) => break,
                ([], _) => Ordering::Greater,
                (_, []) => Ordering::Less,
                ([(a, _), ..], [(b, _), ..]) => a.cmp(b),
            };
            let (mut term, mut coefficient) = (None, 0i64);
            if order.is_le()
                && let [(first, a), rest @ ..] = left
            {
                (term, coefficient, left) = (Some(*first), *a, rest);
            }
            if order.is_ge()
                && let [(first, b), rest @ ..] = right
            {
                (term, coefficient, right) = (Some(*first), coefficient.wrapping_add(b.wrapping_mul(factor)), rest);
            }
            if let (Some(term), true) = (term, coefficient != 0) {
                terms.push((term, coefficient));
            }
        }
        Self { constant: self.constant.wrapping_add(other.constant.wrapping_mul(factor)), terms }
    }

    /// `self + value`; wraps.
    pub fn offset(&self, value: i64) -> Self {
        Self { constant: self.constant.wrapping_add(value), terms: self.terms.clone() }
    }
}

/// A term that is no plain value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    /// Two or more factors, in order.
    Product(Vec<Term>),
    /// Two or more, in order.
    Min(Vec<Size>),
    /// Two or more, in order.
    Max(Vec<Size>),
    /// Division or remainder.
    Quotient(Binary, Size, Size),
    /// A scalar inside of a `unit` of which nothing is known.
    Opaque(u32),
}

/// Larger polynomials become opaque: real sizes have a handful of terms, and no program makes the analysis slow.
const MAX_TERMS: usize = 16;
const MAX_FACTORS: usize = 8;
const MAX_ARMS: usize = 8;

type Interval = (i64, i64);
const ANY: Interval = (i64::MIN, i64::MAX);

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
    facts: HashMap<ArrayId, Fact>,
    ids: HashMap<Node, u32>,
    table: Vec<(Node, Interval)>,
    opaque: u32,
    /// Vectors of integers, which may be offsets of segments.
    vectors: Equal,
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

    /// Of how many unknown factors the longest product in a size is: 0 for a number, 1 for `n + 1`, 2 for `n * m`. For estimates.
    pub fn degree(&self, size: &Size) -> usize {
        self.degree_within(size, 4)
    }

    fn degree_within(&self, size: &Size, depth: u32) -> usize {
        let of_term = |&(term, _): &(Term, i64)| match term {
            Term::Value(_) => 1,
            Term::Interned(_) if depth == 0 => 1,
            Term::Interned(id) => {
                let each =
                    |sizes: &[Size]| sizes.iter().map(|size| self.degree_within(size, depth - 1)).collect::<Vec<_>>();
                match self.table.get(id as usize).map(|(node, _)| node) {
                    Some(Node::Product(factors)) => {
                        factors.iter().map(|&factor| self.degree_within(&Size::term(factor), depth - 1)).sum()
                    }
                    Some(Node::Min(arms)) => each(arms).into_iter().min().unwrap_or(0),
                    Some(Node::Max(arms)) => each(arms).into_iter().max().unwrap_or(0),
                    Some(Node::Quotient(Binary::Div | Binary::DivFloor, a, b)) => {
                        self.degree_within(a, depth - 1).saturating_sub(self.degree_within(b, depth - 1))
                    }
                    Some(Node::Quotient(_, _, b)) => self.degree_within(b, depth - 1),
                    Some(Node::Opaque(_)) | None => 1,
                }
            }
        };
        size.terms.iter().map(of_term).max().unwrap_or(0)
    }

    /// The size in words, such as `2 * n + 1`.
    pub fn show(&self, size: &Size, name: &dyn Fn(ArrayId) -> String) -> String {
        let mut text = String::new();
        self.write(size, name, 4, &mut text);
        text
    }

    fn write(&self, size: &Size, name: &dyn Fn(ArrayId) -> String, depth: u32, text: &mut String) {
        for (position, &(term, coefficient)) in size.terms.iter().enumerate() {
            text.push_str(match (position, coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            if coefficient.unsigned_abs() != 1 {
                let _ = write!(text, "{} * ", coefficient.unsigned_abs());
            }
            self.write_term(term, name, depth, text);
        }
        match size.constant {
            constant if size.terms.is_empty() => _ = write!(text, "{constant}"),
            0 => {}
            constant => _ = write!(text, " {} {}", if constant < 0 { '-' } else { '+' }, constant.unsigned_abs()),
        }
    }

    fn write_term(&self, term: Term, name: &dyn Fn(ArrayId) -> String, depth: u32, text: &mut String) {
        let node = match term {
            Term::Value(id) => return text.push_str(&name(id)),
            Term::Interned(id) => self.table.get(id as usize).map(|(node, _)| node),
        };
        if depth == 0 {
            return text.push('…');
        }
        let mut list = |open: &str, sizes: &[Size], between: &str| {
            text.push_str(open);
            for (position, size) in sizes.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { between });
                self.write(size, name, depth - 1, text);
            }
            text.push(')');
        };
        match node {
            Some(Node::Product(factors)) => {
                for (position, &factor) in factors.iter().enumerate() {
                    text.push_str(if position == 0 { "" } else { " * " });
                    self.write_term(factor, name, depth - 1, text);
                }
            }
            Some(Node::Min(arms)) => list("min(", arms, ", "),
            Some(Node::Max(arms)) => list("max(", arms, ", "),
            Some(Node::Quotient(function @ (Binary::Div | Binary::Rem), a, b)) => {
                list("(", &[a.clone(), b.clone()], if *function == Binary::Div { " / " } else { " % " });
            }
            Some(Node::Quotient(function, a, b)) => {
                list(&format!("{}(", function.text()), &[a.clone(), b.clone()], ", ");
            }
            Some(Node::Opaque(_)) | None => text.push('…'),
        }
    }

    /// The size that an operand is.
    pub fn operand(&self, operand: &Operand) -> Option<Size> {
        match operand {
            Operand::Value(id) => self.value(*id),
            Operand::Constant(c) => (c.ty() == ElementType::I64).then(|| c.as_i64().map(Size::constant)).flatten(),
        }
    }

    /// Whether two extents are equal.
    pub fn equal(&self, a: Extent, b: Extent) -> Answer {
        match (self.extent(a), self.extent(b)) {
            (Some(a), Some(b)) => self.equal_sizes(&a, &b),
            _ => Answer::Unknown,
        }
    }

    /// Whether extent `a` is at most extent `b`, where neither is negative.
    pub fn at_most(&self, a: Extent, b: Extent) -> Answer {
        match (self.extent(a), self.extent(b)) {
            (Some(a), Some(b)) => self.at_most_sizes(&a, &b),
            _ => Answer::Unknown,
        }
    }

    /// Whether an extent is not negative.
    pub fn not_negative(&self, extent: Extent) -> Answer {
        self.extent(extent).map_or(Answer::Unknown, |size| self.not_negative_size(&size))
    }

    /// Whether two sizes are equal.
    pub fn equal_sizes(&self, a: &Size, b: &Size) -> Answer {
        if a == b {
            return Answer::Proved;
        }
        let difference = a.plus(b, -1);
        if difference.terms.is_empty() {
            return if difference.constant == 0 { Answer::Proved } else { Answer::Refuted };
        }
        let ((low_a, high_a), (low_b, high_b)) = (self.interval(a), self.interval(b));
        if high_a < low_b || high_b < low_a { Answer::Refuted } else { Answer::Unknown }
    }

    /// Whether size `a` is at most size `b`, where neither is negative.
    pub fn at_most_sizes(&self, a: &Size, b: &Size) -> Answer {
        let ((low_a, high_a), (low_b, high_b)) = (self.interval(a), self.interval(b));
        if high_a <= low_b {
            return Answer::Proved;
        }
        if low_a > high_b {
            return Answer::Refuted;
        }
        // b = a + c: with neither negative and c >= 0 the sum cannot have wrapped; with c < 0 it cannot wrap.
        let difference = b.plus(a, -1);
        if difference.terms.is_empty() {
            return if difference.constant >= 0 { Answer::Proved } else { Answer::Refuted };
        }
        if self.at_most_by_parts(a, b, 3) { Answer::Proved } else { Answer::Unknown }
    }

    fn at_most_by_parts(&self, a: &Size, b: &Size, fuel: u32) -> bool {
        let proved = |x: &Size, y: &Size| {
            let difference = y.plus(x, -1);
            (difference.terms.is_empty() && difference.constant >= 0)
                || self.interval(x).1 <= self.interval(y).0
                || (fuel > 0 && self.at_most_by_parts(x, y, fuel - 1))
        };
        let node = |size: &Size| match size.as_term() {
            Some(Term::Interned(id)) => self.table.get(id as usize).map(|(node, _)| node),
            _ => None,
        };
        // Nothing is compared that might be negative without its being known: neither operand is, nor an arm of a minimum
        // that is not, nor what is at least that.
        let a_holds = match node(a) {
            Some(Node::Min(arms)) => arms.iter().any(|x| proved(x, b)),
            Some(Node::Max(arms)) => arms.iter().all(|x| self.interval(x).0 >= 0 && proved(x, b)),
            Some(Node::Quotient(Binary::Div | Binary::DivFloor, x, by)) => {
                self.interval(x).0 >= 0 && self.interval(by).0 >= 1 && proved(x, b)
            }
            _ => false,
        };
        a_holds
            || match node(b) {
                Some(Node::Min(arms)) => arms.iter().all(|x| proved(a, x)),
                Some(Node::Max(arms)) => arms.iter().any(|x| x == a || (self.interval(x).0 >= 0 && proved(a, x))),
                _ => false,
            }
    }

    /// Whether a size is not negative.
    pub fn not_negative_size(&self, size: &Size) -> Answer {
        let (low, high) = self.interval(size);
        match (low >= 0, high < 0) {
            (true, _) => Answer::Proved,
            (_, true) => Answer::Refuted,
            _ => Answer::Unknown,
        }
    }

    /// Bounds of a size; everything where it might leave `i64`.
    fn interval(&self, size: &Size) -> Interval {
        let mut sum = (i128::from(size.constant), i128::from(size.constant));
        for &(term, coefficient) in &size.terms {
            let (low, high) = self.term_interval(term);
            let (a, b) = (i128::from(low) * i128::from(coefficient), i128::from(high) * i128::from(coefficient));
            sum = (sum.0 + a.min(b), sum.1 + a.max(b));
            if sum.0 < i64::MIN.into() || sum.1 > i64::MAX.into() {
                return ANY;
            }
        }
        narrow(sum)
    }

    fn term_interval(&self, term: Term) -> Interval {
        match term {
            Term::Value(id) if self.facts.get(&id).is_some_and(|fact| fact.not_negative) => (0, i64::MAX),
            Term::Value(_) => ANY,
            Term::Interned(id) => self.table.get(id as usize).map_or(ANY, |(_, interval)| *interval),
        }
    }

    fn intern(&mut self, node: Node) -> Size {
        if let Some(&id) = self.ids.get(&node) {
            return Size::term(Term::Interned(id));
        }
        let interval = self.node_interval(&node);
        let id = self.table.len() as u32;
        self.table.push((node.clone(), interval));
        self.ids.insert(node, id);
        Size::term(Term::Interned(id))
    }

    fn node_interval(&self, node: &Node) -> Interval {
        let bounds = |sizes: &[Size]| sizes.iter().map(|size| self.interval(size)).collect::<Vec<_>>();
        match node {
            Node::Product(factors) => {
                let mut product = (1i128, 1i128);
                for &factor in factors {
                    let (low, high) = self.term_interval(factor);
                    let ends = [
                        product.0 * i128::from(low),
                        product.0 * i128::from(high),
                        product.1 * i128::from(low),
                        product.1 * i128::from(high),
                    ];
                    let narrowed = narrow((ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0)));
                    if narrowed == ANY {
                        return ANY;
                    }
                    product = (i128::from(narrowed.0), i128::from(narrowed.1));
                }
                narrow(product)
            }
            Node::Min(arms) => bounds(arms).into_iter().reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap_or(ANY),
            Node::Max(arms) => bounds(arms).into_iter().reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))).unwrap_or(ANY),
            Node::Quotient(function, a, b) => {
                let ((low, high), (by_low, by_high)) = (self.interval(a), self.interval(b));
                if by_low < 1 {
                    return ANY;
                }
                match function {
                    Binary::Div if low >= 0 => (low / by_high, high / by_low),
                    Binary::DivFloor if low >= 0 => (low / by_high, high / by_low),
                    Binary::Rem if low >= 0 => (0, high.min(by_high - 1)),
                    Binary::Rem => (-(by_high - 1), by_high - 1),
                    Binary::ModFloor => (0, by_high - 1),
                    _ => ANY,
                }
            }
            Node::Opaque(_) => ANY,
        }
    }

    fn opaque(&mut self) -> Size {
        self.opaque += 1;
        self.intern(Node::Opaque(self.opaque))
    }

    fn limited(&mut self, size: Size) -> Size {
        if size.terms.len() > MAX_TERMS { self.opaque() } else { size }
    }

    /// The product of two sizes; wraps.
    pub fn product(&mut self, a: &Size, b: &Size) -> Size {
        if a.terms.len().max(1) * b.terms.len().max(1) > MAX_TERMS {
            return self.opaque();
        }
        let mut product = Size::constant(0).plus(&Size { constant: 0, terms: a.terms.clone() }, b.constant);
        product = product.plus(&Size { constant: 0, terms: b.terms.clone() }, a.constant);
        product = product.offset(a.constant.wrapping_mul(b.constant));
        for &(left, x) in &a.terms {
            for &(right, y) in &b.terms {
                let mut factors = self.factors(left);
                factors.extend(self.factors(right));
                if factors.len() > MAX_FACTORS {
                    return self.opaque();
                }
                factors.sort_unstable();
                let term = self.intern(Node::Product(factors));
                product = product.plus(&term, x.wrapping_mul(y));
            }
        }
        self.limited(product)
    }

    /// Whether it is a scalar of which nothing is known.
    fn is_opaque(&self, size: &Size) -> bool {
        match size.as_term() {
            Some(Term::Interned(id)) => matches!(self.table.get(id as usize), Some((Node::Opaque(_), _))),
            _ => false,
        }
    }

    fn factors(&self, term: Term) -> Vec<Term> {
        match term {
            Term::Interned(id) => match self.table.get(id as usize) {
                Some((Node::Product(factors), _)) => factors.clone(),
                _ => vec![term],
            },
            Term::Value(_) => vec![term],
        }
    }

    /// The result of a function of two sizes; opaque where the function is none of sizes.
    pub fn binary(&mut self, function: Binary, a: &Size, b: &Size) -> Size {
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant())
            && let Ok(Some(value)) = crate::primitive::binary(function, a.into(), b.into())
            && value.ty() == ElementType::I64
            && let Some(value) = value.as_i64()
        {
            return Size::constant(value);
        }
        match function {
            Binary::Add => self.limited(a.plus(b, 1)),
            Binary::Sub => self.limited(a.plus(b, -1)),
            Binary::Mul => self.product(a, b),
            Binary::Min | Binary::Max => self.extreme(function, a, b),
            Binary::Div | Binary::DivFloor if b.as_constant() == Some(1) => a.clone(),
            Binary::Div | Binary::DivFloor | Binary::Rem | Binary::ModFloor => {
                self.intern(Node::Quotient(function, a.clone(), b.clone()))
            }
            _ => self.opaque(),
        }
    }

    fn extreme(&mut self, function: Binary, a: &Size, b: &Size) -> Size {
        let mut arms = BTreeSet::new();
        for size in [a, b] {
            let inner = match size.as_term() {
                Some(Term::Interned(id)) => self.table.get(id as usize).map(|(node, _)| node),
                _ => None,
            };
            match (function, inner) {
                (Binary::Min, Some(Node::Min(inner))) | (Binary::Max, Some(Node::Max(inner))) => {
                    arms.extend(inner.iter().cloned());
                }
                _ => {
                    arms.insert(size.clone());
                }
            }
        }
        // An arm that others are known to beat is none: of constants one is left, and `max(n, 0)` of an extent is `n`.
        let mut kept: Vec<Size> = Vec::new();
        for arm in arms {
            let (low, high) = self.interval(&arm);
            let beaten = kept.iter().any(|other| {
                let (other_low, other_high) = self.interval(other);
                if function == Binary::Min { other_high <= low } else { other_low >= high }
            });
            if beaten {
                continue;
            }
            kept.retain(|other| {
                let (other_low, other_high) = self.interval(other);
                if function == Binary::Min { high > other_low } else { low < other_high }
            });
            kept.push(arm);
        }
        match kept.len() {
            1 => kept.swap_remove(0),
            2..=MAX_ARMS => self.intern(if function == Binary::Min { Node::Min(kept) } else { Node::Max(kept) }),
            _ => self.opaque(),
        }
    }

    /// What a function without parameters gives: a size for each result that is an `i64`.
    fn function(&mut self, f: &Lambda) -> Vec<Option<Size>> {
        Walk::new(Scalars(self)).function(f, &[])
    }
}

fn narrow((low, high): (i128, i128)) -> Interval {
    match (i64::try_from(low), i64::try_from(high)) {
        (Ok(low), Ok(high)) => (low, high),
        _ => ANY,
    }
}
