//! What instructions take as their operands: a table that the build script writes.

use iced_x86::Code;

/// What an operand may be; registers by their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int(u8),
    IntOrMemory(u8),
    Vector(u8),
    VectorOrMemory(u8),
    /// A mask register, of some instructions memory as well.
    Mask,
    /// Memory at the lanes of a vector of so many bytes.
    Lanes(u8),
    Imm8,
    /// Eight bits that become 32 by their sign.
    Imm8As32,
    Imm8As64,
    Imm32,
    Imm32As64,
    Imm64,
    /// None, memory alone, or what no code here has.
    Other,
}

struct Row {
    evex: bool,
    broadcast: u8,
    operands: [Kind; 5],
}

use Kind::{
    Imm8, Imm8As32, Imm8As64, Imm32, Imm32As64, Imm64, Int, IntOrMemory, Lanes, Mask, Other, Vector, VectorOrMemory,
};

/// By the number of the instruction.
static ROWS: &[Row] = include!(concat!(env!("OUT_DIR"), "/operands.rs"));

/// What the operands of an instruction may be, in order.
pub(crate) fn operands(code: Code) -> [Kind; 5] {
    ROWS.get(code as usize).map_or([Other; 5], |row| row.operands)
}

/// Whether an instruction is of AVX-512.
pub(crate) fn is_evex(code: Code) -> bool {
    ROWS.get(code as usize).is_some_and(|row| row.evex)
}

/// Bytes of the element that an instruction can read from memory for all lanes, if it can.
pub(crate) fn broadcast_bytes(code: Code) -> Option<u8> {
    ROWS.get(code as usize).map(|row| row.broadcast).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instruction_has_a_row() {
        assert_eq!(ROWS.len(), Code::values().len());
    }

    #[test]
    fn rows_are_those_of_their_instructions() {
        let rest = Other;
        for (code, taken) in [
            (Code::Mov_r64_rm64, [Int(8), IntOrMemory(8), rest, rest, rest]),
            (Code::Mov_rm8_r8, [IntOrMemory(1), Int(1), rest, rest, rest]),
            (Code::Mov_r64_imm64, [Int(8), Imm64, rest, rest, rest]),
            (Code::And_rm64_imm8, [IntOrMemory(8), Imm8As64, rest, rest, rest]),
            (Code::And_rm32_imm8, [IntOrMemory(4), Imm8As32, rest, rest, rest]),
            (Code::Shl_rm64_imm8, [IntOrMemory(8), Imm8, rest, rest, rest]),
            (Code::Sub_rm64_imm32, [IntOrMemory(8), Imm32As64, rest, rest, rest]),
            (Code::Test_rm32_imm32, [IntOrMemory(4), Imm32, rest, rest, rest]),
            (Code::VEX_Kandq_kr_kr_kr, [Mask, Mask, Mask, rest, rest]),
            (Code::VEX_Vpblendvb_ymm_ymm_ymmm256_ymm, [Vector(32), Vector(32), VectorOrMemory(32), Vector(32), rest]),
            (Code::EVEX_Vpgatherdd_zmm_k1_vm32z, [Vector(64), Lanes(64), rest, rest, rest]),
            (Code::EVEX_Vmovntps_m512_zmm, [rest, Vector(64), rest, rest, rest]),
        ] {
            assert_eq!(operands(code), taken, "{code:?}");
        }
        assert!(is_evex(Code::EVEX_Vmovntps_m512_zmm) && !is_evex(Code::VEX_Kandq_kr_kr_kr));
        for (code, bytes) in [
            (Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, Some(4)),
            (Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, Some(8)),
            (Code::EVEX_Vpaddw_zmm_k1z_zmm_zmmm512, None),
            (Code::VEX_Vmulps_ymm_ymm_ymmm256, None),
        ] {
            assert_eq!(broadcast_bytes(code), bytes, "{code:?}");
        }
    }
}
