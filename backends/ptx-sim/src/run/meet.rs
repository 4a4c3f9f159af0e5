//! Steps for which lanes wait for each other, in their warp or their block.

use super::barrier::BARRIERS;
use super::block::{Block, Launched, Stepped};
use super::warp::{Group, State, Warp, lanes, list};
use crate::code::{Meeting, Op, Slot, Step};
use crate::fault::FaultKind;

impl Launched<'_> {
    /// A step for which lanes wait for each other; the guard holds for all of the group.
    pub(super) fn meet(&mut self, block: &mut Block, warp: &mut Warp, at: usize, step: &Step) -> Stepped {
        let (pc, here) = (warp.groups[at].pc, warp.groups[at].lanes);
        if let Op::Barrier { meeting, aligned, id, threads } = step.op {
            if aligned && here != warp.live {
                warp.groups[at].state = State::ForWarp;
                return self.hopeless(block, warp);
            }
            return self.arrive(block, warp, at, meeting, id, threads, step.line);
        }
        let members = match &step.op {
            Op::WarpBarrier { members } => *members,
            Op::Shuffle { members, a, lane, clamp, .. } => {
                for source in [a, lane, clamp] {
                    self.known(block, warp, *source, here, step.line)?;
                }
                *members
            }
            Op::Vote { members, predicate, .. } => {
                self.known(block, warp, *predicate, here, step.line)?;
                *members
            }
            Op::Match { members, a, .. } | Op::Reduce { members, a, .. } => {
                self.known(block, warp, *a, here, step.line)?;
                *members
            }
            op => unreachable!("lanes do not meet here: {op:?}"),
        };
        self.known(block, warp, members, here, step.line)?;
        let masks = *warp.row(members);
        let sets = self.complete(block, warp, here, &masks, step.line)?;
        let mut done = 0;
        for set in sets {
            self.act(block, warp, &step.op, set, step.line)?;
            done |= set;
        }
        if done == 0 {
            warp.groups[at].state = State::ForWarp;
            return self.hopeless(block, warp);
        }
        if done != here {
            warp.split(at, here & !done, pc, State::ForWarp);
        }
        warp.groups[at].pc = pc + 1;
        warp.merge(at);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn arrive(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        at: usize,
        meeting: Meeting,
        id: Slot,
        threads: Slot,
        line: u32,
    ) -> Stepped {
        let (pc, here) = (warp.groups[at].pc, warp.groups[at].lanes);
        let lane = here.trailing_zeros() as usize;
        self.known(block, warp, id, here, line)?;
        self.known(block, warp, threads, here, line)?;
        let (id, threads) = (warp.row(id)[lane], warp.row(threads)[lane] as u32);
        if id >= BARRIERS || threads % 32 != 0 {
            let message = format!("there is no barrier {id} for {threads} threads");
            return Err(self.fault(FaultKind::Undefined, block, warp, lane, line, message));
        }
        let mut holds = 0;
        if let Meeting::Reduce { predicate, .. } = meeting {
            self.known(block, warp, predicate, here, line)?;
            let row = warp.row(predicate);
            holds = lanes(here).filter(|&lane| row[lane] != 0).fold(0, |mask, lane| mask | 1 << lane);
        }
        let barrier = &mut block.barriers[id as usize];
        if let Err(message) = barrier.arrive(warp.number as usize, here, meeting, holds, threads) {
            return Err(self.fault(FaultKind::Undefined, block, warp, lane, line, message));
        }
        self.changed();
        if meeting == Meeting::Arrive {
            for lane in lanes(here) {
                let told = self.threads.release(&mut warp.threads[lane]);
                block.barriers[id as usize].tell(told);
            }
            warp.groups[at].pc = pc + 1;
            warp.merge(at);
        } else {
            warp.groups[at].state = State::ForBlock;
        }
        Ok(())
    }

    /// An error if all lanes of the warp wait for each other at different steps.
    fn hopeless(&self, block: &Block, warp: &Warp) -> Stepped {
        if !warp.groups.iter().all(|group| group.state == State::ForWarp) {
            return Ok(());
        }
        let steps = &self.entry.body.steps;
        let wait = |group: &Group| (list(group.lanes), steps[group.pc as usize].line);
        let (first, others) = (&warp.groups[0], &warp.groups[1..]);
        let (lanes, line) = wait(first);
        let mut message = format!("lanes {lanes} wait for all of the warp");
        for group in others {
            let (lanes, line) = wait(group);
            message += &format!(", and lanes {lanes} do at line {line}");
        }
        let lane = first.lanes.trailing_zeros() as usize;
        Err(self.fault(FaultKind::Divergence, block, warp, lane, line, message))
    }
}
