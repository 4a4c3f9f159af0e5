//! Copies of the targets of scatters, one for each range but the first, and how they come together.

use fusebox_ir::{Action, Array, Constant, KernelArrayId, RunError};

use super::{
    KernelLaunch,
    table::{Table, parts},
};
use crate::emit::{HiddenArgument, Part, identities};

/// Elements for each target of all copies where there are more copies than threads.
const ELEMENTS_OF_A_TARGET: usize = 8;

/// Lines of caches that are fetched together are in so many bytes.
const APART: usize = 128;

/// What the ranges of a launch do to the targets of one scatter.
pub(super) struct Scattered<'k> {
    pub(super) statement: usize,
    pub(super) arrays: &'k [KernelArrayId],
    /// Elements of a target array.
    pub(super) size: usize,
    pub(super) identity: Option<Vec<Constant>>,
    pub(super) flagged: bool,
    /// Copies for all ranges but the first: for each component, one after the other.
    pub(super) copies: Vec<Array>,
    /// For all ranges, if it is flagged: a byte a target.
    pub(super) flags: Option<Array>,
    /// Whether copies are apart from each other; else they lie side by side, as code expects that finds those of its chunks by itself.
    apart: bool,
}

impl Scattered<'_> {
    /// Bytes from one copy to the next, of elements of so many.
    fn step(&self, width: usize) -> usize {
        let bytes = self.size.saturating_mul(width);
        if self.apart { apart(bytes) } else { bytes }
    }
}

/// Bytes from one copy to the next: so many that no two threads write to the same line of a cache, or to two that are fetched together.
fn apart(bytes: usize) -> usize {
    bytes.saturating_add(2 * APART - 1) / APART * APART
}

impl<'a> KernelLaunch<'a> {
    pub(super) fn scatter_size(&self, statement: usize) -> usize {
        match &self.kernel.statements[statement].action {
            Action::Scatter { arrays, .. } => self.target_size(arrays[0]),
            _ => 0,
        }
    }

    /// How many copies of a scatter's targets there may be, with the targets themselves: as many as threads, or more where targets are few; none
    /// where the schedule has no copies, or nothing is there that a copy could start from.
    pub(super) fn copies(&self, statement: usize) -> Option<usize> {
        let (_, targets) = self.loaded.copied.iter().copied().find(|(own, _)| *own == statement)?;
        self.loaded.part(Part::Merge(statement))?;
        let elements = self.elements.unwrap_or(self.outermost as u64) as usize;
        let size = self.scatter_size(statement).max(1);
        let most = elements.saturating_mul(targets as usize) / size;
        // More than one for each thread, so that a thread that comes late finds work, where there are few targets for all elements.
        let several = elements / size.saturating_mul(ELEMENTS_OF_A_TARGET);
        Some(most.min(several.max(self.shared.threads.count())))
    }

    /// Whether targets of a scatter need flags, in the array itself too.
    pub(super) fn has_flags(&self, statement: usize) -> bool {
        self.loaded.hidden.contains(&HiddenArgument::CopyFlags(statement))
    }

