//! What the lanes of a warp do together: `shfl`, `vote`, `match`, `redux`, `bar.warp.sync`.

use super::atomic::Updater;
use super::block::{Block, Launched};
use super::warp::{Warp, lanes, list};
use crate::code::{NONE, Op, Shuffle, Vote};
use crate::fault::{Fault, FaultKind};
use crate::order::{Thread, meet_some};

impl Launched<'_> {
    /// The lanes of a group for which all that their masks name are here, as sets that act together.
    ///
    /// # Errors
    /// If a lane leaves itself out, or lanes name each other with different masks.
    pub(super) fn complete(
        &self,
        block: &Block,
        warp: &Warp,
        here: u32,
        masks: &[u64; 32],
        line: u32,
    ) -> Result<Vec<u32>, Box<Fault>> {
        let mut sets = Vec::new();
        let mut seen = 0;
        for lane in lanes(here) {
            if seen >> lane & 1 == 1 {
                continue;
            }
            let mask = masks[lane] as u32;
            let fault = |message| self.fault(FaultKind::Undefined, block, warp, lane, line, message);
            if mask >> lane & 1 == 0 {
                return Err(fault(format!("the mask {mask:#010x} leaves out the lane that gives it")));
            }
            let named = mask & warp.live;
            if named & !here != 0 {
                continue; // it waits
            }
            if let Some(other) = lanes(named).find(|&other| masks[other] as u32 != mask) {
                let message =
                    format!("names lane {other}, whose own mask is {:#010x} and not {mask:#010x}", masks[other]);
                return Err(fault(message));
            }
            seen |= named;
            sets.push(named);
        }
        Ok(sets)
    }

    /// Carries the instruction out for a set of lanes.
    pub(super) fn act(
        &mut self,
        block: &Block,
        warp: &mut Warp,
        op: &Op,
        set: u32,
        line: u32,
    ) -> Result<(), Box<Fault>> {
        match op {
            Op::WarpBarrier { .. } => {
                let threads = warp.threads.iter_mut().enumerate().filter(|(lane, _)| set >> lane & 1 == 1);
                let mut threads: Vec<&mut Thread> = threads.map(|(_, thread)| thread).collect();
                meet_some(&mut threads, self.threads);
            }
            Op::Shuffle { mode, dst, valid, a, lane, clamp, .. } => {
                let (from, b, c) = (*warp.row(*a), *warp.row(*lane), *warp.row(*clamp));
                let (mut values, mut valids) = ([0; 32], [0; 32]);
                for lane in lanes(set) {
                    let (source, in_range) = source(*mode, lane as u32, b[lane] as u32, c[lane] as u32);
                    if set >> source & 1 == 0 {
                        let message =
                            format!("takes a value from lane {source}, which takes no part (lanes {})", list(set));
                        return Err(self.fault(FaultKind::InactiveLane, block, warp, lane, line, message));
                    }
                    values[lane] = from[source as usize];
                    valids[lane] = u64::from(in_range);
                }
                warp.set(*dst, set, &values);
                if *valid != NONE {
                    warp.set(*valid, set, &valids);
                }
            }
            Op::Vote { vote, dst, predicate, .. } => {
                let row = warp.row(*predicate);
                let holds = lanes(set).filter(|&lane| row[lane] != 0).fold(0, |mask, lane| mask | 1 << lane);
                let value = match vote {
                    Vote::All => u32::from(holds == set),
                    Vote::Any => u32::from(holds != 0),
                    Vote::Uniform => u32::from(holds == set || holds == 0),
                    Vote::Ballot => holds,
                };
                warp.set(*dst, set, &[u64::from(value); 32]);
            }
            Op::Match { all, dst, valid, a, .. } => {
                let row = *warp.row(*a);
                let equal = |value: u64| {
                    lanes(set).filter(|&lane| row[lane] == value).fold(0u32, |mask, lane| mask | 1 << lane)
                };
                let mut values = [0; 32];
                for lane in lanes(set) {
                    let same = equal(row[lane]);
                    values[lane] = u64::from(if *all && same != set { 0 } else { same });
                }
                warp.set(*dst, set, &values);
                if *valid != NONE {
                    warp.set(*valid, set, &values.map(|value| u64::from(value != 0)));
                }
            }
            Op::Reduce { update, ty, dst, a, .. } => {
                let (row, updater) = (*warp.row(*a), Updater::new(*update, *ty));
                let mut values = lanes(set).map(|lane| row[lane]);
                let first = values.next().unwrap_or(0);
                let value = values.fold(first, |total, value| updater.new_value(total, value, 0, false));
                warp.set(*dst, set, &[value; 32]);
            }
            op => unreachable!("nothing that lanes do together: {op:?}"),
        }
        Ok(())
    }
}

/// From which lane `shfl` takes, and whether it is in the range that the clamp says.
fn source(mode: Shuffle, lane: u32, by: u32, clamp: u32) -> (u32, bool) {
    let (by, most, segment) = (by & 31, clamp & 31, clamp >> 8 & 31);
    let last = lane & segment | most & !segment;
    let first = lane & segment;
    let (source, in_range) = match mode {
        Shuffle::Up => (lane.wrapping_sub(by), lane as i32 - by as i32 >= last as i32),
        Shuffle::Down => (lane + by, lane + by <= last),
        Shuffle::Butterfly => (lane ^ by, lane ^ by <= last),
        Shuffle::Index => {
            let source = first | by & !segment;
            (source, source <= last)
        }
    };
    if in_range { (source, true) } else { (lane, false) }
}
