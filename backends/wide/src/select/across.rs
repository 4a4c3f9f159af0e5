//! What moves between lanes: one value to all of them, single lanes, and all lanes up by some.

use fusebox_ir::ElementType;
use fusebox_vector::{Op, Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select, codes};
use crate::machine::Arg;

impl Select<'_> {
    pub(super) fn splat(&mut self, value: Value, ty: Type) -> Outcome<Registers> {
        if ty.element == ElementType::Bool {
            return self.splat_mask(value, ty);
        }
        if let Some(constant) = self.constant_of(value) {
            // As a gang it is made where it is needed, like others.
            let bits = constant.bits().to_le_bytes();
            let bytes: Vec<u8> = (0..self.bytes as usize).map(|byte| bits[byte % ty.element.bytes()]).collect();
            let at = self.m.constant(&bytes);
            let register = self.w(C::EVEX_Vmovdqu64_zmm_k1z_zmmm512, &[Arg::Mem(at)]);
            let count = self.registers(ty.lanes, ty.element.bytes() as u32);
            return Ok(Registers::Gang(vec![register; count]));
        }
        let loaded = match self.defs[value.0 as usize] {
            Some(Op::Load { base, index, offset, memory })
                if *memory != fusebox_vector::Memory::Shared && ty.element.bytes() >= 4 =>
            {
                Some((*base, *index, *offset))
            }
            _ => None,
        };
        let count = self.registers(ty.lanes, ty.element.bytes() as u32);
        let vector = if ty.element.bytes() == 4 {
            C::EVEX_Vbroadcastss_zmm_k1z_xmmm32
        } else {
            C::EVEX_Vbroadcastsd_zmm_k1z_xmmm64
        };
        let lane = match self.defs[value.0 as usize] {
            Some(Op::Extract(gang, lane)) if ty.element.bytes() >= 4 => Some((*gang, *lane)),
            _ => None,
        };
        let register = if let Some((gang, lane)) = lane {
            self.lane_in_all(ty.element, gang, lane)?
        } else if let Some((base, index, offset)) = loaded {
            let address = self.address(base, index, offset, ty.element.bytes() as u32)?;
            self.w(vector, &[Arg::Mem(address)])
        } else if matches!(ty.element, ElementType::F32 | ElementType::F64) {
            let one = self.one(value)?;
            self.w(vector, &[Arg::Any(one)])
        } else {
            let one = self.one(value)?;
            self.spread_int(ty.element.bytes(), one)
        };
        Ok(Registers::Gang(vec![register; count]))
    }

    /// A lane of a gang of lanes of at least 4 bytes, in all lanes.
    fn lane_in_all(&mut self, element: ElementType, gang: Value, lane: u32) -> Outcome<VReg> {
        let bytes = element.bytes();
        let per = self.bytes / bytes as u32;
        let from = self.reg(gang, (lane / per) as usize)?;
        if lane.is_multiple_of(per) {
            let code =
                if bytes == 4 { C::EVEX_Vbroadcastss_zmm_k1z_xmmm32 } else { C::EVEX_Vbroadcastsd_zmm_k1z_xmmm64 };
            return Ok(self.w(code, &[Arg::Any(from)]));
        }
        if bytes == 8 && !self.features.avx512 {
            let picks = Arg::Imm(i64::from(lane % per) * 0b0101_0101);
            return Ok(self.w(C::VEX_Vpermq_ymm_ymmm256_imm8, &[Arg::Any(from), picks]));
        }
        let picks = u64::from(lane % per).to_le_bytes()[..bytes].repeat(per as usize);
        let picks = self.m.constant(&picks);
        let picks = self.w(C::EVEX_Vmovdqu64_zmm_k1z_zmmm512, &[Arg::Mem(picks)]);
        let code =
            if bytes == 4 { C::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32 } else { C::EVEX_Vpermq_zmm_k1z_zmm_zmmm512b64 };
        Ok(self.w(code, &[Arg::Use(picks), Arg::Use(from)]))
    }

    pub(super) fn extract(&mut self, value: Value, lane: u32) -> Outcome<VReg> {
        let ty = self.ty(value);
        if ty.element == ElementType::Bool {
            return self.extract_mask(value, lane);
        }
        let bytes = ty.element.bytes() as u32;
        let per = self.bytes / bytes;
        let register = self.reg(value, (lane / per) as usize)?;
        let at = lane % per * bytes;
        let word = if at < 4 {
            register
        } else if !self.features.avx512 {
            self.shifted_by_bytes(register, at / 4 * 4)
        } else if bytes == 8 {
            let by = i64::from(at / 8);
            self.w(C::EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8, &[Arg::Use(register), Arg::Use(register), Arg::Imm(by)])
        } else {
            let by = i64::from(at / 4);
            self.w(C::EVEX_Valignd_zmm_k1z_zmm_zmmm512b32_imm8, &[Arg::Use(register), Arg::Use(register), Arg::Imm(by)])
        };
        if matches!(ty.element, ElementType::F32 | ElementType::F64) {
            return Ok(word);
        }
        if bytes >= 4 {
            return Ok(self.low_lane(ty.element, word));
        }
        let mut low = self.i(C::EVEX_Vmovd_rm32_xmm, &[Arg::Use(word)]);
        if !at.is_multiple_of(4) {
            low = self.over(C::Shr_rm32_imm8, low, &[Arg::Imm(i64::from(at % 4 * 8))]);
        }
        Ok(self.canonical(ty.element, low))
    }

    pub(super) fn insert(&mut self, value: Value, lane: u32, new: Value) -> Outcome<Registers> {
        let ty = self.ty(value);
        let one = self.one(new)?;
        if ty.element == ElementType::Bool {
            return self.insert_mask(value, lane, one);
        }
        let bytes = ty.element.bytes();
        let per = self.bytes / bytes as u32;
        let mut registers = self.gang(value)?;
        let mask = self.mask_bits(1 << (lane % per), bytes as u32);
        let at = (lane / per) as usize;
        if !matches!(ty.element, ElementType::F32 | ElementType::F64) && !self.features.avx512 {
            let new = self.spread_int(bytes, one);
            registers[at] = self.by_ones(mask, registers[at], Arg::Any(new));
            return Ok(Registers::Gang(registers));
        }
        let code = match ty.element {
            ElementType::F32 => C::EVEX_Vbroadcastss_zmm_k1z_xmmm32,
            ElementType::F64 => C::EVEX_Vbroadcastsd_zmm_k1z_xmmm64,
            _ => codes::broadcast_int(bytes),
        };
        registers[at] = self.merged(code, mask, registers[at], &[Arg::Use(one)]);
        Ok(Registers::Gang(registers))
    }

    /// Half of the lanes: registers of several, or what lies in half of one.
    pub(super) fn half(&mut self, value: Value, upper: bool) -> Outcome<Registers> {
        let ty = self.ty(value);
        if ty.element == ElementType::Bool {
            return self.half_mask(value, upper);
        }
        let mut registers = self.gang(value)?;
        if registers.len() > 1 {
            let behind = registers.split_off(registers.len() / 2);
            return Ok(Registers::Gang(if upper { behind } else { registers }));
        }
        if !upper {
            return Ok(Registers::Gang(registers));
        }
        let at = ty.lanes * ty.element.bytes() as u32 / 2;
        let register = registers[0];
        let half = if !self.features.avx512 {
            self.shifted_by_bytes(register, at)
        } else if at.is_multiple_of(4) {
            let by = Arg::Imm(i64::from(at / 4));
            self.w(C::EVEX_Valignd_zmm_k1z_zmm_zmmm512b32_imm8, &[Arg::Use(register), Arg::Use(register), by])
        } else {
            self.w(C::EVEX_Vpsrldq_zmm_zmmm512_imm8, &[Arg::Use(register), Arg::Imm(i64::from(at))])
        };
        Ok(Registers::Gang(vec![half]))
    }

    pub(super) fn shift(&mut self, value: Value, by: u32, fill: Value) -> Outcome<Registers> {
        let ty = self.ty(value);
        if ty.element == ElementType::Bool {
            return self.shift_mask(value, by, fill);
        }
        let bytes = ty.element.bytes();
        let per = (self.bytes as usize / bytes) as i64;
        let from = self.gang(value)?;
        let uniform = self.is_splat(fill);
        let mut all = Vec::new();
        for register in 0..from.len() {
            let start = register as i64 * per - i64::from(by);
            all.push(if start >= 0 {
                let (source, rest) = ((start / per) as usize, start % per);
                if rest == 0 {
                    from[source]
                } else {
                    self.joined(bytes, Arg::Use(from[source]), from[source + 1], rest)
                }
            } else if start + per <= 0 {
                self.reg(fill, register)?
            } else if uniform {
                // Any of its lanes will do.
                let below = self.src(fill, register)?;
                self.joined(bytes, below, from[0], per + start)
            } else {
                let moved = self.joined(bytes, Arg::Use(from[0]), from[0], per + start);
                let mask = self.mask_bits((1u64 << -start) - 1, bytes as u32);
                let below = self.reg(fill, register)?;
                self.blended(bytes, mask, moved, Arg::Use(below))
            });
        }
        Ok(Registers::Gang(all))
    }

    /// The lanes in the other order.
    pub(super) fn reversed(&mut self, value: Value) -> Outcome<Registers> {
        let ty = self.ty(value);
        let bytes = ty.element.bytes();
        // What of a register is lanes: all of it, but in short gangs.
        let used = (ty.lanes as usize * bytes).min(self.bytes as usize);
        let whole = bytes >= 4 && self.features.avx512;
        // In all of the register or in each 16 bytes, where the register has an instruction for that alone.
        let lanes = if whole { used } else { used.min(16) } / bytes;
        let other = |lane: usize| if lane < lanes { lanes - 1 - lane } else { lane };
        let picks: Vec<u8> = if whole {
            (0..64 / bytes).flat_map(|lane| (other(lane) as u64).to_le_bytes()[..bytes].to_vec()).collect()
        } else {
            let group = (0..16).map(|byte| (other(byte / bytes) * bytes + byte % bytes) as u8);
            group.collect::<Vec<_>>().repeat(self.bytes as usize / 16)
        };
        let picks = self.m.constant(&picks);
        let picks = self.w(C::EVEX_Vmovdqu64_zmm_k1z_zmmm512, &[Arg::Mem(picks)]);
        let mut all = Vec::new();
        for register in self.gang(value)?.into_iter().rev() {
            all.push(if whole {
                let code = if bytes == 4 {
                    C::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32
                } else {
                    C::EVEX_Vpermq_zmm_k1z_zmm_zmmm512b64
                };
                self.w(code, &[Arg::Use(picks), Arg::Use(register)])
            } else {
                let groups = self.w(C::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512, &[Arg::Use(register), Arg::Use(picks)]);
                self.groups_reversed(groups, used / 16)
            });
        }
        Ok(Registers::Gang(all))
    }

    /// The first few groups of 16 bytes in the other order.
    fn groups_reversed(&mut self, register: VReg, groups: usize) -> VReg {
        let both = [Arg::Use(register), Arg::Use(register)];
        match groups {
            4 => self.w(C::EVEX_Vshufi64x2_zmm_k1z_zmm_zmmm512b64_imm8, &[both[0], both[1], Arg::Imm(0b00_01_10_11)]),
            2 if self.features.avx512 => {
                self.w(C::EVEX_Vshufi64x2_zmm_k1z_zmm_zmmm512b64_imm8, &[both[0], both[1], Arg::Imm(0b11_10_00_01)])
            }
            2 => self.w(C::VEX_Vpermq_ymm_ymmm256_imm8, &[both[0], Arg::Imm(0b01_00_11_10)]),
            _ => register,
        }
    }

    /// Whether all lanes are the same.
    fn is_splat(&self, value: Value) -> bool {
        self.constant_of(value).is_some() || matches!(self.defs[value.0 as usize], Some(Op::Splat(_)))
    }

    /// Lanes from `skip` on of two registers one behind the other: at least one of each.
    fn joined(&mut self, bytes: usize, low: Arg, high: VReg, skip: i64) -> VReg {
        let at = skip * bytes as i64;
        if !self.features.avx512 {
            return self.joined_halves(low, high, at);
        }
        if bytes == 8 {
            return self.w(C::EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8, &[Arg::Use(high), low, Arg::Imm(skip)]);
        }
        if at % 4 == 0 {
            return self.w(C::EVEX_Valignd_zmm_k1z_zmm_zmmm512b32_imm8, &[Arg::Use(high), low, Arg::Imm(at / 4)]);
        }
        // Each 16 bytes are the end of those so many further on, and the beginning of those behind them.
        let (first, next) = (at / 16, at / 16 + 1);
        let from = |this: &mut Self, position: i64| match position {
            0 => low,
            4 => Arg::Use(high),
            _ => {
                let by = Arg::Imm(position * 2);
                Arg::Use(this.w(C::EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8, &[Arg::Use(high), low, by]))
            }
        };
        let (ends, beginnings) = (from(self, first), from(self, next));
        self.w(C::EVEX_Vpalignr_zmm_k1z_zmm_zmmm512_imm8, &[beginnings, ends, Arg::Imm(at % 16)])
    }
}
