//! The laws of scalar functions: one table. None changes a result, IEEE ones included: `x * 0`, `x - x` and `x + 0` of floats stay.

use fusebox_ir::{Binary, Constant, ElementType, ScalarOp, ScalarOperand, Unary, primitive};

/// What an instruction becomes.
pub(crate) enum Reduced {
    /// This value.
    Value(ScalarOperand),
    /// Another instruction.
    Op(ScalarOp),
}

/// What the laws need to know of operands.
pub(crate) trait Facts {
    /// The type.
    fn ty(&self, operand: ScalarOperand) -> Option<ElementType>;
    /// The instruction whose only result it is.
    fn definition(&self, operand: ScalarOperand) -> Option<&ScalarOp>;
    /// Whether computing it in the function may fail: then it is computed although nothing depends on its value.
    fn can_fail(&self, operand: ScalarOperand) -> bool;
}

/// One step of simplification; `None` where no law applies.
pub(crate) fn reduce(op: &ScalarOp, facts: &dyn Facts) -> Option<Reduced> {
    match op {
        ScalarOp::Unary { function, a } => unary(*function, *a, facts),
        ScalarOp::Binary { function, a, b } => binary(*function, *a, *b, facts),
        ScalarOp::Fma { a, b, c } => {
            let (a, b, c) = (constant(*a)?, constant(*b)?, constant(*c)?);
            value(primitive::fma(a, b, c)?)
        }
        ScalarOp::Convert { to, a } => match (constant(*a), facts.ty(*a)) {
            (Some(a), _) => value(primitive::convert(*to, a)?),
            (None, Some(ty)) if ty == *to => Some(Reduced::Value(*a)),
            _ => None,
        },
        ScalarOp::Bits { to, a } => match (constant(*a), facts.definition(*a)) {
            (Some(a), _) => value(primitive::reinterpret(*to, a)?),
            (None, Some(ScalarOp::Bits { to: _, a })) => Some(Reduced::Op(ScalarOp::Bits { to: *to, a: *a })),
            _ if facts.ty(*a) == Some(*to) => Some(Reduced::Value(*a)),
            _ => None,
        },
        ScalarOp::Assert { condition, message: _, shown: _, value } => {
            (constant(*condition)?.bits() != 0).then_some(Reduced::Value(*value))
        }
        ScalarOp::If { condition, then, otherwise } => {
            let bools = |f: &fusebox_ir::Lambda| match f.results[..] {
                [ScalarOperand::Constant(c)] if f.instructions.is_empty() => c.as_bool(),
                _ => None,
            };
            match (bools(then)?, bools(otherwise)?) {
                (true, false) => Some(Reduced::Value(*condition)),
                (false, true) => Some(Reduced::Op(ScalarOp::Unary { function: Unary::Not, a: *condition })),
                _ => None,
            }
        }
        ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } | ScalarOp::While { .. } => None,
    }
}

fn constant(operand: ScalarOperand) -> Option<Constant> {
    match operand {
        ScalarOperand::Constant(constant) => Some(constant),
        _ => None,
    }
}

fn value(constant: Constant) -> Option<Reduced> {
    Some(Reduced::Value(constant.into()))
}

fn unary(function: Unary, a: ScalarOperand, facts: &dyn Facts) -> Option<Reduced> {
    if let Some(a) = constant(a) {
        return value(primitive::unary(function, a)?);
    }
    match (function, facts.definition(a)?) {
        // Each is its own inverse.
        (Unary::Neg | Unary::Not | Unary::Complement, ScalarOp::Unary { function: inner, a }) if *inner == function => {
            Some(Reduced::Value(*a))
        }
        (Unary::Abs, ScalarOp::Unary { function: Unary::Abs, .. }) => Some(Reduced::Value(a)),
        (Unary::Not, ScalarOp::Binary { function, a, b }) => {
            // Of floats only equality has an opposite: NaN is neither less nor at least.
            let opposite = match function {
                Binary::Eq => Binary::Ne,
                Binary::Ne => Binary::Eq,
                _ if facts.ty(*a).is_none_or(ElementType::is_float) => return None,
                Binary::Lt => Binary::Ge,
                Binary::Ge => Binary::Lt,
                Binary::Gt => Binary::Le,
                Binary::Le => Binary::Gt,
                _ => return None,
            };
            Some(Reduced::Op(ScalarOp::Binary { function: opposite, a: *a, b: *b }))
        }
        _ => None,
    }
}

