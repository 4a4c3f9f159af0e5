//! The modules of sorts that a program needs, loaded when it first does.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use fusebox_backend::{BackendError, lock};

use super::module::{Widths, module};
use crate::device::{Device, device_error};

/// From how many elements on a row has positions of 64 bits.
pub(crate) const WIDE_FROM: usize = 1 << 32;

/// Modules of sorts that a program has needed so far.
pub(crate) struct Modules<D: Device> {
    compute: (u32, u32),
    version: &'static str,
    /// From how many elements on a row has positions of 64 bits.
    pub(super) wide_from: usize,
    loaded: Mutex<BTreeMap<Widths, Arc<D::Module>>>,
}

impl<D: Device> Modules<D> {
    pub(crate) fn new(compute: (u32, u32), version: &'static str, wide_from: usize) -> Self {
        Self { compute, version, wide_from, loaded: Mutex::default() }
    }

    pub(super) fn get(&self, device: &D, widths: Widths) -> Result<Arc<D::Module>, BackendError> {
        let mut loaded = lock(&self.loaded);
        if let Some(module) = loaded.get(&widths) {
            return Ok(module.clone());
        }
        let text = module(widths, self.compute, self.version);
        let module = Arc::new(device.load(&text).map_err(|error| device_error("sort", &error))?);
        loaded.insert(widths, module.clone());
        Ok(module)
    }
}
