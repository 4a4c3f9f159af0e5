//! Turns of a loop of rows, or launches of rows, in a row: which versions of their arrays there are, which rows of each a strip needs, and in which memory
//! they are.

use fusebox_ir::analysis::kernels::RowUse;

use crate::{
    asked::Few,
    turns::{RowBytes, TurnLaunch, Turns},
};

/// The turns as one list of runs, each of which makes new versions of arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrolled {
    /// What it was made for.
    made_for: MadeFor,
    /// In order.
    pub runs: Vec<RowRun>,
    /// All versions; first the state before the first turn.
    pub versions: Vec<Version>,
    /// How many pieces of memory a strip needs for versions that are neither before the first turn nor after the last.
    pub slots: usize,
    /// Versions in memory of the strip, and the position in the state after the last turn that their rows go to: a strip needs more rows of
    /// them than it has, and those are other strips' to write.
    pub copied: Vec<(usize, usize)>,
}

/// All that turns in a row depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MadeFor {
    over_all: bool,
    turns: usize,
    states: Vec<(Option<usize>, usize)>,
    /// Which versions may share memory depends on it.
    row_bytes: Vec<RowBytes>,
    /// For each launch its arrays: the number of one that changes, and what the launch does with it.
    launches: Vec<Vec<(Option<usize>, RowUse)>>,
}

/// The run of a launch in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRun {
    /// Position in [`Turns::launches`].
    pub launch: usize,
    /// For each array of the kernel that changes, its version.
    pub versions: Few<Option<usize>>,
    /// The versions that it makes.
    pub written: Few<usize>,
    /// How many rows above those of the strip it has to make.
    pub above: i64,
    /// How many below.
    pub below: i64,
}

/// A version of an array that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Which array.
    pub array: usize,
    /// How many rows above those of the strip are needed.
    pub above: i64,
    /// How many below.
    pub below: i64,
    /// Where its rows are.
    pub memory: VersionMemory,
}

/// Where the rows of a version are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMemory {
    /// In the state before the first turn, at this position in [`Turns::before`].
    Before(usize),
    /// In the state after the last turn.
    After(usize),
    /// In a piece of memory of the strip.
    Slot(usize),
}

impl Unrolled {
    /// The turns in a row, over strips or, one after the other, over all rows; none if an array of the state after them is one of those before them.
    pub fn of<B>(turns: &Turns<'_, B>, over_all: bool) -> Option<Self> {
        let mut versions: Vec<Version> = Vec::new();
        let new = |array: usize, memory: VersionMemory| Version { array, above: 0, below: 0, memory };
        let mut current: Vec<Option<usize>> = vec![None; turns.row_bytes.len()];
        for begin in turns.states.iter().filter_map(|&(begin, _)| begin) {
            current[begin] = Some(versions.len());
            versions.push(new(begin, VersionMemory::Before(versions.len())));
        }
        let (mut runs, mut after) = (Vec::new(), Vec::new());
        for _ in 0..turns.turns {
            for (launch, own) in turns.launches.iter().enumerate() {
                let (mut used, mut written) = (Few::new(), Few::new());
                for (array, row_use) in &own.arrays {
                    used.push(match array.changing() {
                        None => None,
                        Some(array) if row_use.is_written() => {
                            current[array] = Some(versions.len());
                            written.push(versions.len());
                            versions.push(new(array, VersionMemory::Slot(0)));
                            current[array]
                        }
                        Some(array) => Some(current[array]?),
                    });
                }
                runs.push(RowRun { launch, versions: used, written, above: 0, below: 0 });
            }
            after = turns.states.iter().map(|&(_, end)| current[end]).collect::<Option<Vec<usize>>>()?;
            for (&(begin, _), &version) in turns.states.iter().zip(&after) {
                if let Some(begin) = begin {
                    current[begin] = Some(version);
                }
            }
        }
        let mut needed = vec![false; versions.len()];
        for (state, &version) in after.iter().enumerate() {
            if matches!(versions[version].memory, VersionMemory::Before(_)) || needed[version] {
                return None;
            }
            needed[version] = true;
            versions[version].memory = VersionMemory::After(state);
        }
        let arrays = |own: &TurnLaunch<'_, B>| own.arrays.iter().map(|(array, own)| (array.changing(), *own)).collect();
        let made_for = MadeFor {
            over_all,
            turns: turns.turns,
            states: turns.states.to_vec(),
            row_bytes: turns.row_bytes.to_vec(),
            launches: turns.launches.iter().map(arrays).collect(),
        };
        let mut unrolled = Self { made_for, runs, versions, slots: 0, copied: Vec::new() };
        unrolled.reach(turns, &mut needed);
        for (version, own) in unrolled.versions.iter_mut().enumerate() {
            if let VersionMemory::After(state) = own.memory
                && !over_all
                && (own.above, own.below) != (0, 0)
            {
                own.memory = VersionMemory::Slot(0);
                unrolled.copied.push((version, state));
            }
        }
        if over_all {
            unrolled.share_all_memory(turns.row_bytes);
        } else {
            unrolled.share_memory();
        }
        Some(unrolled)
    }

