//! What is known of index functions: how often they meet an element, and whether they stay inside of extents.

use std::collections::HashMap;

use fusebox_ir::{
    Binary, ElementType, Extent, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart, Unary,
    analysis::{Answer, Size, Sizes},
};

/// How often an index function meets an element of what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Range {
    /// At most once.
    Once,
    /// Maybe several times, as the index alone decides: a replicate, a window, a wrap.
    Repeats,
    /// Data decides: any number of times.
    Unknown,
}

/// What is known of an `i64` while a function is followed.
#[derive(Clone)]
enum Known {
    /// A size plus a number times each index.
    Linear(Size, Vec<i64>),
    /// The index and values from outside decide it.
    Index,
    /// Data decides it.
    Data,
}

/// What is known of indices in a function whose first parameters are the index of the element.
pub(crate) struct Indices<'a> {
    sizes: &'a Sizes,
    /// Of the index.
    extents: Vec<Size>,
    known: HashMap<LocalId, Known>,
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
        let mut indices = Self { sizes, extents: bounds, known: HashMap::new() };
        for (at, param) in f.params.iter().enumerate() {
            let unit = |at: usize| (0..rank).map(|other| i64::from(other == at)).collect();
            let known = if at < rank { Known::Linear(Size::constant(0), unit(at)) } else { Known::Data };
            indices.known.insert(param.id, known);
        }
        indices.follow(f, false);
        indices
    }

    fn follow(&mut self, f: &Lambda, in_loop: bool) {
        for instruction in &f.instructions {
            for part in instruction.op.parts() {
                if let ScalarPart::Body(body) = part {
                    let turns = in_loop || matches!(instruction.op, ScalarOp::While { .. });
                    for param in &body.params {
                        self.known.insert(param.id, Known::Data);
                    }
                    self.follow(body, turns);
                }
            }
            for result in &instruction.results {
                let known = if in_loop { Known::Data } else { self.result(&instruction.op, result.ty) };
                self.known.insert(result.id, known);
            }
        }
    }

    fn operand(&self, operand: ScalarOperand) -> Known {
        let rank = self.extents.len();
        match operand {
            ScalarOperand::Local(id) => self.known.get(&id).cloned().unwrap_or(Known::Data),
            ScalarOperand::Outer(id) => {
                self.sizes.value(id).map_or(Known::Index, |size| Known::Linear(size, vec![0; rank]))
            }
            ScalarOperand::Constant(constant) => match (constant.ty(), constant.as_i64()) {
                (ElementType::I64, Some(value)) => Known::Linear(Size::constant(value), vec![0; rank]),
                _ => Known::Index,
            },
        }
    }

    fn result(&self, op: &ScalarOp, ty: ElementType) -> Known {
        let known: Vec<Known> = op
            .parts()
            .into_iter()
            .map(|part| match part {
                ScalarPart::Operand(operand) => self.operand(*operand),
                ScalarPart::Array(_) => Known::Data,
                ScalarPart::Body(body) => {
                    let data = body.results.iter().any(|&result| matches!(self.operand(result), Known::Data));
                    if data { Known::Data } else { Known::Index }
                }
            })
            .collect();
        if known.iter().any(|known| matches!(known, Known::Data)) || matches!(op, ScalarOp::While { .. }) {
            return Known::Data;
        }
        let combined = |factor: i64| match (&known[0], &known[1]) {
            (Known::Linear(a, x), Known::Linear(b, y)) => {
                let sum: Option<Vec<i64>> = x.iter().zip(y).map(|(x, y)| small(x.checked_add(y * factor)?)).collect();
                sum.map_or(Known::Index, |sum| Known::Linear(a.plus(b, factor), sum))
            }
            _ => Known::Index,
        };
        let scaled = |known: &Known, by: i64| match known {
            Known::Linear(size, factors) => {
                let product: Option<Vec<i64>> = factors.iter().map(|factor| small(factor.checked_mul(by)?)).collect();
                product.map_or(Known::Index, |product| Known::Linear(Size::constant(0).plus(size, by), product))
            }
            _ => Known::Index,
        };
        let constant = |known: &Known| match known {
            Known::Linear(size, factors) if factors.iter().all(|&factor| factor == 0) => size.as_constant(),
            _ => None,
        };
        if ty != ElementType::I64 {
            return Known::Index;
        }
        match op {
            ScalarOp::Binary { function: Binary::Add, .. } => combined(1),
            ScalarOp::Binary { function: Binary::Sub, .. } => combined(-1),
            ScalarOp::Binary { function: Binary::Mul, .. } => match (constant(&known[0]), constant(&known[1])) {
                (Some(by), _) => scaled(&known[1], by),
                (_, Some(by)) => scaled(&known[0], by),
                _ => Known::Index,
            },
            ScalarOp::Unary { function: Unary::Neg, .. } => scaled(&known[0], -1),
            _ => Known::Index,
        }
    }

    /// How often these indices meet an element.
    pub(crate) fn range(&self, index: &[ScalarOperand]) -> Range {
        let known: Vec<Known> = index.iter().map(|&operand| self.operand(operand)).collect();
        if known.iter().any(|known| matches!(known, Known::Data)) {
            return Range::Unknown;
        }
        let alone = |dim: usize| {
            known.iter().any(|known| match known {
                Known::Linear(_, factors) => factors.iter().enumerate().all(|(d, &factor)| (factor != 0) == (d == dim)),
                _ => false,
            })
        };
        let one = |dim: usize| self.extents[dim].as_constant().is_some_and(|extent| extent <= 1);
        if (0..self.extents.len()).all(|dim| alone(dim) || one(dim)) { Range::Once } else { Range::Repeats }
    }

    /// Whether these indices are proved to lie inside of `extents`, wherever there is an element at all.
    pub(crate) fn inside(&self, index: &[ScalarOperand], extents: &[Extent]) -> bool {
        self.inside_each(index, extents).iter().all(|&inside| inside)
    }

    /// Of each index whether it is proved to lie inside.
    pub(crate) fn inside_each(&self, index: &[ScalarOperand], extents: &[Extent]) -> Vec<bool> {
        let one = |at: usize| -> bool {
            let (Known::Linear(size, factors), Some(extent)) =
                (self.operand(index[at]), self.sizes.extent(extents[at]))
            else {
                return false;
            };
            let (mut least, mut most) = (size.clone(), size);
            for (bound, &factor) in self.extents.iter().zip(&factors) {
                let last = bound.offset(-1);
                match factor {
                    0 => {}
                    1.. => most = most.plus(&last, factor),
                    _ => least = least.plus(&last, factor),
                }
            }
            let room = extent.offset(-1).plus(&most, -1);
            let holds = |size: &Size| self.sizes.not_negative_size(size) == Answer::Proved;
            // What is not proved by bounds may be by order: an index itself, over at most as many.
            let itself = index_itself(&factors) && least.as_constant() == Some(0);
            let over = factors.iter().position(|&factor| factor == 1);
            holds(&least)
                && (holds(&room)
                    || (itself
                        && over.is_some_and(|dim| {
                            self.sizes.at_most_sizes(&self.extents[dim], &extent) == Answer::Proved
                        })))
        };
        if index.len() != extents.len() {
            return vec![false; index.len().max(1)];
        }
        (0..index.len()).map(one).collect()
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
