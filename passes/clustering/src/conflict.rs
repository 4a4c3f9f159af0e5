//! Pairs of which one at least stays unfused, whatever else is: they tighten the model, and bounds are made of them.

use crate::{orders::meet, problem::Problem};

/// Two pairs that meet in a node and are not both fused: by position, the smaller first.
///
/// `limit` is how many are given at most.
pub(crate) fn conflicts(problem: &Problem<'_>, nodes: &[usize], limit: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for &node in nodes {
        let open: Vec<usize> =
            problem.of_node[node].iter().copied().filter(|&pair| problem.pairs[pair].refused.is_none()).collect();
        for (position, &p) in open.iter().enumerate() {
            for &q in &open[position + 1..] {
                if found.len() == limit {
                    return found;
                }
                let other = |pair: usize| {
                    let pair = &problem.pairs[pair];
                    if pair.a == node { pair.b } else { pair.a }
                };
                if other(p) != other(q) && (problem.waits(other(p), other(q)) || orders_differ(problem, node, p, q)) {
                    found.push((p.min(q), p.max(q)));
                }
            }
        }
    }
    found
}

/// Whether two pairs ask a node to run in two orders.
fn orders_differ(problem: &Problem<'_>, node: usize, p: usize, q: usize) -> bool {
    // Whether the pair binds how the node makes its elements (else: how it reads), and what it may be.
    let asks = |pair: usize| {
        let pair = &problem.pairs[pair];
        match (pair.is_vertical(), pair.a == node) {
            (true, true) => (true, problem.reads(pair.b)),
            (true, false) => (false, problem.made(pair.a)),
            (false, true) => (false, problem.reads(pair.b)),
            (false, false) => (false, problem.reads(pair.a)),
        }
    };
    let ((p_makes, p), (q_makes, q)) = (asks(p), asks(q));
    (p_makes == q_makes || problem.keeps_order(node)) && meet(p, q).is_none()
}
