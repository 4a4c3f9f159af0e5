//! Combining into an element that other threads may be combining into: by the instruction that does so, else by compare and swap.

use fusebox_ir::{Binary, ElementType, KernelArrayId, Lambda, analysis::algebra::built_ins};
use fusebox_schedule::grid::{WARP, cannot_fail};

use crate::{
    emit::{Emitter, Result},
    scalar::suffix,
    text::{Class, Reg},
    value::Val,
};

/// Locks of a launch, for targets of several components that are combined together.
pub(crate) const LOCKS: i64 = 4096;

/// The operation and type of the instruction that combines by a function, if there is one.
fn instruction(function: Binary, ty: ElementType) -> Option<(&'static str, &'static str)> {
    let wide = ty.bits() >= 32 && ty.is_integer();
    let bits = if ty.bits() == 64 { "b64" } else { "b32" };
    let unsigned = if ty.bits() == 64 { "u64" } else { "u32" };
    match function {
        Binary::Add if wide => Some(("add", unsigned)),
        Binary::Min if wide => Some(("min", suffix(ty))),
        Binary::Max if wide => Some(("max", suffix(ty))),
        Binary::And if wide => Some(("and", bits)),
        Binary::Or if wide => Some(("or", bits)),
        Binary::Xor if wide => Some(("xor", bits)),
        _ => None,
    }
}

/// Whose memory is combined into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicSpace {
    /// The device's.
    Global,
    /// The block's.
    Shared,
}

impl AtomicSpace {
    fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }

    /// How what others may be writing is read.
    fn relaxed(self) -> &'static str {
        match self {
            Self::Global => "relaxed.gpu.global",
            Self::Shared => "relaxed.cta.shared",
        }
    }
}

