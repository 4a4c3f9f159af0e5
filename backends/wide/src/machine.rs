//! Machine instructions over virtual registers, in basic blocks.

use std::collections::HashMap;

use iced_x86::Code;
use regalloc2::{Operand, OperandKind, PReg, PRegSet, RegClass, VReg};

/// Registers of 64 bits.
pub(crate) const INT: RegClass = RegClass::Int;
/// Vector registers; uniform floats are in the low lane of one.
pub(crate) const WIDE: RegClass = RegClass::Float;
/// Mask registers.
pub(crate) const MASK: RegClass = RegClass::Vector;

/// The number of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockId(pub(crate) usize);

/// Where an address begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    /// At a register.
    Reg(VReg),
    /// At the constants behind the code.
    Pool,
    /// At the function's own part of the stack frame.
    Frame,
}

/// An address in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) base: Base,
    pub(crate) index: Option<VReg>,
    pub(crate) scale: u32,
    pub(crate) offset: i64,
    /// Whether one element is read for all lanes.
    pub(crate) broadcast: bool,
}

impl Address {
    /// The address `offset` bytes behind a register.
    pub(crate) fn at(base: VReg, offset: i64) -> Self {
        Self { base: Base::Reg(base), index: None, scale: 1, offset, broadcast: false }
    }

    /// The address so many bytes behind.
    pub(crate) fn plus(self, bytes: i64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

/// An argument of an instruction, in the order of its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    /// A register that is written.
    Def(VReg),
    /// A register that is written while operands are still read, so it is none of theirs.
    Early(VReg),
    /// A register that is written over the second, whose register it takes.
    Over(VReg, VReg),
    /// A register that is read.
    Use(VReg),
    /// A register that is still read after results are written.
    Late(VReg),
    /// A value that is read from a register or from the stack.
    Any(VReg),
    /// Memory.
    Mem(Address),
    /// A number.
    Imm(i64),
}

/// An address whose registers are given by the position of an operand of the instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandAddress {
    pub(crate) base: OperandBase,
    pub(crate) index: Option<usize>,
    pub(crate) scale: u32,
    pub(crate) offset: i64,
    pub(crate) broadcast: bool,
}

/// Where such an address begins, as [`Base`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum OperandBase {
    Operand(usize),
    Pool,
    Frame,
}

/// A slot of an encoded instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// What the allocator gave this operand.
    Operand(usize),
    /// Memory.
    Memory(OperandAddress),
    /// A number.
    Imm(i64),
}

/// One instruction to encode.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) code: Code,
    pub(crate) slots: Vec<Slot>,
    pub(crate) mask: Option<usize>,
    pub(crate) zeroing: bool,
}

/// A condition of jumps, by its number in opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cond {
    Below = 2,
    AboveEqual = 3,
    Equal = 4,
    NotEqual = 5,
    BelowEqual = 6,
    Above = 7,
    Less = 12,
    GreaterEqual = 13,
    LessEqual = 14,
    Greater = 15,
}

impl Cond {
    /// The condition that holds where this one does not.
    pub(crate) fn inverse(self) -> Self {
        match self {
            Self::Below => Self::AboveEqual,
            Self::AboveEqual => Self::Below,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::BelowEqual => Self::Above,
            Self::Above => Self::BelowEqual,
            Self::Less => Self::GreaterEqual,
            Self::GreaterEqual => Self::Less,
            Self::LessEqual => Self::Greater,
            Self::Greater => Self::LessEqual,
        }
    }
}

/// How control goes on behind an instruction.
#[derive(Clone, Debug)]
pub(crate) enum Flow {
    Next,
    /// To the block's only successor, with values for its parameters.
    Jump(Vec<VReg>),
    /// To the first successor where the condition holds, else to the second.
    Branch(Cond),
    Return,
}

/// What the allocator sees as one instruction: none, one or several to encode.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub(crate) encoded: Vec<Encoded>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) clobbers: PRegSet,
    pub(crate) flow: Flow,
    /// Whether it may go if nobody uses its results.
    pub(crate) pure: bool,
}

impl Inst {
    /// None to encode so far.
    pub(crate) fn new() -> Self {
        Self { encoded: Vec::new(), operands: Vec::new(), clobbers: PRegSet::empty(), flow: Flow::Next, pure: true }
    }

