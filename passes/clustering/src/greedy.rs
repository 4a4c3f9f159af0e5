//! Clusters by merging, pair after pair, wherever the rules allow: for comparison, to start from, and to fall back to.

use std::collections::HashSet;

use crate::{
    fit::Fitter,
    partition::Partition,
    problem::{Problem, Refusal},
};

/// What the shared analysis of nests, or whoever else may object, says of the nodes of a cluster.
pub(crate) type Judge<'a> = dyn FnMut(&[usize]) -> Result<(), Refusal> + 'a;

/// Merges along edges from producers to consumers in order, then along arrays that are read twice, until nothing changes.
pub(crate) fn greedy(problem: &Problem<'_>, judge: &mut Judge<'_>) -> Partition {
    let all: Vec<usize> = (0..problem.pairs.len()).collect();
    merged(problem, &all, judge)
}

/// Merges along pairs, the first of these first, until nothing changes.
pub(crate) fn merged(problem: &Problem<'_>, pairs: &[usize], judge: &mut Judge<'_>) -> Partition {
    let mut partition = Partition::apart(problem.graph.nodes.len());
    let mut fitter = Fitter::new(problem);
    loop {
        let mut changed = false;
        let mut failed: HashSet<(usize, usize)> = HashSet::new();
        for pair in pairs.iter().map(|&pair| &problem.pairs[pair]).filter(|pair| pair.refused.is_none()) {
            let (a, b) = (partition.of(pair.a), partition.of(pair.b));
            let (a, b) = (a.min(b), a.max(b));
            if a == b || failed.contains(&(a, b)) {
                continue;
            }
            let allowed =
                partition.may_merge(problem, &mut fitter, a, b).is_ok() && judge(&partition.union(a, b)).is_ok();
            if allowed {
                partition.merge(a, b);
                failed.retain(|&(x, y)| ![x, y].contains(&a) && ![x, y].contains(&b));
                changed = true;
            } else {
                failed.insert((a, b));
            }
        }
        if !changed {
            return partition;
        }
    }
}
