//! What a reduce has in scratch memory: the accumulators of three tree levels, how many elements each has got, the result of an only block.

use fusebox_ir::{Constant, ElementType};

use super::{Maybe, Presence, Reduce, ReduceKind, TREE_LEVELS};
use crate::{
    emit::Emitter,
    vector::{Memory, Value},
};

impl Emitter<'_> {
    /// Nothing has been combined yet.
    pub(in crate::emit) fn reset(&mut self, reduce: &Reduce) {
        let zero = self.b.int(0);
        for tree_level in 0..=TREE_LEVELS as i64 {
            let tree_level = self.b.int(tree_level);
            self.set_count(reduce, tree_level, zero);
        }
        let nothing: Vec<Value> = match &reduce.presence {
            Presence::Identity(identities) => identities.iter().map(|&identity| self.b.constant(identity)).collect(),
            _ => reduce.types.iter().map(|&ty| self.b.constant(Constant::zero(ty))).collect(),
        };
        let nothing: Vec<Value> = nothing.into_iter().map(|value| self.b.splat(value, reduce.lanes)).collect();
        let none = self.b.constant(Constant::from(false));
        self.set_out(reduce, &(nothing, Some(none)));
        if reduce.peeled.is_some() {
            self.reset_peeled(reduce);
        }
        if reduce.counted {
            let one = self.b.int(1);
            self.fill(reduce, zero, one);
        }
    }

    pub(super) fn set_out(&mut self, reduce: &Reduce, (values, has): &Maybe) {
        let zero = self.b.int(0);
        for (&place, &value) in reduce.layout.out.iter().zip(values) {
            let base = self.scratch_at(place);
            self.b.store(base, zero, value, None);
        }
        let some = self.b.constant(Constant::from(true));
        let has = self.b.splat(has.unwrap_or(some), reduce.lanes);
        let base = self.scratch_at(reduce.layout.out_flag);
        self.b.store(base, zero, has, None);
    }

    pub(super) fn out(&mut self, reduce: &Reduce) -> Maybe {
        let zero = self.b.int(0);
        let values = (reduce.layout.out.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, reduce.lanes, base, zero, Memory::Shared)
            })
            .collect();
        let base = self.scratch_at(reduce.layout.out_flag);
        (values, Some(self.b.load(ElementType::Bool, reduce.lanes, base, zero, Memory::Shared)))
    }

    pub(super) fn count(&mut self, reduce: &Reduce, tree_level: Value) -> Value {
        let base = self.scratch_at(reduce.layout.counts);
        self.b.load(ElementType::I64, 1, base, tree_level, Memory::Shared)
    }

    pub(super) fn set_count(&mut self, reduce: &Reduce, tree_level: Value, count: Value) {
        let base = self.scratch_at(reduce.layout.counts);
        self.b.store(base, tree_level, count, None);
    }

    /// The position of a slot among the elements of a component.
    pub(super) fn slot(&mut self, reduce: &Reduce, tree_level: Value, slot: Value) -> Value {
        let slots = self.b.int(reduce.slots());
        let ahead = self.b.mul(tree_level, slots);
        let position = self.b.add(ahead, slot);
        let lanes = self.b.int(i64::from(reduce.lanes));
        self.b.mul(position, lanes)
    }

    /// The first `count` accumulators of a tree level hold nothing.
    pub(super) fn fill(&mut self, reduce: &Reduce, tree_level: Value, count: Value) {
        if reduce.kind == ReduceKind::Runs || reduce.presence == Presence::Counted {
            return;
        }
        let zero = self.b.int(0);
        let open = self.b.begin_loop(zero, count, 1, &[]);
        let at = self.slot(reduce, tree_level, open.index);
        if let Presence::Identity(identities) = &reduce.presence {
            for (&place, &identity) in reduce.layout.slots.iter().zip(identities) {
                let base = self.scratch_at(place);
                let identity = self.b.constant(identity);
                let identity = self.b.splat(identity, reduce.lanes);
                self.b.store(base, at, identity, None);
            }
        } else {
            let base = self.scratch_at(reduce.layout.flags);
            let none = self.b.constant(Constant::from(false));
            let none = self.b.splat(none, reduce.lanes);
            self.b.store(base, at, none, None);
        }
        self.b.end_loop(open, Vec::new());
    }
}
