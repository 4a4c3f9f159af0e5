//! Kernels of one plan that are the same code, which is made once.
//!
//! Kernels are alike if their functions are equal but for names, for what their failures say, and for numbers of floating point. Numbers in
//! which kernels that are alike differ become words of the argument table, so that the one code serves all; each kernel keeps its own
//! failures, so that errors name its own operations and places.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use fusebox_ir::{Constant, ElementType, Kernel};
use fusebox_vector::debug_verify_call;
use smallvec::smallvec;

use crate::{
    emit::HiddenArgument,
    kernel::CompiledKernel,
    vector::{Function, Inst, Op, Region, Type, Value},
};

/// Kernels with their functions, as they come; of those that are alike the functions of the first are kept.
#[derive(Default)]
pub(crate) struct Alike {
    kernels: Vec<CompiledKernel>,
    /// Of each kernel the numbers of its functions, in order, and the words of its table before hidden ones.
    numbers: Vec<Vec<Constant>>,
    words: Vec<usize>,
    /// First kernels by the hash of their functions without numbers.
    known: HashMap<u64, Vec<usize>>,
}

impl Alike {
    /// Takes one more.
    pub(crate) fn add(&mut self, kernel: &Kernel, mut compiled: CompiledKernel) {
        let (position, words) = (self.kernels.len(), kernel.sizes.len() + kernel.arrays.len());
        for (_, function) in &compiled.parts {
            debug_verify_call(function, words + compiled.hidden.len(), "emitting");
        }
        let numbers = take_numbers(&mut compiled);
        let same = self.known.entry(hash(&compiled)).or_default();
        let first = same
            .iter()
            .copied()
            .find(|&first| words == self.words[first] && are_alike(&self.kernels[first], &compiled));
        match first {
            None => same.push(position),
            Some(_) => compiled.drop_bodies(),
        }
        compiled.first = first.unwrap_or(position);
        self.kernels.push(compiled);
        self.numbers.push(numbers);
        self.words.push(words);
    }

    /// All of them. Where numbers differ, the functions of the first load them from words of the table that all of its like have.
    pub(crate) fn finish(mut self) -> Vec<CompiledKernel> {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.kernels.len()];
        self.kernels.iter().enumerate().for_each(|(position, kernel)| members[kernel.first].push(position));
        for (first, members) in members.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
            let mut sources = Vec::with_capacity(self.numbers[first].len());
            for at in 0..self.numbers[first].len() {
                let number = self.numbers[first][at];
                let differs = members.iter().any(|&member| self.numbers[member][at] != number);
                sources.push(if differs {
                    NumberSource::Argument(self.word(members, at))
                } else {
                    NumberSource::Constant(number)
                });
            }
            put_numbers(&mut self.kernels[first], &sources);
            let kernel = &self.kernels[first];
            for (_, function) in &kernel.parts {
                debug_verify_call(function, self.words[first] + kernel.hidden.len(), "sharing code");
            }
        }
        self.kernels
    }

    /// A word of the table that holds, for each of these kernels, its own number at `at`.
    fn word(&mut self, members: &[usize], at: usize) -> u32 {
        // One word serves several places, if each of the kernels has the same number there.
        let own = |member: usize| HiddenArgument::Number(self.numbers[member][at]);
        let count = self.kernels[members[0]].hidden.len();
        let holds =
            |argument: &usize| members.iter().all(|&member| self.kernels[member].hidden[*argument] == own(member));
        let known = (0..count).find(holds);
        let argument = known.unwrap_or_else(|| {
            for &member in members {
                let number = HiddenArgument::Number(self.numbers[member][at]);
                self.kernels[member].hidden.push(number);
            }
            count
        });
        (self.words[members[0]] + argument) as u32
    }
}

/// Where a function has a number from.
#[derive(Clone, Copy)]
enum NumberSource {
    /// It stands in the code.
    Constant(Constant),
    /// It is the word at this position of the argument table.
    Argument(u32),
}

