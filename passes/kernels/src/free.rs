//! Where values are used last.

use std::collections::HashSet;

use fusebox_ir::{ArrayId, Extent, Operand, PlanValue, Step};

/// Puts a [`Step::Free`] behind the last use of every value made by `steps` that is not kept.
///
/// A value is freed in the list of steps that makes it: what a branch or a loop uses from outside is freed after it. State of loops moves: what
/// becomes state is not freed.
pub(crate) fn insert(steps: &mut Vec<Step>, keep: &[ArrayId], values: &[PlanValue]) {
    let mut live: HashSet<ArrayId> = keep.iter().copied().collect();
    let mut out: Vec<Step> = Vec::new();
    let made: HashSet<ArrayId> = steps.iter().flat_map(makes).collect();
    // From the end: the first use met is the last.
    for mut step in std::mem::take(steps).into_iter().rev() {
        let mut used = Vec::new();
        uses(&step, values, &mut used);
        used.extend(makes(&step));
        let mut frees: Vec<ArrayId> = Vec::new();
        for id in used {
            if made.contains(&id) && live.insert(id) {
                frees.push(id);
            }
        }
        out.extend(frees.into_iter().rev().map(|value| Step::Free { value }));
        match &mut step {
            Step::If { then, otherwise, results, .. } => {
                insert(then, results, values);
                insert(otherwise, results, values);
            }
            Step::While { condition_steps, condition, body, next, .. } => {
                let kept = |operands: &[Operand]| operands.iter().filter_map(value).collect::<Vec<_>>();
                insert(condition_steps, &kept(std::slice::from_ref(condition)), values);
                insert(body, &kept(next), values);
            }
            _ => {}
        }
        out.push(step);
    }
    out.reverse();
    *steps = out;
}

fn value(operand: &Operand) -> Option<ArrayId> {
    if let Operand::Value(id) = operand { Some(*id) } else { None }
}

/// Values that a step makes in its own list.
fn makes(step: &Step) -> Vec<ArrayId> {
    match step {
        Step::Allocate { value, .. }
        | Step::Constant { value, .. }
        | Step::Alias { value, .. }
        | Step::Shorten { value, .. }
        | Step::Copy { value, .. } => vec![*value],
        Step::If { results, .. } => results.clone(),
        // The loop itself drops its condition when it has been tested.
        Step::While { .. } => Vec::new(),
        Step::Launch { .. }
        | Step::CheckEqual { .. }
        | Step::CheckAtMost { .. }
        | Step::Sort { .. }
        | Step::Free { .. } => Vec::new(),
    }
}

/// Every value that a step uses, in its own steps too.
fn uses(step: &Step, values: &[PlanValue], into: &mut Vec<ArrayId>) {
    let extent = |of: &Extent, into: &mut Vec<ArrayId>| {
        if let Extent::Value(id) = of {
            into.push(*id);
        }
    };
    // What is made has extents.
    let state = if let Step::While { state, .. } = step { &state[..] } else { &[] };
    for made in makes(step).iter().chain(state) {
        values[made.index()].ty.for_each_use(&mut |id| into.push(id));
    }
    match step {
        Step::Allocate { .. } | Step::Constant { .. } => {}
        Step::Launch { kernel: _, sizes, arrays } => {
            sizes.iter().for_each(|size| extent(size, into));
            into.extend(arrays);
        }
        Step::Alias { source, .. } => into.extend(value(source)),
        Step::Shorten { source, .. } | Step::Copy { source, .. } => into.push(*source),
        Step::CheckEqual { left, right, .. } => {
            extent(left, into);
            extent(right, into);
        }
        Step::CheckAtMost { extent: least, available, .. } => {
            extent(least, into);
            extent(available, into);
        }
        Step::Sort { keys, carry, results } => {
            into.extend(keys);
            into.extend(carry);
            into.extend(results);
        }
        Step::If { condition, then, otherwise, results } => {
            into.extend(value(condition));
            then.iter().chain(otherwise).for_each(|inner| uses(inner, values, into));
            into.extend(results);
        }
        Step::While { state, condition_steps, condition, body, next } => {
            into.extend(state);
            condition_steps.iter().chain(body).for_each(|inner| uses(inner, values, into));
            into.extend(value(condition));
            into.extend(next.iter().filter_map(value));
        }
        Step::Free { value } => into.push(*value),
    }
}
