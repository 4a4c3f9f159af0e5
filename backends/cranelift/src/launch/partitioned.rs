//! Scatters whose elements are put aside first: ranges of the outermost level leave records, sorted by parts of the targets, and then each part is
//! combined by one thread, range after range. Each target gets its elements in the order of the source.

use std::sync::Mutex;

use bytemuck::Pod;
use fusebox_backend::lock;
use fusebox_ir::{Action, Array, ElementType, RunError, ScatterOrder, association::BLOCK, bug};

use super::{
    KernelLaunch, Ranges,
    table::{Table, parts},
};
use crate::{
    emit::{HiddenArgument, Part},
    loaded_kernel::Partitioned,
};

/// Records of a range, at most, unless a step has more: what is sorted stays in the second cache.
const RECORDS: i64 = 1 << 16;
/// Parts, at most: each is a place that records are written to at a time.
const MOST_PARTS: u64 = 512;

/// How the elements of one launch are put aside.
pub(super) struct InParts {
    scatter: Partitioned,
    /// A target shifted by so many bits to the right is its part.
    shift: u32,
    parts: usize,
    ranges: Ranges,
    /// Records that a range has room for.
    room: usize,
    /// The records of all ranges, each range's from its own place on.
    records: Array,
}

impl KernelLaunch<'_> {
    /// Whether this launch puts elements aside, and how; none also where there is no memory for them.
    pub(super) fn partitions(&self) -> Result<Option<InParts>, RunError> {
        let Some(scatter) = self.loaded.partitioned else { return Ok(None) };
        let statement = &self.kernel.statements[scatter.statement];
        let Action::Scatter { arrays, order, .. } = &statement.action else { return Ok(None) };
        let targets = self.target_size(arrays[0]) as u64;
        let bytes = arrays.iter().map(|array| self.kernel.arrays[array.index()].element.bytes() as u64).sum::<u64>();
        let steps = self.outermost;
        let in_one_chunk = *order != ScatterOrder::Chunks || Self::chunks(steps, targets as usize).0 == 1;
        let few = targets.saturating_mul(bytes) < scatter.from || u32::try_from(targets).is_err();
        if !self.way.shared || few || !in_one_chunk {
            return Ok(None);
        }
        let mut shift = scatter.targets.ilog2();
        while targets.div_ceil(1 << shift) > MOST_PARTS {
            shift += 1;
        }
        let count = targets.div_ceil(1 << shift) as usize;
        let inner =
            (1..statement.depth as usize).try_fold(1i64, |points, level| points.checked_mul(self.steps(level)?));
        let Some(inner) = inner.filter(|_| count > 1) else { return Ok(None) };
        // Neither blocks of reduces nor gangs are parted.
        let in_blocks = self.kernel.statements.iter().any(|own| matches!(own.action, Action::Reduce { to: 0, .. }));
        let unit = if in_blocks { BLOCK } else { self.share_unit() };
        let length = (RECORDS / inner.max(1)).max(1) as u64;
        let length = length.checked_next_multiple_of(unit as u64).map_or(steps, |length| length as i64);
        let ranges = Ranges::new(steps, length);
        let room = length.min(steps.max(1)).checked_mul(inner.max(1)).and_then(|room| u32::try_from(room).ok());
        // One more is written where the last does not take part.
        let Some(room) = room.and_then(|room| room.checked_add(1)).map(|room| room as usize) else { return Ok(None) };
        let words = scatter.record / size_of::<u64>();
        let records = self.shared.memory.take(ElementType::U64, &[ranges.count(), room, words]);
        Ok(records.map(|records| InParts { scatter, shift, parts: count, ranges, room, records }))
    }

    /// Runs the ranges, and then the parts.
    pub(super) fn in_parts(&self, table: &Table<'_>, in_parts: InParts) -> Result<(), RunError> {
        let InParts { scatter, shift, parts: count, ranges, room, mut records } = in_parts;
        let (body, combine) = (Part::Partition(scatter.statement), Part::Combine(scatter.statement));
        let (Some(body), Some(combine)) = (self.loaded.part(body), self.loaded.part(combine)) else {
            bug!(self.kernel, "no code puts elements aside")
        };
        let argument = HiddenArgument::Records(scatter.statement);
        // What a range has put aside, before it is sorted: as many as there are threads.
        let spare: Mutex<Vec<Array>> = Mutex::default();
        let sorted: Vec<Mutex<(&mut [u8], Vec<u32>)>> =
            parts(records.bytes_mut(), ranges.count(), room * scatter.record)
                .into_iter()
                .map(|own| Mutex::new((own, Vec::new())))
                .collect();
        self.each(ranges.count(), |range, _| {
            let mut own = match lock(&spare).pop() {
                Some(own) => own,
                None => self.scratch(scatter.statement, || "elements put aside".to_owned(), room, scatter.record)?,
            };
            let put = {
                let mut table = table.clone();
                table.point(argument, own.bytes_mut());
                table.call(body, ranges.get(range))?
            };
            let mut sorted = lock(&sorted[range]);
            let (to, ends) = &mut *sorted;
            *ends = sort(&own.bytes()[..put as usize * scatter.record], to, (scatter.record, shift, count));
            lock(&spare).push(own);
            Ok(())
        })?;
        let ends: Vec<Vec<u32>> = sorted
            .into_iter()
            .map(|own| own.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).1)
            .collect();
        let mut table = table.clone();
        table.point(argument, records.bytes_mut());
        self.each(count, |part, _| {
            for (range, ends) in ends.iter().enumerate() {
                let from = part.checked_sub(1).map_or(0, |before| ends[before]);
                let first = (range * room) as i64;
                if from < ends[part] {
                    table.call(combine, (first + i64::from(from), first + i64::from(ends[part])))?;
                }
            }
            Ok(())
        })
    }
}

/// Puts records of so many bytes in the order of their parts; gives where each part ends.
fn sort(records: &[u8], to: &mut [u8], (bytes, shift, parts): (usize, u32, usize)) -> Vec<u32> {
    match bytes {
        8 => sort_words::<1>(records, to, shift, parts),
        16 => sort_words::<2>(records, to, shift, parts),
        24 => sort_words::<3>(records, to, shift, parts),
        _ => sort_words::<4>(records, to, shift, parts),
    }
}

fn sort_words<const WORDS: usize>(records: &[u8], to: &mut [u8], shift: u32, parts: usize) -> Vec<u32>
where
    [u64; WORDS]: Pod,
{
    let records: &[[u64; WORDS]] = bytemuck::cast_slice(records);
    let to: &mut [[u64; WORDS]] = &mut bytemuck::cast_slice_mut(to)[..records.len()];
    // The target is the low half of the first word.
    let part = |record: &[u64; WORDS]| (record[0] as u32 >> shift) as usize;
    let mut next = vec![0u32; parts];
    for record in records {
        next[part(record)] += 1;
    }
    let mut sum = 0;
    for next in &mut next {
        sum += std::mem::replace(next, sum);
    }
    for record in records {
        let place = &mut next[part(record)];
        to[*place as usize] = *record;
        *place += 1;
    }
    next
}
