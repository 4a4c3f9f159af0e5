//! A kernel as modules: for launches with short positions, and for those with long ones.

use std::sync::{Arc, Mutex};

use fusebox_backend::{BackendError, lock};
use fusebox_ir::{Kernel, KernelArrayId};
use fusebox_schedule::{Preferences, Schedule, Target, schedule};

use crate::{
    device::{Device, device_error},
    generate::{Positions, elements, emit_scheduled},
    module::Module,
};

/// The modules of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct CompiledKernel {
    /// That of short positions, if there is one; else of long ones.
    pub(crate) module: Module,
    /// That of long positions, where the other has short ones.
    long: Option<Module>,
}

impl CompiledKernel {
    /// By this schedule, or by that which the scheduler chooses.
    pub(crate) fn new(kernel: &Kernel, wanted: Option<&Schedule>, target: &Target) -> Result<Self, BackendError> {
        let chosen = || schedule(kernel, target, Preferences::default()).schedule;
        let own = wanted.cloned().unwrap_or_else(chosen);
        let module = emit_scheduled(kernel, &own, target, Positions::Short)?;
        let long = module.narrow.then(|| emit_scheduled(kernel, &own, target, Positions::Long)).transpose()?;
        Ok(Self { module, long })
    }

    /// Brings to a device what most launches need.
    pub(crate) fn load<D: Device>(&self, device: &D, name: &str) -> Result<LoadedKernel<D>, BackendError> {
        let module = device.load(&self.module.text).map_err(|error| device_error(name, &error))?;
        Ok(LoadedKernel { module: Arc::new(module), long: Mutex::new(None) })
    }
}

/// The modules of a kernel on a device.
pub(crate) struct LoadedKernel<D: Device> {
    module: Arc<D::Module>,
    /// Once a launch has needed it.
    long: Mutex<Option<Arc<D::Module>>>,
}

impl<D: Device> LoadedKernel<D> {
    /// The module for a launch with these sizes; positions are long from so many elements of an array on.
    pub(crate) fn of<'c>(
        &self,
        (kernel, compiled): (&Kernel, &'c CompiledKernel),
        device: &D,
        sizes: &[i64],
        wide_from: i64,
    ) -> Result<(&'c Module, Arc<D::Module>), BackendError> {
        let large = |position: usize| elements(kernel, sizes, KernelArrayId::at(position)) >= wide_from;
        let Some(long) = compiled.long.as_ref().filter(|_| (0..kernel.arrays.len()).any(large)) else {
            return Ok((&compiled.module, self.module.clone()));
        };
        let mut loaded = lock(&self.long);
        if let Some(loaded) = &*loaded {
            return Ok((long, loaded.clone()));
        }
        let module = device.load(&long.text).map_err(|error| device_error(&kernel.name.0, &error))?;
        Ok((long, loaded.insert(Arc::new(module)).clone()))
    }
}
