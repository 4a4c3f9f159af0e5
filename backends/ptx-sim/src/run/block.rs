//! A block that runs, and what all warps of a launch share.

use super::arena::Arena;
use super::barrier::Barrier;
use super::memory::Memory;
use super::warp::{Place, Warp};
use crate::counts::Counts;
use crate::device::Options;
use crate::fault::{Fault, FaultKind};
use crate::module::Entry;
use crate::order::{Conflict, Messages, Threads};
use crate::random::Random;

/// A step is taken, or is a fault.
pub(super) type Stepped = Result<(), Box<Fault>>;

/// A block, but for its warps.
pub(crate) struct Block {
    /// Its number in the grid, by which `x` goes first.
    pub number: u32,
    pub place: Place,
    pub shared: Arena,
    /// Of the accesses in the shadow of its shared memory.
    pub stamp: u32,
    pub barriers: Vec<Barrier>,
}

/// A block and its warps.
pub(crate) struct Resident {
    pub block: Block,
    pub warps: Vec<Warp>,
}

/// What everything that runs needs.
pub(crate) struct Launched<'a> {
    pub entry: &'a Entry,
    pub name: &'a str,
    pub params: Vec<u8>,
    pub grid: [u32; 3],
    pub dims: [u32; 3],
    pub options: &'a Options,
    pub memory: &'a mut Memory,
    pub random: &'a mut Random,
    pub counts: Counts,
    pub messages: Messages,
    pub threads: Threads,
    /// Of the accesses in the shadow of device memory.
    pub stamp: u32,
    /// Goes on with everything that others can see.
    pub version: u64,
    /// Steps since then.
    pub quiet: u64,
    pub steps: u64,
}

impl Launched<'_> {
    /// Somebody changed what others can see.
    pub fn changed(&mut self) {
        self.version += 1;
        self.quiet = 0;
    }

    /// The index of a block by its number.
    pub fn index(&self, block: u32) -> [u32; 3] {
        let [x, y, _] = self.grid;
        [block % x, block / x % y, block / x / y]
    }

    /// A fault of a lane.
    pub fn fault(
        &self,
        kind: FaultKind,
        block: &Block,
        warp: &Warp,
        lane: usize,
        line: u32,
        message: String,
    ) -> Box<Fault> {
        let thread = block.place.thread(warp.number * 32 + lane as u32);
        Box::new(Fault {
            kind,
            entry: self.name.into(),
            block: Some(block.place.block),
            thread: Some(thread),
            line,
            message,
        })
    }

    /// Another thread in words, by its number in the launch.
    pub fn thread(&self, number: u32, seen_from: &Block) -> String {
        let (of_block, in_block) = (self.threads.block(number), number % self.threads.of_block);
        let thread = crate::fault::Triple(seen_from.place.thread(in_block));
        if of_block == seen_from.number {
            return format!("thread {thread} of the same block");
        }
        format!("thread {thread} of block {}", crate::fault::Triple(self.index(of_block)))
    }

    /// A conflict in words.
    pub fn conflict(&self, conflict: Conflict, block: &Block, writes: bool, what: &str) -> (FaultKind, String) {
        let verb = if writes { "writes" } else { "reads" };
        let other = if conflict.other_writes { "wrote" } else { "read" };
        let who = self.thread(conflict.other, block);
        let line = conflict.line;
        if conflict.constant {
            let message = format!(
                "{verb} {what} that {who} {other} in line {line}; `ld.global.nc` is for what no thread writes while the kernel runs"
            );
            return (FaultKind::Race, message);
        }
        if conflict.torn {
            let message =
                format!("{verb} {what} that {who} {other} in line {line} in a piece of another size: a torn value");
            return (FaultKind::Torn, message);
        }
        (FaultKind::Race, format!("{verb} {what} that {who} {other} in line {line}, and nothing orders the two"))
    }
}
