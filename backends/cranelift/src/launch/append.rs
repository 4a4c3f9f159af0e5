//! Appends of ranges that run apart from each other: what they put is moved together, in order.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use fusebox_backend::{Few, lock};
use fusebox_ir::{Action, KernelArrayId};

use super::{KernelLaunch, Ranges, append_of, table::Table};
use crate::emit::HiddenArgument;

/// Ranges that append: each behind the place where all before it would end if they kept everything; then moved together, in order, while
/// later ranges run.
pub(super) struct Appended<'m> {
    /// Elements that a step may put at most.
    most: i64,
    /// The word of the argument table that says where a range begins to put.
    word: Option<usize>,
    table: Table<'m>,
    /// Arrays, bytes of their elements, and how many they have room for.
    arrays: Few<(KernelArrayId, usize, usize)>,
    ranges: Ranges,
    front: Mutex<Front>,
}

struct Front {
    /// How many ranges are together, and how many elements those have.
    together: usize,
    total: u64,
    /// Of the others that are done: no more than run at a time, and those that wait for the slowest.
    counts: BTreeMap<usize, u64>,
}

impl Appended<'_> {
    /// Where a range begins to put, in elements.
    fn place(&self, range: usize) -> u64 {
        (self.ranges.get(range).0 * self.most) as u64
    }

    /// Where a range begins to put.
    ///
    /// That place is written here, with what it holds. Gangs of which no lane is kept store there with an empty mask, and while nobody has written to the page, a processor takes
    /// hundreds of cycles for each such store: it would fault, and the mask says that it does not.
    pub(super) fn start(&self, range: usize) -> Option<(usize, u64)> {
        let place = self.place(range);
        let (from, to) = self.ranges.get(range);
        // Steps that put nothing have no places of their own.
        let own = from < to && (self.most > 0 || self.ranges.count() == 1);
        for &(array, width, room) in self.arrays.iter().filter(|_| own) {
            if place < room as u64 {
                self.table.touch((array, width), place);
            }
        }
        self.word.map(|word| (word, place))
    }

    /// A range is done; `end` is behind the last element that it has put.
    pub(super) fn done(&self, range: usize, end: u64) {
        let mut front = lock(&self.front);
        let Front { together, total, counts } = &mut *front;
        let mut next = Some(end - self.place(range));
        if range != *together {
            counts.extend(next.take().map(|count| (range, count)));
        }
        while let Some(count) = next.take().or_else(|| counts.remove(together)) {
            let from = self.place(*together);
            for &(array, width, _) in &self.arrays {
                self.table.move_down((array, width), from, *total, count);
            }
            *total += count;
            *together += 1;
        }
    }

    /// All elements.
    pub(super) fn total(self) -> u64 {
        self.front.into_inner().unwrap_or_else(PoisonError::into_inner).total
    }
}

impl KernelLaunch<'_> {
    /// How many elements a step of the outermost level may append, where that and the room allow for ranges apart from each other.
    pub(super) fn most_appended(&self, steps: i64) -> Option<i64> {
        let (arrays, _) = append_of(self.kernel)?;
        let depth =
            self.kernel.statements.iter().find(|statement| matches!(statement.action, Action::Append { .. }))?.depth;
        let inner = (1..depth as usize).try_fold(1i64, |points, level| points.checked_mul(self.steps(level)?))?;
        let points = steps.checked_mul(inner)?;
        arrays.iter().all(|&array| self.target_size(array) as i64 >= points).then_some(inner)
    }

    /// For ranges of a kernel that appends.
    pub(super) fn appended<'m>(&self, table: &Table<'m>, ranges: Ranges) -> Option<Appended<'m>> {
        let (arrays, _) = append_of(self.kernel)?;
        let word = table.word_of(HiddenArgument::Appended);
        let arrays = arrays
            .iter()
            .map(|&id| (id, self.kernel.arrays[id.index()].element.bytes(), self.target_size(id)))
            .collect();
        let most = if ranges.count() > 1 { self.most_appended(self.outermost).unwrap_or(0) } else { 0 };
        let front = Mutex::new(Front { together: 0, total: 0, counts: BTreeMap::new() });
        Some(Appended { most, word, table: table.clone(), arrays, ranges, front })
    }
}
