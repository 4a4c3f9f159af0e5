//! The least and the greatest of floats in a loop: whether any is NaN is found out beside.
//!
//! Processors find the lesser of two numbers in one instruction, but the lesser of a number and NaN in three, or six. So accumulators in a loop take numbers alone, and a mask keeps in which
//! lanes there was no NaN: one for all accumulators of the same elements. It counts when they have become one.

use fusebox_ir::{Binary, Constant, ElementType};
use rustc_hash::FxHashMap;

use crate::{Builder, Function, Inst, Loop, Op, Region, Type, Value};

/// More masks take registers that conditions need.
const MOST_MASKS: usize = 3;

/// The function with such accumulators; none where it has no such loops.
pub fn extremes(function: &Function) -> Option<Function> {
    let mut own = Extremes {
        uses: vec![0; function.types.len()],
        known: vec![None; function.types.len()],
        b: Builder::beside(function),
        any: false,
    };
    for inst in function.instructions() {
        for operand in inst.op.operands() {
            own.uses[operand.0 as usize] += 1;
        }
        if let ([result], Op::Constant(constant)) = (&inst.results[..], &inst.op) {
            own.known[result.0 as usize] = Some(*constant);
        }
    }
    let mut body = function.body.clone();
    own.region(&mut body);
    own.any.then(|| Function { body, ..own.b.finish(function.name.clone()) })
}

struct Extremes {
    /// How often each value of the function is used.
    uses: Vec<u32>,
    /// What values are known to be.
    known: Vec<Option<Constant>>,
    b: Builder,
    any: bool,
}

/// How an accumulator becomes that of the next turn.
struct Chain {
    function: Binary,
    /// What it takes.
    elements: Vec<Value>,
    /// Instructions of the body, by position.
    insts: Vec<usize>,
}

/// Accumulators of a loop that become one value.
struct Bag {
    function: Binary,
    /// Carried values, by position.
    carried: Vec<usize>,
    /// The instructions behind the loop that combine them, by position: the last makes the value.
    combined: Vec<usize>,
}

/// What is looked at for several bags, and the values that these become.
struct Mask {
    elements: Vec<Value>,
    /// First values that may be NaN.
    starts: Vec<Value>,
    bags: Vec<(Value, Bag)>,
}

impl Extremes {
    fn region(&mut self, region: &mut Region) {
        let mut at = 0;
        while at < region.0.len() {
            region.0[at].op.regions_mut().for_each(|inner| self.region(inner));
            at = self.apart(region, at) + 1;
        }
    }

    /// Looks for NaN beside the accumulators of the instruction that stands there, if it is a loop that has such; gives where it stands then.
    fn apart(&mut self, region: &mut Region, at: usize) -> usize {
        let Inst { results, op: Op::Loop(own) } = &region.0[at] else { return at };
        let chains: Vec<Option<Chain>> = self.chains(own);
        let masks = self.masks(own, &chains, self.bags(&chains, results, &region.0[at + 1..]));
        if masks.is_empty() {
            return at;
        }
        self.any = true;
        let mut behind = region.0.split_off(at + 1);
        let Some(Inst { mut results, op: Op::Loop(mut own) }) = region.0.pop() else { return at };
        // What comes behind how many of the instructions behind the loop.
        let mut choices: Vec<(usize, Vec<Inst>)> = Vec::new();
        for Mask { elements, starts, bags } in masks {
            let lanes = self.b.lanes(elements[0]);
            self.b.open();
            let all = self.b.constant(Constant::from(true));
            let all = self.b.splat(all, lanes);
            let start = self.are_numbers(all, &starts);
            region.0.append(&mut self.b.close().0);
            let mask = self.b.fresh(ElementType::Bool, lanes);
            self.b.open();
            let next = self.are_numbers(mask, &elements);
            own.body.0.append(&mut self.b.close().0);
            let last = self.b.fresh(ElementType::Bool, lanes);
            own.starts.push(start);
            own.carried.push(mask);
            own.next.push(next);
            results.push(last);
            for (value, bag) in bags {
                let of_chains = bag.carried.iter().filter_map(|&own| chains[own].as_ref());
                of_chains.flat_map(|chain| &chain.insts).for_each(|&at| take_numbers(&mut own.body.0[at]));
                bag.combined.iter().for_each(|&at| take_numbers(&mut behind[at]));
                let number = self.b.fresh(self.b.element(value), lanes);
                let maker = bag.combined.last();
                let made = maker.map_or(&mut results, |&at| &mut behind[at].results);
                made.iter_mut().filter(|own| **own == value).for_each(|own| *own = number);
                self.b.open();
                let nan = self.b.float(self.b.element(value), f64::NAN);
                let nan = self.b.splat(nan, lanes);
                self.b.push(&[value], Op::Select(last, number, nan));
                choices.push((maker.map_or(0, |&at| at + 1), self.b.close().0));
            }
        }
        let place = region.0.len();
        region.0.push(Inst { results, op: Op::Loop(own) });
        for (at, inst) in behind.into_iter().enumerate() {
            choices.iter_mut().filter(|(own, _)| *own == at).for_each(|(_, insts)| region.0.append(insts));
            region.0.push(inst);
        }
        choices.into_iter().for_each(|(_, mut insts)| region.0.append(&mut insts));
        place
    }

