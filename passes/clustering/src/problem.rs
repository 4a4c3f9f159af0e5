//! A graph made ready for clustering: who needs whom, what is written in any case, and why an array has to be complete.

use std::collections::{BTreeMap, HashSet};

use crate::{
    Error,
    bits::Bits,
    graph::{Complete, Graph, Kind, Source},
    pairs::Pair,
};

/// The graph with what follows from it.
pub(crate) struct Problem<'g> {
    pub(crate) graph: &'g Graph,
    /// Nodes that are operations.
    pub(crate) operations: usize,
    pub(crate) pairs: Vec<Pair>,
    /// Pairs by node.
    pub(crate) of_node: Vec<Vec<usize>>,
    /// For each node those that need it, ascending; whether it must be complete before and why.
    pub(crate) next: Vec<Vec<(usize, Option<Complete>)>>,
    /// How many others each node is needed by, in the whole graph.
    pub(crate) users: Vec<usize>,
    /// Nodes so that edges lead forwards.
    pub(crate) sorted: Vec<usize>,
    /// Position of each node in `sorted`.
    pub(crate) rank: Vec<usize>,
    /// Outputs that are written whatever is fused.
    pub(crate) written: Vec<Vec<bool>>,
    /// Outputs that somebody reads or wants.
    pub(crate) used: Vec<Vec<bool>>,
    /// The orders of gathers are below it, then come downwards, upwards, and those of what expands append.
    pub(crate) down: u32,
    /// The number of orders.
    pub(crate) orders: u32,
    /// The order that a gather reads in, or an expand appends in.
    pub(crate) own_order: Vec<Option<u32>>,
    /// Classes of extents folded one dimension inside: of what is read, and of each output.
    pub(crate) inner_read: Vec<Option<u32>>,
    pub(crate) inner_made: Vec<Vec<Option<u32>>>,
    /// The number of such classes.
    pub(crate) inners: u32,
    /// Arrays that are traversed, and how often arrays are read that must be complete: for [`crate::Objective::ArrayReads`].
    pub(crate) traversed: BTreeMap<Source, Vec<usize>>,
    /// What each node traverses.
    pub(crate) traversed_by: Vec<Vec<Source>>,
    pub(crate) complete_reads: u64,
    /// Arrays of which not all pairs of readers are weighed, with the number of readers.
    pub(crate) unweighed: Vec<(Source, usize)>,
    /// For each node those that wait for it to be complete; empty in large graphs.
    pub(crate) after: Vec<Bits>,
}

impl<'g> Problem<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Result<Self, Error> {
        graph.check()?;
        let count = graph.nodes.len();
        let mut next: Vec<BTreeMap<usize, Option<Complete>>> = vec![BTreeMap::new(); count];
        let mut traversed: BTreeMap<Source, Vec<usize>> = BTreeMap::new();
        let mut complete: HashSet<(Source, usize)> = HashSet::new();
        for edge in &graph.edges {
            let why = complete_because(graph, edge.from, edge.to, edge.complete);
            if why.is_some() {
                complete.insert((edge.from, edge.to));
            }
            if let Source::Output(from, _) = edge.from {
                let entry = next[from].entry(edge.to).or_insert(why);
                *entry = entry.or(why);
            }
        }
        for edge in &graph.edges {
            let traverses = edge.complete.is_none() && graph.nodes[edge.to].kind != Kind::Outside;
            let alone = match edge.from {
                Source::External(_) => true,
                Source::Output(from, _) => graph.nodes[from].kind != Kind::Outside,
            };
            if traverses && alone {
                traversed.entry(edge.from).or_default().push(edge.to);
            }
        }
        for readers in traversed.values_mut() {
            readers.sort_unstable();
            readers.dedup();
        }
        let next: Vec<Vec<(usize, Option<Complete>)>> =
            next.into_iter().map(|of_node| of_node.into_iter().collect()).collect();
        let mut previous = vec![Vec::new(); count];
        for (node, after) in next.iter().enumerate() {
            after.iter().for_each(|&(to, _)| previous[to].push(node));
        }
        let sorted = sorted(graph, &next, &previous)?;
        let mut rank = vec![0; count];
        sorted.iter().enumerate().for_each(|(position, &node)| rank[node] = position);
        let traversed_by = traversed_by(&traversed, count);
        let mut problem = Self {
            graph,
            operations: graph.nodes.iter().filter(|node| node.kind != Kind::Outside).count(),
            pairs: Vec::new(),
            of_node: vec![Vec::new(); count],
            users: next.iter().map(Vec::len).collect(),
            next,
            sorted,
            rank,
            written: graph.nodes.iter().map(|node| node.outputs.iter().map(|output| output.result).collect()).collect(),
            used: graph.nodes.iter().map(|node| node.outputs.iter().map(|output| output.result).collect()).collect(),
            down: 0,
            orders: 0,
            own_order: vec![None; count],
            inner_read: vec![None; count],
            inner_made: graph.nodes.iter().map(|node| vec![None; node.outputs.len()]).collect(),
            inners: 0,
            traversed_by,
            traversed,
            complete_reads: complete.len() as u64,
            unweighed: Vec::new(),
            after: Vec::new(),
        };
        for edge in &graph.edges {
            if let Source::Output(from, output) = edge.from {
                problem.used[from][output] = true;
                if complete.contains(&(edge.from, edge.to)) {
                    problem.written[from][output] = true;
                }
            }
        }
        problem.number_orders();
        problem.number_inners();
        problem.find_pairs(&complete);
        for (position, pair) in problem.pairs.iter().enumerate() {
            problem.of_node[pair.a].push(position);
            problem.of_node[pair.b].push(position);
        }
        Ok(problem)
    }

    /// For each node those that wait for it to be complete; empty where that was not found out.
    pub(crate) fn waiting(&self) -> &[Bits] {
        &self.after
    }

    /// Whether it was found out who waits for whom.
    pub(crate) fn knows_waits(&self) -> bool {
        self.after.len() == self.graph.nodes.len()
    }

    /// Whether one of two nodes is known to wait for the other to be complete.
    pub(crate) fn waits(&self, a: usize, b: usize) -> bool {
        let waits = |a: usize, b: usize| self.after.get(a).is_some_and(|after| after.contains(b));
        waits(a, b) || waits(b, a)
    }

    /// The pairs of an output and those that traverse it.
    pub(crate) fn readers(&self, node: usize, output: usize) -> impl Iterator<Item = &Pair> {
        let pairs = self.of_node[node].iter().map(|&index| &self.pairs[index]);
        pairs.filter(move |pair| pair.a == node && pair.outputs.contains(&output))
    }

    /// Whether a node is an operation that a cluster may hold.
    pub(crate) fn is_operation(&self, node: usize) -> bool {
        self.graph.nodes[node].kind != Kind::Outside
    }
}

