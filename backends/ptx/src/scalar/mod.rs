//! Scalar functions and conversions, each as its instructions, to the bit of [`fusebox_ir::primitive`].
//!
//! Integers of 8 and 16 bits are computed in 32-bit registers, sign- or zero-extended; every result is made so again. Each instruction of
//! floats carries its rounding, none flushes subnormal numbers, and none is contracted.

mod convert;
mod float;
mod integer;
mod low;
mod shuffle;

use fusebox_ir::{Binary, Constant, ElementType, Unary};

use crate::{
    text::{Class, Code, Reg},
    value::Val,
};

/// A function that there are no instructions for: lowering expands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unexpanded(pub(crate) &'static str);

type Result<T> = std::result::Result<T, Unexpanded>;

/// The type of instructions on registers that hold this type: `s32` for `i8`.
pub(crate) fn suffix(ty: ElementType) -> &'static str {
    match ty {
        ElementType::Bool => "pred",
        ElementType::I8 | ElementType::I16 | ElementType::I32 => "s32",
        ElementType::U8 | ElementType::U16 | ElementType::U32 => "u32",
        ElementType::I64 => "s64",
        ElementType::U64 => "u64",
        ElementType::F16 => "f16",
        ElementType::F32 => "f32",
        ElementType::F64 => "f64",
    }
}

impl Code {
    /// A new value of one instruction: `operation result, operands`.
    pub(crate) fn make(&mut self, ty: ElementType, operation: &str, operands: &[&str]) -> Val {
        let reg = self.reg(Class::of(ty));
        self.op(format_args!("{operation} {reg}, {}", operands.join(", ")));
        Val::new(ty, reg)
    }

    /// A new predicate of one instruction.
    pub(crate) fn test(&mut self, operation: &str, operands: &[&str]) -> Reg {
        let reg = self.reg(Class::Predicate);
        self.op(format_args!("{operation} {reg}, {}", operands.join(", ")));
        reg
    }

    /// `condition ? then : otherwise`.
    pub(crate) fn select(&mut self, condition: Reg, then: Val, otherwise: Val) -> Val {
        let class = Class::of(then.ty);
        if class == Class::Predicate {
            let (a, b) = (self.in_reg(then), self.in_reg(otherwise));
            let c = condition.to_string();
            let one = self.test("and.pred", &[&c, &a.to_string()]);
            let not = self.test("not.pred", &[&c]);
            let other = self.test("and.pred", &[&not.to_string(), &b.to_string()]);
            let result = self.test("or.pred", &[&one.to_string(), &other.to_string()]);
            return Val::new(ElementType::Bool, result);
        }
        let (a, b) = (self.text(then), self.text(otherwise));
        self.make(then.ty, &format!("selp.{}", class.untyped()), &[&a, &b, &condition.to_string()])
    }

    /// The opposite of a predicate.
    pub(crate) fn not(&mut self, of: Reg) -> Reg {
        self.test("not.pred", &[&of.to_string()])
    }

    pub(crate) fn both(&mut self, a: Reg, b: Reg) -> Reg {
        self.test("and.pred", &[&a.to_string(), &b.to_string()])
    }

    pub(crate) fn either(&mut self, a: Reg, b: Reg) -> Reg {
        self.test("or.pred", &[&a.to_string(), &b.to_string()])
    }

    pub(crate) fn unary(&mut self, function: Unary, a: Val) -> Result<Val> {
        if let Some(folded) = a.constant().and_then(|a| fusebox_ir::primitive::unary(function, a)) {
            return Ok(folded.into());
        }
        match a.ty {
            ElementType::Bool => match function {
                Unary::Not => {
                    let a = self.in_reg(a);
                    Ok(Val::new(ElementType::Bool, self.not(a)))
                }
                other => Err(Unexpanded(other.text())),
            },
            ElementType::F16 => self.through_f32(a, |code, a| code.float_unary(function, a)),
            ElementType::F32 | ElementType::F64 => self.float_unary(function, a),
            _ => self.integer_unary(function, a),
        }
    }