    /// Whether it is what [`Self::of`] makes of these turns. That takes no memory.
    pub fn is_of<B>(&self, turns: &Turns<'_, B>, over_all: bool) -> bool {
        let own = &self.made_for;
        let same = |(own, given): (&Vec<(Option<usize>, RowUse)>, &TurnLaunch<'_, B>)| {
            own.iter().copied().eq(given.arrays.iter().map(|(array, own)| (array.changing(), *own)))
        };
        (own.over_all, own.turns, &own.states[..]) == (over_all, turns.turns, turns.states)
            && own.row_bytes == turns.row_bytes
            && own.launches.len() == turns.launches.len()
            && own.launches.iter().zip(&turns.launches).all(same)
    }

    /// From the last run to the first: which rows are needed. Runs that nobody needs go.
    fn reach<B>(&mut self, turns: &Turns<'_, B>, needed: &mut [bool]) {
        let versions = &mut self.versions;
        for run in self.runs.iter_mut().rev() {
            let uses = turns.launches[run.launch].arrays.iter().map(|(_, row_use)| *row_use);
            let own: Few<(usize, RowUse)> =
                run.versions.iter().zip(uses).filter_map(|(version, row_use)| Some(((*version)?, row_use))).collect();
            let written = |(version, row_use): &&(usize, RowUse)| row_use.is_written() && needed[*version];
            if own.iter().find(written).is_none() {
                run.versions.clear();
                continue;
            }
            for (version, _) in own.iter().filter(written) {
                run.above = run.above.max(versions[*version].above);
                run.below = run.below.max(versions[*version].below);
            }
            for &(version, row_use) in &own {
                let (above, below) = if let RowUse::Near { above, below } = row_use { (above, below) } else { (0, 0) };
                let own = &mut versions[version];
                own.above = own.above.max(run.above + above);
                own.below = own.below.max(run.below + below);
                needed[version] = true;
            }
        }
        self.runs.retain(|run| !run.versions.is_empty());
    }

    /// Versions whose last use is over give their memory to later ones.
    fn share_memory(&mut self) {
        let mut last = vec![0; self.versions.len()];
        for (at, run) in self.runs.iter().enumerate() {
            run.versions.iter().flatten().for_each(|&version| last[version] = at);
        }
        self.copied.iter().for_each(|&(version, _)| last[version] = self.runs.len());
        let mut taken: Vec<usize> = Vec::new();
        let mut known = vec![false; self.versions.len()];
        for (at, run) in self.runs.iter().enumerate() {
            for &version in run.versions.iter().flatten() {
                if std::mem::replace(&mut known[version], true) {
                    continue;
                }
                let VersionMemory::Slot(slot) = &mut self.versions[version].memory else { continue };
                // What this run reads ends here, and its memory is not free yet.
                let free = taken.iter().position(|&until| until < at);
                *slot = free.unwrap_or(taken.len());
                if let Some(until) = taken.get_mut(*slot) {
                    *until = last[version];
                } else {
                    taken.push(last[version]);
                }
            }
        }
        self.slots = taken.len();
    }

