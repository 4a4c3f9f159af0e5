//! Which opcode does what.

use fusebox_ir::{Binary, ElementType, Unary};
use iced_x86::Code::{self, *};

use crate::machine::Cond;

/// Sets a byte by a condition.
pub(super) fn set(condition: Cond) -> Code {
    match condition {
        Cond::Below => Setb_rm8,
        Cond::AboveEqual => Setae_rm8,
        Cond::Equal => Sete_rm8,
        Cond::NotEqual => Setne_rm8,
        Cond::BelowEqual => Setbe_rm8,
        Cond::Above => Seta_rm8,
        Cond::Less => Setl_rm8,
        Cond::GreaterEqual => Setge_rm8,
        Cond::LessEqual => Setle_rm8,
        Cond::Greater => Setg_rm8,
    }
}

/// Moves by a condition.
pub(super) fn conditional_move(condition: Cond) -> Code {
    match condition {
        Cond::Below => Cmovb_r64_rm64,
        Cond::AboveEqual => Cmovae_r64_rm64,
        Cond::Equal => Cmove_r64_rm64,
        Cond::NotEqual => Cmovne_r64_rm64,
        Cond::BelowEqual => Cmovbe_r64_rm64,
        Cond::Above => Cmova_r64_rm64,
        Cond::Less => Cmovl_r64_rm64,
        Cond::GreaterEqual => Cmovge_r64_rm64,
        Cond::LessEqual => Cmovle_r64_rm64,
        Cond::Greater => Cmovg_r64_rm64,
    }
}

/// The condition of a comparison of integers.
pub(super) fn condition(function: Binary, signed: bool) -> Cond {
    match (function, signed) {
        (Binary::Eq, _) => Cond::Equal,
        (Binary::Ne, _) => Cond::NotEqual,
        (Binary::Lt, true) => Cond::Less,
        (Binary::Lt, false) => Cond::Below,
        (Binary::Le, true) => Cond::LessEqual,
        (Binary::Le, false) => Cond::BelowEqual,
        (Binary::Gt, true) => Cond::Greater,
        (Binary::Gt, false) => Cond::Above,
        (_, true) => Cond::GreaterEqual,
        (_, false) => Cond::AboveEqual,
    }
}

/// The predicate of `VCMP`: all but `!=` are false of a NaN, none signals for a quiet one.
pub(super) fn float_predicate(function: Binary) -> i64 {
    match function {
        Binary::Eq => 0x00,
        Binary::Ne => 0x04,
        Binary::Lt => 0x11,
        Binary::Le => 0x12,
        Binary::Gt => 0x1e,
        _ => 0x1d,
    }
}

/// The predicate of `VCMP` that holds where neither is NaN.
pub(super) const ORDERED: i64 = 0x07;

/// The comparison of floats.
pub(super) fn float_compare(element: ElementType) -> Option<Code> {
    match element {
        ElementType::F32 => Some(EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae),
        ElementType::F64 => Some(EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae),
        _ => None,
    }
}

/// The predicate of `VPCMP`.
pub(super) fn int_predicate(function: Binary) -> i64 {
    match function {
        Binary::Eq => 0,
        Binary::Ne => 4,
        Binary::Lt => 1,
        Binary::Le => 2,
        Binary::Gt => 6,
        _ => 5,
    }
}

/// `VPCMP` of lanes.
pub(super) fn int_compare(element: ElementType) -> Code {
    match (element.bytes(), element.is_signed()) {
        (1, true) => EVEX_Vpcmpb_kr_k1_zmm_zmmm512_imm8,
        (1, false) => EVEX_Vpcmpub_kr_k1_zmm_zmmm512_imm8,
        (2, true) => EVEX_Vpcmpw_kr_k1_zmm_zmmm512_imm8,
        (2, false) => EVEX_Vpcmpuw_kr_k1_zmm_zmmm512_imm8,
        (4, true) => EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8,
        (4, false) => EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8,
        (_, true) => EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8,
        (_, false) => EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8,
    }
}

