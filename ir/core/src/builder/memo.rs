//! Instructions that stand in code already, found by what they compute; what needs no instruction; what results need of all.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use crate::{Constant, Instruction, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart, ScalarPartMut, primitive};

/// The instructions of open bodies, by hash.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// For each body, the innermost last: where instructions of a hash stand in it.
    bodies: Vec<FxHashMap<u64, Vec<Entry>>>,
}

#[derive(Debug)]
struct Entry {
    position: usize,
    /// Of an instruction that holds bodies: itself in [`canonical`] form.
    canonical: Option<ScalarOp>,
}

impl Memo {
    pub(super) fn open(&mut self) {
        self.bodies.push(FxHashMap::default());
    }

    pub(super) fn close(&mut self) {
        self.bodies.pop();
    }

    /// The results of the same instruction in these bodies; where there is none, notes that it will stand next in the one at `place`.
    pub(super) fn find(&mut self, op: &ScalarOp, bodies: &[Lambda], place: usize) -> Option<Vec<ScalarOperand>> {
        let canonical = canonical(op);
        let mut hasher = FxHasher::default();
        canonical.as_ref().unwrap_or(op).hash_without_bodies(&mut hasher);
        let hash = hasher.finish();
        for (entries, body) in self.bodies.iter().zip(bodies).rev() {
            let same = |entry: &&Entry| match &canonical {
                Some(_) => entry.canonical == canonical,
                None => entry.canonical.is_none() && body.instructions[entry.position].op == *op,
            };
            if let Some(entry) = entries.get(&hash).and_then(|entries| entries.iter().find(same)) {
                let results = &body.instructions[entry.position].results;
                return Some(results.iter().map(|local| local.id.into()).collect());
            }
        }
        if let (Some(entries), Some(body)) = (self.bodies.get_mut(place), bodies.get(place)) {
            entries.entry(hash).or_default().push(Entry { position: body.instructions.len(), canonical });
        }
        None
    }
}

/// An instruction that holds bodies with what these define counted from a number that no other local has, so that equal ones are equal.
fn canonical(op: &ScalarOp) -> Option<ScalarOp> {
    let mut bodies: Vec<&Lambda> = inner_bodies(op).collect();
    if bodies.is_empty() {
        return None;
    }
    let mut inner: FxHashMap<LocalId, LocalId> = FxHashMap::default();
    let mut next = 1 << 31;
    while let Some(body) = bodies.pop() {
        let results = body.instructions.iter().flat_map(|instruction| &instruction.results);
        for defined in body.params.iter().chain(results) {
            inner.insert(defined.id, LocalId(next));
            next += 1;
        }
        bodies.extend(body.instructions.iter().flat_map(|instruction| inner_bodies(&instruction.op)));
    }
    let mut op = op.clone();
    for part in op.parts_mut() {
        if let ScalarPartMut::Body(body) = part {
            body.map_locals(&mut |id| inner.get(&id).copied().unwrap_or(id));
        }
    }
    Some(op)
}

fn inner_bodies(op: &ScalarOp) -> impl Iterator<Item = &Lambda> {
    op.parts().into_iter().filter_map(|part| match part {
        ScalarPart::Body(body) => Some(body),
        ScalarPart::Operand(_) | ScalarPart::Array(_) => None,
    })
}

/// What an instruction of constants gives, where its function is exact and does not fail.
pub(super) fn folded(op: &ScalarOp) -> Option<Constant> {
    let constant = |operand: &ScalarOperand| match operand {
        ScalarOperand::Constant(constant) => Some(*constant),
        ScalarOperand::Local(_) | ScalarOperand::Outer(_) => None,
    };
    match op {
        ScalarOp::Unary { function, a } => primitive::unary(*function, constant(a)?),
        ScalarOp::Binary { function, a, b } => primitive::binary(*function, constant(a)?, constant(b)?).ok()?,
        ScalarOp::Fma { a, b, c } => primitive::fma(constant(a)?, constant(b)?, constant(c)?),
        ScalarOp::Convert { to, a } => primitive::convert(*to, constant(a)?),
        ScalarOp::Bits { to, a } => primitive::reinterpret(*to, constant(a)?),
        ScalarOp::Read { .. }
        | ScalarOp::ReadFlat { .. }
        | ScalarOp::Assert { .. }
        | ScalarOp::If { .. }
        | ScalarOp::While { .. } => None,
    }
}

/// What results need, each instruction just before its first use, so that text prints expressions.
pub(super) fn needed(instructions: Vec<Instruction>, results: &[ScalarOperand]) -> Vec<Instruction> {
    let made_by: FxHashMap<LocalId, usize> = instructions
        .iter()
        .enumerate()
        .flat_map(|(at, instruction)| instruction.results.iter().map(move |local| (local.id, at)))
        .collect();
    let mut rest: Vec<Option<Instruction>> = instructions.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(rest.len());
    let mut stack: Vec<(usize, bool)> = Vec::new();
    let wanted = |operands: &mut dyn Iterator<Item = LocalId>, stack: &mut Vec<(usize, bool)>| {
        let from = stack.len();
        stack.extend(operands.filter_map(|id| made_by.get(&id)).map(|&at| (at, false)));
        stack[from..].reverse();
    };
    wanted(&mut results.iter().filter_map(local), &mut stack);
    while let Some((at, ready)) = stack.pop() {
        let Some(instruction) = &rest[at] else { continue };
        if ready {
            ordered.extend(rest[at].take());
            continue;
        }
        stack.push((at, true));
        let mut uses = Vec::new();
        for_each_local(&instruction.op, &mut |id| uses.push(id));
        wanted(&mut uses.into_iter(), &mut stack);
    }
    ordered
}

fn local(operand: &ScalarOperand) -> Option<LocalId> {
    if let ScalarOperand::Local(id) = operand { Some(*id) } else { None }
}

/// Every local that an instruction uses, in bodies too (those defined there among them).
fn for_each_local(op: &ScalarOp, visit: &mut dyn FnMut(LocalId)) {
    let mut operations = vec![op];
    while let Some(op) = operations.pop() {
        for part in op.parts() {
            match part {
                ScalarPart::Operand(operand) => _ = local(operand).map(&mut *visit),
                ScalarPart::Array(_) => {}
                ScalarPart::Body(body) => {
                    body.results.iter().filter_map(local).for_each(&mut *visit);
                    operations.extend(body.instructions.iter().map(|instruction| &instruction.op));
                }
            }
        }
    }
}
