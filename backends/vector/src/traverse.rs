//! What instructions hold: the one place that knows.

use smallvec::{SmallVec, smallvec};

use crate::{Append, Function, If, Inst, Loop, Op, Region, Value, Values, While};

/// The operands of an operation, through shared or exclusive references.
macro_rules! operands {
    ($op:expr, $iter:ident, $inside:ident) => {
        match $op {
            Op::Parameter(_) | Op::Argument(_) | Op::Constant(_) | Op::Iota => SmallVec::new(),
            Op::Splat(a)
            | Op::Unary(_, a)
            | Op::Convert(a)
            | Op::Bits(a)
            | Op::Any(a)
            | Op::Extract(a, _)
            | Op::Reverse(a) => {
                smallvec![a]
            }
            Op::Half { value, .. } => smallvec![value],
            Op::Binary(_, a, b) | Op::OfNumbers(_, a, b) | Op::AreNumbers(a, b) | Op::Insert(a, _, b) => {
                smallvec![a, b]
            }
            Op::Shift { value, fill, .. } => smallvec![value, fill],
            Op::Unzip { first, second, .. } => smallvec![first, second],
            Op::Fma(a, b, c) | Op::Select(a, b, c) => smallvec![a, b, c],
            Op::Load { base, index, .. } | Op::Prefetch { base, index, .. } => smallvec![base, index],
            Op::LoadStrided { base, index, stride, .. } => smallvec![base, index, stride],
            Op::LoadMasked { base, index, mask, elsewhere, .. } => smallvec![base, index, mask, elsewhere],
            Op::Store { base, index, value, mask, .. } => {
                let mut all = smallvec![base, index, value];
                all.extend(mask);
                all
            }
            Op::Append(own) => {
                let Append { bases, count, values, mask, spare, whole: _ } = own.$inside();
                let mut all = smallvec![count, spare];
                all.extend(bases.$iter().chain(values.$iter()));
                all.extend(mask);
                all
            }
            Op::FailIf { condition, operands, .. } => {
                let mut all = smallvec![condition];
                all.extend(operands);
                all
            }
            Op::Loop(own) => {
                let Loop { from, to, starts, next, .. } = own.$inside();
                let mut all = smallvec![from, to];
                all.extend(starts.$iter().chain(next.$iter()));
                all
            }
            Op::While(own) => {
                let While { starts, condition, next, .. } = own.$inside();
                let mut all = smallvec![condition];
                all.extend(starts.$iter().chain(next.$iter()));
                all
            }
            Op::If(own) => {
                let If { condition, then_results, otherwise_results, .. } = own.$inside();
                let mut all = smallvec![condition];
                all.extend(then_results.$iter().chain(otherwise_results.$iter()));
                all
            }
        }
    };
}

impl Op {
    /// Values that it uses itself: results of its regions are among them, what they use inside is not.
    pub fn operands(&self) -> Values {
        let all: SmallVec<[&Value; 4]> = operands!(self, iter, as_ref);
        all.into_iter().copied().collect()
    }

    /// As [`Op::operands`], to change them.
    pub fn operands_mut(&mut self) -> SmallVec<[&mut Value; 4]> {
        operands!(self, iter_mut, as_mut)
    }

    /// The regions inside of it, in order.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        let regions = match self {
            Op::Loop(own) => [Some(&own.body), None],
            Op::While(own) => [Some(&own.header), Some(&own.body)],
            Op::If(own) => [Some(&own.then), Some(&own.otherwise)],
            _ => [None, None],
        };
        regions.into_iter().flatten()
    }

    /// As [`Op::regions`], to change them.
    pub fn regions_mut(&mut self) -> impl Iterator<Item = &mut Region> {
        let regions = match self {
            Op::Loop(own) => [Some(&mut own.body), None],
            Op::While(own) => {
                let While { header, body, .. } = &mut **own;
                [Some(header), Some(body)]
            }
            Op::If(own) => {
                let If { then, otherwise, .. } = &mut **own;
                [Some(then), Some(otherwise)]
            }
            _ => [None, None],
        };
        regions.into_iter().flatten()
    }
}

impl Function {
    /// All instructions, those inside of others too, in no order.
    pub fn instructions(&self) -> Vec<&Inst> {
        let mut instructions = Vec::new();
        let mut regions = vec![&self.body];
        while let Some(region) = regions.pop() {
            for inst in &region.0 {
                regions.extend(inst.op.regions());
                instructions.push(inst);
            }
        }
        instructions
    }
}
