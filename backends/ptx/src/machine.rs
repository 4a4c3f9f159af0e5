//! A device as a machine that runs plans: its memory holds the values of a run.

use fusebox_backend::{BackendError, Launch, Machine, Sort};
use fusebox_ir::{Array, Constant, ElementType};

use crate::{
    device::Device,
    gpu::{Buffer, Gpu},
    launch, sort,
};

impl<D: Device> Machine for Gpu<'_, D> {
    type Buffer = Buffer<D>;

    fn allocate(&self, element: ElementType, extents: &[usize]) -> Option<Buffer<D>> {
        let bytes = extents.iter().try_fold(element.bytes(), |size, &extent| size.checked_mul(extent))?;
        self.memory(u64::try_from(bytes).ok()?).ok()?
    }

    fn bytes(&self, buffer: &Buffer<D>) -> usize {
        buffer.bytes() as usize
    }

    fn constant(&self, constant: Constant) -> Result<Buffer<D>, BackendError> {
        self.scalar_buffer(constant)
    }

    fn written_out(&self, element: ElementType, extents: &[i64], data: &[Constant]) -> Result<Buffer<D>, BackendError> {
        let extents: Vec<usize> = extents.iter().map(|&extent| extent as usize).collect();
        let array = Array::from_constants(element, &extents, data)
            .map_err(|error| BackendError::BadPlan { message: error.to_string() })?;
        self.uploaded(array.bytes())
    }

    fn scalar(&self, buffer: &Buffer<D>, element: ElementType) -> Result<Constant, BackendError> {
        let bytes = self.bytes_of(buffer, element.bytes())?;
        let mut bits = [0; 8];
        bits[..bytes.len()].copy_from_slice(&bytes);
        Ok(Constant::from_bits(element, u64::from_le_bytes(bits)))
    }

    fn copy(
        &self,
        from: &Buffer<D>,
        to: &mut Buffer<D>,
        element: ElementType,
        count: usize,
    ) -> Result<(), BackendError> {
        let bytes = (count * element.bytes()) as u64;
        if bytes > from.bytes() || bytes > to.bytes() {
            return Err(BackendError::BadPlan { message: "a copy of more than there is".to_owned() });
        }
        if bytes == 0 { Ok(()) } else { self.said(self.device.copy(from.address, to.address, bytes)) }
    }

    fn launch(&self, launch: Launch<'_, Buffer<D>>) -> Result<(), BackendError> {
        launch::run(self, &launch)
    }

    fn sort(&self, sort: Sort<'_, Buffer<D>>) -> Result<(), BackendError> {
        sort::run(self, sort)
    }

    fn release(&self, buffer: Buffer<D>) {
        drop(buffer);
    }
}
