//! Strip-mined accumulators: they stay in registers, a few at a time.
//!
//! Where not all interleaved accumulators of a reduce fit into the registers, a level across lanes is strip-mined: it runs in strips that fit
//! the innermost cache. Over each strip, such reduces come first. A batch of neighbouring accumulators goes through all elements of the strip
//! that are theirs, in their order, then the next batch. Everything else follows, for the whole strip. What both need is computed for each.

use std::collections::HashSet;

use fusebox_ir::{Action, Binary, Constant, ScalarOperand, Statement};

use super::{
    Emitter, Result,
    levels::EmittedLevel,
    scalar::is_cheap,
    slice::{defined, local},
    statement::scan::Scan,
};
use crate::vector::Value;

/// Steps of a strip, at least.
const STRIP: u32 = 1024;
/// So many vector registers hold accumulators: half of what the smallest machines with vectors of 16 bytes have.
const REGISTERS: usize = 8;
/// More statements than this for an element are not limited by accumulators in memory.
const STATEMENTS: usize = 24;

/// Reduces that are computed together.
#[derive(Clone, Debug)]
struct Batch {
    /// Their statements: reduces of the level, or a scan for its total.
    positions: Vec<usize>,
    /// These statements and what they need.
    slice: HashSet<usize>,
    /// Gangs whose accumulators are in registers at a time.
    gangs: u32,
}

/// How a level is strip-mined.
#[derive(Clone, Debug)]
pub(super) struct StripMined {
    batches: Vec<Batch>,
    /// Interleaved accumulators of each.
    width: u32,
    /// Whether the level has more to do.
    rest: bool,
}

impl StripMined {
    /// Strips have a multiple of so many steps.
    pub(super) fn width(&self) -> u32 {
        self.width
    }
}

