//! Launches of kernels.

use fusebox_ir::{
    Access, Action, ElementType, Fault, Kernel, KernelArray, KernelArrayId, KernelExtent, MAX_EXTENT, Place,
    PlanExtent, ValueId,
};

use super::{
    buffers::BufferId,
    on_host,
    state::{Executor, Result, Value, failed},
};
use crate::{
    BackendError,
    machine::{Few, Launch, LaunchArray, Machine},
    profile::timed,
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
        let sizes = self.sizes_of(declared, sizes)?;
        self.check_extents(kernel, &sizes, arrays)?;
        if self.computed(declared, &sizes, arrays)? {
            return Ok(());
        }
        let ids = arrays.iter().map(|&id| self.bring(id)).collect::<Result<Few<BufferId>>>()?;
        // What is in the memory of something that is written lives on in that alone.
        let mut in_place: Few<Option<usize>> = Few::from_elem(None, arrays.len());
        for (position, array) in declared.arrays.iter().enumerate() {
            let Some(source) = array.in_place_of.filter(|_| array.access != Access::Read) else { continue };
            let Some(&id) = arrays.get(source.index()).filter(|&&id| id != arrays[position]) else { continue };
            if self.value(id).is_ok_and(|value| value.buffer == Some(ids[position])) {
                in_place[source.index()] = Some(position);
                self.free(id);
            }
        }
        // Written buffers are taken out, so that nothing else can see them meanwhile.
        let mut written: Few<Option<M::Buffer>> = Few::new();
        let mut taken = Ok(());
        for ((&id, &buffer), array) in arrays.iter().zip(&ids).zip(&declared.arrays) {
            if array.access == Access::Read {
                written.push(None);
                continue;
            }
            let own = if self.buffers.is_shared(buffer) { None } else { self.buffers.take(buffer) };
            if own.is_none() {
                let (kernel, name) = (&declared.name.0, self.name(id));
                taken = Err(self.bad_plan(format!("kernel `{kernel}` writes `{name}`, which has another name too")));
            }
            self.value(id).map(Value::is_written)?;
            written.push(own);
        }
        let result = taken.and_then(|()| self.launch_with(kernel, &sizes, &ids, &mut written, &in_place));
        for (&id, buffer) in ids.iter().zip(written) {
            if let Some(buffer) = buffer {
                self.buffers.put(id, buffer);
            }
        }
        result
    }

    /// The sizes of a launch.
    pub(super) fn sizes_of(&self, declared: &Kernel, sizes: &[PlanExtent]) -> Result<Few<i64>> {
        let sizes = sizes.iter().map(|&size| self.extent(size)).collect::<Result<Few<i64>>>()?;
        if let Some(&size) = sizes.iter().find(|&&size| size > MAX_EXTENT) {
            let fault = Fault::TooLarge { array: written_name(declared).to_owned(), extents: vec![size] };
            return Err(failed(&declared.name.0, &Place::default(), fault));
        }
        Ok(sizes)
    }

    /// Computes a kernel of scalars here, if the host knows them all; whether it did.
    fn computed(&mut self, kernel: &Kernel, sizes: &[i64], arrays: &[ValueId]) -> Result<bool> {
        if !self.machine.host_computes_scalars() || !on_host::may_compute(kernel) {
            return Ok(false);
        }
        let known = |array: KernelArrayId| self.value(*arrays.get(array.index())?).ok()?.known();
        let written = match on_host::computed(kernel, sizes, known) {
            Ok(written) => written,
            Err(on_host::Stop::NotHere) => return Ok(false),
            Err(on_host::Stop::Failed(error)) => return Err(BackendError::Run(*error)),
        };
        let writes = kernel.arrays.iter().filter(|array| array.access != Access::Read).count();
        if written.len() != writes {
            return Ok(false);
        }
        for (array, constant) in written {
            let id = arrays[array.index()];
            self.free(id);
            let value = self.number(constant);
            self.set(id, value);
        }
        Ok(true)
    }

    /// Checks that the arrays have the extents that the kernel declares.
    fn check_extents(&self, kernel: usize, sizes: &[i64], arrays: &[ValueId]) -> Result<()> {
        let declared = &self.plan.kernels[kernel];
        for (&id, array) in arrays.iter().zip(&declared.arrays) {
            let stored = self.value(id)?;
            self.check_array(declared, sizes, array, (stored.element, &stored.extents))?;
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

    /// Checks that an array has the element type and the extents that a kernel declares.
    pub(super) fn check_array(
        &self,
        declared: &Kernel,
        sizes: &[i64],
        array: &KernelArray,
        (element, extents): (ElementType, &[i64]),
    ) -> Result<()> {
        let expected = |extent: &KernelExtent| match extent {
            KernelExtent::Constant(extent) => Some(*extent),
            KernelExtent::Size(id) => {
                let position = declared.sizes.iter().position(|size| size.id == *id);
                position.and_then(|position| sizes.get(position).copied())
            }
        };
        let same = element == array.element
            && array.extents.len() == extents.len()
            && array.extents.iter().zip(extents).all(|(extent, given)| expected(extent) == Some(*given));
        if same {
            return Ok(());
        }
        let expected: Vec<Option<i64>> = array.extents.iter().map(expected).collect();
        Err(self.bad_plan(format!(
            "kernel `{}` counts on {}{:?} of `{}`, which is {element}{extents:?}",
            declared.name.0, array.element, expected, array.name
        )))
    }

    fn launch_with(
        &self,
        kernel: usize,
        sizes: &[i64],
        ids: &[BufferId],
        written: &mut [Option<M::Buffer>],
        in_place: &[Option<usize>],
    ) -> Result<()> {
        let mut arrays = Few::new();
        for ((&id, written), in_place) in ids.iter().zip(written).zip(in_place) {
            arrays.push(match (written, *in_place) {
                (Some(buffer), _) => LaunchArray::Write(buffer),
                (None, Some(position)) => LaunchArray::InPlace(position),
                (None, None) => LaunchArray::Read(self.buffer(id)?),
            });
        }
        timed(kernel, sizes, || self.machine.launch(Launch { kernel, sizes, arrays }))
    }
}

/// The name of an array that a kernel writes. Errors about a size of the kernel say it, since the size is most likely an extent of that array.
fn written_name(kernel: &Kernel) -> &str {
    kernel.arrays.iter().find(|array| array.access != Access::Read).map_or("?", |array| &array.name)
}
