//! Stores of values at the positions of a gang.

use fusebox_ir::{Constant, ElementType, IndexMap, KernelArrayId, Place, ScalarOperand};

use super::{Emitter, Result, Val};
use crate::vector::Value;

impl Emitter<'_> {
    /// A store.
    pub(super) fn store(
        &mut self,
        array: KernelArrayId,
        map: &IndexMap,
        value: ScalarOperand,
        when: Option<Value>,
    ) -> Result {
        let index = map.dims.iter().map(|dim| self.dim_index(dim)).collect::<Result<Vec<_>>>()?;
        let mask = self.b.both(when, self.mask);
        if map.checked {
            let outer = std::mem::replace(&mut self.mask, mask);
            self.check_index(array, &index, &map.dims, &Place::default())?;
            self.mask = outer;
        }
        let position = self.position(array, &index)?;
        let value = self.operand(value)?;
        let base = self.arrays[array.index()];
        if let (true, None, Val::Linear(index, _)) = (self.streaming.contains(&array), mask, position) {
            let value = self.gang(value);
            self.b.store_streaming(base, index, value);
        } else {
            self.store_at(base, position, value, mask);
        }
        Ok(())
    }

    /// Stores lane 0 at a position, and the others below it.
    fn store_backwards(&mut self, base: Value, index: Value, value: Value) {
        let lanes = self.b.lanes(value);
        if self.b.ty(value).element == ElementType::Bool || lanes == 1 {
            let stride = self.b.int(-1);
            let index = self.gang(Val::Linear(index, stride));
            return self.b.store(base, index, value, None);
        }
        let last = self.b.int(1 - i64::from(lanes));
        let first = self.b.add(index, last);
        let reversed = self.b.reverse(value);
        self.b.store(base, first, reversed, None);
    }

    /// Stores a value at a position, in the lanes of `mask`.
    pub(super) fn store_at(&mut self, base: Value, position: Val, value: Val, mask: Option<Value>) {
        match position {
            Val::Linear(index, stride) if self.b.constant_of(stride).and_then(Constant::as_i64) == Some(1) => {
                let value = self.gang(value);
                self.b.store(base, index, value, mask);
            }
            Val::Linear(index, stride)
                if mask.is_none() && self.b.constant_of(stride).and_then(Constant::as_i64) == Some(-1) =>
            {
                let value = self.gang(value);
                self.store_backwards(base, index, value);
            }
            // Under a mask of lanes it is the last one of which the mask holds, as if one came after the other.
            Val::Uniform(index) if mask.is_none_or(|mask| self.b.lanes(mask) == 1) => {
                let value = self.plain(value);
                let value = self.b.extract(value, 0);
                self.b.store(base, index, value, mask);
            }
            other => {
                let index = self.gang(other);
                let value = self.gang(value);
                self.b.store(base, index, value, mask);
            }
        }
    }
}
