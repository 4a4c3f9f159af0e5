//! The vector IR to Cranelift: gangs as 128-bit registers, masks as lanes of ones.

mod gang;
pub mod helpers;
mod memory;
pub mod patch;
mod registers;
mod scalar;

use cranelift_codegen::ir::{
    AbiParam, BlockArg, FuncRef, InstBuilder, MemFlagsData, Signature, Value as Clif, condcodes::IntCC, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::FunctionBuilder;
use fusebox_ir::{Constant, ElementType};

use crate::vector::{Append, Function, If, Inst, Loop, Op, Region, Type, Value, While};
use patch::Patches;
use registers::{Registers, int_vector, registers, scalar_type, vector_type};

/// What the machine has beyond the baseline.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Fused multiply-add as an instruction.
    pub fma: bool,
    /// Rounding to whole numbers as an instruction.
    pub rounding: bool,
    /// Streaming stores and prefetches, put in by [`patch`].
    pub streaming: bool,
}

/// Bytes of the masks that the error slot takes before operands, and of each operand: 64 lanes of 8 bytes.
pub const SLOT_STRIDE: i32 = 512;

/// The signature of every block function: argument table, range, scratch memory, error slot; 0, or the site of a failure plus 1.
pub fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend([AbiParam::new(types::I64); 5]);
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

/// What came out of lowering a function beside its code.
#[derive(Debug)]
pub struct Lowered {
    /// For each site the bytes of a lane of its mask (0: uniform).
    pub widths: Vec<u32>,
    /// Instructions to patch in the machine code.
    pub patches: Patches,
}

/// Lowers one function.
pub fn lower(
    function: &Function,
    mut b: FunctionBuilder<'_>,
    exact: FuncRef,
    features: Features,
    config: TargetFrontendConfig,
) -> Lowered {
    fusebox_vector::debug_verify(function, "whoever wants code");
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let params = b.block_params(entry).to_vec();
    let mut lower = Lower {
        function,
        b,
        values: vec![None; function.types.len()],
        constants: vec![None; function.types.len()],
        params,
        exact,
        features,
        site_widths: vec![0; function.sites.len()],
        mask_bytes: mask_bytes(function),
        patches: Patches::default(),
        streams: features.streaming
            && function.instructions().iter().any(|inst| matches!(inst.op, Op::Store { streaming: true, .. })),
    };
    lower.region(&function.body);
    lower.fence();
    let none = lower.b.ins().iconst(types::I64, 0);
    lower.b.ins().return_(&[none]);
    lower.b.seal_all_blocks();
    let widths = std::mem::take(&mut lower.site_widths);
    let patches = std::mem::take(&mut lower.patches);
    lower.b.finalize(config);
    Lowered { widths, patches }
}

/// Bytes of a mask's lane where masks meet: those of what is compared most often.
fn mask_bytes(function: &Function) -> u32 {
    let mut counts = [0usize; 9];
    for inst in function.instructions() {
        if let Op::Binary(f, a, _) = inst.op
            && f.is_comparison()
        {
            let ty = function.types[a.0 as usize];
            if ty.lanes > 1 && ty.element != ElementType::Bool {
                counts[ty.element.bytes()] += 1;
            }
        }
    }
    (1..=8u32)
        .rev()
        .max_by_key(|&bytes| counts[bytes as usize])
        .filter(|&bytes| counts[bytes as usize] > 0)
        .unwrap_or(4)
}

struct Lower<'a> {
    function: &'a Function,
    b: FunctionBuilder<'a>,
    values: Vec<Option<Registers>>,
    constants: Vec<Option<Constant>>,
    params: Vec<Clif>,
    exact: FuncRef,
    features: Features,
    site_widths: Vec<u32>,
    mask_bytes: u32,
    patches: Patches,
    /// Whether there are streaming stores.
    streams: bool,
}

