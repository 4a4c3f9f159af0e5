//! Launches of a kernel's entries, in order; what failed is read when they are done.

use std::sync::Arc;

use fusebox_backend::{
    BackendError, Launch, LaunchArray,
    device_memory::{Access, Pins, ResidentArray},
};
use fusebox_ir::{Kernel, KernelArrayId, analysis::kernels::idle_without};

use crate::{
    core::memory_error,
    device::{Device, DeviceError, DeviceLaunch, device_error},
    failure,
    generate::{elements, steps},
    gpu::{Buffer, Gpu},
    module::{Argument, Entry, Module},
};

/// Most blocks of a grid; those that have done a piece go on to another.
const MOST_BLOCKS: i64 = 1 << 20;

/// What the arguments of entries stand for.
struct Places<'a> {
    sizes: &'a [i64],
    arrays: &'a [u64],
    scratch: &'a [u64],
    error: u64,
    steps: u64,
}

/// Runs a kernel.
pub(crate) fn run<D: Device>(gpu: &Gpu<'_, D>, mut launch: Launch<'_, Buffer<D>>) -> Result<(), BackendError> {
    let (Some(kernel), Some(compiled), Some(loaded)) =
        (gpu.plan.kernels.get(launch.kernel), gpu.kernels.get(launch.kernel), gpu.loaded.get(launch.kernel))
    else {
        return Err(BackendError::BadPlan { message: format!("there is no kernel {}", launch.kernel) });
    };
    if idle_without(kernel, 0).into_iter().any(|level| steps(kernel, launch.sizes, level) == Some(0)) {
        return Ok(());
    }
    let (module, loaded) = loaded.of((kernel, compiled), gpu.device(), launch.sizes, gpu.wide_from)?;
    for (array, declared) in launch.arrays.iter_mut().zip(&kernel.arrays) {
        if let LaunchArray::Write(buffer) = array {
            gpu.make_own(buffer, &declared.name)?;
        }
    }
    let arrays = Arrays::of(gpu, kernel, module, &launch)?;
    let failed = |error| memory_error(&kernel.name.0, error);
    let (slot, counts) = {
        let mut workspace = gpu.workspace.borrow_mut();
        let slot = workspace.slot(&gpu.core.memory, failure::slot_bytes(&module.sites)).map_err(failed)?;
        (slot, workspace.counts(&gpu.core.memory, module.counted).map_err(failed)?)
    };
    let one = Launched { gpu, kernel, module, loaded: &loaded, sizes: launch.sizes, arrays, slot, counts };
    let numbers: Vec<i64> = match &module.count {
        Some(entry) => one.counted(entry)?,
        None => (0..kernel.levels.len()).map_while(|level| steps(kernel, launch.sizes, level)).collect(),
    };
    one.carried_out(&numbers)
}

/// The arrays of a launch.
struct Arrays<D: Device> {
    /// Those that are in memory of their own, with what is done to them.
    held: Vec<(Arc<ResidentArray<D>>, Access)>,
    /// For each array of the kernel, where among these it is.
    positions: Vec<usize>,
    /// Copies to make before: from, to, bytes.
    copies: Vec<(usize, usize, u64)>,
}

