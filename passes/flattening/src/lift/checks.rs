//! Checks in lanes: what they find says the lane.

use fusebox_ir::{
    Binary, Constant, ElementType,
    ElementType::{Bool, I64},
    Local, ScalarOp, ScalarOperand,
};

use super::{
    code::Code,
    context::{Made, ROOT},
    lane::in_lane,
};
use crate::faults;

impl Code<'_, '_> {
    /// `condition ? value : error`, of which the message says where in which lanes.
    pub fn assert(
        &mut self,
        condition: ScalarOperand,
        (message, shown): (String, Vec<ScalarOperand>),
        value: ScalarOperand,
        ty: ElementType,
    ) -> ScalarOperand {
        self.op(ScalarOp::Assert { condition, message, shown, value }, ty)
    }

    /// The index, if it is not negative and below the size; else an error that names the lane of these coordinates.
    pub fn inside(
        &mut self,
        index: ScalarOperand,
        size: ScalarOperand,
        name: &str,
        lane: &[ScalarOperand],
    ) -> ScalarOperand {
        // The number of a lane that runs alone is below that of all.
        if let Some((lane, count)) = self.lifter.in_one_lane
            && index == ScalarOperand::Outer(lane)
            && size == Self::extent(count)
        {
            return index;
        }
        let low = self.binary(Binary::Ge, index, Self::constant(0), Bool);
        let high = self.binary(Binary::Lt, index, size, Bool);
        let both = self.binary(Binary::And, low, high, Bool);
        let (message, lane) = in_lane(&faults::index_outside(name), lane);
        let shown = [&[index, size][..], &lane].concat();
        self.assert(both, (message, shown), index, I64)
    }

    /// The lane that this code is of, as the indices of the nests around it, if it is told its coordinates.
    pub fn own_lane(&mut self) -> Vec<ScalarOperand> {
        if self.coords.len() != self.lifter.context(self.context).dims.len() {
            return Vec::new();
        }
        let mut lane = self.lifter.here;
        while !self.lifter.is_above(lane, self.context) {
            lane = self.lifter.context(lane).parent;
        }
        let mut steps = self.lifter.steps(ROOT, lane);
        steps.retain(|&step| !matches!(self.lifter.context(step).made, Made::Subset { .. }));
        self.own_indices(&steps)
    }

    /// Whether an integer is divided by what is no constant other than 0, in a lane that this code knows.
    pub fn may_divide_by_zero(&self, function: Binary, by: ScalarOperand, results: &[Local]) -> bool {
        let float = results.first().is_none_or(|result| result.ty.is_float());
        let constant = matches!(by, ScalarOperand::Constant(by) if by.bits() != 0);
        divides(function) && !float && !constant && !self.positive.contains(&by) && !self.coords.is_empty()
    }

    /// Whether an integer is at least a number above 0, as divisors often are made.
    pub fn is_positive(&self, op: &ScalarOp, results: &[Local]) -> bool {
        let integer = results.first().is_some_and(|result| !result.ty.is_float());
        let above = |operand: &ScalarOperand| matches!(operand, ScalarOperand::Constant(least) if least.as_i64().is_some_and(|least| least > 0));
        integer && matches!(op, ScalarOp::Binary { function: Binary::Max, a, b } if above(a) || above(b))
    }

    /// A divisor, or an error that names the lane.
    pub fn not_zero(&mut self, by: ScalarOperand, ty: ElementType) -> ScalarOperand {
        let lane = self.own_lane();
        if lane.is_empty() {
            return by;
        }
        let zero = ScalarOperand::Constant(Constant::from_bits(ty, 0));
        let fine = self.binary(Binary::Ne, by, zero, Bool);
        self.assert(fine, in_lane(faults::DIVISION, &lane), by, ty)
    }
}

/// Whether a function divides.
pub(super) fn divides(function: Binary) -> bool {
    matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor)
}
