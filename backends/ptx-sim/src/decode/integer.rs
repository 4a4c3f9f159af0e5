//! Arithmetic on integers and bits, and the instructions that floats have as well.

use super::suffixes::Suffixes;
use super::{Decoded, Given};
use crate::lanes::carry::with_carry;
use crate::lanes::integer::{self, Half};
use crate::types::{Class, Type};

/// The type of twice the width.
fn wide(ty: Type) -> Option<Type> {
    Some(match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        _ => return None,
    })
}

fn half(suffixes: &mut Suffixes<'_>) -> Option<Half> {
    suffixes.take_if(|suffix| match suffix {
        "lo" => Some(Half::Low),
        "hi" => Some(Half::High),
        "wide" => Some(Half::Wide),
        _ => None,
    })
}

impl Given<'_, '_> {
    pub(super) fn arithmetic(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        if ty.is_float() {
            return self.float(ty, suffixes);
        }
        if ty.class() == Class::Bits || ty.class() == Class::Pred || ty.bits() == 8 {
            return Err(self.no_such(ty));
        }
        let name = self.instruction.opcode.as_str();
        if suffixes.take("cc") {
            return self.carry(name.trim_end_matches('c'), ty, true, false, suffixes);
        }
        if matches!(name, "mul" | "mad") {
            return self.product(ty, suffixes);
        }
        if matches!(name, "add" | "sub") && suffixes.take("sat") {
            if ty != Type::S32 {
                return Err(self.no_such(ty));
            }
            let apply = integer::saturating(name).ok_or_else(|| self.no_such(ty))?;
            return self.same(apply, ty);
        }
        if matches!(name, "abs" | "neg") && !ty.is_signed() {
            return Err(self.no_such(ty));
        }
        let apply = integer::plain(name, ty).ok_or_else(|| self.no_such(ty))?;
        self.same(apply, ty)
    }

    /// `mul` and `mad`.
    fn product(&mut self, ty: Type, suffixes: &mut Suffixes<'_>) -> Decoded {
        let half = half(suffixes).ok_or_else(|| suffixes.error("lacks `.lo`, `.hi` or `.wide`"))?;
        let result = if half == Half::Wide { wide(ty) } else { Some(ty) }.ok_or_else(|| self.no_such(ty))?;
        let product = integer::product(half, ty).ok_or_else(|| self.no_such(ty))?;
        if self.instruction.opcode == "mul" {
            self.count(3, 3)?;
            return self.typed(product, result, &[ty, ty]);
        }
        let saturate = suffixes.take("sat");
        if saturate && (half, ty) != (Half::High, Type::S32) {
            return Err(self.no_such(ty));
        }
        let add = if saturate { integer::saturating("add") } else { integer::plain("add", result) };
        self.product_and_sum(product, add.ok_or_else(|| self.no_such(ty))?, ty, result)
    }

    fn product_and_sum(
        &mut self,
        product: crate::lanes::Apply,
        add: crate::lanes::Apply,
        ty: Type,
        result: Type,
    ) -> Decoded {
        self.count(4, 4)?;
        let (a, b, c) = (self.source(1, ty)?, self.source(2, ty)?, self.source(3, result)?);
        let (dst, between) = (self.dst(0, result)?, self.decoder.temporary());
        self.decoder.apply(product, between, &[a, b]);
        self.decoder.apply(add, dst, &[between, c]);
        Ok(())
    }

    pub(super) fn product24(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        let half = half(suffixes).ok_or_else(|| suffixes.error("lacks `.lo` or `.hi`"))?;
        let product = integer::product24(half, ty).ok_or_else(|| self.no_such(ty))?;
        if self.instruction.opcode == "mul24" {
            return self.same(product, ty);
        }
        let add = integer::plain("add", ty).ok_or_else(|| self.no_such(ty))?;
        self.product_and_sum(product, add, ty, ty)
    }

    pub(super) fn carried(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        let out = suffixes.take("cc");
        let name = self.instruction.opcode.trim_end_matches('c');
        self.carry(name, ty, out, true, suffixes)
    }