/// `VPTESTM` and `VPTESTNM`: whether integers have a bit in common (`!=`: that is not 0), or none (`==`).
pub(super) fn common_bits(function: Binary, element: ElementType) -> Option<Code> {
    if !element.is_integer() {
        return None;
    }
    Some(match (function, element.bytes()) {
        (Binary::Ne, 1) => EVEX_Vptestmb_kr_k1_zmm_zmmm512,
        (Binary::Ne, 2) => EVEX_Vptestmw_kr_k1_zmm_zmmm512,
        (Binary::Ne, 4) => EVEX_Vptestmd_kr_k1_zmm_zmmm512b32,
        (Binary::Ne, _) => EVEX_Vptestmq_kr_k1_zmm_zmmm512b64,
        (Binary::Eq, 1) => EVEX_Vptestnmb_kr_k1_zmm_zmmm512,
        (Binary::Eq, 2) => EVEX_Vptestnmw_kr_k1_zmm_zmmm512,
        (Binary::Eq, 4) => EVEX_Vptestnmd_kr_k1_zmm_zmmm512b32,
        (Binary::Eq, _) => EVEX_Vptestnmq_kr_k1_zmm_zmmm512b64,
        _ => return None,
    })
}

/// One instruction for a function of two gangs.
pub(super) fn binary(function: Binary, element: ElementType) -> Option<Code> {
    use ElementType::{F32, F64};
    let bytes = element.bytes();
    let signed = element.is_signed();
    Some(match (function, element) {
        (Binary::Add, F32) => EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
        (Binary::Add, F64) => EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
        (Binary::Sub, F32) => EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
        (Binary::Sub, F64) => EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
        (Binary::Mul, F32) => EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
        (Binary::Mul, F64) => EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
        (Binary::Div, F32) => EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
        (Binary::Div, F64) => EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
        _ if !element.is_integer() => return None,
        (Binary::Add, _) => add(bytes),
        (Binary::Sub, _) => match bytes {
            1 => EVEX_Vpsubb_zmm_k1z_zmm_zmmm512,
            2 => EVEX_Vpsubw_zmm_k1z_zmm_zmmm512,
            4 => EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
            _ => EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
        },
        (Binary::Mul, _) => match bytes {
            1 => return None,
            2 => EVEX_Vpmullw_zmm_k1z_zmm_zmmm512,
            4 => EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
            _ => EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64,
        },
        (Binary::And, _) if bytes == 8 => EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64,
        (Binary::And, _) => EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
        (Binary::Or, _) if bytes == 8 => EVEX_Vporq_zmm_k1z_zmm_zmmm512b64,
        (Binary::Or, _) => EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
        (Binary::Xor, _) if bytes == 8 => EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64,
        (Binary::Xor, _) => EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
        (Binary::Min, _) => match (bytes, signed) {
            (1, true) => EVEX_Vpminsb_zmm_k1z_zmm_zmmm512,
            (1, false) => EVEX_Vpminub_zmm_k1z_zmm_zmmm512,
            (2, true) => EVEX_Vpminsw_zmm_k1z_zmm_zmmm512,
            (2, false) => EVEX_Vpminuw_zmm_k1z_zmm_zmmm512,
            (4, true) => EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32,
            (4, false) => EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32,
            (_, true) => EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64,
            (_, false) => EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64,
        },
        (Binary::Max, _) => match (bytes, signed) {
            (1, true) => EVEX_Vpmaxsb_zmm_k1z_zmm_zmmm512,
            (1, false) => EVEX_Vpmaxub_zmm_k1z_zmm_zmmm512,
            (2, true) => EVEX_Vpmaxsw_zmm_k1z_zmm_zmmm512,
            (2, false) => EVEX_Vpmaxuw_zmm_k1z_zmm_zmmm512,
            (4, true) => EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32,
            (4, false) => EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32,
            (_, true) => EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64,
            (_, false) => EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64,
        },
        _ => return None,
    })
}

/// Sums of integer lanes.
pub(super) fn add(bytes: usize) -> Code {
    match bytes {
        1 => EVEX_Vpaddb_zmm_k1z_zmm_zmmm512,
        2 => EVEX_Vpaddw_zmm_k1z_zmm_zmmm512,
        4 => EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
        _ => EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
    }
}

/// Whether operands may change places.
pub(super) fn commutes(function: Binary) -> bool {
    matches!(
        function,
        Binary::Add
            | Binary::Mul
            | Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::Min
            | Binary::Max
            | Binary::Eq
            | Binary::Ne
    )
}

