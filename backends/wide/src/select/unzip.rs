//! Every other run of lanes of two gangs: what folds several gangs at once is made of.

use fusebox_vector::Value;
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select};
use crate::machine::Arg;

/// Quarters 0, 2, 1, 3 of a register: what instructions on each 16 bytes have put between one another.
const INTERLEAVED: Arg = Arg::Imm(0b11_01_10_00);

impl Select<'_> {
    /// Every other run of `run` lanes of the first and then of the second: registers, or what lies in pairs of them.
    pub(super) fn unzipped(&mut self, first: Value, second: Value, run: u32, odd: bool) -> Outcome<Registers> {
        let bytes = run * self.ty(first).element.bytes() as u32;
        let all = [self.gang(first)?, self.gang(second)?].concat();
        if bytes >= self.bytes {
            let runs = all.chunks((bytes / self.bytes) as usize).skip(usize::from(odd)).step_by(2);
            return Ok(Registers::Gang(runs.flatten().copied().collect()));
        }
        let mut registers = Vec::new();
        for pair in all.chunks(2) {
            registers.push(if self.features.avx512 {
                self.runs_of_pair(pair[0], pair[1], bytes, odd)
            } else {
                self.short_runs_of_pair(pair[0], pair[1], bytes, odd)
            });
        }
        Ok(Registers::Gang(registers))
    }

    /// Of two registers of 64 bytes.
    fn runs_of_pair(&mut self, low: VReg, high: VReg, bytes: u32, odd: bool) -> VReg {
        let quarters = match (bytes, odd) {
            (32, false) => Some(0b01_00_01_00),
            (32, true) => Some(0b11_10_11_10),
            (16, false) => Some(0b10_00_10_00),
            (16, true) => Some(0b11_01_11_01),
            _ => None,
        };
        if let Some(quarters) = quarters {
            let code = C::EVEX_Vshufi64x2_zmm_k1z_zmm_zmmm512b64_imm8;
            return self.w(code, &[Arg::Use(low), Arg::Use(high), Arg::Imm(quarters)]);
        }
        let lane = |number: u64| (2 * number + u64::from(odd)).to_le_bytes();
        let picks: Vec<u8> = (0..64 / u64::from(bytes)).flat_map(|run| lane(run)[..bytes as usize].to_vec()).collect();
        let picks = self.m.constant(&picks);
        let picks = self.w(C::EVEX_Vmovdqu64_zmm_k1z_zmmm512, &[Arg::Mem(picks)]);
        let code =
            if bytes == 8 { C::EVEX_Vpermt2q_zmm_k1z_zmm_zmmm512b64 } else { C::EVEX_Vpermt2d_zmm_k1z_zmm_zmmm512b32 };
        self.over(code, low, &[Arg::Use(picks), Arg::Use(high)])
    }

    /// Of two registers of 32 bytes.
    fn short_runs_of_pair(&mut self, low: VReg, high: VReg, bytes: u32, odd: bool) -> VReg {
        let both = [Arg::Use(low), Arg::Use(high)];
        let mixed = match (bytes, odd) {
            (16, _) => {
                let halves = Arg::Imm(if odd { 0x31 } else { 0x20 });
                return self.w(C::VEX_Vperm2i128_ymm_ymm_ymmm256_imm8, &[both[0], both[1], halves]);
            }
            (8, false) => self.w(C::VEX_Vpunpcklqdq_ymm_ymm_ymmm256, &both),
            (8, true) => self.w(C::VEX_Vpunpckhqdq_ymm_ymm_ymmm256, &both),
            _ => {
                let lanes = Arg::Imm(if odd { 0b11_01_11_01 } else { 0b10_00_10_00 });
                self.w(C::VEX_Vshufps_ymm_ymm_ymmm256_imm8, &[both[0], both[1], lanes])
            }
        };
        self.w(C::VEX_Vpermq_ymm_ymmm256_imm8, &[Arg::Use(mixed), INTERLEAVED])
    }
}
