//! Finds the pairs of nodes that might be fused, and what fusing them saves.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::{graph::Source, pairs::Pair, problem::Problem};

/// With how many others that read the same array an operation is paired, at most.
pub(crate) const MAX_BESIDE: usize = 16;

impl Problem<'_> {
    /// Finds the pairs, with what they need not read; `complete` are edges that fusion may not remove.
    pub(crate) fn find_pairs(&mut self, complete: &HashSet<(Source, usize)>) {
        let mut vertical: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        let mut beside: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for (&source, readers) in &self.traversed {
            if let Source::Output(from, output) = source {
                for &to in readers.iter().filter(|&&to| !complete.contains(&(source, to))) {
                    vertical.entry((from, to)).or_default().push(output);
                }
            }
            let (near, all) = self.near(readers);
            if !all {
                self.unweighed.push((source, readers.len()));
            }
            for (a, b) in near {
                let (a, b) = if self.rank[a] <= self.rank[b] { (a, b) } else { (b, a) };
                *beside.entry((a, b)).or_default() += 1;
            }
        }
        // What must be complete before for one reason is not traversed for another.
        for (&(a, b), outputs) in &vertical {
            let blocked = self.next[a].iter().any(|&(to, why)| to == b && why.is_some());
            if !blocked {
                let weight = outputs.len() as u32;
                self.pairs.push(Pair { a, b, outputs: outputs.clone(), weight, refused: None });
            } else {
                outputs.iter().for_each(|&output| self.written[a][output] = true);
            }
        }
        for (&(a, b), &weight) in &beside {
            self.pairs.push(Pair { a, b, outputs: Vec::new(), weight, refused: None });
        }
        let rank = &self.rank;
        self.pairs.sort_by_key(|pair| (!pair.is_vertical(), rank[pair.b], rank[pair.a]));
    }

    /// Readers of one array two by two, as far as their extents are equal; whether these are all such pairs.
    ///
    /// All pairs would be the square of the readers. Where there are many, each is paired with the next of all and with the next of those that
    /// run as it does; that is enough to connect any that can be fused.
    fn near(&self, readers: &[usize]) -> (BTreeSet<(usize, usize)>, bool) {
        let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        let mut equal: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for &reader in readers {
            let node = &self.graph.nodes[reader];
            equal.entry(node.extents).or_default().push(reader);
            let runs = (node.extents, node.need, node.segments, self.reads(reader), self.inner_read[reader]);
            alike.entry(runs).or_default().push(reader);
        }
        let all = equal.values().all(|readers| readers.len() <= MAX_BESIDE + 1);
        let mut pairs = BTreeSet::new();
        for readers in equal.values().chain(alike.values()) {
            for (position, &a) in readers.iter().enumerate() {
                pairs.extend(readers[position + 1..].iter().take(MAX_BESIDE).map(|&b| (a, b)));
            }
        }
        (pairs, all)
    }
}
