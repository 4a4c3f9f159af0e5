//! A warp: the values of its lanes, and the groups of lanes that are at the same step.
//!
//! Lanes that part go on as two groups. The group whose step stands first in the text runs, and groups that come to the same step become one:
//! where code is laid out in order, as compilers do, lanes meet again where they would by immediate post-dominators, and nothing must be
//! computed. So that nobody waits forever for somebody who is not run, a group that polls memory lets another one run after a few turns,
//! as the progress of every thread is guaranteed from sm_70 on.

use super::arena::Arena;
use super::seen::Seen;
use crate::code::{Slot, Special};
use crate::lanes::Row;
use crate::module::Entry;
use crate::order::Thread;
use crate::random::Random;

/// Why a group does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// For other lanes of its warp to come to the same step.
    ForWarp,
    /// At a barrier of the block.
    ForBlock,
}

/// Lanes at the same step.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub pc: u32,
    pub lanes: u32,
    pub state: State,
    /// It looks at what others may change.
    pub polls: bool,
    /// How often it went back while nobody changed anything.
    pub turns: u32,
    /// What it was like at an earlier turn.
    pub seen: Option<Seen>,
    /// The version of memory at which it is known to turn without end.
    pub spins: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Warp {
    /// Its number in the block.
    pub number: u32,
    pub rows: Vec<Row>,
    /// The lanes that have a value, by slot.
    pub written: Vec<u32>,
    pub groups: Vec<Group>,
    /// Lanes that have not ended.
    pub live: u32,
    pub threads: Vec<Thread>,
    pub local: Vec<Option<Arena>>,
    /// A lane whose group runs next, for so many steps.
    favoured: Option<(u32, u32)>,
    /// Instructions that it has carried out.
    pub instructions: u64,
    polls: u32,
    turns: u32,
}

/// What special registers hold.
pub(crate) struct Place {
    pub block: [u32; 3],
    pub blocks: [u32; 3],
    pub threads: [u32; 3],
    pub dynamic_shared: u32,
    pub total_shared: u32,
}

impl Place {
    /// The index of a thread by its number in the block.
    pub fn thread(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.threads;
        [number % x, number / x % y, number / x / y]
    }

    /// Threads of a block.
    pub fn count(&self) -> u32 {
        self.threads.iter().product()
    }
}

