//! Sorts, the one step that the machine does without a kernel.

use fusebox_ir::{ElementType, ValueId};

use super::{
    buffers::BufferId,
    state::{Executor, Result, Value},
};
use crate::{
    asked::{Few, Sort},
    machine::Machine,
};

impl<M: Machine> Executor<'_, M> {
    /// Sorts the rows of arrays into others.
    pub(super) fn sort(&mut self, keys: &[ValueId], carry: &[ValueId], results: &[ValueId]) -> Result<()> {
        let Some(&first) = keys.first() else { return Err(self.bad_plan("a sort without keys".to_owned())) };
        let extents = self.value(first)?.extents.clone();
        let Some((&length, outer)) = extents.split_last() else {
            return Err(self.bad_plan("a sort of scalars".to_owned()));
        };
        let rows = outer.iter().product::<i64>() as usize;
        let mut sources: Few<(ElementType, BufferId)> = Few::new();
        for &id in keys.iter().chain(carry) {
            let buffer = self.bring(id)?;
            let value = self.value(id)?;
            if value.extents != extents {
                let name = self.name(id);
                return Err(self.bad_plan(format!("`{name}` is sorted along with arrays of other extents")));
            }
            sources.push((value.element, buffer));
        }
        let mut targets: Few<BufferId> = Few::new();
        for &id in results {
            let buffer = self.bring(id)?;
            if self.value(id)?.extents != extents {
                let name = self.name(id);
                return Err(self.bad_plan(format!("`{name}` is not of the extents of what is sorted into it")));
            }
            if self.buffers.is_shared(buffer) || targets.contains(&buffer) {
                return Err(self.bad_plan(format!("sorted `{}` has another name too", self.name(id))));
            }
            targets.push(buffer);
        }
        results.iter().try_for_each(|&id| self.value(id).map(Value::is_written))?;
        let mut taken: Few<Option<M::Buffer>> = targets.iter().map(|&id| self.buffers.take(id)).collect();
        let sorted = self.sort_with((&sources, keys.len()), &mut taken, (results, rows, length as usize));
        for (&id, buffer) in targets.iter().zip(taken) {
            if let Some(buffer) = buffer {
                self.buffers.put(id, buffer);
            }
        }
        sorted
    }

    /// The first so many sources are keys.
    fn sort_with(
        &self,
        (sources, keys): (&[(ElementType, BufferId)], usize),
        taken: &mut [Option<M::Buffer>],
        (results, rows, length): (&[ValueId], usize, usize),
    ) -> Result<()> {
        let source = |&(element, id): &(ElementType, BufferId)| Ok((element, self.buffer(id)?));
        let mut keys_and_carry = sources.iter().map(source).collect::<Result<Vec<_>>>()?;
        let carry = keys_and_carry.split_off(keys);
        let name = results.first().map_or("?", |&id| self.name(id));
        let results = taken.iter_mut().flatten().collect();
        self.machine.sort(Sort { name, keys: keys_and_carry, carry, results, rows, length })
    }
}
