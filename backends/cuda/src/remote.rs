//! A GPU as the device of a cache of arrays.

use crate::device::Cuda;
use crate::error::Error;
use crate::event::Event;
use fusebox_backend::device_memory::Remote;
use fusebox_ptx::DeviceError;
use std::sync::Arc;

impl Remote for Cuda {
    type Event = Arc<Event>;
    type Error = DeviceError;

    fn allocate(&self, _: &str, bytes: u64) -> Result<Option<u64>, DeviceError> {
        Ok(self.try_allocate(bytes)?)
    }

    fn free(&self, address: u64) {
        self.try_free(address);
    }

    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        Ok(self.try_upload(address, bytes)?)
    }

    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        Ok(self.try_download(address, bytes)?)
    }

    fn is_done(&self, event: &Arc<Event>) -> Result<bool, DeviceError> {
        event.is_done().map_err(Error::into)
    }

    fn wait(&self, event: &Arc<Event>) -> Result<(), DeviceError> {
        event.wait().map_err(Error::into)
    }
}
