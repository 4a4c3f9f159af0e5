//! Uniform integers of which nobody reads more than their own bits: sums of them and what is stored need no sign above.

use fusebox_ir::{Binary, ElementType};
use fusebox_vector::{Function, Op, Value};

/// Whether an operation makes the same low bits of its operands, whatever is above those.
fn reads_low_bits(function: &Function, op: &Op, of: Value) -> bool {
    let ty = |value: Value| function.types[value.0 as usize];
    match op {
        Op::Binary(Binary::Add | Binary::Sub | Binary::Mul, a, _) => ty(*a).lanes == 1,
        Op::Store { index, value, mask, .. } => *value == of && *index != of && *mask != Some(of),
        _ => false,
    }
}

/// Of each value whether it may be anything above its own bits: it is a sum, a difference or a product of short uniform integers, or made of a
/// longer integer, and every use of it reads no more than its bits.
pub(super) fn low_bits(function: &Function) -> Vec<bool> {
    let short = |element: ElementType| element.is_integer() && element.bytes() < 8;
    let mut low = vec![false; function.types.len()];
    let instructions = function.instructions();
    for inst in &instructions {
        let [result] = inst.results.as_slice() else { continue };
        let ty = function.types[result.0 as usize];
        let made = match &inst.op {
            Op::Binary(Binary::Add | Binary::Sub | Binary::Mul, ..) => true,
            Op::Convert(a) => {
                let from = function.types[a.0 as usize].element;
                from.is_integer() && from.bytes() > ty.element.bytes()
            }
            _ => false,
        };
        low[result.0 as usize] = made && ty.lanes == 1 && short(ty.element);
    }
    for inst in &instructions {
        for operand in inst.op.operands() {
            low[operand.0 as usize] &= reads_low_bits(function, &inst.op, operand);
        }
    }
    low
}
