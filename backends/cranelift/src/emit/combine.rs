//! Combining functions on values: of all lanes, of those of a mask, of those that are there.

use fusebox_ir::{Binary, Lambda};

use super::{Emitter, Result, Val, statement::reduce::Maybe};
use crate::vector::Value;

impl Emitter<'_> {
    /// A combining function on values; operands change places where a level runs down.
    pub(super) fn combine(
        &mut self,
        combine: &Lambda,
        left: &[Value],
        right: &[Value],
        swap: bool,
    ) -> Result<Vec<Value>> {
        let (left, right) = if swap { (right, left) } else { (left, right) };
        let arguments: Vec<Val> = left.iter().chain(right).map(|&value| self.val(value)).collect();
        let results = self.lambda(combine, &arguments)?;
        let lanes = left.iter().chain(right).map(|&value| self.b.lanes(value)).max().unwrap_or(1);
        Ok(results
            .into_iter()
            .map(|value| {
                let value = self.plain(value);
                self.b.splat(value, lanes)
            })
            .collect())
    }

    /// [`Self::combine`] with only the lanes of `mask` taking part.
    pub(super) fn combine_masked(
        &mut self,
        combine: &Lambda,
        left: &[Value],
        right: &[Value],
        swap: bool,
        mask: Option<Value>,
    ) -> Result<Vec<Value>> {
        let outer = self.mask;
        self.mask = self.b.both(outer, mask);
        let results = self.combine(combine, left, right, swap);
        self.mask = outer;
        results
    }

    /// Combines what may be absent: where one side is, the other is the result.
    pub(super) fn combine_present(
        &mut self,
        combine: &Lambda,
        (left, has_left): (&[Value], Value),
        (right, has_right): (&[Value], Value),
        swap: bool,
    ) -> Result<(Vec<Value>, Value)> {
        let both = self.b.binary(Binary::And, has_left, has_right);
        let either = self.b.binary(Binary::Or, has_left, has_right);
        // Functions see no operand that was never made.
        let one: Vec<Value> = left.iter().zip(right).map(|(&l, &r)| self.b.select(has_left, l, r)).collect();
        let other: Vec<Value> = left.iter().zip(right).map(|(&l, &r)| self.b.select(has_right, r, l)).collect();
        let combined = self.combine_masked(combine, &one, &other, swap, Some(both))?;
        Ok((combined.iter().zip(&one).map(|(&new, &old)| self.b.select(both, new, old)).collect(), either))
    }

    /// Combines what may be absent, if anything says that it is.
    pub(super) fn combine_maybe(&mut self, combine: &Lambda, left: &Maybe, right: &Maybe, swap: bool) -> Result<Maybe> {
        if let (Some(has_left), Some(has_right)) = (left.1, right.1) {
            let (values, has) = self.combine_present(combine, (&left.0, has_left), (&right.0, has_right), swap)?;
            return Ok((values, Some(has)));
        }
        Ok((self.combine(combine, &left.0, &right.0, swap)?, None))
    }
}
