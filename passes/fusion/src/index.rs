//! What is known of index functions: how often they meet an element, and whether they stay inside of extents.

use std::rc::Rc;

use fusebox_ir::{
    ArrayId, Binary, Constant, ElementType, Extent, Instruction, Lambda, Operand, ScalarOp, ScalarOperand, Unary,
    analysis::{
        Answer, Size, Sizes,
        walk::{Domain, Walk},
    },
};

/// Where an operation reads its sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IndexMap {
    /// At its own index.
    Identity,
    /// At its own index in another order: of each dimension of the sources, which of its own it is.
    Permutation(Vec<usize>),
    /// At some of its own dimensions, in order.
    Replicate(Vec<usize>),
    /// At its own index, with dimensions between that are fixed.
    Slice(Vec<Option<ScalarOperand>>),
    /// At sizes plus numbers times its own index.
    Affine,
    /// Wherever its own index and values from outside say.
    Computed,
    /// Wherever data says.
    Data,
    /// It has no sources, or reads several elements of each.
    Other,
}

impl IndexMap {
    /// What an index function over these extents is.
    pub(crate) fn of(f: &Lambda, extents: &[Extent], sizes: &Sizes) -> Self {
        Self::of_index(f, &f.results, extents, sizes)
    }

    /// What an index in a function is, of which the first parameters are the own index, over these extents.
    pub(crate) fn of_index(f: &Lambda, index: &[ScalarOperand], extents: &[Extent], sizes: &Sizes) -> Self {
        let own = &f.params[..extents.len().min(f.params.len())];
        let dims: Vec<Option<usize>> =
            index.iter().map(|&of| own.iter().position(|param| of == param.id.into())).collect();
        let fixed = |of: &ScalarOperand| !matches!(of, ScalarOperand::Local(_));
        let kept: Vec<usize> = dims.iter().copied().flatten().collect();
        let in_order = kept.is_sorted_by(|a, b| a < b);
        if dims.iter().all(Option::is_some) && in_order {
            return if kept.len() == own.len() { Self::Identity } else { Self::Replicate(kept) };
        }
        let mut sorted = kept.clone();
        sorted.sort_unstable();
        if dims.iter().all(Option::is_some) && sorted.iter().copied().eq(0..own.len()) {
            return Self::Permutation(kept);
        }
        if kept.len() == own.len() && in_order && index.iter().zip(&dims).all(|(of, dim)| dim.is_some() || fixed(of)) {
            return Self::Slice(index.iter().zip(dims).map(|(&of, dim)| dim.is_none().then_some(of)).collect());
        }
        let indices = Indices::of(f, Some(extents), sizes);
        let known: Vec<IndexValue> = index.iter().map(|&of| indices.operand(of)).collect();
        match () {
            () if known.iter().any(from_data) => Self::Data,
            () if known.iter().all(|known| matches!(known, IndexValue::Linear(..))) => Self::Affine,
            () => Self::Computed,
        }
    }

    /// What a replicate with these dimensions is.
    pub(crate) fn replicate(dims: &[Option<Operand>]) -> Self {
        Self::Replicate((0..dims.len()).filter(|&dim| dims[dim].is_none()).collect())
    }

    /// What a slice with these dimensions is.
    pub(crate) fn slice(dims: &[Option<Operand>]) -> Self {
        Self::Slice(dims.iter().map(|dim| dim.map(Operand::in_scalar)).collect())
    }

    /// Whether it repeats along inner dimensions alone: what is read is the same for a whole row.
    pub(crate) fn is_by_rows(&self) -> bool {
        matches!(self, Self::Replicate(kept) if kept.iter().copied().eq(0..kept.len()))
    }
}

/// Rows that are repeated so often are [`Range::Again`].
const AGAIN: i64 = 8;

/// How often an index function meets an element of what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Range {
    /// At most once.
    Once,
    /// Maybe several times, as the index alone decides: a replicate, a window, a wrap.
    Repeats,
    /// Again for each step of an outer dimension, all of them: rows that are repeated. From the second time on they are in the caches.
    Again,
    /// Data decides: any number of times.
    Unknown,
}

