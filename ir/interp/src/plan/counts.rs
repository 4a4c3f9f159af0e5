//! What is counted while kernels run.

use crate::val::Val;

/// What running kernels took. `fusebox_ir::analysis::counts` says the same without running them, but for memory.
///
/// Scalars count where a kernel has levels (a loop that uses the sum that another one made reads one element), but not where it is scalar
/// code alone. A copy of an array, and a sort, are a loop each that reads and writes every element once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Launches of kernels.
    pub launches: u64,
    /// Launches of kernels with at least one level (loop nests over memory), copies and sorts.
    pub loops: u64,
    /// Elements read.
    pub reads: u64,
    /// Elements written.
    pub writes: u64,
    /// Bytes of the elements read.
    pub bytes_read: u64,
    /// Bytes of the elements written.
    pub bytes_written: u64,
    /// The most bytes of elements at one time in values that the plan made, results included and inputs not.
    pub peak_bytes: u64,
}

impl Counts {
    /// A step that reads and writes all elements of arrays; scalars do not count.
    pub(super) fn moved(&mut self, arrays: &[Val]) {
        let arrays: Vec<&Val> = arrays.iter().filter(|array| !array.extents.is_empty()).collect();
        self.loops += u64::from(!arrays.is_empty());
        let (elements, bytes) = arrays
            .into_iter()
            .fold((0, 0), |(elements, all), array| (elements + array.len() as u64, all + bytes(array)));
        self.reads += elements;
        self.writes += elements;
        self.bytes_read += bytes;
        self.bytes_written += bytes;
    }
}

/// Bytes of a value's elements.
pub(super) fn bytes(value: &Val) -> u64 {
    value.len() as u64 * value.element.bytes() as u64
}
