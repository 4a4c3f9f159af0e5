//! A part of a graph as an integer linear program: its variables and its constraints.
//!
//! Only the variables that say whether a pair is fused are integers. Once they are fixed, differences with whole bounds are left, whose least
//! solution is whole. Orders are numbered (gathers, downwards, upwards, what expands append) so that every rule is an interval.

mod classes; // what is one for a whole cluster
mod levels; // who runs before whom
mod start; // the values that a solution stands for

use std::collections::{BTreeMap, BTreeSet};

use self::classes::islands;
use crate::{graph::Source, linear::Model, objective::Weights, problem::Problem, solver::Relaxed};

/// Pairs that are not all fused while these outputs are written: what made a cluster of theirs impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) pairs: Vec<usize>,
    pub(crate) written: Vec<(usize, usize)>,
}

/// `Σ apart of pairs >= apart of beyond`, or 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// Pairs that connect two nodes.
    pub(crate) pairs: Vec<usize>,
    /// A pair on a way of edges between the two; none if they are never together.
    pub(crate) beyond: Option<usize>,
}

/// A model and what its variables stand for.
pub(crate) struct Clusters {
    pub(crate) model: Model,
    /// The variable of each pair: 1 where it is not fused.
    pub(crate) apart: BTreeMap<usize, usize>,
    level: BTreeMap<usize, usize>,
    written: BTreeMap<(usize, usize), usize>,
    reads: BTreeMap<usize, usize>,
    makes: BTreeMap<usize, usize>,
    inner_read: BTreeMap<usize, usize>,
    inner_made: BTreeMap<(usize, usize), usize>,
    segments: BTreeMap<usize, usize>,
    again: BTreeMap<(Source, usize), usize>,
    levels: Option<usize>,
}

/// What the model is made of.
pub(crate) struct Parts<'a> {
    pub(crate) problem: &'a Problem<'a>,
    /// Nodes of the part, ascending: no pair that may be fused leads out of it.
    pub(crate) nodes: &'a [usize],
    pub(crate) weights: &'a Weights,
    /// Pairs that are fused in some best solution.
    pub(crate) fixed: &'a BTreeSet<usize>,
    pub(crate) cuts: &'a [Cut],
    /// Pairs of which one is not fused.
    pub(crate) conflicts: &'a [(usize, usize)],
}

/// Values nearer to a whole number are it.
const NEAR: f64 = 1e-6;
const NONE: f64 = f64::NEG_INFINITY;
const ANY: f64 = f64::INFINITY;

impl Clusters {
    pub(crate) fn new(parts: &Parts<'_>) -> Self {
        let mut clusters = Self {
            model: Model::default(),
            apart: BTreeMap::new(),
            level: BTreeMap::new(),
            written: BTreeMap::new(),
            reads: BTreeMap::new(),
            makes: BTreeMap::new(),
            inner_read: BTreeMap::new(),
            inner_made: BTreeMap::new(),
            segments: BTreeMap::new(),
            again: BTreeMap::new(),
            levels: None,
        };
        clusters.pairs(parts);
        clusters.written(parts);
        let bounds = clusters.levels(parts);
        clusters.acyclic(parts, &bounds);
        for island in islands(parts) {
            clusters.orders(parts, &island);
            clusters.inners(parts, &island);
            clusters.segments(parts, &island);
        }
        clusters.again(parts);
        clusters.cuts(parts);
        clusters
    }

    /// f and g, in a model: 1 where a pair is not fused. Those that never are are part of the offset.
    fn pairs(&mut self, parts: &Parts<'_>) {
        for index in own_pairs(parts) {
            let pair = &parts.problem.pairs[index];
            let cost = (parts.weights.unfused * u64::from(pair.weight)) as f64;
            if pair.refused.is_some() {
                self.model.offset += cost;
                continue;
            }
            let letter = if pair.is_vertical() { 'f' } else { 'g' };
            let upper = if parts.fixed.contains(&index) { 0.0 } else { 1.0 };
            let name = format!("{letter}_{}_{}", pair.a, pair.b);
            self.apart.insert(index, self.model.variable(name, (0.0, upper), true, cost));
        }
    }

    /// m, and M1: what is not fused with a consumer is written.
    fn written(&mut self, parts: &Parts<'_>) {
        let problem = parts.problem;
        for &node in parts.nodes.iter().filter(|&&node| problem.is_operation(node)) {
            for output in 0..problem.used[node].len() {
                let cost = parts.weights.written as f64;
                if problem.written[node][output] {
                    self.model.offset += cost;
                } else if problem.used[node][output] {
                    let name = format!("m_{node}_{output}");
                    let variable = self.model.variable(name, (0.0, 1.0), false, cost);
                    self.written.insert((node, output), variable);
                }
            }
        }
        for (&index, &apart) in &self.apart {
            let pair = &problem.pairs[index];
            for &output in &pair.outputs {
                if let Some(&written) = self.written.get(&(pair.a, output)) {
                    let name = format!("M1_{}_{}_{output}", pair.a, pair.b);
                    self.model.row(name, &[(written, 1.0), (apart, -1.0)], 0.0, ANY);
                }
            }
        }
    }

