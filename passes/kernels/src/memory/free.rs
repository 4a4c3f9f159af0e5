//! Where values are used last.

use std::collections::HashSet;

use fusebox_ir::{Operand, PlanOperand, PlanValue, Step, ValueId};

/// Puts a [`Step::Free`] behind the last use of every value made by `steps` that is not kept.
///
/// A value is freed in the list of steps that makes it: what a branch or a loop uses from outside is freed after it. What becomes state of a
/// loop moves, and is not freed; the state before is freed in the body, so that what is made of it may be made in its memory.
pub(crate) fn insert(steps: &mut Vec<Step>, keep: &[ValueId], values: &[PlanValue]) {
    list(steps, keep, &[], values);
}

/// One list of steps; `state` of the loop whose body it is.
fn list(steps: &mut Vec<Step>, keep: &[ValueId], state: &[ValueId], values: &[PlanValue]) {
    let mut live: HashSet<ValueId> = keep.iter().copied().collect();
    let mut out: Vec<Step> = Vec::new();
    let made: HashSet<ValueId> = steps.iter().flat_map(Step::makes).chain(state).copied().collect();
    // From the end: the first use met is the last.
    for mut step in std::mem::take(steps).into_iter().rev() {
        let mut used = Vec::new();
        uses(&step, values, &mut used);
        used.extend(step.makes());
        let mut frees: Vec<ValueId> = Vec::new();
        for id in used {
            if made.contains(&id) && live.insert(id) {
                frees.push(id);
            }
        }
        out.extend(frees.into_iter().rev().map(|value| Step::Free { value }));
        match &mut step {
            Step::If { then, otherwise, results, .. } => {
                list(then, results, &[], values);
                list(otherwise, results, &[], values);
            }
            Step::While { state, condition_steps, condition, body, next } => {
                let kept = |operands: &[PlanOperand]| operands.iter().filter_map(value).collect::<Vec<_>>();
                list(condition_steps, &kept(std::slice::from_ref(condition)), &[], values);
                list(body, &kept(next), state, values);
            }
            Step::Lanes { lane, body, given, .. } => {
                let kept: Vec<ValueId> = given.iter().filter_map(value).collect();
                list(body, &kept, &[*lane], values);
            }
            _ => {}
        }
        out.push(step);
    }
    out.reverse();
    *steps = out;
}

fn value(operand: &PlanOperand) -> Option<ValueId> {
    if let Operand::Value(id) = operand { Some(*id) } else { None }
}

/// Every value that a step uses, in the steps inside of it and in the types of what they make too.
fn uses(step: &Step, values: &[PlanValue], into: &mut Vec<ValueId>) {
    types(step, values, into);
    step.for_each_value(&mut |id| into.push(id));
    step.within().skip(1).for_each(|inner| types(inner, values, into));
}

/// The extents of what a step makes in its own list.
fn types(step: &Step, values: &[PlanValue], into: &mut Vec<ValueId>) {
    let state = if let Step::While { state, .. } = step { &state[..] } else { &[] };
    for made in step.makes().iter().chain(state) {
        values[made.index()].ty.for_each_use(&mut |id| into.push(id));
    }
}
