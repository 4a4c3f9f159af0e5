//! Loads, stores, atomic instructions, fences.

use super::suffixes::Suffixes;
use super::{Decoded, Given, names};
use crate::code::{Address, NONE, Op, Order, Scope, Slot, Update};
use crate::layout::Location;
use crate::text::ParseError;
use crate::text::tree::{Operand, Space};
use crate::types::{Class, Type};

/// Hints on caches, which change nothing here.
const HINTS: [&str; 7] = ["ca", "cg", "cs", "lu", "cv", "wb", "wt"];

fn drop_hints(suffixes: &mut Suffixes<'_>) {
    let is_hint = |suffix: &str| HINTS.contains(&suffix) || suffix.starts_with("L1::") || suffix.starts_with("L2::");
    while suffixes.take_if(|suffix| (is_hint(suffix) && suffix != "L2::cache_hint").then_some(())).is_some() {}
}

fn elements(suffixes: &mut Suffixes<'_>) -> usize {
    match suffixes.one_of(&["v2", "v4", "v8"]) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    }
}

/// The order that the modifiers of a load, a store or an atomic instruction ask for.
fn order(suffixes: &mut Suffixes<'_>, allowed: &[&str]) -> Result<Option<Order>, ParseError> {
    if suffixes.take("volatile") {
        return Ok(Some(Order { strong: Some(Scope::Device), ..Order::WEAK }));
    }
    let Some(name) = suffixes.one_of(allowed) else { return Ok(None) };
    if name == "weak" {
        return Ok(Some(Order::WEAK));
    }
    let acquire = matches!(name, "acquire" | "acq_rel");
    let release = matches!(name, "release" | "acq_rel");
    Ok(Some(Order { strong: suffixes.scope(), acquire, release, constant: false }))
}

impl super::Decoder<'_> {
    /// A slot with the address of a variable of the module.
    pub(super) fn global(&mut self, number: usize) -> Slot {
        if let Some(&(slot, _)) = self.body.globals.iter().find(|(_, known)| *known == number) {
            return slot;
        }
        let slot = self.slot();
        self.body.globals.push((slot, number));
        slot
    }
}

impl Given<'_, '_> {
    pub(super) fn load(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let mut order = self.access_order(suffixes, &["weak", "relaxed", "acquire"])?;
        let space = suffixes.take_if(Space::named).unwrap_or(Space::Generic);
        order.constant = suffixes.take("nc") || self.instruction.opcode == "ldu";
        if order.constant && (space != Space::Global || order.strong.is_some()) {
            return Err(self.error("only plain loads of global memory can be of what nobody writes"));
        }
        drop_hints(suffixes);
        let count = elements(suffixes);
        let ty = self.memory_type(count, suffixes)?;
        self.count(2, 2)?;
        let address = self.address(1, space)?;
        let mut mask = None;
        let mut dst = Vec::new();
        for operand in self.listed(0, count)? {
            let (slot, found) = match operand {
                Operand::Sink => (self.decoder.temporary(), None),
                Operand::Name(name) => {
                    let (slot, found) = self.register_for(&name, ty)?;
                    (slot, Some(found))
                }
                _ => return Err(self.error("`ld` needs a register to load to")),
            };
            if found.is_some() && mask.is_some() && mask != found {
                return Err(self.error("the registers of a vector have different widths"));
            }
            mask = mask.or(found);
            dst.push(slot);
        }
        let dst: Box<[Slot]> = dst.into();
        self.decoder.push(Op::Load { address, ty, order, dst, mask: mask.unwrap_or(ty.mask()) });
        Ok(())
    }

    pub(super) fn store(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let order = self.access_order(suffixes, &["weak", "relaxed", "release"])?;
        let space = suffixes.take_if(Space::named).unwrap_or(Space::Generic);
        if matches!(space, Space::Const | Space::Param) {
            return Err(self.error(format!("nothing can be stored to {} memory", space.name())));
        }
        drop_hints(suffixes);
        let count = elements(suffixes);
        let ty = self.memory_type(count, suffixes)?;
        self.count(2, 2)?;
        let address = self.address(0, space)?;
        let mut values = Vec::new();
        for operand in self.listed(1, count)? {
            values.push(match &operand {
                Operand::Name(name) if names::special(name).is_none() => self.register_for(name, ty)?.0,
                operand => self.source_of(operand, self.instruction.at, ty)?,
            });
        }
        self.decoder.push(Op::Store { address, ty, order, values: values.into() });
        Ok(())
    }

    fn access_order(&self, suffixes: &mut Suffixes<'_>, allowed: &[&str]) -> Result<Order, ParseError> {
        let order = order(suffixes, allowed)?.unwrap_or(Order::WEAK);
        if order.strong.is_none() && (order.acquire || order.release) {
            return Err(self.error("an ordered access lacks its scope"));
        }
        Ok(order)
    }

    fn memory_type(&self, count: usize, suffixes: &mut Suffixes<'_>) -> Result<Type, ParseError> {
        let ty = suffixes.ty()?;
        if ty == Type::Pred || ty == Type::F16x2 || ty == Type::F16 {
            return Err(self.no_such(ty));
        }
        if count as u32 * ty.bytes() > 16 {
            return Err(self.error("a vector in memory has at most 16 bytes"));
        }
        Ok(ty)
    }

    /// The operands of a vector, or the one.
    fn listed(&self, at: usize, count: usize) -> Result<Vec<Operand>, ParseError> {
        let (place, operand) = self.operand(at)?;
        let operands = match operand {
            Operand::Vector(parts) => parts.clone(),
            operand => vec![operand.clone()],
        };
        if operands.len() != count {
            return Err(ParseError::new(place, format!("expected {count} registers, found {}", operands.len())));
        }
        Ok(operands)
    }