/// What is known of a scalar while a function is followed.
#[derive(Clone, PartialEq)]
enum IndexValue {
    /// A size plus a number times each index.
    Linear(Size, Vec<i64>),
    /// The lesser of two.
    Min(Rc<(IndexValue, IndexValue)>),
    /// The greater of two.
    Max(Rc<(IndexValue, IndexValue)>),
    /// The index and values from outside decide it.
    Index,
    /// Data decides it.
    Data,
}

/// Scalars as forms in the index of the element.
struct OfIndex<'a> {
    sizes: &'a Sizes,
    /// Of the index.
    extents: Vec<Size>,
}

impl OfIndex<'_> {
    fn size(&self, size: Size) -> IndexValue {
        IndexValue::Linear(size, vec![0; self.extents.len()])
    }

    fn constant_value(&self, constant: Constant) -> IndexValue {
        match (constant.ty(), constant.as_i64()) {
            (ElementType::I64, Some(value)) => self.size(Size::constant(value)),
            _ => IndexValue::Index,
        }
    }

    fn outer_value(&self, id: ArrayId) -> IndexValue {
        self.sizes.value(id).map_or(IndexValue::Index, |size| self.size(size))
    }
}

impl Domain for OfIndex<'_> {
    type Value = IndexValue;

    fn constant(&mut self, constant: Constant) -> IndexValue {
        self.constant_value(constant)
    }

    fn outer(&mut self, id: ArrayId) -> IndexValue {
        self.outer_value(id)
    }

    fn instruction(&mut self, instruction: &Instruction, operands: &[IndexValue]) -> IndexValue {
        use Binary::{Add, Max, Min, Mul, Sub};
        let whole = instruction.results.iter().all(|result| result.ty == ElementType::I64);
        match (&instruction.op, operands) {
            (ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. }, _) => IndexValue::Data,
            (ScalarOp::Binary { function: Min, .. }, [a, b]) if whole && depth(a) + depth(b) <= NESTED => {
                IndexValue::Min(Rc::new((a.clone(), b.clone())))
            }
            (ScalarOp::Binary { function: Max, .. }, [a, b]) if whole && depth(a) + depth(b) <= NESTED => {
                IndexValue::Max(Rc::new((a.clone(), b.clone())))
            }
            _ if operands.iter().any(from_data) => IndexValue::Data,
            (ScalarOp::Binary { function: Add, .. }, [a, b]) if whole => sum(a, b, 1),
            (ScalarOp::Binary { function: Sub, .. }, [a, b]) if whole => sum(a, b, -1),
            (ScalarOp::Binary { function: Mul, .. }, [a, b]) if whole => match (number(a), number(b)) {
                (Some(by), _) => scaled(b, by),
                (_, Some(by)) => scaled(a, by),
                _ => IndexValue::Index,
            },
            (ScalarOp::Unary { function: Unary::Neg, .. }, [a]) if whole => scaled(a, -1),
            _ => IndexValue::Index,
        }
    }

    fn either(&mut self, condition: &IndexValue, a: &IndexValue, b: &IndexValue, _: ElementType) -> IndexValue {
        let data = [condition, a, b].into_iter().any(from_data);
        if data { IndexValue::Data } else { IndexValue::Index }
    }

    /// How often a loop turns is not followed.
    fn widened(&mut self, before: &IndexValue, after: &IndexValue, _: ElementType) -> Option<IndexValue> {
        (before != after && *before != IndexValue::Data).then_some(IndexValue::Data)
    }
}

/// `a + factor · b`.
fn sum(a: &IndexValue, b: &IndexValue, factor: i64) -> IndexValue {
    let (IndexValue::Linear(a, x), IndexValue::Linear(b, y)) = (a, b) else { return IndexValue::Index };
    let sum: Option<Vec<i64>> = x.iter().zip(y).map(|(x, y)| small(x.checked_add(y * factor)?)).collect();
    sum.map_or(IndexValue::Index, |sum| IndexValue::Linear(a.plus(b, factor), sum))
}

fn scaled(value: &IndexValue, by: i64) -> IndexValue {
    let IndexValue::Linear(size, factors) = value else { return IndexValue::Index };
    let product: Option<Vec<i64>> = factors.iter().map(|factor| small(factor.checked_mul(by)?)).collect();
    product.map_or(IndexValue::Index, |product| IndexValue::Linear(Size::constant(0).plus(size, by), product))
}

