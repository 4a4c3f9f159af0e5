//! A step of a level, or a gang of them: its index, its number in its block, and its statements.

use fusebox_ir::{Binary, LevelOrder};

use super::{Emitter, Result, Val, emitted_level::EmittedLevel};
use crate::vector::Value;

impl Emitter<'_> {
    /// The loop itself, in which no gang begins behind `last`, if there is one: the last gang may run steps again. In all of its steps these flags of
    /// accumulators say that there is something.
    pub(super) fn steps_up_to(
        &mut self,
        nest: &EmittedLevel,
        (low, high): (Value, Value),
        last: Option<Value>,
        lanes: u32,
        first: Value,
        flags: &[usize],
    ) -> Result {
        let open = self.b.begin_loop(low, high, i64::from(lanes), &self.states.clone());
        self.states = open.carried.clone();
        self.have_something(flags);
        let step = last.map_or(open.index, |last| self.b.binary(Binary::Min, open.index, last));
        let element = self.b.sub(step, first);
        self.numbered(nest, element);
        self.step(nest, step, lanes)?;
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(())
    }

    /// The statements at a step, or a gang of steps.
    pub(super) fn step(&mut self, nest: &EmittedLevel, step: Value, lanes: u32) -> Result {
        let kernel = self.kernel;
        let level = &kernel.levels[nest.depth];
        if nest.depth == 0 {
            self.outer_step = Some(step);
        }
        for position in nest.inner.clone().filter(|&p| kernel.statements[p].depth as usize == nest.depth + 1) {
            if let Some(scan) = self.scans.get_mut(&position) {
                scan.step = Some(step);
            }
        }
        let index = self.index_at(nest.depth, (nest.from, nest.to), step, lanes);
        self.locals.insert(level.index.id, index);
        self.depth(nest.depth + 1, nest.inner.clone())?;
        self.locals.remove(&level.index.id);
        Ok(())
    }

    /// The index at a step of a level with these bounds, or at a gang of steps from it on.
    pub(super) fn index_at(&mut self, depth: usize, (from, to): (Value, Value), step: Value, lanes: u32) -> Val {
        let down = self.kernel.levels[depth].order == LevelOrder::Down;
        let index = if down {
            let last = self.b.add_int(to, -1);
            self.b.sub(last, step)
        } else {
            self.b.add(from, step)
        };
        if lanes == 1 {
            return Val::Uniform(index);
        }
        let stride = self.b.int(if down { -1 } else { 1 });
        Val::Linear(index, stride)
    }

    /// Tells reduces and totals of this level which element of the block comes.
    pub(super) fn numbered(&mut self, nest: &EmittedLevel, element: Value) {
        for position in nest.inner.clone() {
            if self.kernel.statements[position].depth as usize != nest.depth + 1 {
                continue;
            }
            self.open_reduces(position).for_each(|reduce| reduce.element = Some(element));
            if let Some(total) = self.scans.get_mut(&position).and_then(|scan| scan.total.as_mut()) {
                total.element = Some(element);
            }
        }
    }
}