impl Emitter<'_> {
    /// How many registers may be accumulators, in units of 16 bytes.
    pub(super) fn accumulator_registers(&self) -> usize {
        // Machines with wider vectors have twice as many of them.
        match self.schedule {
            Some(schedule) if schedule.vector_bytes > 16 => REGISTERS * 2 * schedule.vector_bytes / 16,
            _ => REGISTERS,
        }
    }

    /// What of a level, of which `blocked` are the reduces and scans with totals, can be strip-mined in gangs of `gang`.
    pub(super) fn strip_mined(&self, nest: &EmittedLevel, blocked: &[usize], gang: u32) -> Option<StripMined> {
        let most = self.accumulator_registers();
        let mut width = None;
        let mut batches: Vec<(Batch, usize)> = Vec::new();
        for &position in blocked {
            let statement = &self.kernel.statements[position];
            if self.shares_reduction(position) {
                continue;
            }
            let reduce = self.reduce_or_total(position);
            let (own, registers) = (reduce.width(), reduce.registers(gang));
            let same = *width.get_or_insert(own) == own;
            if !reduce.may_be_in_registers() || !same || own < gang || registers > most {
                continue;
            }
            let Some(slice) = self.free_slice(nest, position) else { continue };
            let scan = matches!(statement.action, Action::Scan { .. });
            // Totals of scans are not always wanted: they are alone.
            match batches.last_mut() {
                Some((batch, used)) if !scan && *used + registers <= most && !self.is_scan(batch.positions[0]) => {
                    batch.positions.push(position);
                    batch.slice.extend(slice);
                    *used += registers;
                }
                _ => batches.push((Batch { positions: vec![position], slice, gangs: 1 }, registers)),
            }
        }
        let width = width?;
        let mut done: HashSet<usize> = HashSet::new();
        let batches: Vec<Batch> = batches
            .into_iter()
            .map(|(mut batch, registers)| {
                let gangs = (most / registers).min(STATEMENTS * 2 / batch.slice.len()).max(1) as u32;
                batch.gangs = gangs.min(width / gang);
                batch.gangs = 1 << batch.gangs.ilog2();
                done.extend(batch.positions.iter().filter(|&&position| !self.is_scan(position)));
                batch
            })
            .collect();
        let rest = nest.inner.clone().any(|position| {
            let nothing = match &self.kernel.statements[position].action {
                Action::Load { .. } | Action::Scalar(_) => true,
                Action::Scan { .. } => {
                    self.is_only_total(position) && batches.iter().any(|batch| batch.positions.contains(&position))
                }
                Action::Check { condition, .. } => *condition == ScalarOperand::Constant(Constant::from(true)),
                _ => done.contains(&position),
            };
            !nothing
        });
        (!batches.is_empty()).then_some(StripMined { batches, width, rest })
    }

    /// Whether it is a scan whose total takes nothing of its own for each element.
    pub(super) fn shares_reduction(&self, position: usize) -> bool {
        self.scans.get(&position).is_some_and(Scan::shares_reduction)
    }

    fn is_scan(&self, position: usize) -> bool {
        matches!(self.kernel.statements[position].action, Action::Scan { .. })
    }

    /// Whether nothing of a scan is wanted but its total.
    fn is_only_total(&self, position: usize) -> bool {
        self.scans.get(&position).is_some_and(Scan::is_alone)
    }

    /// A statement of a level and what it needs of that level, if all of that can be computed at any time, again and again.
    fn free_slice(&self, nest: &EmittedLevel, position: usize) -> Option<HashSet<usize>> {
        let statements = &self.kernel.statements;
        let mut slice = HashSet::from([position]);
        let wanted = |statement: &Statement| match &statement.action {
            // What comes out of a scan is not needed for its total.
            Action::Scan { values, .. } | Action::Reduce { values, .. } => {
                values.iter().copied().chain(statement.when).filter_map(local).collect()
            }
            _ => statement.used_locals(),
        };
        let mut locals: HashSet<_> = wanted(&statements[position]).into_iter().collect();
        for earlier in (nest.inner.start..position).rev() {
            let statement = &statements[earlier];
            if !defined(statement).iter().any(|id| locals.contains(id)) {
                continue;
            }
            let free = statement.depth as usize == nest.depth + 1
                && match &statement.action {
                    Action::Load { map, outside, .. } => !map.checked && outside.is_none(),
                    Action::Scalar(instruction) => is_cheap(instruction),
                    _ => false,
                };
            if !free {
                return None;
            }
            slice.insert(earlier);
            locals.extend(wanted(statement));
        }
        (slice.len() <= STATEMENTS).then_some(slice)
    }

    /// Steps `low..high`, a multiple of the width and numbered from `first`, in strips.
    pub(super) fn run_strip_mined(
        &mut self,
        nest: &EmittedLevel,
        strip_mined: &StripMined,
        (low, high): (Value, Value),
        gang: u32,
        first: Value,
    ) -> Result {
        let length = i64::from(STRIP.max(strip_mined.width));
        let open = self.b.begin_loop(low, high, length, &self.states.clone());
        self.states.clone_from(&open.carried);
        let start = open.index;
        let end = self.b.add_int(start, length);
        let end = self.b.binary(Binary::Min, end, high);
        let locals = self.locals.clone();
        for batch in &strip_mined.batches {
            let total = self.is_scan(batch.positions[0]);
            if total {
                self.total_where_needed(batch.positions[0], |this| {
                    this.batch(nest, strip_mined, batch, (start, end), gang)
                })?;
            } else {
                self.batch(nest, strip_mined, batch, (start, end), gang)?;
            }
            self.locals.clone_from(&locals);
        }
        if strip_mined.rest {
            self.done = strip_mined.batches.iter().flat_map(|batch| batch.positions.iter().copied()).collect();
            // What this asks for is the next strip (of elements of 4 bytes): there the batches find it.
            self.gangs(nest, (start, end), None, gang, first, None)?;
            self.done.clear();
        }
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(())
    }

    /// The accumulators of a batch over a strip.
    fn batch(
        &mut self,
        nest: &EmittedLevel,
        strip_mined: &StripMined,
        batch: &Batch,
        (start, end): (Value, Value),
        gang: u32,
    ) -> Result {
        let outer = std::mem::take(&mut self.states);
        let (zero, width) = (self.b.int(0), self.b.int(strip_mined.width.into()));
        let groups = self.b.begin_loop(zero, width, i64::from(batch.gangs * gang), &[]);
        let mut firsts = Vec::new();
        let mut in_registers = Vec::new();
        for number in 0..batch.gangs {
            let slot = self.b.add_int(groups.index, i64::from(number * gang));
            for &position in &batch.positions {
                let reduce = self.reduce_or_total(position);
                firsts.push(in_registers.len());
                in_registers.extend(self.accumulators(&reduce, slot, gang));
            }
        }
        let from = self.b.add(start, groups.index);
        let elements = self.b.begin_loop(from, end, i64::from(strip_mined.width), &in_registers);
        self.states.clone_from(&elements.carried);
        if !strip_mined.rest {
            self.prefetch_out_of_cache(nest, &batch.slice, elements.index, i64::from(batch.gangs * gang))?;
        }
        self.only = Some(batch.slice.clone());
        for number in 0..batch.gangs {
            for (place, &position) in batch.positions.iter().enumerate() {
                let first = firsts[number as usize * batch.positions.len() + place];
                self.set_registers(position, Some(first));
            }
            let step = self.b.add_int(elements.index, i64::from(number * gang));
            self.step(nest, step, gang)?;
        }
        self.only = None;
        let next = std::mem::take(&mut self.states);
        let in_registers = self.b.end_loop(elements, next);
        for number in 0..batch.gangs {
            let slot = self.b.add_int(groups.index, i64::from(number * gang));
            for (place, &position) in batch.positions.iter().enumerate() {
                self.set_registers(position, None);
                let reduce = self.reduce_or_total(position);
                let first = firsts[number as usize * batch.positions.len() + place];
                self.put_back(&reduce, slot, &in_registers[first..]);
            }
        }
        self.b.end_loop(groups, Vec::new());
        self.states = outer;
        Ok(())
    }
}
