//! Pairs that are never fused, whatever else is: the rules for two nodes, and for what stands between them.

use std::collections::HashSet;

use crate::{
    Error,
    bits::Bits,
    feasible_orders::without_order,
    graph::Graph,
    orders::meet,
    pairs::{Pair, Refusal},
    problem::Problem,
};

/// Beyond it, pairs are not tested for something that stands between them: that costs the square of it in bits.
const MAX_CLOSURE: usize = 6_000;

/// Who follows whom; nothing in graphs beyond [`MAX_CLOSURE`].
#[derive(Default)]
struct Waiting {
    /// For each node those that need it, through others too.
    reached: Vec<Bits>,
    /// For each node those that wait for it to be complete.
    after: Vec<Bits>,
}

/// The problem of a graph, with the pairs that are never fused.
///
/// # Errors
/// Graphs that are malformed.
pub(crate) fn problem(graph: &Graph) -> Result<Problem<'_>, Error> {
    let mut problem = Problem::new(graph)?;
    refuse(&mut problem);
    Ok(problem)
}

/// Finds pairs that are never fused, until no more are.
fn refuse(problem: &mut Problem<'_>) {
    let mut pairs = std::mem::take(&mut problem.pairs);
    loop {
        let mut changed = false;
        for pair in pairs.iter_mut().filter(|pair| pair.refused.is_none()) {
            pair.refused = never(problem, pair);
            changed |= pair.refused.is_some();
        }
        let (between, waiting) = between(problem, &mut pairs);
        for position in without_order(problem, &pairs, &waiting.reached) {
            pairs[position].refused = Some(Refusal::Order);
            changed = true;
        }
        problem.after = waiting.after;
        // What is not fused is written, and then made in the order of memory.
        for pair in pairs.iter().filter(|pair| pair.refused.is_some() && pair.is_vertical()) {
            pair.outputs.iter().for_each(|&output| problem.written[pair.a][output] = true);
        }
        if !changed && !between {
            break;
        }
    }
    problem.pairs = pairs;
}

fn never(problem: &Problem<'_>, pair: &Pair) -> Option<Refusal> {
    let (a, b) = (&problem.graph.nodes[pair.a], &problem.graph.nodes[pair.b]);
    if a.need != b.need {
        return Some(Refusal::Need);
    }
    if let (Some(x), Some(y)) = (a.segments, b.segments)
        && x != y
    {
        return Some(Refusal::Segments);
    }
    if !pair.is_vertical() {
        let orders = meet(problem.reads(pair.a), problem.reads(pair.b)).is_none();
        let inner = matches!((problem.inner_read[pair.a], problem.inner_read[pair.b]), (Some(x), Some(y)) if x != y);
        return if orders { Some(Refusal::Order) } else { inner.then_some(Refusal::Inner) };
    }
    if a.expensive && problem.reads(pair.b).1 < problem.down {
        return Some(Refusal::Expensive(pair.a));
    }
    for &output in &pair.outputs {
        let made = problem.made(pair.a);
        let reads = problem.reads(pair.b);
        if meet(made, reads).is_none() {
            return Some(Refusal::Order);
        }
        if problem.written[pair.a][output] && meet(made, problem.stored()).and_then(|made| meet(made, reads)).is_none()
        {
            return Some(Refusal::Stored(pair.a));
        }
        if let (Some(x), Some(y)) = (problem.inner_made[pair.a][output], problem.inner_read[pair.b])
            && x != y
        {
            return Some(Refusal::Inner);
        }
    }
    // What one output needs holds for the other too: a node is made in one order.
    if problem.written[pair.a].contains(&true)
        && meet(problem.made(pair.a), problem.stored()).and_then(|made| meet(made, problem.reads(pair.b))).is_none()
    {
        return Some(Refusal::Stored(pair.a));
    }
    None
}

/// Refuses pairs between which something must be complete; whether there were any, and who waits for whom.
fn between(problem: &Problem<'_>, pairs: &mut [Pair]) -> (bool, Waiting) {
    let count = problem.graph.nodes.len();
    if count > MAX_CLOSURE {
        return (false, Waiting::default());
    }
    let refused: HashSet<(usize, usize)> =
        pairs.iter().filter(|pair| pair.is_vertical() && pair.refused.is_some()).map(|pair| (pair.a, pair.b)).collect();
    // What can be reached at all, and what through something that must be complete.
    let mut reached = vec![Bits::new(count); count];
    let mut after = vec![Bits::new(count); count];
    for &node in problem.sorted.iter().rev() {
        let (mut all, mut complete) = (Bits::new(count), Bits::new(count));
        for &(to, why) in &problem.next[node] {
            all.insert(to);
            all.union(&reached[to]);
            if why.is_some() || refused.contains(&(node, to)) {
                complete.insert(to);
                complete.union(&reached[to]);
            } else {
                complete.union(&after[to]);
            }
        }
        (reached[node], after[node]) = (all, complete);
    }
    let mut found = false;
    for pair in pairs.iter_mut().filter(|pair| pair.refused.is_none()) {
        if after[pair.a].contains(pair.b) {
            let through = problem.next[pair.a]
                .iter()
                .map(|&(to, _)| to)
                .find(|&to| to != pair.b && (reached[to].contains(pair.b)));
            pair.refused = Some(Refusal::Between(through.unwrap_or(pair.a)));
            found = true;
        }
    }
    (found, Waiting { reached, after })
}
