//! What no clusters are below: whatever reaches it is the best.

use std::collections::{BTreeMap, BTreeSet};

use crate::{objective::Measures, problem::Problem};

/// What no clusters of these nodes are below.
pub(crate) fn least(problem: &Problem<'_>, nodes: &[usize], conflicts: &[(usize, usize)]) -> Measures {
    let mut levels: BTreeMap<usize, u64> = BTreeMap::new();
    let mut sorted = nodes.to_vec();
    sorted.sort_by_key(|&node| problem.rank[node]);
    let refused: BTreeSet<(usize, usize)> = sorted
        .iter()
        .flat_map(|&node| &problem.of_node[node])
        .map(|&index| &problem.pairs[index])
        .filter(|pair| pair.is_vertical() && pair.refused.is_some())
        .map(|pair| (pair.a, pair.b))
        .collect();
    let mut most = 0;
    for &node in &sorted {
        let own = levels.get(&node).copied().unwrap_or(0);
        if problem.is_operation(node) {
            most = most.max(own);
        }
        for &(to, why) in &problem.next[node] {
            let step = problem.is_operation(node) && (why.is_some() || refused.contains(&(node, to)));
            let reached = levels.entry(to).or_insert(0);
            *reached = (*reached).max(own + u64::from(step));
        }
    }
    let operations = nodes.iter().filter(|&&node| problem.is_operation(node));
    let written = operations.map(|&node| {
        let both = problem.written[node].iter().zip(&problem.used[node]);
        both.filter(|(written, used)| **written && **used).count() as u64
    });
    Measures {
        unfused_edges: least_unfused(problem, nodes, conflicts),
        written: written.sum(),
        levels: most,
        ..Measures::default()
    }
}

/// A lower bound on the weight of unfused pairs: pairs that are never fused, and of conflicts as many as do not share a pair.
fn least_unfused(problem: &Problem<'_>, nodes: &[usize], conflicts: &[(usize, usize)]) -> u64 {
    let mut rest: Vec<u64> = problem.pairs.iter().map(|pair| u64::from(pair.weight)).collect();
    let never: u64 = nodes
        .iter()
        .flat_map(|&node| problem.of_node[node].iter().filter(move |&&pair| problem.pairs[pair].a == node))
        .filter(|&&pair| problem.pairs[pair].refused.is_some())
        .map(|&pair| rest[pair])
        .sum();
    let mut least = never;
    for &(p, q) in conflicts {
        let both = rest[p].min(rest[q]);
        rest[p] -= both;
        rest[q] -= both;
        least += both;
    }
    least
}
