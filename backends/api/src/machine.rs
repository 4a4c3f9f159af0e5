//! What a backend implements for its device: arrays are allocated and copied, kernels launched, rows sorted.

use fusebox_ir::{
    Constant, ElementType, Plan, Step, ValueId,
    analysis::{RowLoop, RowSequence},
};

use crate::{
    BackendError,
    asked::{AtOnce, Few, Lanes, Launch, Sort},
    turns::{RowShape, Turns},
};

/// A device: it holds arrays and runs kernels.
pub trait Machine {
    /// The memory of one array.
    type Buffer;

    /// Allocates an array, whose elements may be anything; `None` if there is no memory for it. The name is that of the value.
    ///
    /// # Errors
    /// What the device says; [`BackendError::NoRoom`] if there would be memory for it, but for what is in use.
    fn allocate(
        &self,
        name: &str,
        element: ElementType,
        extents: &[usize],
    ) -> Result<Option<Self::Buffer>, BackendError>;

    /// Of how many instructions at most the host computes kernels of scalars that it knows, instead of launching them: as many as take about as
    /// long as a launch and, where the host has to ask for what a device computes, the answer. A scalar then gets memory only when a kernel
    /// needs it there. 0: the host computes none.
    fn instructions_on_host(&self) -> usize;

    /// Whether there are kernels of scalars that the host computes.
    fn host_computes_scalars(&self) -> bool {
        self.instructions_on_host() > 0
    }

    /// The number of bytes of elements that a buffer was allocated for.
    fn bytes(&self, buffer: &Self::Buffer) -> usize;

    /// Makes a buffer that holds one scalar.
    ///
    /// # Errors
    /// What the device says.
    fn constant(&self, constant: Constant) -> Result<Self::Buffer, BackendError>;

    /// Makes an array of the elements that a plan spells out, in row-major order. The value is where the plan does so.
    ///
    /// # Errors
    /// What the device says; [`BackendError::BadPlan`] if there are not as many elements.
    fn written_out(
        &self,
        value: ValueId,
        element: ElementType,
        extents: &[i64],
        data: &[Constant],
    ) -> Result<Self::Buffer, BackendError>;

    /// Reads the first element of a buffer.
    ///
    /// # Errors
    /// What the device says.
    fn scalar(&self, buffer: &Self::Buffer, element: ElementType) -> Result<Constant, BackendError>;

    /// Copies the first `count` elements from one buffer to another, behind the first `at` there.
    ///
    /// # Errors
    /// What the device says.
    fn copy(
        &self,
        buffers: (&Self::Buffer, &mut Self::Buffer),
        element: ElementType,
        count: usize,
        at: usize,
    ) -> Result<(), BackendError>;

    /// Runs a kernel.
    ///
    /// # Errors
    /// [`BackendError::Run`].
    fn launch(&self, launch: Launch<'_, Self::Buffer>) -> Result<(), BackendError>;

    /// If a step is the first of some launches that the machine may run at once ([`fusebox_ir::analysis::IndependentLaunches`]), how many steps
    /// there are from it to the last of them.
    fn independent(&self, _launch: &Step) -> Option<usize> {
        None
    }

    /// Whether it gains something to run these kernels, with these sizes, at once.
    fn gains_at_once(&self, _launches: &[(usize, Few<i64>)]) -> bool {
        false
    }

    /// Runs kernels that need nothing of each other, in any order.
    ///
    /// # Errors
    /// [`BackendError::Run`], of the first in this order that fails.
    fn launch_all(&self, launches: Few<Launch<'_, Self::Buffer>>) -> Result<(), BackendError> {
        launches.into_iter().try_for_each(|launch| self.launch(launch))
    }

    /// Sorts rows.
    ///
    /// # Errors
    /// What the device says; [`fusebox_ir::Fault::TooLarge`] if there is no memory to work in.
    fn sort(&self, sort: Sort<'_, Self::Buffer>) -> Result<(), BackendError>;

    /// The loop whose state begins with a value, if the machine may do several of its turns at once, over one strip of rows after another or all rows.
    fn row_loop(&self, _state: ValueId) -> Option<&RowLoop> {
        None
    }

    /// How many turns of a loop it does at once; none if one after the other is better.
    fn turns_at_once(&self, _shape: RowShape) -> Option<usize> {
        None
    }

    /// The launches of rows that begin with a step, if the machine may do them over one strip of rows after another.
    fn row_sequence(&self, _step: &Step) -> Option<&RowSequence> {
        None
    }

    /// Whether it does launches of rows over one strip after another; else it does one after the other over all rows.
    fn gains_in_strips(&self, _shape: RowShape) -> bool {
        false
    }

    /// Does some turns of a loop, or the launches of a sequence, in strips or over all rows; how many bytes of whole arrays it took in between, if it did.
    /// Where it did not, or fails, they are done one after the other instead, from the state before, which it leaves as it was.
    ///
    /// # Errors
    /// [`BackendError::Run`], of any step that fails.
    fn turns(&self, _turns: Turns<'_, Self::Buffer>) -> Result<Option<usize>, BackendError> {
        Ok(None)
    }

    /// Runs lanes on as many threads as there are: what each of the arrays that they give is, and how many bytes the lanes had at one time;
    /// none if they are to run one after the other.
    ///
    /// # Errors
    /// What fails in the first lane that does.
    fn lanes(&self, _plan: &Plan, _lanes: Lanes<'_, Self::Buffer>) -> Result<AtOnce<Self::Buffer>, BackendError> {
        Ok(None)
    }

    /// Takes back a buffer that nobody uses any more.
    fn release(&self, buffer: Self::Buffer);
}
