//! Extents: those that are known, what is known of them, and new ones computed from them.

use super::{Bounds, Known, LARGE, Scope};
use crate::{
    ArrayOp, Binary, Constant, ElementType, Extent, Instruction, Lambda, Local, LocalId, Name, Operand, Place,
    ScalarOp, ScalarOperand, Type, generate::LONG_ROW,
};

const ANY: Bounds = (i64::MIN, i64::MAX);

impl<'c> Scope<'c> {
    pub fn bounds_of(&self, extent: Extent) -> Bounds {
        match extent {
            Extent::Constant(value) => (value, value),
            Extent::Value(id) => self.bounds.get(&id).copied().unwrap_or(ANY),
            Extent::Unknown => ANY,
        }
    }

    /// How many elements an array of these extents has at most.
    pub fn most_elements(&self, extents: &[Extent]) -> i64 {
        extents.iter().fold(1, |all: i64, &extent| all.saturating_mul(self.bounds_of(extent).1))
    }

    /// Whether an extent is never 0.
    pub fn positive(&self, extent: Extent) -> bool {
        self.bounds_of(extent).0 >= 1
    }

    pub fn is_size(&self, known: &Known) -> bool {
        let most = self.max_elements();
        known.ty.is_scalar() && self.bounds.get(&known.id).is_some_and(|&(low, high)| low >= 0 && high <= most)
    }

    /// How many elements an array may have.
    pub fn max_elements(&self) -> i64 {
        // A row for each lane, if there are as many as extents of inputs go.
        let long = if self.config.long_rows { LONG_ROW * (self.config.max_extent + 1) } else { 0 };
        if self.linear { 4 * LARGE } else { ((self.config.max_extent * 90).max(90).max(long) / self.lanes).max(8) }
    }

    /// Whether arrays of these extents are not too large.
    pub fn fits(&self, extents: &[Extent]) -> bool {
        let sizes = extents.iter().filter(|extent| !matches!(extent, Extent::Constant(_))).count();
        let product =
            extents.iter().try_fold(1i64, |product, &extent| product.checked_mul(self.bounds_of(extent).1.max(1)));
        extents.len() <= crate::MAX_RANK
            && product.is_some_and(|product| product <= self.max_elements())
            && (!self.linear || sizes <= 1)
    }