/// Shifts and rotations of lanes by a number.
pub(super) fn shift_by_number(function: Binary, bytes: usize, arithmetic: bool) -> Option<Code> {
    Some(match (function, bytes) {
        (Binary::Shl, 2) => EVEX_Vpsllw_zmm_k1z_zmmm512_imm8,
        (Binary::Shl, 4) => EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
        (Binary::Shl, 8) => EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8,
        (Binary::Shr, 2) if arithmetic => EVEX_Vpsraw_zmm_k1z_zmmm512_imm8,
        (Binary::Shr, 4) if arithmetic => EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
        (Binary::Shr, 8) if arithmetic => EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8,
        (Binary::Shr, 2) => EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8,
        (Binary::Shr, 4) => EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
        (Binary::Shr, 8) => EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
        (Binary::RotateLeft, 4) => EVEX_Vprold_zmm_k1z_zmmm512b32_imm8,
        (Binary::RotateLeft, 8) => EVEX_Vprolq_zmm_k1z_zmmm512b64_imm8,
        (Binary::RotateRight, 4) => EVEX_Vprord_zmm_k1z_zmmm512b32_imm8,
        (Binary::RotateRight, 8) => EVEX_Vprorq_zmm_k1z_zmmm512b64_imm8,
        _ => return None,
    })
}

/// Shifts of lanes by one amount, which is in a register.
pub(super) fn shift_by_one(function: Binary, bytes: usize, arithmetic: bool) -> Option<Code> {
    Some(match (function, bytes) {
        (Binary::Shl, 2) => EVEX_Vpsllw_zmm_k1z_zmm_xmmm128,
        (Binary::Shl, 4) => EVEX_Vpslld_zmm_k1z_zmm_xmmm128,
        (Binary::Shl, 8) => EVEX_Vpsllq_zmm_k1z_zmm_xmmm128,
        (Binary::Shr, 2) if arithmetic => EVEX_Vpsraw_zmm_k1z_zmm_xmmm128,
        (Binary::Shr, 4) if arithmetic => EVEX_Vpsrad_zmm_k1z_zmm_xmmm128,
        (Binary::Shr, 8) if arithmetic => EVEX_Vpsraq_zmm_k1z_zmm_xmmm128,
        (Binary::Shr, 2) => EVEX_Vpsrlw_zmm_k1z_zmm_xmmm128,
        (Binary::Shr, 4) => EVEX_Vpsrld_zmm_k1z_zmm_xmmm128,
        (Binary::Shr, 8) => EVEX_Vpsrlq_zmm_k1z_zmm_xmmm128,
        _ => return None,
    })
}

/// Shifts and rotations of lanes, each by its own amount.
pub(super) fn shift_by_lane(function: Binary, bytes: usize, arithmetic: bool) -> Option<Code> {
    Some(match (function, bytes) {
        (Binary::Shl, 2) => EVEX_Vpsllvw_zmm_k1z_zmm_zmmm512,
        (Binary::Shl, 4) => EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32,
        (Binary::Shl, 8) => EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64,
        (Binary::Shr, 2) if arithmetic => EVEX_Vpsravw_zmm_k1z_zmm_zmmm512,
        (Binary::Shr, 4) if arithmetic => EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32,
        (Binary::Shr, 8) if arithmetic => EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64,
        (Binary::Shr, 2) => EVEX_Vpsrlvw_zmm_k1z_zmm_zmmm512,
        (Binary::Shr, 4) => EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32,
        (Binary::Shr, 8) => EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64,
        (Binary::RotateLeft, 4) => EVEX_Vprolvd_zmm_k1z_zmm_zmmm512b32,
        (Binary::RotateLeft, 8) => EVEX_Vprolvq_zmm_k1z_zmm_zmmm512b64,
        (Binary::RotateRight, 4) => EVEX_Vprorvd_zmm_k1z_zmm_zmmm512b32,
        (Binary::RotateRight, 8) => EVEX_Vprorvq_zmm_k1z_zmm_zmmm512b64,
        _ => return None,
    })
}

/// Rounding to whole numbers: mode, and no exception for inexact results.
pub(super) fn rounding(function: Unary) -> Option<i64> {
    Some(match function {
        Unary::Round => 8,
        Unary::Floor => 9,
        Unary::Ceil => 10,
        Unary::Trunc => 11,
        _ => return None,
    })
}