    /// A function of two operands; integer divisors are known not to be zero.
    pub(crate) fn binary(&mut self, function: Binary, a: Val, b: Val) -> Result<Val> {
        if let (Some(x), Some(y)) = (a.constant(), b.constant())
            && let Ok(Some(folded)) = fusebox_ir::primitive::binary(function, x, y)
        {
            return Ok(folded.into());
        }
        match a.ty {
            ElementType::Bool => self.bool_binary(function, a, b),
            ElementType::F16 => {
                let (x, y) = (self.widened(a), self.widened(b));
                let result = self.float_binary(function, x, y)?;
                Ok(if result.ty == ElementType::F32 { self.convert(ElementType::F16, result) } else { result })
            }
            ElementType::F32 | ElementType::F64 => self.float_binary(function, a, b),
            _ => self.integer_binary(function, a, b),
        }
    }

    fn bool_binary(&mut self, function: Binary, a: Val, b: Val) -> Result<Val> {
        let (a, b) = (self.in_reg(a), self.in_reg(b));
        let result = match function {
            Binary::And | Binary::LogicalAnd | Binary::Min => self.both(a, b),
            Binary::Or | Binary::LogicalOr | Binary::Max => self.either(a, b),
            Binary::Xor | Binary::Ne => self.test("xor.pred", &[&a.to_string(), &b.to_string()]),
            Binary::Eq => {
                let differ = self.test("xor.pred", &[&a.to_string(), &b.to_string()]);
                self.not(differ)
            }
            Binary::Lt => {
                let a = self.not(a);
                self.both(a, b)
            }
            Binary::Le => {
                let a = self.not(a);
                self.either(a, b)
            }
            Binary::Gt => {
                let b = self.not(b);
                self.both(a, b)
            }
            Binary::Ge => {
                let b = self.not(b);
                self.either(a, b)
            }
            other => return Err(Unexpanded(other.text())),
        };
        Ok(Val::new(ElementType::Bool, result))
    }

    /// `a` compared with `b`, by the name of a comparison in PTX.
    pub(crate) fn compare(&mut self, comparison: &str, a: Val, b: Val) -> Reg {
        let (x, y) = (self.text(a), self.text(b));
        self.test(&format!("setp.{comparison}.{}", suffix(a.ty)), &[&x, &y])
    }

    /// An `f16` as an `f32`, exactly.
    fn widened(&mut self, a: Val) -> Val {
        self.convert(ElementType::F32, a)
    }

    /// A function of an `f16`: that of the `f32`, rounded (which is right: `f32` has 2p + 2 digits).
    fn through_f32(&mut self, a: Val, f: impl FnOnce(&mut Self, Val) -> Result<Val>) -> Result<Val> {
        let wide = self.widened(a);
        let result = f(self, wide)?;
        Ok(if result.ty == ElementType::F32 { self.convert(ElementType::F16, result) } else { result })
    }

    /// A sum of `i64`.
    pub(crate) fn add(&mut self, a: Val, b: Val) -> Val {
        match (a.as_i64(), b.as_i64()) {
            (Some(x), Some(y)) => x.wrapping_add(y).into(),
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => {
                let (x, y) = (self.text(a), self.text(b));
                self.make(ElementType::I64, "add.s64", &[&x, &y])
            }
        }
    }

    /// A difference of `i64`.
    pub(crate) fn sub(&mut self, a: Val, b: Val) -> Val {
        match (a.as_i64(), b.as_i64()) {
            (Some(x), Some(y)) => x.wrapping_sub(y).into(),
            (_, Some(0)) => a,
            _ => {
                let (x, y) = (self.text(a), self.text(b));
                self.make(ElementType::I64, "sub.s64", &[&x, &y])
            }
        }
    }

    /// A product of `i64`.
    pub(crate) fn mul(&mut self, a: Val, b: Val) -> Val {
        match (a.as_i64(), b.as_i64()) {
            (Some(x), Some(y)) => x.wrapping_mul(y).into(),
            (Some(1), _) => b,
            (_, Some(1)) => a,
            (Some(0), _) | (_, Some(0)) => 0i64.into(),
            _ => {
                let (x, y) = (self.text(a), self.text(b));
                self.make(ElementType::I64, "mul.lo.s64", &[&x, &y])
            }
        }
    }

    /// A constant of a type as a value.
    pub(crate) fn number(ty: ElementType, number: i64) -> Val {
        Constant::from_i64(ty, number).into()
    }
}
