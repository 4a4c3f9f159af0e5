//! What a reduce keeps in scratch memory: accumulators on three tiers, how many elements each has got, the result of an only block.

use fusebox_ir::{Constant, ElementType};

use super::{Kind, Maybe, Presence, Reduce, TIERS};
use crate::{
    emit::Emitter,
    vector::{Memory, Value},
};

impl Emitter<'_> {
    /// Nothing has been combined yet.
    pub(in crate::emit) fn reset(&mut self, reduce: &Reduce) {
        let zero = self.b.int(0);
        for tier in 0..=TIERS as i64 {
            let tier = self.b.int(tier);
            self.set_count(reduce, tier, zero);
        }
        let nothing: Vec<Value> = match &reduce.presence {
            Presence::Identity(identities) => identities.iter().map(|&identity| self.b.constant(identity)).collect(),
            _ => reduce.types.iter().map(|&ty| self.b.constant(Constant::zero(ty))).collect(),
        };
        let nothing: Vec<Value> = nothing.into_iter().map(|value| self.b.splat(value, reduce.lanes)).collect();
        let none = self.b.constant(Constant::from(false));
        self.set_out(reduce, &(nothing, Some(none)));
        if reduce.early.is_some() {
            self.reset_early(reduce);
        }
        if reduce.counted {
            let one = self.b.int(1);
            self.fill(reduce, zero, one);
        }
    }

    pub(super) fn set_out(&mut self, reduce: &Reduce, (values, has): &Maybe) {
        let zero = self.b.int(0);
        for (&place, &value) in reduce.places.out.iter().zip(values) {
            let base = self.scratch_at(place);
            self.b.store(base, zero, value, None);
        }
        let some = self.b.constant(Constant::from(true));
        let has = self.b.splat(has.unwrap_or(some), reduce.lanes);
        let base = self.scratch_at(reduce.places.out_flag);
        self.b.store(base, zero, has, None);
    }

    pub(super) fn out(&mut self, reduce: &Reduce) -> Maybe {
        let zero = self.b.int(0);
        let values = (reduce.places.out.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, reduce.lanes, base, zero, Memory::Shared)
            })
            .collect();
        let base = self.scratch_at(reduce.places.out_flag);
        (values, Some(self.b.load(ElementType::Bool, reduce.lanes, base, zero, Memory::Shared)))
    }

    pub(super) fn count(&mut self, reduce: &Reduce, tier: Value) -> Value {
        let base = self.scratch_at(reduce.places.counts);
        self.b.load(ElementType::I64, 1, base, tier, Memory::Shared)
    }

    pub(super) fn set_count(&mut self, reduce: &Reduce, tier: Value, count: Value) {
        let base = self.scratch_at(reduce.places.counts);
        self.b.store(base, tier, count, None);
    }

    /// The position of a slot among the elements of a component.
    pub(super) fn slot(&mut self, reduce: &Reduce, tier: Value, slot: Value) -> Value {
        let slots = self.b.int(reduce.slots());
        let ahead = self.b.mul(tier, slots);
        let position = self.b.add(ahead, slot);
        let lanes = self.b.int(i64::from(reduce.lanes));
        self.b.mul(position, lanes)
    }

    /// The first `count` accumulators of a tier hold nothing.
    pub(super) fn fill(&mut self, reduce: &Reduce, tier: Value, count: Value) {
        if reduce.kind == Kind::Runs || reduce.presence == Presence::Counted {
            return;
        }
        let zero = self.b.int(0);
        let open = self.b.begin_loop(zero, count, 1, &[]);
        let at = self.slot(reduce, tier, open.index);
        if let Presence::Identity(identities) = &reduce.presence {
            for (&place, &identity) in reduce.places.slots.iter().zip(identities) {
                let base = self.scratch_at(place);
                let identity = self.b.constant(identity);
                let identity = self.b.splat(identity, reduce.lanes);
                self.b.store(base, at, identity, None);
            }
        } else {
            let base = self.scratch_at(reduce.places.flags);
            let none = self.b.constant(Constant::from(false));
            let none = self.b.splat(none, reduce.lanes);
            self.b.store(base, at, none, None);
        }
        self.b.end_loop(open, Vec::new());
    }
}
