//! Steps whose results nothing needs.
//!
//! Operations that a program needs may give arrays that no kernel reads in the end: where loops go over segments, which segment an element is of is
//! known without the array that says so. What can fail stays, and so does an allocation if its extents may be negative; that an array is too large is
//! no failure where it is not made.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Access, Action, Extent, Failure, FailureKind, Kernel, KernelArrayId, Operand, PlanExtent, PlanValue, Program,
    Statement, StatementPart, Step, ValueId,
};

use crate::nest::{Launch, fails, tidied};

/// Drops steps of a plan whose values nothing needs, of kernels the statements that only make such, and kernels that are not launched then. Values are
/// not freed yet. `counts` are extents that are not negative however they come to be; `given` are the plan's inputs.
pub(crate) fn drop(
    program: &Program,
    (steps, kernels): (&mut Vec<Step>, &mut Vec<Kernel>),
    values: &[PlanValue],
    (counts, given): (&HashSet<ValueId>, HashSet<ValueId>),
    results: &[ValueId],
) {
    let needed = results.iter().copied().collect();
    let mut dropping = Dropping { program, kernels, values, counts, scope: vec![given], needed };
    results.iter().for_each(|&result| dropping.need_type(result));
    dropping.list(steps, &[]);
    let launched: HashSet<usize> = steps.iter().flat_map(Step::within).filter_map(launched).collect();
    let mut numbers = HashMap::new();
    let all = std::mem::take(kernels);
    for (old, kernel) in all.into_iter().enumerate().filter(|(old, _)| launched.contains(old)) {
        numbers.insert(old, kernels.len());
        kernels.push(kernel);
    }
    renumber(steps, &numbers);
}

fn launched(step: &Step) -> Option<usize> {
    if let Step::Launch { kernel, .. } = step { Some(*kernel) } else { None }
}

fn renumber(steps: &mut [Step], numbers: &HashMap<usize, usize>) {
    for step in steps {
        if let Step::Launch { kernel, .. } = step {
            *kernel = numbers[kernel];
        }
        step.inner_mut().into_iter().for_each(|inner| renumber(inner, numbers));
    }
}

struct Dropping<'p> {
    /// Shown with bugs.
    program: &'p Program,
    kernels: &'p mut Vec<Kernel>,
    values: &'p [PlanValue],
    counts: &'p HashSet<ValueId>,
    /// The inputs, and what the lists around make, each with its own.
    scope: Vec<HashSet<ValueId>>,
    needed: HashSet<ValueId>,
}

