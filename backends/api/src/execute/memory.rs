//! Which memory a value gets: new memory, that of another value, or memory shared with another value.

use fusebox_ir::{Constant, ElementType, Fault, Operand, Place, PlanOperand, Step, ValueId};

use smallvec::SmallVec;

use super::{
    buffers::BufferId,
    state::{Executor, Result, Value, failed},
};
use crate::{asked::Extents, machine::Machine};

impl<M: Machine> Executor<'_, M> {
    /// Makes the value of an `Allocate` step. It takes over the memory of `in_place_of` if it can, and gets new memory otherwise.
    pub(super) fn make(
        &mut self,
        id: ValueId,
        in_place_of: Option<ValueId>,
        operation: &str,
        place: &Place,
    ) -> Result<()> {
        let extents = self.extents_of(id, Some((operation, place)))?;
        let stored = match in_place_of.and_then(|source| self.taken_over(id, source, &extents)) {
            Some(buffer) => Value::array(buffer, self.element(id), extents),
            None if extents.is_empty() && self.machine.host_computes_scalars() => self.unwritten(self.element(id)),
            None => self.allocate(id, extents, operation, place)?,
        };
        self.set(id, stored);
        Ok(())
    }

    /// Makes an array whose elements the plan spells out.
    pub(super) fn written_out(&mut self, id: ValueId, data: &[Constant]) -> Result<()> {
        let extents = self.extents_of(id, None)?;
        let element = self.element(id);
        let buffer = self.machine.written_out(id, element, &extents, data)?;
        let buffer = self.made(buffer);
        self.set(id, Value::array(buffer, element, extents));
        Ok(())
    }

    /// The buffer of `source`, for `value` to be written over it, if nothing else uses that buffer and both values have as many bytes. Both
    /// have it until the launch that writes `value`.
    fn taken_over(&mut self, value: ValueId, source: ValueId, extents: &[i64]) -> Option<BufferId> {
        let stored = self.values.get(source.index())?.as_ref()?;
        let bytes = |element: ElementType, extents: &[i64]| {
            extents.iter().try_fold(element.bytes() as i64, |size, &extent| size.checked_mul(extent))
        };
        let wanted = bytes(self.element(value), extents)?;
        let same = bytes(stored.element, &stored.extents) == Some(wanted);
        let buffer = stored.buffer.filter(|&buffer| same && !self.buffers.is_shared(buffer))?;
        self.buffers.share(buffer);
        Some(buffer)
    }

    pub(super) fn allocate(&mut self, id: ValueId, extents: Extents, operation: &str, place: &Place) -> Result<Value> {
        let sizes: Option<SmallVec<[usize; 4]>> = extents.iter().map(|&extent| usize::try_from(extent).ok()).collect();
        let element = self.element(id);
        let allocated = match sizes {
            Some(sizes) => self.machine.allocate(self.name(id), element, &sizes)?,
            None => None,
        };
        match allocated {
            Some(buffer) => Ok(Value::array(self.made(buffer), element, extents)),
            None => Err(failed(
                operation,
                place,
                Fault::TooLarge { array: self.name(id).to_owned(), extents: extents.into_vec() },
            )),
        }
    }

    /// Gives a value another name, perhaps with other extents of the same product.
    pub(super) fn alias(&mut self, id: ValueId, source: PlanOperand, operation: &str, place: &Place) -> Result<()> {
        if let Operand::Value(source) = source {
            self.value(source)?;
        }
        let extents = self.extents_of(id, Some((operation, place)))?;
        let mut stored = match source {
            Operand::Constant(constant) => self.number(constant),
            Operand::Value(source) => self.again(source)?,
        };
        let (size, source_size) = (extents.iter().product::<i64>(), stored.extents.iter().product::<i64>());
        if size != source_size {
            let right = match source {
                Operand::Constant(constant) => constant.to_string(),
                Operand::Value(source) => self.name(source).to_owned(),
            };
            let left = self.name(id).to_owned();
            let fault = Fault::Sizes { left, left_extent: size, right, right_extent: source_size };
            return Err(failed(operation, place, fault));
        }
        stored.extents = extents;
        self.set(id, stored);
        Ok(())
    }

    /// Gives the first elements of a value another name, in the same memory.
    pub(super) fn truncate(&mut self, id: ValueId, source: ValueId) -> Result<()> {
        let extents = self.extents_of(id, None)?;
        let available = &self.value(source)?.extents;
        let within = available
            .iter()
            .try_fold(1i64, |all, &extent| all.checked_mul(extent))
            .is_none_or(|all| extents.len() == 1 && extents[0] <= all);
        if !within {
            return Err(self.bad_plan(format!("`{}` is longer than what it is cut from", self.name(id))));
        }
        let mut stored = self.again(source)?;
        stored.extents = extents;
        self.set(id, stored);
        Ok(())
    }

    /// Copies a value, or takes it over if it is freed before anything else uses it.
    pub(super) fn copy(&mut self, id: ValueId, source: ValueId, rest: &[Step]) -> Result<()> {
        let wanted = self.extents_of(id, None)?;
        let stored = self.value(source)?;
        let by_host = self.machine.host_computes_scalars() && wanted.is_empty();
        if let (Some(constant), true) = (stored.known(), by_host) {
            let number = self.number(constant);
            self.set(id, number);
            return Ok(());
        }
        let from = self.bring(source)?;
        let stored = self.value(source)?;
        if wanted != stored.extents {
            return Err(self.bad_plan(format!("`{}` is not of the extents of what it copies", self.name(id))));
        }
        if Step::free_unused(source, rest, &self.plan.values) && !self.buffers.is_shared(from) {
            if let Some(stored) = self.values[source.index()].take() {
                self.set(id, stored);
            }
            return Ok(());
        }
        let (element, extents) = (stored.element, stored.extents.clone());
        let count = extents.iter().product::<i64>() as usize;
        let new = self.allocate(id, extents, "copy", &Place::default())?;
        if let Some((to, mut buffer)) = new.buffer.and_then(|to| Some((to, self.buffers.take(to)?))) {
            let copied = self.machine.copy((self.buffer(from)?, &mut buffer), element, count, 0);
            self.buffers.put(to, buffer);
            copied?;
        }
        self.set(id, new);
        Ok(())
    }
}
