//! The parts of a graph that are clustered by themselves, and what is known of them before any model.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Kind, objective::Weights, problem::Problem, unite::Unite};

/// Parts of more operations than this are cut where nothing may be fused; how few levels they have is then no longer part of the models.
pub(crate) const WHOLE: usize = 30;

/// Some nodes that are decided by themselves.
pub(crate) struct Piece {
    pub(crate) nodes: Vec<usize>,
    /// Whether edges that must be complete lead out of it.
    pub(crate) local: bool,
    /// Who waits for whom by a way outside.
    pub(crate) waits: Vec<(usize, usize)>,
}

/// Nodes that an edge or a pair that may be fused connects; parts in which nothing can be decided are left out.
pub(crate) fn parts(problem: &Problem<'_>, weights: &Weights, whole: usize) -> Vec<Piece> {
    let count = problem.graph.nodes.len();
    let mut unite = Unite::new(count);
    for (node, next) in problem.next.iter().enumerate() {
        next.iter().for_each(|&(to, _)| _ = unite.unite(node, to));
    }
    let open: Vec<_> = problem.pairs.iter().filter(|pair| pair.refused.is_none()).collect();
    open.iter().for_each(|pair| _ = unite.unite(pair.a, pair.b));
    // Where the number of levels is what counts, the largest of all parts does, and they are one.
    let levels_first = weights.levels > weights.written;
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for node in 0..count {
        parts.entry(if levels_first { 0 } else { unite.find(node) }).or_default().push(node);
    }
    let decided: BTreeSet<usize> = open.iter().map(|pair| if levels_first { 0 } else { unite.find(pair.a) }).collect();
    let mut near = Unite::new(count);
    open.iter().for_each(|pair| _ = near.unite(pair.a, pair.b));
    let mut pieces = Vec::new();
    for (_, nodes) in parts.into_iter().filter(|(root, _)| decided.contains(root)) {
        let operations = nodes.iter().filter(|&&node| problem.is_operation(node)).count();
        if operations <= whole || levels_first || !problem.knows_waits() {
            pieces.push(Piece { nodes, local: false, waits: Vec::new() });
            continue;
        }
        let mut islands: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        nodes.into_iter().for_each(|node| islands.entry(near.find(node)).or_default().push(node));
        for nodes in islands.into_values().filter(|nodes| nodes.len() > 1) {
            let waits = waits(problem, &nodes);
            pieces.push(Piece { nodes, local: true, waits });
        }
    }
    pieces
}

/// Who waits for whom among some nodes, without what follows from others of them.
fn waits(problem: &Problem<'_>, nodes: &[usize]) -> Vec<(usize, usize)> {
    let mut sorted = nodes.to_vec();
    sorted.sort_by_key(|&node| problem.rank[node]);
    let mut all = Vec::new();
    for (position, &from) in sorted.iter().enumerate() {
        let mut nearest: Vec<usize> = Vec::new();
        for &to in sorted[position + 1..].iter().filter(|&&to| problem.waits(from, to)) {
            if !nearest.iter().any(|&between| problem.waits(between, to)) {
                nearest.push(to);
                all.push((from, to));
            }
        }
    }
    all
}

/// Edges that are fused in some best solution: the producer has no other user, makes elements in any order, and has one other pair at most,
/// which is worth no more.
///
/// Moving the producer out of the cluster of that other pair (of which it is a leaf) into that of its consumer costs nothing: what it loses
/// it gains, and nothing runs between it and its only user.
pub(crate) fn certain(problem: &Problem<'_>, nodes: &[usize], weights: &Weights) -> BTreeSet<usize> {
    let expands = problem.orders > problem.down + 2;
    let mut certain = BTreeSet::new();
    for &node in nodes {
        let free = match problem.graph.nodes[node].kind {
            _ if problem.graph.nodes[node].dear => false,
            Kind::Elementwise => true,
            Kind::Source => !expands,
            _ => false,
        };
        let open: Vec<usize> =
            problem.of_node[node].iter().copied().filter(|&pair| problem.pairs[pair].refused.is_none()).collect();
        let down =
            open.iter().copied().find(|&pair| problem.pairs[pair].is_vertical() && problem.pairs[pair].a == node);
        let Some(down) = down else { continue };
        let only_user = problem.next[node].len() == 1 && !problem.written[node].contains(&true);
        let others: Vec<usize> = open.into_iter().filter(|&pair| pair != down).collect();
        // Another pair with the same node is no leaf's.
        let leaf = others.len() <= 1
            && others.iter().all(|&pair| {
                let (pair, down) = (&problem.pairs[pair], &problem.pairs[down]);
                pair.weight <= down.weight && pair.a != down.b && pair.b != down.b
            });
        if free && only_user && leaf && weights.reads == 0 {
            certain.insert(down);
        }
    }
    certain
}