/// The number that a value is, if it is one.
fn number(value: &IndexValue) -> Option<i64> {
    match value {
        IndexValue::Linear(size, factors) if factors.iter().all(|&factor| factor == 0) => size.as_constant(),
        _ => None,
    }
}

/// What is known of indices in a function whose first parameters are the index of the element.
pub(crate) struct Indices<'a> {
    walk: Walk<OfIndex<'a>>,
}

impl<'a> Indices<'a> {
    /// Follows a function; `extents` are those that its parameters run over, none where parameters are elements.
    pub(crate) fn of(f: &Lambda, extents: Option<&[Extent]>, sizes: &'a Sizes) -> Self {
        let bounds: Vec<Size> = extents
            .unwrap_or_default()
            .iter()
            .map(|&extent| sizes.extent(extent).unwrap_or_else(|| Size::constant(i64::MAX)))
            .collect();
        let rank = bounds.len();
        let unit = |at: usize| (0..rank).map(|other| i64::from(other == at)).collect();
        let of_param = |at| if at < rank { IndexValue::Linear(Size::constant(0), unit(at)) } else { IndexValue::Data };
        let arguments: Vec<IndexValue> = (0..f.params.len()).map(of_param).collect();
        let mut walk = Walk::new(OfIndex { sizes, extents: bounds });
        walk.function(f, &arguments);
        Self { walk }
    }

    fn extents(&self) -> &[Size] {
        &self.walk.domain.extents
    }

    fn sizes(&self) -> &'a Sizes {
        self.walk.domain.sizes
    }

    fn operand(&self, operand: ScalarOperand) -> IndexValue {
        match operand {
            ScalarOperand::Local(id) => self.walk.get(id).cloned().unwrap_or(IndexValue::Data),
            ScalarOperand::Outer(id) => self.walk.domain.outer_value(id),
            ScalarOperand::Constant(constant) => self.walk.domain.constant_value(constant),
        }
    }

    /// How often these indices meet an element.
    pub(crate) fn range(&self, index: &[ScalarOperand]) -> Range {
        let known: Vec<IndexValue> = index.iter().map(|&operand| self.operand(operand)).collect();
        if known.iter().any(from_data) {
            return Range::Unknown;
        }
        let alone = |dim: usize| {
            known.iter().any(|known| match known {
                IndexValue::Linear(_, factors) => {
                    factors.iter().enumerate().all(|(d, &factor)| (factor != 0) == (d == dim))
                }
                _ => false,
            })
        };
        let one = |dim: usize| self.extents()[dim].as_constant().is_some_and(|extent| extent <= 1);
        let rank = self.extents().len();
        if (0..rank).all(|dim| alone(dim) || one(dim)) {
            return Range::Once;
        }
        let few = |dim: usize| self.extents()[dim].as_constant().is_some_and(|extent| extent < AGAIN);
        let unused =
            |dim: usize| known.iter().all(|known| matches!(known, IndexValue::Linear(_, factors) if factors[dim] == 0));
        match (0..rank).rev().find(|&dim| !one(dim)) {
            Some(innermost) if alone(innermost) && (0..innermost).any(|dim| unused(dim) && !few(dim)) => Range::Again,
            _ => Range::Repeats,
        }
    }

    /// Whether an index follows the innermost dimension of its own as it is: only the last of its components depends on it, by a factor of 1.
    pub(crate) fn is_in_rows(&self, index: &[ScalarOperand]) -> bool {
        let (Some((last, outer)), Some(dim)) = (index.split_last(), self.extents().len().checked_sub(1)) else {
            return false;
        };
        let follows = matches!(self.operand(*last), IndexValue::Linear(_, factors) if factors[dim] == 1);
        follows && outer.iter().all(|&of| !depends_on(&self.operand(of), dim))
    }

    /// Whether an index does not depend on the innermost dimension of its own.
    pub(crate) fn is_one_a_row(&self, index: &[ScalarOperand]) -> bool {
        let Some(dim) = self.extents().len().checked_sub(1) else { return false };
        index.iter().all(|&of| !depends_on(&self.operand(of), dim))
    }

    /// Whether these indices are proved to lie inside of `extents`, wherever there is an element at all.
    pub(crate) fn inside(&self, index: &[ScalarOperand], extents: &[Extent]) -> bool {
        self.inside_each(index, extents).iter().all(|&inside| inside)
    }

    /// Of each index whether it is proved to lie inside.
    pub(crate) fn inside_each(&self, index: &[ScalarOperand], extents: &[Extent]) -> Vec<bool> {
        if index.len() != extents.len() {
            return vec![false; index.len().max(1)];
        }
        let one = |(&index, &extent): (&ScalarOperand, &Extent)| {
            let (known, Some(extent)) = (self.operand(index), self.sizes().extent(extent)) else { return false };
            self.not_negative(&known) && self.below(&known, &extent)
        };
        index.iter().zip(extents).map(one).collect()
    }

    /// Whether a size is proved not to be negative wherever there is an element: no extent that is run over is 0 there.
    fn holds(&self, size: &Size) -> bool {
        let proved = |size: &Size| self.sizes().not_negative_size(size) == Answer::Proved;
        proved(size) || self.extents().iter().any(|extent| proved(&size.plus(&extent.offset(-1), -1)))
    }

    /// The least and the greatest that a size plus numbers times indices can be.
    fn bounds(&self, size: &Size, factors: &[i64]) -> (Size, Size) {
        let (mut least, mut most) = (size.clone(), size.clone());
        for (extent, &factor) in self.extents().iter().zip(factors) {
            let last = extent.offset(-1);
            match factor {
                0 => {}
                1.. => most = most.plus(&last, factor),
                _ => least = least.plus(&last, factor),
            }
        }
        (least, most)
    }

    fn not_negative(&self, known: &IndexValue) -> bool {
        match known {
            IndexValue::Linear(size, factors) => self.holds(&self.bounds(size, factors).0),
            IndexValue::Min(both) => self.not_negative(&both.0) && self.not_negative(&both.1),
            IndexValue::Max(both) => self.not_negative(&both.0) || self.not_negative(&both.1),
            IndexValue::Index | IndexValue::Data => false,
        }
    }

    fn below(&self, known: &IndexValue, extent: &Size) -> bool {
        match known {
            IndexValue::Linear(size, factors) => {
                let (least, most) = self.bounds(size, factors);
                // What is not proved by bounds may be by order: an index itself, over at most as many.
                let itself = index_itself(factors) && least.as_constant() == Some(0);
                let over = factors.iter().position(|&factor| factor == 1);
                let as_many = |dim: usize| self.sizes().at_most_sizes(&self.extents()[dim], extent) == Answer::Proved;
                self.holds(&extent.offset(-1).plus(&most, -1)) || itself && over.is_some_and(as_many)
            }
            IndexValue::Min(both) => self.below(&both.0, extent) || self.below(&both.1, extent),
            IndexValue::Max(both) => self.below(&both.0, extent) && self.below(&both.1, extent),
            IndexValue::Index | IndexValue::Data => false,
        }
    }
}

