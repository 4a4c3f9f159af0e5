//! Identities of combining functions that are recognised.

use fusebox_ir::{Binary, Constant, ElementType, Lambda, LocalId, ScalarOp, ScalarOperand};

/// An identity for each component, where every component is combined by itself with a built-in function that has one.
///
/// `combine(identity, x)` and `combine(x, identity)` are `x` to the bit (but for the payload of a NaN).
pub fn identities(combine: &Lambda) -> Option<Vec<Constant>> {
    functions(combine)?.into_iter().zip(&combine.params).map(|(function, param)| of(function, param.ty)).collect()
}

/// The built-in function of each component, where every component is combined by itself with one; its operands may change places.
pub(super) fn functions(combine: &Lambda) -> Option<Vec<Binary>> {
    let k = combine.results.len();
    if combine.params.len() != 2 * k || combine.instructions.len() != k {
        return None;
    }
    (0..k)
        .map(|component| {
            let ScalarOperand::Local(result) = combine.results[component] else { return None };
            let instruction =
                combine.instructions.iter().find(|i| i.results.len() == 1 && i.results[0].id == result)?;
            let ScalarOp::Binary { function, a: ScalarOperand::Local(a), b: ScalarOperand::Local(b) } = instruction.op
            else {
                return None;
            };
            let (left, right) = (combine.params[component].id, combine.params[component + k].id);
            let is = |x: LocalId, y: LocalId| a == x && b == y;
            (is(left, right) || is(right, left)).then_some(function)
        })
        .collect()
}

fn of(function: Binary, ty: ElementType) -> Option<Constant> {
    use ElementType::{Bool, F16, F32};
    let sign = 1u64 << (ty.bits() - 1);
    let infinity = match ty {
        F16 => 0x7c00,
        F32 => 0x7f80_0000,
        _ => 0x7ff0_0000_0000_0000,
    };
    let bits = match function {
        // In IEEE arithmetic -0.0 is what changes nothing, not 0.0.
        Binary::Add if ty.is_float() => sign,
        Binary::Add => 0,
        Binary::Mul => return Some(Constant::from_i64(ty, 1)),
        Binary::Min if ty.is_float() => infinity,
        Binary::Max if ty.is_float() => infinity | sign,
        Binary::Min if ty == Bool => 1,
        Binary::Max if ty == Bool => 0,
        Binary::Min if ty.is_signed() => sign - 1,
        Binary::Max if ty.is_signed() => sign,
        Binary::Min => u64::MAX,
        Binary::Max => 0,
        Binary::And | Binary::LogicalAnd => u64::MAX,
        Binary::Or | Binary::Xor | Binary::LogicalOr => 0,
        _ => return None,
    };
    Some(Constant::from_bits(ty, bits))
}
