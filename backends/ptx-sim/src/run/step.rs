//! One step of a group of lanes.

use super::atomic::Updater;
use super::block::{Block, Launched, Stepped};
use super::rows::touch;
use super::warp::{State, Warp, lanes, list};
use crate::code::{NONE, Op, Slot};
use crate::fault::FaultKind;
use crate::lanes::Row;
use crate::order::Messages;
use crate::text::tree::Space;

impl Launched<'_> {
    /// Runs a warp for some steps, or until all of its lanes wait or have ended.
    pub(super) fn burst(&mut self, block: &mut Block, warp: &mut Warp, steps: u32) -> Stepped {
        for _ in 0..steps {
            let Some(group) = warp.next() else { return Ok(()) };
            if self.steps == 0 {
                let lane = warp.groups[group].lanes.trailing_zeros() as usize;
                let line = self.entry.body.steps[warp.groups[group].pc as usize].line;
                let message = "the limit of steps is reached".into();
                return Err(self.fault(FaultKind::StepLimit, block, warp, lane, line, message));
            }
            self.steps -= 1;
            self.quiet += 1;
            self.step(block, warp, group)?;
        }
        Ok(())
    }

    fn step(&mut self, block: &mut Block, warp: &mut Warp, at: usize) -> Stepped {
        let entry = self.entry;
        let group = &warp.groups[at];
        let (pc, here) = (group.pc, group.lanes);
        let step = &entry.body.steps[pc as usize];
        let mut active = here;
        if step.guard != NONE {
            self.known(block, warp, step.guard, here, step.line)?;
            let row = warp.row(step.guard);
            let holds = (0..32).fold(0, |mask, lane| mask | (row[lane] as u32 & 1) << lane);
            active = here & if step.negated { !holds } else { holds };
        }
        if step.first {
            self.counts.instructions += 1;
            warp.instructions += 1;
            self.counts.longest_warp = self.counts.longest_warp.max(warp.instructions);
            self.counts.thread_instructions += u64::from(active.count_ones());
        }
        match &step.op {
            Op::Branch { target } => return self.branch(warp, at, active, *target),
            Op::Exit => return self.exit(block, warp, at, active, step.line),
            Op::Barrier { .. }
            | Op::WarpBarrier { .. }
            | Op::Shuffle { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Reduce { .. }
                if active != 0 =>
            {
                if active != here {
                    // Those whose guard does not hold go on.
                    warp.split(at, here & !active, pc + 1, State::Ready);
                    let last = warp.groups.len() - 1;
                    warp.merge(last);
                }
                return self.meet(block, warp, at, step);
            }
            op if active != 0 => self.alone(block, warp, at, active, op, step.line)?,
            _ => {}
        }
        warp.groups[at].pc = pc + 1;
        warp.merge(at);
        Ok(())
    }

    fn branch(&mut self, warp: &mut Warp, at: usize, taken: u32, target: u32) -> Stepped {
        let (pc, here) = (warp.groups[at].pc, warp.groups[at].lanes);
        if taken == 0 {
            warp.groups[at].pc = pc + 1;
            warp.merge(at);
            return Ok(());
        }
        if taken != here {
            self.counts.divergent_branches += 1;
            warp.split(at, here & !taken, pc + 1, State::Ready);
            let last = warp.groups.len() - 1;
            warp.merge(last);
        }
        warp.groups[at].pc = target;
        if target <= pc {
            warp.let_others_run(at, false, self.random);
            self.turn(warp, at);
        }
        warp.merge(at);
        Ok(())
    }

    fn exit(&mut self, block: &Block, warp: &mut Warp, at: usize, ends: u32, line: u32) -> Stepped {
        if ends != 0 {
            let steps = &self.entry.body.steps;
            let waiting = warp.groups.iter().find(|group| {
                group.state == State::ForWarp
                    && matches!(steps[group.pc as usize].op, Op::Barrier { aligned: true, .. })
            });
            if let Some(waiting) = waiting {
                let (lanes, there) = (list(waiting.lanes), steps[waiting.pc as usize].line);
                let message =
                    format!("ends while lanes {lanes} of its warp wait for it at the barrier of line {there}");
                return Err(self.fault(
                    FaultKind::Divergence,
                    block,
                    warp,
                    ends.trailing_zeros() as usize,
                    line,
                    message,
                ));
            }
            warp.live &= !ends;
            self.changed();
            warp.wake();
        }
        let group = &mut warp.groups[at];
        group.lanes &= !ends;
        group.pc += 1;
        if group.lanes == 0 {
            warp.remove(at);
        } else {
            warp.merge(at);
        }
        Ok(())
    }

    /// A register that somebody reads must have been written.
    pub(super) fn known(&self, block: &Block, warp: &Warp, slot: Slot, lanes: u32, line: u32) -> Stepped {
        let missing = lanes & !warp.written[slot as usize];
        if missing == 0 || !self.options.registers {
            return Ok(());
        }
        let register = self.entry.body.registers.iter().find(|register| register.slot == slot);
        let name = register.map_or("?", |register| &register.name);
        let message = format!("reads the register `{name}`, which nobody has written");
        Err(self.fault(FaultKind::Unwritten, block, warp, missing.trailing_zeros() as usize, line, message))
    }

    /// A step that lanes take each for themselves.
    fn alone(&mut self, block: &mut Block, warp: &mut Warp, at: usize, active: u32, op: &Op, line: u32) -> Stepped {
        match op {
            Op::One { f, dst, a } => {
                self.known(block, warp, *a, active, line)?;
                let values = f(warp.row(*a));
                warp.set(*dst, active, &values);
            }
            Op::Two { f, dst, a, b } => {
                self.known(block, warp, *a, active, line)?;
                self.known(block, warp, *b, active, line)?;
                let values = f(warp.row(*a), warp.row(*b));
                warp.set(*dst, active, &values);
            }
            Op::Three { f, dst, a, b, c } => {
                for source in [a, b, c] {
                    self.known(block, warp, *source, active, line)?;
                }
                let values = f(warp.row(*a), warp.row(*b), warp.row(*c));
                warp.set(*dst, active, &values);
            }
            Op::Four { f, dst, sources: [a, b, c, d] } => {
                for source in [a, b, c, d] {
                    self.known(block, warp, *source, active, line)?;
                }
                let values = f(warp.row(*a), warp.row(*b), warp.row(*c), warp.row(*d));
                warp.set(*dst, active, &values);
            }
            Op::Select { dst, a, b, condition } => {
                self.known(block, warp, *condition, active, line)?;
                let condition = warp.row(*condition);
                let chosen = lanes(active).filter(|&lane| condition[lane] != 0).fold(0, |mask, lane| mask | 1 << lane);
                self.known(block, warp, *a, chosen, line)?;
                self.known(block, warp, *b, active & !chosen, line)?;
                let (a, b) = (warp.row(*a), warp.row(*b));
                let values = std::array::from_fn(|lane| if chosen >> lane & 1 == 1 { a[lane] } else { b[lane] });
                warp.set(*dst, active, &values);
            }
            Op::Move { dst, a } => {
                self.known(block, warp, *a, active, line)?;
                let values = *warp.row(*a);
                warp.set(*dst, active, &values);
            }
            Op::Convert { conversion, dst, a } => {
                self.known(block, warp, *a, active, line)?;
                let values = conversion.apply(warp.row(*a));
                warp.set(*dst, active, &values);
            }
            Op::Trap => {
                let lane = active.trailing_zeros() as usize;
                return Err(self.fault(FaultKind::Trap, block, warp, lane, line, "trap".into()));
            }
            Op::Load { address, ty, order, dst, mask } => {
                self.load_row(block, warp, active, address, *ty, *order, dst, *mask, line)?;
                if order.strong.is_some() {
                    warp.groups[at].polls = true;
                    warp.let_others_run(at, true, self.random);
                }
            }
            Op::Store { address, ty, order, values } => {
                self.store_row(block, warp, active, address, *ty, *order, values, line)?;
            }
            Op::Atomic { address, ty, order, update, dst, value, new } => {
                let updater = Updater::new(*update, *ty);
                let places = self.places(block, warp, active, address, line)?;
                self.known(block, warp, *value, active, line)?;
                if *new != NONE {
                    self.known(block, warp, *new, active, line)?;
                }
                let mut old: Row = [0; 32];
                let (values, news) = (*warp.row(*value), if *new == NONE { [0; 32] } else { *warp.row(*new) });
                // No order of the lanes is promised.
                let begin = self.random.below(32);
                for lane in (0..32).map(|lane| (lane + begin) % 32).filter(|lane| active >> lane & 1 == 1) {
                    let touch = touch(lane, address.space, places[lane], *ty, *order, line);
                    let update = |old, in_device| updater.new_value(old, values[lane], news[lane], in_device);
                    let found = self.update(block, warp, &touch, update);
                    old[lane] = found.map_err(|(kind, message)| self.fault(kind, block, warp, lane, line, message))?;
                }
                let updates = u64::from(active.count_ones());
                match address.space {
                    Space::Shared => self.counts.shared_atomics += updates,
                    _ => self.counts.atomics += updates,
                }
                if *dst != NONE {
                    warp.set(*dst, active, &old);
                }
                warp.groups[at].polls = true;
                warp.let_others_run(at, true, self.random);
            }
            Op::Fence { scope } => {
                for lane in lanes(active) {
                    Messages::fence(*scope, &mut warp.threads[lane], self.threads);
                }
            }
            Op::ActiveMask { dst } => warp.set(*dst, active, &[u64::from(active); 32]),
            Op::Clock { dst, wide } => {
                let now = self.options.steps - self.steps;
                warp.set(*dst, active, &[if *wide { now } else { now & 0xffff_ffff }; 32]);
            }
            Op::Pause => warp.let_others_run(at, true, self.random),
            _ => {}
        }
        Ok(())
    }
}
