//! Clusters by merging wherever the rules allow: for comparison, to start from, and to fall back to.
//!
//! Pairs are tried in order, one merge after the other. To try each by itself costs the square of what comes of it, since each time the
//! whole cluster is judged. So the next pairs are tried together, twice as many after each success and half as many after each failure: what
//! is merged at once is judged once.

use std::collections::HashMap;

use crate::{bits::Bits, fit::Fitter, pairs::Refusal, partition::Partition, problem::Problem};

/// What the shared analysis of nests, or whoever else may object, says of the nodes of a cluster.
pub(crate) type Judge<'a> = dyn FnMut(&[usize]) -> Result<(), Refusal> + 'a;

/// Merges along edges from producers to consumers in order, then along arrays that are read twice, until nothing changes.
pub(crate) fn greedy(problem: &Problem<'_>, judge: &mut Judge<'_>) -> Partition {
    let all: Vec<usize> = (0..problem.pairs.len()).collect();
    merged(problem, Partition::apart(problem.graph.nodes.len()), &all, usize::MAX, judge)
}

/// Merges clusters along pairs, the first of these first, until nothing changes; none to one that [accumulates](crate::Kind::accumulates)
/// more than that.
pub(crate) fn merged(
    problem: &Problem<'_>,
    partition: Partition,
    pairs: &[usize],
    most: usize,
    judge: &mut Judge<'_>,
) -> Partition {
    let open = pairs.iter().map(|&pair| &problem.pairs[pair]).filter(|pair| pair.refused.is_none());
    let open: Vec<(usize, usize)> = open.map(|pair| (pair.a, pair.b)).collect();
    let mut merging = Merging::new(problem, partition, most, judge);
    while merging.round(&open) {}
    merging.partition
}

struct Merging<'a, 'p, 'j> {
    problem: &'a Problem<'p>,
    judge: &'a mut Judge<'j>,
    fitter: Fitter<'a>,
    partition: Partition,
    /// For each cluster those that wait for one of its nodes to be complete, where that is known.
    after: Vec<Bits>,
    /// How much a cluster may accumulate, and how much each does.
    most: usize,
    accumulating: Vec<usize>,
    /// How often each cluster has grown.
    grown: Vec<u32>,
    /// Clusters that do not merge, with how often they had grown.
    failed: HashMap<(usize, usize), (u32, u32)>,
}

impl<'a, 'p, 'j> Merging<'a, 'p, 'j> {
    fn new(problem: &'a Problem<'p>, partition: Partition, most: usize, judge: &'a mut Judge<'j>) -> Self {
        let count = problem.graph.nodes.len();
        let mut after = problem.waiting().to_vec();
        if !after.is_empty() {
            for node in (0..count).filter(|&node| partition.of(node) != node) {
                let own = after[node].clone();
                after[partition.of(node)].union(&own);
            }
        }
        let accumulating = (0..count).map(|cluster| accumulating(problem, partition.members(cluster))).collect();
        let (fitter, grown, failed) = (Fitter::new(problem), vec![0; count], HashMap::new());
        Self { problem, judge, fitter, partition, after, most, accumulating, grown, failed }
    }

    /// Goes through pairs of nodes once; whether anything was merged.
    fn round(&mut self, pairs: &[(usize, usize)]) -> bool {
        self.failed.clear();
        let mut changed = false;
        let (mut at, mut size) = (0, 1);
        while at < pairs.len() {
            let (wanted, end) = self.next(pairs, at, size);
            let merged = match wanted[..] {
                [] => true,
                [(a, b)] => self.merge(vec![vec![a, b]]),
                _ => self.merge(groups(&wanted)),
            };
            match (merged, wanted.len()) {
                (true, 0) => at = end,
                (true, _) => (at, size, changed) = (end, size * 2, true),
                (false, 1) => {
                    let (a, b) = wanted[0];
                    self.failed.insert((a, b), (self.grown[a], self.grown[b]));
                    (at, size) = (end, 1);
                }
                (false, _) => size = (wanted.len() / 2).max(1),
            }
        }
        changed
    }

