//! Tiles of scans: what has run up to their end, their totals, and what they carry to the next.

use std::collections::HashMap;

use fusebox_ir::{Binary, Constant, association::TILE};

use super::Scan;
use crate::{
    emit::{Emitter, HiddenArgument, Result, statement::reduce::Maybe},
    vector::Value,
};

impl Emitter<'_> {
    /// Opens the tile of steps `start..end`.
    pub(in crate::emit) fn tile_begin(&mut self, position: usize, start: Value, end: Value) -> Result {
        let Some(mut scan) = self.scans.get(&position).cloned() else { self.misplaced(position) };
        let (at, k) = (scan.at, scan.k());
        scan.end = Some(end);
        let carry = self.states[at + k + 1..=at + 2 * k + 1].to_vec();
        let running = self.spread(&scan, &carry);
        self.states.splice(at..=at + k, running);
        if scan.exact {
            // Nobody asks for a total.
        } else if let Some(total) = &mut scan.total {
            total.steps = Some(self.b.sub(end, start));
            let total = total.clone();
            self.where_needed(&scan, |this| {
                this.reset(&total);
                Ok(())
            })?;
        } else {
            self.states[at + 3 * k + 2] = self.b.constant(Constant::from(false));
        }
        self.scans.insert(position, scan);
        Ok(())
    }

    /// Emits what only matters if there are several tiles or totals; it may change memory, not states.
    pub(super) fn where_needed(&mut self, scan: &Scan, emit: impl FnOnce(&mut Self) -> Result) -> Result {
        let Some(need) = scan.need else { return Ok(()) };
        if self.b.constant_of(need).and_then(Constant::as_bool) == Some(true) {
            return emit(self);
        }
        self.b.open();
        emit(self)?;
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        self.b.end_if(need, (then, Vec::new()), (otherwise, Vec::new()));
        Ok(())
    }

    /// Emits a scan's total, where that matters, and nothing else of it.
    pub(in crate::emit) fn total_where_needed(
        &mut self,
        position: usize,
        emit: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        let Some(scan) = self.scans.get(&position).cloned() else { self.misplaced(position) };
        if scan.exact {
            return Ok(());
        }
        self.only_total(position, true);
        self.where_needed(&scan, emit)?;
        self.only_total(position, scan.alone);
        Ok(())
    }

    fn only_total(&mut self, position: usize, alone: bool) {
        if let Some(scan) = self.scans.get_mut(&position) {
            scan.alone = alone;
        }
    }

    /// Opens a block of a total.
    pub(in crate::emit) fn total_block_begin(&mut self, position: usize, count: Value) -> Result {
        // Also where the total is not wanted: accumulators in registers are combined anyway.
        let own = self.scans.get(&position).is_some_and(|scan| scan.shared_reduction.is_none() && !scan.exact);
        if own { self.block_begin(position, count) } else { Ok(()) }
    }

    /// Closes a block of a total; reduces have these results of it.
    pub(in crate::emit) fn total_block_end(
        &mut self,
        position: usize,
        start: Value,
        count: Value,
        results: &HashMap<usize, Maybe>,
    ) -> Result {
        let Some(scan) = self.scans.get(&position).cloned() else { self.misplaced(position) };
        if scan.exact {
            return Ok(());
        }
        let known = scan.shared_reduction.and_then(|shared_reduction| results.get(&shared_reduction)).cloned();
        self.where_needed(&scan, |this| {
            let result = match known {
                Some(result) => result,
                None => this.block_result(position, count)?,
            };
            this.block_end(position, start, result)
        })
    }

    /// Closes a tile: the carry takes its total.
    pub(in crate::emit) fn tile_end(&mut self, position: usize) -> Result {
        let Some(scan) = self.scans.get(&position).cloned() else { self.misplaced(position) };
        let (Some(need), at, k) = (scan.need, scan.at, scan.k()) else { return Ok(()) };
        let kernel = self.kernel;
        self.operation = kernel.operation(&kernel.statements[position]);
        if scan.exact {
            let mut last: Vec<Value> = self.states[at..=at + k].to_vec();
            if !scan.by_lane {
                last.iter_mut().for_each(|state| *state = self.b.extract(*state, 0));
            }
            self.states.splice(at + k + 1..at + 2 * k + 2, last);
            return Ok(());
        }
        let carry: Vec<Value> = self.states[at + k + 1..at + 2 * k + 2].to_vec();
        self.b.open();
        let (total, has) = match &scan.total {
            Some(total) => self.total(total)?,
            None => (self.states[at + 2 * k + 2..at + 3 * k + 2].to_vec(), self.states[at + 3 * k + 2]),
        };
        if scan.alone {
            let shift = self.b.int(TILE.trailing_zeros().into());
            let tile = self.b.binary(Binary::Shr, self.range.0, shift);
            self.put_words(position, tile, &total, has, HiddenArgument::Total, HiddenArgument::TotalFlags);
            let mut then = self.b.close();
            // Always needed: no branch.
            self.b.append(&mut then);
            return Ok(());
        }
        let (mut new, has) = self.combine_present(&scan.combine, (&carry[..k], carry[k]), (&total, has), scan.swap)?;
        new.push(has);
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        let carry = self.b.end_if(need, (then, new), (otherwise, carry));
        self.states.splice(at + k + 1..at + 2 * k + 2, carry);
        Ok(())
    }
}
