//! The accumulators of a block become one, by halves.

use fusebox_ir::{Binary, Constant, ElementType, Unary, analysis::algebra::built_ins, association::BLOCK};

use super::{Maybe, Presence, Reduce, ReduceKind};
use crate::{
    emit::{Emitter, Result},
    vector::{Memory, Value},
};

impl Emitter<'_> {
    /// The least power of two that is not below, at most the accumulators there are.
    pub(super) fn used_width(&mut self, reduce: &Reduce, count: Value) -> Value {
        if let Some(count) = self.b.constant_of(count).and_then(Constant::as_i64) {
            return self.b.int((count.max(1) as u64).next_power_of_two().min(reduce.width.into()) as i64);
        }
        let one = self.b.int(1);
        let count = self.b.binary(Binary::Max, count, one);
        let below = self.b.add_int(count, -1);
        let zeros = self.b.unary(Unary::Clz, below);
        let bits = self.b.int(64);
        let bits = self.b.sub(bits, zeros);
        let width = self.b.binary(Binary::Shl, one, bits);
        let all = self.b.int(reduce.width.into());
        self.b.binary(Binary::Min, width, all)
    }

    /// Combines the accumulators of a tree level that has got `count` elements.
    pub(super) fn fold_block(&mut self, reduce: &Reduce, tree_level: Value, count: Value) -> Result<Maybe> {
        if reduce.kind == ReduceKind::Runs {
            return self.fold_runs(reduce, tree_level, count);
        }
        let width = self.used_width(reduce, count);
        let one = self.b.int(1);
        let half = self.b.binary(Binary::Shr, width, one);
        let lanes = self.gang.map_or(1, |gang| gang.lanes);
        let mut half = half;
        let most = match (reduce.most_blocks, self.b.constant_of(tree_level).and_then(Constant::as_i64)) {
            (Some(most), Some(1..)) => most,
            _ => BLOCK,
        };
        let several = (most as u64).next_power_of_two().min(reduce.width.into()) > lanes.into();
        if reduce.lanes == 1 && lanes > 1 && matches!(reduce.presence, Presence::Identity(_)) && several {
            half = self.halve(reduce, tree_level, half, count, lanes)?;
        }
        self.halve(reduce, tree_level, half, count, 1)?;
        let zero = self.b.int(0);
        Ok(self.element(reduce, tree_level, zero))
    }

    /// Gangs of accumulators in registers, combined by halves until there is one value.
    pub(in crate::emit) fn fold_registers(&mut self, reduce: &Reduce, gangs: Vec<Maybe>, lanes: u32) -> Result<Maybe> {
        let around = std::mem::replace(&mut self.lanes, lanes);
        let mut all = self.fold_gangs(reduce, gangs)?;
        if let Some(holds) = self.fold_conditions(reduce, &all) {
            self.lanes = around;
            return Ok((vec![holds], None));
        }
        while self.lanes > 1 {
            let half = |this: &mut Self, upper: bool| -> Maybe {
                let values = all.0.iter().map(|&value| this.b.half(value, upper)).collect();
                (values, all.1.map(|has| this.b.half(has, upper)))
            };
            let (left, right) = (half(self, false), half(self, true));
            self.lanes /= 2;
            all = self.combine_maybe(&reduce.combine, &left, &right, reduce.swap)?;
        }
        self.lanes = around;
        Ok(all)
    }

    /// Whether one of the conditions in the lanes of an accumulator holds, or all do, where that is what is asked: however they are grouped, it is the same.
    fn fold_conditions(&mut self, reduce: &Reduce, (values, has): &Maybe) -> Option<Value> {
        let ([conditions], [ElementType::Bool], None) = (&values[..], &reduce.types[..], has) else { return None };
        match built_ins(&reduce.combine)?[..] {
            [Binary::Or | Binary::LogicalOr | Binary::Max] => Some(self.b.any(*conditions)),
            [Binary::And | Binary::LogicalAnd | Binary::Min] => {
                let not = self.b.not(*conditions);
                let one_not = self.b.any(not);
                Some(self.b.not(one_not))
            }
            _ => None,
        }
    }

    /// Gangs of accumulators, combined by halves until there is one gang.
    pub(in crate::emit) fn fold_gangs(&mut self, reduce: &Reduce, mut gangs: Vec<Maybe>) -> Result<Maybe> {
        while gangs.len() > 1 {
            let upper = gangs.split_off(gangs.len() / 2);
            let pairs = gangs.iter().zip(&upper);
            gangs = pairs
                .map(|(left, right)| self.combine_maybe(&reduce.combine, left, right, reduce.swap))
                .collect::<Result<Vec<_>>>()?;
        }
        gangs.pop().ok_or_else(|| self.broken("a fold of no accumulators"))
    }

    /// Accumulator l takes accumulator l + half, for ever smaller halves, `lanes` at a time; gives the first half that is too small.
    pub(super) fn halve(
        &mut self,
        reduce: &Reduce,
        tree_level: Value,
        half: Value,
        count: Value,
        lanes: u32,
    ) -> Result<Value> {
        let mut open = self.b.begin_while(&[half]);
        let half = open.carried[0];
        let least = self.b.int(i64::from(lanes) - 1);
        let go = self.b.binary(Binary::Gt, half, least);
        self.b.while_body(&mut open, go);
        let zero = self.b.int(0);
        let mut pairs = half;
        if reduce.presence == Presence::Counted {
            // Of an odd number the last ones have nobody to take.
            let twice = self.b.add(half, half);
            let there = self.b.binary(Binary::Min, count, twice);
            pairs = self.b.sub(there, half);
        }
        let each = self.b.begin_loop(zero, pairs, i64::from(lanes), &[]);
        let width = reduce.lanes.max(lanes);
        let left_at = self.slot(reduce, tree_level, each.index);
        let other = self.b.add(each.index, half);
        let right_at = self.slot(reduce, tree_level, other);
        let (left, right) = (self.slot_values(reduce, left_at, width), self.slot_values(reduce, right_at, width));
        let new = if reduce.presence == Presence::Flags {
            let base = self.scratch_at(reduce.layout.flags);
            let has_left = self.b.load(ElementType::Bool, width, base, left_at, Memory::Shared);
            let has_right = self.b.load(ElementType::Bool, width, base, right_at, Memory::Shared);
            let (new, has) =
                self.combine_present(&reduce.combine, (&left, has_left), (&right, has_right), reduce.swap)?;
            self.b.store(base, left_at, has, None);
            new
        } else {
            self.combine(&reduce.combine, &left, &right, reduce.swap)?
        };
        for (&place, value) in reduce.layout.slots.iter().zip(new) {
            let base = self.scratch_at(place);
            self.b.store(base, left_at, value, None);
        }
        self.b.end_loop(each, Vec::new());
        let one = self.b.int(1);
        let next = self.b.binary(Binary::Shr, half, one);
        Ok(self.b.end_while(open, vec![next])[0])
    }

    /// An accumulator of a tree level, or an element that goes into runs.
    pub(super) fn element(&mut self, reduce: &Reduce, tree_level: Value, element: Value) -> Maybe {
        let at = self.slot(reduce, tree_level, element);
        let values = self.slot_values(reduce, at, reduce.lanes);
        let has = (reduce.presence == Presence::Flags).then(|| {
            let base = self.scratch_at(reduce.layout.flags);
            self.b.load(ElementType::Bool, reduce.lanes, base, at, Memory::Shared)
        });
        (values, has)
    }

    pub(super) fn slot_values(&mut self, reduce: &Reduce, at: Value, lanes: u32) -> Vec<Value> {
        (reduce.layout.slots.iter().zip(&reduce.types))
            .map(|(&place, &ty)| {
                let base = self.scratch_at(place);
                self.b.load(ty, lanes, base, at, Memory::Shared)
            })
            .collect()
    }
}
