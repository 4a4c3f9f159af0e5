//! What vectors have no instructions for, lane by lane through memory of the stack.

use fusebox_ir::{Binary, ElementType};
use fusebox_vector::{Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select};
use crate::machine::{Address, Arg, Inst as Made};

impl Select<'_> {
    /// Puts registers into the function's memory.
    pub(super) fn put(&mut self, at: i64, registers: &[VReg]) {
        for (position, &register) in registers.iter().enumerate() {
            let place = Arg::Mem(Self::framed(at + self.nth(position)));
            self.m.push(Made::new().then(C::EVEX_Vmovdqu64_zmmm512_k1z_zmm, &[place, Arg::Use(register)]).kept());
        }
    }

    pub(super) fn get(&mut self, at: i64, ty: Type) -> Registers {
        let count = self.registers(ty.lanes, ty.element.bytes() as u32);
        let registers = (0..count)
            .map(|position| {
                let out = self.m.fresh(crate::machine::WIDE);
                let place = Arg::Mem(Self::framed(at + self.nth(position)));
                // It stays where it is: what is read is written over.
                self.m.push(Made::new().then(C::EVEX_Vmovdqu64_zmm_k1z_zmmm512, &[Arg::Def(out), place]).kept());
                out
            })
            .collect();
        self.loaded(ty, registers)
    }

    /// An element of the function's memory; the load stays where it is.
    pub(super) fn take(&mut self, element: ElementType, at: i64) -> VReg {
        let one = self.load_one(element, Self::framed(at));
        if let Some(&block) = self.m.order.last()
            && let Some(inst) = self.m.blocks[block.0].insts.last_mut()
        {
            inst.pure = false;
        }
        one
    }

    /// A function of integers.
    pub(super) fn by_lanes(&mut self, function: Binary, a: Value, b: Value) -> Outcome<Registers> {
        let (ty, amount) = (self.ty(a), self.ty(b));
        if !ty.element.is_integer() {
            return self.lacks(&format!("{} of {}", function.text(), ty.element));
        }
        let left = self.gang(a)?;
        let right = if amount.lanes > 1 { self.gang(b)? } else { Vec::new() };
        let bytes = (ty.element.bytes(), amount.element.bytes());
        let second = left.len() as i64 * 64;
        let out = second + right.len() as i64 * 64;
        self.m.room(out as usize + left.len() * 64);
        let uniform = if amount.lanes == 1 { Some(self.one(b)?) } else { None };
        self.put(0, &left);
        self.put(second, &right);
        for lane in 0..i64::from(ty.lanes) {
            let x = self.take(ty.element, lane * bytes.0 as i64);
            let y = match uniform {
                Some(one) => one,
                None => self.take(amount.element, second + lane * bytes.1 as i64),
            };
            let z = self.binary_int(function, ty.element, x, y, self.constant_of(b))?;
            self.store_one(ty.element, Self::framed(out + lane * bytes.0 as i64), z);
        }
        Ok(self.get(out, ty))
    }

    pub(super) fn gather_by_lanes(&mut self, ty: Type, base: Address, index: &[VReg]) -> Outcome<Registers> {
        let bytes = ty.element.bytes() as u32;
        let out = index.len() as i64 * 64;
        self.m.room(out as usize + self.registers(ty.lanes, bytes).max(1) * 64);
        self.put(0, index);
        if bytes >= 4 {
            let places = (0..i64::from(ty.lanes)).map(|lane| {
                let at = self.take(ElementType::I64, lane * 8);
                Address { index: Some(at), scale: bytes, ..base }
            });
            let places: Vec<Address> = places.collect();
            return Ok(Registers::Gang(self.lanes_from(bytes, &places)));
        }
        for lane in 0..i64::from(ty.lanes) {
            let at = self.take(ElementType::I64, lane * 8);
            let one = self.load_one(ty.element, Address { index: Some(at), scale: bytes, ..base });
            self.store_one(ty.element, Self::framed(out + lane * i64::from(bytes)), one);
        }
        Ok(self.get(out, ty))
    }

    pub(super) fn strided_by_lanes(&mut self, ty: Type, start: VReg, stride: VReg) -> Outcome<Registers> {
        let bytes = ty.element.bytes() as u32;
        self.m.room(self.registers(ty.lanes, bytes).max(1) * 64);
        let mut at = start;
        if bytes >= 4 {
            let mut places = vec![Address::at(at, 0)];
            for _ in 1..ty.lanes {
                let next = Address { index: Some(stride), scale: bytes, ..Address::at(at, 0) };
                at = self.i(C::Lea_r64_m, &[Arg::Mem(next)]);
                places.push(Address::at(at, 0));
            }
            return Ok(Registers::Gang(self.lanes_from(bytes, &places)));
        }
        for lane in 0..i64::from(ty.lanes) {
            if lane > 0 {
                let next = Address { index: Some(stride), scale: bytes, ..Address::at(at, 0) };
                at = self.i(C::Lea_r64_m, &[Arg::Mem(next)]);
            }
            let one = self.load_one(ty.element, Address::at(at, 0));
            self.store_one(ty.element, Self::framed(lane * i64::from(bytes)), one);
        }
        Ok(self.get(0, ty))
    }

    pub(super) fn scatter_by_lanes(
        &mut self,
        base: VReg,
        index: &[VReg],
        ty: Type,
        registers: &[VReg],
        mask: Option<Value>,
    ) -> Outcome<()> {
        let bytes = ty.element.bytes() as u32;
        let values = index.len() as i64 * 64;
        self.m.room(values as usize + registers.len() * 64);
        let word = mask.map(|mask| self.mask_word(mask)).transpose()?;
        self.put(0, index);
        self.put(values, registers);
        for lane in 0..ty.lanes {
            let after = word.map(|word| {
                let [inside, skip, after] = [(); 3].map(|()| self.m.block());
                self.branch_on_bit(word, lane, inside, skip);
                self.m.fill(skip);
                self.m.jump(after, Vec::new());
                self.m.fill(inside);
                after
            });
            let at = self.take(ElementType::I64, i64::from(lane) * 8);
            let one = self.take(ty.element, values + i64::from(lane * bytes));
            self.store_one(ty.element, Address { index: Some(at), scale: bytes, ..Address::at(base, 0) }, one);
            if let Some(after) = after {
                self.m.jump(after, Vec::new());
                self.m.fill(after);
            }
        }
        Ok(())
    }
}
