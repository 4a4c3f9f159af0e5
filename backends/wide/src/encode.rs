//! Instructions with registers to bytes.

use iced_x86::{Code, Encoder, Instruction, OpKind, Register};
use regalloc2::{Allocation, Block, Edit, Function as _, InstOrEdit, Output};

use crate::{
    allocate::{RBP, Shape, saved},
    machine::{Encoded, Flow, INT, MASK, Machine, OperandAddress, OperandBase, Slot},
    operands::{Kind, operands},
};

struct Encoding<'a> {
    encoder: Encoder,
    bytes: Vec<u8>,
    output: &'a Output,
    /// Displacements to constants: where they are, the end of the instruction, the place in the pool.
    constants: Vec<(usize, usize, i64)>,
    /// Displacements to blocks: where they are, and the block.
    jumps: Vec<(usize, usize)>,
    /// Where blocks begin.
    starts: Vec<usize>,
    /// Where a jump to each block ends.
    targets: Vec<usize>,
    /// Bytes that the allocator's slots take.
    slots: i64,
    saved: Vec<usize>,
    frame: i64,
    vector_bytes: usize,
}

/// The code of a function, with its constants behind it, and how many of the bytes are instructions.
pub(crate) fn encode(machine: &Machine, shape: &Shape<'_>, output: &Output) -> Result<(Vec<u8>, usize), String> {
    let slots = (output.num_spillslots * 8).next_multiple_of(64) as i64;
    let mut encoding = Encoding {
        encoder: Encoder::new(64),
        bytes: Vec::new(),
        output,
        constants: Vec::new(),
        jumps: Vec::new(),
        starts: vec![0; shape.order.len()],
        targets: (0..shape.order.len()).map(|block| target(shape, output, Block::new(block)).index()).collect(),
        slots,
        saved: saved(output),
        frame: slots + machine.frame as i64,
        vector_bytes: machine.bytes,
    };
    encoding.prologue()?;
    for block in 0..shape.order.len() {
        encoding.starts[block] = encoding.bytes.len();
        if encoding.targets[block] == block {
            encoding.block(shape, block)?;
        }
    }
    Ok(encoding.finish(machine))
}

/// Where a jump to a block ends: blocks that only jump on are passed by.
fn target(shape: &Shape<'_>, output: &Output, block: Block) -> Block {
    let mut block = block;
    for _ in 0..shape.order.len() {
        let mut all = output.block_insts_and_edits(shape, block);
        match (all.next(), all.next()) {
            (Some(InstOrEdit::Inst(inst)), None) if matches!(shape.inst(inst).flow, Flow::Jump(_)) => {
                block = shape.block_succs(block)[0];
            }
            _ => break,
        }
    }
    block
}

fn int(number: usize, bytes: u8) -> Register {
    let (first, number) = match bytes {
        // Numbers 4 to 7 of the enumeration are the second bytes of registers, which are not used.
        1 if number >= 4 => (Register::SPL, number - 4),
        1 => (Register::AL, number),
        2 => (Register::AX, number),
        4 => (Register::EAX, number),
        _ => (Register::RAX, number),
    };
    first + number as u32
}

fn vector(number: usize, bytes: u8) -> Register {
    let first = match bytes {
        64 => Register::ZMM0,
        32 => Register::YMM0,
        _ => Register::XMM0,
    };
    first + number as u32
}

/// The register of that number which an operand wants.
fn register(kind: Kind, number: usize) -> Option<Register> {
    Some(match kind {
        Kind::Int(bytes) | Kind::IntOrMemory(bytes) => int(number, bytes),
        Kind::Vector(bytes) | Kind::VectorOrMemory(bytes) => vector(number, bytes),
        Kind::Mask => Register::K0 + number as u32,
        _ => return None,
    })
}

/// Kinds of immediates.
fn immediate(instruction: &mut Instruction, operand: u32, kind: Kind, value: i64) -> Result<(), String> {
    let op_kind = match kind {
        Kind::Imm8 => OpKind::Immediate8,
        Kind::Imm8As32 => OpKind::Immediate8to32,
        Kind::Imm8As64 => OpKind::Immediate8to64,
        Kind::Imm32 => OpKind::Immediate32,
        Kind::Imm32As64 => OpKind::Immediate32to64,
        Kind::Imm64 => OpKind::Immediate64,
        other => return Err(format!("no immediate for {other:?}")),
    };
    instruction.set_op_kind(operand, op_kind);
    match op_kind {
        OpKind::Immediate8 => instruction.set_immediate8(value as u8),
        OpKind::Immediate8to32 => instruction.set_immediate8to32(value as i32),
        OpKind::Immediate8to64 => instruction.set_immediate8to64(value),
        OpKind::Immediate32 => instruction.set_immediate32(value as u32),
        OpKind::Immediate32to64 => instruction.set_immediate32to64(value),
        _ => instruction.set_immediate64(value as u64),
    }
    Ok(())
}