impl Warp {
    pub fn new(number: u32, entry: &Entry, place: &Place, globals: &[u64], threads: Vec<Thread>) -> Self {
        let body = &entry.body;
        let mut rows = vec![[0; 32]; body.slots as usize];
        let mut written = vec![u32::MAX; body.slots as usize];
        for register in &body.registers {
            // What nobody has written is no zero, and fits the register.
            rows[register.slot as usize] = [0xdead_beef_dead_beef & register.ty.mask(); 32];
            written[register.slot as usize] = 0;
        }
        for &(slot, value) in &body.constants {
            rows[slot as usize] = [value; 32];
        }
        for &(slot, variable) in &body.globals {
            rows[slot as usize] = [globals[variable]; 32];
        }
        for &(slot, special) in &body.specials {
            rows[slot as usize] = std::array::from_fn(|lane| u64::from(value(special, number, lane as u32, place)));
        }
        let lanes = place.count() - number * 32;
        let live = if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 };
        let first = Group { pc: 0, lanes: live, state: State::Ready, polls: false, turns: 0, seen: None, spins: None };
        let local = Vec::new();
        let groups = vec![first];
        Self {
            number,
            rows,
            written,
            groups,
            live,
            threads,
            local,
            favoured: None,
            instructions: 0,
            polls: 0,
            turns: 0,
        }
    }

    /// The group to run next, if any can.
    pub fn next(&mut self) -> Option<usize> {
        if self.groups.len() == 1 {
            return (self.groups[0].state == State::Ready).then_some(0);
        }
        if let Some((lane, steps)) = self.favoured {
            let at = self.groups.iter().position(|group| group.lanes >> lane & 1 == 1 && group.state == State::Ready);
            self.favoured = (steps > 1).then_some((lane, steps - 1));
            if at.is_some() {
                return at;
            }
            self.favoured = None;
        }
        let ready = self.groups.iter().enumerate().filter(|(_, group)| group.state == State::Ready);
        ready.min_by_key(|(_, group)| group.pc).map(|(at, _)| at)
    }

    /// A group has looked at memory that others may change (`poll`), or has gone back: in turn, others run.
    pub fn let_others_run(&mut self, group: usize, poll: bool, random: &mut Random) {
        const POLLS: u32 = 4;
        const TURNS: u32 = 100_000;
        if self.groups.len() == 1 {
            return;
        }
        if poll {
            self.polls += 1;
        } else {
            self.turns += 1;
        }
        if self.polls < POLLS && self.turns < TURNS {
            return;
        }
        (self.polls, self.turns) = (0, 0);
        let others: Vec<usize> = (0..self.groups.len())
            .filter(|&other| other != group && self.groups[other].state == State::Ready)
            .collect();
        if !others.is_empty() {
            let other = &self.groups[others[random.below(others.len())]];
            self.favoured = Some((other.lanes.trailing_zeros(), 32 + random.below(64) as u32));
        }
    }

    /// Puts a group together with one that is at the same step; gives where it is now.
    pub fn merge(&mut self, group: usize) -> usize {
        if self.groups.len() == 1 {
            return group;
        }
        let pc = self.groups[group].pc;
        let same = |other: &Group| other.pc == pc && other.state != State::ForBlock;
        let Some(other) = (0..self.groups.len()).find(|&at| at != group && same(&self.groups[at])) else {
            return group;
        };
        let lanes = self.groups[group].lanes;
        let kept = &mut self.groups[other];
        kept.lanes |= lanes;
        (kept.state, kept.seen, kept.spins) = (State::Ready, None, None);
        self.remove(group);
        if other > group { other - 1 } else { other }
    }

    /// Takes these lanes out of a group; they go on at `pc`.
    pub fn split(&mut self, group: usize, lanes: u32, pc: u32, state: State) {
        self.groups[group].lanes &= !lanes;
        (self.groups[group].seen, self.groups[group].spins) = (None, None);
        self.groups.push(Group { pc, lanes, state, polls: false, turns: 0, seen: None, spins: None });
    }

    pub fn remove(&mut self, group: usize) {
        self.groups.remove(group);
    }

    /// Lanes have ended: who waits for them looks again.
    pub fn wake(&mut self) {
        for group in &mut self.groups {
            if group.state == State::ForWarp {
                group.state = State::Ready;
            }
        }
    }

    pub fn row(&self, slot: Slot) -> &Row {
        &self.rows[slot as usize]
    }

    /// Writes the lanes of a slot.
    #[inline]
    pub fn set(&mut self, slot: Slot, lanes: u32, values: &Row) {
        let row = &mut self.rows[slot as usize];
        if lanes == u32::MAX {
            *row = *values;
        } else {
            for (lane, value) in row.iter_mut().enumerate() {
                *value = if lanes >> lane & 1 == 1 { values[lane] } else { *value };
            }
        }
        self.written[slot as usize] |= lanes;
    }
}

/// The numbers of the lanes in a mask.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

fn value(special: Special, warp: u32, lane: u32, place: &Place) -> u32 {
    let thread = place.thread(warp * 32 + lane);
    match special {
        Special::Thread(axis) => thread[axis as usize],
        Special::Threads(axis) => place.threads[axis as usize],
        Special::Block(axis) => place.block[axis as usize],
        Special::Blocks(axis) => place.blocks[axis as usize],
        Special::Lane => lane,
        Special::Warp => warp,
        Special::Warps => place.count().div_ceil(32),
        Special::WarpSize => 32,
        Special::LanesEqual => 1 << lane,
        Special::LanesLess => (1 << lane) - 1,
        Special::LanesLessEqual => u32::MAX >> (31 - lane),
        Special::LanesGreater => !(u32::MAX >> (31 - lane)),
        Special::LanesGreaterEqual => !((1 << lane) - 1),
        Special::DynamicShared => place.dynamic_shared,
        Special::TotalShared => place.total_shared,
        Special::Zero => 0,
        Special::One => 1,
    }
}

/// The lanes of a mask, for readers of faults.
pub(super) fn list(mask: u32) -> String {
    let mut text = String::new();
    let lanes: Vec<usize> = lanes(mask).collect();
    for run in lanes.chunk_by(|a, b| a + 1 == *b) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let comma = if text.is_empty() { "" } else { ", " };
        let range = if first == last { format!("{first}") } else { format!("{first}-{last}") };
        text += &format!("{comma}{range}");
    }
    text
}