/// What each node traverses.
pub(crate) fn traversed_by(traversed: &BTreeMap<Source, Vec<usize>>, count: usize) -> Vec<Vec<Source>> {
    let mut by = vec![Vec::new(); count];
    for (&source, readers) in traversed {
        readers.iter().for_each(|&reader| by[reader].push(source));
    }
    by
}

/// Why an edge is none that fusion may remove, if so.
fn complete_because(graph: &Graph, from: Source, to: usize, given: Option<Complete>) -> Option<Complete> {
    if given.is_some() {
        return given;
    }
    let reader = &graph.nodes[to];
    if reader.kind == Kind::Outside {
        return Some(Complete::Outside);
    }
    let Source::Output(from, output) = from else { return None };
    let (maker, made) = (&graph.nodes[from], &graph.nodes[from].outputs[output]);
    match maker.kind {
        Kind::Outside => return Some(Complete::Outside),
        Kind::Permute { .. } | Kind::PermutedExpand => return Some(Complete::Permuted),
        Kind::FoldAll => return Some(Complete::Scalar),
        _ => {}
    }
    let longer = matches!(maker.kind, Kind::ScanLeft { longer: true } | Kind::ScanRight { longer: true });
    let equal = made.extents == reader.extents || (longer && made.inner.is_none() && maker.extents == reader.extents);
    (!equal).then_some(Complete::Extents(made.extents, reader.extents))
}

/// The nodes in an order in which edges lead forwards, those first that come first.
fn sorted(
    graph: &Graph,
    next: &[Vec<(usize, Option<Complete>)>],
    previous: &[Vec<usize>],
) -> Result<Vec<usize>, Error> {
    let mut waiting: Vec<usize> = previous.iter().map(Vec::len).collect();
    let ready = waiting.iter().enumerate().filter(|(_, waiting)| **waiting == 0);
    let mut ready: std::collections::BTreeSet<usize> = ready.map(|(node, _)| node).collect();
    let mut sorted = Vec::with_capacity(graph.nodes.len());
    while let Some(node) = ready.pop_first() {
        sorted.push(node);
        for &(to, _) in &next[node] {
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.insert(to);
            }
        }
    }
    if sorted.len() == graph.nodes.len() {
        return Ok(sorted);
    }
    // Whoever waits waits for somebody who waits: following that ends where it has been.
    let mut path: Vec<usize> = waiting.iter().position(|waiting| *waiting > 0).into_iter().collect();
    let mut seen = HashSet::new();
    while let Some(&node) = path.last()
        && seen.insert(node)
        && let Some(&before) = previous[node].iter().find(|&&before| waiting[before] > 0)
    {
        path.push(before);
    }
    let last = path.last().copied();
    let start = path.iter().position(|&node| Some(node) == last).unwrap_or(0);
    let names = path[start..].iter().rev().map(|&node| graph.nodes[node].name.clone()).collect();
    Err(Error::Cycle { names })
}
