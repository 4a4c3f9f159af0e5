//! Choices that carry positions, such as the greatest element and where it is, as functions that commute.
//!
//! `if y > x { (y, j) } else { (x, i) }` keeps the first of equal elements, so its operands may not change places. But where `i` and `j` say which
//! operand comes first, they may: the function is asked in that order. Elements then need no order, and go into interleaved accumulators.

use std::collections::HashMap;

use fusebox_ir::{
    Binary, Constant, ElementType, Instruction, Lambda, LambdaBuilder, Local, LocalId, ScalarOp, ScalarOperand,
    ScalarValue, Unary, analysis::algebra::chooses_by_position,
};

/// A function that gives the same as `combine` whichever operand is on the left, if that chooses one of its operands, and the component `position` says which
/// comes first. A seed is before all elements; `behind` is the position that it has nevertheless, if that is behind those of all elements.
pub(crate) fn commuting(combine: &Lambda, position: usize, behind: Option<i64>) -> Option<Lambda> {
    let k = combine.results.len();
    if combine.params.get(position)?.ty != ElementType::I64 || !chooses_by_position(combine, position) {
        return None;
    }
    let mut f = LambdaBuilder::new();
    let params: Vec<ScalarValue> = combine.params.iter().map(|param| f.param(&param.name.0, param.ty)).collect();
    let (left, right) = params.split_at(k);
    let mut exchanged = f.binary(Binary::Lt, right[position], left[position]);
    if let Some(behind) = behind {
        let element = f.binary(Binary::Ne, left[position], Constant::from(behind));
        exchanged = f.binary(Binary::And, exchanged, element);
    }
    let as_given = Decision::new(combine, position, [left, right]).made(&mut f)?;
    let turned = Decision::new(combine, position, [right, left]).made(&mut f)?;
    let stays = f.unary(Unary::Not, turned);
    let in_order = f.unary(Unary::Not, exchanged);
    let (as_given, turned) = (f.binary(Binary::And, as_given, in_order), f.binary(Binary::And, stays, exchanged));
    let second = f.binary(Binary::Or, as_given, turned);
    let results: Vec<ScalarValue> =
        (0..k).map(|component| f.select(second, right[component], left[component])).collect();
    Some(f.finish(&results))
}

/// Whether a choice takes its second operand, as code.
struct Decision<'f> {
    /// What makes each local, in branches too: an instruction, and which of its results.
    made_by: HashMap<LocalId, (&'f Instruction, usize)>,
    result: ScalarOperand,
    /// The positions of both operands.
    positions: [LocalId; 2],
    values: HashMap<LocalId, ScalarValue>,
}

/// Either known, or code.
#[derive(Clone, Copy)]
enum Truth {
    Known(bool),
    Code(ScalarValue),
}

impl<'f> Decision<'f> {
    fn new(combine: &'f Lambda, position: usize, operands: [&[ScalarValue]; 2]) -> Self {
        let k = combine.results.len();
        let mut made_by = HashMap::new();
        for instruction in combine.instructions_within() {
            made_by.extend(instruction.results.iter().enumerate().map(|(at, local)| (local.id, (instruction, at))));
        }
        let ids = combine.params.iter().map(|param: &Local| param.id);
        Self {
            made_by,
            result: combine.results[position],
            positions: [combine.params[position].id, combine.params[k + position].id],
            values: ids.zip(operands.concat()).collect(),
        }
    }

    fn made(mut self, f: &mut LambdaBuilder) -> Option<ScalarValue> {
        match self.second(self.result, f)? {
            Truth::Known(_) => None,
            Truth::Code(value) => Some(value),
        }
    }

    /// Whether a position is that of the second operand.
    fn second(&mut self, operand: ScalarOperand, f: &mut LambdaBuilder) -> Option<Truth> {
        let ScalarOperand::Local(id) = operand else { return None };
        if let Some(side) = self.positions.iter().position(|position| *position == id) {
            return Some(Truth::Known(side == 1));
        }
        let (instruction, at) = *self.made_by.get(&id)?;
        let ScalarOp::If { condition, then, otherwise } = &instruction.op else { return None };
        let (then, otherwise) = (self.second(then.results[at], f)?, self.second(otherwise.results[at], f)?);
        let condition = match (then, otherwise) {
            (Truth::Known(a), Truth::Known(b)) if a == b => return Some(Truth::Known(a)),
            _ => self.value(*condition, f)?,
        };
        let not = |f: &mut LambdaBuilder| f.unary(Unary::Not, condition);
        Some(Truth::Code(match (then, otherwise) {
            (Truth::Known(true), Truth::Known(_)) => condition,
            (Truth::Known(false), Truth::Known(_)) => not(f),
            (Truth::Known(true), Truth::Code(b)) => f.binary(Binary::Or, condition, b),
            (Truth::Known(false), Truth::Code(b)) => {
                let not = not(f);
                f.binary(Binary::And, not, b)
            }
            (Truth::Code(a), Truth::Known(false)) => f.binary(Binary::And, condition, a),
            (Truth::Code(a), Truth::Known(true)) => {
                let not = not(f);
                f.binary(Binary::Or, not, a)
            }
            (Truth::Code(a), Truth::Code(b)) => f.select(condition, a, b),
        }))
    }

    /// What decides: comparisons, logic, and choices of what is compared.
    fn value(&mut self, operand: ScalarOperand, f: &mut LambdaBuilder) -> Option<ScalarValue> {
        let id = match operand {
            ScalarOperand::Constant(constant) => return Some(constant.into()),
            ScalarOperand::Outer(_) => return None,
            ScalarOperand::Local(id) => id,
        };
        if let Some(&known) = self.values.get(&id) {
            return Some(known);
        }
        let (instruction, at) = *self.made_by.get(&id)?;
        let value = match &instruction.op {
            ScalarOp::Binary { function, a, b } => {
                let (a, b) = (self.value(*a, f)?, self.value(*b, f)?);
                f.binary(*function, a, b)
            }
            ScalarOp::Unary { function, a } => {
                let a = self.value(*a, f)?;
                f.unary(*function, a)
            }
            ScalarOp::If { condition, then, otherwise } => {
                let condition = self.value(*condition, f)?;
                let (a, b) = (self.value(then.results[at], f)?, self.value(otherwise.results[at], f)?);
                f.select(condition, a, b)
            }
            _ => return None,
        };
        self.values.insert(id, value);
        Some(value)
    }
}
