//! Launches of rows, handed to a machine together: turns of a loop, or launches one after the other.

use fusebox_ir::{
    Extent, Step, ValueId,
    analysis::{RowLaunch, kernels::RowUse},
};

use super::{
    buffers::BufferId,
    state::{Executor, Result, Value},
};
use crate::{
    asked::{Extents, Few},
    machine::Machine,
    profile::timed,
    turns::{RowBytes, RowShape, TurnArray, TurnLaunch, Turns},
};

/// The arrays that launches of rows change. Few have lists in place: launches that stay in order ask for no memory.
pub(super) struct Changing {
    pub(super) ids: Few<ValueId>,
    pub(super) extents: Few<Extents>,
    row_bytes: Few<RowBytes>,
    /// For each array of the state its number, if it is there before, and that of the array that stands there afterwards.
    pub(super) states: Few<(Option<usize>, usize)>,
    rows: i64,
    /// Bytes of a row of all of them, and of arrays that are read row by row; in the mean, if they are segments.
    all_row_bytes: usize,
    offsets: Option<ValueId>,
}

impl Changing {
    /// What a machine has to know of them.
    pub(super) fn shape(&self, reach: (i64, i64)) -> RowShape {
        RowShape { rows: self.rows, row_bytes: self.all_row_bytes, reach }
    }
}

