//! Launches of a plan that need nothing of each other: a machine may run them at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Access, Extent, Plan, PlanExtent, Step, ValueId};

/// Groups of launches of which none writes what another reads or writes, and at least two have loops: scalar code alone is not worth a thread.
///
/// The launches of a group stand behind each other in one list of steps. Between them memory is made or freed, and nothing else happens, so
/// a machine makes all of the memory, runs the launches in any order, and frees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndependentLaunches {
    /// How many steps a group has, from its first launch to its last, by the array that its first launch writes and no other does.
    steps: BTreeMap<ValueId, usize>,
}

impl IndependentLaunches {
    /// Finds the groups, in bodies of branches and loops too.
    pub fn of(plan: &Plan) -> Self {
        let mut groups = Self::default();
        plan.lists().into_iter().for_each(|steps| groups.find(plan, steps));
        let mut written = BTreeMap::<ValueId, usize>::new();
        for (id, access) in plan.lists().into_iter().flatten().flat_map(|step| accesses(plan, step)) {
            *written.entry(id).or_default() += usize::from(access != Access::Read);
        }
        groups.steps.retain(|id, _| written.get(id) == Some(&1));
        groups
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// If a step is the first launch of a group, how many steps the group has, this one included.
    pub fn steps_at(&self, plan: &Plan, step: &Step) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        self.steps.get(&first_written(plan, step)?).copied()
    }

    /// The steps of each group.
    pub fn groups<'p>(&self, plan: &'p Plan) -> Vec<&'p [Step]> {
        let group =
            |steps: &'p [Step], first: usize| self.steps_at(plan, &steps[first]).map(|count| &steps[first..][..count]);
        let of = |steps: &'p [Step]| (0..steps.len()).filter_map(move |first| group(steps, first));
        plan.lists().into_iter().flat_map(of).collect()
    }

    fn find(&mut self, plan: &Plan, steps: &[Step]) {
        let mut position = 0;
        while position < steps.len() {
            let count = group(plan, &steps[position..]);
            let group = &steps[position..position + count];
            let loops = group.iter().filter(|step| has_loops(plan, step)).count();
            if let Some(id) = first_written(plan, &steps[position]).filter(|_| loops > 1) {
                self.steps.insert(id, count);
            }
            position += count.max(1);
        }
    }
}

/// What a launch does with each of its arrays; nothing of other steps.
fn accesses<'p>(plan: &'p Plan, step: &'p Step) -> impl Iterator<Item = (ValueId, Access)> + 'p {
    let launch = match step {
        Step::Launch { kernel, arrays, .. } => plan.kernels.get(*kernel).map(|kernel| (kernel, arrays)),
        _ => None,
    };
    launch.into_iter().flat_map(|(kernel, arrays)| arrays.iter().zip(&kernel.arrays).map(|(&id, own)| (id, own.access)))
}

fn has_loops(plan: &Plan, step: &Step) -> bool {
    let Step::Launch { kernel, .. } = step else { return false };
    plan.kernels.get(*kernel).is_some_and(|kernel| !kernel.levels.is_empty())
}

fn first_written(plan: &Plan, step: &Step) -> Option<ValueId> {
    accesses(plan, step).find(|(_, access)| *access != Access::Read).map(|(id, _)| id)
}

/// How many of the first steps are a group: none if the first is no launch, 1 if it is alone.
fn group(plan: &Plan, steps: &[Step]) -> usize {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    let (mut count, mut freed) = (0, false);
    for (position, step) in steps.iter().enumerate() {
        match step {
            Step::Launch { kernel, sizes, arrays } => {
                let Some(kernel) = plan.kernels.get(*kernel) else { break };
                let own_sizes = sizes.iter().filter_map(named);
                let mut reads: BTreeSet<ValueId> = own_sizes.collect();
                let mut writes = BTreeSet::new();
                for (&id, array) in arrays.iter().zip(&kernel.arrays) {
                    if array.access == Access::Read {
                        reads.insert(id)
                    } else {
                        writes.insert(id)
                    };
                    // What it writes may be in the memory of what it reads.
                    writes.extend(array.in_place_of.and_then(|source| arrays.get(source.index())));
                }
                let depends = |id: &ValueId| written.contains(id);
                if reads.iter().any(depends) || writes.iter().any(|id| written.contains(id) || read.contains(id)) {
                    break;
                }
                read.extend(reads);
                written.extend(writes);
                count = position + 1;
            }
            // Between launches; behind the last one they are not part of the group. What is made behind something that is freed could not have its
            // memory, as the group frees at its end: then a run would hold more at one time.
            Step::Allocate { value, .. } | Step::Constant { value, .. } if count > 0 && !freed => {
                let extents = plan.values.get(value.index()).map(|value| &value.ty.extents[..]).unwrap_or_default();
                if extents.iter().filter_map(named).any(|id| written.contains(&id)) {
                    break;
                }
            }
            Step::Free { .. } if count > 0 => freed = true,
            _ => break,
        }
    }
    count
}

fn named(extent: &PlanExtent) -> Option<ValueId> {
    match extent {
        Extent::Value(id) => Some(*id),
        Extent::Constant(_) | Extent::Unknown => None,
    }
}
