//! Restricts a problem to a piece of it, so that each step costs by the size of the piece and not of the graph.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    bits::Bits,
    graph::{Complete, Graph, Kind, Source},
    pairs::{Pair, Refusal},
    partition::Partition,
    pieces::Piece,
    problem::{Problem, traversed_by},
    report::sentence,
};

/// The graph of the nodes of a piece: what reports need of it. Nodes are numbered by position in the piece.
pub(crate) fn graph(problem: &Problem<'_>, piece: &Piece) -> Graph {
    let nodes: Vec<_> = piece.nodes.iter().map(|&node| problem.graph.nodes[node].clone()).collect();
    let named = nodes.iter().flat_map(|node| node.outputs.iter().map(|output| output.extents).chain([node.extents]));
    let classes = named.filter_map(|class| Some((class, problem.graph.classes.get(&class)?.clone()))).collect();
    Graph { classes, nodes, ..Graph::default() }
}

impl Problem<'_> {
    /// The problem of a piece alone, whose [`graph`] is given, and for each of its pairs the position among those of the whole.
    ///
    /// Pairs that lead out of the piece are not fused. Who waits for whom by a way outside of it has an edge. Orders and classes keep their
    /// numbers.
    pub(crate) fn restricted<'g>(&self, piece: &Piece, graph: &'g Graph) -> (Problem<'g>, Vec<usize>) {
        let nodes = &piece.nodes[..];
        let count = nodes.len();
        let at: HashMap<usize, usize> = nodes.iter().enumerate().map(|(position, &node)| (node, position)).collect();
        let mut sorted: Vec<usize> = (0..count).collect();
        sorted.sort_by_key(|&node| self.rank[nodes[node]]);
        let mut rank = vec![0; count];
        sorted.iter().enumerate().for_each(|(position, &node)| rank[node] = position);
        let inside =
            |node: &usize| self.next[*node].iter().filter_map(|&(to, why)| Some((*at.get(&to)?, why))).collect();
        let mut next: Vec<Vec<(usize, Option<Complete>)>> = nodes.iter().map(inside).collect();
        for (from, to) in piece.waits.iter().map(|(from, to)| (at[from], at[to])) {
            if !next[from].iter().any(|&(other, _)| other == to) {
                next[from].push((to, Some(Complete::Other)));
            }
        }
        let mut written: Vec<Vec<bool>> = nodes.iter().map(|&node| self.written[node].clone()).collect();
        let (mut pairs, mut positions, mut of_node) = (Vec::new(), Vec::new(), vec![Vec::new(); count]);
        let touching: BTreeSet<usize> = nodes.iter().flat_map(|&node| self.of_node[node].iter().copied()).collect();
        for position in touching {
            let pair = &self.pairs[position];
            match (at.get(&pair.a), at.get(&pair.b)) {
                (Some(&a), Some(&b)) => {
                    of_node[a].push(pairs.len());
                    of_node[b].push(pairs.len());
                    // A reason names nodes of the whole.
                    let refused = pair.refused.as_ref().map(|why| Refusal::Nest(sentence(self.graph, why)));
                    pairs.push(Pair { a, b, outputs: pair.outputs.clone(), weight: pair.weight, refused });
                    positions.push(position);
                }
                (Some(&a), None) => pair.outputs.iter().for_each(|&output| written[a][output] = true),
                _ => {}
            }
        }
        let after = if self.knows_waits() { self.waiting_inside(nodes) } else { Vec::new() };
        let traversed = self.traversed_inside(nodes, &at);
        let copied = |of: &[Option<u32>]| nodes.iter().map(|&node| of[node]).collect();
        let problem = Problem {
            graph,
            operations: graph.nodes.iter().filter(|node| node.kind != Kind::Outside).count(),
            pairs,
            of_node,
            next,
            users: nodes.iter().map(|&node| self.users[node]).collect(),
            sorted,
            rank,
            written,
            used: nodes.iter().map(|&node| self.used[node].clone()).collect(),
            down: self.down,
            orders: self.orders,
            own_order: copied(&self.own_order),
            inner_read: copied(&self.inner_read),
            inner_made: nodes.iter().map(|&node| self.inner_made[node].clone()).collect(),
            inners: self.inners,
            traversed_by: traversed_by(&traversed, count),
            traversed,
            complete_reads: 0,
            unweighed: Vec::new(),
            after,
        };
        (problem, positions)
    }

    /// For each of some nodes those of them that wait for it, by position.
    fn waiting_inside(&self, nodes: &[usize]) -> Vec<Bits> {
        let one = |&from: &usize| {
            let mut after = Bits::new(nodes.len());
            let waiting = nodes.iter().enumerate().filter(|&(_, &to)| self.waiting()[from].contains(to));
            waiting.for_each(|(position, _)| after.insert(position));
            after
        };
        nodes.iter().map(one).collect()
    }

    /// What some nodes traverse, with their positions; what is made outside of them comes from outside.
    fn traversed_inside(&self, nodes: &[usize], at: &HashMap<usize, usize>) -> BTreeMap<Source, Vec<usize>> {
        let mut outside: HashMap<Source, usize> = HashMap::new();
        let mut traversed: BTreeMap<Source, Vec<usize>> = BTreeMap::new();
        for (position, &node) in nodes.iter().enumerate() {
            for &source in &self.traversed_by[node] {
                let known = outside.len();
                let own = match source {
                    Source::Output(maker, output) if at.contains_key(&maker) => Source::Output(at[&maker], output),
                    _ => Source::External(*outside.entry(source).or_insert(known)),
                };
                traversed.entry(own).or_default().push(position);
            }
        }
        traversed
    }
}

/// The clusters of a piece, as far as they are inside of it.
pub(crate) fn partition(whole: &Partition, piece: &Piece) -> Partition {
    let mut clusters: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (position, &node) in piece.nodes.iter().enumerate() {
        clusters.entry(whole.of(node)).or_default().push(position);
    }
    let mut partition = Partition::apart(piece.nodes.len());
    clusters.into_values().for_each(|nodes| _ = partition.merge_all(&nodes));
    partition
}
