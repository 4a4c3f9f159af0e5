//! Ragged reduces over several levels: the first elements are peeled, and stored until it is known whether there are enough for lanes.

use fusebox_ir::{Constant, ElementType};

use super::{Presence, Reduce, TREE_LEVELS};
use crate::{
    emit::{Emitter, Result},
    vector::{Memory, Value},
};

/// Where in scratch memory the peeled elements are.
#[derive(Clone, Debug)]
pub(super) struct Peeled {
    /// From how many elements on lanes are used.
    least: u32,
    values: Vec<i64>,
    flags: i64,
}

impl Emitter<'_> {
    /// Lays out scratch memory for the first `least` elements.
    pub(super) fn peel(&mut self, reduce: &mut Reduce, least: u32) {
        let elements = least.max(1) as usize * reduce.lanes as usize;
        let values = reduce.types.iter().map(|ty| self.b.scratch(elements * ty.bytes())).collect();
        reduce.peeled = Some(Peeled { least, values, flags: self.b.scratch(elements) });
    }

    /// How many elements there were: up to `least`, then one more than that.
    fn peeled_count(&mut self, reduce: &Reduce) -> Value {
        let tree_level = self.b.int(TREE_LEVELS as i64 + 1);
        self.count(reduce, tree_level)
    }

    fn set_early_count(&mut self, reduce: &Reduce, count: Value) {
        let tree_level = self.b.int(TREE_LEVELS as i64 + 1);
        self.set_count(reduce, tree_level, count);
    }

    /// Nothing has been peeled yet.
    pub(super) fn reset_peeled(&mut self, reduce: &Reduce) {
        let zero = self.b.int(0);
        self.set_early_count(reduce, zero);
    }

    fn peeled_at(&mut self, reduce: &Reduce, peeled: &Peeled, element: Value) -> (Vec<Value>, Value) {
        let lanes = self.b.int(reduce.lanes.into());
        let at = self.b.mul(element, lanes);
        let values = (peeled.values.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, reduce.lanes, base, at, Memory::Shared)
            })
            .collect();
        let base = self.scratch_at(peeled.flags);
        (values, self.b.load(ElementType::Bool, reduce.lanes, base, at, Memory::Shared))
    }

    /// Puts the peeled elements into accumulators.
    fn flush(&mut self, reduce: &Reduce, peeled: &Peeled) -> Result {
        let (zero, least) = (self.b.int(0), self.b.int(peeled.least.into()));
        let open = self.b.begin_loop(zero, least, 1, &[]);
        let (values, has) = self.peeled_at(reduce, peeled, open.index);
        let mask = if reduce.presence == Presence::Counted { None } else { Some(has) };
        self.put_in_memory(reduce, 0, &values, mask)?;
        self.b.end_loop(open, Vec::new());
        Ok(())
    }

    /// The element of a point, or of a gang of points with an accumulator each.
    pub(super) fn put_peeled(
        &mut self,
        reduce: &Reduce,
        peeled: &Peeled,
        values: &[Value],
        mask: Option<Value>,
    ) -> Result {
        let seen = self.peeled_count(reduce);
        let least = self.b.int(peeled.least.into());
        let few = self.b.less(seen, least);
        self.b.open();
        let lanes = self.b.int(reduce.lanes.into());
        let at = self.b.mul(seen, lanes);
        for (&place, &value) in peeled.values.iter().zip(values) {
            let base = self.scratch_at(place);
            let value = self.b.splat(value, reduce.lanes);
            self.b.store(base, at, value, None);
        }
        let some = self.b.constant(Constant::from(true));
        let has = self.b.splat(mask.unwrap_or(some), reduce.lanes);
        let base = self.scratch_at(peeled.flags);
        self.b.store(base, at, has, None);
        let next = self.b.add_int(seen, 1);
        self.set_early_count(reduce, next);
        let keep = self.b.close();
        self.b.open();
        self.flush_once(reduce, peeled, seen)?;
        self.put_in_memory(reduce, 0, values, mask)?;
        let put = self.b.close();
        self.b.end_if(few, (keep, Vec::new()), (put, Vec::new()));
        Ok(())
    }

    fn flush_once(&mut self, reduce: &Reduce, peeled: &Peeled, seen: Value) -> Result {
        let least = self.b.int(peeled.least.into());
        let now = self.b.binary(fusebox_ir::Binary::Eq, seen, least);
        self.b.open();
        self.flush(reduce, peeled)?;
        let more = self.b.int(i64::from(peeled.least) + 1);
        self.set_early_count(reduce, more);
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        self.b.end_if(now, (then, Vec::new()), (otherwise, Vec::new()));
        Ok(())
    }

    /// The seeds and all elements: one after the other where there were few, else by lanes.
    pub(super) fn peeled_end(&mut self, reduce: &Reduce, seeds: &[Value]) -> Result<Vec<Value>> {
        let Some(peeled) = reduce.peeled.clone() else { return self.seeded_total(reduce, seeds) };
        let seen = self.peeled_count(reduce);
        let least = self.b.int(peeled.least.into());
        let few = self.b.less(seen, least);
        self.b.open();
        let mut starts: Vec<Value> = seeds.to_vec();
        if seeds.is_empty() {
            for &ty in &reduce.types {
                let zero = self.b.constant(Constant::zero(ty));
                starts.push(self.b.splat(zero, reduce.lanes));
            }
        }
        let started = self.b.constant(Constant::from(!seeds.is_empty()));
        starts.push(self.b.splat(started, reduce.lanes));
        let zero = self.b.int(0);
        let each = self.b.begin_loop(zero, seen, 1, &starts);
        let (values, has) = self.peeled_at(reduce, &peeled, each.index);
        let (before, had) = each.carried.split_at(each.carried.len() - 1);
        let (mut next, has) = self.combine_present(&reduce.combine, (before, had[0]), (&values, has), reduce.swap)?;
        next.push(has);
        let mut in_order = self.b.end_loop(each, next);
        in_order.pop();
        let then = self.b.close();
        self.b.open();
        self.flush_once(reduce, &peeled, seen)?;
        let by_lanes = self.seeded_total(reduce, seeds)?;
        let by_lanes = by_lanes.into_iter().map(|value| self.b.splat(value, reduce.lanes)).collect();
        let otherwise = self.b.close();
        Ok(self.b.end_if(few, (then, in_order), (otherwise, by_lanes)))
    }
}
