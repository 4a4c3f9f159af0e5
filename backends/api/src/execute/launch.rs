//! Launches of kernels.

use fusebox_ir::{
    Access, Action, ElementType, Fault, Kernel, KernelArray, KernelArrayId, KernelExtent, MAX_EXTENT, Place,
    PlanExtent, ValueId,
};

use super::{
    buffers::BufferId,
    on_host,
    state::{Executor, Result, failed},
};
use crate::{
    BackendError,
    asked::{Few, Launch, LaunchArray},
    machine::Machine,
    profile::timed,
};

/// A launch whose arrays and sizes are those that its kernel declares.
pub(super) struct Ready<B> {
    kernel: usize,
    sizes: Few<i64>,
    ids: Few<BufferId>,
    /// For each array the buffer, if the kernel writes it.
    written: Few<Option<B>>,
    /// For each array the position of the one that is written over it, if there is one.
    in_place: Few<Option<usize>>,
}

impl<B> Ready<B> {
    /// Of nothing yet.
    pub(super) fn new() -> Self {
        Self { kernel: 0, sizes: Few::new(), ids: Few::new(), written: Few::new(), in_place: Few::new() }
    }

    /// The launch, which borrows what it reads from the buffers.
    pub(super) fn launch<'a, M: Machine<Buffer = B>>(
        &'a mut self,
        executor: &'a Executor<'_, M>,
    ) -> Result<Launch<'a, B>> {
        let mut arrays = Few::new();
        for ((&id, written), in_place) in self.ids.iter().zip(&mut self.written).zip(&self.in_place) {
            arrays.push(match (written, *in_place) {
                (Some(buffer), _) => LaunchArray::Write(buffer),
                (None, Some(position)) => LaunchArray::InPlace(position),
                (None, None) => LaunchArray::Read(executor.buffer(id)?),
            });
        }
        Ok(Launch { kernel: self.kernel, sizes: &self.sizes, arrays })
    }
}

impl<M: Machine> Executor<'_, M> {
    /// Runs a kernel once its arrays and sizes are known to be those that it declares.
    pub(super) fn launch(&mut self, kernel: usize, sizes: &[PlanExtent], arrays: &[ValueId]) -> Result<()> {
        let mut ready = Ready::new();
        let launched = match self.make_ready(&mut ready, kernel, sizes, arrays) {
            Ok(true) => ready.launch(self).and_then(|launch| self.timed(launch)),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        self.give_back(&mut ready);
        launched
    }

    /// Checks the arrays and sizes of a launch, and takes what it writes out of the buffers, to be given back also if it fails; whether there
    /// is something left to launch: else the host has computed the kernel.
    pub(super) fn make_ready(
        &mut self,
        ready: &mut Ready<M::Buffer>,
        kernel: usize,
        sizes: &[PlanExtent],
        arrays: &[ValueId],
    ) -> Result<bool> {
        let declared =
            self.plan.kernels.get(kernel).ok_or_else(|| self.bad_plan(format!("there is no kernel {kernel}")))?;
        if sizes.len() != declared.sizes.len() || arrays.len() != declared.arrays.len() {
            return Err(self.bad_plan(format!(
                "a launch of kernel `{}` gives other sizes or arrays than it has",
                declared.name.0
            )));
        }
        ready.kernel = kernel;
        ready.sizes = self.sizes_of(declared, sizes)?;
        self.check_extents(kernel, &ready.sizes, arrays)?;
        if self.computed(declared, &ready.sizes, arrays)? {
            return Ok(false);
        }
        for &id in arrays {
            ready.ids.push(self.bring(id)?);
        }
        // What is in the memory of something that is written lives on in that alone.
        ready.in_place.resize(arrays.len(), None);
        for (position, array) in declared.arrays.iter().enumerate() {
            let Some(source) = array.in_place_of.filter(|_| array.access != Access::Read) else { continue };
            let Some(&id) = arrays.get(source.index()).filter(|&&id| id != arrays[position]) else { continue };
            if self.value(id).is_ok_and(|value| value.buffer == Some(ready.ids[position])) {
                ready.in_place[source.index()] = Some(position);
                self.free(id);
            }
        }
        // Written buffers are taken out, so that nothing else can see them meanwhile.
        for (position, (&id, array)) in arrays.iter().zip(&declared.arrays).enumerate() {
            if array.access == Access::Read {
                ready.written.push(None);
                continue;
            }
            let buffer = ready.ids[position];
            let own = if self.buffers.is_shared(buffer) { None } else { self.buffers.take(buffer) };
            if own.is_none() {
                let (kernel, name) = (&declared.name.0, self.name(id));
                return Err(self.bad_plan(format!("kernel `{kernel}` writes `{name}`, which has another name too")));
            }
            ready.written.push(own);
            if let Ok(value) = self.value(id) {
                value.is_written();
            }
        }
        Ok(true)
    }

    /// Puts what a launch has written back among the buffers.
    pub(super) fn give_back(&mut self, ready: &mut Ready<M::Buffer>) {
        for (&id, buffer) in ready.ids.iter().zip(ready.written.drain(..)) {
            if let Some(buffer) = buffer {
                self.buffers.put(id, buffer);
            }
        }
    }

    fn timed(&self, launch: Launch<'_, M::Buffer>) -> Result<()> {
        timed(launch.kernel, launch.sizes, || self.machine.launch(launch))
    }

    /// The sizes of a launch.
    pub(super) fn sizes_of(&self, declared: &Kernel, sizes: &[PlanExtent]) -> Result<Few<i64>> {
        let mut all: Few<i64> = Few::new();
        for &size in sizes {
            all.push(self.extent(size)?);
        }
        let sizes = all;
        if let Some(&size) = sizes.iter().find(|&&size| size > MAX_EXTENT) {
            let fault = Fault::TooLarge { array: written_name(declared).to_owned(), extents: vec![size] };
            return Err(failed(&declared.name.0, &Place::default(), fault));
        }
        Ok(sizes)
    }

    /// Computes a kernel of scalars here, if the host knows them all; whether it did.
    fn computed(&mut self, kernel: &Kernel, sizes: &[i64], arrays: &[ValueId]) -> Result<bool> {
        let most = self.machine.instructions_on_host();
        if !on_host::may_compute(kernel, most) {
            return Ok(false);
        }
        let known = |array: KernelArrayId| self.value(*arrays.get(array.index())?).ok()?.known();
        let written = match on_host::computed(kernel, sizes, known, most) {
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
}

/// The name of an array that a kernel writes. Errors about a size of the kernel say it, since the size is most likely an extent of that array.
fn written_name(kernel: &Kernel) -> &str {
    kernel.arrays.iter().find(|array| array.access != Access::Read).map_or("?", |array| &array.name)
}
