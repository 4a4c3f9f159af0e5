//! Integers.

use fusebox_ir::{Binary, Constant, ElementType, Unary};

use super::{Result, Unexpanded, suffix};
use crate::{
    text::{Class, Code},
    value::Val,
};

impl Code {
    /// Makes the low bits of a 32-bit register a value of a type of at most 32 bits: sign- or zero-extended.
    pub(super) fn narrowed(&mut self, ty: ElementType, value: Val) -> Val {
        let x = self.text(value);
        match ty {
            ElementType::I8 | ElementType::I16 => self.make(ty, "bfe.s32", &[&x, "0", &ty.bits().to_string()]),
            ElementType::U8 => self.make(ty, "and.b32", &[&x, "255"]),
            ElementType::U16 => self.make(ty, "and.b32", &[&x, "65535"]),
            _ => match value.register() {
                Some(reg) => Val::new(ty, reg),
                None => value,
            },
        }
    }

    pub(super) fn integer_unary(&mut self, function: Unary, a: Val) -> Result<Val> {
        let ty = a.ty;
        let (s, b) = (suffix(ty), Class::of(ty).untyped());
        let signed = if ty.bits() == 64 { "s64" } else { "s32" };
        let x = self.text(a);
        let result = match function {
            Unary::Neg => self.make(ty, &format!("neg.{signed}"), &[&x]),
            Unary::Complement => self.make(ty, &format!("not.{b}"), &[&x]),
            Unary::Abs if ty.is_signed() => self.make(ty, &format!("abs.{s}"), &[&x]),
            Unary::Abs => return Ok(a),
            Unary::Sign => {
                let low = if ty.is_signed() { -1 } else { 0 };
                let (most, least) = (Self::number(ty, 1), Self::number(ty, low));
                let above = self.text(most);
                let result = self.make(ty, &format!("min.{s}"), &[&x, &above]);
                if !ty.is_signed() {
                    return Ok(result);
                }
                let (result, below) = (self.text(result), self.text(least));
                return Ok(self.make(ty, &format!("max.{s}"), &[&result, &below]));
            }
            Unary::Popcount | Unary::Clz | Unary::Ctz => return Ok(self.count_bits(function, a)),
            other => return Err(Unexpanded(other.text())),
        };
        Ok(self.narrowed(ty, result))
    }

    /// Numbers of bits; `popc` and `clz` give 32-bit results of 64-bit operands.
    fn count_bits(&mut self, function: Unary, a: Val) -> Val {
        let (ty, width) = (a.ty, a.ty.bits());
        let word = if width == 64 { "b64" } else { "b32" };
        let unsigned = match ty {
            ElementType::I8 => self.narrowed(ElementType::U8, a),
            ElementType::I16 => self.narrowed(ElementType::U16, a),
            _ => a,
        };
        let x = self.text(unsigned);
        let count = match function {
            Unary::Popcount => self.make(ElementType::U32, &format!("popc.{word}"), &[&x]),
            Unary::Clz => {
                let count = self.make(ElementType::U32, &format!("clz.{word}"), &[&x]);
                let beyond = 32u32.saturating_sub(width);
                if beyond == 0 {
                    count
                } else {
                    let count = self.text(count);
                    self.make(ElementType::U32, "sub.s32", &[&count, &beyond.to_string()])
                }
            }
            _ => {
                // A bit above the width is found where there is none below.
                let marked = if width < 32 {
                    self.make(ElementType::U32, "or.b32", &[&x, &(1u32 << width).to_string()])
                } else {
                    unsigned
                };
                let marked = self.text(marked);
                let turned = self.make(
                    if width == 64 { ElementType::U64 } else { ElementType::U32 },
                    &format!("brev.{word}"),
                    &[&marked],
                );
                let turned = self.text(turned);
                self.make(ElementType::U32, &format!("clz.{word}"), &[&turned])
            }
        };
        if width == 64 {
            let count = self.text(count);
            return self.make(ty, "cvt.u64.u32", &[&count]);
        }
        // At most 32: a value of every type.
        self.in_type(ty, count)
    }

