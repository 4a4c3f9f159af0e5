//! Operands of statements as values of the vector IR.

use fusebox_ir::{ElementType, KernelExtent, LocalId, ScalarOperand};

use super::{Emitter, Result, Val};
use crate::vector::Value;

impl Emitter<'_> {
    pub(super) fn operand(&mut self, operand: ScalarOperand) -> Result<Val> {
        match operand {
            ScalarOperand::Local(id) => self.local(id),
            ScalarOperand::Constant(constant) => Ok(Val::Uniform(self.b.constant(constant))),
            ScalarOperand::Outer(id) => {
                Err(self.broken(&format!("{id} is a scalar from outside, and in kernels scalars are loaded")))
            }
        }
    }

    pub(super) fn local(&self, id: LocalId) -> Result<Val> {
        self.locals.get(&id).copied().ok_or_else(|| self.broken(&format!("local {id} is used before it is made")))
    }

    /// The value as it is: of one lane if uniform, else of all.
    pub(super) fn plain(&mut self, value: Val) -> Value {
        match value {
            Val::Uniform(value) | Val::Gang(value) => value,
            Val::Linear(base, stride) => {
                let lanes = self.lanes;
                let iota = self.b.iota(ElementType::I64, lanes);
                let steps = self.b.mul(iota, stride);
                self.b.add(steps, base)
            }
        }
    }

    /// The value in all lanes.
    pub(super) fn gang(&mut self, value: Val) -> Value {
        let value = self.plain(value);
        self.b.splat(value, self.lanes)
    }

    /// As a [`Val`], by the number of lanes.
    pub(super) fn val(&self, value: Value) -> Val {
        if self.b.lanes(value) == 1 { Val::Uniform(value) } else { Val::Gang(value) }
    }

    pub(super) fn extent(&mut self, extent: KernelExtent) -> Result<Value> {
        match extent {
            KernelExtent::Constant(extent) => Ok(self.b.int(extent)),
            KernelExtent::Size(id) => {
                let size = self.local(id)?;
                Ok(self.plain(size))
            }
        }
    }

    /// The address of something in scratch memory.
    pub(super) fn scratch_at(&mut self, offset: i64) -> Value {
        let base = self.scratch;
        self.b.add_int(base, offset)
    }
}
