//! Arrays that a plan spells out: on the device once, for all runs.

use std::{collections::BTreeMap, sync::Mutex};

use fusebox_backend::{BackendError, lock};
use fusebox_ir::ValueId;

/// Arrays that a loaded plan has spelled out so far, as buffers, by the value that they are.
pub(crate) struct WrittenOut<B>(Mutex<BTreeMap<ValueId, (Vec<usize>, B)>>);

impl<B> Default for WrittenOut<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B: Clone> WrittenOut<B> {
    /// The array of a value, of these extents; `make` makes it the first time.
    pub(crate) fn get(
        &self,
        value: ValueId,
        extents: &[usize],
        make: impl FnOnce() -> Result<B, BackendError>,
    ) -> Result<B, BackendError> {
        if let Some((_, buffer)) = lock(&self.0).get(&value).filter(|(before, _)| before == extents) {
            return Ok(buffer.clone());
        }
        let buffer = make()?;
        lock(&self.0).insert(value, (extents.to_vec(), buffer.clone()));
        Ok(buffer)
    }
}