    /// The same register as another type.
    pub(super) fn in_type(&mut self, ty: ElementType, value: Val) -> Val {
        let reg = self.in_reg(value);
        Val::new(ty, reg)
    }

    pub(super) fn integer_binary(&mut self, function: Binary, a: Val, b: Val) -> Result<Val> {
        let ty = a.ty;
        let (s, untyped) = (suffix(ty), Class::of(ty).untyped());
        if function.is_shift() {
            return Ok(self.shift(function, a, b));
        }
        if function.is_comparison() {
            let comparison = match function {
                Binary::Eq => "eq",
                Binary::Ne => "ne",
                Binary::Lt => "lt",
                Binary::Le => "le",
                Binary::Gt => "gt",
                _ => "ge",
            };
            return Ok(Val::new(ElementType::Bool, self.compare(comparison, a, b)));
        }
        let (x, y) = (self.text(a), self.text(b));
        let result = match function {
            Binary::Add => self.make(ty, &format!("add.{s}"), &[&x, &y]),
            Binary::Sub => self.make(ty, &format!("sub.{s}"), &[&x, &y]),
            Binary::Mul => self.make(ty, &format!("mul.lo.{s}"), &[&x, &y]),
            Binary::And => return Ok(self.make(ty, &format!("and.{untyped}"), &[&x, &y])),
            Binary::Or => return Ok(self.make(ty, &format!("or.{untyped}"), &[&x, &y])),
            Binary::Xor => return Ok(self.make(ty, &format!("xor.{untyped}"), &[&x, &y])),
            Binary::Min => return Ok(self.make(ty, &format!("min.{s}"), &[&x, &y])),
            Binary::Max => return Ok(self.make(ty, &format!("max.{s}"), &[&x, &y])),
            Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor => self.division(function, a, b),
            other => return Err(Unexpanded(other.text())),
        };
        Ok(self.narrowed(ty, result))
    }

    /// Division by what is not zero. The least number by -1, which overflows, is its negation.
    fn division(&mut self, function: Binary, a: Val, b: Val) -> Val {
        let (ty, s) = (a.ty, suffix(a.ty));
        if let Some(power) = b.constant().and_then(Constant::power_of_two) {
            return self.divided_by_power(function, a, power);
        }
        let x = self.text(a);
        if ty.is_unsigned() {
            let y = self.text(b);
            let operation = if matches!(function, Binary::Div | Binary::DivFloor) { "div" } else { "rem" };
            return self.make(ty, &format!("{operation}.{s}"), &[&x, &y]);
        }
        // Of other constants the assembler makes products.
        let other = b.constant().is_some_and(|divisor| divisor.as_i64() != Some(-1));
        let negation = (!other).then(|| {
            let minus_one = self.compare("eq", b, Self::number(ty, -1));
            (minus_one, self.make(ty, &format!("neg.{s}"), &[&x]))
        });
        let divisor = match negation {
            Some((minus_one, _)) => self.select(minus_one, Self::number(ty, 1), b),
            None => b,
        };
        let y = self.text(divisor);
        let quotient = self.make(ty, &format!("div.{s}"), &[&x, &y]);
        let unless_negated = |this: &mut Self, quotient: Val| match negation {
            Some((minus_one, negated)) => this.select(minus_one, negated, quotient),
            None => quotient,
        };
        if function == Binary::Div {
            return unless_negated(self, quotient);
        }
        let q = self.text(quotient);
        let product = self.make(ty, &format!("mul.lo.{s}"), &[&q, &y]);
        let product = self.text(product);
        let remainder = self.make(ty, &format!("sub.{s}"), &[&x, &product]);
        if function == Binary::Rem {
            return remainder;
        }
        // Rounded down: one less where there is a remainder whose sign is not the divisor's.
        let there = self.compare("ne", remainder, Self::number(ty, 0));
        let r = self.text(remainder);
        let untyped = Class::of(ty).untyped();
        let signs = self.make(ty, &format!("xor.{untyped}"), &[&r, &y]);
        let differ = self.compare("lt", signs, Self::number(ty, 0));
        let adjust = self.both(there, differ);
        if function == Binary::ModFloor {
            let up = self.make(ty, &format!("add.{s}"), &[&r, &y]);
            return self.select(adjust, up, remainder);
        }
        let down = self.make(ty, &format!("sub.{s}"), &[&q, "1"]);
        let quotient = self.select(adjust, down, quotient);
        unless_negated(self, quotient)
    }

