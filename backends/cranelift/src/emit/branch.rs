//! Branches of scalar code: of one point, and of a gang, where code is left out that no lane takes.

use fusebox_ir::{Constant, Instruction, Lambda, ScalarOp, ScalarOperand, analysis::kernels::is_cheap};

use super::{Emitter, Result, Val};
use crate::vector::{Region, Value};

/// A side of an `if` is long of more instructions.
const LONG_SIDE: usize = 24;

impl Emitter<'_> {
    /// Both sides where they cost little, else one or the other.
    pub(super) fn branch(&mut self, condition: ScalarOperand, then: &Lambda, otherwise: &Lambda) -> Result<Vec<Val>> {
        let condition = self.operand(condition)?;
        let condition = self.plain(condition);
        if let Some(known) = self.b.constant_of(condition).and_then(Constant::as_bool) {
            return self.lambda(if known { then } else { otherwise }, &[]);
        }
        if self.b.lanes(condition) == 1 {
            if then.instructions.iter().chain(&otherwise.instructions).all(is_cheap) {
                let (a, b) = (self.lambda(then, &[])?, self.lambda(otherwise, &[])?);
                return Ok(self.selected(condition, &a, &b));
            }
            self.b.open();
            let a = self.lambda(then, &[])?;
            let a: Vec<Value> = a.into_iter().map(|value| self.plain(value)).collect();
            let then_region = self.b.close();
            self.b.open();
            let b = self.lambda(otherwise, &[])?;
            let b: Vec<Value> = b.into_iter().map(|value| self.plain(value)).collect();
            let otherwise_region = self.b.close();
            // Both sides give as many lanes.
            let widths: Vec<u32> = a.iter().zip(&b).map(|(&a, &b)| self.b.lanes(a).max(self.b.lanes(b))).collect();
            let (then_region, a) = self.widened(then_region, a, &widths);
            let (otherwise_region, b) = self.widened(otherwise_region, b, &widths);
            let results = self.b.end_if(condition, (then_region, a), (otherwise_region, b));
            return Ok(results.into_iter().map(|value| self.val(value)).collect());
        }
        let not = self.b.not(condition);
        match (is_long(then), is_long(otherwise)) {
            (true, false) => {
                let b = self.masked_side(not, otherwise)?;
                self.where_some_differ((condition, then), (condition, false), &b)
            }
            (false, true) => {
                let a = self.masked_side(condition, then)?;
                self.where_some_differ((not, otherwise), (condition, true), &a)
            }
            _ => {
                let a = self.masked_side(condition, then)?;
                let b = self.masked_side(not, otherwise)?;
                Ok(self.selected(condition, &a, &b))
            }
        }
    }

    /// An `if` whose long side is left out where no lane takes it: all lanes have what the other side gives then, and nothing is selected. Of
    /// the condition, whether `others` are those of which it holds.
    fn where_some_differ(
        &mut self,
        (side, long): (Value, &Lambda),
        (condition, others): (Value, bool),
        other: &[Val],
    ) -> Result<Vec<Val>> {
        let outer = self.mask;
        self.mask = self.b.both(outer, Some(side));
        let selected = |this: &mut Self| {
            let own = this.lambda(long, &[])?;
            let (a, b) = if others { (other, &own[..]) } else { (&own[..], other) };
            Ok(this.selected(condition, a, b))
        };
        let results = self.where_some_lane_or(selected, Some(other));
        self.mask = outer;
        results
    }

    fn widened(&mut self, region: Region, values: Vec<Value>, widths: &[u32]) -> (Region, Vec<Value>) {
        self.b.open();
        let values = values.into_iter().zip(widths).map(|(value, &lanes)| self.b.splat(value, lanes)).collect();
        let mut behind = self.b.close();
        let mut region = region;
        region.0.append(&mut behind.0);
        (region, values)
    }

    fn selected(&mut self, condition: Value, a: &[Val], b: &[Val]) -> Vec<Val> {
        a.iter()
            .zip(b)
            .map(|(&a, &b)| {
                let (a, b) = (self.plain(a), self.plain(b));
                let value = self.b.select(condition, a, b);
                self.val(value)
            })
            .collect()
    }

    /// What code gives if there is a lane that takes part: it is skipped where there is none, and what it gives then is used by nobody.
    pub(super) fn where_some_lane(&mut self, code: impl FnOnce(&mut Self) -> Result<Vec<Val>>) -> Result<Vec<Val>> {
        self.where_some_lane_or(code, None)
    }

    /// As [`Self::where_some_lane`]; where code is skipped, these in the place of what it gives.
    fn where_some_lane_or(
        &mut self,
        code: impl FnOnce(&mut Self) -> Result<Vec<Val>>,
        skipped: Option<&[Val]>,
    ) -> Result<Vec<Val>> {
        let Some(mask) = self.mask else { return code(self) };
        let any = self.b.any(mask);
        let known = self.some_lane.replace(mask);
        self.b.open();
        let inside = code(self)?;
        let inside: Vec<Value> = inside.into_iter().map(|value| self.plain(value)).collect();
        let region = self.b.close();
        self.some_lane = known;
        self.b.open();
        let types: Vec<_> = inside.iter().map(|&value| self.b.ty(value)).collect();
        let others = types.iter().enumerate().map(|(at, ty)| {
            let other = match skipped.and_then(|skipped| skipped.get(at)) {
                Some(&other) => self.plain(other),
                None => self.b.constant(Constant::zero(ty.element)),
            };
            self.b.splat(other, ty.lanes)
        });
        let others = others.collect();
        let skipped = self.b.close();
        let results = self.b.end_if(any, (region, inside), (skipped, others));
        Ok(results.into_iter().map(|value| self.val(value)).collect())
    }

    /// One side of an `if` that lanes disagree on: for those of `side`, skipped where there are none if it is long.
    fn masked_side(&mut self, side: Value, lambda: &Lambda) -> Result<Vec<Val>> {
        let outer = self.mask;
        self.mask = self.b.both(outer, Some(side));
        let results = if is_long(lambda) {
            self.where_some_lane(|this| this.lambda(lambda, &[]))?
        } else {
            self.lambda(lambda, &[])?
        };
        self.mask = outer;
        Ok(results)
    }
}

/// Whether it is worth asking whether a lane takes a side of an `if`.
fn is_long(side: &Lambda) -> bool {
    !side.results.is_empty() && (instructions(side) > LONG_SIDE || !side.instructions.iter().all(is_cheap))
}

/// How many instructions there are, those in sides of an `if` among them.
fn instructions(side: &Lambda) -> usize {
    let of = |instruction: &Instruction| match &instruction.op {
        ScalarOp::If { then, otherwise, .. } => 1 + instructions(then) + instructions(otherwise),
        _ => 1,
    };
    side.instructions.iter().map(of).sum()
}
