//! What is minimised: pairs that are not fused, arrays that are written, passes, in this order.

use std::{collections::HashSet, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{fit::Fit, graph::Source, partition::Partition, problem::Problem};

/// What a clustering costs.
///
/// All but the first are made of the measures named, and then, so that nothing is left to chance, of unfused pairs and arrays
/// written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// `N² · unfused pairs + N · arrays written + levels` for N operations: traffic, then memory, then the number of passes one
    /// after the other. N counts as 300 at most, so that the weights stay exact in floating point.
    #[default]
    Traffic,
    /// The number of levels of clusters ("NumClusters").
    NumClusters,
    /// How often arrays are read from memory: once for each cluster and order.
    ArrayReads,
    /// Arrays written.
    IntermediateArrays,
    /// Reads and arrays written.
    ArrayReadsWrites,
    /// Unfused pairs: producers and consumers, and readers of one array (the thesis's).
    FusedEdges,
    /// `N · (reads and arrays written) + levels`.
    Everything,
}

impl Objective {
    /// Every objective with its spelling.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Traffic, "traffic"),
        (Self::NumClusters, "num_clusters"),
        (Self::ArrayReads, "array_reads"),
        (Self::IntermediateArrays, "intermediate_arrays"),
        (Self::ArrayReadsWrites, "array_reads_writes"),
        (Self::FusedEdges, "fused_edges"),
        (Self::Everything, "everything"),
    ];

    /// What each measure costs, for a graph of `operations` operations that has at most `most` pairs and arrays.
    pub(crate) fn weights(self, operations: usize, most: u64) -> Weights {
        let n = operations.clamp(1, 300) as u64;
        let unit = most + 1;
        match self {
            Self::Traffic => Weights { unfused: n * n, written: n, levels: 1, reads: 0 },
            Self::NumClusters => Weights { unfused: 1, written: 1, levels: 2 * unit, reads: 0 },
            Self::ArrayReads => Weights { unfused: 1, written: 1, levels: 0, reads: 2 * unit },
            Self::IntermediateArrays => Weights { unfused: 1, written: unit, levels: 0, reads: 0 },
            Self::ArrayReadsWrites => Weights { unfused: 1, written: unit, levels: 0, reads: unit },
            Self::FusedEdges => Weights { unfused: 1, written: 0, levels: 0, reads: 0 },
            Self::Everything => Weights { unfused: 1, written: n * unit, levels: unit, reads: n * unit },
        }
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.iter().find(|(_, name)| *name == text).map(|(objective, _)| *objective);
        known.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("no objective is called `{text}`; there are {}", names.join(", "))
        })
    }
}

/// The cost of one of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    pub(crate) unfused: u64,
    pub(crate) written: u64,
    pub(crate) levels: u64,
    pub(crate) reads: u64,
}

/// What is counted of a clustering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measures {
    /// Producers and consumers that are not fused, though the graph allows for it, counted by arrays.
    pub unfused_edges: u64,
    /// Two that traverse one array and are not fused, counted by arrays.
    pub unfused_siblings: u64,
    /// Arrays written to memory, results among them.
    pub written: u64,
    /// Clusters on the longest way, but for the first: the `P` of the model.
    pub levels: u64,
    /// How often arrays are read: once for each cluster and order, and for each use that needs the whole array.
    pub reads: u64,
    /// Clusters.
    pub clusters: u64,
}

impl Measures {
    pub(crate) fn cost(&self, weights: &Weights) -> u64 {
        weights.unfused * (self.unfused_edges + self.unfused_siblings)
            + weights.written * self.written
            + weights.levels * self.levels
            + weights.reads * self.reads
    }
}

/// Counts of a clustering, of which `fused` are the pairs that are. None if clusters wait for each other.
pub(crate) fn measure(problem: &Problem<'_>, partition: &Partition, fused: &HashSet<usize>) -> Option<Measures> {
    let mut measures = Measures::default();
    let mut written: Vec<Vec<bool>> = problem.written.clone();
    // What readers read from inside of their cluster, or together with an earlier reader.
    let mut known: HashSet<(Source, usize)> = HashSet::new();
    for (index, pair) in problem.pairs.iter().enumerate() {
        match (pair.is_vertical(), fused.contains(&index)) {
            (true, true) => {
                let made = problem.traversed_by[pair.b].iter();
                known.extend(made.filter(|source| is_made_by(**source, pair.a)).map(|&source| (source, pair.b)));
            }
            (false, true) => {
                let (earlier, later) = (pair.a.min(pair.b), pair.a.max(pair.b));
                let both = problem.traversed_by[later].iter();
                let both = both.filter(|source| problem.traversed_by[earlier].contains(source));
                known.extend(both.map(|&source| (source, later)));
            }
            (true, false) => {
                measures.unfused_edges += u64::from(pair.weight);
                pair.outputs.iter().for_each(|&output| written[pair.a][output] = true);
            }
            (false, false) => measures.unfused_siblings += u64::from(pair.weight),
        }
    }
    for (node, outputs) in written.iter().enumerate().filter(|(node, _)| problem.is_operation(*node)) {
        let used = &problem.used[node];
        measures.written += outputs.iter().zip(used).filter(|(written, used)| **written && **used).count() as u64;
    }
    let reads: usize = problem.traversed.values().map(Vec::len).sum();
    measures.reads = problem.complete_reads + (reads - known.len()) as u64;
    let levels = partition.levels(problem)?;
    for cluster in partition.clusters().filter(|&cluster| problem.is_operation(cluster)) {
        measures.clusters += 1;
        measures.levels = measures.levels.max(levels[cluster] as u64);
    }
    Some(measures)
}

fn is_made_by(source: Source, node: usize) -> bool {
    matches!(source, Source::Output(maker, _) if maker == node)
}

/// The pairs that are fused in clusters that fit.
pub(crate) fn fused<'a>(fits: impl Iterator<Item = &'a Fit>) -> HashSet<usize> {
    fits.flat_map(|fit| fit.fused.iter().copied()).collect()
}
