//! The CPU, for one run of a plan: what of the plan is known, and who runs it.

use std::{collections::HashMap, sync::atomic::AtomicUsize};

use fusebox_backend::{BackendError, Few, Given, Stored};
use fusebox_ir::{
    Array, Fault, Output, Place, Plan, RunError, ValueId,
    analysis::{IndependentLaunches, RowLoop, RowSequences},
};

use crate::{Shared, lanes::scripts::Scripts, loaded_kernel::LoadedKernel};

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
    /// Where it runs one of many lanes, set when the lane asks for an array that all threads should make: to its bytes.
    pub(crate) asked: Option<&'a AtomicUsize>,
    /// From how many bytes an array is one that all threads should make.
    pub(crate) most: Option<usize>,
}

impl Cpu<'_> {
    /// Puts results behind each other, as a run hands them over.
    pub(crate) fn handing_back(
        &self,
        results: &mut Vec<Array>,
    ) -> impl FnMut(Stored<Given<'_, Array>>, &Output<ValueId>) -> Result<(), BackendError> {
        |stored, output| {
            results.push(self.handed_back(stored, &output.name)?);
            Ok(())
        }
    }

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
