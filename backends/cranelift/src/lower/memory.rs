//! Loads and stores of uniform values, gangs and masks.

use cranelift_codegen::ir::{BlockArg, InstBuilder, MemFlagsData, SourceLoc, Value as Clif, condcodes::IntCC, types};
use fusebox_ir::{ElementType, bug};

use super::{Lower, Registers, int_vector, patch::Wanted, scalar_type, vector_type};
use crate::vector::{Memory, Type, Value};

fn flags(memory: Memory) -> MemFlagsData {
    let flags = MemFlagsData::new().with_notrap();
    match memory {
        Memory::Input => flags.with_readonly().with_can_move(),
        Memory::Guarded => flags.with_readonly(),
        Memory::Shared => flags,
    }
}

impl Lower<'_> {
    fn address(&mut self, base: Clif, index: Clif, element: ElementType) -> Clif {
        let shift = i64::from(element.bytes().trailing_zeros());
        let bytes = if shift == 0 { index } else { self.b.ins().ishl_imm_u(index, shift) };
        self.b.ins().iadd(base, bytes)
    }

    pub(super) fn load(&mut self, ty: Type, base: Value, index: Value, offset: i64, memory: Memory) -> Registers {
        let base = self.one(base);
        let offset = offset as i32 * ty.element.bytes() as i32;
        let registers = self.registers_of(index);
        if ty.lanes == 1 {
            let index = self.one(index);
            let address = self.address(base, index, ty.element);
            return Registers::One(self.b.ins().load(scalar_type(ty.element), flags(memory), address, offset));
        }
        if let Registers::Gang(_) = registers {
            let lanes = (0..ty.lanes)
                .map(|lane| {
                    let index = self.extract(&registers, lane);
                    let address = self.address(base, index, ty.element);
                    self.b.ins().load(scalar_type(ty.element), flags(memory), address, offset)
                })
                .collect();
            return self.gang_of(ty, lanes);
        }
        let index = self.one(index);
        let address = self.address(base, index, ty.element);
        let bytes = ty.lanes * ty.element.bytes() as u32;
        let vector = vector_type(ty.element);
        let registers: Vec<Clif> = if bytes >= 16 {
            (0..bytes / 16)
                .map(|register| self.b.ins().load(vector, flags(memory), address, offset + register as i32 * 16))
                .collect()
        } else {
            let short = match bytes {
                8 => types::I64,
                4 => types::I32,
                2 => types::I16,
                _ => types::I8,
            };
            let part = self.b.ins().load(short, flags(memory), address, offset);
            let part = if bytes < 4 { self.b.ins().uextend(types::I32, part) } else { part };
            let holder = int_vector(bytes.max(4));
            let register = self.b.ins().scalar_to_vector(holder, part);
            vec![self.reinterpret(vector, register)]
        };
        self.loaded(ty, registers)
    }

    /// Bytes of 0 and 1 become masks.
    fn loaded(&mut self, ty: Type, registers: Vec<Clif>) -> Registers {
        if ty.element == ElementType::Bool {
            Registers::Mask(1, registers.into_iter().map(|register| self.b.ins().ineg(register)).collect())
        } else {
            Registers::Gang(registers)
        }
    }

    pub(super) fn gang_of(&mut self, ty: Type, lanes: Vec<Clif>) -> Registers {
        let vector = vector_type(ty.element);
        let per = vector.lane_count() as usize;
        let registers = lanes
            .chunks(per)
            .map(|lanes| {
                let mut register = self.first_lane(vector, lanes[0]);
                for (lane, &value) in lanes.iter().enumerate().skip(1) {
                    register = self.b.ins().insertlane(register, value, lane as u8);
                }
                register
            })
            .collect();
        self.loaded(ty, registers)
    }

    /// A register whose first lane is this value; the others are anything.
    fn first_lane(&mut self, vector: cranelift_codegen::ir::Type, value: Clif) -> Clif {
        if vector.lane_bits() >= 32 {
            return self.b.ins().scalar_to_vector(vector, value);
        }
        // Narrow values have no way into a vector register of their own.
        let wide = self.b.ins().uextend(types::I32, value);
        let register = self.b.ins().scalar_to_vector(types::I32X4, wide);
        self.reinterpret(vector, register)
    }

    pub(super) fn load_strided(
        &mut self,
        ty: Type,
        base: Value,
        index: Value,
        stride: Value,
        memory: Memory,
    ) -> Registers {
        let (base, index, stride) = (self.one(base), self.one(index), self.one(stride));
        let mut address = self.address(base, index, ty.element);
        let shift = i64::from(ty.element.bytes().trailing_zeros());
        let step = self.b.ins().ishl_imm_u(stride, shift);
        let mut lanes = Vec::new();
        for lane in 0..ty.lanes {
            if lane > 0 {
                address = self.b.ins().iadd(address, step);
            }
            lanes.push(self.b.ins().load(scalar_type(ty.element), flags(memory), address, 0));
        }
        self.gang_of(ty, lanes)
    }

    /// Neighbouring lanes, one by one: those that are not wanted read another element, and are 0.
    pub(super) fn load_masked(
        &mut self,
        ty: Type,
        (base, index): (Value, Value),
        mask: Value,
        elsewhere: Value,
        memory: Memory,
    ) -> Registers {
        let mask = self.registers_of(mask);
        let (base, index, elsewhere) = (self.one(base), self.one(index), self.one(elsewhere));
        let (address, other) = (self.address(base, index, ty.element), self.address(base, elsewhere, ty.element));
        let scalar = scalar_type(ty.element);
        let nothing = match scalar {
            types::F32 => self.b.ins().f32const(0.0),
            types::F64 => self.b.ins().f64const(0.0),
            _ => self.b.ins().iconst(scalar, 0),
        };
        let lanes = (0..ty.lanes).map(|lane| {
            let own = self.b.ins().iadd_imm_s(address, i64::from(lane) * ty.element.bytes() as i64);
            let wanted = self.extract(&mask, lane);
            let at = self.b.ins().select(wanted, own, other);
            let loaded = self.b.ins().load(scalar, flags(memory), at, 0);
            self.b.ins().select(wanted, loaded, nothing)
        });
        let lanes = lanes.collect();
        self.gang_of(ty, lanes)
    }

    /// A value as it lies in memory: masks as bytes of 0 and 1.
    fn storable(&mut self, value: Value) -> Registers {
        if let Registers::Mask(..) = self.registers_of(value) {
            let registers = self.mask(value, 1);
            Registers::Gang(registers.into_iter().map(|register| self.b.ins().ineg(register)).collect())
        } else {
            self.registers_of(value)
        }
    }

    pub(super) fn store(&mut self, base: Value, index: Value, value: Value, mask: Option<Value>, streaming: bool) {
        if streaming {
            return self.store_streaming(base, index, value);
        }
        let ty = self.ty(value);
        let base = self.one(base);
        let uniform_mask = mask.filter(|&mask| self.ty(mask).lanes == 1);
        if let Some(mask) = uniform_mask {
            let condition = self.one(mask);
            let (inside, after) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(condition, inside, &[], after, &[]);
            self.b.switch_to_block(inside);
            self.store_lanes(ty, base, index, value, None);
            self.b.ins().jump(after, &[] as &[BlockArg]);
            self.b.switch_to_block(after);
        } else {
            self.store_lanes(ty, base, index, value, mask);
        }
    }

    fn store_streaming(&mut self, base: Value, index: Value, value: Value) {
        let ty = self.ty(value);
        let (base, index) = (self.one(base), self.one(index));
        let address = self.address(base, index, ty.element);
        let Registers::Gang(registers) = self.storable(value) else { bug!(self.function, "{value} should be a gang") };
        for (position, register) in registers.into_iter().enumerate() {
            let register = self.reinterpret(types::F32X4, register);
            let location = self.patches.add(Wanted::StreamingStore);
            self.b.set_srcloc(location);
            self.b.ins().store(flags(Memory::Shared), register, address, position as i32 * 16);
            self.b.set_srcloc(SourceLoc::default());
        }
    }

    /// What was stored past the caches is there for other threads from here on.
    pub(super) fn fence(&mut self) {
        if self.streams {
            self.b.ins().fence();
        }
    }

    pub(super) fn prefetch(&mut self, base: Value, index: Value, element: ElementType, bytes: i64) {
        if !self.features.streaming {
            return;
        }
        let (base, index) = (self.one(base), self.one(index));
        let address = self.address(base, index, element);
        let location = self.patches.add(Wanted::Prefetch);
        self.b.set_srcloc(location);
        // It may fail, for all that the code generator knows, and so stays although nobody uses it.
        self.b.ins().uload8(types::I32, MemFlagsData::new(), address, bytes as i32);
        self.b.set_srcloc(SourceLoc::default());
    }

    fn store_lanes(&mut self, ty: Type, base: Clif, index: Value, value: Value, mask: Option<Value>) {
        let flags = flags(Memory::Shared);
        if ty.lanes == 1 {
            let (index, value) = (self.one(index), self.one(value));
            let address = self.address(base, index, ty.element);
            self.b.ins().store(flags, value, address, 0);
            return;
        }
        let stored = self.storable(value);
        let at = self.registers_of(index);
        if let (None, Registers::One(index), Registers::Gang(registers)) = (mask, &at, &stored) {
            let address = self.address(base, *index, ty.element);
            let bytes = ty.lanes * ty.element.bytes() as u32;
            if bytes >= 16 {
                for (position, &register) in registers.iter().enumerate() {
                    self.b.ins().store(flags, register, address, position as i32 * 16);
                }
            } else {
                let whole = self.reinterpret(int_vector(bytes.max(1)), registers[0]);
                let part = self.b.ins().extractlane(whole, 0);
                self.b.ins().store(flags, part, address, 0);
            }
            return;
        }
        let mask = mask.map(|mask| self.registers_of(mask));
        for lane in 0..ty.lanes {
            let after = mask.as_ref().map(|mask| {
                let condition = self.extract(mask, lane);
                let (inside, after) = (self.b.create_block(), self.b.create_block());
                self.b.ins().brif(condition, inside, &[], after, &[]);
                self.b.switch_to_block(inside);
                after
            });
            let one = self.extract(&stored, lane);
            let address = if let Registers::One(index) = at {
                let first = self.address(base, index, ty.element);
                self.b.ins().iadd_imm_s(first, i64::from(lane) * ty.element.bytes() as i64)
            } else {
                let index = self.extract(&at, lane);
                self.address(base, index, ty.element)
            };
            self.b.ins().store(flags, one, address, 0);
            if let Some(after) = after {
                self.b.ins().jump(after, &[] as &[BlockArg]);
                self.b.switch_to_block(after);
            }
        }
    }

    /// Lanes one after the other, without a branch: what is not kept goes to the spare place.
    pub(super) fn append(
        &mut self,
        bases: &[Value],
        count: Value,
        values: &[Value],
        mask: Option<Value>,
        spare: Value,
    ) -> Clif {
        let mut count = self.one(count);
        let spare = self.one(spare);
        let lanes = values.first().map_or(1, |&value| self.ty(value).lanes);
        let sources: Vec<(Clif, ElementType, Registers)> = bases
            .iter()
            .zip(values)
            .map(|(&base, &value)| {
                let base = self.one(base);
                (base, self.ty(value).element, self.storable(value))
            })
            .collect();
        let mask = mask.map(|mask| self.registers_of(mask));
        for lane in 0..lanes {
            let kept = mask.as_ref().map(|mask| self.extract(mask, lane));
            for (base, element, value) in &sources {
                let one = self.extract(value, lane);
                let mut address = self.address(*base, count, *element);
                if let Some(kept) = kept {
                    address = self.b.ins().select(kept, address, spare);
                }
                self.b.ins().store(flags(Memory::Shared), one, address, 0);
            }
            count = match kept {
                None => self.b.ins().iadd_imm_s(count, 1),
                Some(kept) => {
                    let step = self.b.ins().uextend(types::I64, kept);
                    self.b.ins().iadd(count, step)
                }
            };
        }
        count
    }

    /// One lane of a gang, or of a mask as 0 or 1; uniform values are themselves.
    pub(super) fn extract(&mut self, registers: &Registers, lane: u32) -> Clif {
        match registers {
            Registers::One(one) => *one,
            Registers::Gang(registers) => {
                let per = self.b.func.dfg.value_type(registers[0]).lane_count();
                self.b.ins().extractlane(registers[(lane / per) as usize], (lane % per) as u8)
            }
            Registers::Mask(bytes, registers) => {
                let per = 16 / bytes;
                let one = self.b.ins().extractlane(registers[(lane / per) as usize], (lane % per) as u8);
                self.b.ins().icmp_imm_s(IntCC::NotEqual, one, 0)
            }
        }
    }

    pub(super) fn insert(&mut self, registers: Registers, lane: u32, new: Clif) -> Registers {
        match registers {
            Registers::One(_) => Registers::One(new),
            Registers::Gang(mut registers) => {
                let per = self.b.func.dfg.value_type(registers[0]).lane_count();
                let register = &mut registers[(lane / per) as usize];
                *register = self.b.ins().insertlane(*register, new, (lane % per) as u8);
                Registers::Gang(registers)
            }
            Registers::Mask(bytes, mut registers) => {
                let per = 16 / bytes;
                let lane_type = int_vector(bytes).lane_type();
                let wide = if bytes == 1 { new } else { self.b.ins().uextend(lane_type, new) };
                let ones = self.b.ins().ineg(wide);
                let register = &mut registers[(lane / per) as usize];
                *register = self.b.ins().insertlane(*register, ones, (lane % per) as u8);
                Registers::Mask(bytes, registers)
            }
        }
    }

    /// Whether a mask holds in any lane; a uniform `bool` is itself.
    pub(super) fn any(&mut self, mask: Value) -> Clif {
        let lanes = self.ty(mask).lanes;
        match self.registers_of(mask) {
            Registers::One(one) => one,
            Registers::Gang(_) => bug!(self.function, "{mask} should be a mask"),
            Registers::Mask(bytes, registers) => {
                let mut all = registers[0];
                for &register in &registers[1..] {
                    all = self.b.ins().bor(all, register);
                }
                if lanes * bytes < 16 {
                    // Lanes beyond the last hold anything.
                    let low: Vec<u8> = (0..16).map(|byte| if byte < lanes * bytes { 0xff } else { 0 }).collect();
                    let low = self.vector_constant(int_vector(bytes), low);
                    all = self.b.ins().band(all, low);
                }
                self.b.ins().vany_true(all)
            }
        }
    }

    pub(super) fn vector_constant(&mut self, ty: cranelift_codegen::ir::Type, bytes: Vec<u8>) -> Clif {
        let handle = self.b.func.dfg.constants.insert(bytes.into());
        self.b.ins().vconst(ty, handle)
    }
}
