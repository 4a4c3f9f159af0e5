//! Moves and conversions.

use super::suffixes::Suffixes;
use super::{Decoded, Given, names};
use crate::code::{Op, Slot};
use crate::lanes::convert::Conversion;
use crate::lanes::exact::Rounding;
use crate::lanes::{Apply, bits, float};
use crate::layout::{LOCAL_WINDOW, Location, SHARED_WINDOW};
use crate::text::tree::{Operand, Space};
use crate::text::{ParseError, Place};
use crate::types::{Class, Type};

/// The part of a word at a place, by the bits of the part.
fn part(bits: u32, at: usize) -> Option<Apply> {
    Some(match (bits, at) {
        (8, 0) => bits!(|a| a & 0xff),
        (8, 1) => bits!(|a| a >> 8 & 0xff),
        (8, 2) => bits!(|a| a >> 16 & 0xff),
        (8, 3) => bits!(|a| a >> 24 & 0xff),
        (16, 0) => bits!(|a| a & 0xffff),
        (16, 1) => bits!(|a| a >> 16 & 0xffff),
        (16, 2) => bits!(|a| a >> 32 & 0xffff),
        (16, 3) => bits!(|a| a >> 48 & 0xffff),
        (32, 0) => bits!(|a| a & 0xffff_ffff),
        (32, 1) => bits!(|a| a >> 32),
        _ => return None,
    })
}

/// A word of its parts, the first the lowest.
fn whole(bits: u32, parts: usize) -> Option<Apply> {
    Some(match (bits, parts) {
        (8, 2) => bits!(|a, b| a | b << 8),
        (8, 4) => bits!(|a, b, c, d| a | b << 8 | c << 16 | d << 24),
        (16, 2) => bits!(|a, b| a | b << 16),
        (16, 4) => bits!(|a, b, c, d| a | b << 16 | c << 32 | d << 48),
        (32, 2) => bits!(|a, b| a | b << 32),
        _ => return None,
    })
}

fn bits_type(bits: u32) -> Option<Type> {
    Some(match bits {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        _ => return None,
    })
}

impl Given<'_, '_> {
    pub(super) fn mov(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        self.count(2, 2)?;
        let (to, from) = (self.operand(0)?.1.clone(), self.operand(1)?);
        let (place, from) = (from.0, from.1.clone());
        match (&to, &from) {
            (Operand::Vector(parts), _) => {
                let a = self.source(1, ty)?;
                self.unpack(parts, a, ty, place)
            }
            (_, Operand::Vector(parts)) => self.pack(parts, ty, place),
            (_, Operand::Name(name))
                if matches!(name.as_str(), "%clock" | "%clock64" | "%globaltimer" | "%clock_hi") =>
            {
                let wide = ty.bits() == 64;
                if wide == matches!(name.as_str(), "%clock" | "%clock_hi") || ty.is_float() {
                    return Err(ParseError::new(place, format!("`{name}` is no value of {ty}")));
                }
                let dst = self.dst(0, ty)?;
                self.decoder.push(Op::Clock { dst, wide });
                Ok(())
            }
            (_, Operand::Name(name) | Operand::Offset(name, _))
                if names::special(name).is_none() && self.decoder.names.find(name).is_none() =>
            {
                let offset = if let Operand::Offset(_, offset) = from { offset } else { 0 };
                let a = self.variable(name, offset, ty, place)?;
                let dst = self.dst(0, ty)?;
                self.decoder.push(Op::Move { dst, a });
                Ok(())
            }
            _ => {
                if ty.bits() == 8 || matches!(ty, Type::F16 | Type::F16x2) {
                    return Err(self.no_such(ty));
                }
                let (dst, a) = (self.dst(0, ty)?, self.source(1, ty)?);
                self.decoder.push(Op::Move { dst, a });
                Ok(())
            }
        }
    }

    /// The address of a variable, in its own space.
    fn variable(&mut self, name: &str, offset: i64, ty: Type, place: Place) -> Result<Slot, ParseError> {
        let Some(location) = self.decoder.layout.find(name) else {
            return Err(ParseError::new(place, format!("there is no register or variable `{name}`")));
        };
        if ty.is_float() || ty.bits() < 32 {
            return Err(ParseError::new(place, format!("the address of `{name}` is no value of {ty}")));
        }
        match location {
            Location::Offset(_, at) => Ok(self.decoder.constant(at.wrapping_add_signed(offset) & ty.mask())),
            Location::Global(..) if ty.bits() != 64 => {
                Err(ParseError::new(place, format!("the address of `{name}` has 64 bits")))
            }
            Location::Global(_, number) => {
                let base = self.decoder.global(number);
                if offset == 0 {
                    return Ok(base);
                }
                let (by, dst) = (self.decoder.constant(offset as u64), self.decoder.temporary());
                self.decoder.apply(bits!(|a, b| a.wrapping_add(b)), dst, &[base, by]);
                Ok(dst)
            }
        }
    }

    fn unpack(&mut self, parts: &[Operand], a: Slot, ty: Type, place: Place) -> Decoded {
        let bits = ty.bits() / parts.len().max(1) as u32;
        let wrong = || ParseError::new(place, format!("{ty} has no {} parts", parts.len()));
        let part_type = bits_type(bits).filter(|_| ty.class() == Class::Bits).ok_or_else(wrong)?;
        let kept = self.decoder.temporary(); // a part may be written to the source
        self.decoder.push(Op::Move { dst: kept, a });
        for (at, operand) in parts.iter().enumerate() {
            let apply = part(bits, at).ok_or_else(wrong)?;
            match operand {
                Operand::Sink => {}
                Operand::Name(name) => {
                    let dst = self.decoder.register(name, part_type, place)?;
                    self.decoder.apply(apply, dst, &[kept]);
                }
                _ => return Err(ParseError::new(place, "expected a register")),
            }
        }
        Ok(())
    }

