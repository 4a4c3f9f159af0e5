//! Scripts of lanes as functions of machine code: a lane is one call.
//!
//! The function works on a [`Frame`](super::frame::Frame). What is seldom met or large is done by helpers ([`super::helpers`]). It gives how
//! the lane ended: as helpers do, 0, or a number of [`Stop`].

mod launch;
mod loops;

use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, InstBuilder, MemFlagsData, SigRef, Signature, Value as Clif, condcodes::IntCC, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::FunctionBuilder;
use fusebox_ir::{ElementType, MAX_EXTENT};

use super::{
    frame::{ELEMENTS, FREE, LANES, LIMIT, LIVE, NO_ARRAY, PEAK, PIECE, PIECES, Stop},
    helpers,
    memory::{ADDRESS_AT, BYTES_AT, COUNT_AT, NEXT_AT, PieceWords, ROOM_AT},
    script::{Do, Number, Script, Slot, Source},
};

fn with_parameters(convention: CallConv, count: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.resize(count, AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

/// Writes the function of a script.
pub(crate) fn lower(script: &Script, mut b: FunctionBuilder<'_>, config: TargetFrontendConfig) {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let frame = b.block_params(entry)[0];
    let (ended, failed) = (b.create_block(), b.create_block());
    b.append_block_param(ended, types::I64);
    b.set_cold_block(failed);
    let convention = b.func.signature.call_conv;
    let helpers = [1, 2, 3, 4].map(|count| b.import_signature(with_parameters(convention, count)));
    let kernel = b.import_signature(crate::lower::signature(convention));
    let mut lower = Lower { script, b, frame, ended, failed, helpers, kernel };
    lower.steps(&script.steps);
    let done = lower.number(0);
    lower.b.ins().jump(ended, &[BlockArg::Value(done)]);
    lower.b.switch_to_block(failed);
    let stop = lower.number(Stop::Failed as i64);
    lower.b.ins().jump(ended, &[BlockArg::Value(stop)]);
    lower.b.switch_to_block(ended);
    let how = lower.b.block_params(ended)[0];
    lower.b.ins().return_(&[how]);
    lower.b.seal_all_blocks();
    lower.b.finalize(config);
}

/// Where an array is, in registers.
#[derive(Clone, Copy)]
struct Loaded {
    address: Clif,
    elements: Clif,
    piece: Clif,
}

struct Lower<'s, 'f> {
    script: &'s Script,
    b: FunctionBuilder<'f>,
    frame: Clif,
    /// Gives how the lane ended.
    ended: Block,
    failed: Block,
    /// Signatures of helpers, by their parameters less one.
    helpers: [SigRef; 4],
    kernel: SigRef,
}

impl<'s> Lower<'s, '_> {
    fn steps(&mut self, steps: &'s [Do]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &'s Do) {
        match step {
            Do::Allocate { array, in_place_of } => self.allocate(*array, *in_place_of),
            Do::Data { array, bytes } => {
                let elements = self.elements(*array);
                let (array, bytes) = (self.number(*array as i64), self.number(*bytes as i64));
                self.may_stop(helpers::data as *const (), &[array, elements, bytes]);
            }
            Do::CopyArray { to, from, take } => {
                let elements = self.elements(*to);
                let from = from << 1 | usize::from(*take);
                let (to, from) = (self.number(*to as i64), self.number(from as i64));
                self.may_stop(helpers::copy as *const (), &[to, elements, from]);
            }
            Do::SetScalar { to, from } => {
                let bits = self.source(from);
                self.set_scalar(*to, bits);
            }
            Do::NameArray { to, from } => self.name(*to, *from, IntCC::NotEqual),
            Do::Truncate { to, from } => self.name(*to, *from, IntCC::SignedGreaterThan),
            Do::Launch(call) => self.launch(*call),
            Do::Equal(left, right) => self.compare(*left, *right, IntCC::NotEqual),
            Do::AtMost(less, more) => self.compare(*less, *more, IntCC::SignedGreaterThan),
            Do::If { condition, then, otherwise } => self.branch(condition, then, otherwise),
            Do::While { test, condition, body, moves } => self.turns(test, condition, body, moves),
            Do::Free(array) => self.free(*array),
            Do::Extent { array, dim, declared } => {
                let extent = self.load(self.script.layout.extent(self.script.arrays[*array].first + dim));
                let declared = self.known(*declared);
                let other = self.b.ins().icmp(IntCC::NotEqual, extent, declared);
                self.fail_if(other);
            }
        }
    }

    /// Memory for an array: that of another of as many elements at once, if nothing else is in it, and else what the helper finds.
    fn allocate(&mut self, array: usize, in_place_of: Option<usize>) {
        let elements = self.elements(array);
        let next = self.b.create_block();
        let width = |array: usize| self.script.arrays[array].width;
        if let Some(source) = in_place_of.filter(|&source| width(source) == width(array)) {
            let place = self.place(source);
            let count = self.count(place.piece, 0);
            let alone = self.b.ins().icmp_imm_u(IntCC::Equal, count, 1);
            let alike = self.b.ins().icmp(IntCC::Equal, place.elements, elements);
            let fits = self.b.ins().band(alone, alike);
            let (over, elsewhere) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(fits, over, &[], elsewhere, &[]);
            self.b.switch_to_block(over);
            self.count(place.piece, 1);
            self.free(array);
            self.set_place(array, place);
            self.b.ins().jump(next, &[]);
            self.b.switch_to_block(elsewhere);
        }
        let helped = self.b.create_block();
        self.b.set_cold_block(helped);
        self.take_free(array, elements, (next, helped));
        self.b.switch_to_block(helped);
        let over = in_place_of.map_or(NO_ARRAY, |source| source as i64);
        let (array, over) = (self.number(array as i64), self.number(over));
        self.may_stop(helpers::allocate as *const (), &[array, elements, over]);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Goes on with an array in the piece of memory that was freed last, if it has room; else elsewhere.
    fn take_free(&mut self, array: usize, elements: Clif, (next, elsewhere): (Block, Block)) {
        let piece = self.load(FREE);
        let words = self.words_of(piece);
        let word = |own: &mut Self, at: i32| own.b.ins().load(types::I64, MemFlagsData::trusted(), words, at);
        let (room, limit) = (word(self, ROOM_AT), self.load(LIMIT));
        let bytes = self.b.ins().imul_imm_s(elements, self.script.arrays[array].width as i64);
        // More elements may be more bytes than a number can say.
        let some = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, elements, MAX_EXTENT);
        let fits = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, bytes, room);
        let below = self.b.ins().icmp(IntCC::SignedLessThan, bytes, limit);
        let fits = self.b.ins().band(fits, below);
        let fits = self.b.ins().band(fits, some);
        let taken = self.b.create_block();
        self.b.ins().brif(fits, taken, &[], elsewhere, &[]);
        self.b.switch_to_block(taken);
        let (before, address) = (word(self, NEXT_AT), word(self, ADDRESS_AT));
        self.store(FREE, before);
        let one = self.number(1);
        self.b.ins().store(MemFlagsData::trusted(), one, words, COUNT_AT);
        self.b.ins().store(MemFlagsData::trusted(), bytes, words, BYTES_AT);
        let (live, peak) = (self.load(LIVE), self.load(PEAK));
        let live = self.b.ins().iadd(live, bytes);
        let peak = self.b.ins().umax(live, peak);
        self.store(LIVE, live);
        self.store(PEAK, peak);
        self.free(array);
        self.set_place(array, Loaded { address, elements, piece });
        self.b.ins().jump(next, &[]);
    }

    /// Where the words of a piece of memory are.
    fn words_of(&mut self, piece: Clif) -> Clif {
        let pieces = self.load(PIECES);
        let offset = self.b.ins().imul_imm_s(piece, size_of::<PieceWords>() as i64);
        self.b.ins().iadd(pieces, offset)
    }

    fn number(&mut self, number: i64) -> Clif {
        self.b.ins().iconst(types::I64, number)
    }

    fn load(&mut self, at: usize) -> Clif {
        self.b.ins().load(types::I64, MemFlagsData::trusted(), self.frame, (at * 8) as i32)
    }

    fn store(&mut self, at: usize, word: Clif) {
        self.b.ins().store(MemFlagsData::trusted(), word, self.frame, (at * 8) as i32);
    }

    fn scalar(&mut self, number: usize) -> Clif {
        self.load(self.script.layout.scalar(number))
    }

    /// A scalar, of which no more bytes are loaded than its type has: what a kernel has just stored is otherwise not there before it is in the cache.
    fn narrow_scalar(&mut self, number: usize, ty: ElementType) -> Clif {
        let at = (self.script.layout.scalar(number) * 8) as i32;
        let flags = MemFlagsData::trusted();
        match ty.bytes() {
            1 => self.b.ins().uload8(types::I64, flags, self.frame, at),
            2 => self.b.ins().uload16(types::I64, flags, self.frame, at),
            4 => self.b.ins().uload32(flags, self.frame, at),
            _ => self.b.ins().load(types::I64, flags, self.frame, at),
        }
    }

    fn set_scalar(&mut self, number: usize, bits: Clif) {
        self.store(self.script.layout.scalar(number), bits);
    }

    fn known(&mut self, number: Number) -> Clif {
        match number {
            Number::Constant(number) => self.number(number),
            Number::Scalar(scalar) => self.scalar(scalar),
        }
    }

    fn source(&mut self, source: &Source) -> Clif {
        match *source {
            Source::Bits(bits) => self.number(bits as i64),
            Source::Slot(Slot::Scalar(scalar, ty)) => self.narrow_scalar(scalar, ty),
            // Writing a script refuses arrays in the place of scalars.
            Source::Slot(Slot::Array(_)) => self.number(0),
        }
    }

    /// The lane fails if it holds.
    fn fail_if(&mut self, holds: Clif) {
        let next = self.b.create_block();
        self.b.ins().brif(holds, self.failed, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    fn compare(&mut self, left: Number, right: Number, fails: IntCC) {
        let (left, right) = (self.known(left), self.known(right));
        let fails = self.b.ins().icmp(fails, left, right);
        self.fail_if(fails);
    }

    /// Calls a helper, which is told the lane first.
    fn help(&mut self, helper: *const (), arguments: &[Clif]) -> Clif {
        let lanes = self.load(LANES);
        let arguments: Vec<Clif> = std::iter::once(lanes).chain(arguments.iter().copied()).collect();
        let address = self.number(helper as i64);
        let call = self.b.ins().call_indirect(self.helpers[arguments.len() - 1], address, &arguments);
        self.b.inst_results(call)[0]
    }

    /// Calls a helper that says whether the lane stops.
    fn may_stop(&mut self, helper: *const (), arguments: &[Clif]) {
        let how = self.help(helper, arguments);
        let next = self.b.create_block();
        self.b.ins().brif(how, self.ended, &[BlockArg::Value(how)], next, &[]);
        self.b.switch_to_block(next);
    }

    /// Asks for the extents of an array that is to be made, and keeps them; how many elements it has.
    fn elements(&mut self, array: usize) -> Clif {
        let ty = &self.script.arrays[array];
        let mut elements: Option<Clif> = None;
        let mut fails = None;
        for (dim, &extent) in ty.extents.iter().enumerate() {
            let extent = self.known(extent);
            let large = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, extent, MAX_EXTENT);
            fails = Some(self.or(fails, large));
            elements = Some(match elements {
                None => extent,
                Some(before) => {
                    let (product, overflow) = self.b.ins().smul_overflow(before, extent);
                    fails = Some(self.or(fails, overflow));
                    product
                }
            });
            self.store(self.script.layout.extent(ty.first + dim), extent);
        }
        if let Some(fails) = fails {
            self.fail_if(fails);
        }
        match elements {
            Some(elements) => elements,
            None => self.number(1),
        }
    }

    fn or(&mut self, before: Option<Clif>, now: Clif) -> Clif {
        match before {
            Some(before) => self.b.ins().bor(before, now),
            None => now,
        }
    }

    /// The extents that an array has.
    fn extents(&mut self, array: usize) -> Vec<Clif> {
        let ty = &self.script.arrays[array];
        let extents = ty.first..ty.first + ty.extents.len();
        extents.map(|extent| self.load(self.script.layout.extent(extent))).collect()
    }

    fn place(&mut self, array: usize) -> Loaded {
        let at = self.script.layout.place(array);
        Loaded { address: self.load(at), elements: self.load(at + ELEMENTS), piece: self.load(at + PIECE) }
    }

    fn set_place(&mut self, array: usize, place: Loaded) {
        let at = self.script.layout.place(array);
        self.store(at, place.address);
        self.store(at + ELEMENTS, place.elements);
        self.store(at + PIECE, place.piece);
    }

    fn set_nowhere(&mut self, array: usize) {
        let none = self.number(0);
        self.set_place(array, Loaded { address: none, elements: none, piece: none });
    }

    /// One array more or less in a piece of memory; how many there are then.
    fn count(&mut self, piece: Clif, more: i64) -> Clif {
        let at = self.words_of(piece);
        let before = self.b.ins().load(types::I64, MemFlagsData::trusted(), at, COUNT_AT);
        if more == 0 {
            return before;
        }
        let after = self.b.ins().iadd_imm_s(before, more);
        self.b.ins().store(MemFlagsData::trusted(), after, at, COUNT_AT);
        after
    }

    /// An array is gone; its piece of memory is free if no other is in it.
    fn free(&mut self, array: usize) {
        let at = self.script.layout.place(array);
        let piece = self.load(at + PIECE);
        self.set_nowhere(array);
        let left = self.count(piece, -1);
        let (unused, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(left, next, &[], unused, &[]);
        self.b.switch_to_block(unused);
        let (words, before) = (self.words_of(piece), self.load(FREE));
        self.b.ins().store(MemFlagsData::trusted(), before, words, NEXT_AT);
        self.store(FREE, piece);
        let bytes = self.b.ins().load(types::I64, MemFlagsData::trusted(), words, BYTES_AT);
        let live = self.load(LIVE);
        let live = self.b.ins().isub(live, bytes);
        self.store(LIVE, live);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// One more name of an array, or of its first elements.
    fn name(&mut self, to: usize, from: usize, fails: IntCC) {
        let elements = self.elements(to);
        let place = self.place(from);
        let fails = self.b.ins().icmp(fails, elements, place.elements);
        let unmade = self.b.ins().icmp_imm_u(IntCC::Equal, place.address, 0);
        let fails = self.b.ins().bor(fails, unmade);
        self.fail_if(fails);
        self.count(place.piece, 1);
        self.free(to);
        self.set_place(to, Loaded { elements, ..place });
    }
}
