//! Elements on their way into accumulators: of one point, or of a gang of them.

use fusebox_ir::{Action, Binary, Constant, ElementType, association::BLOCK};

use super::{Maybe, Presence, Reduce, ReduceKind};
use crate::{
    emit::{Emitter, Result},
    vector::{Memory, Value},
};

impl Emitter<'_> {
    /// Combines values into a slot (into as many as there are lanes, where accumulators have one), in the lanes of `mask`.
    pub(super) fn accumulate(
        &mut self,
        reduce: &Reduce,
        at: Value,
        fresh: Value,
        values: &[Value],
        mask: Option<Value>,
    ) -> Result {
        let lanes = values.iter().map(|&value| self.b.lanes(value)).max().unwrap_or(1).max(reduce.lanes);
        let values: Vec<Value> = values.iter().map(|&value| self.b.splat(value, lanes)).collect();
        if reduce.kind == ReduceKind::Runs {
            return self.put_values(reduce, at, &values, mask, lanes);
        }
        let old: Vec<Value> = (reduce.layout.slots.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, lanes, base, at, Memory::Shared)
            })
            .collect();
        let new = match reduce.presence {
            Presence::Identity(_) => {
                let combined = self.combine_masked(&reduce.combine, &old, &values, reduce.swap, mask)?;
                match mask {
                    None => combined,
                    Some(mask) => combined.iter().zip(&old).map(|(&new, &old)| self.b.select(mask, new, old)).collect(),
                }
            }
            Presence::Counted => {
                let left: Vec<Value> =
                    old.iter().zip(&values).map(|(&old, &value)| self.b.select(fresh, value, old)).collect();
                let not_fresh = self.b.not(fresh);
                let combined = self.combine_masked(&reduce.combine, &left, &values, reduce.swap, Some(not_fresh))?;
                combined.iter().zip(&values).map(|(&new, &value)| self.b.select(fresh, value, new)).collect()
            }
            Presence::Flags => {
                let base = self.scratch_at(reduce.layout.flags);
                let has_old = self.b.load(ElementType::Bool, lanes, base, at, Memory::Shared);
                let some = self.b.constant(Constant::from(true));
                let has = self.b.splat(mask.unwrap_or(some), lanes);
                let (new, has_new) =
                    self.combine_present(&reduce.combine, (&old, has_old), (&values, has), reduce.swap)?;
                self.b.store(base, at, has_new, None);
                new
            }
        };
        for (&place, value) in reduce.layout.slots.iter().zip(new) {
            let base = self.scratch_at(place);
            let value = self.b.splat(value, lanes);
            self.b.store(base, at, value, None);
        }
        Ok(())
    }

    /// Elements of runs are kept as they are.
    pub(super) fn put_values(
        &mut self,
        reduce: &Reduce,
        at: Value,
        values: &[Value],
        mask: Option<Value>,
        lanes: u32,
    ) -> Result {
        for (&place, &value) in reduce.layout.slots.iter().zip(values) {
            let base = self.scratch_at(place);
            self.b.store(base, at, value, None);
        }
        if reduce.presence == Presence::Flags {
            let some = self.b.constant(Constant::from(true));
            let has = self.b.splat(mask.unwrap_or(some), lanes);
            let base = self.scratch_at(reduce.layout.flags);
            self.b.store(base, at, has, None);
        }
        Ok(())
    }

    /// Combines a gang into accumulators that are states.
    fn put_in_registers(&mut self, reduce: &Reduce, at: usize, values: &[Value], mask: Option<Value>) -> Result {
        let old = self.states[at..at + values.len()].to_vec();
        let flag = at + values.len();
        let flagged = !matches!(reduce.presence, Presence::Identity(_));
        if reduce.untouched || flagged {
            let some = self.b.constant(Constant::from(true));
            let has = self.b.splat(mask.unwrap_or(some), self.lanes);
            let new = if reduce.untouched {
                match mask {
                    None => values.iter().map(|&value| self.b.splat(value, self.lanes)).collect(),
                    Some(_) => values.iter().zip(&old).map(|(&value, &old)| self.b.select(has, value, old)).collect(),
                }
            } else {
                let (new, has) =
                    self.combine_present(&reduce.combine, (&old, self.states[flag]), (values, has), reduce.swap)?;
                self.states[flag] = has;
                new
            };
            if reduce.untouched && flagged {
                self.states[flag] = has;
            }
            for (state, new) in new.into_iter().enumerate() {
                self.states[at + state] = new;
            }
            return Ok(());
        }
        let combined = self.combine_masked(&reduce.combine, &old, values, reduce.swap, mask)?;
        for (state, (new, old)) in combined.into_iter().zip(old).enumerate() {
            self.states[at + state] = mask.map_or(new, |mask| self.b.select(mask, new, old));
        }
        Ok(())
    }

    /// The accumulators from `slot` on of a block that has begun.
    pub(in crate::emit) fn accumulators(&mut self, reduce: &Reduce, slot: Value, lanes: u32) -> Vec<Value> {
        let tree_level = self.b.int(0);
        let at = self.slot(reduce, tree_level, slot);
        self.slot_values(reduce, at, lanes)
    }

    /// The accumulators from `slot` on are these now.
    pub(in crate::emit) fn put_back(&mut self, reduce: &Reduce, slot: Value, values: &[Value]) {
        let tree_level = self.b.int(0);
        let at = self.slot(reduce, tree_level, slot);
        for (&place, &value) in reduce.layout.slots.iter().zip(values) {
            let base = self.scratch_at(place);
            self.b.store(base, at, value, None);
        }
    }

    /// Says where the accumulators of the gang that comes are, of a reduce or of a scan's total; `None`: in memory.
    pub(in crate::emit) fn set_registers(&mut self, position: usize, states: Option<usize>) {
        if let Some(reduce) = self.reduces.get_mut(&position) {
            reduce.in_registers = states;
        } else if let Some(total) = self.scans.get_mut(&position).and_then(|scan| scan.total.as_mut()) {
            total.in_registers = states;
        }
    }

    /// The accumulators that a block has kept in registers, a gang behind the other, of a reduce or of a scan's total.
    pub(in crate::emit) fn set_held(&mut self, position: usize, gangs: Vec<Maybe>, lanes: u32) {
        if let Some(reduce) = self.reduces.get_mut(&position) {
            reduce.held = Some((gangs, lanes));
        } else if let Some(total) = self.scans.get_mut(&position).and_then(|scan| scan.total.as_mut()) {
            total.held = Some((gangs, lanes));
        }
    }

    /// The element of a point.
    pub(in crate::emit) fn reduce(&mut self, position: usize, when: Option<Value>) -> Result {
        let kernel = self.kernel;
        let Action::Reduce { values, .. } = &kernel.statements[position].action else { self.misplaced(position) };
        if self.done.contains(&position) {
            return Ok(());
        }
        let values = values.iter().map(|&value| self.operand(value)).collect::<Result<Vec<_>>>()?;
        let values: Vec<Value> = values.into_iter().map(|value| self.plain(value)).collect();
        let Some(reduce) = self.reduces.get(&position).cloned() else {
            return Err(self.broken("a reduce outside of its levels"));
        };
        let mask = self.b.both(when, self.mask);
        self.put(&reduce, &values, mask)
    }

    /// Combines one element in, or a gang of them.
    pub(in crate::emit) fn put(&mut self, reduce: &Reduce, values: &[Value], mask: Option<Value>) -> Result {
        let outer = self.mask.take();
        let result = self.put_unmasked(reduce, values, mask);
        self.mask = outer;
        result
    }

    pub(super) fn put_unmasked(&mut self, reduce: &Reduce, values: &[Value], mask: Option<Value>) -> Result {
        let along = self.lanes > reduce.lanes;
        let lanes = self.lanes.max(reduce.lanes);
        let values: Vec<Value> = values.iter().map(|&value| self.b.splat(value, lanes)).collect();
        let values = values.as_slice();
        if let ReduceKind::InOrder(at) = reduce.kind {
            if !along {
                return self.put_in_order(reduce, at, values, mask);
            }
            return self
                .lane_by_lane(values, mask, |this, _, values, mask| this.put_in_order(reduce, at, values, mask));
        }
        let fits = reduce.kind == ReduceKind::Runs || reduce.width >= self.lanes;
        if along && (!fits || reduce.counted) {
            // What is behind the end of the level is no element, and is not counted.
            let end = self.remainder.filter(|_| reduce.counted);
            return self.lane_by_lane(values, mask, |this, lane, values, mask| {
                this.b.open();
                match &reduce.peeled {
                    Some(peeled) => this.put_peeled(reduce, peeled, values, mask)?,
                    None => this.put_in_memory(reduce, lane.into(), values, mask)?,
                }
                let mut put = this.b.close();
                let Some(end) = end else {
                    this.b.append(&mut put);
                    return Ok(());
                };
                let lane = this.b.int(lane.into());
                let inside = this.b.less(lane, end);
                this.b.open();
                let nothing = this.b.close();
                this.b.end_if(inside, (put, Vec::new()), (nothing, Vec::new()));
                Ok(())
            });
        }
        match &reduce.peeled {
            Some(peeled) => self.put_peeled(reduce, peeled, values, mask),
            None => self.put_in_memory(reduce, 0, values, mask),
        }
    }

    /// Scalar code for each lane in turn.
    pub(in crate::emit) fn lane_by_lane(
        &mut self,
        values: &[Value],
        mask: Option<Value>,
        mut one: impl FnMut(&mut Self, u32, &[Value], Option<Value>) -> Result,
    ) -> Result {
        let lanes = std::mem::replace(&mut self.lanes, 1);
        for lane in 0..lanes {
            let values: Vec<Value> = values.iter().map(|&value| self.b.extract(value, lane)).collect();
            let mask = mask.map(|mask| self.b.extract(mask, lane));
            one(self, lane, &values, mask)?;
        }
        self.lanes = lanes;
        Ok(())
    }

    pub(super) fn put_in_order(&mut self, reduce: &Reduce, at: usize, values: &[Value], mask: Option<Value>) -> Result {
        let k = values.len();
        let old: Vec<Value> = self.states[at..at + k].to_vec();
        let has = self.states.get(at + k).copied().filter(|_| self.flagged(reduce, at + k));
        let new = if let Some(has) = has.filter(|&has| self.b.lanes(has) < reduce.lanes) {
            // One flag for all lanes, of a function that cannot fail: what it makes of nothing is not used.
            let new = self.combine_masked(&reduce.combine, &old, values, reduce.swap, None)?;
            self.states[at + k] = self.b.constant(Constant::from(true));
            new.into_iter().zip(values).map(|(new, &value)| self.b.select(has, new, value)).collect()
        } else if let Some(has) = has {
            let some = self.b.constant(Constant::from(true));
            let here = self.b.splat(mask.unwrap_or(some), reduce.lanes);
            let values: Vec<Value> = values.iter().map(|&value| self.b.splat(value, reduce.lanes)).collect();
            let (new, has) = self.combine_present(&reduce.combine, (&old, has), (&values, here), reduce.swap)?;
            self.states[at + k] = has;
            new
        } else {
            let combined = self.combine_masked(&reduce.combine, &old, values, reduce.swap, mask)?;
            match mask {
                None => combined,
                Some(mask) => combined.iter().zip(&old).map(|(&new, &old)| self.b.select(mask, new, old)).collect(),
            }
        };
        for (state, value) in new.into_iter().enumerate() {
            self.states[at + state] = self.b.splat(value, reduce.lanes);
        }
        Ok(())
    }

    /// Whether the state at `at` says that a reduce without seeds has something.
    pub(super) fn flagged(&self, reduce: &Reduce, at: usize) -> bool {
        self.in_order_flags.contains(&at) && !reduce.types.is_empty()
    }

    pub(super) fn put_in_memory(
        &mut self,
        reduce: &Reduce,
        lane: i64,
        values: &[Value],
        mask: Option<Value>,
    ) -> Result {
        if let Some(at) = reduce.in_registers {
            return self.put_in_registers(reduce, at, values, mask);
        }
        let tree_level = self.b.int(0);
        let inside = self.b.int(BLOCK - 1);
        let element = match reduce.element {
            Some(element) if !reduce.counted => self.b.add_int(element, lane),
            _ => {
                let count = self.count(reduce, tree_level);
                let element = self.b.binary(Binary::And, count, inside);
                // The first element of a block finds its accumulators empty.
                let zero = self.b.int(0);
                let first = self.b.binary(Binary::Eq, element, zero);
                let width = self.b.int(reduce.width.into());
                let fill = self.b.select(first, width, zero);
                self.fill(reduce, tree_level, fill);
                element
            }
        };
        let width = self.b.int(i64::from(reduce.width));
        let fresh = self.b.less(element, width);
        let slot = if reduce.kind == ReduceKind::Runs {
            element
        } else {
            let last = self.b.int(i64::from(reduce.width) - 1);
            self.b.binary(Binary::And, element, last)
        };
        let at = self.slot(reduce, tree_level, slot);
        self.accumulate(reduce, at, fresh, values, mask)?;
        if reduce.counted || reduce.element.is_none() {
            let count = self.count(reduce, tree_level);
            let count = self.b.add_int(count, 1);
            self.set_count(reduce, tree_level, count);
            let rest = self.b.binary(Binary::And, count, inside);
            let zero = self.b.int(0);
            let full = self.b.binary(Binary::Eq, rest, zero);
            self.b.open();
            let whole = self.b.int(BLOCK);
            let result = self.fold_block(reduce, tree_level, whole)?;
            self.feed(reduce, result)?;
            let then = self.b.close();
            self.b.open();
            let otherwise = self.b.close();
            self.b.end_if(full, (then, Vec::new()), (otherwise, Vec::new()));
        }
        Ok(())
    }
}