impl Dropping<'_> {
    /// One list of steps, from its end: what is needed behind a step is known when it is met. `state` is that of a loop around.
    fn list(&mut self, steps: &mut Vec<Step>, state: &[ValueId]) {
        self.scope.push(steps.iter().flat_map(Step::makes).chain(state).copied().collect());
        let mut kept = Vec::new();
        for mut step in std::mem::take(steps).into_iter().rev() {
            if let Step::Launch { kernel, sizes, arrays } = &mut step {
                let unneeded: Vec<bool> = arrays.iter().map(|array| self.is_own_unneeded(*array)).collect();
                match self.without(*kernel, (sizes, arrays), &unneeded) {
                    Smaller::Nothing => continue,
                    Smaller::Same => {}
                    Smaller::Launch(launch) => {
                        self.kernels[*kernel] = launch.kernel;
                        (*sizes, *arrays) = (launch.sizes, launch.arrays);
                    }
                }
            }
            if self.only_makes(&step) {
                continue;
            }
            let needed = &mut self.needed;
            step.for_each_own_value(&mut |id| {
                needed.insert(id);
            });
            let state = if let Step::While { state, .. } = &step { state.clone() } else { Vec::new() };
            step.makes().iter().chain(&state).for_each(|&made| self.need_type(made));
            for inner in step.inner_mut().into_iter().rev() {
                self.list(inner, &state);
            }
            kept.push(step);
        }
        self.scope.pop();
        kept.reverse();
        *steps = kept;
    }

    /// Whether nothing needs a value that the list makes itself.
    fn is_own_unneeded(&self, value: ValueId) -> bool {
        self.scope.last().is_some_and(|own| own.contains(&value)) && !self.needed.contains(&value)
    }

    /// Whether a step makes something that nothing needs, and cannot fail.
    fn only_makes(&self, step: &Step) -> bool {
        let extents = |value: &ValueId| &self.values[value.index()].ty.extents;
        let cannot_fail = match step {
            Step::Allocate { value, .. } => extents(value).iter().all(|extent| self.is_extent(extent, *value)),
            Step::Constant { .. } | Step::Copy { .. } => true,
            Step::Alias { value, source: Operand::Value(source), .. } => extents(value) == extents(source),
            _ => false,
        };
        cannot_fail && !step.makes().iter().any(|made| self.needed.contains(made))
    }

    /// Whether a number is known not to be negative, or would be told by another value that is made, as it is an extent of that.
    fn is_extent(&self, extent: &PlanExtent, but: ValueId) -> bool {
        match extent {
            Extent::Constant(number) => *number >= 0,
            Extent::Value(id) => {
                let has = |value: &ValueId| self.values[value.index()].ty.extents.contains(extent);
                let tells = |value: &ValueId| *value != but && self.needed.contains(value) && has(value);
                self.counts.contains(id) || self.scope[0].iter().any(has) || self.scope[1..].iter().flatten().any(tells)
            }
            Extent::Unknown => false,
        }
    }

    /// The extents of a value.
    fn need_type(&mut self, value: ValueId) {
        let needed = &mut self.needed;
        self.values[value.index()].ty.for_each_use(&mut |id| {
            needed.insert(id);
        });
    }

    /// A launch that does not write some of its arrays.
    fn without(&self, kernel: usize, (sizes, arrays): (&[PlanExtent], &[ValueId]), unneeded: &[bool]) -> Smaller {
        let whole = &self.kernels[kernel];
        if !whole.arrays.iter().zip(unneeded).any(|(array, &unneeded)| unneeded && array.access != Access::Read) {
            return Smaller::Same;
        }
        let is_unneeded = |id: &KernelArrayId| unneeded[id.index()];
        let mut kernel = whole.clone();
        kernel.statements.retain(|statement| match &statement.action {
            Action::Store { array, .. } => !is_unneeded(array),
            Action::Append { arrays, count, .. } => !arrays.iter().chain([count]).all(is_unneeded),
            Action::Scatter { arrays, .. } => fails(&statement.action) || !arrays.iter().all(is_unneeded),
            _ => true,
        });
        let written: HashSet<KernelArrayId> = kernel.statements.iter().flat_map(written).collect();
        if written.is_empty() {
            let harmless = |action: &Action| match action {
                Action::Check { failure: Failure { fault, .. }, .. } => matches!(fault, FailureKind::TooLarge { .. }),
                action => !fails(action),
            };
            // A kernel that only checks is left as it is.
            let harmless = kernel.statements.iter().all(|statement| harmless(&statement.action));
            return if harmless { Smaller::Nothing } else { Smaller::Same };
        }
        for (position, array) in kernel.arrays.iter_mut().enumerate() {
            if !written.contains(&KernelArrayId::at(position)) {
                array.access = Access::Read;
            }
        }
        let launch = Launch { kernel, sizes: sizes.to_vec(), arrays: arrays.to_vec() };
        Smaller::Launch(tidied(self.program, launch))
    }
}

/// What is left of a launch.
enum Smaller {
    Nothing,
    Same,
    Launch(Launch),
}

