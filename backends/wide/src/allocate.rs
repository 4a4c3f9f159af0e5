//! Registers for virtual registers, by `regalloc2`.

use regalloc2::{
    Algorithm, Allocation, Block, Function, Inst, InstRange, MachineEnv, Operand, Output, PReg, PRegSet, RegClass,
    RegallocOptions, VReg,
};

use crate::machine::{Flow, INT, MASK, Machine, WIDE};

/// A function as the allocator sees it: blocks in the order in which they will lie.
pub(crate) struct Shape<'a> {
    machine: &'a Machine,
    /// Blocks in order, by their number in the machine.
    pub(crate) order: Vec<usize>,
    insts: Vec<(usize, usize)>,
    ranges: Vec<InstRange>,
    successors: Vec<Vec<Block>>,
    predecessors: Vec<Vec<Block>>,
}

impl<'a> Shape<'a> {
    pub(crate) fn new(machine: &'a Machine) -> Self {
        let filled = || machine.order.iter().map(|block| block.0);
        let order: Vec<usize> = filled()
            .filter(|&block| !machine.blocks[block].cold)
            .chain(filled().filter(|&block| machine.blocks[block].cold))
            .collect();
        let mut number = vec![0; machine.blocks.len()];
        for (position, &block) in order.iter().enumerate() {
            number[block] = position;
        }
        let mut insts = Vec::new();
        let mut ranges = Vec::new();
        let mut successors = Vec::new();
        let mut predecessors = vec![Vec::new(); order.len()];
        for (position, &block) in order.iter().enumerate() {
            let first = insts.len();
            insts.extend((0..machine.blocks[block].insts.len()).map(|inst| (block, inst)));
            ranges.push(InstRange::new(Inst::new(first), Inst::new(insts.len())));
            let after: Vec<Block> =
                machine.blocks[block].successors.iter().map(|to| Block::new(number[to.0])).collect();
            for to in &after {
                predecessors[to.index()].push(Block::new(position));
            }
            successors.push(after);
        }
        Self { machine, order, insts, ranges, successors, predecessors }
    }

    pub(crate) fn inst(&self, inst: Inst) -> &'a crate::machine::Inst {
        let (block, position) = self.insts[inst.index()];
        &self.machine.blocks[block].insts[position]
    }
}

impl Function for Shape<'_> {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.order.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        self.ranges[block.index()]
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.successors[block.index()]
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        &self.predecessors[block.index()]
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.machine.blocks[self.order[block.index()]].params
    }

    fn is_ret(&self, inst: Inst) -> bool {
        matches!(self.inst(inst).flow, Flow::Return)
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.inst(inst).flow, Flow::Jump(_) | Flow::Branch(_))
    }

    fn branch_blockparams(&self, _: Block, inst: Inst, _: usize) -> &[VReg] {
        match &self.inst(inst).flow {
            Flow::Jump(args) => args,
            _ => &[],
        }
    }

    fn inst_operands(&self, inst: Inst) -> &[Operand] {
        &self.inst(inst).operands
    }

    fn inst_clobbers(&self, inst: Inst) -> PRegSet {
        self.inst(inst).clobbers
    }

    fn num_vregs(&self) -> usize {
        self.machine.vregs
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        if class == WIDE { self.machine.bytes / 8 } else { 1 }
    }
}

/// Stack pointer and frame pointer.
pub(crate) const RSP: usize = 4;
pub(crate) const RBP: usize = 5;
/// Registers that the caller wants back: rbx, r12 to r15.
pub(crate) const SAVED: [usize; 5] = [3, 12, 13, 14, 15];

fn environment(bytes: usize) -> MachineEnv {
    let set = |class: RegClass, registers: &mut dyn Iterator<Item = usize>| {
        registers.fold(PRegSet::empty(), |mut set, register| {
            set.add(PReg::new(register, class));
            set
        })
    };
    let free = |&register: &usize| register != RSP && register != RBP && !SAVED.contains(&register);
    MachineEnv {
        preferred_regs_by_class: [
            set(INT, &mut (0..16).filter(free)),
            // Instructions of AVX2 name sixteen.
            set(WIDE, &mut (0..if bytes == 64 { 32 } else { 16 })),
            // k0 means "no mask" where there could be one.
            set(MASK, &mut (1..8)),
        ],
        non_preferred_regs_by_class: [set(INT, &mut SAVED.into_iter()), PRegSet::empty(), PRegSet::empty()],
        scratch_by_class: [None; 3],
        fixed_stack_slots: Vec::new(),
    }
}

/// Machine instructions of the longest function whose registers are allocated with care, which takes the square of its length: half a minute for
/// 200,000. Beyond, one pass from its end to its start does it.
const MOST_CAREFUL: usize = 32_000;

/// Runs the allocator.
pub(crate) fn allocate(shape: &Shape<'_>) -> Result<Output, String> {
    let algorithm = if shape.insts.len() <= MOST_CAREFUL { Algorithm::Ion } else { Algorithm::Fastalloc };
    let options = RegallocOptions { algorithm, validate_ssa: cfg!(debug_assertions), ..RegallocOptions::default() };
    regalloc2::run(shape, &environment(shape.machine.bytes), &options).map_err(|error| format!("no registers: {error}"))
}

/// Registers of the caller's that are written.
pub(crate) fn saved(output: &Output) -> Vec<usize> {
    let mut used = [false; 16];
    let mut note = |allocation: Allocation| {
        if let Some(register) = allocation.as_reg()
            && register.class() == INT
        {
            used[register.hw_enc()] = true;
        }
    };
    for &allocation in &output.allocs {
        note(allocation);
    }
    for (_, regalloc2::Edit::Move { from, to }) in &output.edits {
        note(*from);
        note(*to);
    }
    SAVED.into_iter().filter(|&register| used[register]).collect()
}
