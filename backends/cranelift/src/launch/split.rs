//! The outermost level in ranges.

use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_ir::{Action, RunError, ScatterOrder};

use super::{Run, call, scatter::Scattered};
use crate::{
    emit::{BLOCK, Extra, Part, identities},
    load::Code,
};

impl<'a> Run<'a> {
    /// The body in ranges, then what is at depth 0; the number of appended elements.
    pub(super) fn split(&mut self, body: &Code) -> Result<u64, RunError> {
        let steps = self.outermost;
        self.extra(Extra::Steps, steps as u64);
        let partials = self.partials(steps);
        let carries = self.carries(steps);
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
                        chunked = Some(Self::chunks(steps, self.target_size(arrays[0])));
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
            Some(chunks) => {
                let length = (steps as u64).div_ceil(chunks as u64).max(1) as usize;
                (0..steps).step_by(length).map(|from| (from, (from + length as i64).min(steps))).collect()
            }
            None if in_order => vec![(0, steps)],
            // A copy for each tile would be too many.
            None if scans && !any.is_empty() => vec![(0, steps)],
            None if scans && self.append().is_some() && self.most_appended(steps).is_none() => vec![(0, steps)],
            None if scans => self.tiles(steps),
            None if self.append().is_some() => match self.most_appended(steps) {
                Some(_) => self.ranges(steps, if in_blocks { BLOCK } else { 1 }),
                None => vec![(0, steps)],
            },
            None if any.is_empty() => self.ranges(steps, if in_blocks { BLOCK } else { 64.min(steps / 64).max(1) }),
            None => {
                // A copy for each thread, where that costs less than it saves.
                let size = any.iter().map(|&position| self.scatter_size(position)).max().unwrap_or(0);
                let most = (steps as usize / (2 * size).max(1)).min(self.shared.threads.count());
                let wanted = self.ranges(steps, 1).len().min(most).max(1) as i64;
                let unit = if in_blocks { BLOCK as usize } else { 1 };
                let length = (steps as usize).div_ceil(wanted as usize).max(1).next_multiple_of(unit);
                (0..steps).step_by(length).map(|from| (from, (from + length as i64).min(steps))).collect()
            }
        };
        let mut scattered: Vec<Scattered<'_>> = Vec::new();
        for position in any {
            scattered.push(self.scattered(position, ranges.len())?);
        }
        let tiles = self.shared_tiles(ranges.len());
        let tables: Vec<Vec<u64>> = (0..ranges.len()).map(|range| self.table_of(range, &mut scattered)).collect();
        let appended = self.appended(&ranges);
        let one = |range: usize, stop: &AtomicBool| {
            let (from, to) = ranges[range];
            let mut begun = None;
            if let Some((word, start)) = appended.as_ref().and_then(|appended| appended.start(range)) {
                let mut table = tables[range].clone();
                table[word] = start;
                begun = Some(table);
            }
            let table = begun.as_ref().unwrap_or(&tables[range]);
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
            (0..ranges.len()).try_for_each(|range| one(range, &never))?;
        } else if steps > 0 {
            self.each(ranges.len(), one)?;
        }
        let appended = appended.map_or(0, |appended| appended.total());
        self.merge(&scattered, ranges.len())?;
        if let Some(finish) = self.loaded.part(Part::Finish) {
            call(finish, &self.table, 0, steps)?;
        }
        drop((partials, carries));
        Ok(appended)
    }

    /// Room for the results of blocks.
    pub(super) fn partials(&mut self, steps: i64) -> Vec<Vec<u64>> {
        let blocks = (steps as u64).div_ceil(BLOCK as u64) as usize;
        let mut rooms = Vec::new();
        for extra in self.loaded.extras.clone() {
            if matches!(extra, Extra::Partial(..) | Extra::PartialFlags(_)) {
                let mut room = vec![0u64; blocks + 8];
                self.extra(extra, room.as_mut_ptr() as u64);
                rooms.push(room);
            }
        }
        rooms
    }
}