    /// A register as wide as the type or wider, and its bits.
    fn register_for(&self, name: &str, ty: Type) -> Result<(Slot, u64), ParseError> {
        let (slot, found) = self.decoder.any_register(name, self.instruction.at)?;
        let fits = found.bits() == ty.bits() || !ty.is_float() && found.bits() > ty.bits();
        if !fits || !ty.takes(found) || found == Type::Pred {
            return Err(self.error(format!("`{name}` is a register of {found}, and {ty} is wanted")));
        }
        Ok((slot, found.mask()))
    }

    fn address(&mut self, at: usize, space: Space) -> Result<Address, ParseError> {
        let (place, operand) = self.operand(at)?;
        let Operand::Address { base, offset } = operand.clone() else {
            return Err(ParseError::new(place, "expected an address `[…]`"));
        };
        let Some(name) = base else { return Ok(Address { space, base: NONE, mask: u64::MAX, offset }) };
        if let Some((base, ty)) = self.decoder.names.find(&name) {
            let narrow = matches!(space, Space::Shared | Space::Local | Space::Const);
            if ty.is_float() || !(ty.bits() == 64 || ty.bits() == 32 && narrow) {
                return Err(ParseError::new(place, format!("`{name}`, of {ty}, cannot hold such an address")));
            }
            return Ok(Address { space, base, mask: ty.mask(), offset });
        }
        match self.decoder.layout.find(&name) {
            None => Err(ParseError::new(place, format!("there is no register or variable `{name}`"))),
            Some(Location::Offset(found, at)) if found == space => {
                Ok(Address { space, base: NONE, mask: u64::MAX, offset: offset.wrapping_add_unsigned(at) })
            }
            Some(Location::Global(found, number)) if found == space => {
                Ok(Address { space, base: self.decoder.global(number), mask: u64::MAX, offset })
            }
            Some(Location::Offset(found, _) | Location::Global(found, _)) => {
                let (found, wanted) = (found.name(), space.name());
                Err(ParseError::new(
                    place,
                    format!("`{name}` is in {found} memory, and this is an access of {wanted} memory"),
                ))
            }
        }
    }

    /// `atom` and `red`.
    pub(super) fn atomic(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let has_result = self.instruction.opcode == "atom";
        let order = order(suffixes, &["relaxed", "acquire", "release", "acq_rel"])?;
        let mut order = order.unwrap_or(Order::WEAK);
        order.strong = Some(order.strong.or_else(|| suffixes.scope()).unwrap_or(Scope::Device));
        let space = suffixes.take_if(Space::named).unwrap_or(Space::Generic);
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return Err(self.error(format!("nothing is atomic in {} memory", space.name())));
        }
        let update = suffixes.take_if(|suffix| {
            Some(match suffix {
                "add" => Update::Add,
                "min" => Update::Min,
                "max" => Update::Max,
                "and" => Update::And,
                "or" => Update::Or,
                "xor" => Update::Xor,
                "inc" => Update::Inc,
                "dec" => Update::Dec,
                "exch" => Update::Exchange,
                "cas" => Update::CompareAndSwap,
                _ => return None,
            })
        });
        let update = update.ok_or_else(|| suffixes.error("lacks an operation"))?;
        let no_flush = suffixes.take("noftz");
        let ty = suffixes.ty()?;
        let allowed = match update {
            Update::Add => {
                matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::F32 | Type::F64 | Type::F16 | Type::F16x2)
            }
            Update::Min | Update::Max => matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64),
            Update::And | Update::Or | Update::Xor | Update::Exchange => matches!(ty, Type::B32 | Type::B64),
            Update::CompareAndSwap => matches!(ty, Type::B16 | Type::B32 | Type::B64) && has_result,
            Update::Inc | Update::Dec => ty == Type::U32,
        };
        if !allowed || no_flush != matches!(ty, Type::F16 | Type::F16x2) {
            return Err(self.no_such(ty));
        }
        let first = usize::from(has_result);
        let operands = first + 2 + usize::from(update == Update::CompareAndSwap);
        self.count(operands, operands)?;
        let dst = if has_result { self.dst(0, ty)? } else { NONE };
        let address = self.address(first, space)?;
        let value = self.source(first + 1, ty)?;
        let new = if update == Update::CompareAndSwap { self.source(first + 2, ty)? } else { NONE };
        self.decoder.push(Op::Atomic { address, ty, order, update, dst, value, new });
        Ok(())
    }

    /// `fence.sc.gpu`, `membar.gl`.
    pub(super) fn fence(self, suffixes: &mut Suffixes<'_>) -> Decoded {
        suffixes.one_of(&["sc", "acq_rel"]);
        let scope = suffixes.scope().ok_or_else(|| suffixes.error("lacks a scope"))?;
        self.count(0, 0)?;
        self.decoder.push(Op::Fence { scope });
        Ok(())
    }

    /// Nothing happens; the address is not looked at.
    pub(super) fn prefetch(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let space = suffixes.take_if(Space::named).unwrap_or(Space::Generic);
        suffixes.one_of(&["L1", "L2"]);
        drop_hints(suffixes);
        self.count(1, 1)?;
        self.address(0, space)?;
        self.decoder.push(Op::Nothing);
        Ok(())
    }

    pub(super) fn is_bits32(ty: Type) -> bool {
        ty.bits() == 32 && ty.class() == Class::Bits
    }
}