fn hash(kernel: &CompiledKernel) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (_, function) in &kernel.parts {
        (&function.types, &function.body, function.scratch).hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether kernels without their numbers are the same code.
fn are_alike(a: &CompiledKernel, b: &CompiledKernel) -> bool {
    let parts = || a.parts.iter().zip(&b.parts);
    let sites = |function: &Function| function.sites.iter().map(|site| (site.lanes, site.operands)).collect::<Vec<_>>();
    a.gang == b.gang
        && a.hidden == b.hidden
        && a.parts.len() == b.parts.len()
        && parts().all(|((part, one), (other_part, other))| {
            part == other_part
                && (&one.types, one.scratch, &one.body) == (&other.types, other.scratch, &other.body)
                && sites(one) == sites(other)
        })
}

/// Whether a number may be a word of the table: what is known of others decides which instructions are used.
fn is_number(constant: Constant) -> bool {
    matches!(constant.ty(), ElementType::F32 | ElementType::F64)
}

/// Puts zero in the place of numbers, and gives them in order.
fn take_numbers(kernel: &mut CompiledKernel) -> Vec<Constant> {
    let mut numbers = Vec::new();
    for (_, function) in &mut kernel.parts {
        each_region(&mut function.body, &mut |region| {
            for inst in &mut region.0 {
                if let Op::Constant(constant) = &mut inst.op
                    && is_number(*constant)
                {
                    numbers.push(std::mem::replace(constant, Constant::zero(constant.ty())));
                }
            }
        });
    }
    numbers
}

/// The reverse of [`take_numbers`], with some of them loaded from the table.
fn put_numbers(kernel: &mut CompiledKernel, sources: &[NumberSource]) {
    let mut next = sources.iter().copied();
    for (_, function) in &mut kernel.parts {
        let types = &mut function.types;
        each_region(&mut function.body, &mut |region| {
            for inst in std::mem::take(&mut region.0) {
                match &inst.op {
                    Op::Constant(constant) if is_number(*constant) => match next.next() {
                        Some(NumberSource::Constant(number)) => {
                            region.0.push(Inst { op: Op::Constant(number), ..inst })
                        }
                        Some(NumberSource::Argument(position)) => load(position, inst.results[0], types, region),
                        None => unreachable!("there are as many sources as numbers"),
                    },
                    _ => region.0.push(inst),
                }
            }
        });
    }
}

/// Instructions that give `result` the number in a word of the table.
fn load(position: u32, result: Value, types: &mut Vec<Type>, region: &mut Region) {
    let Type { element, lanes } = types[result.0 as usize];
    let mut push = |element: ElementType, op: Op| {
        types.push(Type { element, lanes: 1 });
        let value = Value(types.len() as u32 - 1);
        region.0.push(Inst { results: smallvec![value], op });
        value
    };
    let mut bits = push(ElementType::I64, Op::Argument(position));
    if element == ElementType::F32 {
        bits = push(ElementType::I32, Op::Convert(bits));
    }
    if lanes == 1 {
        region.0.push(Inst { results: smallvec![result], op: Op::Bits(bits) });
    } else {
        let number = push(element, Op::Bits(bits));
        region.0.push(Inst { results: smallvec![result], op: Op::Splat(number) });
    }
}

/// What a word of the table holds for a number: of 32 bits, the `i64` that converts to an `i32` of these bits.
pub(crate) fn bits(number: Constant) -> u64 {
    match number.ty() {
        ElementType::F32 => i64::from(number.bits() as u32 as i32) as u64,
        _ => number.bits(),
    }
}

/// Visits a region, then those inside of it, in order.
fn each_region(region: &mut Region, visit: &mut dyn FnMut(&mut Region)) {
    visit(region);
    for inst in &mut region.0 {
        inst.op.regions_mut().for_each(|inner| each_region(inner, visit));
    }
}
