//! Value numbering and hoisting: each thing once, and outside of the loops that it does not depend on.
//!
//! Regions are gone through in order. What is computed already, in a region around, is taken from there; what needs nothing of the loop
//! around is put before that loop. Loads are merged, where nobody writes what they read, but stay where their checks are. A check is made once:
//! behind it, its condition does not hold.

use std::{
    collections::hash_map::Entry,
    mem::{Discriminant, discriminant},
};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Function, If, Inst, Loop, Memory, Op, Region, Type, Value, Values, While};

/// What an instruction without effects computes: operation, function, operands, number, type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key(Discriminant<Op>, u8, Values, u64, Type);

/// The key of an operation, and whether it may be computed earlier.
fn key(op: &Op, ty: Type) -> Option<(Key, bool)> {
    let (function, number, moves) = match op {
        Op::Parameter(position) | Op::Argument(position) => (0, u64::from(*position), true),
        Op::Constant(constant) => (0, constant.bits(), true),
        Op::Unary(function, _) => (*function as u8, 0, true),
        Op::Binary(function, _, _) | Op::OfNumbers(function, _, _) => (*function as u8, 0, true),
        Op::Splat(_)
        | Op::Iota
        | Op::AreNumbers(..)
        | Op::Fma(..)
        | Op::Convert(_)
        | Op::Bits(_)
        | Op::Select(..)
        | Op::Any(_)
        | Op::Reverse(_) => (0, 0, true),
        Op::Load { offset, memory, .. } if *memory != Memory::Shared => (0, *offset as u64, false),
        Op::LoadStrided { memory, .. } | Op::LoadMasked { memory, .. } if *memory != Memory::Shared => (0, 0, false),
        Op::Extract(_, lane) | Op::Insert(_, lane, _) => (0, u64::from(*lane), true),
        Op::Half { upper, .. } => (u8::from(*upper), 0, true),
        Op::Shift { by, .. } => (0, u64::from(*by), true),
        Op::Unzip { run, odd, .. } => (u8::from(*odd), u64::from(*run), true),
        _ => return None,
    };
    Some((Key(discriminant(op), function, op.operands(), number, ty), moves))
}

/// A region that is being gone through.
struct Level {
    insts: Vec<Inst>,
    /// Which of all regions it is.
    number: usize,
    /// Conditions under which the function has been left.
    refused: FxHashSet<Value>,
    runs: Runs,
}

/// How often a region runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// At most once where the region around does.
    Once,
    /// As a loop: what does not depend on it may come before.
    Again,
    /// As the body of a loop whose header is the region around.
    Behind,
}

struct Numbering<'a> {
    types: &'a [Type],
    levels: Vec<Level>,
    /// How many regions were begun.
    regions: usize,
    /// What is computed, with the region that it is put into: it holds while that one is open.
    known: FxHashMap<Key, (Value, usize)>,
    /// What a value is replaced by.
    instead: Vec<Value>,
    /// The level at which each value is made.
    depth: Vec<usize>,
}

/// The function with each thing computed once.
pub fn number(function: &Function) -> Function {
    let count = function.types.len();
    let mut numbering = Numbering {
        types: &function.types,
        levels: Vec::new(),
        regions: 0,
        known: FxHashMap::default(),
        instead: (0..count as u32).map(Value).collect(),
        depth: vec![0; count],
    };
    let body = numbering.region(&function.body, Runs::Once, &[], |_| {});
    Function { body, ..function.clone_without_body() }
}

