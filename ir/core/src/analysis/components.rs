//! Which components of a combining function stand alone.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxHashSet;

use crate::{
    Instruction, Lambda, LocalId, ScalarOperand,
    analysis::need::{for_each_use, free_uses, local},
};

/// Components that a component's results depend on, for each: itself at least.
pub fn dependencies(combine: &Lambda) -> Vec<HashSet<usize>> {
    let k = combine.results.len();
    let mut reach: HashMap<LocalId, HashSet<usize>> = HashMap::new();
    for (position, param) in combine.params.iter().enumerate() {
        reach.insert(param.id, HashSet::from([position % k.max(1)]));
    }
    for instruction in &combine.instructions {
        let of: HashSet<usize> =
            free_uses(instruction).iter().filter_map(|id| reach.get(id)).flatten().copied().collect();
        for result in &instruction.results {
            reach.insert(result.id, of.clone());
        }
    }
    let of = |result: &ScalarOperand| local(result).and_then(|id| reach.get(&id).cloned()).unwrap_or_default();
    combine.results.iter().enumerate().map(|(own, result)| of(result).into_iter().chain([own]).collect()).collect()
}

/// The components cut into groups that do not depend on each other, in order.
pub fn groups(combine: &Lambda) -> Vec<Vec<usize>> {
    let dependencies = dependencies(combine);
    let mut group: Vec<usize> = (0..dependencies.len()).collect();
    for (component, others) in dependencies.iter().enumerate() {
        for &other in others {
            let (from, to) = (group[component].max(group[other]), group[component].min(group[other]));
            group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut first: HashMap<usize, usize> = HashMap::new();
    for (component, &of) in group.iter().enumerate() {
        let at = *first.entry(of).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(component);
    }
    groups
}

/// The function of some of its components alone.
pub fn restricted(combine: &Lambda, components: &[usize]) -> Lambda {
    let k = combine.results.len();
    let results: Vec<ScalarOperand> = components.iter().map(|&c| combine.results[c]).collect();
    let params = components
        .iter()
        .chain(&components.iter().map(|&c| k + c).collect::<Vec<_>>())
        .map(|&c| combine.params[c].clone())
        .collect();
    Lambda { params, instructions: live(&combine.instructions, &results), results }
}

/// The instructions that the results depend on.
pub fn live(instructions: &[Instruction], results: &[ScalarOperand]) -> Vec<Instruction> {
    let live = which_live(instructions, results).0;
    instructions.iter().zip(live).filter(|(_, live)| *live).map(|(instruction, _)| instruction.clone()).collect()
}

/// Of each instruction whether the results depend on it, and the locals that those instructions and the results use.
pub fn which_live(instructions: &[Instruction], results: &[ScalarOperand]) -> (Vec<bool>, FxHashSet<LocalId>) {
    let mut used: FxHashSet<LocalId> = results.iter().filter_map(local).collect();
    let mut live = vec![false; instructions.len()];
    for (instruction, live) in instructions.iter().zip(&mut live).rev() {
        if instruction.results.iter().any(|result| used.contains(&result.id)) {
            for_each_use(instruction, &mut |id| _ = used.insert(id));
            *live = true;
        }
    }
    (live, used)
}