impl Emitter<'_> {
    /// `[address] = combine(value, [address])` in one step, in the memory of the device or of the block.
    pub(crate) fn atomic(&mut self, space: AtomicSpace, address: Reg, combine: &Lambda, value: Val) -> Result {
        let ty = value.ty;
        if let Some([function]) = built_ins(combine).as_deref()
            && let Some((operation, of)) = instruction(*function, ty)
        {
            let value = self.c.in_reg(value);
            let space = space.name();
            self.c.op(format_args!("red.{space}.{operation}.{of} [{address}], {value}"));
            return Ok(());
        }
        self.one_for_all(address, combine, &[value], |this, values| this.swap(space, address, combine, values[0]))
    }

    /// Values of all lanes of a warp that combine into one place are combined first, by shuffles; one lane does the rest. Elsewhere each does its own.
    ///
    /// Every order is right for what is combined so.
    fn one_for_all(
        &mut self,
        place: Reg,
        combine: &Lambda,
        values: &[Val],
        each: impl FnOnce(&mut Self, &[Val]) -> Result,
    ) -> Result {
        if !cannot_fail(combine) {
            return each(self, values);
        }
        let (alone, behind) = (self.c.label(), self.c.label());
        let own: Vec<Reg> = values.iter().map(|&value| self.c.variable(value)).collect();
        let own_values: Vec<Val> = own.iter().zip(values).map(|(&reg, value)| Val::new(value.ty, reg)).collect();
        let (active, lanes, same) = (self.c.reg(Class::Word), self.c.reg(Class::Word), self.c.reg(Class::Predicate));
        self.c.op(format_args!("activemask.b32 {active}"));
        let some = self.c.test("setp.ne.u32", &[&active.to_string(), "0xffffffff"]);
        self.c.op(format_args!("@{some} bra {alone}"));
        self.c.op(format_args!("match.all.sync.b64 {lanes}|{same}, {place}, 0xffffffff"));
        self.c.op(format_args!("@!{same} bra {alone}"));
        let mut half = WARP / 2;
        while half > 0 {
            let others: Vec<Val> = own_values.iter().map(|&value| self.c.shuffle_across(value, half)).collect();
            let combined = self.combine(combine, &own_values, &others, false)?;
            self.assign_all(&own, &combined);
            half /= 2;
        }
        let lane = self.c.make(ElementType::U32, "mov.u32", &["%laneid"]);
        let lane = self.c.text(lane);
        let other = self.c.test("setp.ne.u32", &[&lane, "0"]);
        self.c.op(format_args!("@{other} bra {behind}"));
        self.c.place(alone);
        each(self, &own_values)?;
        self.c.place(behind);
        Ok(())
    }

    /// `[address] = combine(value, [address])` by compare and swap.
    fn swap(&mut self, space: AtomicSpace, address: Reg, combine: &Lambda, value: Val) -> Result {
        let ty = value.ty;
        if ty.bits() < 32 {
            return self.swap_part(space, address, combine, value);
        }
        let class = Class::of(ty);
        let bits = class.untyped();
        let old = self.c.reg(class);
        let (name, relaxed) = (space.name(), space.relaxed());
        self.c.op(format_args!("ld.{relaxed}.{bits} {old}, [{address}]"));
        let again = self.c.label();
        self.c.place(again);
        let new = self.combine(combine, &[value], &[Val::new(ty, old)], false)?;
        let new = self.c.in_reg(new[0]);
        let found = self.c.reg(class);
        self.c.op(format_args!("atom.{name}.cas.{bits} {found}, [{address}], {old}, {new}"));
        let unsigned = if class == Class::Double { "u64" } else { "u32" };
        let lost = self.c.test(&format!("setp.ne.{unsigned}"), &[&found.to_string(), &old.to_string()]);
        self.c.op(format_args!("mov.{bits} {old}, {found}"));
        self.c.op(format_args!("@{lost} bra {again}"));
        Ok(())
    }

    /// The same for elements of 8 and 16 bits: their whole word is swapped.
    fn swap_part(&mut self, space: AtomicSpace, address: Reg, combine: &Lambda, value: Val) -> Result {
        let ty = value.ty;
        let word = self.c.reg(Class::Double);
        self.c.op(format_args!("and.b64 {word}, {address}, -4"));
        let low = self.c.make(ElementType::U32, "cvt.u32.u64", &[&address.to_string()]);
        let low = self.c.text(low);
        let byte = self.c.make(ElementType::U32, "and.b32", &[&low, "3"]);
        let byte = self.c.text(byte);
        let shift = self.c.make(ElementType::U32, "shl.b32", &[&byte, "3"]);
        let shift = self.c.text(shift);
        let (width, unsigned) = if ty.bits() == 8 { ("8", ElementType::U8) } else { ("16", ElementType::U16) };
        let old = self.c.reg(Class::Word);
        let (name, relaxed) = (space.name(), space.relaxed());
        self.c.op(format_args!("ld.{relaxed}.b32 {old}, [{word}]"));
        let again = self.c.label();
        self.c.place(again);
        let part = self.c.make(unsigned, "bfe.u32", &[&old.to_string(), &shift, width]);
        let element = match ty {
            ElementType::Bool => Val::new(ty, self.c.compare("ne", part, crate::text::Code::number(unsigned, 0))),
            ElementType::F16 => self.c.bits(ty, part),
            _ => self.c.convert(ty, part),
        };
        let new = self.combine(combine, &[value], &[element], false)?;
        let new = match ty {
            ElementType::F16 => self.c.bits(ElementType::U16, new[0]),
            _ => self.c.convert(ElementType::U32, new[0]),
        };
        let new = self.c.in_reg(new);
        let swapped = self.c.reg(Class::Word);
        self.c.op(format_args!("bfi.b32 {swapped}, {new}, {old}, {shift}, {width}"));
        let found = self.c.reg(Class::Word);
        self.c.op(format_args!("atom.{name}.cas.b32 {found}, [{word}], {old}, {swapped}"));
        let lost = self.c.test("setp.ne.u32", &[&found.to_string(), &old.to_string()]);
        self.c.op(format_args!("mov.b32 {old}, {found}"));
        self.c.op(format_args!("@{lost} bra {again}"));
        Ok(())
    }

    /// Combines two values of 32 bits into the word that holds a pair, the first in its low half.
    pub(crate) fn packed(&mut self, address: Reg, combine: &Lambda, values: &[Val]) -> Result {
        self.one_for_all(address, combine, values, |this, values| this.swap_pair(address, combine, values))
    }

    fn swap_pair(&mut self, address: Reg, combine: &Lambda, values: &[Val]) -> Result {
        let old = self.c.reg(Class::Double);
        self.c.op(format_args!("ld.relaxed.gpu.global.b64 {old}, [{address}]"));
        let again = self.c.label();
        self.c.place(again);
        let parts = self.c.unpacked(old, [values[0].ty, values[1].ty]);
        let combined = self.combine(combine, values, &parts, false)?;
        let new = self.c.pair([combined[0], combined[1]]);
        let found = self.c.reg(Class::Double);
        self.c.op(format_args!("atom.global.cas.b64 {found}, [{address}], {old}, {new}"));
        let lost = self.c.test("setp.ne.u64", &[&found.to_string(), &old.to_string()]);
        self.c.op(format_args!("mov.b64 {old}, {found}"));
        self.c.op(format_args!("@{lost} bra {again}"));
        Ok(())
    }

    /// Combines several components together under the lock of their target.
    pub(crate) fn under_lock(
        &mut self,
        arrays: &[KernelArrayId],
        target: Val,
        combine: &Lambda,
        values: &[Val],
    ) -> Result {
        let Some(locks) = self.locks else { return Err(self.broken("a scatter without locks")) };
        let text = self.c.text(target);
        let slot = self.c.make(ElementType::I64, "and.b64", &[&text, &(LOCKS - 1).to_string()]);
        let lock = self.address(locks, slot, 4);
        // A thread of a warp that has the lock goes on while the others try again: they do not wait inside of the loop's condition.
        let (again, taken, behind) = (self.c.label(), self.c.label(), self.c.label());
        self.c.place(again);
        let before = self.c.reg(Class::Word);
        self.c.op(format_args!("atom.acquire.gpu.global.cas.b32 {before}, [{lock}], 0, 1"));
        let free = self.c.test("setp.eq.u32", &[&before.to_string(), "0"]);
        self.c.op(format_args!("@{free} bra {taken}"));
        self.c.op(format_args!("bra {again}"));
        self.c.place(taken);
        // Where the function fails the lock is given back too.
        let give_back = self.c.label();
        let exit = std::mem::replace(&mut self.exit, give_back);
        let fails = self.c.variable(fusebox_ir::Constant::from(true).into());
        let mut old = Vec::new();
        for &array in arrays {
            let address = self.element(array, target)?;
            old.push(self.load_from("relaxed.gpu.global", self.kernel.arrays[array.index()].element, address, 0));
        }
        let combined = self.combine(combine, values, &old, false)?;
        for (&array, value) in arrays.iter().zip(combined) {
            let address = self.element(array, target)?;
            self.store_to("relaxed.gpu.global", address, 0, value);
        }
        self.c.assign(fails, fusebox_ir::Constant::from(false).into());
        self.c.place(give_back);
        self.exit = exit;
        self.c.op(format_args!("atom.release.gpu.global.exch.b32 {before}, [{lock}], 0"));
        self.c.op(format_args!("@{fails} bra {exit}"));
        self.c.place(behind);
        Ok(())
    }
}
