//! From a partition that fits to clusters in order.

use std::{cmp::Reverse, collections::BinaryHeap};

use serde::Serialize;

use crate::{
    fit::Fit,
    mark::Group,
    objective::{Measures, fused, measure},
    partition::Partition,
    problem::Problem,
    report::{Category, ClusterReport, Fused, Region},
};

/// A graph in clusters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clustering {
    /// In an order in which they may run; those on one level are independent of each other.
    pub clusters: Vec<Cluster>,
    /// Outputs written to memory: node and position.
    pub written: Vec<(usize, usize)>,
    /// What was done and why not more.
    pub report: Region,
    /// Clusters and nodes of no cluster, in order.
    #[serde(skip)]
    pub(crate) order: Vec<Group>,
}

/// Nodes that run as one pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// Positions of nodes, in order.
    pub nodes: Vec<usize>,
    /// For each in which order it reads.
    pub reads: Vec<Runs>,
    /// For each in which order it makes.
    pub makes: Vec<Runs>,
    /// Clusters before it on the longest way.
    pub level: usize,
}

/// An order of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// From the first (of what an expand makes: as it comes).
    Ascending,
    /// From the last.
    Descending,
    /// That in which a gather reads: its position.
    Of(usize),
}

/// Each cluster with how it fits.
#[derive(Clone)]
pub(crate) struct Solution {
    pub(crate) partition: Partition,
    /// By number of the cluster; of operations only.
    pub(crate) fits: Vec<Option<Fit>>,
    pub(crate) measures: Measures,
}

impl Solution {
    /// A solution of clusters that fit. `None` if one does not, or if they wait for each other.
    pub(crate) fn new(
        problem: &Problem<'_>,
        fitter: &mut crate::fit::Fitter<'_>,
        partition: Partition,
        first: &dyn Fn(usize) -> bool,
    ) -> Option<Self> {
        let mut fits: Vec<Option<Fit>> = vec![None; problem.graph.nodes.len()];
        for cluster in partition.clusters().filter(|&cluster| problem.is_operation(cluster)) {
            fits[cluster] = Some(fitter.fit(partition.members(cluster), first).ok()?);
        }
        let measures = measure(problem, &partition, &fused(fits.iter().flatten()))?;
        Some(Self { partition, fits, measures })
    }
}

/// Clusters of a solution, in order, with the part of the report that they decide.
pub(crate) fn extract(problem: &Problem<'_>, solution: &Solution) -> Clustering {
    let Solution { partition, fits, measures } = solution;
    let levels = partition.levels(problem).unwrap_or_else(|| vec![0; problem.graph.nodes.len()]);
    let order = ordered(problem, partition, &levels);
    let mut written: Vec<Vec<bool>> = problem.written.clone();
    for pair in problem.pairs.iter().filter(|pair| partition.of(pair.a) != partition.of(pair.b)) {
        pair.outputs.iter().for_each(|&output| written[pair.a][output] = true);
    }
    let mut clusters = Vec::new();
    let mut report = Region { operations: problem.operations, measures: *measures, ..Region::default() };
    let mut groups = Vec::new();
    for cluster in order {
        let Some(fit) = &fits[cluster] else {
            groups.push(Group::Outside(cluster));
            continue;
        };
        groups.push(Group::Cluster(clusters.len()));
        // Nodes in the order of the whole graph; their positions among the members are those of the fit.
        let members = partition.members(cluster);
        let mut by_rank: Vec<usize> = (0..members.len()).collect();
        by_rank.sort_by_key(|&position| problem.rank[members[position]]);
        let runs = |orders: &[u32]| by_rank.iter().map(|&at| runs(problem, members, orders[at])).collect();
        let name = |node: usize| problem.graph.nodes[node].name.clone();
        let fused = fit.fused.iter().map(|&index| {
            let pair = &problem.pairs[index];
            let stored = pair.outputs.iter().any(|&output| written[pair.a][output]);
            let category = match (pair.is_vertical(), stored) {
                (false, _) => Category::Horizontal,
                (true, false) => Category::Vertical,
                (true, true) => Category::Diagonal,
            };
            Fused { first: name(pair.a), second: name(pair.b), category }
        });
        report.clusters.push(ClusterReport {
            operations: by_rank.iter().map(|&at| name(members[at])).collect(),
            level: levels[cluster],
            fused: fused.collect(),
        });
        clusters.push(Cluster {
            reads: runs(&fit.reads),
            makes: runs(&fit.makes),
            nodes: by_rank.iter().map(|&at| members[at]).collect(),
            level: levels[cluster],
        });
    }
    report.pairs = problem.pairs.len();
    (report.apart, report.apart_left_out) = crate::report::apart(problem, partition);
    let mut all = Vec::new();
    for (node, outputs) in written.iter().enumerate().filter(|(node, _)| problem.is_operation(*node)) {
        for output in (0..outputs.len()).filter(|&output| outputs[output] && problem.used[node][output]) {
            let name = &problem.graph.nodes[node].name;
            report.written.push(if outputs.len() == 1 { name.clone() } else { format!("{name}.{output}") });
            all.push((node, output));
        }
    }
    Clustering { clusters, written: all, report, order: groups }
}

fn runs(problem: &Problem<'_>, members: &[usize], order: u32) -> Runs {
    if order >= problem.up() {
        return Runs::Ascending;
    }
    if order == problem.down {
        return Runs::Descending;
    }
    let gather = members.iter().copied().find(|&node| problem.own_order[node] == Some(order));
    gather.map_or(Runs::Ascending, Runs::Of)
}

/// Clusters so that none comes before what it waits for: by level, then by the first node.
fn ordered(problem: &Problem<'_>, partition: &Partition, levels: &[usize]) -> Vec<usize> {
    let mut waiting = vec![0usize; problem.graph.nodes.len()];
    let links = |cluster: usize| {
        let nodes = partition.members(cluster).iter();
        nodes
            .flat_map(|&node| problem.next[node].iter())
            .map(|&(to, _)| partition.of(to))
            .filter(move |&to| to != cluster)
    };
    for cluster in partition.clusters() {
        links(cluster).for_each(|to| waiting[to] += 1);
    }
    let key = |cluster: usize| (levels[cluster], partition.members(cluster)[0], cluster);
    let ready = partition.clusters().filter(|&cluster| waiting[cluster] == 0).map(|cluster| Reverse(key(cluster)));
    let mut ready: BinaryHeap<_> = ready.collect();
    let mut order = Vec::new();
    while let Some(Reverse((_, _, cluster))) = ready.pop() {
        order.push(cluster);
        for to in links(cluster) {
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(Reverse(key(to)));
            }
        }
    }
    order
}
