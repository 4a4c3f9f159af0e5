//! Elements that all lanes read, as operands in memory.
//!
//! A broadcast from memory is an instruction that takes a turn of the units that compute on Zen 4: a product of matrices waited for it a third of its
//! time. The same element as an operand of the product takes a load alone.

use iced_x86::Code::{
    self, EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er, EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
    EVEX_Vbroadcastsd_zmm_k1z_xmmm64, EVEX_Vbroadcastss_zmm_k1z_xmmm32, EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
    EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
    EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
    EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32,
    EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
    EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64, EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
};
use regalloc2::{Operand, OperandConstraint, VReg};

use crate::{
    machine::{Address, Base, Block, Inst, Machine, Slot},
    operands::{Kind, broadcast_bytes, operands},
};

/// An element is loaded again by each instruction that reads it: more of them share one broadcast.
const MOST_READERS: usize = 4;

/// Where an element that all lanes read is.
#[derive(Clone, Copy)]
struct Element {
    register: VReg,
    bytes: u8,
    address: Address,
}

/// Puts elements into the instructions that read them, where all of those stand behind the broadcast in its block: what was broadcast is not
/// used any more then. Broadcasts from arrays are of arrays that nobody writes (`select/across`), so they may be read later; and nothing is read where
/// it was not read before.
pub(crate) fn into_readers(machine: &mut Machine) {
    let uses = machine.uses();
    for block in &mut machine.blocks {
        for position in 0..block.insts.len() {
            let Some(element) = broadcast(&block.insts[position]) else { continue };
            let wanted = uses[element.register.vreg()];
            if (1..=MOST_READERS).contains(&wanted) {
                replace(block, position, element, wanted);
            }
        }
    }
}

/// The element that an instruction broadcasts, of an array.
fn broadcast(inst: &Inst) -> Option<Element> {
    let ([encoded], true) = (inst.encoded.as_slice(), inst.pure) else { return None };
    let bytes = match encoded.code {
        EVEX_Vbroadcastss_zmm_k1z_xmmm32 => 4,
        EVEX_Vbroadcastsd_zmm_k1z_xmmm64 => 8,
        _ => return None,
    };
    let (&[Slot::Operand(out), Slot::Memory(address)], None) = (encoded.slots.as_slice(), encoded.mask) else {
        return None;
    };
    let address = inst.address(address);
    matches!(address.base, Base::Reg(_)).then(|| Element { register: inst.operands[out].vreg(), bytes, address })
}

/// Makes an element the operand of its readers, if so many are behind its broadcast in the block, and all of them can read it from memory.
fn replace(block: &mut Block, position: usize, element: Element, wanted: usize) {
    let behind = &block.insts[position + 1..];
    let places: Vec<usize> = (behind.iter().enumerate())
        .filter(|(_, inst)| inst.operands.iter().any(|own| own.vreg() == element.register))
        .map(|(place, _)| position + 1 + place)
        .collect();
    if places.len() != wanted {
        return;
    }
    let read: Option<Vec<Inst>> = places.iter().map(|&place| reading(&block.insts[place], element)).collect();
    for (place, inst) in places.into_iter().zip(read.into_iter().flatten()) {
        block.insts[place] = inst;
    }
}

/// The instruction with an element of memory in the place of a register.
fn reading(inst: &Inst, element: Element) -> Option<Inst> {
    let [encoded] = inst.encoded.as_slice() else { return None };
    if broadcast_bytes(encoded.code) != Some(element.bytes) {
        return None;
    }
    let own = inst.operands.iter().position(|own| own.vreg() == element.register)?;
    if inst.operands.iter().any(|other| other.constraint() == OperandConstraint::Reuse(own)) {
        return None;
    }
    let known = |operand: usize| inst.operands[operand].vreg() == element.register;
    let reads = |slot: &Slot| match slot {
        Slot::Operand(operand) => known(*operand),
        Slot::Memory(_) | Slot::Imm(_) => false,
    };
    let mut slots = encoded.slots.clone();
    if slots.iter().filter(|slot| reads(slot)).count() != 1 || encoded.mask.is_some_and(known) {
        return None;
    }
    let last = operands(encoded.code).iter().position(|kind| matches!(kind, Kind::VectorOrMemory(_)))?;
    let place = slots.iter().position(reads)?;
    let mut inst = inst.clone();
    if place != last {
        let (true, true, &Slot::Operand(other)) = (place + 1 == last, commutes(encoded.code), slots.get(last)?) else {
            return None;
        };
        slots.swap(place, last);
        // That one has to be a register now.
        if inst.operands[other].constraint() == OperandConstraint::Any {
            inst.operands[other] = Operand::reg_use(inst.operands[other].vreg());
        }
    }
    let Base::Reg(base) = element.address.base else { return None };
    // The place of the register is that of the base now.
    inst.operands[own] = Operand::reg_use(base);
    slots[last] = inst.memory(Address { broadcast: true, ..element.address });
    inst.encoded[0].slots = slots;
    Some(inst)
}

/// Whether the two operands before and at memory may change places.
fn commutes(code: Code) -> bool {
    matches!(
        code,
        EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er
            | EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er
            | EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er
            | EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er
            | EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er
            | EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er
            | EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32
            | EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64
            | EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32
            | EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64
            | EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32
            | EVEX_Vpord_zmm_k1z_zmm_zmmm512b32
            | EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32
            | EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32
            | EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32
            | EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32
            | EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32
    )
}
