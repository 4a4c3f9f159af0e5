//! Checks in lanes: what they find says the lane.

use fusebox_ir::{
    ArrayOp, Binary, Constant, ElementType,
    ElementType::{Bool, I64},
    LambdaBuilder, Local, ScalarOp, ScalarOperand, ScalarValue, Type,
};

use super::{
    Lifter, Value,
    code::Code,
    context::{ContextId, Made, ROOT},
    flat::operands,
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

    /// An index, if two extents with these names are equal; else an error that names the lane of these coordinates.
    pub fn if_equal(
        &mut self,
        (found, left): (ScalarOperand, &str),
        (expected, right): (ScalarOperand, &str),
        lane: &[ScalarOperand],
        index: ScalarOperand,
    ) -> ScalarOperand {
        if found == expected {
            return index;
        }
        let equal = self.binary(Binary::Eq, found, expected, Bool);
        let (message, lane) = in_lane(&faults::unequal_extents(left, right), lane);
        let shown = [&[found, expected][..], &lane].concat();
        self.assert(equal, (message, shown), index, I64)
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

impl Lifter<'_> {
    /// Sizes for the lanes of a context that are known not to be negative, or fail. Where only some lanes get there, others do not fail.
    pub fn checked_sizes(&mut self, sizes: &Value, lanes: ContextId) -> Value {
        if self.not_negative.contains(&sizes.array) {
            return sizes.clone();
        }
        let mut steps = self.steps(sizes.home, lanes).into_iter().rev();
        if let Some(some) = steps.find(|&step| matches!(self.context(step).made, Made::Subset { .. })) {
            return self.checked_sizes_of_some(sizes, some);
        }
        let ty = self.flat.ty(sizes.array).clone();
        let mut f = LambdaBuilder::new();
        let alone = sizes.home == ROOT;
        let size = if alone { ScalarValue::outer(sizes.array, I64) } else { f.param("", I64) };
        let lane: Vec<_> = ty.extents.iter().map(|_| f.param("", I64).operand).collect();
        let fine = f.binary(Binary::Ge, size, 0i64);
        let name = &self.name_of(sizes.array);
        let (message, lane) = in_lane(&faults::negative_extent(name), &lane);
        let shown = [&[size.operand][..], &lane].concat();
        // Where the array is made that has the size.
        f.at(self.flat.place.clone());
        let op = ScalarOp::Assert { condition: fine.operand, message, shown, value: size.operand };
        let checked = f.instruction(op, &[I64]);
        let f = f.finish(&[checked[0]]);
        let op = if alone {
            ArrayOp::Unit { f }
        } else {
            let lanes = (0..ty.rank()).map(|dim| self.coordinate_of(&ty.extents, dim));
            ArrayOp::Map { f, sources: [sizes.array].into_iter().chain(lanes).collect() }
        };
        let array = self.flat.bind_out(op, &name.as_str().into(), ty);
        self.not_negative.insert(array);
        Value { array, ..sizes.clone() }
    }

    /// The same for those lanes of their home that are lanes of another context.
    fn checked_sizes_of_some(&mut self, sizes: &Value, some: ContextId) -> Value {
        let name = self.name_of(sizes.array);
        let lifted = self.lifted(sizes, some);
        let dims = self.dims(some);
        let mut code = Code::over(self, some);
        let coords = code.coords.clone();
        let size = code.read_of_lane(lifted.array, coords);
        let fine = code.binary(Binary::Ge, size, Code::constant(0), Bool);
        let lane = code.own_lane();
        let (message, lane) = in_lane(&faults::negative_extent(&name), &lane);
        let checked = code.assert(fine, (message, [&[size][..], &lane].concat()), size, I64);
        let f = code.b.finish_needed(&[checked]);
        let op = ArrayOp::Generate { extents: operands(&dims), f };
        let array = self.flat.bind_out(op, &name.as_str().into(), Type::array(dims, I64));
        self.not_negative.insert(array);
        Value { array, ..lifted }
    }
}

/// Whether a function divides.
pub(super) fn divides(function: Binary) -> bool {
    matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor)
}
