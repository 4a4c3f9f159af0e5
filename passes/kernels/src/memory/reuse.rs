//! Where a kernel may write over what it reads for the last time.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{Access, Kernel, KernelArrayId, Plan, PlanValue, Step, ValueId, analysis::InPlace};

/// Lets values that kernels write take over the memory of values that they read, where nothing else needs those: frees are in place.
pub(crate) fn insert(plan: &mut Plan) {
    let kept: HashSet<ValueId> = plan.results.iter().copied().collect();
    let mut steps = std::mem::take(&mut plan.steps);
    list(&mut steps, &[], &kept, &mut plan.kernels, &plan.values);
    plan.steps = steps;
}

/// One list of steps; `state` of the loop whose body it is. `kept` are the results of the plan, for its own list: inside, what is needed after a
/// list is not freed in it.
fn list(steps: &mut [Step], state: &[ValueId], kept: &HashSet<ValueId>, kernels: &mut [Kernel], values: &[PlanValue]) {
    let none = HashSet::new();
    for step in steps.iter_mut() {
        match step {
            Step::If { then, otherwise, .. } => {
                list(then, &[], &none, kernels, values);
                list(otherwise, &[], &none, kernels, values);
            }
            Step::While { state, condition_steps, condition: _, body, next: _ } => {
                list(condition_steps, &[], &none, kernels, values);
                list(body, state, &none, kernels, values);
            }
            Step::Lanes { body, .. } => list(body, &[], &none, kernels, values),
            _ => {}
        }
    }
    let mut made: HashMap<ValueId, usize> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        made.extend(step.makes().iter().map(|&id| (id, at)));
    }
    let mut taken: HashSet<ValueId> = HashSet::new();
    for at in 0..steps.len() {
        let Step::Launch { kernel, arrays, .. } = &steps[at] else { continue };
        let (number, arrays) = (*kernel, arrays.clone());
        let kernel = &kernels[number];
        let uses = InPlace::of(kernel);
        let mut over: Vec<Option<KernelArrayId>> = kernel.arrays.iter().map(|array| array.in_place_of).collect();
        for written in 0..arrays.len() {
            if kernel.arrays[written].access != Access::Write {
                continue;
            }
            let Some(allocated) = allocated(&steps[..at], arrays[written]) else { continue };
            let source = (0..arrays.len()).find(|&read| {
                let id = arrays[read];
                !taken.contains(&id)
                    && !kept.contains(&id)
                    && arrays.iter().filter(|&&array| array == id).count() == 1
                    && is_free(&over, written, read)
                    && uses.allows(KernelArrayId::at(written), KernelArrayId::at(read)).is_ok()
                    && (state.contains(&id) || made.get(&id).is_some_and(|&at| at < allocated))
                    && Step::free_unused(id, &steps[at + 1..], values)
            });
            let Some(read) = source else { continue };
            over[written] = Some(KernelArrayId::at(read));
            taken.insert(arrays[read]);
            if let Step::Allocate { in_place_of, .. } = &mut steps[allocated] {
                *in_place_of = Some(arrays[read]);
            }
        }
        for (array, over) in kernels[number].arrays.iter_mut().zip(over) {
            array.in_place_of = over;
        }
    }
}

/// Where a value is allocated, if nothing uses it from there on.
fn allocated(before: &[Step], value: ValueId) -> Option<usize> {
    let at = before.iter().rposition(|step| {
        let mut used = false;
        step.for_each_value(&mut |id| used |= id == value);
        used
    })?;
    matches!(before[at], Step::Allocate { value: made, in_place_of: None, .. } if made == value).then_some(at)
}

/// Whether no other array is written over the one read. A kernel may be launched more than once, and is the same each time.
fn is_free(over: &[Option<KernelArrayId>], written: usize, read: usize) -> bool {
    let source = Some(KernelArrayId::at(read));
    if over[written].is_some() { over[written] == source } else { !over.contains(&source) }
}