impl<D: Device> Arrays<D> {
    fn of(
        gpu: &Gpu<'_, D>,
        kernel: &Kernel,
        module: &Module,
        launch: &Launch<'_, Buffer<D>>,
    ) -> Result<Self, BackendError> {
        let mut arrays = Self { held: Vec::new(), positions: Vec::new(), copies: Vec::new() };
        for array in &launch.arrays {
            match array {
                LaunchArray::Read(buffer) => arrays.held.push((buffer.array.clone(), Access::Read)),
                LaunchArray::Write(buffer) => arrays.held.push((buffer.array.clone(), Access::Write)),
                // What it is in place of stands for it.
                LaunchArray::InPlace(_) => {
                    arrays.positions.push(usize::MAX);
                    continue;
                }
            }
            arrays.positions.push(arrays.held.len() - 1);
        }
        for (position, array) in launch.arrays.iter().enumerate() {
            let LaunchArray::InPlace(other) = array else { continue };
            let Some(LaunchArray::Write(_)) = launch.arrays.get(*other) else {
                return Err(BackendError::BadPlan { message: "in place of what is not written".to_owned() });
            };
            let written = arrays.positions[*other];
            let id = KernelArrayId::at(position);
            if !module.copied.contains(&id) {
                arrays.positions[position] = written;
                continue;
            }
            let declared = &kernel.arrays[position];
            let bytes = elements(kernel, launch.sizes, id) as u64 * declared.element.bytes() as u64;
            let copy = gpu.needed(bytes, &declared.name)?;
            arrays.held.push((copy.array, Access::Write));
            arrays.positions[position] = arrays.held.len() - 1;
            arrays.copies.push((written, arrays.held.len() - 1, bytes));
        }
        Ok(arrays)
    }

    /// The address of each array of the kernel.
    fn addresses(&self, pins: &Pins<D>) -> Vec<u64> {
        self.positions.iter().map(|&at| pins.address(at)).collect()
    }
}

/// A launch on its way.
struct Launched<'a, 'g, D: Device> {
    gpu: &'a Gpu<'g, D>,
    kernel: &'a Kernel,
    module: &'a Module,
    loaded: &'a D::Module,
    sizes: &'a [i64],
    arrays: Arrays<D>,
    slot: Arc<ResidentArray<D>>,
    counts: Arc<ResidentArray<D>>,
}

impl<D: Device> Launched<'_, '_, D> {
    fn said<T>(&self, result: Result<T, DeviceError>) -> Result<T, BackendError> {
        result.map_err(|error| device_error(&self.kernel.name.0, &error))
    }

