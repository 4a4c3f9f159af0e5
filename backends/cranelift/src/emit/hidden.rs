//! What functions of kernels take that kernels do not show.

use fusebox_ir::{Constant, KernelArrayId};

use super::Emitter;
use crate::vector::Value;

/// What a function of a kernel takes beside sizes and arrays, which the kernel does not show: a word each, behind those in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenArgument {
    /// Steps of the outermost level.
    Steps,
    /// Results of blocks: of a reduce (a statement), a component.
    Partial(usize, usize),
    /// Which blocks had elements: a byte each.
    PartialFlags(usize),
    /// Steps of a chunk, of a scatter in chunks (a statement).
    ChunkSteps(usize),
    /// The copies behind chunk 0, of a scatter (a statement), a component.
    Copies(usize, usize),
    /// Which targets have elements, of a scatter: a byte each, for all chunks.
    CopyFlags(usize),
    /// Records of a scatter (a statement).
    Records(usize),
    /// Elements that were appended before this range, then with it.
    Appended,
    /// Whether a body makes the carry behind its last tile.
    Onward,
    /// Carries of a scan (a statement), a component: before each tile, the first not used, and behind the last.
    Carry(usize, usize),
    /// Which carries are there: a byte each.
    CarryFlags(usize),
    /// Totals of tiles, of a scan (a statement), a component.
    Total(usize, usize),
    /// Which tiles have elements, of a scan: a byte each.
    TotalFlags(usize),
    /// Whether the launch goes over more memory than caches hold.
    OutOfCache,
    /// The position of the first element of an array, of so many bytes each, that is in memory, where some of its rows alone are.
    FirstElement(KernelArrayId, usize),
    /// A number in which kernels that share their code differ.
    Number(Constant),
}

impl Emitter<'_> {
    /// The value of a hidden argument.
    pub(super) fn hidden_argument(&mut self, argument: HiddenArgument) -> Value {
        let position = self.hidden.iter().position(|&known| known == argument).unwrap_or_else(|| {
            self.hidden.push(argument);
            self.hidden.len() - 1
        });
        self.b.argument(self.kernel.sizes.len() + self.kernel.arrays.len() + position)
    }
}
