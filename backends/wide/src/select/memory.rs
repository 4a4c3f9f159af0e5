//! Loads and stores.

use fusebox_ir::{Binary, ElementType};
use fusebox_vector::{Memory, Op, Type, Value};
use iced_x86::Code as C;
use regalloc2::{Operand, VReg};

use super::{Outcome, Registers, Select, codes, extended};
use crate::machine::{Address, Arg, Base, Cond, Inst as Made, WIDE};

impl Select<'_> {
    /// Where an element is: of an index that is a sum with a number, that is part of the address.
    pub(super) fn address(&mut self, base: Value, index: Value, offset: i64, bytes: u32) -> Outcome<Address> {
        // Displacements have 32 bits.
        let near = |sum: &i64| (-1 << 24..1 << 24).contains(sum);
        if !near(&offset) {
            return self.lacks("an element far from its index");
        }
        let mut index = index;
        let mut offset = offset;
        for _ in 0..8 {
            let Some(Op::Binary(Binary::Add, a, b)) = self.defs[index.0 as usize] else { break };
            if self.ty(index).element != ElementType::I64 {
                break;
            }
            let (a, b) = (*a, *b);
            let (rest, known) = match (self.constant_of(a), self.constant_of(b)) {
                (_, Some(known)) => (a, known),
                (Some(known), _) => (b, known),
                _ => break,
            };
            let Some(sum) = offset.checked_add(extended(known)).filter(near) else { break };
            offset = sum;
            index = rest;
        }
        let base = self.one(base)?;
        if let Some(known) = self.constant_of(index)
            && let Some(sum) = offset.checked_add(extended(known)).filter(near)
        {
            return Ok(Address::at(base, sum * i64::from(bytes)));
        }
        let index = self.one(index)?;
        Ok(Address { index: Some(index), scale: bytes, offset: offset * i64::from(bytes), ..Address::at(base, 0) })
    }

    pub(super) fn load_one(&mut self, element: ElementType, address: Address) -> VReg {
        let at = [Arg::Mem(address)];
        match element {
            ElementType::F32 => self.w(C::EVEX_Vmovss_xmm_k1z_m32, &at),
            ElementType::F64 => self.w(C::EVEX_Vmovsd_xmm_k1z_m64, &at),
            ElementType::I8 => self.i(C::Movsx_r64_rm8, &at),
            ElementType::U8 | ElementType::Bool => self.i(C::Movzx_r32_rm8, &at),
            ElementType::I16 => self.i(C::Movsx_r64_rm16, &at),
            ElementType::U16 | ElementType::F16 => self.i(C::Movzx_r32_rm16, &at),
            ElementType::I32 => self.i(C::Movsxd_r64_rm32, &at),
            ElementType::U32 => self.i(C::Mov_r32_rm32, &at),
            ElementType::I64 | ElementType::U64 => self.i(C::Mov_r64_rm64, &at),
        }
    }

    /// So many bytes of neighbouring lanes into one register, the rest of which is 0.
    fn load_part(&mut self, address: Address, bytes: u32) -> VReg {
        let at = [Arg::Mem(address)];
        match bytes {
            _ if bytes >= self.bytes => self.w(C::EVEX_Vmovdqu64_zmm_k1z_zmmm512, &at),
            32 => self.w(C::EVEX_Vmovdqu64_ymm_k1z_ymmm256, &at),
            16 => self.w(C::EVEX_Vmovdqu64_xmm_k1z_xmmm128, &at),
            8 => self.w(C::EVEX_Vmovq_xmm_xmmm64, &at),
            4 => self.w(C::EVEX_Vmovd_xmm_rm32, &at),
            _ => {
                let one = self.load_one(if bytes == 2 { ElementType::U16 } else { ElementType::U8 }, address);
                self.w(C::EVEX_Vmovd_xmm_rm32, &[Arg::Use(one)])
            }
        }
    }

    pub(super) fn load_gang(&mut self, ty: Type, address: Address) -> Registers {
        let bytes = ty.lanes * ty.element.bytes() as u32;
        let count = self.registers(ty.lanes, ty.element.bytes() as u32);
        let registers = (0..count).map(|register| self.load_part(address.plus(self.nth(register)), bytes)).collect();
        self.loaded(ty, registers)
    }

    pub(super) fn loaded(&mut self, ty: Type, registers: Vec<VReg>) -> Registers {
        if ty.element == ElementType::Bool { self.mask_of_bytes(&registers) } else { Registers::Gang(registers) }
    }

    pub(super) fn load(&mut self, ty: Type, base: Value, index: Value, offset: i64) -> Outcome<Registers> {
        let bytes = ty.element.bytes() as u32;
        if self.ty(index).lanes > 1 {
            if i32::try_from(offset * i64::from(bytes)).is_err() {
                return self.lacks("an element far from its index");
            }
            let base = self.one(base)?;
            let index = self.gang(index)?;
            return self.gather(ty, Address::at(base, offset * i64::from(bytes)), &index);
        }
        let address = self.address(base, index, offset, bytes)?;
        Ok(if ty.lanes == 1 { Registers::One(self.load_one(ty.element, address)) } else { self.load_gang(ty, address) })
    }

    /// Neighbouring lanes, of which the mask says those that are read: of the others no memory is touched.
    pub(super) fn load_masked(&mut self, ty: Type, base: Value, index: Value, mask: Value) -> Outcome<Registers> {
        let bytes = ty.element.bytes() as u32;
        let address = self.address(base, index, 0, bytes)?;
        if !self.features.avx512 {
            return self.load_of_ones(address, ty, mask);
        }
        let masks = self.exact_mask(mask, bytes)?;
        let registers = masks.into_iter().enumerate();
        let registers = registers.map(|(position, mask)| {
            let at = address.plus(self.nth(position));
            self.zeroed(codes::masked_load(bytes as usize), mask, &[Arg::Mem(at)])
        });
        let registers = registers.collect();
        Ok(self.loaded(ty, registers))
    }

    /// What is loaded under a mask, and where that does not hold `b`: one instruction, where nobody else has what is loaded.
    pub(super) fn load_over(&mut self, condition: Value, a: Value, b: Value) -> Outcome<Option<Registers>> {
        let Some(&Op::LoadMasked { base, index, mask, memory, .. }) = self.defs[a.0 as usize] else { return Ok(None) };
        // It is loaded a little later here.
        if mask != condition || self.uses[a.0 as usize] != 1 || memory == Memory::Shared || !self.features.avx512 {
            return Ok(None);
        }
        let bytes = self.ty(a).element.bytes() as u32;
        let address = self.address(base, index, 0, bytes)?;
        let mut all = Vec::new();
        for (position, mask) in self.exact_mask(mask, bytes)?.into_iter().enumerate() {
            let at = address.plus(self.nth(position));
            let other = self.reg(b, position)?;
            all.push(self.merged(codes::masked_load(bytes as usize), mask, other, &[Arg::Mem(at)]));
        }
        Ok(Some(Registers::Gang(all)))
    }

    pub(super) fn load_strided(&mut self, ty: Type, base: Value, index: Value, stride: Value) -> Outcome<Registers> {
        if ty.lanes == 1 {
            return self.load(ty, base, index, 0);
        }
        let bytes = ty.element.bytes() as u32;
        let start = self.address(base, index, 0, bytes)?;
        let start = self.i(C::Lea_r64_m, &[Arg::Mem(start)]);
        let stride = self.one(stride)?;
        // The lanes of 16 bytes take less one by one than a gather and the positions that it wants.
        if bytes < 4 || !self.features.avx512 || ty.lanes * bytes <= 16 {
            return self.strided_by_lanes(ty, start, stride);
        }
        let steps = self.spread_int(8, stride);
        let mut index = Vec::new();
        for register in 0..self.registers(ty.lanes, 8).max(1) {
            let numbers: Vec<u8> = (0..8u64).flat_map(|lane| (register as u64 * 8 + lane).to_le_bytes()).collect();
            let numbers = Arg::Mem(self.m.constant(&numbers));
            index.push(self.w(C::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64, &[Arg::Use(steps), numbers]));
        }
        self.gather(ty, Address::at(start, 0), &index)
    }

    /// Lanes at positions of their own, eight at a time.
    fn gather(&mut self, ty: Type, base: Address, index: &[VReg]) -> Outcome<Registers> {
        let bytes = ty.element.bytes() as u32;
        if bytes < 4 || !self.features.avx512 {
            return self.gather_by_lanes(ty, base, index);
        }
        // Half as many positions take half as long.
        let code = match (bytes, ty.lanes) {
            (4, ..=4) => C::EVEX_Vpgatherqd_xmm_k1_vm64y,
            (4, _) => C::EVEX_Vpgatherqd_ymm_k1_vm64z,
            (_, ..=4) => C::EVEX_Vpgatherqq_ymm_k1_vm64y,
            _ => C::EVEX_Vpgatherqq_zmm_k1_vm64z,
        };
        let mut groups = Vec::new();
        for &index in index {
            // Lanes beyond the last have no position.
            let mask = self.mask_bits((1 << ty.lanes.min(8)) - 1, 8);
            let used = self.m.fresh(crate::machine::MASK);
            let out = self.m.fresh(WIDE);
            let mut inst = Made::new();
            inst.operands.push(Operand::reg_use(mask));
            inst.operands.push(Operand::reg_reuse_def(used, 0));
            let place = Address { index: Some(index), scale: bytes, ..base };
            let zero = [Arg::Early(out), Arg::Use(out), Arg::Use(out)];
            let inst = inst
                .then(C::EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32, &zero)
                .then(code, &[Arg::Early(out), Arg::Mem(place)])
                .masked(used, false);
            self.m.push(inst);
            groups.push(out);
        }
        let registers = if bytes == 8 { groups } else { groups.chunks(2).map(|pair| self.together(pair, 2)).collect() };
        Ok(Registers::Gang(registers))
    }

    /// A value's registers as they lie in memory: masks as bytes of 0 and 1.
    pub(super) fn storable(&mut self, value: Value) -> Outcome<Vec<VReg>> {
        if self.ty(value).element == ElementType::Bool { self.mask_bytes(value) } else { self.gang(value) }
    }

    pub(super) fn store_one(&mut self, element: ElementType, address: Address, value: VReg) {
        let code = match element {
            ElementType::F32 => C::EVEX_Vmovss_m32_k1_xmm,
            ElementType::F64 => C::EVEX_Vmovsd_m64_k1_xmm,
            _ => match element.bytes() {
                1 => C::Mov_rm8_r8,
                2 => C::Mov_rm16_r16,
                4 => C::Mov_rm32_r32,
                _ => C::Mov_rm64_r64,
            },
        };
        self.m.push(Made::new().then(code, &[Arg::Mem(address), Arg::Use(value)]).kept());
    }

    pub(super) fn store_part(&mut self, address: Address, value: VReg, bytes: u32) {
        let code = match bytes {
            _ if bytes >= self.bytes => C::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
            32 => C::EVEX_Vmovdqu64_ymmm256_k1z_ymm,
            16 => C::EVEX_Vmovdqu64_xmmm128_k1z_xmm,
            8 => C::EVEX_Vmovq_xmmm64_xmm,
            4 => C::EVEX_Vmovd_rm32_xmm,
            _ => {
                let low = self.i(C::EVEX_Vmovd_rm32_xmm, &[Arg::Use(value)]);
                return self.store_one(if bytes == 2 { ElementType::U16 } else { ElementType::U8 }, address, low);
            }
        };
        self.m.push(Made::new().then(code, &[Arg::Mem(address), Arg::Use(value)]).kept());
    }

    pub(super) fn store(
        &mut self,
        base: Value,
        index: Value,
        value: Value,
        mask: Option<Value>,
        streaming: bool,
    ) -> Outcome<()> {
        let Some(uniform) = mask.filter(|&mask| self.ty(mask).lanes == 1) else {
            return self.store_lanes(base, index, value, mask, streaming);
        };
        let [inside, skip, after] = [(); 3].map(|()| self.m.block());
        let test = self.test(uniform)?;
        let holds = self.flags(test);
        self.m.branch(holds, inside, skip);
        self.m.fill(inside);
        self.store_lanes(base, index, value, None, streaming)?;
        self.m.jump(after, Vec::new());
        self.m.fill(skip);
        self.m.jump(after, Vec::new());
        self.m.fill(after);
        Ok(())
    }

    fn store_lanes(
        &mut self,
        base: Value,
        index: Value,
        value: Value,
        mask: Option<Value>,
        streaming: bool,
    ) -> Outcome<()> {
        let ty = self.ty(value);
        let width = ty.element.bytes() as u32;
        if ty.lanes == 1 {
            let address = self.address(base, index, 0, width)?;
            let one = self.one(value)?;
            self.store_one(ty.element, address, one);
            return Ok(());
        }
        let registers = self.storable(value)?;
        if self.ty(index).lanes > 1 {
            return self.scatter(base, index, ty, &registers, mask);
        }
        let address = self.address(base, index, 0, width)?;
        let bytes = ty.lanes * width;
        if let Some(mask) = mask
            && !self.features.avx512
        {
            return self.store_of_ones(address, ty, &registers, mask);
        }
        let masks = mask.map(|mask| self.exact_mask(mask, width)).transpose()?;
        for (position, &register) in registers.iter().enumerate() {
            let at = address.plus(self.nth(position));
            if let Some(masks) = &masks {
                let inst = Made::new()
                    .then(codes::masked_store(ty.element.bytes()), &[Arg::Mem(at), Arg::Use(register)])
                    .masked(masks[position], false)
                    .kept();
                self.m.push(inst);
            } else if streaming && bytes >= 16 {
                let code = match bytes {
                    16 => C::EVEX_Vmovntps_m128_xmm,
                    32 => C::EVEX_Vmovntps_m256_ymm,
                    _ => C::EVEX_Vmovntps_m512_zmm,
                };
                self.m.push(Made::new().then(code, &[Arg::Mem(at), Arg::Use(register)]).kept());
            } else {
                self.store_part(at, register, bytes);
            }
        }
        Ok(())
    }

    /// Lanes in order, each to its own position.
    fn scatter(&mut self, base: Value, index: Value, ty: Type, registers: &[VReg], mask: Option<Value>) -> Outcome<()> {
        let base = self.one(base)?;
        let index = self.gang(index)?;
        let bytes = ty.element.bytes() as u32;
        if bytes < 4 || !self.features.avx512 {
            return self.scatter_by_lanes(base, &index, ty, registers, mask);
        }
        let masks = mask.map(|mask| self.exact_mask(mask, 8)).transpose()?;
        let code = if bytes == 4 { C::EVEX_Vpscatterqd_vm64z_k1_ymm } else { C::EVEX_Vpscatterqq_vm64z_k1_zmm };
        for (position, &index) in index.iter().enumerate() {
            let value =
                if bytes == 4 { self.part(registers[position / 2], position % 2, 2) } else { registers[position] };
            let mask = match &masks {
                Some(masks) => masks[position],
                None => self.mask_bits((1 << ty.lanes.min(8)) - 1, 8),
            };
            let used = self.m.fresh(crate::machine::MASK);
            let mut inst = Made::new();
            inst.operands.push(Operand::reg_use(mask));
            inst.operands.push(Operand::reg_reuse_def(used, 0));
            let place = Address { index: Some(index), scale: bytes, ..Address::at(base, 0) };
            self.m.push(inst.then(code, &[Arg::Mem(place), Arg::Use(value)]).masked(used, false).kept());
        }
        Ok(())
    }

    /// The function's own memory, bytes from its beginning.
    pub(super) fn framed(offset: i64) -> Address {
        Address { base: Base::Frame, index: None, scale: 1, offset, broadcast: false }
    }

    /// Goes on in `inside` where a bit of a word is set, and in the second block else.
    pub(super) fn branch_on_bit(
        &mut self,
        word: VReg,
        bit: u32,
        inside: crate::machine::BlockId,
        skip: crate::machine::BlockId,
    ) {
        let test = Made::new().then(C::Bt_rm64_imm8, &[Arg::Use(word), Arg::Imm(bit.into())]).kept();
        self.m.push(test);
        // The carry flag is the bit.
        self.m.branch(Cond::Below, inside, skip);
    }
}