impl Encoding<'_> {
    fn put(&mut self, instruction: &Instruction, constant: Option<i64>) -> Result<(), String> {
        let start = self.bytes.len();
        self.encoder.set_buffer(std::mem::take(&mut self.bytes));
        let length = self
            .encoder
            .encode(instruction, start as u64)
            .map_err(|error| format!("{:?} cannot be encoded: {error}", instruction.code()))?;
        let offsets = self.encoder.get_constant_offsets();
        self.bytes = self.encoder.take_buffer();
        if let Some(at) = constant {
            self.constants.push((start + offsets.displacement_offset(), start + length, at));
        }
        Ok(())
    }

    fn memory(
        &mut self,
        instruction: &mut Instruction,
        address: OperandAddress,
        allocs: &[Allocation],
    ) -> Result<Option<i64>, String> {
        let gpr = |operand: usize| {
            allocs[operand].as_reg().map(|reg| int(reg.hw_enc(), 8)).ok_or_else(|| "an address on the stack".to_owned())
        };
        let index = address.index.map(gpr).transpose()?;
        let mut offset = address.offset;
        let mut constant = None;
        let base = match address.base {
            OperandBase::Operand(operand) => gpr(operand)?,
            OperandBase::Pool => {
                constant = Some(offset);
                offset = self.bytes.len() as i64;
                Register::RIP
            }
            OperandBase::Frame => {
                offset += self.slots;
                Register::RSP
            }
        };
        instruction.set_memory_base(base);
        if let Some(index) = index {
            instruction.set_memory_index(index);
            instruction.set_memory_index_scale(address.scale);
        }
        let small = i32::try_from(offset).map_err(|_| format!("an offset of {offset} bytes"))?;
        instruction.set_memory_displacement64(i64::from(small) as u64);
        // 1 lets the encoder choose the shortest form.
        instruction.set_memory_displ_size(if base == Register::RIP { 8 } else { u32::from(small != 0) });
        instruction.set_is_broadcast(address.broadcast);
        Ok(constant)
    }

    fn encoded(&mut self, encoded: &Encoded, allocs: &[Allocation]) -> Result<(), String> {
        let mut instruction = Instruction::default();
        instruction.set_code(encoded.code);
        let mut constant = None;
        for (position, (slot, kind)) in encoded.slots.iter().zip(operands(encoded.code)).enumerate() {
            let operand = position as u32;
            match *slot {
                Slot::Operand(own) => {
                    if let Some(slot) = allocs[own].as_stack() {
                        let offset = slot.index() as i64 * 8 - self.slots;
                        let address = OperandAddress {
                            base: OperandBase::Frame,
                            index: None,
                            scale: 1,
                            offset,
                            broadcast: false,
                        };
                        instruction.set_op_kind(operand, OpKind::Memory);
                        self.memory(&mut instruction, address, allocs)?;
                        continue;
                    }
                    let number = allocs[own].as_reg().ok_or("an operand without a register")?.hw_enc();
                    let register = register(kind, number).ok_or_else(|| {
                        format!("{:?} takes no register as operand {position}: {kind:?}", encoded.code)
                    })?;
                    instruction.set_op_kind(operand, OpKind::Register);
                    instruction.set_op_register(operand, register);
                }
                Slot::Memory(address) => {
                    if let (OperandBase::Operand(_), Some(index)) = (address.base, address.index)
                        && allocs[index].as_reg().is_some_and(|reg| reg.class() != INT)
                    {
                        let number = allocs[index].as_reg().map_or(0, |reg| reg.hw_enc());
                        let plain = OperandAddress { index: None, ..address };
                        instruction.set_op_kind(operand, OpKind::Memory);
                        self.memory(&mut instruction, plain, allocs)?;
                        let Kind::Lanes(bytes) = kind else {
                            return Err(format!("{:?} takes no address for each lane", encoded.code));
                        };
                        instruction.set_memory_index(vector(number, bytes));
                        instruction.set_memory_index_scale(address.scale);
                        continue;
                    }
                    instruction.set_op_kind(operand, OpKind::Memory);
                    constant = self.memory(&mut instruction, address, allocs)?;
                }
                Slot::Imm(value) => immediate(&mut instruction, operand, kind, value)?,
            }
        }
        if let Some(mask) = encoded.mask {
            let number = allocs[mask].as_reg().ok_or("a mask without a register")?.hw_enc();
            instruction.set_op_mask(Register::K0 + number as u32);
            instruction.set_zeroing_masking(encoded.zeroing);
        }
        self.put(&instruction, constant)
    }

    fn two(&mut self, code: Code, a: Register, b: Register) -> Result<(), String> {
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        for (operand, register) in [(0, a), (1, b)] {
            instruction.set_op_kind(operand, OpKind::Register);
            instruction.set_op_register(operand, register);
        }
        self.put(&instruction, None)
    }

    fn prologue(&mut self) -> Result<(), String> {
        self.push(RBP)?;
        self.two(Code::Mov_r64_rm64, Register::RBP, Register::RSP)?;
        for register in self.saved.clone() {
            self.push(register)?;
        }
        if self.frame > 0 {
            let mut adjust = Instruction::default();
            adjust.set_code(Code::Sub_rm64_imm32);
            adjust.set_op_kind(0, OpKind::Register);
            adjust.set_op_register(0, Register::RSP);
            adjust.set_op_kind(1, OpKind::Immediate32to64);
            adjust.set_immediate32to64(self.frame);
            self.put(&adjust, None)?;
            let mut align = Instruction::default();
            align.set_code(Code::And_rm64_imm8);
            align.set_op_kind(0, OpKind::Register);
            align.set_op_register(0, Register::RSP);
            align.set_op_kind(1, OpKind::Immediate8to64);
            align.set_immediate8to64(-64);
            self.put(&align, None)?;
        }
        Ok(())
    }

    fn one(&mut self, code: Code, register: Register) -> Result<(), String> {
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        instruction.set_op_kind(0, OpKind::Register);
        instruction.set_op_register(0, register);
        self.put(&instruction, None)
    }

    fn push(&mut self, register: usize) -> Result<(), String> {
        self.one(Code::Push_r64, int(register, 8))
    }

    fn epilogue(&mut self) -> Result<(), String> {
        if self.frame > 0 {
            let mut restore = Instruction::default();
            restore.set_code(Code::Lea_r64_m);
            restore.set_op_kind(0, OpKind::Register);
            restore.set_op_register(0, Register::RSP);
            restore.set_op_kind(1, OpKind::Memory);
            restore.set_memory_base(Register::RBP);
            restore.set_memory_displacement64((self.saved.len() as i64 * -8) as u64);
            restore.set_memory_displ_size(1);
            self.put(&restore, None)?;
        }
        for register in self.saved.clone().into_iter().rev() {
            self.one(Code::Pop_r64, int(register, 8))?;
        }
        self.one(Code::Pop_r64, int(RBP, 8))?;
        self.put(&Instruction::with(Code::VEX_Vzeroupper), None)?;
        self.put(&Instruction::with(Code::Retnq), None)
    }

    /// A move of the allocator's.
    fn moved(&mut self, from: Allocation, to: Allocation) -> Result<(), String> {
        let class = from.as_reg().or(to.as_reg()).ok_or("a move from memory to memory")?.class();
        let (load, store) = match class {
            INT => (Code::Mov_r64_rm64, Code::Mov_rm64_r64),
            MASK => (Code::VEX_Kmovq_kr_km64, Code::VEX_Kmovq_m64_kr),
            _ if self.vector_bytes == 64 => (Code::EVEX_Vmovaps_zmm_k1z_zmmm512, Code::EVEX_Vmovaps_zmmm512_k1z_zmm),
            _ => (Code::VEX_Vmovaps_ymm_ymmm256, Code::VEX_Vmovaps_ymmm256_ymm),
        };
        let code = if to.is_stack() { store } else { load };
        let encoded = Encoded { code, slots: vec![Slot::Operand(0), Slot::Operand(1)], mask: None, zeroing: false };
        self.encoded(&encoded, &[to, from])
    }

    fn block(&mut self, shape: &Shape<'_>, block: usize) -> Result<(), String> {
        let output = self.output;
        for step in output.block_insts_and_edits(shape, Block::new(block)) {
            let inst = match step {
                InstOrEdit::Edit(Edit::Move { from, to }) => {
                    self.moved(*from, *to)?;
                    continue;
                }
                InstOrEdit::Inst(inst) => inst,
            };
            let allocs = output.inst_allocs(inst);
            let one = shape.inst(inst);
            for encoded in &one.encoded {
                self.encoded(encoded, allocs)?;
            }
            let goes = |position: usize| self.targets[shape.block_succs(Block::new(block))[position].index()];
            match &one.flow {
                Flow::Next => {}
                Flow::Return => self.epilogue()?,
                Flow::Jump(_) => self.jump(None, goes(0), block),
                Flow::Branch(condition) => {
                    let (yes, no) = (goes(0), goes(1));
                    let condition = *condition as u8;
                    if self.follows(block, yes) {
                        self.jump(Some(condition ^ 1), no, block);
                    } else {
                        self.jump(Some(condition), yes, block);
                        self.jump(None, no, block);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether control comes to `to` without a jump: blocks between have no code.
    fn follows(&self, block: usize, to: usize) -> bool {
        to > block && (block + 1..to).all(|between| self.targets[between] != between)
    }

    fn jump(&mut self, condition: Option<u8>, to: usize, block: usize) {
        match condition {
            None if self.follows(block, to) => return,
            None => self.bytes.push(0xe9),
            Some(condition) => self.bytes.extend([0x0f, 0x80 | condition]),
        }
        self.jumps.push((self.bytes.len(), to));
        self.bytes.extend([0; 4]);
    }

    fn finish(mut self, machine: &Machine) -> (Vec<u8>, usize) {
        let instructions = self.bytes.len();
        for (at, block) in std::mem::take(&mut self.jumps) {
            let distance = (self.starts[block] as i64 - (at as i64 + 4)) as i32;
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        let pool = instructions.next_multiple_of(64);
        // What is between is never run.
        self.bytes.resize(pool, 0xcc);
        for (at, end, constant) in std::mem::take(&mut self.constants) {
            let distance = (pool as i64 + constant - end as i64) as i32;
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.bytes.extend_from_slice(&machine.pool);
        (self.bytes, instructions)
    }
}
