//! Launches of kernels.

use std::sync::Arc;

use fusebox_ir::{Access, Action, Fault, Kernel, KernelExtent, MAX_EXTENT, Place, PlanExtent, ValueId};

use super::state::{Executor, Result, Stored, failed};
use crate::{
    BackendError,
    machine::{Few, Launch, LaunchArray, Machine},
};

impl<M: Machine> Executor<'_, M> {
    /// Runs a kernel once its arrays and sizes are known to be those that it declares.
    pub(super) fn launch(&mut self, kernel: usize, sizes: &[PlanExtent], arrays: &[ValueId]) -> Result<()> {
        let declared =
            self.plan.kernels.get(kernel).ok_or_else(|| self.bad_plan(format!("there is no kernel {kernel}")))?;
        if sizes.len() != declared.sizes.len() || arrays.len() != declared.arrays.len() {
            return Err(self.bad_plan(format!(
                "a launch of kernel `{}` gives other sizes or arrays than it has",
                declared.name.0
            )));
        }
        let sizes = sizes.iter().map(|&size| self.extent(size)).collect::<Result<Few<i64>>>()?;
        if let Some(&size) = sizes.iter().find(|&&size| size > MAX_EXTENT) {
            let fault = Fault::TooLarge { array: written_name(declared).to_owned(), extents: vec![size] };
            return Err(failed(&declared.name.0, &Place::default(), fault));
        }
        self.check_extents(kernel, &sizes, arrays)?;
        // Written values are taken out, so that nothing else can see them meanwhile.
        let mut written: Few<Option<Stored<M::Buffer>>> = Few::new();
        for (&id, array) in arrays.iter().zip(&declared.arrays) {
            if array.access == Access::Read {
                written.push(None);
                continue;
            }
            self.value(id)?;
            written.push(self.values[id.index()].take());
        }
        // What is in the memory of something that is written lives on in that alone.
        let mut in_place: Few<Option<usize>> = Few::from_elem(None, arrays.len());
        for (position, (stored, array)) in written.iter().zip(&declared.arrays).enumerate() {
            let Some((stored, source)) = stored.as_ref().zip(array.in_place_of) else { continue };
            let Some(&id) = arrays.get(source.index()) else { continue };
            if self.value(id).is_ok_and(|source| Arc::ptr_eq(&source.buffer, &stored.buffer)) {
                in_place[source.index()] = Some(position);
                self.values[id.index()] = None;
            }
        }
        let result = self.launch_with(kernel, &sizes, arrays, &mut written, &in_place);
        for (&id, stored) in arrays.iter().zip(written) {
            if let Some(stored) = stored {
                self.values[id.index()] = Some(stored);
            }
        }
        result
    }

    /// Checks that the arrays have the extents that the kernel declares.
    fn check_extents(&self, kernel: usize, sizes: &[i64], arrays: &[ValueId]) -> Result<()> {
        let declared = &self.plan.kernels[kernel];
        for (&id, array) in arrays.iter().zip(&declared.arrays) {
            let stored = self.value(id)?;
            let expected = |extent: &KernelExtent| match extent {
                KernelExtent::Constant(extent) => Some(*extent),
                KernelExtent::Size(id) => {
                    let position = declared.sizes.iter().position(|size| size.id == *id);
                    position.and_then(|position| sizes.get(position).copied())
                }
            };
            let same = stored.element == array.element
                && array.extents.len() == stored.extents.len()
                && array.extents.iter().zip(&stored.extents).all(|(extent, given)| expected(extent) == Some(*given));
            if !same {
                let expected: Vec<Option<i64>> = array.extents.iter().map(expected).collect();
                let message = format!(
                    "kernel `{}` counts on {}{:?} of `{}`, which is {}{:?}",
                    declared.name.0, array.element, expected, array.name, stored.element, stored.extents
                );
                return Err(self.bad_plan(message));
            }
        }
        // One index is for all targets of a scatter: sizes that are equal may have several names.
        for statement in &declared.statements {
            let Action::Scatter { arrays: targets, .. } = &statement.action else { continue };
            let mut targets = targets.iter().filter_map(|target| arrays.get(target.index()));
            let Some(&first) = targets.next() else { continue };
            for &other in targets {
                if self.value(other)?.extents != self.value(first)?.extents {
                    let (first, other) = (self.name(first), self.name(other));
                    return Err(
                        self.bad_plan(format!("`{first}` and `{other}` of one scatter are of different extents"))
                    );
                }
            }
        }
        Ok(())
    }

    fn launch_with(
        &self,
        kernel: usize,
        sizes: &[i64],
        arrays: &[ValueId],
        written: &mut [Option<Stored<M::Buffer>>],
        in_place: &[Option<usize>],
    ) -> Result<()> {
        let declared = &self.plan.kernels[kernel];
        let mut given = Few::new();
        for ((&id, stored), in_place) in arrays.iter().zip(written.iter_mut()).zip(in_place) {
            match stored {
                None if let Some(position) = *in_place => given.push(LaunchArray::InPlace(position)),
                Some(stored) => {
                    let shared = || BackendError::BadPlan {
                        message: format!(
                            "kernel `{}` writes `{}`, which has another name too",
                            declared.name.0,
                            self.name(id)
                        ),
                    };
                    given.push(LaunchArray::Write(Arc::get_mut(&mut stored.buffer).ok_or_else(shared)?));
                }
                None => given.push(LaunchArray::Read(&self.value(id)?.buffer)),
            }
        }
        self.machine.launch(Launch { kernel, sizes, arrays: given })
    }
}

/// The name of an array that a kernel writes. Errors about a size of the kernel say it, since the size is most likely an extent of that array.
fn written_name(kernel: &Kernel) -> &str {
    kernel.arrays.iter().find(|array| array.access != Access::Read).map_or("?", |array| &array.name)
}
