//! Segments of the rows of lanes: offsets that each lane has become offsets into the elements of all lanes.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding,
    ElementType::{Bool, I64},
    Extent, LambdaBuilder, ScalarOperand, Type,
};

use super::{
    Lifter, Value,
    code::{Code, Outside},
    context::{ContextId, LaneExtent, Made, scalar},
    flat::operands,
    lane::in_lane,
};
use crate::Error;

impl<'p> Lifter<'p> {
    /// How many segments offsets make in each lane: one less than there are of them.
    pub fn segments(&mut self, binding: &'p Binding, home: ContextId, offsets: &Value) -> Result<LaneExtent, Error> {
        // Where a result has one element a segment, its type says how many.
        let by_type = binding.results.iter().rev().find_map(|var| {
            let signature = fusebox_ir::operations::Signature::of(binding, &|id| Some(self.source_type(id).rank()));
            let at = binding.results.iter().position(|other| other.id == var.id)?;
            let after_row = signature.results.get(at)?.known == fusebox_ir::operations::Known::AfterRow;
            after_row.then(|| var.ty.extents.last().copied()).flatten()
        });
        if let Some(extent) = by_type {
            return Ok(self.lane_extent(extent));
        }
        let steps = self.steps(offsets.home, offsets.elements);
        let Some(&step) = steps.first() else { fusebox_ir::bug!(self.program, "offsets are a vector") };
        Ok(match self.context(step).made.clone() {
            Made::Ragged { .. } => {
                let mut code = Code::over(self, home);
                let lane = code.lane(offsets.home);
                let size = code.size(step, &lane);
                let less = code.binary(Binary::Sub, size, Code::constant(1), I64);
                let f = code.b.finish_needed(&[less]);
                let dims = self.dims(home);
                let op = ArrayOp::Generate { extents: operands(&dims), f };
                let array = self.flat.bind_out(op, &"segments".into(), Type::array(dims, I64));
                LaneExtent::Varying(Value { array, home, elements: home, ty: I64 })
            }
            Made::Uniform { extent: Extent::Constant(n) } => LaneExtent::Uniform(Extent::Constant(n - 1)),
            Made::Uniform { extent } => {
                let mut f = LambdaBuilder::new();
                let less = f.sub(scalar(extent), 1i64);
                let f = f.finish(&[less]);
                LaneExtent::Uniform(Extent::Value(self.flat.unit("segments", f)))
            }
            Made::Root | Made::Subset { .. } => fusebox_ir::bug!(self.program, "offsets are a vector"),
        })
    }

    /// Offsets of the segments of all lanes into the elements of all lanes, checked in each lane. `segments` are the lanes that segments are,
    /// made from the rows, which `elements` is made from too.
    pub fn segments_of_lanes(
        &mut self,
        offsets: &Value,
        elements: ContextId,
        segments: ContextId,
        name: &str,
    ) -> ArrayId {
        self.done.descriptors += 1;
        let rows = self.context(elements).parent;
        let count = self.count(segments);
        let more = self.one_more(count);
        let total = self.count(elements);
        let dims = self.dims(segments);
        let row_dims = self.dims(rows);
        let mut code = Code::new(self, segments);
        let position = code.b.param("", I64).operand;
        let end = code.binary(Binary::Lt, position, Code::extent(count), Bool);
        let begin = code.choose(
            end,
            I64,
            |code| {
                code.coords = code.unflattened(&dims, position);
                let row = code.lane(rows);
                let coords = code.coords.clone();
                let j = code.own_index(segments, &coords);
                let length = code.size(elements, &row);
                let number = code.size(segments, &row);
                let lane = code.climb(rows, &row, offsets.home);
                let this = widened(code, offsets, &lane, j);
                let after = code.binary(Binary::Add, j, Code::constant(1), I64);
                let next = widened(code, offsets, &lane, after);
                let rises = code.binary(Binary::Le, this, next, Bool);
                let is_first = code.binary(Binary::Ne, j, Code::constant(0), Bool);
                let zero = code.binary(Binary::Eq, this, Code::constant(0), Bool);
                let first = code.binary(Binary::Or, is_first, zero, Bool);
                let not_last = code.binary(Binary::Ne, after, number, Bool);
                let full = code.binary(Binary::Eq, next, length, Bool);
                let last = code.binary(Binary::Or, not_last, full, Bool);
                let both = code.binary(Binary::And, rises, first, Bool);
                let fine = code.binary(Binary::And, both, last, Bool);
                let message = in_lane(&format!("offsets of `{name}` do not rise from 0 to the extent"), &row);
                let this = code.assert(fine, message, this, I64);
                let begin = match code.lifter.context(elements).made.clone() {
                    Made::Ragged { offsets, .. } => {
                        let row = code.flattened(&row_dims, &row);
                        code.read(offsets, vec![row])
                    }
                    Made::Root | Made::Uniform { .. } | Made::Subset { .. } => {
                        let row = code.flattened(&row_dims, &row);
                        code.binary(Binary::Mul, row, length, I64)
                    }
                };
                code.binary(Binary::Add, begin, this, I64)
            },
            |_| Code::extent(total),
        );
        let f = code.b.finish_needed(&[begin]);
        let op = ArrayOp::Generate { extents: operands(&[more]), f };
        self.flat.bind_out(op, &"offsets".into(), Type::array(vec![more], I64))
    }
}

/// An offset, whatever integer type it has; beyond `i64` it is beyond any extent.
fn widened(code: &mut Code<'_, '_>, offsets: &Value, lane: &[ScalarOperand], at: ScalarOperand) -> ScalarOperand {
    let value = code.element_at(offsets, lane, &[at], &Outside::Never);
    if offsets.ty == I64 {
        return value;
    }
    code.op(fusebox_ir::ScalarOp::Convert { to: I64, a: value }, I64)
}
