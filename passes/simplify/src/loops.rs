//! Loops recovered: an iteration that the host unrolled becomes a scalar loop.
//!
//! Unrolled code is a run of congruent groups of instructions: each the same functions of the same values from outside, and of the values
//! of the group before it. The run becomes `while` with a counter; its state is what a group uses of the one before it.

use std::collections::{HashMap, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};

use fusebox_ir::{
    Binary, Constant, ElementType, Instruction, Lambda, Local, LocalId, Name, Place, ScalarOp, ScalarOperand,
    ScalarPart,
};

use crate::edits::replace;

/// Fewer groups than this stay as they are: a short unrolled loop is faster than a loop.
const MIN_GROUPS: usize = 8;
/// Groups of more instructions are not looked for.
const MAX_GROUP: usize = 512;

/// The function with its longest unrolled iteration as a loop, if there is one.
pub(crate) fn recovered(lambda: Lambda) -> Lambda {
    match find(&lambda) {
        Some(run) => rolled(lambda, &run),
        None => lambda,
    }
}

/// A run of congruent groups.
struct Run {
    /// The first instruction of the first group.
    start: usize,
    /// Instructions in a group.
    period: usize,
    groups: usize,
    /// Results of a group that the next one, or what comes after the run, uses: positions of instructions in the group.
    state: Vec<usize>,
    /// The value before the first group of each; none where only what comes after the run uses it.
    starts: Vec<Option<ScalarOperand>>,
}

fn find(lambda: &Lambda) -> Option<Run> {
    let instructions = &lambda.instructions;
    let shapes: Vec<u64> = instructions.iter().map(shape).collect();
    let positions: HashMap<LocalId, usize> =
        instructions.iter().enumerate().flat_map(|(at, i)| i.results.iter().map(move |local| (local.id, at))).collect();
    for period in 1..=MAX_GROUP.min(instructions.len() / MIN_GROUPS) {
        let mut start = 0;
        while start + period * MIN_GROUPS <= instructions.len() {
            let alike =
                (start..instructions.len() - period).take_while(|&at| shapes[at] == shapes[at + period]).count();
            let mut groups = alike / period + 1;
            // Groups may begin at any of the instructions of the run; operands tell where.
            if groups >= MIN_GROUPS {
                for shift in 0..period.min(alike) {
                    groups = (alike - shift) / period + 1;
                    if groups >= MIN_GROUPS
                        && let Some(run) = congruent(lambda, &positions, start + shift, period, groups)
                    {
                        return Some(run);
                    }
                }
            }
            start += alike + 1;
        }
    }
    None
}

/// What an instruction does, without which locals it uses.
fn shape(instruction: &Instruction) -> u64 {
    let mut hasher = DefaultHasher::new();
    shape_of(&instruction.op, &mut hasher);
    instruction.results.iter().for_each(|local| local.ty.hash(&mut hasher));
    hasher.finish()
}

fn shape_of(op: &ScalarOp, hasher: &mut DefaultHasher) {
    op.hash_function(hasher);
    for part in op.parts() {
        match part {
            ScalarPart::Operand(ScalarOperand::Local(_)) => 0u8.hash(hasher),
            ScalarPart::Operand(operand) => operand.hash(hasher),
            ScalarPart::Array(id) => id.hash(hasher),
            ScalarPart::Body(body) => {
                body.instructions.len().hash(hasher);
                body.instructions.iter().for_each(|inner| shape_of(&inner.op, hasher));
                for result in &body.results {
                    if !matches!(result, ScalarOperand::Local(_)) {
                        result.hash(hasher);
                    }
                }
            }
        }
    }
}

/// Every operand that is a local, in order; those of bodies too, where their own locals are known by their number in the body.
fn locals(instruction: &Instruction) -> Vec<(ScalarOperand, Option<usize>)> {
    fn collect(op: &ScalarOp, own: &mut HashMap<LocalId, usize>, out: &mut Vec<(ScalarOperand, Option<usize>)>) {
        for part in op.parts() {
            match part {
                ScalarPart::Operand(operand) => out.push((*operand, number(operand, own))),
                ScalarPart::Array(_) => {}
                ScalarPart::Body(body) => {
                    for param in &body.params {
                        own.insert(param.id, own.len());
                    }
                    for inner in &body.instructions {
                        collect(&inner.op, own, out);
                        for local in &inner.results {
                            own.insert(local.id, own.len());
                        }
                    }
                    out.extend(body.results.iter().map(|result| (*result, number(result, own))));
                }
            }
        }
    }
    fn number(operand: &ScalarOperand, own: &HashMap<LocalId, usize>) -> Option<usize> {
        match operand {
            ScalarOperand::Local(id) => own.get(id).copied(),
            _ => None,
        }
    }
    let mut out = Vec::new();
    collect(&instruction.op, &mut HashMap::new(), &mut out);
    out
}