impl<M: Machine> Executor<'_, M> {
    /// What each array that launches of some steps change is like, if all are of equally many rows. Of the state: what is there before, and
    /// what afterwards. Then come arrays that are only read row by row, and the offsets of segments.
    pub(super) fn changing(
        &self,
        (launches, steps): (&[RowLaunch], &[Step]),
        states: impl Iterator<Item = (Option<ValueId>, ValueId)>,
        (read, offsets): (&[ValueId], Option<ValueId>),
    ) -> Result<Changing> {
        let mut ids: Few<ValueId> = Few::new();
        let mut of_segments: Few<bool> = Few::new();
        let mut number = |id: ValueId, own: Option<RowUse>| {
            let at = ids.iter().position(|&own| own == id).unwrap_or_else(|| {
                ids.push(id);
                of_segments.push(false);
                ids.len() - 1
            });
            of_segments[at] |= own.is_some_and(RowUse::is_of_segments);
            at
        };
        let states = states.map(|(begin, end)| (begin.map(|begin| number(begin, None)), number(end, None))).collect();
        let mut rows = None;
        for launch in launches {
            for (&id, &own) in launch.arrays.iter().zip(&launch.uses) {
                if own != RowUse::Anywhere {
                    number(id, Some(own));
                }
            }
            if let (None, Step::Launch { sizes, .. }) = (rows, &steps[launch.step]) {
                let size = sizes.get(launch.rows).copied().unwrap_or(Extent::Unknown);
                rows = Some(self.extent(size)? - launch.less);
            }
        }
        let rows = rows.unwrap_or_default();
        let extents = ids.iter().map(|&id| self.extents_of(id, None)).collect::<Result<Few<Extents>>>()?;
        let (mut row_bytes, mut all) = (Few::new(), 0usize);
        for ((extents, &id), &of_segments) in extents.iter().zip(&ids).zip(&of_segments) {
            let elements = extents[1..].iter().product::<i64>();
            let bytes = usize::try_from(elements).ok().and_then(|own| own.checked_mul(self.element(id).bytes()));
            match bytes {
                Some(bytes) if of_segments || extents[0] == rows => {
                    all = all.saturating_add(bytes.saturating_mul(extents[0] as usize));
                    row_bytes.push(if of_segments {
                        RowBytes::Segment(bytes, extents[0])
                    } else {
                        RowBytes::Each(bytes)
                    });
                }
                _ => return Err(self.bad_plan("arrays of rows are of different rows".to_owned())),
            }
        }
        for &id in read {
            let elements = self.value(id)?.extents.iter().product::<i64>();
            all = all.saturating_add((elements as usize).saturating_mul(self.element(id).bytes()));
        }
        let all_row_bytes = all / usize::try_from(rows).unwrap_or_default().max(1);
        Ok(Changing { ids, extents, row_bytes, states, rows, all_row_bytes, offsets })
    }

    /// Does launches of some steps so many times at once; what stands in the place of the state afterwards, if the machine did it, else nothing has changed.
    /// Memory for it is handed in, and given back only then.
    pub(super) fn rows_into(
        &mut self,
        turns: usize,
        launches: (&[RowLaunch], &[Step]),
        changing: &Changing,
        after: Few<Value>,
    ) -> Result<Option<Few<Value>>> {
        let taken: Few<Option<(BufferId, M::Buffer)>> = after
            .iter()
            .map(|value| value.buffer.and_then(|buffer| Some((buffer, self.buffers.take(buffer)?))))
            .collect();
        let Some(mut taken) = taken.into_iter().collect::<Option<Few<_>>>() else {
            return Err(self.bad_plan("a state without memory".to_owned()));
        };
        let ran = self.rows_of(turns, launches, changing, taken.iter_mut().map(|(_, buffer)| buffer).collect());
        for (id, buffer) in taken {
            self.buffers.put(id, buffer);
        }
        match ran {
            Ok(Some(bytes)) => {
                self.statistics.peak_bytes = self.statistics.peak_bytes.max(self.live_bytes + bytes);
                Ok(Some(after))
            }
            failed => {
                after.into_iter().for_each(|value| self.drop_value(value));
                failed.map(|_| None)
            }
        }
    }

    /// The bytes that the machine took in between, if it did it.
    fn rows_of<'a>(
        &'a mut self,
        turns: usize,
        (launches, steps): (&[RowLaunch], &[Step]),
        changing: &'a Changing,
        after: Few<&'a mut M::Buffer>,
    ) -> Result<Option<usize>> {
        // Scalars get memory before anything is borrowed.
        for launch in launches {
            for (&id, row_use) in launch.arrays.iter().zip(&launch.uses) {
                if *row_use == RowUse::Anywhere {
                    self.bring(id)?;
                }
            }
        }
        let begins = changing.states.iter().filter_map(|&(begin, _)| begin);
        let before: Few<BufferId> = begins.map(|begin| self.bring(changing.ids[begin])).collect::<Result<_>>()?;
        let offsets = changing.offsets.map(|id| self.bring(id)).transpose()?;
        let executor = &*self;
        let mut given: Few<TurnLaunch<'_, M::Buffer>> = Few::new();
        for launch in launches {
            let Step::Launch { kernel, sizes, arrays } = &steps[launch.step] else { continue };
            let Some(declared) = executor.plan.kernels.get(*kernel) else {
                return Err(executor.bad_plan(format!("there is no kernel {kernel}")));
            };
            let sizes = executor.sizes_of(declared, sizes)?;
            let rows = sizes.get(launch.rows).map(|size| size - launch.less);
            if rows != Some(changing.rows) || arrays.len() != declared.arrays.len() {
                return Ok(None);
            }
            let mut own = Few::new();
            for (at, (&id, array)) in arrays.iter().zip(&declared.arrays).enumerate() {
                let (base, row_use) = (launch.arrays[at], launch.uses[at]);
                let memory = if row_use == RowUse::Anywhere {
                    let value = executor.value(id)?;
                    executor.check_array(declared, &sizes, array, (value.element, &value.extents))?;
                    let buffer = value.buffer.map(|buffer| executor.buffer(buffer)).transpose()?;
                    TurnArray::Same(buffer.ok_or_else(|| executor.bad_plan("a scalar without memory".to_owned()))?)
                } else {
                    let Some(number) = changing.ids.iter().position(|&own| own == base) else { return Ok(None) };
                    let extents = executor.extents_of(id, None)?;
                    let elements = |extents: &Extents| extents[1..].iter().product::<i64>();
                    let named = &changing.extents[number];
                    if extents.first() != named.first() || elements(&extents) != elements(named) {
                        return Ok(None);
                    }
                    executor.check_array(declared, &sizes, array, (executor.element(id), &extents))?;
                    TurnArray::Changing(number)
                };
                own.push((memory, row_use));
            }
            given.push(TurnLaunch { kernel: *kernel, sizes, arrays: own });
        }
        let Some(first) = given.first() else { return Ok(None) };
        let before = before.iter().map(|&buffer| executor.buffer(buffer)).collect::<Result<Few<_>>>()?;
        let offsets = offsets.map(|buffer| executor.buffer(buffer)).transpose()?;
        let (kernel, sizes) = (first.kernel, first.sizes.clone());
        let (row_bytes, states) = (&changing.row_bytes[..], &changing.states[..]);
        let (rows, all_row_bytes) = (changing.rows, changing.all_row_bytes);
        let turns = Turns { turns, rows, all_row_bytes, launches: given, row_bytes, offsets, states, before, after };
        timed(kernel, &sizes, || executor.machine.turns(turns))
    }
}