    /// An extent: of something in scope, or a small number.
    pub fn extent(&mut self) -> Extent {
        if self.random.chance(3, 4)
            && let Some(known) = self.pick(Self::is_size)
        {
            return Extent::Value(known.id);
        }
        Extent::Constant(self.random.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 5]))
    }

    /// Extents of an array that is not too large.
    pub fn extents(&mut self, rank: usize) -> Vec<Extent> {
        let mut extents: Vec<Extent> = (0..rank).map(|_| self.extent()).collect();
        while !self.fits(&extents) {
            let at = self.random.below(rank);
            extents[at] = Extent::Constant(self.random.pick(&[1, 1, 2, 0]));
        }
        extents
    }

    pub fn rank(&mut self) -> usize {
        if self.random.chance(1, 40) {
            self.random.range(5, 8) as usize
        } else {
            self.random.pick(&[0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4])
        }
    }

    /// A `unit` of one instruction that gives a size; none in a cluster.
    pub(super) fn size_unit(&mut self, function: Binary, a: Extent, b: Extent, bounds: Bounds) -> Option<Extent> {
        if self.in_cluster || bounds.0 < 0 || bounds.1 > self.max_elements() {
            return None;
        }
        let code = single(ScalarOp::Binary { function, a: scalar(a), b: scalar(b) }, ElementType::I64);
        let size = self.bind(ArrayOp::Unit { f: code }, vec![Type::scalar(ElementType::I64)]);
        self.bounds.insert(size[0].id, bounds);
        Some(Extent::Value(size[0].id))
    }

    /// The sum of two extents.
    pub fn sum(&mut self, a: Extent, b: Extent) -> Option<Extent> {
        if let (Extent::Constant(a), Extent::Constant(b)) = (a, b) {
            return Some(Extent::Constant(a + b));
        }
        if let Some(&Extent::Value(sum)) = self.sums.get(&(a, b))
            && self.values.iter().any(|known| known.id == sum)
            && (self.in_cluster || self.random.chance(3, 4))
        {
            return Some(Extent::Value(sum));
        }
        let ((low, high), (more, most)) = (self.bounds_of(a), self.bounds_of(b));
        let sum = self.size_unit(Binary::Add, a, b, (low.checked_add(more)?, high.checked_add(most)?))?;
        self.sums.insert((a, b), sum);
        Some(sum)
    }

    /// The smaller of two extents.
    pub fn smaller(&mut self, a: Extent, b: Extent) -> Option<Extent> {
        if a == b {
            return Some(a);
        }
        let ((low, high), (more, most)) = (self.bounds_of(a), self.bounds_of(b));
        match (a, b) {
            (Extent::Constant(a), Extent::Constant(b)) => Some(Extent::Constant(a.min(b))),
            _ => self.size_unit(Binary::Min, a, b, (low.min(more), high.min(most))),
        }
    }

    /// The product of two extents.
    pub fn product(&mut self, a: Extent, b: Extent) -> Option<Extent> {
        let ((low, high), (more, most)) = (self.bounds_of(a), self.bounds_of(b));
        match (a, b) {
            (Extent::Constant(a), Extent::Constant(b)) => Some(Extent::Constant(a * b)),
            _ if self.linear && !matches!((a, b), (Extent::Constant(_), _) | (_, Extent::Constant(_))) => None,
            _ => self.size_unit(Binary::Mul, a, b, (low.checked_mul(more)?, high.checked_mul(most)?)),
        }
    }

    /// Some size computed from others.
    pub fn new_size(&mut self) -> Option<Extent> {
        let (a, b) = (self.extent(), self.extent());
        let ((low, high), c) = (self.bounds_of(a), self.random.range(1, 3));
        let number = Extent::Constant(c);
        match self.random.below(9) {
            0 => self.sum(a, number),
            1 => self.sum(a, b),
            2 => self.smaller(a, b),
            3 => self.product(a, b),
            4 => self.size_unit(Binary::Div, a, number, (low / c, high / c)),
            5 => self.size_unit(Binary::Max, a, number, (low.max(c), high.max(c))),
            6 => self.size_unit(Binary::Rem, a, number, (0, c - 1)),
            7 if self.unsafely() => self.size_unit(Binary::Sub, a, number, (0, high)),
            _ => self.again(a),
        }
    }

    /// The same size under another name, which analysis may or may not prove to be equal.
    pub fn again(&mut self, extent: Extent) -> Option<Extent> {
        let bounds = self.bounds_of(extent);
        let (function, by) = self.random.pick(&[
            (Binary::Add, 0),
            (Binary::Mul, 1),
            (Binary::Min, i64::MAX),
            (Binary::Or, 0),
            (Binary::Xor, 0),
            (Binary::And, -1),
            (Binary::Shl, 0),
            (Binary::DivFloor, 1),
        ]);
        self.size_unit(function, extent, Extent::Constant(by), bounds)
    }

    /// Mostly the extents themselves, sometimes equal extents of other names, and sometimes different ones if runs may fail.
    pub fn spelled(&mut self, extents: &[Extent]) -> Vec<Extent> {
        let mut extents = extents.to_vec();
        for extent in &mut extents {
            if !self.in_cluster && self.random.chance(1, 24) {
                *extent = self.again(*extent).unwrap_or(*extent);
            } else if self.unsafely() && matches!(extent, Extent::Value(_)) {
                let other = self.extent();
                if matches!(other, Extent::Value(_))
                    && self.bounds_of(other).1 <= self.bounds_of(*extent).1
                    && self.unrelated(*extent, other)
                {
                    *extent = other;
                }
            }
        }
        extents
    }

    /// Whether both are sizes of inputs. The equality of other pairs might be refuted by analysis, and then the program would not be valid.
    fn unrelated(&self, a: Extent, b: Extent) -> bool {
        self.is_input_size(a) && self.is_input_size(b)
    }

    /// Whether an extent is a size that the types of inputs bind.
    pub fn is_input_size(&self, extent: Extent) -> bool {
        matches!(extent, Extent::Value(id) if self.blocks[0].sizes.iter().any(|var| var.id == id))
    }
}

/// A function without parameters of one instruction.
pub(in crate::generate) fn single(op: ScalarOp, ty: ElementType) -> Lambda {
    let local = Local { id: LocalId(0), ty, name: Name::default() };
    let results = vec![local.id.into()];
    Lambda {
        params: Vec::new(),
        instructions: vec![Instruction { results: vec![local], op, place: Place::default() }],
        results,
    }
}

/// An extent as an operand of scalar code.
pub(in crate::generate) fn scalar(extent: Extent) -> ScalarOperand {
    operand(extent).in_scalar()
}

/// An extent as an operand.
pub(in crate::generate) fn operand(extent: Extent) -> Operand {
    match extent {
        Extent::Constant(value) => Operand::Constant(value.into()),
        Extent::Value(id) => Operand::Value(id),
        Extent::Unknown => Operand::Constant(Constant::from(0i64)),
    }
}

/// Extents as operands.
pub(in crate::generate) fn operands(extents: &[Extent]) -> Vec<Operand> {
    extents.iter().map(|&extent| operand(extent)).collect()
}