/// Checks that groups use each other alike; shortens the run to those that do.
fn congruent(
    lambda: &Lambda,
    positions: &HashMap<LocalId, usize>,
    start: usize,
    period: usize,
    groups: usize,
) -> Option<Run> {
    let instructions = &lambda.instructions;
    let mut state: Vec<usize> = Vec::new();
    let mut starts: Vec<Option<ScalarOperand>> = Vec::new();
    let mut good = groups;
    for within in 0..period {
        // A result other than the first, or several results, would need a state each: unrolled code has none.
        if instructions[start + within].results.len() != 1 {
            return None;
        }
        let of = |group: usize| locals(&instructions[start + group * period + within]);
        let (first, second) = (of(0), of(1));
        if first.len() != second.len() {
            return None;
        }
        for (slot, (&(one, own_one), &(two, own_two))) in first.iter().zip(&second).enumerate() {
            if own_one != own_two {
                return None;
            }
            if own_one.is_some() {
                continue;
            }
            let at = |operand: ScalarOperand| match operand {
                ScalarOperand::Local(id) => positions.get(&id).copied(),
                _ => None,
            };
            let origin = |operand: ScalarOperand, group: usize| {
                at(operand).and_then(|at| at.checked_sub(start + group * period))
            };
            let carried = match (origin(one, 0), at(two)) {
                // Inside of the group.
                (Some(from), Some(_)) if from < period => {
                    if origin(two, 1) != Some(from) {
                        return None;
                    }
                    None
                }
                // Of the group before.
                (None, Some(from)) if from >= start && from < start + period => Some(from - start),
                // From outside, the same for all.
                (None, _) if one == two => None,
                _ => return None,
            };
            if let Some(from) = carried {
                match state.iter().position(|&known| known == from) {
                    Some(known) if starts[known] != Some(one) => return None,
                    Some(_) => {}
                    None => {
                        state.push(from);
                        starts.push(Some(one));
                    }
                }
            }
            // The rest of the groups, until one differs.
            for group in 2..good {
                let operands = of(group);
                let alike = operands.get(slot).is_some_and(|&(operand, own)| {
                    own.is_none()
                        && match carried {
                            Some(from) => at(operand) == Some(start + (group - 1) * period + from),
                            None if one == two => operand == one,
                            None => origin(operand, group) == origin(one, 0),
                        }
                });
                if !alike || operands.len() != first.len() {
                    good = group;
                    break;
                }
            }
        }
    }
    if good < MIN_GROUPS || state.is_empty() {
        return None;
    }
    // What comes after may use the last group alone.
    let (end, last) = (start + good * period, start + (good - 1) * period);
    let mut outside: Vec<ScalarOperand> = lambda.results.clone();
    instructions[end..].iter().for_each(|i| outside.extend(locals(i).into_iter().map(|(operand, _)| operand)));
    for operand in outside {
        if let ScalarOperand::Local(id) = operand
            && let Some(&at) = positions.get(&id)
            && (start..end).contains(&at)
        {
            if at < last {
                return None;
            }
            if !state.contains(&(at - last)) {
                state.push(at - last);
                starts.push(None);
            }
        }
    }
    Some(Run { start, period, groups: good, state, starts })
}

fn rolled(mut lambda: Lambda, run: &Run) -> Lambda {
    let mut next = largest(&lambda) + 1;
    let mut fresh = |ty: ElementType, name: &str| {
        next += 1;
        Local { id: LocalId(next - 1), ty, name: Name::from(name) }
    };
    let end = run.start + run.groups * run.period;
    let after = lambda.instructions.split_off(end);
    let groups = lambda.instructions.split_off(run.start);
    let results_of = |group: usize| -> Vec<Local> {
        run.state.iter().map(|&at| groups[group * run.period + at].results[0].clone()).collect()
    };
    let (first, second, last) = (results_of(0), results_of(1), results_of(run.groups - 1));
    let mut params = |name: &str| {
        let mut params = vec![fresh(ElementType::I64, name)];
        params.extend(last.iter().map(|local| fresh(local.ty, &local.name.0)));
        params
    };
    let (state, condition_params) = (params("turn"), params("turn"));

    // The second group uses the first alone: what it uses is the state.
    let instructions = groups[run.period..2 * run.period].to_vec();
    let mut step = Lambda { params: state.clone(), instructions, results: Vec::new() };
    replace(&mut step, &first.iter().zip(&state[1..]).map(|(local, param)| (local.id, param.id.into())).collect());
    let turn = fresh(ElementType::I64, "next");
    let increment = ScalarOp::Binary { function: Binary::Add, a: state[0].id.into(), b: Constant::from(1i64).into() };
    step.instructions.push(Instruction { results: vec![turn.clone()], op: increment, place: Place::default() });
    step.results = vec![turn.id.into()];
    step.results.extend(second.iter().map(|local| ScalarOperand::Local(local.id)));

    let more = fresh(ElementType::Bool, "more");
    let turns = Constant::from(run.groups as i64);
    let compare = ScalarOp::Binary { function: Binary::Lt, a: condition_params[0].id.into(), b: turns.into() };
    let condition = Lambda {
        params: condition_params,
        instructions: vec![Instruction { results: vec![more.clone()], op: compare, place: Place::default() }],
        results: vec![more.id.into()],
    };
    let mut starts = vec![Constant::from(0i64).into()];
    starts.extend(run.starts.iter().zip(&last).map(|(start, local)| start.unwrap_or(Constant::zero(local.ty).into())));
    let mut results = vec![fresh(ElementType::I64, "turns")];
    results.extend(last);
    lambda.instructions.push(Instruction {
        results,
        op: ScalarOp::While { condition, step, starts },
        place: Place::default(),
    });
    lambda.instructions.extend(after);
    lambda
}

fn largest(lambda: &Lambda) -> u32 {
    let mut largest = 0;
    let mut bodies = vec![lambda];
    while let Some(body) = bodies.pop() {
        largest = body.params.iter().map(|param| param.id.0).fold(largest, u32::max);
        for instruction in &body.instructions {
            largest = instruction.results.iter().map(|local| local.id.0).fold(largest, u32::max);
            bodies.extend(instruction.op.parts().into_iter().filter_map(|part| match part {
                ScalarPart::Body(inner) => Some(inner),
                _ => None,
            }));
        }
    }
    largest
}
