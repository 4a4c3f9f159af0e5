//! The CPU as a machine that runs plans: host arrays are its buffers.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
};

use fusebox_backend::{AtOnce, BackendError, Few, Given, Lanes, Launch, Machine, RowShape, Sort, Stored, Turns};
use fusebox_ir::{
    Array, Constant, ElementType, Fault, Place, Plan, RunError, Step, ValueId,
    analysis::{IndependentLaunches, RowLoop, RowSequence, RowSequences},
};

use crate::{
    Shared,
    lanes::{self, Scripts},
    launch,
    loaded_kernel::LoadedKernel,
    sort,
};

/// The CPU, for one run of a plan.
pub(crate) struct Cpu<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) kernels: &'a [LoadedKernel],
    /// Loops whose turns may be done in strips, by the first value of their state.
    pub(crate) loops: &'a HashMap<ValueId, RowLoop>,
    /// Launches of rows that may be done in strips, one after the other.
    pub(crate) sequences: &'a RowSequences,
    /// Launches that may run at once; none where there is one thread.
    pub(crate) independent: Option<&'a IndependentLaunches>,
    /// What lanes do that run one at a time, by the value that holds the number of the lane.
    pub(crate) scripts: &'a Scripts,
    pub(crate) shared: &'a Shared,
    /// Whether nobody vouches for the plan: then memory that it may leave unwritten holds zeros, and nothing of other runs.
    pub(crate) cleared: bool,
    /// Where it runs one of many lanes, set when the lane asks for an array that all threads should make.
    pub(crate) too_large: Option<&'a AtomicBool>,
    /// From how many bytes an array is one that all threads should make.
    pub(crate) most: Option<usize>,
}

impl Cpu<'_> {
    /// A result as an array of its element type and extents, which may be others than those that the memory was made for.
    pub(crate) fn handed_back(&self, stored: Stored<Given<'_, Array>>, name: &str) -> Result<Array, BackendError> {
        let extents: Few<usize> = stored.extents.iter().map(|&extent| extent as usize).collect();
        let (element, wanted) = (stored.element, stored.extents);
        let buffer = match stored.buffer {
            Given::Shared(buffer) => buffer.clone(),
            Given::Own(buffer) => match buffer.recycled(element, &extents) {
                Ok(array) => return Ok(array),
                Err(buffer) => buffer,
            },
        };
        if buffer.element() == element && buffer.extents() == extents.as_slice() {
            return Ok(buffer);
        }
        let Some(mut array) = self.shared.memory.take(element, &extents) else {
            let fault = Fault::TooLarge { array: name.to_owned(), extents: wanted.into_vec() };
            let operation = format!("program `{}`", self.plan.name);
            return Err(RunError { operation, place: Place::default(), fault }.into());
        };
        let bytes = array.bytes().len();
        let Some(from) = buffer.bytes().get(..bytes) else {
            let message = format!("result `{name}` is larger than its memory");
            return Err(BackendError::BadPlan { message });
        };
        array.bytes_mut().copy_from_slice(from);
        Ok(array)
    }
}

impl Machine for Cpu<'_> {
    type Buffer = Array;

    fn allocate(&self, name: &str, element: ElementType, extents: &[usize]) -> Result<Option<Array>, BackendError> {
        let bytes = extents.iter().try_fold(element.bytes(), |size, &extent| size.checked_mul(extent));
        if let (Some(too_large), Some(most), Some(bytes)) = (self.too_large, self.most, bytes)
            && bytes >= most
        {
            too_large.store(true, Ordering::Relaxed);
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

    fn turns(&self, turns: Turns<'_, Array>) -> Result<bool, BackendError> {
        launch::strips::run(turns, self.kernels, (self.shared, self.cleared))
    }

    fn lanes(&self, plan: &Plan, lanes: Lanes<'_, Array>) -> Result<AtOnce<Array>, BackendError> {
        lanes::run(self, plan, &lanes)
    }

    fn release(&self, buffer: Array) {
        // It goes back to the pool that it is from.
        drop(buffer);
    }
}