    /// Sums and differences with a carry out (`.cc`), or in, or both.
    fn carry(&mut self, name: &str, ty: Type, out: bool, into: bool, suffixes: &mut Suffixes<'_>) -> Decoded {
        if !matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64) {
            return Err(self.no_such(ty));
        }
        let (sum, carry) = with_carry(name == "sub", ty.bits() == 64);
        let (a, b);
        if name == "mad" {
            let half = half(suffixes).filter(|&half| half != Half::Wide);
            let half = half.ok_or_else(|| suffixes.error("lacks `.lo` or `.hi`"))?;
            let product = integer::product(half, ty).ok_or_else(|| self.no_such(ty))?;
            self.count(4, 4)?;
            let (x, y) = (self.source(1, ty)?, self.source(2, ty)?);
            a = self.decoder.temporary();
            self.decoder.apply(product, a, &[x, y]);
            b = self.source(3, ty)?;
        } else {
            self.count(3, 3)?;
            (a, b) = (self.source(1, ty)?, self.source(2, ty)?);
        }
        let before = if into { self.decoder.carry } else { self.decoder.constant(0) };
        let (dst, after) = (self.dst(0, ty)?, self.decoder.temporary());
        self.decoder.apply(carry, after, &[a, b, before]);
        self.decoder.apply(sum, dst, &[a, b, before]);
        if out {
            let carry = self.decoder.carry;
            self.decoder.push(crate::code::Op::Move { dst: carry, a: after });
        }
        Ok(())
    }

    pub(super) fn bitwise(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        let name = self.instruction.opcode.as_str();
        let counts = matches!(name, "popc" | "clz" | "brev");
        let allowed = match ty {
            Type::Pred => !counts && name != "cnot",
            Type::B16 => !counts,
            Type::B32 | Type::B64 => true,
            _ => false,
        };
        let apply = integer::bitwise(name, ty).filter(|_| allowed).ok_or_else(|| self.no_such(ty))?;
        if matches!(name, "popc" | "clz") {
            self.count(2, 2)?;
            return self.typed(apply, Type::U32, &[ty]);
        }
        self.same(apply, ty)
    }

    pub(super) fn shift(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        let apply = integer::shift(&self.instruction.opcode, ty).ok_or_else(|| self.no_such(ty))?;
        self.count(3, 3)?;
        self.typed(apply, ty, &[ty, Type::U32])
    }

    /// Instructions that cut words into bits and bytes.
    pub(super) fn fields(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        let no_such = self.no_such(ty);
        match self.instruction.opcode.as_str() {
            "shf" => {
                let left = suffixes.one_of(&["l", "r"]).ok_or_else(|| suffixes.error("lacks `.l` or `.r`"))? == "l";
                let wrap = suffixes.one_of(&["wrap", "clamp"]);
                let wrap = wrap.ok_or_else(|| suffixes.error("lacks `.wrap` or `.clamp`"))? == "wrap";
                if ty != Type::B32 {
                    return Err(no_such);
                }
                self.count(4, 4)?;
                self.typed(integer::funnel(left, wrap), ty, &[ty, ty, Type::U32])
            }
            "bfe" => {
                self.count(4, 4)?;
                self.typed(integer::extract(ty).ok_or(no_such)?, ty, &[ty, Type::U32, Type::U32])
            }
            "bfi" => {
                self.count(5, 5)?;
                self.typed(integer::insert(ty).ok_or(no_such)?, ty, &[ty, ty, Type::U32, Type::U32])
            }
            "bfind" => {
                let amount = suffixes.take("shiftamt");
                self.count(2, 2)?;
                self.typed(integer::highest(ty, amount).ok_or(no_such)?, Type::U32, &[ty])
            }
            "prmt" => {
                let mode = suffixes.one_of(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]);
                let apply = integer::permute(mode).filter(|_| ty == Type::B32).ok_or(no_such)?;
                self.same(apply, ty)
            }
            _ => {
                if ty != Type::B32 {
                    return Err(no_such);
                }
                self.count(5, 5)?;
                self.typed(integer::logic(), ty, &[ty, ty, ty, Type::B32])
            }
        }
    }
}
