//! A device as a machine that runs plans: its memory holds the values of a run.

use fusebox_backend::{BackendError, Launch, Machine, Sort};
use fusebox_ir::{Array, Constant, ElementType, ValueId};

use crate::{
    device::Device,
    gpu::{Buffer, Gpu},
    launch, sort,
};

impl<D: Device> Machine for Gpu<'_, D> {
    type Buffer = Buffer<D>;

    fn allocate(&self, name: &str, element: ElementType, extents: &[usize]) -> Result<Option<Buffer<D>>, BackendError> {
        Gpu::allocate(self, name, element, extents)
    }

    fn instructions_on_host(&self) -> usize {
        2_000
    }

    fn bytes(&self, buffer: &Buffer<D>) -> usize {
        buffer.bytes() as usize
    }

    fn constant(&self, constant: Constant) -> Result<Buffer<D>, BackendError> {
        let array = self.core.scalar(constant).map_err(|error| self.memory_error(error))?;
        Ok(Buffer { array })
    }

    fn written_out(
        &self,
        value: ValueId,
        element: ElementType,
        extents: &[i64],
        data: &[Constant],
    ) -> Result<Buffer<D>, BackendError> {
        let extents: Vec<usize> = extents.iter().map(|&extent| extent as usize).collect();
        self.written_out.get(value, &extents, || {
            let array = Array::from_constants(element, &extents, data)
                .map_err(|error| BackendError::BadPlan { message: error.to_string() })?;
            let name = self.plan.values.get(value.index()).map_or("?", |value| value.name.as_str());
            self.imported(name, &array)
        })
    }

    fn scalar(&self, buffer: &Buffer<D>, element: ElementType) -> Result<Constant, BackendError> {
        let bytes = self.bytes_of(buffer, element.bytes())?;
        let mut bits = [0; 8];
        bits[..bytes.len()].copy_from_slice(&bytes);
        Ok(Constant::from_bits(element, u64::from_le_bytes(bits)))
    }

    fn copy(
        &self,
        (from, to): (&Buffer<D>, &mut Buffer<D>),
        element: ElementType,
        count: usize,
        at: usize,
    ) -> Result<(), BackendError> {
        self.copy_bytes(from, (to, (at * element.bytes()) as u64), (count * element.bytes()) as u64)
    }

    fn launch(&self, launch: Launch<'_, Buffer<D>>) -> Result<(), BackendError> {
        launch::run(self, launch)
    }

    fn sort(&self, sort: Sort<'_, Buffer<D>>) -> Result<(), BackendError> {
        sort::run(self, sort)
    }

    fn release(&self, buffer: Buffer<D>) {
        // Where nobody else has the array, its block is free once no work uses it.
        drop(buffer);
    }
}
