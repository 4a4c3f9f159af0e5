//! What instructions hold: the one place that knows.

use crate::{Function, Inst, Op, Value};

/// The operands of an operation, through shared or exclusive references.
macro_rules! operands {
    ($op:expr, $iter:ident) => {
        match $op {
            Op::Parameter(_) | Op::Argument(_) | Op::Constant(_) | Op::Iota => Vec::new(),
            Op::Splat(a) | Op::Unary(_, a) | Op::Convert(a) | Op::Bits(a) | Op::Any(a) | Op::Extract(a, _) => vec![a],
            Op::Half { value, .. } => vec![value],
            Op::Binary(_, a, b) | Op::Insert(a, _, b) => vec![a, b],
            Op::Shift { value, fill, .. } => vec![value, fill],
            Op::Fma(a, b, c) | Op::Select(a, b, c) => vec![a, b, c],
            Op::Load { base, index, .. } | Op::Prefetch { base, index, .. } => vec![base, index],
            Op::LoadStrided { base, index, stride, .. } => vec![base, index, stride],
            Op::Store { base, index, value, mask, .. } => {
                let mut all = vec![base, index, value];
                all.extend(mask);
                all
            }
            Op::Append { bases, count, values, mask, spare } => {
                let mut all = vec![count, spare];
                all.extend(bases.$iter().chain(values.$iter()));
                all.extend(mask);
                all
            }
            Op::FailIf { condition, operands, .. } => {
                let mut all = vec![condition];
                all.extend(operands);
                all
            }
            Op::Loop { from, to, starts, next, .. } => {
                let mut all = vec![from, to];
                all.extend(starts.$iter().chain(next.$iter()));
                all
            }
            Op::While { starts, condition, next, .. } => {
                let mut all = vec![condition];
                all.extend(starts.$iter().chain(next.$iter()));
                all
            }
            Op::If { condition, then_results, otherwise_results, .. } => {
                let mut all = vec![condition];
                all.extend(then_results.$iter().chain(otherwise_results.$iter()));
                all
            }
        }
    };
}

impl Op {
    /// Values that it uses itself: results of its regions are among them, what they use inside is not.
    pub fn operands(&self) -> Vec<Value> {
        let all: Vec<&Value> = operands!(self, iter);
        all.into_iter().copied().collect()
    }

    /// As [`Op::operands`], to change them.
    pub fn operands_mut(&mut self) -> Vec<&mut Value> {
        operands!(self, iter_mut)
    }
}

impl Function {
    /// All instructions, those inside of others too, in no order.
    pub fn instructions(&self) -> Vec<&Inst> {
        let mut instructions = Vec::new();
        let mut regions = vec![&self.body];
        while let Some(region) = regions.pop() {
            for inst in &region.0 {
                match &inst.op {
                    Op::Loop { body, .. } => regions.push(body),
                    Op::While { header, body, .. } => regions.extend([header, body]),
                    Op::If { then, otherwise, .. } => regions.extend([then, otherwise]),
                    _ => {}
                }
                instructions.push(inst);
            }
        }
        instructions
    }
}