    /// Of turns over all rows: versions also go to the memory of the state after the last turn, before that is there. From the last version to the first, so
    /// that two pieces of memory take turns.
    fn share_all_memory(&mut self, row_bytes: &[RowBytes]) {
        let mut used: Vec<Option<(usize, usize)>> = vec![None; self.versions.len()];
        for (at, run) in self.runs.iter().enumerate() {
            for &version in run.versions.iter().flatten() {
                used[version].get_or_insert((at, at)).1 = at;
            }
        }
        // From which run on each piece of memory is taken.
        let mut after: Vec<(VersionMemory, RowBytes, usize)> = Vec::new();
        for (own, used) in self.versions.iter().zip(&used) {
            if let (VersionMemory::After(_), Some((made, _))) = (own.memory, used) {
                after.push((own.memory, row_bytes[own.array], *made));
            }
        }
        let mut slots: Vec<usize> = Vec::new();
        for (own, used) in self.versions.iter_mut().zip(used).rev() {
            let (VersionMemory::Slot(slot), Some((made, last))) = (&mut own.memory, used) else { continue };
            if let Some((memory, _, from)) =
                after.iter_mut().find(|(_, bytes, from)| *bytes == row_bytes[own.array] && *from > last)
            {
                (own.memory, *from) = (*memory, made);
                continue;
            }
            *slot = slots.iter().position(|&from| from > last).unwrap_or(slots.len());
            if let Some(from) = slots.get_mut(*slot) {
                *from = made;
            } else {
                slots.push(made);
            }
        }
        self.slots = slots.len();
    }

    /// Whether no run behind this one reads what it makes, and all of that is in the state after the last turn.
    pub fn is_last(&self, run: usize) -> bool {
        let is_after = |version: &usize| matches!(self.versions[*version].memory, VersionMemory::After(_));
        let made = self.runs[run].written.iter();
        made.clone().all(is_after)
            && !self.runs[run + 1..]
                .iter()
                .any(|later| later.versions.iter().flatten().any(|own| made.clone().any(|made| made == own)))
    }