fn written(statement: &Statement) -> impl Iterator<Item = KernelArrayId> {
    statement.parts().into_iter().filter_map(|part| match part {
        StatementPart::Array(id, access) if access != Access::Read => Some(id),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use fusebox_ir::{Plan, text};

    use super::*;

    /// The plan of a program of which the results at some positions alone are needed.
    fn needing(source: &str, positions: &[usize]) -> Plan {
        let program = text::parse(source).unwrap();
        let (mut plan, _) = crate::lower(&program, &crate::Config::default()).unwrap();
        let results: Vec<ValueId> = positions.iter().map(|&position| plan.results[position]).collect();
        let mut steps: Vec<Step> = plan.steps.drain(..).filter(|step| !matches!(step, Step::Free { .. })).collect();
        let (counts, given) = (plan.sizes.iter().copied().collect(), plan.inputs.iter().copied().collect());
        drop(&program, (&mut steps, &mut plan.kernels), &plan.values, (&counts, given), &results);
        plan.steps = steps;
        plan
    }

    fn launches(plan: &Plan) -> usize {
        plan.steps.iter().flat_map(Step::within).filter_map(launched).count()
    }

    #[test]
    fn launches_go_unless_something_needs_them_or_they_may_fail() {
        let source = |function: &str| {
            format!(
                "fn f(a: [n]i64) -> [n]i64, [n]i64 {{
                    let b: [n]i64 = map(|x| x + 1, a)
                    let c: [n]i64 = map(|x| {function}, b)
                    let d: [n]i64 = map(|x| x * 5, a)
                    return c, d }}"
            )
        };
        for (function, positions, left) in [
            ("x * 3", &[0, 1][..], 3),
            ("x * 3", &[0], 2),
            ("x * 3", &[1], 1),
            ("x * 3", &[], 0),
            // A division by zero is to be told.
            ("100 / x", &[1], 3),
            ("100 / x", &[], 2),
        ] {
            let plan = needing(&source(function), positions);
            assert_eq!((launches(&plan), plan.kernels.len()), (left, left), "{function} {positions:?}\n{plan}");
        }
    }

    /// A row without elements, and an index outside of the target, are to be told.
    #[test]
    fn checks_and_scatters_that_may_fail_stay() {
        let source = "fn f(a: [n, m]f32, at: [k]i64, x: [k]f32, none: [l]f32) -> [n]f32, [l]f32, [k]f32 {
            let top: [n]f32 = fold1(|x, y| max(x, y), a)
            let sums: [l]f32 = permute(|new, old| new + old, none, x, at: at)
            let twice: [k]f32 = map(|x| x * 2.0, x)
            return top, sums, twice }";
        let plan = needing(source, &[]);
        let text = plan.to_string();
        assert_eq!(launches(&plan), 2, "{plan}");
        assert!(text.contains("fold1 `top`") && text.contains("permute `sums`"), "{plan}");
    }

    #[test]
    fn kernels_lose_what_only_makes_arrays_that_nothing_needs() {
        let source = "fn f(a: [n, m]f32, b: [n]f32) -> [n]f32, [n, m]f32, [n]f32 {
            let c: [n]f32, d: [n, m]f32, e: [n]f32 = cluster(|| {
                last d: [n, m]f32 = map(|x| x * 2.0, a)
                diagonal e: [n]f32 = fold(|x, y| x + y, 0.0, d)
                last c: [n]f32 = map(|x| x * 3.0, b)
                return c, d, e })
            return c, d, e }";
        let whole = needing(source, &[0, 1, 2]);
        assert_eq!((whole.kernels[0].arrays.len(), whole.kernels[0].levels.len()), (5, 2));
        let first = needing(source, &[0]);
        let kernel = &first.kernels[0];
        assert_eq!((kernel.arrays.len(), kernel.levels.len(), kernel.sizes.len()), (2, 1, 1), "{kernel}");
        let Step::Launch { sizes, arrays, .. } = &first.steps[first.steps.len() - 1] else { panic!("{first}") };
        assert_eq!((sizes.len(), arrays.len()), (1, 2));
        let sum = needing(source, &[2]);
        let kernel = &sum.kernels[0];
        assert_eq!((kernel.arrays.len(), kernel.levels.len()), (2, 2), "{kernel}");
    }

    /// What would be told of extents is told: of an extent that may be negative, and of one that does not fit.
    #[test]
    fn extents_are_asked_for_although_nothing_needs_the_array() {
        let source = "fn f(k: i64, a: [n]i64) -> [?]i64, [?, 2]i64, [n]i64, [n]i64 {
            let b: [k]i64 = generate([k], |i| i * 2)
            let half = n / 2
            let c: [half, 2]i64 = reshape([half, 2], a)
            let d: [n]i64 = map(|x| x + 1, a)
            let e: [n]i64 = map(|x| x * 3, a)
            return b, c, d, e }";
        let plan = needing(source, &[3]);
        let text = plan.to_string();
        assert!(text.contains("allocate b: [k]i64") && text.contains("c: [half, 2]i64 = a"), "{plan}");
        assert!(!text.contains("allocate d") && text.contains("allocate e"), "{plan}");
        // That which makes `half`, and the last.
        assert_eq!(launches(&plan), 2, "{plan}");
    }

    #[test]
    fn loops_keep_what_their_turns_need() {
        let source = "fn f(a: [n]f32, k: i64) -> [n]f32, [n]f32 {
            let b: [n]f32 = map(|x| x + 1.0, a)
            let c: [n]f32 = map(|x| x - 1.0, a)
            let v: [n]f32, t: i64 = while(|v: [n]f32, t: i64| { let go = t < k return go }, |v: [n]f32, t: i64| {
                let w: [n]f32 = map(|x, y| x * y, v, b)
                let u = t + 1
                return w, u }, a, 0i64)
            return v, c }";
        assert_eq!(launches(&needing(source, &[0, 1])) - 1, launches(&needing(source, &[0])));
        assert!(needing(source, &[0]).to_string().contains("allocate b"));
    }
}