    fn pack(&mut self, parts: &[Operand], ty: Type, place: Place) -> Decoded {
        let bits = ty.bits() / parts.len().max(1) as u32;
        let wrong = || ParseError::new(place, format!("{ty} has no {} parts", parts.len()));
        let part_type = bits_type(bits).filter(|_| ty.class() == Class::Bits).ok_or_else(wrong)?;
        let apply = whole(bits, parts.len()).ok_or_else(wrong)?;
        let sources = parts.iter().map(|part| self.source_of(part, place, part_type)).collect::<Result<Vec<_>, _>>()?;
        let dst = self.dst(0, ty)?;
        self.decoder.apply(apply, dst, &sources);
        Ok(())
    }

    /// `cvt.rounding.ftz.sat.to.from d, a`: registers may be wider than the types.
    pub(super) fn cvt(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let (to, from) = (suffixes.ty()?, suffixes.ty()?);
        for ty in [to, from] {
            if matches!(ty.class(), Class::Pred | Class::Bits) || ty == Type::F16x2 {
                return Err(self.no_such(ty));
            }
        }
        let whole = suffixes.take_if(|suffix| suffix.strip_suffix('i').and_then(Rounding::named));
        let rounding = suffixes.rounding();
        let (flush, saturate) = (suffixes.take("ftz"), suffixes.take("sat"));
        let narrows = to.is_float() && (!from.is_float() || from.bits() > to.bits());
        let wants = match (from.is_float(), to.is_float()) {
            (true, false) => whole.is_none().then_some("a rounding to an integer such as `.rzi`"),
            (_, true) if narrows => rounding.is_none().then_some("a rounding such as `.rn`"),
            _ => None,
        };
        if let Some(wants) = wants {
            return Err(suffixes.error(&format!("from {from} to {to} lacks {wants}")));
        }
        if rounding.is_some() && !narrows {
            return Err(suffixes.error(&format!("from {from} to {to} takes no such rounding")));
        }
        if flush && ![from, to].contains(&Type::F32) {
            return Err(suffixes.error("has `.ftz` and no type `.f32`"));
        }
        self.count(2, 2)?;
        let (dst, mask) = self.wide_register(0, to)?;
        let mut a = match self.operand(1)?.1 {
            Operand::Name(name) if names::special(name).is_none() => self.wide_register(1, from)?.0,
            _ => self.source(1, from)?,
        };
        if flush && from == Type::F32 {
            let flushed = self.decoder.temporary();
            self.decoder.apply(float::flush(), flushed, &[a]);
            a = flushed;
        }
        let rounding = whole.or(rounding).unwrap_or(Rounding::Nearest);
        let conversion = Conversion { from, to, rounding, whole: whole.is_some(), saturate };
        self.decoder.push(Op::Convert { conversion, dst, a });
        if flush && to == Type::F32 {
            self.decoder.apply(float::flush(), dst, &[dst]);
        }
        if to.is_signed() && mask != to.mask() {
            // The register is wider: the sign goes on.
            let wide = match mask {
                0xffff => Type::S16,
                0xffff_ffff => Type::S32,
                _ => Type::S64,
            };
            let conversion = Conversion { from: to, to: wide, rounding, whole: false, saturate: false };
            self.decoder.push(Op::Convert { conversion, dst, a: dst });
        }
        Ok(())
    }

    /// A register that is as wide as the type or wider, and its bits.
    pub(super) fn wide_register(&mut self, at: usize, ty: Type) -> Result<(Slot, u64), ParseError> {
        let (place, operand) = self.operand(at)?;
        let name = match operand {
            Operand::Name(name) => name,
            Operand::Sink => return Ok((self.decoder.temporary(), ty.mask())),
            _ => return Err(ParseError::new(place, "expected a register")),
        };
        let (slot, found) = self.decoder.any_register(name, place)?;
        // Floats have no wider registers, but those of bits.
        let fits = found.bits() == ty.bits() || !ty.is_float() && found.bits() > ty.bits();
        if !fits || !ty.takes(found) || found == Type::Pred {
            return Err(ParseError::new(place, format!("`{name}` is a register of {found}, and {ty} is wanted")));
        }
        Ok((slot, found.mask()))
    }

    /// `cvta.space` to a generic address, `cvta.to.space` back.
    pub(super) fn cvta(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let back = suffixes.take("to");
        let space = suffixes.take_if(Space::named).ok_or_else(|| suffixes.error("lacks a space"))?;
        let ty = suffixes.ty()?;
        if ty != Type::U64 {
            return Err(self.no_such(ty));
        }
        self.count(2, 2)?;
        let window = match space {
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Global | Space::Const => 0,
            Space::Generic | Space::Param => return Err(suffixes.error("of this space is not known here")),
        };
        let by = self.decoder.constant(if back { window.wrapping_neg() } else { window });
        let (place, operand) = self.operand(1)?;
        let a = match operand.clone() {
            Operand::Name(name) if self.decoder.names.find(&name).is_none() && names::special(&name).is_none() => {
                self.variable(&name, 0, ty, place)?
            }
            Operand::Offset(name, offset) => self.variable(&name, offset, ty, place)?,
            _ => self.source(1, ty)?,
        };
        let dst = self.dst(0, ty)?;
        self.decoder.apply(bits!(|a, b| a.wrapping_add(b)), dst, &[a, by]);
        Ok(())
    }
}
