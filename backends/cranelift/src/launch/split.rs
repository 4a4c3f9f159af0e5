//! The outermost level in ranges.

use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_ir::{Action, Memory, RunError, ScatterOrder, association::BLOCK};

use super::{KernelLaunch, Ranges, address, call, scatter::Scattered};
use crate::{
    code_memory::Code,
    emit::{HiddenArgument, Part, identities},
};

impl<'a> KernelLaunch<'a> {
    /// The body in ranges, then what is at depth 0; the number of appended elements.
    pub(super) fn split(&mut self, body: &Code) -> Result<u64, RunError> {
        let steps = self.outermost;
        self.set_hidden(HiddenArgument::Steps, steps as u64);
        let carries = self.carries(steps)?;
        let partials = self.partials(steps)?;
        let scans = self.loaded.part(Part::Totals).is_some();
        let mut in_blocks = false;
        let mut in_order = false;
        let mut chunked = None;
        let mut any = Vec::new();
        for (position, statement) in self.kernel.statements.iter().enumerate() {
            match &statement.action {
                Action::Reduce { to: 0, .. } => in_blocks = true,
                Action::Scatter { arrays, order, combine, .. } => match order {
                    ScatterOrder::InOrder => in_order = true,
                    ScatterOrder::Unique => {}
                    ScatterOrder::Chunks => {
                        chunked = Some(Self::chunks(steps, self.target_size(arrays[0])).1);
                        any.push(position);
                    }
                    // Any order is right, but without an identity there is nothing that a copy could start from.
                    ScatterOrder::Any if identities(combine).is_none() => in_order = true,
                    ScatterOrder::Any => any.push(position),
                },
                _ => {}
            }
        }
        let ranges = match chunked {
            Some(length) => Ranges::new(steps, length),
            None if in_order => Ranges::one(steps),
            // A copy for each tile would be too many.
            None if scans && !any.is_empty() => Ranges::one(steps),
            None if scans && self.append().is_some() && self.most_appended(steps).is_none() => Ranges::one(steps),
            None if scans => self.tiles(steps),
            None if self.append().is_some() => match self.most_appended(steps) {
                Some(_) => self.ranges(steps, if in_blocks { BLOCK } else { 1 }),
                None => Ranges::one(steps),
            },
            None if any.is_empty() => match &self.cuts {
                Some(cuts) => Ranges::cut(cuts, usize::MAX),
                None => self.ranges(steps, if in_blocks { BLOCK } else { 64.min(steps / 64).max(1) }),
            },
            None => {
                // A copy for each thread, where that costs less than it saves.
                let size = any.iter().map(|&position| self.scatter_size(position)).max().unwrap_or(0);
                let elements = self.elements.map_or(steps as usize, |elements| elements as usize);
                let most = (elements / size.saturating_mul(2).max(1)).min(self.shared.threads.count());
                if let Some(cuts) = &self.cuts {
                    Ranges::cut(cuts, most)
                } else {
                    let wanted = self.ranges(steps, 1).count().min(most).max(1);
                    let unit = if in_blocks { BLOCK as usize } else { 1 };
                    let length = (steps as usize).div_ceil(wanted).checked_next_multiple_of(unit);
                    length
                        .and_then(|length| i64::try_from(length).ok())
                        .map_or(Ranges::one(steps), |length| Ranges::new(steps, length))
                }
            }
        };
        let mut scattered: Vec<Scattered<'_>> = Vec::new();
        for position in any {
            scattered.push(self.scattered(position, ranges.count())?);
        }
        let tiles = self.shared_tiles(ranges.count());
        // Each range has a table of its own where copies take the place of arrays: then there are few.
        let own = if scattered.is_empty() { 0 } else { ranges.count() };
        let tables: Vec<Vec<u64>> = (0..own).map(|range| self.table_of(range, &mut scattered)).collect();
        let appended = self.appended(ranges.clone());
        let one = |range: usize, stop: &AtomicBool| {
            let (from, to) = ranges.get(range);
            let own = tables.get(range).unwrap_or(&self.table);
            let mut begun = None;
            if let Some((word, start)) = appended.as_ref().and_then(|appended| appended.start(range)) {
                let mut table = own.clone();
                table[word] = start;
                begun = Some(table);
            }
            let table = begun.as_ref().unwrap_or(own);
            let end = match &tiles {
                Some(tiles) => tiles.run(body, table, range, (from, to), stop)?,
                None => call(body, table, from, to)?,
            };
            if let Some(appended) = &appended
                && !stop.load(Ordering::Acquire)
            {
                appended.done(range, end);
            }
            Ok(())
        };
        if in_order {
            let never = AtomicBool::new(false);
            (0..ranges.count()).try_for_each(|range| one(range, &never))?;
        } else if steps > 0 {
            self.each(ranges.count(), one)?;
        }
        let appended = appended.map_or(0, |appended| appended.total());
        self.merge(&mut scattered, ranges.count())?;
        if let Some(finish) = self.loaded.part(Part::Finish) {
            call(finish, &self.table, 0, steps)?;
        }
        drop((partials, carries));
        Ok(appended)
    }

    /// Room for the results of blocks.
    ///
    /// # Errors
    /// [`fusebox_ir::Fault::TooLarge`].
    pub(super) fn partials(&mut self, steps: i64) -> Result<Vec<Memory>, RunError> {
        let blocks = (steps as u64).div_ceil(BLOCK as u64) as usize;
        let mut scratch = Vec::new();
        for argument in self.loaded.hidden.clone() {
            if let HiddenArgument::Partial(statement, _) | HiddenArgument::PartialFlags(statement) = argument {
                let mut memory = self.scratch(statement, "results of blocks", blocks, 8)?;
                self.set_hidden(argument, address(&mut memory));
                scratch.push(memory);
            }
        }
        Ok(scratch)
    }
}
