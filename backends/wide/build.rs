//! Writes the table of what each instruction takes as its operands.
//!
//! `iced-x86` has it, but makes it, with texts of all its instructions, when a process first asks, which takes longer than compiling a kernel.

use std::{env, fmt::Write, fs, path::PathBuf};

use iced_x86::{Code, EncodingKind, OpCodeOperandKind as Kind};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut text = String::from("&[\n");
    for code in Code::values() {
        let info = code.op_code();
        let kinds: Vec<String> = (0..5).map(|at| taken(info.try_op_kind(at).unwrap_or(Kind::None))).collect();
        let evex = info.encoding() == EncodingKind::EVEX;
        let broadcast = broadcast(info.instruction_string());
        let kinds = kinds.join(", ");
        _ = writeln!(text, "    Row {{ evex: {evex}, broadcast: {broadcast}, operands: [{kinds}] }}, // {code:?}");
    }
    text.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("operands.rs");
    fs::write(&out, text).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

/// Bytes of the element that an instruction may read from memory for all lanes; 0 where there is no such form.
fn broadcast(manual: &str) -> u8 {
    match (manual.contains("/m32bcst"), manual.contains("/m64bcst")) {
        (true, _) => 4,
        (_, true) => 8,
        _ => 0,
    }
}

/// The kind as `src/operands.rs` calls it.
fn taken(kind: Kind) -> String {
    use Kind::{
        imm8, imm8sex32, imm8sex64, imm32, imm32sex64, imm64, k_or_mem, k_reg, k_rm, k_vvvv, mem_vsib32x, mem_vsib32y,
        mem_vsib32z, mem_vsib64x, mem_vsib64y, mem_vsib64z, r8_opcode, r8_or_mem, r8_reg, r16_opcode, r16_or_mem,
        r16_reg, r16_rm, r32_opcode, r32_or_mem, r32_reg, r32_rm, r32_vvvv, r64_opcode, r64_or_mem, r64_reg, r64_rm,
        r64_vvvv, xmm_is4, xmm_or_mem, xmm_reg, xmm_rm, xmm_vvvv, ymm_is4, ymm_or_mem, ymm_reg, ymm_rm, ymm_vvvv,
        zmm_or_mem, zmm_reg, zmm_rm, zmm_vvvv,
    };
    let (name, bytes) = match kind {
        r8_or_mem => ("IntOrMemory", 1),
        r16_or_mem => ("IntOrMemory", 2),
        r32_or_mem => ("IntOrMemory", 4),
        r64_or_mem => ("IntOrMemory", 8),
        r8_reg | r8_opcode => ("Int", 1),
        r16_reg | r16_rm | r16_opcode => ("Int", 2),
        r32_reg | r32_rm | r32_vvvv | r32_opcode => ("Int", 4),
        r64_reg | r64_rm | r64_vvvv | r64_opcode => ("Int", 8),
        xmm_or_mem => ("VectorOrMemory", 16),
        ymm_or_mem => ("VectorOrMemory", 32),
        zmm_or_mem => ("VectorOrMemory", 64),
        xmm_reg | xmm_rm | xmm_vvvv | xmm_is4 => ("Vector", 16),
        ymm_reg | ymm_rm | ymm_vvvv | ymm_is4 => ("Vector", 32),
        zmm_reg | zmm_rm | zmm_vvvv => ("Vector", 64),
        k_or_mem | k_reg | k_rm | k_vvvv => ("Mask", 0),
        mem_vsib32x | mem_vsib64x => ("Lanes", 16),
        mem_vsib32y | mem_vsib64y => ("Lanes", 32),
        mem_vsib32z | mem_vsib64z => ("Lanes", 64),
        imm8 => ("Imm8", 0),
        imm8sex32 => ("Imm8As32", 0),
        imm8sex64 => ("Imm8As64", 0),
        imm32 => ("Imm32", 0),
        imm32sex64 => ("Imm32As64", 0),
        imm64 => ("Imm64", 0),
        _ => ("Other", 0),
    };
    if bytes == 0 { name.to_owned() } else { format!("{name}({bytes})") }
}
