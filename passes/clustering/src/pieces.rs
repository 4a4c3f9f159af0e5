//! The parts of a graph that are clustered by themselves, and what is known of them before any model.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fusebox_ir::analysis::UnionFind;

use crate::{Kind, objective::Weights, problem::Problem};

/// Parts of more operations than this are cut where nothing may be fused; how few levels they have is then no longer part of the models.
pub(crate) const WHOLE: usize = 30;

/// Some nodes that are decided by themselves.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Ascending.
    pub(crate) nodes: Vec<usize>,
    /// Whether edges that must be complete lead out of it.
    pub(crate) local: bool,
    /// Whether it is too large for a model: only if greedy clusters are the best it is left whole.
    pub(crate) large: bool,
    /// Whether pairs that may be fused lead out of it.
    pub(crate) cut: bool,
    /// Who waits for whom by a way outside.
    pub(crate) waits: Vec<(usize, usize)>,
}

/// How parts are cut into pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutting {
    /// The most operations of a part that is left whole.
    pub(crate) whole: usize,
    /// The most operations of a model.
    pub(crate) most: usize,
}

impl Cutting {
    /// Nothing is cut.
    pub(crate) const NOTHING: Self = Self { whole: usize::MAX, most: usize::MAX };
}

/// Nodes that an edge or a pair that may be fused connects; parts in which nothing can be decided are left out.
pub(crate) fn parts(problem: &Problem<'_>, weights: &Weights, cutting: Cutting) -> Vec<Piece> {
    let count = problem.graph.nodes.len();
    let mut unite = UnionFind::new(count);
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
    let mut near = UnionFind::new(count);
    open.iter().for_each(|pair| _ = near.unite(pair.a, pair.b));
    let operations = |nodes: &[usize]| nodes.iter().filter(|&&node| problem.is_operation(node)).count();
    let mut pieces = Vec::new();
    for (_, nodes) in parts.into_iter().filter(|(root, _)| decided.contains(root)) {
        if operations(&nodes) <= cutting.whole || (levels_first && operations(&nodes) <= cutting.most) {
            pieces.push(Piece { nodes, local: false, large: false, cut: false, waits: Vec::new() });
            continue;
        }
        let mut islands: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        nodes.into_iter().for_each(|node| islands.entry(near.find(node)).or_default().push(node));
        for nodes in islands.into_values().filter(|nodes| nodes.len() > 1) {
            let large = operations(&nodes) > cutting.most || !problem.knows_waits();
            let waits = if large { Vec::new() } else { waits(problem, &nodes) };
            pieces.push(Piece { nodes, local: true, large, cut: false, waits });
        }
    }
    pieces
}

/// An island in pieces of so many nodes: those that follow each other in an order in which edges lead forwards, so that no way leads out of a
/// piece and back into it but by what must be complete.
pub(crate) fn windows(problem: &Problem<'_>, mut nodes: Vec<usize>, size: usize) -> Vec<Piece> {
    nodes.sort_by_key(|&node| problem.rank[node]);
    let count = nodes.len().div_ceil(size.max(2));
    let size = nodes.len().div_ceil(count.max(1)).max(2);
    let mut pieces = Vec::new();
    for window in nodes.chunks(size) {
        let at: HashMap<usize, usize> = window.iter().enumerate().map(|(position, &node)| (node, position)).collect();
        let mut near = UnionFind::new(window.len());
        for &index in window.iter().flat_map(|&node| &problem.of_node[node]) {
            let pair = &problem.pairs[index];
            if let (None, Some(&a), Some(&b)) = (&pair.refused, at.get(&pair.a), at.get(&pair.b)) {
                near.unite(a, b);
            }
        }
        let mut islands: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (position, &node) in window.iter().enumerate() {
            islands.entry(near.find(position)).or_default().push(node);
        }
        for mut nodes in islands.into_values().filter(|nodes| nodes.len() > 1) {
            nodes.sort_unstable();
            let waits = if problem.knows_waits() { waits(problem, &nodes) } else { Vec::new() };
            pieces.push(Piece { nodes, local: true, large: false, cut: true, waits });
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
            _ if problem.graph.nodes[node].expensive => false,
            Kind::Elementwise => true,
            Kind::Source => !expands,
            _ => false,
        };
        let open: Vec<usize> =
            problem.of_node[node].iter().copied().filter(|&pair| problem.pairs[pair].refused.is_none()).collect();
        let down =
            open.iter().copied().find(|&pair| problem.pairs[pair].is_vertical() && problem.pairs[pair].a == node);
        let Some(down) = down else { continue };
        let only_user = problem.users[node] == 1 && !problem.written[node].contains(&true);
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