impl Numbering<'_> {
    /// A region that defines `own`, and what comes behind it while it is open.
    fn region(&mut self, region: &Region, runs: Runs, own: &[Value], behind: impl FnOnce(&mut Self)) -> Region {
        self.regions += 1;
        self.levels.push(Level { insts: Vec::new(), number: self.regions, refused: FxHashSet::default(), runs });
        for value in own {
            self.depth[value.0 as usize] = self.levels.len() - 1;
        }
        for inst in &region.0 {
            self.inst(inst);
        }
        behind(self);
        Region(self.levels.pop().map(|level| level.insts).unwrap_or_default())
    }

    fn replaced(&self, values: &mut [Value]) {
        for value in values {
            *value = self.instead[value.0 as usize];
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let here = self.levels.len() - 1;
        if let [result] = inst.results[..]
            && let Some((mut key, moves)) = key(&inst.op, self.types[result.0 as usize])
        {
            self.replaced(&mut key.2);
            let deepest = key.2.iter().map(|operand| self.depth[operand.0 as usize]).max().unwrap_or(0);
            let mut level = here;
            while moves && level > deepest && self.levels[level].runs != Runs::Once {
                level -= 1;
            }
            // In a header it would run once more.
            if level < here && self.levels[level + 1].runs == Runs::Behind {
                level += 1;
            }
            let number = self.levels[level].number;
            match self.known.entry(key) {
                Entry::Occupied(mut known) => {
                    let (value, region) = *known.get();
                    if self.levels.get(self.depth[value.0 as usize]).is_some_and(|level| level.number == region) {
                        self.instead[result.0 as usize] = value;
                        return;
                    }
                    known.insert((result, number));
                }
                Entry::Vacant(unknown) => _ = unknown.insert((result, number)),
            }
            self.depth[result.0 as usize] = level;
            let mut op = inst.op.clone();
            for operand in op.operands_mut() {
                *operand = self.instead[operand.0 as usize];
            }
            self.levels[level].insts.push(Inst { results: inst.results.clone(), op });
            return;
        }
        for result in &inst.results {
            self.depth[result.0 as usize] = here;
        }
        let op = match &inst.op {
            Op::Loop(own) => {
                let Loop { from, to, step, index, starts, carried, body, next } = &**own;
                let (mut starts, mut next) = (starts.clone(), next.clone());
                self.replaced(&mut starts);
                let (from, to) = (self.instead[from.0 as usize], self.instead[to.0 as usize]);
                let own: Vec<Value> = carried.iter().copied().chain([*index]).collect();
                let body = self.region(body, Runs::Again, &own, |this| this.replaced(&mut next));
                let (step, index, carried) = (*step, *index, carried.clone());
                Op::Loop(Box::new(Loop { from, to, step, index, starts, carried, body, next }))
            }
            Op::While(own) => {
                let While { starts, carried, header, condition, body, next } = &**own;
                let (mut starts, mut next) = (starts.clone(), next.clone());
                let mut condition = [*condition];
                self.replaced(&mut starts);
                // The body sees what the header computes.
                let mut inner = Region::default();
                let header = self.region(header, Runs::Again, carried, |this| {
                    this.replaced(&mut condition);
                    inner = this.region(body, Runs::Behind, &[], |this| this.replaced(&mut next));
                });
                let (carried, condition) = (carried.clone(), condition[0]);
                Op::While(Box::new(While { starts, carried, header, condition, body: inner, next }))
            }
            Op::If(own) => {
                let If { condition, then, then_results, otherwise, otherwise_results } = &**own;
                let (mut yes, mut no) = (then_results.clone(), otherwise_results.clone());
                let condition = self.instead[condition.0 as usize];
                let then = self.region(then, Runs::Once, &[], |this| this.replaced(&mut yes));
                let otherwise = self.region(otherwise, Runs::Once, &[], |this| this.replaced(&mut no));
                Op::If(Box::new(If { condition, then, then_results: yes, otherwise, otherwise_results: no }))
            }
            Op::FailIf { condition, .. } if self.is_refused(self.instead[condition.0 as usize]) => return,
            other => {
                let mut op = other.clone();
                for operand in op.operands_mut() {
                    *operand = self.instead[operand.0 as usize];
                }
                op
            }
        };
        if let Op::FailIf { condition, .. } = op {
            self.levels[here].refused.insert(condition);
        }
        self.levels[here].insts.push(Inst { results: inst.results.clone(), op });
    }

    /// Whether the function has been left where this holds, in a region around or here.
    fn is_refused(&self, condition: Value) -> bool {
        self.levels.iter().any(|level| level.refused.contains(&condition))
    }
}
