//! Copies of the targets of scatters, one for each range but the first, and how they come together.

use fusebox_ir::{Action, ArrayId, Constant, RunError};

use super::{Run, call};
use crate::{
    compile::CompiledKernel,
    emit::{Extra, Part, identities},
};

/// What the ranges of a launch do to the targets of one scatter.
pub(super) struct Scattered<'k> {
    pub(super) statement: usize,
    pub(super) arrays: &'k [ArrayId],
    /// Elements of a target array.
    pub(super) size: usize,
    pub(super) identity: Option<Vec<Constant>>,
    pub(super) flagged: bool,
    /// Copies for all ranges but the first: for each component, one after the other.
    pub(super) copies: Vec<Vec<u64>>,
    pub(super) flags: Vec<u8>,
}

impl<'a> Run<'a> {
    pub(super) fn scatter_size(&self, statement: usize) -> usize {
        match &self.kernel.statements[statement].action {
            Action::Scatter { arrays, .. } => self.target_size(arrays[0]),
            _ => 0,
        }
    }

    /// Copies for `ranges` ranges of one scatter.
    pub(super) fn scattered(&self, statement: usize, ranges: usize) -> Result<Scattered<'a>, RunError> {
        let kernel = self.kernel;
        let action = &kernel.statements[statement].action;
        let Action::Scatter { arrays, combine, .. } = action else {
            return Ok(Scattered {
                statement,
                arrays: &[],
                size: 0,
                identity: None,
                flagged: false,
                copies: Vec::new(),
                flags: Vec::new(),
            });
        };
        let size = self.target_size(arrays[0]);
        let identity = identities(combine);
        let flagged = CompiledKernel::needs_flags(action);
        let mut copies = Vec::new();
        for (component, array) in arrays.iter().enumerate() {
            let element = kernel.arrays[array.index()].element;
            let bytes = size * element.bytes() * ranges.saturating_sub(1);
            // Whole words of the repeated identity.
            let bits = identity.as_ref().map_or(0, |identity| identity[component].bits());
            let word = (0..8 / element.bytes()).fold(0u64, |word, lane| word | bits << (lane * element.bytes() * 8));
            copies.push(vec![word; bytes.div_ceil(8) + 8]);
        }
        let mut flags = Vec::new();
        if flagged {
            flags = vec![0u8; size * ranges + 64];
            let first = size.min(flags.len());
            flags[..first].fill(1);
        }
        Ok(Scattered { statement, arrays, size, identity, flagged, copies, flags })
    }

    /// The argument table of a range: its copies in place of the arrays.
    pub(super) fn table_of(&mut self, range: usize, scattered: &mut [Scattered<'_>]) -> Vec<u64> {
        let mut table = self.table.clone();
        for scatter in scattered {
            if range > 0 {
                for (component, array) in scatter.arrays.iter().enumerate() {
                    let bytes = self.kernel.arrays[array.index()].element.bytes() * scatter.size;
                    let address = scatter.copies[component].as_mut_ptr() as usize + bytes * (range - 1);
                    table[self.kernel.sizes.len() + array.index()] = address as u64;
                }
            }
            if scatter.flagged {
                let first = self.kernel.sizes.len() + self.kernel.arrays.len();
                let wanted = Extra::CopyFlags(scatter.statement);
                if let Some(position) = self.loaded.extras.iter().position(|&own| own == wanted) {
                    table[first + position] = scatter.flags.as_mut_ptr() as u64 + (range * scatter.size) as u64;
                }
            }
        }
        table
    }

    /// Combines copies into the arrays, copy after copy; targets in ranges.
    pub(super) fn merge(&mut self, scattered: &[Scattered<'_>], ranges: usize) -> Result<(), RunError> {
        for scatter in scattered.iter().filter(|_| ranges > 1) {
            let Some(code) = self.loaded.part(Part::Merge(scatter.statement)) else { continue };
            debug_assert!(
                scatter.flagged || scatter.identity.is_some(),
                "a copy starts from an identity, or with flags"
            );
            let tables: Vec<Vec<u64>> = (1..ranges)
                .map(|range| {
                    for (component, array) in scatter.arrays.iter().enumerate() {
                        let bytes = self.kernel.arrays[array.index()].element.bytes() * scatter.size;
                        let address = scatter.copies[component].as_ptr() as usize + bytes * (range - 1);
                        self.extra(Extra::Copies(scatter.statement, component), address as u64);
                    }
                    let flags = scatter.flags.as_ptr() as usize + range * scatter.size;
                    self.extra(Extra::CopyFlags(scatter.statement), flags as u64);
                    self.table.clone()
                })
                .collect();
            let piece = 65_536usize;
            let pieces = scatter.size.div_ceil(piece);
            self.each(pieces, |at, _| {
                let (from, to) = (at * piece, ((at + 1) * piece).min(scatter.size));
                tables.iter().try_for_each(|table| call(code, table, from as i64, to as i64).map(drop))
            })?;
        }
        Ok(())
    }
}