    fn operand(&mut self, operand: Operand) -> usize {
        // An operand that is there already is the same register.
        if let Some(known) = self.operands.iter().position(|&own| own == operand) {
            return known;
        }
        self.operands.push(operand);
        self.operands.len() - 1
    }

    /// The operand that is this virtual register, if it is written here.
    fn defined(&self, reg: VReg) -> Option<usize> {
        self.operands.iter().position(|own| own.vreg() == reg && own.kind() == OperandKind::Def)
    }

    fn operand_address(&mut self, address: &Address) -> OperandAddress {
        let base = match address.base {
            Base::Reg(reg) => OperandBase::Operand(self.read(reg)),
            Base::Pool => OperandBase::Pool,
            Base::Frame => OperandBase::Frame,
        };
        let index = address.index.map(|reg| self.read(reg));
        OperandAddress { base, index, scale: address.scale, offset: address.offset, broadcast: address.broadcast }
    }

    /// The address with the registers that its operands are.
    pub(crate) fn address(&self, address: OperandAddress) -> Address {
        let reg = |operand: usize| self.operands[operand].vreg();
        let base = match address.base {
            OperandBase::Operand(operand) => Base::Reg(reg(operand)),
            OperandBase::Pool => Base::Pool,
            OperandBase::Frame => Base::Frame,
        };
        let (scale, offset, broadcast) = (address.scale, address.offset, address.broadcast);
        Address { base, index: address.index.map(reg), scale, offset, broadcast }
    }

    /// Memory as one more operand.
    pub(crate) fn memory(&mut self, address: Address) -> Slot {
        Slot::Memory(self.operand_address(&address))
    }

    /// The numbers of the virtual registers that it reads, those that it hands to parameters of a block among them.
    fn reads(&self) -> impl Iterator<Item = usize> + '_ {
        let handed: &[VReg] = if let Flow::Jump(args) = &self.flow { args } else { &[] };
        let operands = self.operands.iter().filter(|operand| operand.kind() == OperandKind::Use);
        operands.map(|operand| operand.vreg().vreg()).chain(handed.iter().map(|arg| arg.vreg()))
    }

    fn read(&mut self, reg: VReg) -> usize {
        match self.defined(reg) {
            Some(own) => own,
            None => self.operand(Operand::reg_use(reg)),
        }
    }

    /// One more instruction to encode; where it reads what one before wrote, it is of that register.
    pub(crate) fn then(mut self, code: Code, args: &[Arg]) -> Self {
        let mut slots = Vec::with_capacity(args.len());
        for arg in args {
            slots.push(match arg {
                Arg::Def(reg) => match self.defined(*reg) {
                    Some(own) => Slot::Operand(own),
                    None => Slot::Operand(self.operand(Operand::reg_def(*reg))),
                },
                Arg::Early(reg) => match self.defined(*reg) {
                    Some(own) => Slot::Operand(own),
                    None => Slot::Operand(self.operand(Operand::reg_def_at_start(*reg))),
                },
                Arg::Over(reg, from) => {
                    let from = self.operand(Operand::reg_use(*from));
                    Slot::Operand(self.operand(Operand::reg_reuse_def(*reg, from)))
                }
                Arg::Use(reg) => Slot::Operand(self.read(*reg)),
                Arg::Late(reg) => Slot::Operand(self.operand(Operand::reg_use_at_end(*reg))),
                Arg::Any(reg) => match self.defined(*reg) {
                    Some(own) => Slot::Operand(own),
                    None => {
                        let known = self.operands.iter().position(|&own| own == Operand::reg_use(*reg));
                        Slot::Operand(known.unwrap_or_else(|| self.operand(Operand::any_use(*reg))))
                    }
                },
                Arg::Mem(address) => self.memory(*address),
                Arg::Imm(value) => Slot::Imm(*value),
            });
        }
        self.encoded.push(Encoded { code, slots, mask: None, zeroing: false });
        self
    }

    /// The instruction added last, under a mask.
    pub(crate) fn masked(mut self, mask: VReg, zeroing: bool) -> Self {
        let mask = self.read(mask);
        if let Some(last) = self.encoded.last_mut() {
            last.mask = Some(mask);
            last.zeroing = zeroing;
        }
        self
    }

    /// It stays although nobody uses its results.
    pub(crate) fn kept(mut self) -> Self {
        self.pure = false;
        self
    }
}

