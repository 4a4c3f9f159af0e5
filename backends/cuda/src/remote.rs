//! A GPU as the device of a cache of arrays.

use crate::device::Cuda;
use crate::error::Error;
use crate::event::Event;
use fusebox_backend::device_memory::Remote;
use fusebox_ptx::{Device, DeviceError};

impl Remote for Cuda {
    type Event = Event;
    type Error = DeviceError;

    fn allocate(&self, bytes: u64) -> Result<Option<u64>, DeviceError> {
        Device::allocate(self, bytes)
    }

    fn free(&self, address: u64) {
        Device::free(self, address);
    }

    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        Device::upload(self, address, bytes)
    }

    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        Device::download(self, address, bytes)
    }

    fn is_done(&self, event: &Event) -> Result<bool, DeviceError> {
        event.is_done().map_err(Error::into)
    }

    fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        event.wait().map_err(Error::into)
    }
}
