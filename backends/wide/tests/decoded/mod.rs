//! Machine code read back by a decoder: a proof, on any machine, that code made for some features needs no others.
#![allow(dead_code)] // each test file uses its share

use std::collections::BTreeSet;

use fusebox_wide::{Code, Features};
use iced_x86::{CpuidFeature, Decoder, DecoderOptions, Encoder, FlowControl, Instruction, OpKind};

/// Whether a processor with these features has everything that an instruction needs.
fn allowed(needed: CpuidFeature, features: Features) -> bool {
    use CpuidFeature as Needs;
    match needed {
        Needs::INTEL8086 | Needs::INTEL186 | Needs::INTEL386 | Needs::X64 | Needs::CMOV | Needs::SSE => true,
        Needs::BMI1 | Needs::BMI2 | Needs::LZCNT | Needs::POPCNT => true,
        Needs::AVX | Needs::AVX2 | Needs::FMA | Needs::F16C => true,
        Needs::AVX512F | Needs::AVX512BW | Needs::AVX512DQ | Needs::AVX512VL | Needs::AVX512CD => features.avx512,
        Needs::AVX512_VPOPCNTDQ | Needs::AVX512_BITALG => features.counts,
        Needs::AVX512_VBMI2 => features.compress,
        _ => false,
    }
}

/// The instructions of some code. Each decodes, is encoded in as many bytes again, needs only what the features have, jumps to an
/// instruction, and reads constants that are there and aligned.
///
/// # Errors
/// The first that does not.
pub fn decoded(code: &Code, features: Features) -> Result<Vec<Instruction>, String> {
    let pool = code.instructions.next_multiple_of(64);
    if pool > code.bytes.len() {
        return Err(format!("{} bytes of instructions in {}", code.instructions, code.bytes.len()));
    }
    let all: Vec<Instruction> =
        Decoder::with_ip(64, &code.bytes[..code.instructions], 0, DecoderOptions::NONE).into_iter().collect();
    let starts: BTreeSet<u64> = all.iter().map(Instruction::ip).collect();
    let mut encoder = Encoder::new(64);
    for one in &all {
        let fault = |what: String| Err(format!("{:?} at {}: {what}", one.code(), one.ip()));
        if one.is_invalid() {
            return fault("not an instruction".to_owned());
        }
        if let Some(needed) = one.cpuid_features().iter().find(|&&needed| !allowed(needed, features)) {
            return fault(format!("needs {needed:?}, beyond {features}"));
        }
        match encoder.encode(one, one.ip()) {
            Ok(length) if length == one.len() => {}
            other => return fault(format!("{} bytes, then {other:?}", one.len())),
        }
        if one.op_count() > 0 && one.op0_kind() == OpKind::NearBranch64 && !starts.contains(&one.near_branch64()) {
            return fault(format!("jumps to {}", one.near_branch64()));
        }
        if one.is_ip_rel_memory_operand() {
            let (at, bytes) = (one.memory_displacement64() as usize, one.memory_size().size());
            if bytes == 0 || at < pool || at + bytes > code.bytes.len() || !at.is_multiple_of(bytes) {
                return fault(format!("reads {bytes} bytes at {at} of constants in {pool}..{}", code.bytes.len()));
            }
        }
    }
    match all.last().map(Instruction::flow_control) {
        Some(FlowControl::Return | FlowControl::UnconditionalBranch) => Ok(all),
        other => Err(format!("the last instruction is {other:?}: constants would be run")),
    }
}
