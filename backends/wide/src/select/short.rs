//! Instructions on 64 bytes as those of AVX2, FMA and F16C on 32.

use iced_x86::Code::{self, *};
use regalloc2::{Operand, OperandConstraint};

use super::Outcome;
use crate::{
    Refusal,
    machine::{MASK, Machine, Slot},
    operands::{Kind, is_evex, operands},
};

/// Replaces all instructions by those on 32 bytes.
///
/// # Errors
/// [`Refusal::Lacks`] of an instruction that AVX2 has no counterpart of.
pub(super) fn shorten(machine: &mut Machine) -> Outcome<()> {
    let lacks = |what: String| Err(Refusal::Lacks(format!("{what} in vectors of 32 bytes")));
    for inst in machine.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        if inst.operands.iter().any(|operand| operand.class() == MASK) {
            return lacks(format!("{:?}", inst.encoded.first().map(|encoded| encoded.code)));
        }
        for encoded in &mut inst.encoded {
            let memory = encoded.slots.iter().any(|slot| matches!(slot, Slot::Memory(_)));
            match short(encoded.code, memory) {
                Some(code) => encoded.code = code,
                None if is_evex(encoded.code) => {
                    return lacks(format!("{:?}", encoded.code));
                }
                None => {}
            }
            for (slot, kind) in encoded.slots.iter().zip(operands(encoded.code)) {
                match slot {
                    Slot::Memory(address) if address.broadcast => {
                        return lacks(format!("one element for all lanes of {:?}", encoded.code));
                    }
                    // Fewer of these take an operand from memory.
                    Slot::Operand(own) if matches!(kind, Kind::Vector(_)) => {
                        let operand = &mut inst.operands[*own];
                        if operand.constraint() == OperandConstraint::Any {
                            *operand = Operand::reg_use(operand.vreg());
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

/// The instruction of AVX2 that does the same on half as many bytes, where masks are lanes of ones; `memory`: whether an operand is memory.
pub(super) fn short(code: Code, memory: bool) -> Option<Code> {
    Some(match code {
        EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er => VEX_Vaddpd_ymm_ymm_ymmm256,
        EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er => VEX_Vaddps_ymm_ymm_ymmm256,
        EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er => VEX_Vaddsd_xmm_xmm_xmmm64,
        EVEX_Vaddss_xmm_k1z_xmm_xmmm32_er => VEX_Vaddss_xmm_xmm_xmmm32,
        EVEX_Vbroadcasti32x4_zmm_k1z_m128 => VEX_Vbroadcasti128_ymm_m128,
        EVEX_Vbroadcastsd_zmm_k1z_xmmm64 => {
            if memory {
                VEX_Vbroadcastsd_ymm_m64
            } else {
                VEX_Vbroadcastsd_ymm_xmm
            }
        }
        EVEX_Vbroadcastss_zmm_k1z_xmmm32 => {
            if memory {
                VEX_Vbroadcastss_ymm_m32
            } else {
                VEX_Vbroadcastss_ymm_xmm
            }
        }
        EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae => VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
        EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae => VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
        EVEX_Vcmpsd_kr_k1_xmm_xmmm64_imm8_sae => VEX_Vcmpsd_xmm_xmm_xmmm64_imm8,
        EVEX_Vcmpss_kr_k1_xmm_xmmm32_imm8_sae => VEX_Vcmpss_xmm_xmm_xmmm32_imm8,
        EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er => VEX_Vcvtdq2pd_ymm_xmmm128,
        EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er => VEX_Vcvtdq2ps_ymm_ymmm256,
        EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er => VEX_Vcvtpd2ps_xmm_ymmm256,
        EVEX_Vcvtph2ps_xmm_k1z_xmmm64 => VEX_Vcvtph2ps_xmm_xmmm64,
        EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae => VEX_Vcvtph2ps_ymm_xmmm128,
        EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae => VEX_Vcvtps2pd_ymm_xmmm128,
        EVEX_Vcvtps2ph_xmmm64_k1z_xmm_imm8 => VEX_Vcvtps2ph_xmmm64_xmm_imm8,
        EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae => VEX_Vcvtps2ph_xmmm128_ymm_imm8,
        EVEX_Vcvtsd2ss_xmm_k1z_xmm_xmmm64_er => VEX_Vcvtsd2ss_xmm_xmm_xmmm64,
        EVEX_Vcvtsi2sd_xmm_xmm_rm64_er => VEX_Vcvtsi2sd_xmm_xmm_rm64,
        EVEX_Vcvtsi2ss_xmm_xmm_rm64_er => VEX_Vcvtsi2ss_xmm_xmm_rm64,
        EVEX_Vcvtss2sd_xmm_k1z_xmm_xmmm32_sae => VEX_Vcvtss2sd_xmm_xmm_xmmm32,
        EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae => VEX_Vcvttps2dq_ymm_ymmm256,
        EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er => VEX_Vdivpd_ymm_ymm_ymmm256,
        EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er => VEX_Vdivps_ymm_ymm_ymmm256,
        EVEX_Vdivsd_xmm_k1z_xmm_xmmm64_er => VEX_Vdivsd_xmm_xmm_xmmm64,
        EVEX_Vdivss_xmm_k1z_xmm_xmmm32_er => VEX_Vdivss_xmm_xmm_xmmm32,
        EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8 => VEX_Vextracti128_xmmm128_ymm_imm8,
        EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er => VEX_Vfmadd213pd_ymm_ymm_ymmm256,
        EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er => VEX_Vfmadd213ps_ymm_ymm_ymmm256,
        EVEX_Vfmadd213sd_xmm_k1z_xmm_xmmm64_er => VEX_Vfmadd213sd_xmm_xmm_xmmm64,
        EVEX_Vfmadd213ss_xmm_k1z_xmm_xmmm32_er => VEX_Vfmadd213ss_xmm_xmm_xmmm32,
        EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er => VEX_Vfmadd231pd_ymm_ymm_ymmm256,
        EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er => VEX_Vfmadd231ps_ymm_ymm_ymmm256,
        EVEX_Vfmadd231sd_xmm_k1z_xmm_xmmm64_er => VEX_Vfmadd231sd_xmm_xmm_xmmm64,
        EVEX_Vfmadd231ss_xmm_k1z_xmm_xmmm32_er => VEX_Vfmadd231ss_xmm_xmm_xmmm32,
        EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8 => VEX_Vinserti128_ymm_ymm_xmmm128_imm8,
        EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae => VEX_Vmaxpd_ymm_ymm_ymmm256,
        EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae => VEX_Vmaxps_ymm_ymm_ymmm256,
        EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae => VEX_Vminpd_ymm_ymm_ymmm256,
        EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae => VEX_Vminps_ymm_ymm_ymmm256,
        EVEX_Vmovd_rm32_xmm => VEX_Vmovd_rm32_xmm,
        EVEX_Vmovd_xmm_rm32 => VEX_Vmovd_xmm_rm32,
        EVEX_Vmovdqu16_zmm_k1z_zmmm512
        | EVEX_Vmovdqu32_zmm_k1z_zmmm512
        | EVEX_Vmovdqu64_ymm_k1z_ymmm256
        | EVEX_Vmovdqu64_zmm_k1z_zmmm512
        | EVEX_Vmovdqu8_zmm_k1z_zmmm512 => VEX_Vmovdqu_ymm_ymmm256,
        EVEX_Vmovdqu64_xmm_k1z_xmmm128 => VEX_Vmovdqu_xmm_xmmm128,
        EVEX_Vmovdqu64_xmmm128_k1z_xmm => VEX_Vmovdqu_xmmm128_xmm,
        EVEX_Vmovdqu64_ymmm256_k1z_ymm | EVEX_Vmovdqu64_zmmm512_k1z_zmm => VEX_Vmovdqu_ymmm256_ymm,
        EVEX_Vmovntps_m128_xmm => VEX_Vmovntps_m128_xmm,
        EVEX_Vmovntps_m256_ymm | EVEX_Vmovntps_m512_zmm => VEX_Vmovntps_m256_ymm,
        EVEX_Vmovq_rm64_xmm => VEX_Vmovq_rm64_xmm,
        EVEX_Vmovq_xmm_rm64 => VEX_Vmovq_xmm_rm64,
        EVEX_Vmovq_xmm_xmmm64 => VEX_Vmovq_xmm_xmmm64,
        EVEX_Vmovq_xmmm64_xmm => VEX_Vmovq_xmmm64_xmm,
        EVEX_Vmovsd_m64_k1_xmm => VEX_Vmovsd_m64_xmm,
        EVEX_Vmovsd_xmm_k1z_m64 => VEX_Vmovsd_xmm_m64,
        EVEX_Vmovss_m32_k1_xmm => VEX_Vmovss_m32_xmm,
        EVEX_Vmovss_xmm_k1z_m32 => VEX_Vmovss_xmm_m32,
        EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er => VEX_Vmulpd_ymm_ymm_ymmm256,
        EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er => VEX_Vmulps_ymm_ymm_ymmm256,
        EVEX_Vmulsd_xmm_k1z_xmm_xmmm64_er => VEX_Vmulsd_xmm_xmm_xmmm64,
        EVEX_Vmulss_xmm_k1z_xmm_xmmm32_er => VEX_Vmulss_xmm_xmm_xmmm32,
        EVEX_Vpabsb_zmm_k1z_zmmm512 => VEX_Vpabsb_ymm_ymmm256,
        EVEX_Vpabsd_zmm_k1z_zmmm512b32 => VEX_Vpabsd_ymm_ymmm256,
        EVEX_Vpabsw_zmm_k1z_zmmm512 => VEX_Vpabsw_ymm_ymmm256,
        EVEX_Vpaddb_zmm_k1z_zmm_zmmm512 => VEX_Vpaddb_ymm_ymm_ymmm256,
        EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32 => VEX_Vpaddd_ymm_ymm_ymmm256,
        EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64 => VEX_Vpaddq_ymm_ymm_ymmm256,
        EVEX_Vpaddw_zmm_k1z_zmm_zmmm512 => VEX_Vpaddw_ymm_ymm_ymmm256,
        EVEX_Vpalignr_zmm_k1z_zmm_zmmm512_imm8 => VEX_Vpalignr_ymm_ymm_ymmm256_imm8,
        EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32 | EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64 | VEX_Kandq_kr_kr_kr => {
            VEX_Vpand_ymm_ymm_ymmm256
        }
        EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32 | EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64 | VEX_Kandnq_kr_kr_kr => {
            VEX_Vpandn_ymm_ymm_ymmm256
        }
        EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32 => VEX_Vpermd_ymm_ymm_ymmm256,
        EVEX_Vpinsrd_xmm_xmm_rm32_imm8 => VEX_Vpinsrd_xmm_xmm_rm32_imm8,
        EVEX_Vpinsrq_xmm_xmm_rm64_imm8 => VEX_Vpinsrq_xmm_xmm_rm64_imm8,
        EVEX_Vpmaddubsw_zmm_k1z_zmm_zmmm512 => VEX_Vpmaddubsw_ymm_ymm_ymmm256,
        EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512 => VEX_Vpmaddwd_ymm_ymm_ymmm256,
        EVEX_Vpmaxsb_zmm_k1z_zmm_zmmm512 => VEX_Vpmaxsb_ymm_ymm_ymmm256,
        EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32 => VEX_Vpmaxsd_ymm_ymm_ymmm256,
        EVEX_Vpmaxsw_zmm_k1z_zmm_zmmm512 => VEX_Vpmaxsw_ymm_ymm_ymmm256,
        EVEX_Vpmaxub_zmm_k1z_zmm_zmmm512 => VEX_Vpmaxub_ymm_ymm_ymmm256,
        EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32 => VEX_Vpmaxud_ymm_ymm_ymmm256,
        EVEX_Vpmaxuw_zmm_k1z_zmm_zmmm512 => VEX_Vpmaxuw_ymm_ymm_ymmm256,
        EVEX_Vpminsb_zmm_k1z_zmm_zmmm512 => VEX_Vpminsb_ymm_ymm_ymmm256,
        EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32 => VEX_Vpminsd_ymm_ymm_ymmm256,
        EVEX_Vpminsw_zmm_k1z_zmm_zmmm512 => VEX_Vpminsw_ymm_ymm_ymmm256,
        EVEX_Vpminub_zmm_k1z_zmm_zmmm512 => VEX_Vpminub_ymm_ymm_ymmm256,
        EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32 => VEX_Vpminud_ymm_ymm_ymmm256,
        EVEX_Vpminuw_zmm_k1z_zmm_zmmm512 => VEX_Vpminuw_ymm_ymm_ymmm256,
        EVEX_Vpmovsxbd_zmm_k1z_xmmm128 => VEX_Vpmovsxbd_ymm_xmmm64,
        EVEX_Vpmovsxbq_zmm_k1z_xmmm64 => VEX_Vpmovsxbq_ymm_xmmm32,
        EVEX_Vpmovsxbw_zmm_k1z_ymmm256 => VEX_Vpmovsxbw_ymm_xmmm128,
        EVEX_Vpmovsxdq_zmm_k1z_ymmm256 => VEX_Vpmovsxdq_ymm_xmmm128,
        EVEX_Vpmovsxwd_zmm_k1z_ymmm256 => VEX_Vpmovsxwd_ymm_xmmm128,
        EVEX_Vpmovsxwq_zmm_k1z_xmmm128 => VEX_Vpmovsxwq_ymm_xmmm64,
        EVEX_Vpmovzxbd_zmm_k1z_xmmm128 => VEX_Vpmovzxbd_ymm_xmmm64,
        EVEX_Vpmovzxbq_zmm_k1z_xmmm64 => VEX_Vpmovzxbq_ymm_xmmm32,
        EVEX_Vpmovzxbw_zmm_k1z_ymmm256 => VEX_Vpmovzxbw_ymm_xmmm128,
        EVEX_Vpmovzxdq_zmm_k1z_ymmm256 => VEX_Vpmovzxdq_ymm_xmmm128,
        EVEX_Vpmovzxwd_zmm_k1z_ymmm256 => VEX_Vpmovzxwd_ymm_xmmm128,
        EVEX_Vpmovzxwq_zmm_k1z_xmmm128 => VEX_Vpmovzxwq_ymm_xmmm64,
        EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32 => VEX_Vpmulld_ymm_ymm_ymmm256,
        EVEX_Vpmullw_zmm_k1z_zmm_zmmm512 => VEX_Vpmullw_ymm_ymm_ymmm256,
        EVEX_Vpord_zmm_k1z_zmm_zmmm512b32 | EVEX_Vporq_zmm_k1z_zmm_zmmm512b64 | VEX_Korq_kr_kr_kr => {
            VEX_Vpor_ymm_ymm_ymmm256
        }
        EVEX_Vpsadbw_zmm_zmm_zmmm512 => VEX_Vpsadbw_ymm_ymm_ymmm256,
        EVEX_Vpshufb_zmm_k1z_zmm_zmmm512 => VEX_Vpshufb_ymm_ymm_ymmm256,
        EVEX_Vpslld_zmm_k1z_zmm_xmmm128 => VEX_Vpslld_ymm_ymm_xmmm128,
        EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8 => VEX_Vpslld_ymm_ymm_imm8,
        EVEX_Vpsllq_zmm_k1z_zmm_xmmm128 => VEX_Vpsllq_ymm_ymm_xmmm128,
        EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8 => VEX_Vpsllq_ymm_ymm_imm8,
        EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32 => VEX_Vpsllvd_ymm_ymm_ymmm256,
        EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64 => VEX_Vpsllvq_ymm_ymm_ymmm256,
        EVEX_Vpsllw_zmm_k1z_zmm_xmmm128 => VEX_Vpsllw_ymm_ymm_xmmm128,
        EVEX_Vpsllw_zmm_k1z_zmmm512_imm8 => VEX_Vpsllw_ymm_ymm_imm8,
        EVEX_Vpsrad_zmm_k1z_zmm_xmmm128 => VEX_Vpsrad_ymm_ymm_xmmm128,
        EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8 => VEX_Vpsrad_ymm_ymm_imm8,
        EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32 => VEX_Vpsravd_ymm_ymm_ymmm256,
        EVEX_Vpsraw_zmm_k1z_zmm_xmmm128 => VEX_Vpsraw_ymm_ymm_xmmm128,
        EVEX_Vpsraw_zmm_k1z_zmmm512_imm8 => VEX_Vpsraw_ymm_ymm_imm8,
        EVEX_Vpsrld_zmm_k1z_zmm_xmmm128 => VEX_Vpsrld_ymm_ymm_xmmm128,
        EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8 => VEX_Vpsrld_ymm_ymm_imm8,
        EVEX_Vpsrlq_zmm_k1z_zmm_xmmm128 => VEX_Vpsrlq_ymm_ymm_xmmm128,
        EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8 => VEX_Vpsrlq_ymm_ymm_imm8,
        EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32 => VEX_Vpsrlvd_ymm_ymm_ymmm256,
        EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64 => VEX_Vpsrlvq_ymm_ymm_ymmm256,
        EVEX_Vpsrlw_zmm_k1z_zmm_xmmm128 => VEX_Vpsrlw_ymm_ymm_xmmm128,
        EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8 => VEX_Vpsrlw_ymm_ymm_imm8,
        EVEX_Vpsubb_zmm_k1z_zmm_zmmm512 => VEX_Vpsubb_ymm_ymm_ymmm256,
        EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32 => VEX_Vpsubd_ymm_ymm_ymmm256,
        EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64 => VEX_Vpsubq_ymm_ymm_ymmm256,
        EVEX_Vpsubw_zmm_k1z_zmm_zmmm512 => VEX_Vpsubw_ymm_ymm_ymmm256,
        EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32 => VEX_Vpxor_xmm_xmm_xmmm128,
        EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32 | EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64 | VEX_Kxorq_kr_kr_kr => {
            VEX_Vpxor_ymm_ymm_ymmm256
        }
        EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae => VEX_Vroundpd_ymm_ymmm256_imm8,
        EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae => VEX_Vroundps_ymm_ymmm256_imm8,
        EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er => VEX_Vsqrtpd_ymm_ymmm256,
        EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er => VEX_Vsqrtps_ymm_ymmm256,
        EVEX_Vsqrtsd_xmm_k1z_xmm_xmmm64_er => VEX_Vsqrtsd_xmm_xmm_xmmm64,
        EVEX_Vsqrtss_xmm_k1z_xmm_xmmm32_er => VEX_Vsqrtss_xmm_xmm_xmmm32,
        EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er => VEX_Vsubpd_ymm_ymm_ymmm256,
        EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er => VEX_Vsubps_ymm_ymm_ymmm256,
        EVEX_Vsubsd_xmm_k1z_xmm_xmmm64_er => VEX_Vsubsd_xmm_xmm_xmmm64,
        EVEX_Vsubss_xmm_k1z_xmm_xmmm32_er => VEX_Vsubss_xmm_xmm_xmmm32,
        _ => return None,
    })
}