impl Lower<'_> {
    fn region(&mut self, region: &Region) {
        for inst in &region.0 {
            self.inst(inst);
        }
    }

    fn inst(&mut self, inst: &Inst) {
        match &inst.op {
            Op::Loop(own) => {
                let Loop { from, to, step, index, starts, carried, body, next } = &**own;
                let (from, to) = (self.one(*from), self.one(*to));
                let (inside, after) = (self.b.create_block(), self.b.create_block());
                let starts = self.arguments(starts);
                let enters = self.b.ins().icmp(IntCC::SignedLessThan, from, to);
                let first: Vec<BlockArg> =
                    std::iter::once(BlockArg::Value(from)).chain(starts.iter().copied()).collect();
                self.b.ins().brif(enters, inside, &first, after, &starts);
                self.b.switch_to_block(inside);
                let at = self.b.append_block_param(inside, types::I64);
                self.set(*index, Registers::One(at));
                self.parameters(inside, carried);
                self.region(body);
                let next = self.arguments(next);
                let step = self.b.ins().iconst(types::I64, *step);
                let following = self.b.ins().iadd(at, step);
                let again = self.b.ins().icmp(IntCC::SignedLessThan, following, to);
                let more: Vec<BlockArg> =
                    std::iter::once(BlockArg::Value(following)).chain(next.iter().copied()).collect();
                self.b.ins().brif(again, inside, &more, after, &next);
                self.b.switch_to_block(after);
                self.parameters(after, &inst.results);
            }
            Op::While(own) => {
                let While { starts, carried, header, condition, body, next } = &**own;
                let (test, inside, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                let starts = self.arguments(starts);
                self.b.ins().jump(test, &starts);
                self.b.switch_to_block(test);
                self.parameters(test, carried);
                self.region(header);
                let condition = self.one(*condition);
                let results = self.arguments(carried);
                self.b.ins().brif(condition, inside, &[], after, &results);
                self.b.switch_to_block(inside);
                self.region(body);
                let next = self.arguments(next);
                self.b.ins().jump(test, &next);
                self.b.switch_to_block(after);
                self.parameters(after, &inst.results);
            }
            Op::If(own) => {
                let If { condition, then, then_results, otherwise, otherwise_results } = &**own;
                let (yes, no, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                let condition = self.one(*condition);
                self.b.ins().brif(condition, yes, &[], no, &[]);
                for (block, region, results) in [(yes, then, then_results), (no, otherwise, otherwise_results)] {
                    self.b.switch_to_block(block);
                    self.region(region);
                    let results = self.arguments(results);
                    self.b.ins().jump(after, &results);
                }
                self.b.switch_to_block(after);
                self.parameters(after, &inst.results);
            }
            Op::FailIf { condition, site, operands } => self.fail_if(*condition, *site, operands),
            Op::Store { base, index, value, mask, streaming } => {
                self.store(*base, *index, *value, *mask, *streaming && self.features.streaming);
            }
            Op::Prefetch { base, index, element, bytes } => self.prefetch(*base, *index, *element, *bytes),
            op => {
                let result = inst.results[0];
                let registers = self.pure(op, self.ty(result));
                self.set(result, registers);
            }
        }
        if let (Op::Constant(constant), Some(result)) = (&inst.op, inst.results.first()) {
            self.constants[result.0 as usize] = Some(*constant);
        }
    }

    /// An instruction with one result of type `ty`.
    fn pure(&mut self, op: &Op, ty: Type) -> Registers {
        match op {
            Op::Parameter(position) => Registers::One(self.params[*position as usize + 1]),
            Op::Argument(position) => {
                let flags = MemFlagsData::trusted().with_readonly().with_can_move();
                Registers::One(self.b.ins().load(types::I64, flags, self.params[0], *position as i32 * 8))
            }
            Op::Constant(constant) => self.constant(*constant, ty.lanes),
            Op::Splat(value) => self.splat(*value, ty),
            Op::Iota => self.iota(ty),
            Op::Load { base, index, offset, memory } => self.load(ty, *base, *index, *offset, *memory),
            Op::LoadStrided { base, index, stride, memory } => self.load_strided(ty, *base, *index, *stride, *memory),
            Op::LoadMasked { base, index, mask, elsewhere, memory } => {
                self.load_masked(ty, (*base, *index), *mask, *elsewhere, *memory)
            }
            Op::Append(own) => {
                let Append { bases, count, values, mask, spare, whole: _ } = &**own;
                Registers::One(self.append(bases, *count, values, *mask, *spare))
            }
            Op::Any(mask) => Registers::One(self.any(*mask)),
            Op::Extract(value, lane) => {
                let registers = self.registers_of(*value);
                Registers::One(self.extract(&registers, *lane))
            }
            Op::Insert(value, lane, new) => {
                let (registers, new) = (self.registers_of(*value), self.one(*new));
                self.insert(registers, *lane, new)
            }
            Op::Half { value, upper } => self.half(*value, *upper),
            Op::Reverse(value) => self.reverse(*value),
            Op::Unzip { first, second, run, odd } => self.unzip(*first, *second, *run, *odd),
            Op::Shift { value, by, fill } => self.shift(*value, *by, *fill),
            Op::Select(condition, a, b) => self.select(*condition, *a, *b),
            Op::Unary(function, a) if ty.lanes == 1 => {
                let (element, a) = (self.ty(*a).element, self.one(*a));
                Registers::One(self.unary_one(*function, element, a))
            }
            Op::Unary(function, a) => self.unary_gang(*function, *a),
            Op::Binary(function, a, b) | Op::OfNumbers(function, a, b) if ty.lanes == 1 => {
                let (element, amount) = (self.ty(*a).element, self.ty(*b).element);
                let known = self.constants[b.0 as usize];
                let (a, b) = (self.one(*a), self.one(*b));
                Registers::One(self.binary_one(*function, element, amount, a, b, known))
            }
            Op::Binary(function, a, b) | Op::OfNumbers(function, a, b) => self.binary_gang(*function, *a, *b),
            Op::AreNumbers(a, b) => self.are_numbers(*a, *b),
            Op::Fma(a, b, c) if ty.lanes == 1 => {
                let [a, b, c] = [*a, *b, *c].map(|value| self.one(value));
                Registers::One(self.fma_one(ty.element, a, b, c))
            }
            Op::Fma(a, b, c) => self.fma_gang(ty, *a, *b, *c),
            Op::Convert(a) if ty.lanes == 1 => {
                let (from, a) = (self.ty(*a).element, self.one(*a));
                Registers::One(self.convert_one(from, ty.element, a))
            }
            Op::Convert(a) => self.convert_gang(*a, ty),
            Op::Bits(a) => match self.registers_of(*a) {
                Registers::One(one) => Registers::One(self.reinterpret(scalar_type(ty.element), one)),
                Registers::Gang(registers) => Registers::Gang(
                    registers.into_iter().map(|register| self.reinterpret(vector_type(ty.element), register)).collect(),
                ),
                mask @ Registers::Mask(..) => mask,
            },
            Op::Loop(_) | Op::While(_) | Op::If(_) | Op::FailIf { .. } | Op::Store { .. } | Op::Prefetch { .. } => {
                unreachable!("instructions without a single result are lowered by themselves")
            }
        }
    }

    /// Leaves the function where the condition holds: mask and operands go to the error slot, the caller finds the lane.
    fn fail_if(&mut self, condition: Value, site: usize, operands: &[Value]) {
        let failed = self.any(condition);
        let (leave, stay) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(leave);
        self.b.ins().brif(failed, leave, &[], stay, &[]);
        self.b.switch_to_block(leave);
        let slot = self.params[4];
        let flags = MemFlagsData::trusted();
        if let Registers::Mask(bytes, registers) = self.registers_of(condition) {
            self.site_widths[site] = bytes;
            for (position, register) in registers.into_iter().enumerate() {
                self.b.ins().store(flags, register, slot, position as i32 * 16);
            }
        }
        for (position, &operand) in operands.iter().enumerate() {
            let at = SLOT_STRIDE * (position as i32 + 1);
            for (register, value) in self.flat(operand).into_iter().enumerate() {
                self.b.ins().store(flags, value, slot, at + register as i32 * 16);
            }
        }
        self.fence();
        let code = self.b.ins().iconst(types::I64, site as i64 + 1);
        self.b.ins().return_(&[code]);
        self.b.switch_to_block(stay);
    }
}
