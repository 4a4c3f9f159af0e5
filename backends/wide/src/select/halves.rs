//! Conversions of `f16`, which is all that is computed with it: its functions are expanded to those of `f32` before.

use fusebox_ir::ElementType;
use fusebox_vector::{Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select};
use crate::machine::Arg;

/// To nearest, ties to even, whatever the control word says.
const NEAREST: Arg = Arg::Imm(0);

/// The bits of an `f64` beyond those of an `f32`.
const BEYOND: u64 = (1 << 29) - 1;

impl Select<'_> {
    pub(super) fn convert_gang_of_halves(&mut self, a: Value, to: Type) -> Outcome<Registers> {
        use ElementType::{F16, F32, F64};
        let from = self.ty(a).element;
        let registers = self.gang(a)?;
        Ok(Registers::Gang(match (from, to.element) {
            (F16, F16) => registers,
            (F16, F32) => self.doubled(C::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, &registers, 4, to.lanes),
            (F16, F64) => {
                let singles = self.doubled(C::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, &registers, 4, to.lanes);
                self.doubled(C::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, &singles, 8, to.lanes)
            }
            (F32, F16) => self.halves_of_singles(&registers),
            (F64, F16) => {
                let odd: Vec<VReg> = registers.into_iter().map(|register| self.rounded_to_odd(register)).collect();
                let singles = self.halved(C::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er, &odd);
                self.halves_of_singles(&singles)
            }
            (_, to) => return self.lacks(&format!("conversion of {from} to {to}")),
        }))
    }

    fn halves_of_singles(&mut self, singles: &[VReg]) -> Vec<VReg> {
        let code = C::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae;
        let halves: Vec<VReg> = singles.iter().map(|&register| self.w(code, &[Arg::Use(register), NEAREST])).collect();
        self.in_pairs(&halves)
    }

    /// A uniform value; an `f16` is held as an integer of its bits.
    pub(super) fn converted_half(&mut self, one: VReg, from: ElementType, to: ElementType) -> Outcome<VReg> {
        use ElementType::{F16, F32, F64};
        Ok(match (from, to) {
            (F16, F16) => one,
            (F16, F32 | F64) => {
                let half = self.w(C::EVEX_Vmovd_xmm_rm32, &[Arg::Use(one)]);
                let single = self.w(C::EVEX_Vcvtph2ps_xmm_k1z_xmmm64, &[Arg::Use(half)]);
                self.converted(single, F32, to)?
            }
            (F32, F16) => {
                let half = self.w(C::EVEX_Vcvtps2ph_xmmm64_k1z_xmm_imm8, &[Arg::Use(one), NEAREST]);
                self.low_lane(F16, half)
            }
            (F64, F16) => {
                let odd = self.rounded_to_odd(one);
                let single = self.converted(odd, F64, F32)?;
                self.converted_half(single, F32, F16)?
            }
            _ => return self.lacks(&format!("conversion of {from} to {to}")),
        })
    }

    /// Lanes of `f64` with as many digits as `f32` has, the last of which is 1 where others were lost: then rounding again, to half as many,
    /// is as if nothing had been rounded before. What is beyond the range of `f32` is beyond that of `f16` too. Source: Boldo, Melquiond,
    /// "When double rounding is odd", IMACS 2005.
    fn rounded_to_odd(&mut self, register: VReg) -> VReg {
        let (beyond, carry, kept) = (self.every(BEYOND, 8), self.every(BEYOND + 1, 8), self.every(!BEYOND, 8));
        let and = C::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64;
        let lost = self.w(and, &[Arg::Use(register), beyond]);
        let carried = self.w(C::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, &[Arg::Use(lost), beyond]);
        let last = self.w(and, &[Arg::Use(carried), carry]);
        let with_last = self.w(C::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64, &[Arg::Use(register), Arg::Use(last)]);
        self.w(and, &[Arg::Use(with_last), kept])
    }
}