    /// All arrays, the error slot, the numbers of steps: in this order.
    fn pinned<'p>(&'p self, more: &'p [Arc<ResidentArray<D>>]) -> Vec<(&'p ResidentArray<D>, Access)> {
        let arrays = self.arrays.held.iter().map(|(array, access)| (&**array, *access));
        let own = [&self.slot, &self.counts].into_iter().chain(more).map(|array| (&**array, Access::Write));
        arrays.chain(own).collect()
    }

    /// How many steps the first levels have, which the device counts.
    fn counted(&self, entry: &Entry) -> Result<Vec<i64>, BackendError> {
        let arrays = self.pinned(&[]);
        let of_own = self.arrays.held.len();
        self.gpu.work(&self.kernel.name.0, &arrays, |pins, queue| {
            self.clear_slot(pins, queue)?;
            let addresses = self.arrays.addresses(pins);
            let places = self.places(pins, &addresses, &[]);
            self.checked(pins, queue, self.start(queue, entry, &places, &[]))?;
            self.said(self.gpu.device().synchronise(queue))?;
            let mut bytes = vec![0; 8 * self.module.counted];
            if !bytes.is_empty() {
                self.said(self.gpu.device().download(pins.address(of_own + 1), &mut bytes))?;
            }
            let number = |word: &[u8]| i64::from_le_bytes(word.try_into().unwrap_or_default());
            Ok(bytes.chunks_exact(8).map(number).collect())
        })
    }

    /// All entries, for levels with so many steps.
    fn carried_out(&self, numbers: &[i64]) -> Result<(), BackendError> {
        let Self { gpu, kernel, module, .. } = self;
        let size = |array: KernelArrayId| elements(kernel, self.sizes, array);
        let mut scratch = Vec::with_capacity(module.scratch.len());
        for (position, memory) in module.scratch.iter().enumerate() {
            let bytes = memory.bytes.value(numbers, &size).max(0) as u64;
            let name = || format!("memory to work in, of {}", kernel.name.0);
            let array = gpu.workspace.borrow_mut().scratch(&gpu.core.memory, position, bytes, name);
            scratch.push(array.map_err(|error| memory_error(&kernel.name.0, error))?);
        }
        let first_scratch = self.arrays.held.len() + 2;
        gpu.work(&kernel.name.0, &self.pinned(&scratch), |pins, queue| {
            self.clear_slot(pins, queue)?;
            for &(from, to, bytes) in self.arrays.copies.iter().filter(|(.., bytes)| *bytes > 0) {
                self.said(gpu.device().copy(queue, pins.address(from), pins.address(to), bytes))?;
            }
            let working: Vec<u64> = (first_scratch..first_scratch + scratch.len()).map(|at| pins.address(at)).collect();
            for ((memory, array), &address) in module.scratch.iter().zip(&scratch).zip(&working) {
                gpu.device().forget(address);
                if memory.zeros && array.bytes() > 0 {
                    let bytes = memory.bytes.value(numbers, &size).max(0) as u64;
                    self.said(gpu.device().clear(queue, address, bytes))?;
                }
            }
            let addresses = self.arrays.addresses(pins);
            let places = self.places(pins, &addresses, &working);
            let started = module.entries.iter().try_for_each(|entry| self.start(queue, entry, &places, numbers));
            self.checked(pins, queue, started)
        })
    }

    fn places<'p>(&'p self, pins: &Pins<D>, arrays: &'p [u64], scratch: &'p [u64]) -> Places<'p> {
        let of_own = self.arrays.held.len();
        let (error, steps) = (pins.address(of_own), pins.address(of_own + 1));
        Places { sizes: self.sizes, arrays, scratch, error, steps }
    }

    /// The error slot holds zeros from one launch to the next, until something fails.
    fn clear_slot(&self, pins: &Pins<D>, queue: &D::Queue) -> Result<(), BackendError> {
        let at = self.arrays.held.len();
        let workspace = self.gpu.workspace.borrow();
        if workspace.slot_is_clear.get() && !pins.is_new(at) {
            return Ok(());
        }
        self.said(self.gpu.device().clear(queue, pins.address(at), self.slot.bytes()))?;
        workspace.slot_is_clear.set(true);
        Ok(())
    }

    /// What a check found; it says more than what the device makes of the rest.
    fn checked(&self, pins: &Pins<D>, queue: &D::Queue, started: Result<(), DeviceError>) -> Result<(), BackendError> {
        if self.module.sites.is_empty() {
            return self.said(started);
        }
        let ended = started.and_then(|()| self.gpu.device().synchronise(queue));
        let mut slot = vec![0; failure::slot_bytes(&self.module.sites) as usize];
        let read = self.gpu.device().download(pins.address(self.arrays.held.len()), &mut slot);
        if let Some(error) = read.ok().and_then(|()| failure::error(&self.module.sites, &slot)) {
            self.gpu.workspace.borrow().slot_is_clear.set(false);
            return Err(error.into());
        }
        self.said(ended)
    }

    /// Launches one entry.
    fn start(&self, queue: &D::Queue, entry: &Entry, places: &Places<'_>, steps: &[i64]) -> Result<(), DeviceError> {
        let argument = |argument: &Argument| match *argument {
            Argument::Size(position) => places.sizes.get(position).copied().unwrap_or(0) as u64,
            Argument::Array(id) => places.arrays.get(id.index()).copied().unwrap_or(0),
            Argument::Error => places.error,
            Argument::Scratch(position) => places.scratch.get(position).copied().unwrap_or(0),
            Argument::Steps => places.steps,
        };
        let arguments: Vec<u64> = entry.arguments.iter().map(argument).collect();
        let size = |array: KernelArrayId| elements(self.kernel, self.sizes, array);
        let blocks = entry.blocks.value(steps, &size).saturating_add(i64::from(entry.one_more));
        let blocks = blocks.clamp(1, if entry.any_blocks { MOST_BLOCKS } else { i64::from(i32::MAX) });
        let launch =
            DeviceLaunch { entry: &entry.name, blocks: blocks as u32, threads: entry.threads, arguments: &arguments };
        self.gpu.device().launch(queue, self.loaded, &launch)
    }
}
