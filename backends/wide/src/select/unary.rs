//! Functions of one operand on gangs: one or some instructions on each register.

use fusebox_ir::{Binary, Constant, ElementType, Unary};
use fusebox_vector::Value;
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select, codes};
use crate::machine::Arg;

impl Select<'_> {
    /// One function on each register.
    pub(super) fn each(
        &mut self,
        a: Value,
        mut one: impl FnMut(&mut Self, VReg) -> Outcome<VReg>,
    ) -> Outcome<Registers> {
        let mut all = Vec::new();
        for register in self.gang(a)? {
            all.push(one(self, register)?);
        }
        Ok(Registers::Gang(all))
    }

    pub(super) fn unary_gang(&mut self, function: Unary, a: Value) -> Outcome<Registers> {
        let element = self.ty(a).element;
        if element == ElementType::Bool {
            return if function == Unary::Not { self.not_mask(a) } else { self.lacks("a function of a mask") };
        }
        if matches!(function, Unary::IsNan | Unary::IsInf) {
            let mut masks = Vec::new();
            for register in self.gang(a)? {
                masks.push(self.float_kind(function, element, register)?);
            }
            return Ok(Registers::Mask(self.bytes / element.bytes() as u32, masks));
        }
        self.each(a, |this, register| this.unary_register(function, element, register))
    }

    fn float_kind(&mut self, function: Unary, element: ElementType, a: VReg) -> Outcome<VReg> {
        let (code, args) = self.float_kind_of(function, element, a)?;
        Ok(self.k(code, &args))
    }

    pub(super) fn float_kind_of(&mut self, function: Unary, element: ElementType, a: VReg) -> Outcome<(C, Vec<Arg>)> {
        if function == Unary::IsInf && !self.features.avx512 {
            return self.infinite_of(element, a);
        }
        Ok(match (function, element) {
            (Unary::IsNan, ElementType::F32) => {
                (C::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, vec![Arg::Use(a), Arg::Use(a), Arg::Imm(3)])
            }
            (Unary::IsNan, ElementType::F64) => {
                (C::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae, vec![Arg::Use(a), Arg::Use(a), Arg::Imm(3)])
            }
            (Unary::IsInf, ElementType::F32) => {
                (C::EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8, vec![Arg::Use(a), Arg::Imm(0x18)])
            }
            (Unary::IsInf, ElementType::F64) => {
                (C::EVEX_Vfpclasspd_kr_k1_zmmm512b64_imm8, vec![Arg::Use(a), Arg::Imm(0x18)])
            }
            _ => return self.lacks(&format!("{} of {element}", function.text())),
        })
    }

    /// A function of each lane.
    pub(super) fn unary_register(&mut self, function: Unary, element: ElementType, a: VReg) -> Outcome<VReg> {
        let bytes = element.bytes();
        let single = element == ElementType::F32;
        if matches!(element, ElementType::F32 | ElementType::F64) {
            let sign = if single { 1 << 31 } else { 1 << 63 };
            if let Some(mode) = codes::rounding(function) {
                let code = if single {
                    C::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae
                } else {
                    C::EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae
                };
                return Ok(self.w(code, &[Arg::Any(a), Arg::Imm(mode)]));
            }
            return Ok(match function {
                Unary::Neg => {
                    let code = codes::binary(Binary::Xor, if single { ElementType::U32 } else { ElementType::U64 });
                    let sign = self.every(sign, bytes);
                    self.w(code.expect("there is one of each width"), &[Arg::Use(a), sign])
                }
                Unary::Abs => {
                    let code = codes::binary(Binary::And, if single { ElementType::U32 } else { ElementType::U64 });
                    let rest = self.every(sign - 1, bytes);
                    self.w(code.expect("there is one of each width"), &[Arg::Use(a), rest])
                }
                Unary::Sqrt if single => self.w(C::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, &[Arg::Any(a)]),
                Unary::Sqrt => self.w(C::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er, &[Arg::Any(a)]),
                Unary::Sign => {
                    let compare = if single {
                        C::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae
                    } else {
                        C::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae
                    };
                    let zero = self.zero();
                    let one = |x: f64| if single { Constant::from(x as f32).bits() } else { x.to_bits() };
                    let above = self.k(compare, &[Arg::Use(a), Arg::Use(zero), Arg::Imm(0x1e)]);
                    let below = self.k(compare, &[Arg::Use(a), Arg::Use(zero), Arg::Imm(0x11)]);
                    let (plus, minus) = (self.every(one(1.0), bytes), self.every(one(-1.0), bytes));
                    let out = self.blended(bytes, above, a, plus);
                    self.blended(bytes, below, out, minus)
                }
                _ => return self.lacks(&format!("{} of {element}", function.text())),
            });
        }
        if !element.is_integer() {
            return self.lacks(&format!("{} of {element}", function.text()));
        }
        let binary = |function: Binary| codes::binary(function, element).expect("there is one of each width");
        Ok(match function {
            Unary::Neg => {
                let zero = self.zero();
                self.w(binary(Binary::Sub), &[Arg::Use(zero), Arg::Any(a)])
            }
            Unary::Complement => {
                let ones = self.every(u64::MAX, if bytes == 8 { 8 } else { 4 });
                self.w(binary(Binary::Xor), &[Arg::Use(a), ones])
            }
            Unary::Abs | Unary::Sign if bytes == 8 && !self.features.avx512 => self.signs(function, element, a),
            Unary::Abs if element.is_signed() => {
                let code = match bytes {
                    1 => C::EVEX_Vpabsb_zmm_k1z_zmmm512,
                    2 => C::EVEX_Vpabsw_zmm_k1z_zmmm512,
                    4 => C::EVEX_Vpabsd_zmm_k1z_zmmm512b32,
                    _ => C::EVEX_Vpabsq_zmm_k1z_zmmm512b64,
                };
                self.w(code, &[Arg::Any(a)])
            }
            Unary::Abs => a,
            Unary::Sign => {
                let one = self.lanes_of(1, bytes);
                let low = self.w(binary(Binary::Min), &[Arg::Use(a), one]);
                if !element.is_signed() {
                    return Ok(low);
                }
                let minus = self.lanes_of(u64::MAX, bytes);
                self.w(binary(Binary::Max), &[Arg::Use(low), minus])
            }
            Unary::Popcount => self.ones(bytes, a),
            Unary::Ctz => self.zeros_below(bytes, a),
            Unary::Clz => self.zeros_above(bytes, a),
            _ => return self.lacks(&format!("{} of {element}", function.text())),
        })
    }
}