    /// A quotient or remainder by 2 to a power, with shifts and masks.
    fn divided_by_power(&mut self, function: Binary, a: Val, power: u32) -> Val {
        let (ty, s) = (a.ty, suffix(a.ty));
        let untyped = Class::of(ty).untyped();
        let (x, by, below) = (self.text(a), power.to_string(), ((1u64 << power) - 1).to_string());
        let shift = |this: &mut Self, of: &str, by: &str| this.make(ty, &format!("shr.{s}"), &[of, by]);
        let mask = |this: &mut Self, of: &str| this.make(ty, &format!("and.{untyped}"), &[of, &below]);
        let quotient = matches!(function, Binary::Div | Binary::DivFloor);
        if ty.is_unsigned() || matches!(function, Binary::DivFloor | Binary::ModFloor) {
            return if quotient { shift(self, &x, &by) } else { mask(self, &x) };
        }
        // A shift rounds down: what is below zero is moved up first.
        let last = if untyped == "b64" { "63" } else { "31" };
        let sign = shift(self, &x, last);
        let sign = self.text(sign);
        let moved = mask(self, &sign);
        let moved = self.text(moved);
        let sum = self.make(ty, &format!("add.{s}"), &[&x, &moved]);
        let sum = self.text(sum);
        if quotient {
            return shift(self, &sum, &by);
        }
        let rest = mask(self, &sum);
        let rest = self.text(rest);
        self.make(ty, &format!("sub.{s}"), &[&rest, &moved])
    }

    /// The amount of a shift as an unsigned 32-bit number that keeps what matters: a negative one is large.
    fn amount(&mut self, b: Val, rotation: bool) -> String {
        match b.ty {
            ElementType::I64 | ElementType::U64 => {
                let y = self.text(b);
                let small = if rotation {
                    self.make(ElementType::U64, "and.b64", &[&y, "63"])
                } else {
                    self.make(ElementType::U64, "min.u64", &[&y, "64"])
                };
                let small = self.text(small);
                let small = self.make(ElementType::U32, "cvt.u32.u64", &[&small]);
                self.text(small)
            }
            _ => self.text(b),
        }
    }

    fn shift(&mut self, function: Binary, a: Val, b: Val) -> Val {
        let (ty, s, width) = (a.ty, suffix(a.ty), a.ty.bits());
        let untyped = Class::of(ty).untyped();
        let rotation = matches!(function, Binary::RotateLeft | Binary::RotateRight);
        let by = self.amount(b, rotation);
        if !rotation {
            let x = self.text(a);
            return if function == Binary::Shl {
                let result = self.make(ty, &format!("shl.{untyped}"), &[&x, &by]);
                self.narrowed(ty, result)
            } else {
                self.make(ty, &format!("shr.{s}"), &[&x, &by])
            };
        }
        let by = if function == Binary::RotateRight {
            let minus = self.make(ElementType::U32, "neg.s32", &[&by]);
            self.text(minus)
        } else {
            by
        };
        let left = self.make(ElementType::U32, "and.b32", &[&by, &(width - 1).to_string()]);
        let left = self.text(left);
        let x = match ty {
            ElementType::I8 => self.narrowed(ElementType::U8, a),
            ElementType::I16 => self.narrowed(ElementType::U16, a),
            _ => a,
        };
        let x = self.text(x);
        if width == 32 {
            return self.make(ty, "shf.l.wrap.b32", &[&x, &x, &left]);
        }
        let right = self.make(ElementType::U32, "sub.s32", &[&width.to_string(), &left]);
        let right = self.text(right);
        let word = if width == 64 { "u64" } else { "u32" };
        let high = self.make(ty, &format!("shl.{untyped}"), &[&x, &left]);
        let low = self.make(ty, &format!("shr.{word}"), &[&x, &right]);
        let (high, low) = (self.text(high), self.text(low));
        let result = self.make(ty, &format!("or.{untyped}"), &[&high, &low]);
        self.narrowed(ty, result)
    }
}
