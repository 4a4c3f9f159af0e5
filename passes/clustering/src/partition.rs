//! A division of the nodes into clusters, whose order is that of the edges between them.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    fit::{Fit, Fitter},
    pairs::Refusal,
    problem::Problem,
};

/// Which node is in which cluster. Clusters are numbered by one of their nodes.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    of: Vec<usize>,
    members: Vec<Vec<usize>>,
}

impl Partition {
    /// Each node by itself.
    pub(crate) fn apart(count: usize) -> Self {
        Self { of: (0..count).collect(), members: (0..count).map(|node| vec![node]).collect() }
    }

    pub(crate) fn of(&self, node: usize) -> usize {
        self.of[node]
    }

    /// Nodes of a cluster, ascending.
    pub(crate) fn members(&self, cluster: usize) -> &[usize] {
        &self.members[cluster]
    }

    /// Clusters, by number.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = usize> {
        (0..self.of.len()).filter(|&cluster| !self.members[cluster].is_empty())
    }

    /// The nodes of each cluster of more than one.
    pub(crate) fn several(&self) -> Vec<Vec<usize>> {
        self.members.iter().filter(|nodes| nodes.len() > 1).cloned().collect()
    }

    /// The nodes that clusters would have together, ascending.
    pub(crate) fn nodes(&self, clusters: &[usize]) -> Vec<usize> {
        let mut nodes: Vec<usize> = clusters.iter().flat_map(|&cluster| &self.members[cluster]).copied().collect();
        nodes.sort_unstable();
        nodes
    }

    /// Makes clusters one, and gives its number: the least of theirs.
    pub(crate) fn merge_all(&mut self, clusters: &[usize]) -> usize {
        let nodes = self.nodes(clusters);
        let kept = clusters.iter().copied().min().unwrap_or_default();
        nodes.iter().for_each(|&node| self.of[node] = kept);
        clusters.iter().for_each(|&cluster| self.members[cluster].clear());
        self.members[kept] = nodes;
        kept
    }

    /// Makes the clusters of two nodes one, if they are two.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of[a], self.of[b]);
        if a != b {
            self.merge_all(&[a, b]);
        }
    }

    /// A node from which an edge leads back into one of these groups of clusters, were each of them one cluster: then some cluster would have
    /// to come both before and after another.
    pub(crate) fn circle(&self, problem: &Problem<'_>, groups: &[Vec<usize>]) -> Option<usize> {
        let all = || groups.iter().flatten().copied();
        let last = all().flat_map(|cluster| &self.members[cluster]).map(|&node| problem.rank[node]).max()?;
        let group: HashMap<usize, usize> =
            groups.iter().flat_map(|group| group.iter().map(|&cluster| (cluster, group[0]))).collect();
        let of = |cluster: usize| group.get(&cluster).copied().unwrap_or(cluster);
        let members: HashMap<usize, &[usize]> = groups.iter().map(|group| (group[0], &group[..])).collect();
        // Clusters are not convex in the ranks of nodes, so a cluster is passed by only if all of it is later.
        let early = |cluster: usize| self.members[cluster].iter().any(|&node| problem.rank[node] < last);
        let next = |cluster: usize| -> Vec<(usize, usize)> {
            let clusters = members.get(&cluster).copied().unwrap_or(std::slice::from_ref(&cluster));
            let mut seen = HashSet::new();
            let nodes = clusters.iter().flat_map(|&cluster| &self.members[cluster]);
            let edges = nodes.flat_map(|&node| problem.next[node].iter().map(move |&(to, _)| (node, to)));
            let edges = edges.map(|(node, to)| (node, self.of[to])).map(|(node, to)| (node, of(to)));
            edges
                .filter(|&(_, to)| to != cluster && seen.insert(to) && (group.contains_key(&to) || early(to)))
                .collect()
        };
        // Depth first: an edge back to what is not finished closes a circle, which goes through a group.
        let mut finished: HashMap<usize, bool> = HashMap::new();
        for start in groups.iter().map(|group| group[0]) {
            if finished.contains_key(&start) {
                continue;
            }
            finished.insert(start, false);
            let mut path = vec![(start, next(start))];
            while let Some((cluster, edges)) = path.last_mut() {
                match edges.pop() {
                    None => {
                        finished.insert(*cluster, true);
                        path.pop();
                    }
                    Some((node, to)) => match finished.get(&to) {
                        Some(true) => {}
                        Some(false) => return Some(node),
                        None => {
                            finished.insert(to, false);
                            path.push((to, next(to)));
                        }
                    },
                }
            }
        }
        None
    }

    /// A node of another cluster that would have to come both before and after the two, if they were one.
    pub(crate) fn between(&self, problem: &Problem<'_>, a: usize, b: usize) -> Option<usize> {
        let last = [a, b].iter().flat_map(|&c| &self.members[c]).map(|&node| problem.rank[node]).max()?;
        let mut seen = BTreeSet::new();
        let mut stack: Vec<usize> = Vec::new();
        let mut visit = |cluster: usize, stack: &mut Vec<usize>, start: bool| {
            for &node in &self.members[cluster] {
                for &(to, _) in &problem.next[node] {
                    let next = self.of[to];
                    let ends = next == a || next == b;
                    if ends && !start {
                        return Some(node);
                    }
                    // Clusters are not convex in the ranks of nodes, so a cluster is passed by only if all of it is later.
                    if !ends && self.members[next].iter().any(|&node| problem.rank[node] < last) && seen.insert(next) {
                        stack.push(next);
                    }
                }
            }
            None
        };
        visit(a, &mut stack, true);
        visit(b, &mut stack, true);
        while let Some(cluster) = stack.pop() {
            if let Some(node) = visit(cluster, &mut stack, false) {
                return Some(node);
            }
        }
        None
    }

    /// Whether two clusters may become one.
    pub(crate) fn may_merge(
        &self,
        problem: &Problem<'_>,
        fitter: &mut Fitter<'_>,
        a: usize,
        b: usize,
    ) -> Result<Fit, Refusal> {
        let fit = fitter.fit(&self.nodes(&[a, b]), &|_| true)?;
        match self.between(problem, a, b) {
            Some(node) => Err(Refusal::Cycle(node)),
            None => Ok(fit),
        }
    }

    /// For each cluster its level: the longest way to it, a step for each operation on it. None if they wait for each other.
    pub(crate) fn levels(&self, problem: &Problem<'_>) -> Option<Vec<usize>> {
        let mut waiting = vec![0usize; self.of.len()];
        let links = |cluster: usize| {
            self.members[cluster].iter().flat_map(|&node| problem.next[node].iter()).map(|&(to, _)| self.of[to])
        };
        for cluster in self.clusters() {
            links(cluster).filter(|&to| to != cluster).for_each(|to| waiting[to] += 1);
        }
        let mut levels = vec![0usize; self.of.len()];
        let mut ready: Vec<usize> = self.clusters().filter(|&cluster| waiting[cluster] == 0).collect();
        let mut done = 0;
        while let Some(cluster) = ready.pop() {
            done += 1;
            let step = usize::from(problem.is_operation(self.members[cluster][0]));
            for to in links(cluster).filter(|&to| to != cluster) {
                levels[to] = levels[to].max(levels[cluster] + step);
                waiting[to] -= 1;
                if waiting[to] == 0 {
                    ready.push(to);
                }
            }
        }
        (done == self.clusters().count()).then_some(levels)
    }
}