fn binary(function: Binary, a: ScalarOperand, b: ScalarOperand, facts: &dyn Facts) -> Option<Reduced> {
    let (left, right) = (constant(a), constant(b));
    if let (Some(left), Some(right)) = (left, right)
        && let Ok(Some(result)) = primitive::binary(function, left, right)
    {
        return value(result);
    }
    let ty = facts.ty(a)?;
    let keep = |operand: ScalarOperand| Some(Reduced::Value(operand));
    if a == b {
        match function {
            Binary::Min | Binary::Max => return keep(a),
            Binary::And | Binary::Or | Binary::LogicalAnd | Binary::LogicalOr => return keep(a),
            _ if facts.can_fail(a) => {}
            Binary::Xor => return value(Constant::zero(ty)),
            Binary::Sub if ty.is_integer() => return value(Constant::zero(ty)),
            Binary::Eq | Binary::Le | Binary::Ge if !ty.is_float() => return value(true.into()),
            Binary::Ne | Binary::Lt | Binary::Gt if !ty.is_float() => return value(false.into()),
            _ => {}
        }
    }
    if let Some(right) = right {
        if is_right_neutral(function, ty, right) {
            return keep(a);
        }
        if is_absorbing(function, ty, right) && !facts.can_fail(a) {
            return keep(b);
        }
        if let Some(op) = regrouped(function, ty, a, right, facts) {
            return Some(Reduced::Op(op));
        }
        match function {
            Binary::Rem | Binary::ModFloor
                if ty.is_integer() && right == Constant::from_i64(ty, 1) && !facts.can_fail(a) =>
            {
                return value(Constant::zero(ty));
            }
            Binary::Eq if ty == ElementType::Bool && right.bits() == 1 => return keep(a),
            Binary::Ne if ty == ElementType::Bool && right.bits() == 0 => return keep(a),
            _ => {}
        }
    }
    if let Some(left) = left {
        if commutes(function, ty) && is_right_neutral(function, ty, left) {
            return keep(b);
        }
        if commutes(function, ty) && is_absorbing(function, ty, left) && !facts.can_fail(b) {
            return keep(a);
        }
        match (function, left.bits()) {
            (Binary::LogicalAnd, 0) | (Binary::LogicalOr, 1) => return keep(a),
            (Binary::LogicalAnd, 1) | (Binary::LogicalOr, 0) => return keep(b),
            _ => {}
        }
    }
    None
}

/// Whether operands may change places without changing a bit (sign and payload of a NaN are no result).
pub(crate) fn commutes(function: Binary, ty: ElementType) -> bool {
    match function {
        Binary::Add | Binary::Mul | Binary::Eq | Binary::Ne => true,
        Binary::Min | Binary::Max | Binary::And | Binary::Or | Binary::Xor => true,
        Binary::Hypot => ty.is_float(),
        _ => false,
    }
}

/// `a ∘ right = a`.
fn is_right_neutral(function: Binary, ty: ElementType, right: Constant) -> bool {
    let is = |n: i64| right == Constant::from_i64(ty, n);
    match function {
        // -0.0 is the neutral element of IEEE addition; +0.0 turns -0.0 into +0.0.
        Binary::Add if ty.is_float() => right.as_f64().is_some_and(|x| x == 0.0 && x.is_sign_negative()),
        Binary::Sub if ty.is_float() => right.as_f64().is_some_and(|x| x == 0.0 && x.is_sign_positive()),
        Binary::Add | Binary::Sub => is(0),
        Binary::Mul | Binary::Div => is(1),
        Binary::DivFloor => is(1),
        Binary::Or | Binary::Xor => right.bits() == 0,
        Binary::And => is_all_ones(ty, right),
        Binary::Shl | Binary::Shr | Binary::RotateLeft | Binary::RotateRight => right.bits() == 0,
        Binary::LogicalAnd => right.bits() == 1,
        Binary::LogicalOr => right.bits() == 0,
        _ => false,
    }
}

/// `a ∘ right = right`, where computing `a` cannot fail.
fn is_absorbing(function: Binary, ty: ElementType, right: Constant) -> bool {
    match function {
        Binary::Mul => ty.is_integer() && right.bits() == 0,
        Binary::And => right.bits() == 0,
        Binary::Or => is_all_ones(ty, right),
        _ => false,
    }
}

fn is_all_ones(ty: ElementType, c: Constant) -> bool {
    c == Constant::from_bits(ty, u64::MAX)
}

/// `(x + 2) + 3 = x + 5`, of integers: sums wrap, so any grouping is exact.
fn regrouped(
    function: Binary,
    ty: ElementType,
    a: ScalarOperand,
    right: Constant,
    facts: &dyn Facts,
) -> Option<ScalarOp> {
    if !ty.is_integer() {
        return None;
    }
    let ScalarOp::Binary { function: inner, a: x, b } = facts.definition(a)? else { return None };
    let middle = constant(*b)?;
    let negated = |c: Constant| primitive::unary(Unary::Neg, c);
    let sum = match (inner, function) {
        (Binary::Add, Binary::Add) => primitive::binary(Binary::Add, middle, right).ok()??,
        (Binary::Add, Binary::Sub) => primitive::binary(Binary::Sub, middle, right).ok()??,
        (Binary::Sub, Binary::Add) => primitive::binary(Binary::Sub, right, middle).ok()??,
        (Binary::Sub, Binary::Sub) => primitive::binary(Binary::Sub, negated(middle)?, right).ok()??,
        (Binary::Mul, Binary::Mul) => {
            let product = primitive::binary(Binary::Mul, middle, right).ok()??;
            return Some(ScalarOp::Binary { function, a: *x, b: product.into() });
        }
        _ => return None,
    };
    // `x - 1` reads better than `x + -1`.
    let (function, constant) = match sum.as_i64() {
        Some(n) if n < 0 && n != i64::MIN => (Binary::Sub, negated(sum)?),
        _ => (Binary::Add, sum),
    };
    Some(ScalarOp::Binary { function, a: *x, b: constant.into() })
}