    /// The next pairs of clusters that are not known to be kept apart, so many at most, and the position behind them.
    fn next(&self, pairs: &[(usize, usize)], from: usize, most: usize) -> (Vec<(usize, usize)>, usize) {
        let mut wanted = Vec::new();
        for (position, &(a, b)) in pairs.iter().enumerate().skip(from) {
            let (a, b) = (self.partition.of(a), self.partition.of(b));
            let (a, b) = (a.min(b), a.max(b));
            let failed = || self.failed.get(&(a, b)) == Some(&(self.grown[a], self.grown[b]));
            let many = self.accumulating[a] + self.accumulating[b] > self.most;
            if a == b || many || failed() || self.waits(a, b) || self.waits(b, a) {
                continue;
            }
            wanted.push((a, b));
            if wanted.len() == most {
                return (wanted, position + 1);
            }
        }
        (wanted, pairs.len())
    }

    /// Whether a cluster is known to wait for another to be complete.
    fn waits(&self, a: usize, b: usize) -> bool {
        let Some(after) = self.after.get(a) else { return false };
        self.partition.members(b).iter().any(|&node| after.contains(node))
    }

    /// Makes each of these groups of clusters one cluster, if all may be.
    fn merge(&mut self, groups: Vec<Vec<usize>>) -> bool {
        let sum = |clusters: &[usize]| clusters.iter().map(|&cluster| self.accumulating[cluster]).sum::<usize>();
        if groups.iter().any(|clusters| sum(clusters) > self.most) {
            return false;
        }
        for clusters in &groups {
            let nodes = self.partition.nodes(clusters);
            if self.fitter.fit(&nodes, &|_| true).is_err() {
                return false;
            }
        }
        if self.partition.circle(self.problem, &groups).is_some() {
            return false;
        }
        if groups.iter().any(|clusters| (self.judge)(&self.partition.nodes(clusters)).is_err()) {
            return false;
        }
        for clusters in groups {
            let sum = clusters.iter().map(|&cluster| self.accumulating[cluster]).sum();
            let kept = self.partition.merge_all(&clusters);
            self.grown[kept] += 1;
            self.accumulating[kept] = sum;
            for cluster in clusters.into_iter().filter(|&cluster| cluster != kept) {
                if !self.after.is_empty() {
                    let own = self.after[cluster].clone();
                    self.after[kept].union(&own);
                }
            }
        }
        true
    }
}

/// Clusters that pairs of them connect, as groups.
fn groups(pairs: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut clusters: Vec<usize> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let at = |cluster: usize| clusters.binary_search(&cluster).unwrap_or_default();
    let mut unite = fusebox_ir::analysis::UnionFind::new(clusters.len());
    pairs.iter().for_each(|&(a, b)| _ = unite.unite(at(a), at(b)));
    let mut groups: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
    for (position, &cluster) in clusters.iter().enumerate() {
        groups.entry(unite.find(position)).or_default().push(cluster);
    }
    groups.into_values().collect()
}

/// How much some nodes [accumulate](crate::Kind::accumulates).
pub(crate) fn accumulating(problem: &Problem<'_>, nodes: &[usize]) -> usize {
    nodes.iter().map(|&node| problem.graph.nodes[node].kind.accumulates()).sum()
}

/// Clusters of which none accumulates more than that: larger ones are taken apart and merged again as far as they may. None if there are no
/// larger ones.
pub(crate) fn parted(
    problem: &Problem<'_>,
    partition: &Partition,
    most: usize,
    judge: &mut Judge<'_>,
) -> Option<Partition> {
    let is_large = |cluster: usize| accumulating(problem, partition.members(cluster)) > most;
    let large: Vec<usize> = partition.clusters().filter(|&cluster| is_large(cluster)).collect();
    if large.is_empty() {
        return None;
    }
    let mut apart = Partition::apart(problem.graph.nodes.len());
    for cluster in partition.clusters().filter(|cluster| !large.contains(cluster)) {
        apart.merge_all(partition.members(cluster));
    }
    let inside = |pair: &usize| {
        let pair = &problem.pairs[*pair];
        partition.of(pair.a) == partition.of(pair.b) && large.binary_search(&partition.of(pair.a)).is_ok()
    };
    let pairs: Vec<usize> = (0..problem.pairs.len()).filter(inside).collect();
    Some(merged(problem, apart, &pairs, most, judge))
}
