//! The CPU as a machine that runs plans: host arrays are its buffers.

use std::sync::atomic::Ordering;

use fusebox_backend::{AtOnce, BackendError, Few, Lanes, Launch, Machine, RowShape, Sort, Turns};
use fusebox_ir::{
    Array, Constant, ElementType, Plan, Step, ValueId,
    analysis::{RowLoop, RowSequence},
};

use crate::{cpu::Cpu, lanes, launch, sort};

impl Machine for Cpu<'_> {
    type Buffer = Array;

    fn allocate(&self, name: &str, element: ElementType, extents: &[usize]) -> Result<Option<Array>, BackendError> {
        let bytes = extents.iter().try_fold(element.bytes(), |size, &extent| size.checked_mul(extent));
        if let (Some(asked), Some(most), Some(bytes)) = (self.asked, self.most, bytes)
            && bytes >= most
        {
            asked.store(bytes.max(1), Ordering::Relaxed);
            let message = "a large array in a lane".to_owned();
            return Err(BackendError::NoRoom { operation: name.to_owned(), message });
        }
        let Some(mut array) = self.shared.memory.take(element, extents) else { return Ok(None) };
        if self.cleared {
            array.bytes_mut().fill(0);
        }
        Ok(Some(array))
    }

    fn instructions_on_host(&self) -> usize {
        16
    }

    fn bytes(&self, buffer: &Array) -> usize {
        buffer.bytes().len()
    }

    fn constant(&self, constant: Constant) -> Result<Array, BackendError> {
        let Some(mut scalar) = self.shared.memory.take(constant.ty(), &[]) else { return Ok(Array::scalar(constant)) };
        scalar.set(0, constant);
        Ok(scalar)
    }

    fn written_out(
        &self,
        _: ValueId,
        element: ElementType,
        extents: &[i64],
        data: &[Constant],
    ) -> Result<Array, BackendError> {
        let extents: Vec<usize> = extents.iter().map(|&extent| extent as usize).collect();
        Array::from_constants(element, &extents, data)
            .map_err(|error| BackendError::BadPlan { message: error.to_string() })
    }

    fn scalar(&self, buffer: &Array, element: ElementType) -> Result<Constant, BackendError> {
        // The memory may have been that of elements of another type.
        let Some(bytes) = buffer.bytes().get(..element.bytes()) else {
            return Err(BackendError::BadPlan { message: "a scalar without elements".to_owned() });
        };
        let mut bits = [0; 8];
        bits[..bytes.len()].copy_from_slice(bytes);
        Ok(Constant::from_bits(element, u64::from_le_bytes(bits)))
    }

    fn copy(
        &self,
        (from, to): (&Array, &mut Array),
        element: ElementType,
        count: usize,
        at: usize,
    ) -> Result<(), BackendError> {
        let (bytes, at) = (count * element.bytes(), at * element.bytes());
        to.bytes_mut()[at..at + bytes].copy_from_slice(&from.bytes()[..bytes]);
        Ok(())
    }

    fn launch(&self, launch: Launch<'_, Array>) -> Result<(), BackendError> {
        launch::run(&self.plan.kernels[launch.kernel], &self.kernels[launch.kernel], self.shared, launch)
    }

    fn independent(&self, launch: &Step) -> Option<usize> {
        self.independent?.steps_at(self.plan, launch)
    }

    fn gains_at_once(&self, launches: &[(usize, Few<i64>)]) -> bool {
        launch::at_once::gains(launches, (&self.plan.kernels, self.kernels), self.shared)
    }

    fn launch_all(&self, launches: Few<Launch<'_, Array>>) -> Result<(), BackendError> {
        launch::at_once::run(launches, &self.shared.threads, |launch| self.launch(launch))
    }

    fn sort(&self, sort: Sort<'_, Array>) -> Result<(), BackendError> {
        sort::run(sort, self.shared)
    }

    fn row_loop(&self, state: ValueId) -> Option<&RowLoop> {
        self.loops.get(&state)
    }

    fn turns_at_once(&self, shape: RowShape) -> Option<usize> {
        launch::strips::turns_at_once(shape, self.shared)
    }

    fn row_sequence(&self, step: &Step) -> Option<&RowSequence> {
        self.sequences.at(step)
    }

    fn gains_in_strips(&self, shape: RowShape) -> bool {
        launch::strips::gains(shape, self.shared)
    }

    fn turns(&self, turns: Turns<'_, Array>) -> Result<Option<usize>, BackendError> {
        launch::strips::run(turns, (&self.plan.kernels, self.kernels), (self.shared, self.cleared))
    }

    fn lanes(&self, plan: &Plan, lanes: Lanes<'_, Array>) -> Result<AtOnce<Array>, BackendError> {
        lanes::run(self, plan, &lanes)
    }

    fn release(&self, buffer: Array) {
        // It goes back to the pool that it is from.
        drop(buffer);
    }
}