    /// Whether none of these is NaN, and the mask holds. Two are looked at by one comparison.
    fn are_numbers(&mut self, mask: Value, values: &[Value]) -> Value {
        values.chunks(2).fold(mask, |mask, pair| {
            let numbers = self.b.are_numbers(pair[0], *pair.last().unwrap_or(&pair[0]));
            self.b.binary(Binary::And, mask, numbers)
        })
    }

    /// For each carried value of a loop.
    fn chains(&self, own: &Loop) -> Vec<Option<Chain>> {
        let mut makers = FxHashMap::default();
        for (at, inst) in own.body.0.iter().enumerate() {
            if let ([result], &Op::Binary(function @ (Binary::Min | Binary::Max), a, b)) = (&inst.results[..], &inst.op)
            {
                makers.insert(*result, (at, function, [a, b]));
            }
        }
        (own.carried.iter().zip(&own.next))
            .map(|(&carried, &next)| {
                let Type { element, lanes } = self.b.ty(carried);
                let float = matches!(element, ElementType::F32 | ElementType::F64) && lanes > 1;
                let &(_, function, _) = makers.get(&next).filter(|_| float && self.is_used_once(carried))?;
                let mut chain = Chain { function, elements: Vec::new(), insts: Vec::new() };
                let mut value = next;
                while value != carried {
                    let &(at, own, [a, b]) = makers.get(&value).filter(|_| self.is_used_once(value))?;
                    if own != function {
                        return None;
                    }
                    // What is taken may be the lesser of others, too: the accumulator is first there, or alone.
                    let leads =
                        |value: Value| value == carried || makers.get(&value).is_some_and(|maker| maker.1 == function);
                    let (onward, element) = if b == carried || !leads(a) { (b, a) } else { (a, b) };
                    chain.elements.push(element);
                    chain.insts.push(at);
                    value = onward;
                }
                Some(chain)
            })
            .collect()
    }

    /// The values that accumulators become behind their loop, where they are used for nothing else on the way.
    fn bags(&self, chains: &[Option<Chain>], results: &[Value], behind: &[Inst]) -> Vec<(Value, Bag)> {
        let mut bags: Vec<(Value, Bag)> = (chains.iter().zip(results).enumerate())
            .filter_map(|(carried, (chain, &result))| {
                let function = chain.as_ref()?.function;
                Some((result, Bag { function, carried: vec![carried], combined: Vec::new() }))
            })
            .collect();
        for (at, inst) in behind.iter().enumerate() {
            let ([result], &Op::Binary(function, a, b)) = (&inst.results[..], &inst.op) else { continue };
            let place = |value: Value| {
                let is_bag = |(own, bag): &(Value, Bag)| *own == value && bag.function == function;
                bags.iter().position(is_bag).filter(|_| self.is_used_once(value))
            };
            let (Some(first), Some(second)) = (place(a), place(b)) else { continue };
            let (_, other) = bags.remove(second);
            let (value, bag) = &mut bags[first - usize::from(second < first)];
            *value = *result;
            bag.carried.extend(other.carried);
            bag.combined.extend(other.combined);
            bag.combined.push(at);
            bag.combined.sort_unstable();
        }
        bags
    }

    /// Bags of the same elements and first values share a mask: they have the same NaN.
    fn masks(&self, own: &Loop, chains: &[Option<Chain>], bags: Vec<(Value, Bag)>) -> Vec<Mask> {
        let mut masks: Vec<Mask> = Vec::new();
        for (value, bag) in bags {
            let of_chains = bag.carried.iter().filter_map(|&own| chains[own].as_ref());
            let mut elements: Vec<Value> = of_chains.flat_map(|chain| chain.elements.iter().copied()).collect();
            let mut starts: Vec<Value> = bag.carried.iter().map(|&carried| own.starts[carried]).collect();
            starts.retain(|&start| !self.is_number(start));
            for values in [&mut elements, &mut starts] {
                values.sort_unstable();
                values.dedup();
            }
            match masks.iter_mut().find(|mask| mask.elements == elements && mask.starts == starts) {
                Some(mask) => mask.bags.push((value, bag)),
                None => masks.push(Mask { elements, starts, bags: vec![(value, bag)] }),
            }
        }
        masks.truncate(MOST_MASKS);
        masks
    }

    fn is_used_once(&self, value: Value) -> bool {
        self.uses.get(value.0 as usize) == Some(&1)
    }

    /// Whether it is known not to be NaN.
    fn is_number(&self, value: Value) -> bool {
        let known = self.known.get(value.0 as usize).copied().flatten();
        known.and_then(Constant::as_f64).is_some_and(|number| !number.is_nan())
    }
}

fn take_numbers(inst: &mut Inst) {
    if let Op::Binary(function, a, b) = inst.op {
        inst.op = Op::OfNumbers(function, a, b);
    }
}
