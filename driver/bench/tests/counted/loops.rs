//! Loops of machine code, and what is in them.

use std::collections::BTreeMap;

#[cfg(target_arch = "x86_64")]
use fusebox_cranelift::ShortCode;
use fusebox_wide::Code;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
};

/// What a turn of a loop has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub instructions: usize,
    /// Instructions that read arrays.
    pub loads: usize,
    /// Instructions that read constants behind the code.
    pub constants: usize,
    /// Instructions that write arrays.
    pub stores: usize,
    /// Instructions that use the stack: values that no register was left for.
    pub stack: usize,
    /// Copies of a register to another.
    pub moves: usize,
    /// Branches to somewhere else.
    pub exits: usize,
}

/// The instructions of code for long vectors.
pub fn of_long_vectors(code: &Code) -> Vec<Instruction> {
    Decoder::with_ip(64, &code.bytes[..code.instructions], 0, DecoderOptions::NONE).into_iter().collect()
}

/// The instructions of code for vectors of 16 bytes.
#[cfg(target_arch = "x86_64")]
pub fn of_short_vectors(code: &ShortCode) -> Vec<Instruction> {
    let decoder = Decoder::with_ip(64, &code.bytes, 0, DecoderOptions::NONE);
    let mut all = Vec::new();
    for one in decoder {
        all.push(one);
        if one.ip() >= code.last_block as u64
            && !matches!(one.flow_control(), FlowControl::Next | FlowControl::IndirectCall)
        {
            break;
        }
    }
    all
}

/// The loops that no other is inside of, in order: all between a branch back and what it goes to.
pub fn innermost(all: &[Instruction]) -> Vec<Counts> {
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for one in all.iter().filter(|one| is_branch(one) && one.near_branch64() <= one.ip()) {
        let end = ends.entry(one.near_branch64()).or_default();
        *end = (*end).max(one.ip());
    }
    let is_inside =
        |(from, to): (u64, u64), (start, end): (u64, u64)| from >= start && to <= end && (from, to) != (start, end);
    let loops: Vec<(u64, u64)> = ends.into_iter().collect();
    let inner = loops.iter().filter(|&&around| !loops.iter().any(|&own| is_inside(own, around)));
    inner.map(|&(from, to)| counts(all.iter().filter(|one| (from..=to).contains(&one.ip())), (from, to))).collect()
}

fn is_branch(one: &Instruction) -> bool {
    matches!(one.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
}

fn counts<'a>(turn: impl Iterator<Item = &'a Instruction>, (from, to): (u64, u64)) -> Counts {
    let mut counts = Counts::default();
    let mut infos = InstructionInfoFactory::new();
    for one in turn {
        counts.instructions += 1;
        counts.exits += usize::from(is_branch(one) && !(from..=to).contains(&one.near_branch64()));
        counts.moves += usize::from(is_copy(one));
        for memory in infos.info(one).used_memory() {
            if memory.base() == Register::RSP {
                counts.stack += 1;
                continue;
            }
            if one.is_ip_rel_memory_operand() {
                counts.constants += 1;
                continue;
            }
            match memory.access() {
                OpAccess::Read | OpAccess::CondRead => counts.loads += 1,
                OpAccess::Write | OpAccess::CondWrite => counts.stores += 1,
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                    (counts.loads, counts.stores) = (counts.loads + 1, counts.stores + 1)
                }
                _ => {}
            }
        }
    }
    counts
}

/// Whether it does nothing but hand on a register's value.
fn is_copy(one: &Instruction) -> bool {
    let moves = matches!(
        one.mnemonic(),
        Mnemonic::Mov
            | Mnemonic::Vmovaps
            | Mnemonic::Vmovapd
            | Mnemonic::Vmovups
            | Mnemonic::Vmovdqa
            | Mnemonic::Vmovdqu
            | Mnemonic::Vmovdqa32
            | Mnemonic::Vmovdqa64
            | Mnemonic::Kmovq
            | Mnemonic::Kmovw
            | Mnemonic::Kmovd
    );
    let is_register = |operand: u32| one.op_kind(operand) == iced_x86::OpKind::Register;
    moves
        && one.op_count() == 2
        && is_register(0)
        && is_register(1)
        && !one.has_op_mask()
        && one.op0_register().is_gpr() == one.op1_register().is_gpr()
}