/// A basic block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) insts: Vec<Inst>,
    pub(crate) params: Vec<VReg>,
    pub(crate) successors: Vec<BlockId>,
    /// Whether it is seldom come to.
    pub(crate) cold: bool,
}

/// A function of machine instructions, before registers are known.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) blocks: Vec<Block>,
    /// Blocks in the order that they were filled.
    pub(crate) order: Vec<BlockId>,
    current: Option<BlockId>,
    pub(crate) vregs: usize,
    /// Bytes of a vector register.
    pub(crate) bytes: usize,
    /// Constants, each at a multiple of its length.
    pub(crate) pool: Vec<u8>,
    known: HashMap<Vec<u8>, i64>,
    /// Bytes of the stack frame beside those of the allocator.
    pub(crate) frame: usize,
}

impl Machine {
    pub(crate) fn fresh(&mut self, class: RegClass) -> VReg {
        self.vregs += 1;
        VReg::new(self.vregs - 1, class)
    }

    pub(crate) fn block(&mut self) -> BlockId {
        self.blocks.push(Block::default());
        BlockId(self.blocks.len() - 1)
    }

    pub(crate) fn fill(&mut self, block: BlockId) {
        self.order.push(block);
        self.current = Some(block);
    }

    pub(crate) fn push(&mut self, inst: Inst) {
        if let Some(block) = self.current {
            self.blocks[block.0].insts.push(inst);
        }
    }

    /// Ends the block.
    fn end(&mut self, inst: Inst, successors: Vec<BlockId>) {
        if let Some(block) = self.current.take() {
            let block = &mut self.blocks[block.0];
            block.insts.push(inst);
            block.successors = successors;
        }
    }

    pub(crate) fn jump(&mut self, to: BlockId, args: Vec<VReg>) {
        let inst = Inst { flow: Flow::Jump(args), pure: false, ..Inst::new() };
        self.end(inst, vec![to]);
    }

    /// Ends the block by a branch, after flags were set. The blocks must have no other predecessor, and no parameters.
    pub(crate) fn branch(&mut self, condition: Cond, yes: BlockId, no: BlockId) {
        let inst = Inst { flow: Flow::Branch(condition), pure: false, ..Inst::new() };
        self.end(inst, vec![yes, no]);
    }

    pub(crate) fn ret(&mut self, value: VReg) {
        let mut inst = Inst { flow: Flow::Return, pure: false, ..Inst::new() };
        inst.operands.push(Operand::reg_fixed_use(value, PReg::new(0, INT)));
        self.end(inst, Vec::new());
    }

    /// Constant bytes, of a length that is a power of two.
    pub(crate) fn constant(&mut self, bytes: &[u8]) -> Address {
        let at = match self.known.get(bytes) {
            Some(&at) => at,
            None => {
                let start = self.pool.len().next_multiple_of(bytes.len().max(1));
                self.pool.resize(start, 0);
                self.pool.extend_from_slice(bytes);
                self.known.insert(bytes.to_vec(), start as i64);
                start as i64
            }
        };
        Address { base: Base::Pool, index: None, scale: 1, offset: at, broadcast: false }
    }

    /// Room on the stack, for use within few instructions: all get the same.
    pub(crate) fn room(&mut self, bytes: usize) -> Address {
        self.frame = self.frame.max(bytes.next_multiple_of(64));
        Address { base: Base::Frame, index: None, scale: 1, offset: 0, broadcast: false }
    }

    /// How often each virtual register is read.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0usize; self.vregs];
        for read in self.blocks.iter().flat_map(|block| &block.insts).flat_map(Inst::reads) {
            uses[read] += 1;
        }
        uses
    }

    /// Takes out what is not used, again and again.
    pub(crate) fn sweep(&mut self) {
        let mut uses = self.uses();
        loop {
            let mut gone = false;
            for block in self.blocks.iter_mut().rev() {
                for inst in block.insts.iter_mut().rev() {
                    if inst.pure
                        && !inst.operands.is_empty()
                        && inst
                            .operands
                            .iter()
                            .all(|operand| operand.kind() == OperandKind::Use || uses[operand.vreg().vreg()] == 0)
                    {
                        inst.reads().for_each(|read| uses[read] -= 1);
                        *inst = Inst::new();
                        gone = true;
                    }
                }
            }
            if !gone {
                break;
            }
        }
        for block in &mut self.blocks {
            block.insts.retain(|inst| !inst.pure || !inst.operands.is_empty());
        }
    }
}
