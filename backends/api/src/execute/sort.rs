//! Sorts, the one step that the machine does without a kernel.

use std::sync::Arc;

use fusebox_ir::ValueId;

use super::state::{Executor, Result};
use crate::{
    BackendError,
    machine::{Machine, Sort},
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
        let mut taken = Vec::new();
        for &id in results {
            if self.value(id)?.extents != extents {
                let name = self.name(id);
                return Err(self.bad_plan(format!("`{name}` is not of the extents of what is sorted into it")));
            }
            taken.push((id, self.values[id.index()].take()));
        }
        let result =
            (|| {
                let sources = |ids: &[ValueId]| {
                    ids.iter()
                        .map(|&id| {
                            let stored = self.value(id)?;
                            if stored.extents != extents {
                                return Err(self.bad_plan(format!(
                                    "`{}` is sorted along with arrays of other extents",
                                    self.name(id)
                                )));
                            }
                            Ok((stored.element, &*stored.buffer))
                        })
                        .collect::<Result<Vec<_>>>()
                };
                let (keys, carry) = (sources(keys)?, sources(carry)?);
                let name = results.first().map_or("?", |&id| self.name(id));
                let mut buffers = Vec::new();
                for (id, stored) in &mut taken {
                    let buffer = stored.as_mut().and_then(|stored| Arc::get_mut(&mut stored.buffer));
                    buffers.push(buffer.ok_or_else(|| BackendError::BadPlan {
                        message: format!("sorted {id} has another name too"),
                    })?);
                }
                self.machine.sort(Sort { name, keys, carry, results: buffers, rows, length: length as usize })
            })();
        for (id, stored) in taken {
            self.values[id.index()] = stored;
        }
        result
    }
}