    /// Whether a reader reads an array anew: neither from its maker nor with an earlier reader.
    fn again(&mut self, parts: &Parts<'_>) {
        if parts.weights.reads == 0 {
            return;
        }
        let problem = parts.problem;
        let inside: BTreeSet<usize> = parts.nodes.iter().copied().collect();
        let by_nodes: BTreeMap<(usize, usize, bool), usize> = self
            .apart
            .iter()
            .map(|(&index, &apart)| {
                let pair = &problem.pairs[index];
                ((pair.a, pair.b, pair.is_vertical()), apart)
            })
            .collect();
        for (&source, readers) in &problem.traversed {
            for (position, &reader) in readers.iter().enumerate().filter(|(_, reader)| inside.contains(reader)) {
                let mut terms = Vec::new();
                if let Source::Output(maker, _) = source {
                    terms.extend(by_nodes.get(&(maker, reader, true)));
                }
                for &other in &readers[..position] {
                    let beside = by_nodes.get(&(other, reader, false)).or(by_nodes.get(&(reader, other, false)));
                    terms.extend(beside);
                }
                let cost = parts.weights.reads as f64;
                if terms.is_empty() {
                    self.model.offset += cost;
                    continue;
                }
                let name = format!("r_{}_{reader}", self.again.len());
                let variable = self.model.variable(name.clone(), (0.0, 1.0), false, cost);
                self.again.insert((source, reader), variable);
                let least = 1.0 - terms.len() as f64;
                let terms: Vec<_> = terms.into_iter().map(|&apart| (apart, -1.0)).chain([(variable, 1.0)]).collect();
                self.model.row(name.replace('r', "R"), &terms, least, ANY);
            }
        }
    }

    fn cuts(&mut self, parts: &Parts<'_>) {
        for &(p, q) in parts.conflicts {
            if let (Some(&p), Some(&q)) = (self.apart.get(&p), self.apart.get(&q)) {
                self.model.row(format!("X_{p}_{q}"), &[(p, 1.0), (q, 1.0)], 1.0, ANY);
            }
        }
        for (number, cut) in parts.cuts.iter().enumerate() {
            let apart = cut.pairs.iter().filter_map(|index| self.apart.get(index)).map(|&apart| (apart, 1.0));
            let written: Vec<_> =
                cut.written.iter().filter_map(|at| self.written.get(at)).map(|&written| (written, -1.0)).collect();
            let least = 1.0 - written.len() as f64;
            let terms: Vec<_> = apart.chain(written).collect();
            if !terms.is_empty() {
                self.model.row(format!("N_{number}"), &terms, least, ANY);
            }
        }
    }

    /// Y: rows for paths.
    pub(crate) fn state(&mut self, paths: &[Path]) {
        for path in paths {
            let apart = path.pairs.iter().filter_map(|index| self.apart.get(index)).map(|&apart| (apart, 1.0));
            let beyond = path.beyond.and_then(|index| self.apart.get(&index)).map(|&apart| (apart, -1.0));
            let least = if path.beyond.is_none() { 1.0 } else { 0.0 };
            let terms: Vec<_> = apart.chain(beyond).collect();
            self.model.row(format!("Y_{}", self.model.rows.len()), &terms, least, ANY);
        }
    }

    /// Decides pairs by what they cost more in the relaxation: what costs more than `most` the other way stays as it is.
    pub(crate) fn fix(&mut self, relaxed: &Relaxed, most: f64) {
        let room = most - relaxed.cost;
        for &apart in self.apart.values() {
            let variable = &mut self.model.variables[apart];
            let (value, more) = (relaxed.values[apart], relaxed.reduced_costs[apart]);
            if value < NEAR && more > room {
                variable.upper = 0.0;
            } else if value > 1.0 - NEAR && -more > room {
                variable.lower = 1.0;
            }
        }
    }
}

/// For each node of a part those of it that need it, and whether it must be complete before.
pub(crate) fn inner_edges(parts: &Parts<'_>) -> BTreeMap<usize, Vec<(usize, bool)>> {
    let inside: BTreeSet<usize> = parts.nodes.iter().copied().collect();
    let mut edges: BTreeMap<usize, Vec<(usize, bool)>> = BTreeMap::new();
    for &node in parts.nodes {
        let next = parts.problem.next[node].iter().filter(|(to, _)| inside.contains(to));
        edges.insert(node, next.map(|&(to, why)| (to, why.is_some())).collect());
    }
    edges
}

/// Pairs whose first node is one of the part's, which are all that touch it.
fn own_pairs<'a>(parts: &'a Parts<'a>) -> impl Iterator<Item = usize> + 'a {
    let problem = parts.problem;
    let all = parts.nodes.iter().flat_map(move |&node| {
        problem.of_node[node].iter().copied().filter(move |&index| problem.pairs[index].a == node)
    });
    let all: BTreeSet<usize> = all.collect();
    all.into_iter()
}
