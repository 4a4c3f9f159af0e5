//! What fused pairs make equal: orders, classes of inner extents, segments.
//!
//! A fused pair ties how one node makes its elements, or reads them, to how the other reads them. Where what is tied together by a way of
//! fused pairs has nothing that it may all be, some pair on the way is apart. These are the cuts between terminals of a multiway cut
//! (Dahlhaus, Johnson, Papadimitriou, Seymour, Yannakakis, The complexity of multiterminal cuts, 1994), the terminals being the different
//! orders and classes.

use std::collections::BTreeMap;

use crate::{
    model::{Parts, Path},
    orders::{Domain, meet},
    paths::{LEAST, Near},
};

/// How a node reads (0), or makes an output (its number, and 1).
type End = (usize, usize);

/// One of the things that are tied.
struct Ties {
    /// Pairs of each end, with the end that they tie to it.
    near: BTreeMap<End, Vec<(End, usize)>>,
    /// Of the ends that may not be everything.
    domains: BTreeMap<End, Domain>,
}

/// All that is tied in a part.
pub(crate) struct AllTies(Vec<Ties>);

impl AllTies {
    pub(crate) fn new(parts: &Parts<'_>, open: impl Iterator<Item = usize> + Clone) -> Self {
        Self(
            [orders(parts, open.clone()), inners(parts, open.clone()), segments(parts, open)]
                .into_iter()
                .flatten()
                .collect(),
        )
    }

    /// Inequalities that values of open pairs (0: fused, 1: apart) break, so many at most for each end.
    pub(crate) fn broken(&self, values: &BTreeMap<usize, f64>, each: usize) -> Vec<Path> {
        self.0.iter().flat_map(|ties| ties.broken(values, each)).collect()
    }
}

impl Ties {
    /// Nothing is to be said where all may be equal.
    fn checked(self) -> Option<Self> {
        let mut domains = self.domains.values();
        let first = domains.next().copied();
        domains.fold(first, |all, &domain| all.and_then(|all| meet(all, domain))).is_none().then_some(self)
    }

    fn tie(&mut self, a: End, b: End, pair: usize) {
        self.near.entry(a).or_default().push((b, pair));
        self.near.entry(b).or_default().push((a, pair));
    }

    fn broken(&self, values: &BTreeMap<usize, f64>, each: usize) -> Vec<Path> {
        let mut found = Vec::new();
        for (&from, &own) in &self.domains {
            let near = Near::new(from, |end| self.near.get(&end).into_iter().flatten(), |pair| values[&pair]);
            let mut broken: Vec<(f64, End)> = (near.all().into_iter())
                .filter(|&(to, far)| to > from && 1.0 - far > LEAST)
                .filter(|(to, _)| self.domains.get(to).is_some_and(|&other| meet(own, other).is_none()))
                .map(|(to, far)| (far, to))
                .collect();
            broken.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            found.extend(broken.into_iter().take(each).map(|(_, to)| Path { pairs: near.pairs(to), beyond: None }));
        }
        found
    }
}

/// Orders: of nodes that keep theirs, what they make is what they read.
fn orders(parts: &Parts<'_>, open: impl Iterator<Item = usize>) -> Option<Ties> {
    let problem = parts.problem;
    let mut ties = Ties { near: BTreeMap::new(), domains: BTreeMap::new() };
    let makes = |node: usize| (node, usize::from(!problem.keeps_order(node)));
    for &node in parts.nodes {
        let stored = problem.written[node].contains(&true) && problem.has_order(node);
        let made = if stored { meet(problem.made(node), problem.stored()) } else { None };
        let made = made.unwrap_or(problem.made(node));
        ties.domains.insert((node, 0), if problem.keeps_order(node) { made } else { problem.reads(node) });
        ties.domains.insert(makes(node), made);
    }
    for index in open {
        let pair = &problem.pairs[index];
        ties.tie(if pair.is_vertical() { makes(pair.a) } else { (pair.a, 0) }, (pair.b, 0), index);
    }
    ties.domains.retain(|_, domain| *domain != (0, problem.orders.saturating_sub(1)));
    ties.checked()
}

/// Classes of what is folded one dimension inside.
fn inners(parts: &Parts<'_>, open: impl Iterator<Item = usize>) -> Option<Ties> {
    let problem = parts.problem;
    let mut ties = Ties { near: BTreeMap::new(), domains: BTreeMap::new() };
    let made = |node: usize, output: usize| (node, if problem.keeps_inner(node, output) { 0 } else { 1 + output });
    for &node in parts.nodes {
        let read = ((node, 0), problem.inner_read[node]);
        let made = problem.inner_made[node].iter().enumerate().map(|(output, &class)| (made(node, output), class));
        let known = std::iter::once(read).chain(made).filter_map(|(end, class)| Some((end, (class?, class?))));
        ties.domains.extend(known);
    }
    for index in open {
        let pair = &problem.pairs[index];
        if !pair.is_vertical() {
            ties.tie((pair.a, 0), (pair.b, 0), index);
        }
        pair.outputs.iter().for_each(|&output| ties.tie(made(pair.a, output), (pair.b, 0), index));
    }
    ties.checked()
}

/// Segments: one class for each cluster.
fn segments(parts: &Parts<'_>, open: impl Iterator<Item = usize>) -> Option<Ties> {
    let problem = parts.problem;
    let mut ties = Ties { near: BTreeMap::new(), domains: BTreeMap::new() };
    for &node in parts.nodes {
        ties.domains.extend(problem.graph.nodes[node].segments.map(|class| ((node, 0), (class, class))));
    }
    for index in open {
        ties.tie((problem.pairs[index].a, 0), (problem.pairs[index].b, 0), index);
    }
    ties.checked()
}
