//! Strip-mined accumulators: they stay in registers, a few at a time.
//!
//! Where not all interleaved accumulators of a reduce fit into the registers, a level across lanes is strip-mined: it runs in strips that fit
//! the innermost cache. Over each strip, such reduces come first. A batch of neighbouring accumulators goes through all elements of the strip
//! that are theirs, in their order, then the next batch. Everything else follows, for the whole strip. What both need is computed for each.

use std::collections::HashSet;

use fusebox_ir::{Action, Binary, Kernel, analysis::kernels::accumulators};
use fusebox_schedule::{By, Effects, Loop, Node, slice::free_slice};

use super::{Emitter, Result, emitted_level::EmittedLevel};
use crate::vector::Value;

/// Reduces that are computed together.
#[derive(Clone, Debug)]
struct Batch {
    /// Their statements: reduces of the level, or a scan for its total.
    positions: Vec<usize>,
    /// Gangs whose accumulators are in registers at a time.
    gangs: u32,
}

/// How a level is strip-mined: what a loop over strips says.
#[derive(Clone, Debug)]
pub(super) struct StripMined<'k> {
    batches: Vec<Batch>,
    /// Interleaved accumulators of each.
    pub(super) width: u32,
    pub(super) lanes: u32,
    /// Whether the level has more to do.
    rest: bool,
    /// The loop in gangs for the rest, and for steps that are not as many as accumulators.
    pub(super) tail: &'k Loop,
}

/// The innermost of the loops over groups of accumulators, over the steps that feed them, and over a group, with its statements.
fn batch_of(node: &Node) -> Option<(&Loop, &[u32])> {
    let Node::Loop(groups) = node else { return None };
    let [Node::Loop(turns)] = groups.body.as_slice() else { return None };
    let [Node::Loop(group)] = turns.body.as_slice() else { return None };
    match group.body.as_slice() {
        [Node::Do(Effects::Named(positions))] => Some((group, positions)),
        _ => None,
    }
}

impl<'k> StripMined<'k> {
    /// Of a loop over strips; none of other loops.
    pub(super) fn of(kernel: &Kernel, strips: &'k Loop) -> Option<Self> {
        let batches: Vec<(&Loop, &[u32])> = strips.body.iter().map_while(batch_of).collect();
        let (feed, positions) = *batches.first()?;
        let rest = match strips.body.get(batches.len()) {
            Some(Node::Loop(rest)) => Some(rest),
            _ => None,
        };
        let By::Lanes(lanes) = feed.by else { return None };
        let batch = |&(feed, positions): &(&Loop, &[u32])| Batch {
            positions: positions.iter().map(|&position| position as usize).collect(),
            gangs: feed.unroll,
        };
        Some(Self {
            width: accumulators(kernel, *positions.first()? as usize)?.lanes,
            batches: batches.iter().map(batch).collect(),
            lanes,
            rest: rest.is_some(),
            tail: rest.unwrap_or(feed),
        })
    }
}

impl<'k> Emitter<'k> {
    fn is_scan(&self, position: usize) -> bool {
        matches!(self.kernel.statements[position].action, Action::Scan { .. })
    }

    /// The statements that a batch needs of its level.
    fn slice_of(&self, nest: &EmittedLevel, batch: &Batch) -> Result<HashSet<usize>> {
        let mut slice = HashSet::new();
        for &position in &batch.positions {
            let own = free_slice(self.kernel, nest.depth, position);
            slice.extend(own.ok_or_else(|| self.broken("a batch of accumulators needs what cannot run again"))?);
        }
        Ok(slice)
    }

    /// Steps `low..high`, a multiple of the width and numbered from `first`, in strips.
    pub(super) fn run_strip_mined(
        &mut self,
        nest: &EmittedLevel,
        strips: &StripMined<'k>,
        length: i64,
        (low, high): (Value, Value),
        first: Value,
    ) -> Result {
        let gang = strips.lanes;
        let open = self.b.begin_loop(low, high, length, &self.states.clone());
        self.states.clone_from(&open.carried);
        let start = open.index;
        let end = self.b.add_int(start, length);
        let end = self.b.binary(Binary::Min, end, high);
        let locals = self.locals.clone();
        for batch in &strips.batches {
            let total = self.is_scan(batch.positions[0]);
            if total {
                self.total_where_needed(batch.positions[0], |this| {
                    this.batch(nest, strips, batch, (start, end), gang)
                })?;
            } else {
                self.batch(nest, strips, batch, (start, end), gang)?;
            }
            self.locals.clone_from(&locals);
        }
        if strips.rest {
            self.nodes = &strips.tail.body;
            self.done = strips.batches.iter().flat_map(|batch| batch.positions.iter().copied()).collect();
            // What this asks for is the next strip (of elements of 4 bytes): there the batches find it.
            self.gangs(nest, (start, end), None, gang, first, (strips.tail, None))?;
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
        strips: &StripMined<'k>,
        batch: &Batch,
        (start, end): (Value, Value),
        gang: u32,
    ) -> Result {
        let slice = self.slice_of(nest, batch)?;
        let outer = std::mem::take(&mut self.states);
        let (zero, width) = (self.b.int(0), self.b.int(strips.width.into()));
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
        let elements = self.b.begin_loop(from, end, i64::from(strips.width), &in_registers);
        self.states.clone_from(&elements.carried);
        if !strips.rest {
            self.prefetch_out_of_cache(nest, &slice, elements.index, i64::from(batch.gangs * gang))?;
        }
        self.only = Some(slice);
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
