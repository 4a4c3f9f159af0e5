//! What a backend says of its device: how arrays are held, kernels launched and rows sorted.

use fusebox_ir::{Constant, ElementType};

use crate::BackendError;

/// What runs kernels and holds arrays.
pub trait Machine {
    /// The memory of one array.
    type Buffer;

    /// Room for an array, of any contents; `None` if there is no memory for it.
    fn allocate(&self, element: ElementType, extents: &[usize]) -> Option<Self::Buffer>;

    /// Bytes of elements that a buffer was made for.
    fn bytes(&self, buffer: &Self::Buffer) -> usize;

    /// A scalar.
    ///
    /// # Errors
    /// What the device says.
    fn constant(&self, constant: Constant) -> Result<Self::Buffer, BackendError>;

    /// An array of elements written out, row-major.
    ///
    /// # Errors
    /// What the device says; [`BackendError::BadPlan`] if there are not as many elements.
    fn written_out(
        &self,
        element: ElementType,
        extents: &[i64],
        data: &[Constant],
    ) -> Result<Self::Buffer, BackendError>;

    /// The first element of a buffer.
    ///
    /// # Errors
    /// What the device says.
    fn scalar(&self, buffer: &Self::Buffer, element: ElementType) -> Result<Constant, BackendError>;

    /// Copies the first `count` elements from one buffer to another.
    ///
    /// # Errors
    /// What the device says.
    fn copy(
        &self,
        from: &Self::Buffer,
        to: &mut Self::Buffer,
        element: ElementType,
        count: usize,
    ) -> Result<(), BackendError>;

    /// Runs a kernel.
    ///
    /// # Errors
    /// [`BackendError::Run`].
    fn launch(&self, launch: Launch<'_, Self::Buffer>) -> Result<(), BackendError>;

    /// Sorts rows.
    ///
    /// # Errors
    /// What the device says; [`Fault::TooLarge`] if there is no memory to work in.
    fn sort(&self, sort: Sort<'_, Self::Buffer>) -> Result<(), BackendError>;

    /// Takes back a buffer that nobody uses.
    fn release(&self, buffer: Self::Buffer);
}

/// One run of a kernel.
#[derive(Debug)]
pub struct Launch<'a, B> {
    /// Position in the plan's kernels.
    pub kernel: usize,
    /// The kernel's sizes.
    pub sizes: &'a [i64],
    /// The kernel's arrays.
    pub arrays: Vec<LaunchArray<'a, B>>,
}

/// An array of a launch.
#[derive(Debug)]
pub enum LaunchArray<'a, B> {
    /// Only read.
    Read(&'a B),
    /// Written, or updated.
    Write(&'a mut B),
    /// Only read, and in the same memory as the array at this position, which is written over it ([`fusebox_ir::KernelArray::in_place_of`]).
    InPlace(usize),
}

/// One sort: rows are the innermost dimension.
#[derive(Debug)]
pub struct Sort<'a, B> {
    /// The name of the first result, for errors.
    pub name: &'a str,
    /// Element types and keys; the first decides first.
    pub keys: Vec<(ElementType, &'a B)>,
    /// Element types and arrays that are carried along.
    pub carry: Vec<(ElementType, &'a B)>,
    /// Where keys and then what is carried go.
    pub results: Vec<&'a mut B>,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub length: usize,
}
