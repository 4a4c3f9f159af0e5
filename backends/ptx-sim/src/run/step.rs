//! One step of a group of lanes.

use super::atomic::Updater;
use super::barrier::{BARRIERS, list};
use super::block::{Block, Launched};
use super::touch::Touch;
use super::warp::{State, Warp, lanes};
use crate::code::{Address, Meeting, NONE, Op, Order, Slot, Step};
use crate::fault::{Fault, FaultKind};
use crate::lanes::Row;
use crate::order::Messages;
use crate::text::tree::Space;
use crate::types::Type;

type Stepped = Result<(), Box<Fault>>;

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
    fn known(&self, block: &Block, warp: &Warp, slot: Slot, lanes: u32, line: u32) -> Stepped {
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
                self.counts.atomics += u64::from(active.count_ones());
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

    /// Where each lane accesses.
    fn places(&self, block: &Block, warp: &Warp, active: u32, address: &Address, line: u32) -> Result<Row, Box<Fault>> {
        if address.base == NONE {
            return Ok([address.offset as u64; 32]);
        }
        self.known(block, warp, address.base, active, line)?;
        Ok(warp.row(address.base).map(|base| (base & address.mask).wrapping_add(address.offset as u64)))
    }

    #[allow(clippy::too_many_arguments)]
    fn load_row(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        active: u32,
        address: &Address,
        ty: Type,
        order: Order,
        dst: &[Slot],
        mask: u64,
        line: u32,
    ) -> Stepped {
        let places = self.places(block, warp, active, address, line)?;
        let bytes = ty.bytes() as usize * dst.len();
        self.count(address.space, active, &places, bytes, false);
        let unused = 64 - ty.bits();
        for lane in lanes(active) {
            self.aligned(block, warp, lane, places[lane], bytes, line)?;
        }
        for (number, &slot) in dst.iter().enumerate() {
            let mut values: Row = [0; 32];
            for lane in lanes(active) {
                let place = places[lane].wrapping_add(number as u64 * u64::from(ty.bytes()));
                let touch = touch(lane, address.space, place, ty, order, line);
                let value = self.load(block, warp, &touch);
                let value = value.map_err(|(kind, message)| self.fault(kind, block, warp, lane, line, message))?;
                let value = if ty.is_signed() { ((value << unused) as i64 >> unused) as u64 } else { value };
                values[lane] = value & mask;
            }
            warp.set(slot, active, &values);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn store_row(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        active: u32,
        address: &Address,
        ty: Type,
        order: Order,
        values: &[Slot],
        line: u32,
    ) -> Stepped {
        let places = self.places(block, warp, active, address, line)?;
        let bytes = ty.bytes() as usize * values.len();
        self.count(address.space, active, &places, bytes, true);
        for lane in lanes(active) {
            self.aligned(block, warp, lane, places[lane], bytes, line)?;
        }
        for (number, &slot) in values.iter().enumerate() {
            self.known(block, warp, slot, active, line)?;
            for lane in lanes(active) {
                let place = places[lane].wrapping_add(number as u64 * u64::from(ty.bytes()));
                let touch = touch(lane, address.space, place, ty, order, line);
                let value = warp.row(slot)[lane] & ty.mask();
                let stored = self.store(block, warp, &touch, value);
                stored.map_err(|(kind, message)| self.fault(kind, block, warp, lane, line, message))?;
            }
        }
        Ok(())
    }

    /// Vectors are aligned as a whole.
    fn aligned(&self, block: &Block, warp: &Warp, lane: usize, place: u64, bytes: usize, line: u32) -> Stepped {
        if place & (bytes as u64 - 1) == 0 {
            return Ok(());
        }
        let message = format!("address {place:#x} is no multiple of {bytes}");
        Err(self.fault(FaultKind::Misaligned, block, warp, lane, line, message))
    }

    fn count(&mut self, space: Space, active: u32, places: &Row, bytes: usize, store: bool) {
        match space {
            Space::Global | Space::Generic => {
                let mut sectors = [u64::MAX; 32];
                for lane in lanes(active) {
                    sectors[lane] = places[lane] / 32;
                }
                sectors.sort_unstable();
                let mut touched = u64::from(sectors[0] != u64::MAX);
                touched += sectors.windows(2).filter(|pair| pair[0] != pair[1] && pair[1] != u64::MAX).count() as u64;
                if store {
                    self.counts.stores += 1;
                    self.counts.sectors_stored += touched;
                } else {
                    self.counts.loads += 1;
                    self.counts.sectors_loaded += touched;
                }
            }
            Space::Shared if bytes <= 4 => {
                let mut words = [u64::MAX; 32];
                for lane in lanes(active) {
                    words[lane] = places[lane] / 4;
                }
                words.sort_unstable();
                let mut of_bank = [0u64; 32];
                for (at, &word) in words.iter().enumerate() {
                    if word != u64::MAX && (at == 0 || words[at - 1] != word) {
                        of_bank[word as usize % 32] += 1;
                    }
                }
                let most = of_bank.into_iter().max().unwrap_or(0);
                self.counts.bank_conflicts += most.saturating_sub(1);
            }
            _ => {}
        }
    }

    /// A step for which lanes wait for each other; the guard holds for all of the group.
    fn meet(&mut self, block: &mut Block, warp: &mut Warp, at: usize, step: &Step) -> Stepped {
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
        let wait = |group: &super::warp::Group| (list(group.lanes), steps[group.pc as usize].line);
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

fn touch(lane: usize, space: Space, address: u64, ty: Type, order: Order, line: u32) -> Touch {
    Touch { lane, space, address, bytes: ty.bytes() as usize, order, line }
}
