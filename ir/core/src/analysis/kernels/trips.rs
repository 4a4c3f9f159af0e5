//! Loops of scalar code whose number of turns is known before they run.

use crate::{
    ArrayId, Constant, ElementType, Instruction, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart,
    analysis::{Domain, Walk},
    primitive,
};

/// A loop of scalar code that turns a known number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trips {
    /// How many turns it makes.
    pub turns: u32,
    /// Whether knowing the turn decides a branch, an index or the amount of a shift in it.
    pub decides: bool,
}

/// How many turns a loop makes, if its condition depends on constants alone and does not hold any more after `most` turns.
pub fn constant_trips(condition: &Lambda, step: &Lambda, starts: &[ScalarOperand], most: u32) -> Option<Trips> {
    let constant = |start: &ScalarOperand| if let ScalarOperand::Constant(value) = start { Some(*value) } else { None };
    let mut states: Vec<Option<Constant>> = starts.iter().map(constant).collect();
    let mut decides = false;
    for turns in 0..=most {
        let mut walk = Walk::new(Known);
        if !walk.function(condition, &states).first().copied()??.as_bool()? {
            return Some(Trips { turns, decides });
        }
        states = walk.function(step, &states);
        decides |= step.instructions.iter().any(|instruction| is_decided(instruction, &walk));
    }
    None
}

/// Whether a branch, an index or an amount in an instruction, or in its bodies, is known.
fn is_decided(instruction: &Instruction, walk: &Walk<Known>) -> bool {
    let known = |operand: &ScalarOperand| match operand {
        ScalarOperand::Local(id) => walk.get(*id).copied().flatten().is_some(),
        // What is a constant anyway needs no turn.
        ScalarOperand::Constant(_) | ScalarOperand::Outer(_) => false,
    };
    let own = match &instruction.op {
        ScalarOp::If { condition, .. } => known(condition),
        ScalarOp::Read { index, .. } => index.iter().any(known),
        ScalarOp::ReadFlat { position, .. } => known(position),
        ScalarOp::Binary { function, b, .. } => function.is_shift() && known(b),
        _ => false,
    };
    own || instruction.op.parts().into_iter().any(|part| match part {
        ScalarPart::Body(body) => body.instructions.iter().any(|instruction| is_decided(instruction, walk)),
        ScalarPart::Operand(_) | ScalarPart::Array(_) => false,
    })
}

/// Of each scalar its value, where it is known.
#[derive(Clone, Copy, Debug)]
struct Known;

impl Domain for Known {
    type Value = Option<Constant>;

    fn constant(&mut self, constant: Constant) -> Option<Constant> {
        Some(constant)
    }

    fn outer(&mut self, _: ArrayId) -> Option<Constant> {
        None
    }

    fn free(&mut self, _: LocalId) -> Option<Constant> {
        None
    }

    fn instruction(&mut self, instruction: &Instruction, operands: &[Option<Constant>]) -> Option<Constant> {
        match (&instruction.op, operands) {
            (ScalarOp::Unary { function, .. }, &[Some(a)]) => primitive::unary(*function, a),
            (ScalarOp::Binary { function, .. }, &[Some(a), Some(b)]) => {
                primitive::binary(*function, a, b).ok().flatten()
            }
            (ScalarOp::Convert { to, .. }, &[Some(a)]) => primitive::convert(*to, a),
            _ => None,
        }
    }

    fn either(
        &mut self,
        condition: &Option<Constant>,
        then: &Option<Constant>,
        otherwise: &Option<Constant>,
        _: ElementType,
    ) -> Option<Constant> {
        match condition.and_then(Constant::as_bool) {
            Some(true) => *then,
            Some(false) => *otherwise,
            None => then.filter(|then| otherwise.as_ref() == Some(then)),
        }
    }

    fn widened(
        &mut self,
        before: &Option<Constant>,
        after: &Option<Constant>,
        _: ElementType,
    ) -> Option<Option<Constant>> {
        (before.is_some() && before != after).then_some(None)
    }
}
