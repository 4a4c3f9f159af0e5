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

use crate::{
    compile::CompiledKernel,
    emit::Extra,
    vector::{Function, Inst, Op, Region, Type, Value},
};

/// For each kernel the position of the first that it is alike to, which may be itself: the only one whose functions are to be compiled.
///
/// Where numbers differ, the functions of the first, and the words of the table of all of them, are changed for that; functions of the
/// others tell only where they may fail from here on.
pub(crate) fn first_alike(kernels: &[&Kernel], compiled: &mut [CompiledKernel]) -> Vec<usize> {
    let numbers: Vec<Vec<Constant>> = compiled.iter_mut().map(take_numbers).collect();
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut firsts = Vec::with_capacity(compiled.len());
    for position in 0..compiled.len() {
        let table = words(kernels[position]);
        let same = known.entry(hash(&compiled[position])).or_default();
        let first = same
            .iter()
            .copied()
            .find(|&first| table == words(kernels[first]) && are_alike(&compiled[first], &compiled[position]));
        if first.is_none() {
            same.push(position);
        }
        firsts.push(first.unwrap_or(position));
    }
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); compiled.len()];
    firsts.iter().enumerate().for_each(|(position, &first)| members[first].push(position));
    for (first, members) in members.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
        let mut places = Vec::with_capacity(numbers[first].len());
        for (at, &number) in numbers[first].iter().enumerate() {
            let differs = members.iter().any(|&member| numbers[member][at] != number);
            places.push(if differs {
                Place::Word(word(kernels, compiled, members, &numbers, at))
            } else {
                Place::Code(number)
            });
        }
        put_numbers(&mut compiled[first], &places);
    }
    firsts
}

/// Where a number of a function is.
#[derive(Clone, Copy)]
enum Place {
    Code(Constant),
    /// In a word of the argument table.
    Word(u32),
}

/// Words of the argument table before extra ones.
fn words(kernel: &Kernel) -> usize {
    kernel.sizes.len() + kernel.arrays.len()
}

/// A word of the table that holds, for each of these kernels, its own number at `at`.
fn word(
    kernels: &[&Kernel],
    compiled: &mut [CompiledKernel],
    members: &[usize],
    numbers: &[Vec<Constant>],
    at: usize,
) -> u32 {
    // One word serves several places, if all of the kernels have the same number there.
    let own = |member: usize| Extra::Number(numbers[member][at]);
    let count = compiled[members[0]].extras.len();
    let known = (0..count).find(|&extra| members.iter().all(|&member| compiled[member].extras[extra] == own(member)));
    let extra = known.unwrap_or_else(|| {
        members.iter().for_each(|&member| compiled[member].extras.push(own(member)));
        count
    });
    (words(kernels[members[0]]) + extra) as u32
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
    a.schedule == b.schedule
        && a.extras == b.extras
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
fn put_numbers(kernel: &mut CompiledKernel, places: &[Place]) {
    let mut next = places.iter().copied();
    for (_, function) in &mut kernel.parts {
        let types = &mut function.types;
        each_region(&mut function.body, &mut |region| {
            for inst in std::mem::take(&mut region.0) {
                match &inst.op {
                    Op::Constant(constant) if is_number(*constant) => match next.next() {
                        Some(Place::Code(number)) => region.0.push(Inst { op: Op::Constant(number), ..inst }),
                        Some(Place::Word(position)) => load(position, inst.results[0], types, region),
                        None => unreachable!("there are as many places as numbers"),
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
        region.0.push(Inst { results: vec![value], op });
        value
    };
    let mut bits = push(ElementType::I64, Op::Argument(position));
    if element == ElementType::F32 {
        bits = push(ElementType::I32, Op::Convert(bits));
    }
    if lanes == 1 {
        region.0.push(Inst { results: vec![result], op: Op::Bits(bits) });
    } else {
        let number = push(element, Op::Bits(bits));
        region.0.push(Inst { results: vec![result], op: Op::Splat(number) });
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
        match &mut inst.op {
            Op::Loop { body, .. } => each_region(body, visit),
            Op::While { header, body, .. } => [header, body].into_iter().for_each(|inner| each_region(inner, visit)),
            Op::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|inner| each_region(inner, visit)),
            _ => {}
        }
    }
}
