//! Shortest ways over open pairs, each as long as its pair is apart in a fractional solution.

use std::{cmp::Ordering, collections::BinaryHeap, collections::HashMap, hash::Hash};

/// By how much an inequality is broken to be worth stating.
pub(crate) const LEAST: f64 = 0.05;

/// Where the ways from one vertex lead: the distance of each vertex that is nearer than 1, and how its way ends.
pub(crate) struct Near<V> {
    from: V,
    reached: HashMap<V, (f64, Option<(V, usize)>)>,
}

impl<V: Copy + Eq + Hash + Ord> Near<V> {
    /// All ways from a vertex; `next` gives the pairs of a vertex, each with the vertex beyond it and its length.
    pub(crate) fn new<'a, I>(from: V, next: impl Fn(V) -> I, length: impl Fn(usize) -> f64) -> Self
    where
        I: IntoIterator<Item = &'a (V, usize)>,
        V: 'a,
    {
        let mut reached: HashMap<V, (f64, Option<(V, usize)>)> = HashMap::from([(from, (0.0, None))]);
        let mut heap = BinaryHeap::from([Reached(0.0, from)]);
        while let Some(Reached(far, vertex)) = heap.pop() {
            if far > reached[&vertex].0 {
                continue;
            }
            for &(to, pair) in next(vertex) {
                let new = far + length(pair).max(0.0);
                if new < 1.0 - LEAST && reached.get(&to).is_none_or(|&(old, _)| new < old - 1e-9) {
                    reached.insert(to, (new, Some((vertex, pair))));
                    heap.push(Reached(new, to));
                }
            }
        }
        Self { from, reached }
    }

    /// How far a vertex is, if it is nearer than 1.
    pub(crate) fn distance(&self, to: V) -> Option<f64> {
        self.reached.get(&to).map(|&(far, _)| far)
    }

    /// Every vertex that is nearer than 1, with its distance, in order.
    pub(crate) fn all(&self) -> Vec<(V, f64)> {
        let mut all: Vec<(V, f64)> = self.reached.iter().map(|(&vertex, &(far, _))| (vertex, far)).collect();
        all.sort_by_key(|&(vertex, _)| vertex);
        all
    }

    /// The pairs on the way to a vertex that was reached, ascending.
    pub(crate) fn pairs(&self, to: V) -> Vec<usize> {
        let (mut pairs, mut at) = (Vec::new(), to);
        while at != self.from
            && let Some(&(_, Some((before, pair)))) = self.reached.get(&at)
        {
            pairs.push(pair);
            at = before;
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// A vertex at a distance; the nearest is the largest.
struct Reached<V>(f64, V);

impl<V: Ord> PartialEq for Reached<V> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<V: Ord> Eq for Reached<V> {}

impl<V: Ord> PartialOrd for Reached<V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<V: Ord> Ord for Reached<V> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then_with(|| other.1.cmp(&self.1))
    }
}
