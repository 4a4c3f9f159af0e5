//! The outermost level in ranges.

use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_backend::Few;
use fusebox_ir::{Action, Array, RunError, ScatterOrder, association::BLOCK};

use super::{KernelLaunch, Ranges, append_of, scan::Tiles, scatter::Scattered, table::Table};
use crate::{
    code_memory::Code,
    emit::{HiddenArgument, Part},
};

/// Ranges with copies of their own for each thread, at most.
const COPIES_OF_A_THREAD: usize = 4;

impl KernelLaunch<'_> {
    /// The body in ranges, then what is at depth 0; the number of appended elements.
    pub(super) fn split(&self, table: Table<'_>, body: &Code) -> Result<u64, RunError> {
        let steps = self.outermost;
        let mut scratch = Few::new();
        self.carries(steps, &mut scratch)?;
        self.partials(steps, &mut scratch)?;
        let mut table = table;
        table.set(HiddenArgument::Steps, steps as u64);
        scratch.iter_mut().for_each(|(argument, memory)| table.point(*argument, memory.bytes_mut()));
        if let Some(partitions) = self.partitions()? {
            self.in_parts(&table, partitions)?;
            if let Some(finish) = self.loaded.part(Part::Finish) {
                table.call(finish, (0, steps))?;
            }
            return Ok(0);
        }
        let scans = self.loaded.part(Part::Totals).is_some();
        let mut in_order = false;
        let mut in_blocks = false;
        let mut chunked = None;
        let mut any: Few<usize> = Few::new();
        let mut copies = COPIES_OF_A_THREAD * self.shared.threads.count();
        for (position, statement) in self.kernel.statements.iter().enumerate() {
            match &statement.action {
                Action::Reduce { to: 0, .. } => in_blocks = true,
                Action::Scatter { arrays, order, .. } => match order {
                    ScatterOrder::InOrder => in_order = true,
                    ScatterOrder::Unique => {}
                    ScatterOrder::Chunks => {
                        chunked = Some(Self::chunks(steps, self.target_size(arrays[0])).1);
                        any.push(position);
                    }
                    ScatterOrder::Any => match self.copies(position) {
                        Some(most) => {
                            any.push(position);
                            copies = copies.min(most);
                        }
                        None => in_order = true,
                    },
                },
                _ => {}
            }
        }
        let ranges = match chunked {
            // What could be put aside or copied, but is not.
            _ if in_order => Ranges::one(steps),
            Some(length) => Ranges::new(steps, length),
            None if scans && append_of(self.kernel).is_some() && self.most_appended(steps).is_none() => {
                Ranges::one(steps)
            }
            None if scans => self.tiles(steps),
            None if append_of(self.kernel).is_some() => match self.most_appended(steps) {
                Some(_) => self.ranges(steps, if in_blocks { BLOCK } else { 1 }),
                None => Ranges::one(steps),
            },
            None if any.is_empty() => match &self.cuts {
                Some(cuts) => Ranges::cut(cuts, usize::MAX),
                None => self.ranges(steps, if in_blocks { BLOCK } else { 64.min(steps / 64).max(1) }),
            },
            None => {
                if let Some(cuts) = &self.cuts {
                    Ranges::cut(cuts, copies)
                } else {
                    let wanted = self.ranges(steps, 1).count().min(copies).max(1);
                    // The rest of a gang would be scalar code.
                    let unit = self.share_unit();
                    let whole = if in_blocks { BLOCK as usize } else { unit as usize };
                    let length = (steps as usize).div_ceil(wanted).checked_next_multiple_of(whole);
                    length
                        .and_then(|length| i64::try_from(length).ok())
                        .map_or(Ranges::one(steps), |length| Ranges::new(steps, length).joined(unit))
                }
            }
        };
        let ranges = if self.long.is_empty() { ranges } else { ranges.without(&self.long) };
        let mut scattered: Vec<Scattered<'_>> = Vec::new();
        for position in any {
            // One range works on the targets themselves.
            if ranges.count() > 1 || self.has_flags(position) {
                scattered.push(self.scattered(position, ranges.count(), true)?);
            }
        }
        let tiles = self.shared_tiles(&mut table, ranges.count());
        let appended = self.in_ranges(body, &table, &mut scattered, (&ranges, tiles))?;
        self.merge(&table, &mut scattered, ranges.count())?;
        if let Some(finish) = self.loaded.part(Part::Finish) {
            table.call(finish, (0, steps))?;
        }
        Ok(appended)
    }

    /// The body for each range; the number of appended elements.
    fn in_ranges(
        &self,
        body: &Code,
        table: &Table<'_>,
        scattered: &mut [Scattered<'_>],
        (ranges, tiles): (&Ranges, Option<Tiles<'_>>),
    ) -> Result<u64, RunError> {
        // Each range has a table of its own where copies take the place of arrays: then there are few.
        let own = if scattered.is_empty() { 0 } else { ranges.count() };
        let tables = self.tables(table, scattered, own);
        let appended = self.appended(table, ranges.clone());
        let clock = self.clock();
        let one = |range: usize, stop: &AtomicBool| {
            let (from, to) = ranges.get(range);
            let own = tables.get(range).unwrap_or(table);
            let mut begun = None;
            if let Some((word, start)) = appended.as_ref().and_then(|appended| appended.start(range)) {
                let mut table = own.clone();
                table.set_word(word, start);
                begun = Some(table);
            }
            let table = begun.as_ref().unwrap_or(own);
            let end = clock.time(|| match &tiles {
                Some(tiles) => tiles.run(body, table, range, (from, to), stop),
                None => table.call(body, (from, to)),
            })?;
            if let Some(appended) = &appended
                && !stop.load(Ordering::Acquire)
            {
                appended.done(range, end);
            }
            Ok(())
        };
        if self.outermost > 0 {
            self.each(ranges.count(), one)?;
            clock.keep(|| self.estimate());
        }
        Ok(appended.map_or(0, |appended| appended.total()))
    }

    /// Makes room for the results of blocks; with the hidden argument that each is for.
    ///
    /// # Errors
    /// [`fusebox_ir::Fault::TooLarge`].
    fn partials(&self, steps: i64, scratch: &mut Few<(HiddenArgument, Array)>) -> Result<(), RunError> {
        let blocks = (steps as u64).div_ceil(BLOCK as u64) as usize;
        for &argument in &self.loaded.hidden {
            if let HiddenArgument::Partial(statement, _) | HiddenArgument::PartialFlags(statement) = argument {
                scratch.push((argument, self.scratch(statement, || "results of blocks".to_owned(), blocks, 8)?));
            }
        }
        Ok(())
    }
}