    /// Copies for `ranges` ranges of one scatter, apart from each other or side by side.
    ///
    /// # Errors
    /// [`fusebox_ir::Fault::TooLarge`].
    pub(super) fn scattered(&self, statement: usize, ranges: usize, apart: bool) -> Result<Scattered<'a>, RunError> {
        let kernel = self.kernel;
        let action = &kernel.statements[statement].action;
        let none = Scattered {
            statement,
            arrays: &[],
            size: 0,
            identity: None,
            flagged: self.has_flags(statement),
            copies: Vec::new(),
            flags: None,
            apart,
        };
        let Action::Scatter { arrays, combine, .. } = action else { return Ok(none) };
        // One range has no copies.
        let identity = if ranges > 1 { identities(combine) } else { None };
        let mut scattered = Scattered { arrays, size: self.target_size(arrays[0]), identity, ..none };
        for (component, array) in arrays.iter().enumerate() {
            let element = kernel.arrays[array.index()].element;
            let what = || format!("copies of `{}`", kernel.arrays[array.index()].name);
            let bytes = scattered.step(element.bytes());
            let mut copy = self.scratch(statement, what, ranges.saturating_sub(1), bytes)?;
            // Whole words of the repeated identity.
            let bits = scattered.identity.as_ref().map_or(0, |identity| identity[component].bits());
            let word = (0..8 / element.bytes()).fold(0u64, |word, lane| word | bits << (lane * element.bytes() * 8));
            if word != 0 {
                copy.bytes_mut().chunks_exact_mut(8).for_each(|bytes| bytes.copy_from_slice(&word.to_le_bytes()));
            }
            scattered.copies.push(copy);
        }
        if scattered.flagged {
            let what = || "flags of targets".to_owned();
            let mut memory = self.scratch(statement, what, ranges, scattered.step(1))?;
            memory.bytes_mut()[..scattered.size].fill(1);
            scattered.flags = Some(memory);
        }
        Ok(scattered)
    }

    /// Bytes from one copy to the next, of each component.
    fn steps_of_copies(&self, scatter: &Scattered<'_>) -> Vec<usize> {
        scatter.arrays.iter().map(|array| scatter.step(self.kernel.arrays[array.index()].element.bytes())).collect()
    }

    /// The argument tables of ranges: their copies in place of the arrays.
    pub(super) fn tables<'m>(
        &self,
        table: &Table<'m>,
        scattered: &'m mut [Scattered<'_>],
        ranges: usize,
    ) -> Vec<Table<'m>> {
        let mut tables = vec![table.clone(); ranges];
        for scatter in scattered {
            let steps = self.steps_of_copies(scatter);
            let step = scatter.step(1);
            for ((&array, copies), bytes) in scatter.arrays.iter().zip(&mut scatter.copies).zip(steps) {
                let copies = parts(copies.bytes_mut(), ranges.saturating_sub(1), bytes);
                tables.iter_mut().skip(1).zip(copies).for_each(|(table, copy)| table.replace(array, copy));
            }
            if let Some(flags) = &mut scatter.flags {
                let flags = parts(flags.bytes_mut(), ranges, step);
                let argument = HiddenArgument::CopyFlags(scatter.statement);
                tables.iter_mut().zip(flags).for_each(|(table, flags)| table.point(argument, flags));
            }
        }
        tables
    }

    /// Combines copies into the arrays, copy after copy; targets in ranges.
    pub(super) fn merge(
        &self,
        table: &Table<'_>,
        scattered: &mut [Scattered<'_>],
        ranges: usize,
    ) -> Result<(), RunError> {
        for scatter in scattered.iter_mut().filter(|_| ranges > 1) {
            let Some(code) = self.loaded.part(Part::Merge(scatter.statement)) else { continue };
            debug_assert!(
                scatter.flagged || scatter.identity.is_some(),
                "a copy starts from an identity, or with flags"
            );
            let mut tables = vec![table.clone(); ranges - 1];
            let steps = self.steps_of_copies(scatter);
            let step = scatter.step(1);
            for (component, (copies, bytes)) in scatter.copies.iter_mut().zip(steps).enumerate() {
                let argument = HiddenArgument::Copies(scatter.statement, component);
                let copies = parts(copies.bytes_mut(), ranges - 1, bytes);
                tables.iter_mut().zip(copies).for_each(|(table, copy)| table.point(argument, copy));
            }
            if let Some(flags) = &mut scatter.flags {
                let argument = HiddenArgument::CopyFlags(scatter.statement);
                let flags = parts(flags.bytes_mut(), ranges, step).into_iter().skip(1);
                tables.iter_mut().zip(flags).for_each(|(table, flags)| table.point(argument, flags));
            }
            let piece = 65_536usize;
            let pieces = scatter.size.div_ceil(piece);
            self.each(pieces, |at, _| {
                let (from, to) = (at * piece, ((at + 1) * piece).min(scatter.size));
                tables.iter().try_for_each(|table| table.call(code, (from as i64, to as i64)).map(drop))
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_no_lines() {
        for bytes in [1, 64, 100, 128, 129, 256, 4096] {
            // Wherever the first begins.
            for start in [0, 8, 64, 120] {
                let line = |copy: usize, byte: usize| (start + copy * apart(bytes) + byte) / APART;
                assert!(line(0, bytes - 1) < line(1, 0), "{bytes} bytes at {start}");
                assert!(line(1, bytes - 1) < line(2, 0), "{bytes} bytes at {start}");
            }
        }
    }
}
