//! All blocks of a launch: which of them run, and who goes next.

use super::arena::Arena;
use super::barrier::{BARRIERS, Barrier};
use super::block::{Block, Launched, Resident};
use super::memory::Memory;
use super::pass::pass;
use super::warp::{Place, State, Warp};
use crate::counts::Counts;
use crate::device::{Launch, Options};
use crate::fault::{Fault, FaultKind, Triple};
use crate::module::Entry;
use crate::order::{Messages, Threads, View};
use crate::random::Random;
use std::rc::Rc;

/// The steps of a warp before another one may go on.
const BURST: usize = 48;

/// A launch, checked.
pub(crate) struct Request<'a> {
    pub entry: &'a Entry,
    pub name: &'a str,
    pub launch: Launch,
    pub params: Vec<u8>,
    /// Addresses of the variables of the module.
    pub globals: &'a [u64],
    pub options: &'a Options,
    /// Goes on with every launch of the device.
    pub stamp: u32,
}

/// Runs all blocks.
pub(crate) fn run(request: Request<'_>, memory: &mut Memory, random: &mut Random) -> Result<Counts, Box<Fault>> {
    let Request { entry, name, launch, params, globals, options, stamp } = request;
    let threads: u32 = launch.block.iter().product();
    let blocks: u32 = launch.grid.iter().product();
    let launched = Launched {
        entry,
        name,
        params,
        grid: launch.grid,
        dims: launch.block,
        options,
        memory,
        random,
        counts: Counts::default(),
        messages: Messages::default(),
        threads: Threads { of_block: threads.next_multiple_of(32) },
        stamp,
        version: 0,
        quiet: 0,
        steps: options.steps,
    };
    let mut waiting: Vec<u32> = (0..blocks).collect();
    launched.random.shuffle(&mut waiting);
    let view = Rc::new(View::default());
    let most = options.resident.max(1) as usize;
    let shared = launch.shared;
    let mut grid = Grid {
        launched,
        globals,
        shared,
        waiting,
        resident: Vec::new(),
        spare: Vec::new(),
        stamps: 0,
        view,
        most,
        starved: None,
    };
    grid.run()?;
    match grid.starved {
        Some(fault) => Err(fault),
        None => Ok(grid.launched.counts),
    }
}

struct Grid<'a> {
    launched: Launched<'a>,
    globals: &'a [u64],
    /// Bytes of shared memory that the launch adds.
    shared: u32,
    /// Blocks that have not begun; the last is next.
    waiting: Vec<u32>,
    resident: Vec<Resident>,
    /// Shared memory of blocks that have ended.
    spare: Vec<Arena>,
    stamps: u32,
    /// What is known before anything is: nothing.
    view: Rc<View>,
    most: usize,
    /// Found, and put off until it is known whether more blocks at once would have helped.
    starved: Option<Box<Fault>>,
}

impl Grid<'_> {
    fn run(&mut self) -> Result<(), Box<Fault>> {
        loop {
            while self.resident.len() < self.most && !self.waiting.is_empty() {
                self.begin();
            }
            if self.resident.is_empty() {
                return Ok(());
            }
            let at = self.launched.random.below(self.resident.len());
            let ran = self.turn(at)?;
            if self.resident[at].warps.iter().all(|warp| warp.live == 0) {
                let ended = self.resident.swap_remove(at);
                self.spare.push(ended.block.shared);
                self.launched.changed();
                continue;
            }
            if !ran || self.launched.is_stuck(&self.resident) {
                self.stuck(ran)?;
            }
        }
    }

    fn begin(&mut self) {
        let Some(number) = self.waiting.pop() else { return };
        let launched = &self.launched;
        let bytes =
            if self.shared == 0 { launched.entry.shared } else { launched.entry.dynamic + u64::from(self.shared) };
        let place = Place {
            block: launched.index(number),
            blocks: launched.grid,
            threads: launched.dims,
            dynamic_shared: self.shared,
            total_shared: bytes as u32,
        };
        let mut shared = self.spare.pop().unwrap_or_else(|| Arena::new(bytes as usize));
        shared.forget();
        self.stamps += 1;
        let numbers = launched.threads;
        let warps = (0..numbers.of_block / 32).map(|warp| {
            let first = number * numbers.of_block + warp * 32;
            let threads = (first..first + 32).map(|thread| numbers.begin(thread, Rc::clone(&self.view))).collect();
            Warp::new(warp, launched.entry, &place, self.globals, threads)
        });
        let warps = warps.collect();
        let barriers = vec![Barrier::default(); BARRIERS as usize];
        let block = Block { number, place, shared, stamp: self.stamps, barriers };
        self.resident.push(Resident { block, warps });
        self.launched.changed();
    }

    /// Runs a warp of a block for a while; false if none of any block can run.
    fn turn(&mut self, at: usize) -> Result<bool, Box<Fault>> {
        let can_run = |warp: &Warp| warp.groups.iter().any(|group| group.state == State::Ready);
        let resident = &mut self.resident[at];
        let begin = self.launched.random.below(resident.warps.len());
        let warps = resident.warps.len();
        let Some(warp) = (0..warps).map(|warp| (warp + begin) % warps).find(|&warp| can_run(&resident.warps[warp]))
        else {
            return Ok(self.resident.iter().flat_map(|resident| &resident.warps).any(can_run));
        };
        let steps = 1 + self.launched.random.below(2 * BURST) as u32;
        self.launched.burst(&mut resident.block, &mut resident.warps[warp], steps)?;
        if resident.block.barriers.iter().any(Barrier::is_waited_for) {
            pass(&mut self.launched, resident);
        }
        Ok(true)
    }

    /// Nobody makes progress: more blocks may help, which on a device nobody promises.
    fn stuck(&mut self, ran: bool) -> Result<(), Box<Fault>> {
        let launched = &self.launched;
        let group = |resident: &Resident| {
            let mut warps = resident.warps.iter();
            let ready =
                |warp: &&Warp| warp.live != 0 && warp.groups.iter().any(|group| (group.state == State::Ready) == ran);
            warps.find(ready).map(|warp| warp.number as usize)
        };
        let found = self.resident.iter().find_map(|resident| group(resident).map(|warp| (resident, warp)));
        let Some((resident, warp)) = found else { return Ok(()) };
        let warp = &resident.warps[warp];
        let group = warp.groups.iter().find(|group| (group.state == State::Ready) == ran).unwrap_or(&warp.groups[0]);
        let lane = group.lanes.trailing_zeros() as usize;
        let line = launched.entry.body.steps[group.pc as usize].line;
        let fault = |kind, message| launched.fault(kind, &resident.block, warp, lane, line, message);
        if self.waiting.is_empty() || !ran {
            if let Some(starved) = self.starved.take() {
                drop(starved); // more blocks did not help
            }
            let message = if ran {
                "waits for memory that nobody will change: all that run turn without end".into()
            } else {
                "waits at a barrier, and nobody else can run".to_string()
            };
            return Err(fault(FaultKind::Deadlock, message));
        }
        if self.starved.is_none() {
            let (here, left) = (self.resident.len(), self.waiting.len());
            let some: Vec<String> =
                self.waiting.iter().rev().take(4).map(|&block| Triple(launched.index(block)).to_string()).collect();
            let message = format!(
                "waits for what only a block can write that has not begun: {here} blocks are on the device, {left} (among them {}) \
                 begin when one of them ends, and in any order",
                some.join(", ")
            );
            self.starved = Some(fault(FaultKind::Starved, message));
        }
        self.most += 1;
        Ok(())
    }
}