/// A function of two uniform floats.
pub(super) fn scalar_float(function: Binary, single: bool) -> Option<Code> {
    Some(match (function, single) {
        (Binary::Add, true) => EVEX_Vaddss_xmm_k1z_xmm_xmmm32_er,
        (Binary::Add, false) => EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er,
        (Binary::Sub, true) => EVEX_Vsubss_xmm_k1z_xmm_xmmm32_er,
        (Binary::Sub, false) => EVEX_Vsubsd_xmm_k1z_xmm_xmmm64_er,
        (Binary::Mul, true) => EVEX_Vmulss_xmm_k1z_xmm_xmmm32_er,
        (Binary::Mul, false) => EVEX_Vmulsd_xmm_k1z_xmm_xmmm64_er,
        (Binary::Div, true) => EVEX_Vdivss_xmm_k1z_xmm_xmmm32_er,
        (Binary::Div, false) => EVEX_Vdivsd_xmm_k1z_xmm_xmmm64_er,
        _ => return None,
    })
}

/// A select of lanes by a mask: the last operand where it holds.
pub(super) fn blend(bytes: usize) -> Code {
    match bytes {
        1 => EVEX_Vpblendmb_zmm_k1z_zmm_zmmm512,
        2 => EVEX_Vpblendmw_zmm_k1z_zmm_zmmm512,
        4 => EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32,
        _ => EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64,
    }
}

/// A move of lanes from a register or memory, under a mask.
pub(super) fn masked_load(bytes: usize) -> Code {
    match bytes {
        1 => EVEX_Vmovdqu8_zmm_k1z_zmmm512,
        2 => EVEX_Vmovdqu16_zmm_k1z_zmmm512,
        4 => EVEX_Vmovdqu32_zmm_k1z_zmmm512,
        _ => EVEX_Vmovdqu64_zmm_k1z_zmmm512,
    }
}

/// A move of lanes to memory, under a mask.
pub(super) fn masked_store(bytes: usize) -> Code {
    match bytes {
        1 => EVEX_Vmovdqu8_zmmm512_k1z_zmm,
        2 => EVEX_Vmovdqu16_zmmm512_k1z_zmm,
        4 => EVEX_Vmovdqu32_zmmm512_k1z_zmm,
        _ => EVEX_Vmovdqu64_zmmm512_k1z_zmm,
    }
}

/// A move of 16 narrow lanes to memory, under a mask.
pub(super) fn masked_store_of_16_lanes(bytes: u32) -> Code {
    match bytes {
        1 => EVEX_Vmovdqu8_xmmm128_k1z_xmm,
        _ => EVEX_Vmovdqu16_ymmm256_k1z_ymm,
    }
}

/// Lanes of which a mask holds to the low end; narrow ones are beyond the base features.
pub(super) fn compress(bytes: u32) -> Code {
    match bytes {
        1 => EVEX_Vpcompressb_zmmm512_k1z_zmm,
        2 => EVEX_Vpcompressw_zmmm512_k1z_zmm,
        4 => EVEX_Vpcompressd_zmmm512_k1z_zmm,
        _ => EVEX_Vpcompressq_zmmm512_k1z_zmm,
    }
}

/// Ones of lanes, beyond the base features.
pub(super) fn count_ones(bytes: usize) -> Code {
    match bytes {
        1 => EVEX_Vpopcntb_zmm_k1z_zmmm512,
        2 => EVEX_Vpopcntw_zmm_k1z_zmmm512,
        4 => EVEX_Vpopcntd_zmm_k1z_zmmm512b32,
        _ => EVEX_Vpopcntq_zmm_k1z_zmmm512b64,
    }
}

/// A register of 32 or 64 bits to all lanes.
pub(super) fn broadcast_int(bytes: usize) -> Code {
    match bytes {
        1 => EVEX_Vpbroadcastb_zmm_k1z_r32,
        2 => EVEX_Vpbroadcastw_zmm_k1z_r32,
        4 => EVEX_Vpbroadcastd_zmm_k1z_r32,
        _ => EVEX_Vpbroadcastq_zmm_k1z_r64,
    }
}
