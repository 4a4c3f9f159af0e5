//! Arrays that a plan spells out: on the device once, for all runs.

use std::{collections::BTreeMap, sync::Mutex};

use fusebox_backend::{BackendError, lock};
use fusebox_ir::{Array, ValueId};

use crate::{
    device::Device,
    gpu::{Buffer, Gpu},
};

/// Arrays that a loaded plan has spelled out so far, by the value that they are.
pub(crate) struct WrittenOut<D: Device>(Mutex<BTreeMap<ValueId, (Vec<usize>, Buffer<D>)>>);

impl<D: Device> Default for WrittenOut<D> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<D: Device> WrittenOut<D> {
    /// The array of a value, of these extents; `make` makes it the first time.
    pub(crate) fn get(
        &self,
        gpu: &Gpu<'_, D>,
        value: ValueId,
        extents: &[usize],
        make: impl FnOnce() -> Result<Array, BackendError>,
    ) -> Result<Buffer<D>, BackendError> {
        if let Some((_, buffer)) = lock(&self.0).get(&value).filter(|(before, _)| before == extents) {
            return Ok(buffer.clone());
        }
        let name = gpu.plan.values.get(value.index()).map_or("?", |value| value.name.as_str());
        let buffer = gpu.imported(name, &make()?)?;
        lock(&self.0).insert(value, (extents.to_vec(), buffer.clone()));
        Ok(buffer)
    }
}