    /// How many rows beyond its own a strip needs of any version, above and below.
    pub fn halo(&self) -> (i64, i64) {
        self.versions.iter().fold((0, 0), |(above, below), own| (above.max(own.above), below.max(own.below)))
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::turns::TurnArray;

    const NEAR: RowUse = RowUse::Near { above: 1, below: 2 };

    /// Turns of launches, each given by the arrays that it reads nearby and the one that it writes.
    fn unrolled(turns: usize, launches: &[(&[usize], usize)], states: &[(Option<usize>, usize)]) -> Option<Unrolled> {
        unrolled_over(false, turns, launches, states)
    }

    fn unrolled_over(
        all: bool,
        turns: usize,
        launches: &[(&[usize], usize)],
        states: &[(Option<usize>, usize)],
    ) -> Option<Unrolled> {
        let launches = launches.iter().map(|&(read, written)| {
            let read = read.iter().map(|&array| (TurnArray::Changing(array), NEAR));
            let arrays = read.chain([(TurnArray::Changing(written), RowUse::Written)]).collect();
            TurnLaunch { kernel: 0, sizes: smallvec![], arrays }
        });
        let (before, after) = (vec![(); states.iter().flat_map(|own| own.0).count()], vec![(); states.len()]);
        let mut after = after;
        Unrolled::of(
            &Turns {
                turns,
                rows: 100,
                all_row_bytes: 8,
                launches: launches.collect(),
                row_bytes: &[RowBytes::Each(1); 8],
                offsets: None,
                states,
                before: before.iter().collect(),
                after: after.iter_mut().collect(),
            },
            all,
        )
    }

    #[test]
    fn each_turn_before_needs_more_rows() {
        let found = unrolled(4, &[(&[0], 1)], &[(Some(0), 1)]).unwrap();
        assert_eq!(found.halo(), (4, 8));
        assert_eq!(
            found.runs.iter().map(|run| (run.above, run.below)).collect::<Vec<_>>(),
            [(3, 6), (2, 4), (1, 2), (0, 0)]
        );
        // Two of the three versions between are there at a time.
        assert_eq!((found.slots, found.copied.len()), (2, 0));
        assert_eq!(found.versions[4].memory, VersionMemory::After(0));
    }

    #[test]
    fn turns_over_all_rows_take_two_pieces_of_memory_in_turn() {
        for turns in 1..6 {
            let found = unrolled_over(true, turns, &[(&[0], 1)], &[(Some(0), 1)]).unwrap();
            assert_eq!((found.slots, found.copied.len()), (usize::from(turns > 1), 0));
            let memory: Vec<VersionMemory> = found.versions.iter().rev().map(|own| own.memory).collect();
            for (back, memory) in memory[..turns].iter().enumerate() {
                let own = if back % 2 == 0 { VersionMemory::After(0) } else { VersionMemory::Slot(0) };
                assert_eq!(*memory, own, "{turns} turns, {back} from the end");
            }
            assert_eq!(memory[turns], VersionMemory::Before(0));
        }
        // A turn needs the states of two turns before: what is written over is nobody's any more.
        let found = unrolled_over(true, 9, &[(&[0, 1], 2)], &[(Some(0), 2), (Some(1), 0)]).unwrap();
        for (at, run) in found.runs.iter().enumerate() {
            for &written in &run.written {
                let later = found.runs[at..].iter().flat_map(|run| run.versions.iter().flatten());
                let memory = found.versions[written].memory;
                assert!(later.filter(|&&own| own < written).all(|&own| found.versions[own].memory != memory));
            }
        }
    }

    #[test]
    fn launches_that_only_later_turns_would_need_are_left_out() {
        // Array 2 is made in each turn for the next one; that of the last turn is of no use.
        let found = unrolled(2, &[(&[0, 3], 1), (&[1], 2), (&[2], 4)], &[(Some(0), 1), (Some(3), 2)]).unwrap();
        assert_eq!(found.runs.len(), 4, "{found:?}");
    }

    #[test]
    fn rows_of_other_strips_are_not_written() {
        // The second array is computed from the first of the same turn, so more rows of the first are made than the strip has.
        let found = unrolled(2, &[(&[0, 1], 2), (&[1, 2], 3)], &[(Some(0), 2), (Some(1), 3)]).unwrap();
        assert_eq!(found.copied.iter().map(|own| own.1).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_state_that_was_there_before_is_no_result() {
        assert_eq!(unrolled(1, &[(&[0], 2)], &[(Some(0), 2), (Some(1), 0)]), None);
        assert!(unrolled(2, &[(&[0], 2)], &[(Some(0), 2), (Some(1), 0)]).is_some());
    }
    #[test]
    fn what_launches_one_after_the_other_make_for_each_other_is_in_memory_of_the_strip() {
        // Array 0 is made for array 1, and both for array 2, which stays.
        let found = unrolled(1, &[(&[], 0), (&[0], 1), (&[0, 1], 2)], &[(None, 2)]).unwrap();
        let memory: Vec<VersionMemory> = found.versions.iter().map(|own| own.memory).collect();
        assert_eq!(memory, [VersionMemory::Slot(0), VersionMemory::Slot(1), VersionMemory::After(0)]);
        assert_eq!([0, 1, 2].map(|run| found.is_last(run)), [false, false, true]);
        // Two that stay, of which one is read again.
        let found = unrolled(1, &[(&[], 0), (&[0], 1)], &[(None, 0), (None, 1)]).unwrap();
        assert_eq!([0, 1].map(|run| found.is_last(run)), [false, true]);
    }
}