/// Whether data decides it, be it within bounds.
fn from_data(known: &IndexValue) -> bool {
    match known {
        IndexValue::Data => true,
        IndexValue::Min(both) | IndexValue::Max(both) => from_data(&both.0) || from_data(&both.1),
        IndexValue::Linear(..) | IndexValue::Index => false,
    }
}

/// Whether it may depend on a dimension of the index.
fn depends_on(known: &IndexValue, dim: usize) -> bool {
    match known {
        IndexValue::Linear(_, factors) => factors[dim] != 0,
        IndexValue::Min(both) | IndexValue::Max(both) => depends_on(&both.0, dim) || depends_on(&both.1, dim),
        IndexValue::Index | IndexValue::Data => true,
    }
}

/// So many `min` and `max` in one another, and no more.
const NESTED: usize = 16;

/// How many `min` and `max` there are in what is known.
fn depth(known: &IndexValue) -> usize {
    match known {
        IndexValue::Min(both) | IndexValue::Max(both) => 1 + depth(&both.0) + depth(&both.1),
        IndexValue::Linear(..) | IndexValue::Index | IndexValue::Data => 0,
    }
}

/// Factors beyond this, times an extent of an array that fits in memory, might wrap: nothing is said of them.
fn small(factor: i64) -> Option<i64> {
    (factor.abs() <= 1 << 15).then_some(factor)
}

/// Whether it is an index alone, as it is.
fn index_itself(factors: &[i64]) -> bool {
    factors.iter().filter(|&&factor| factor != 0).eq([&1])
}
