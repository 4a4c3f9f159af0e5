//! A part of a graph as an integer linear program: its variables and its constraints.
//!
//! Only whether pairs are fused is a whole number: with these fixed, what is left are differences with whole bounds, whose least solution
//! is whole by itself. Orders are numbered (gathers, downwards, upwards, what expands append) so that every rule is an interval.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    extract::Solution,
    graph::Source,
    linear::Model,
    objective::Weights,
    problem::{Domain, Problem, meet},
    solver::Relaxed,
    tighten::Path,
    unite::Unite,
};

/// Pairs that are not all fused while these outputs are written: what made a cluster of theirs impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) pairs: Vec<usize>,
    pub(crate) written: Vec<(usize, usize)>,
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

    /// pi and P, with the least and the largest level that each node may have.
    fn levels(&mut self, parts: &Parts<'_>) -> HashMap<usize, (f64, f64)> {
        let problem = parts.problem;
        let (mut least, mut after): (HashMap<usize, u64>, HashMap<usize, u64>) = (HashMap::new(), HashMap::new());
        let refused: BTreeSet<(usize, usize)> = own_pairs(parts)
            .filter(|&index| problem.pairs[index].is_vertical() && problem.pairs[index].refused.is_some())
            .map(|index| (problem.pairs[index].a, problem.pairs[index].b))
            .collect();
        let mut sorted = parts.nodes.to_vec();
        sorted.sort_by_key(|&node| problem.rank[node]);
        let next = inner_edges(parts);
        let step = |from: usize, to: usize, complete: bool| {
            u64::from(problem.is_operation(from) && (complete || refused.contains(&(from, to))))
        };
        for &node in &sorted {
            let own = least.get(&node).copied().unwrap_or(0);
            for &(to, complete) in &next[&node] {
                let reached = least.entry(to).or_insert(0);
                *reached = (*reached).max(own + step(node, to, complete));
            }
        }
        for &node in sorted.iter().rev() {
            let own = next[&node].iter().map(|&(to, complete)| {
                // What is outside counts as a step where it is left, so that one behind the last operation is none.
                let step = match (problem.is_operation(node), problem.is_operation(to)) {
                    (true, true) => step(node, to, complete),
                    (false, true) => 1,
                    (_, false) => 0,
                };
                after.get(&to).copied().unwrap_or(0) + step
            });
            let own = own.max().unwrap_or(0);
            after.insert(node, own);
        }
        let operations = parts.nodes.iter().filter(|&&node| problem.is_operation(node)).count() as u64;
        // A way passes each cluster once; outside nodes are one step after.
        let most = operations.saturating_sub(1);
        let mut bounds = HashMap::new();
        for &node in parts.nodes {
            let low = least.get(&node).copied().unwrap_or(0);
            let beyond = u64::from(!problem.is_operation(node));
            let high = (most + beyond).saturating_sub(after.get(&node).copied().unwrap_or(0)).max(low);
            let variable = self.model.variable(format!("pi_{node}"), (low as f64, high as f64), false, 0.0);
            self.level.insert(node, variable);
            bounds.insert(node, (low as f64, high as f64));
        }
        if parts.weights.levels > 0 {
            let least = least.iter().filter(|(node, _)| problem.is_operation(**node)).map(|(_, &level)| level).max();
            let least = least.unwrap_or(0).min(most);
            let levels = self.model.variable("P", (least as f64, most as f64), false, parts.weights.levels as f64);
            self.levels = Some(levels);
            for &node in parts.nodes.iter().filter(|&&node| problem.is_operation(node)) {
                self.model.row(format!("C_{node}"), &[(levels, 1.0), (self.level[&node], -1.0)], 0.0, ANY);
            }
        }
        bounds
    }

    /// A1, A2, A3: fused pairs are on one level, others in order.
    fn acyclic(&mut self, parts: &Parts<'_>, bounds: &HashMap<usize, (f64, f64)>) {
        let problem = parts.problem;
        let open: BTreeMap<(usize, usize), usize> = self
            .apart
            .iter()
            .filter(|(index, _)| problem.pairs[**index].is_vertical())
            .map(|(&index, &apart)| ((problem.pairs[index].a, problem.pairs[index].b), apart))
            .collect();
        let distance = |from: usize, to: usize| (bounds[&to].1 - bounds[&from].0).max(0.0);
        for (from, next) in inner_edges(parts) {
            for (to, _) in next {
                let (before, after) = (self.level[&from], self.level[&to]);
                match open.get(&(from, to)) {
                    Some(&apart) => {
                        let terms = [(after, 1.0), (before, -1.0), (apart, -1.0)];
                        self.model.row(format!("A1_{from}_{to}"), &terms, 0.0, ANY);
                        let terms = [(after, 1.0), (before, -1.0), (apart, -distance(from, to))];
                        self.model.row(format!("A1u_{from}_{to}"), &terms, NONE, 0.0);
                    }
                    None => {
                        let step = f64::from(problem.is_operation(from));
                        self.model.row(format!("A2_{from}_{to}"), &[(after, 1.0), (before, -1.0)], step, ANY);
                    }
                }
            }
        }
        let beside: Vec<(usize, usize)> = self.apart.iter().map(|(&index, &apart)| (index, apart)).collect();
        for (index, apart) in beside.into_iter().filter(|(index, _)| !problem.pairs[*index].is_vertical()) {
            let (a, b) = (problem.pairs[index].a, problem.pairs[index].b);
            let (first, second) = (self.level[&a], self.level[&b]);
            let terms = [(second, 1.0), (first, -1.0), (apart, -distance(a, b))];
            self.model.row(format!("A3_{a}_{b}"), &terms, NONE, 0.0);
            let terms = [(first, 1.0), (second, -1.0), (apart, -distance(b, a))];
            self.model.row(format!("A3_{b}_{a}"), &terms, NONE, 0.0);
        }
    }

    /// in, out, D1, D2, M2; nothing where one order serves all.
    fn orders(&mut self, parts: &Parts<'_>, island: &[usize]) {
        let problem = parts.problem;
        let mut all = Some(problem.stored());
        for &node in island {
            all = all.and_then(|all| meet(all, problem.reads(node))).and_then(|all| meet(all, problem.made(node)));
        }
        if all.is_some() {
            return;
        }
        let float = |(low, high): Domain| (f64::from(low), f64::from(high));
        for &node in island {
            let made = match problem.written[node].contains(&true) && problem.has_order(node) {
                true => meet(problem.made(node), problem.stored()).unwrap_or(problem.made(node)),
                false => problem.made(node),
            };
            let reads = if problem.keeps_order(node) { made } else { problem.reads(node) };
            let variable = self.model.variable(format!("in_{node}"), float(reads), false, 0.0);
            self.reads.insert(node, variable);
            if problem.keeps_order(node) {
                self.makes.insert(node, variable);
            } else {
                let variable = self.model.variable(format!("out_{node}"), float(made), false, 0.0);
                self.makes.insert(node, variable);
            }
            for output in 0..problem.used[node].len() {
                if let Some(&written) = self.written.get(&(node, output))
                    && problem.has_order(node)
                    && problem.down > 0
                {
                    let terms = [(self.makes[&node], 1.0), (written, -f64::from(problem.down))];
                    self.model.row(format!("M2_{node}_{output}"), &terms, 0.0, ANY);
                }
            }
        }
        for index in pairs_of(parts, island, &self.apart) {
            let (pair, apart) = (&problem.pairs[index], self.apart[&index]);
            let (first, second) = match pair.is_vertical() {
                true => (self.makes[&pair.a], self.reads[&pair.b]),
                false => (self.reads[&pair.a], self.reads[&pair.b]),
            };
            self.equal_if_fused(&format!("D_{}_{}", pair.a, pair.b), first, second, apart);
        }
    }

    /// `first = second` where `apart` is 0.
    fn equal_if_fused(&mut self, name: &str, first: usize, second: usize, apart: usize) {
        if first == second {
            return;
        }
        let (a, b) = (&self.model.variables[first], &self.model.variables[second]);
        let (up, down) = ((b.upper - a.lower).max(0.0), (a.upper - b.lower).max(0.0));
        self.model.row(format!("{name}_a"), &[(second, 1.0), (first, -1.0), (apart, -up)], NONE, 0.0);
        self.model.row(format!("{name}_b"), &[(first, 1.0), (second, -1.0), (apart, -down)], NONE, 0.0);
    }

    /// fi, fo, F1, F2; nothing where all folds are of one extent.
    fn inners(&mut self, parts: &Parts<'_>, island: &[usize]) {
        let problem = parts.problem;
        let classes: BTreeSet<u32> = island
            .iter()
            .flat_map(|&node| problem.inner_read[node].iter().chain(problem.inner_made[node].iter().flatten()))
            .copied()
            .collect();
        if classes.len() < 2 {
            return;
        }
        let numbers: HashMap<u32, f64> =
            classes.iter().enumerate().map(|(number, &class)| (class, number as f64)).collect();
        let bounds = |class: Option<u32>| match class {
            Some(class) => (numbers[&class], numbers[&class]),
            None => (0.0, numbers.len() as f64 - 1.0),
        };
        for &node in island {
            let read = self.model.variable(format!("fi_{node}"), bounds(problem.inner_read[node]), false, 0.0);
            self.inner_read.insert(node, read);
            for (output, made) in problem.inner_made[node].iter().enumerate() {
                let variable = match problem.keeps_inner(node, output) {
                    true => read,
                    false => self.model.variable(format!("fo_{node}_{output}"), bounds(*made), false, 0.0),
                };
                self.inner_made.insert((node, output), variable);
            }
        }
        for index in pairs_of(parts, island, &self.apart) {
            let (pair, apart) = (&problem.pairs[index], self.apart[&index]);
            let second = self.inner_read[&pair.b];
            if !pair.is_vertical() {
                self.equal_if_fused(&format!("F_{}_{}", pair.a, pair.b), self.inner_read[&pair.a], second, apart);
            }
            for &output in &pair.outputs {
                let first = self.inner_made[&(pair.a, output)];
                self.equal_if_fused(&format!("F_{}_{}_{output}", pair.a, pair.b), first, second, apart);
            }
        }
    }

    /// A class of segments for each cluster; nothing where there is one.
    fn segments(&mut self, parts: &Parts<'_>, island: &[usize]) {
        let nodes = &parts.problem.graph.nodes;
        let classes: BTreeSet<u32> = island.iter().filter_map(|&node| nodes[node].segments).collect();
        if classes.len() < 2 {
            return;
        }
        for &node in island {
            let number = nodes[node].segments.and_then(|class| classes.iter().position(|&other| other == class));
            let bounds = number.map_or((0.0, classes.len() as f64 - 1.0), |number| (number as f64, number as f64));
            let variable = self.model.variable(format!("s_{node}"), bounds, false, 0.0);
            self.segments.insert(node, variable);
        }
        for index in pairs_of(parts, island, &self.apart) {
            let (pair, apart) = (&parts.problem.pairs[index], self.apart[&index]);
            let (first, second) = (self.segments[&pair.a], self.segments[&pair.b]);
            self.equal_if_fused(&format!("S_{}_{}", pair.a, pair.b), first, second, apart);
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

    /// The values of a solution, to start from.
    pub(crate) fn values(&self, parts: &Parts<'_>, solution: &Solution) -> Option<Vec<f64>> {
        let problem = parts.problem;
        let levels = levels_of(parts, solution)?;
        let mut values: Vec<f64> = self.model.variables.iter().map(|variable| variable.lower).collect();
        let fused = crate::objective::fused(solution.fits.iter().flatten());
        for (index, &variable) in &self.apart {
            values[variable] = f64::from(!fused.contains(index));
        }
        for (&(node, output), &variable) in &self.written {
            let apart = problem.of_node[node].iter().any(|index| {
                let pair = &problem.pairs[*index];
                pair.a == node && pair.outputs.contains(&output) && !fused.contains(index)
            });
            values[variable] = f64::from(apart);
        }
        for (&node, &variable) in &self.level {
            values[variable] = levels.get(&solution.partition.of(node)).copied().unwrap_or(0) as f64;
        }
        if let Some(variable) = self.levels {
            let operations = parts.nodes.iter().filter(|&&node| problem.is_operation(node));
            values[variable] = operations.map(|&node| values[self.level[&node]]).fold(0.0, f64::max);
        }
        for &node in parts.nodes.iter().filter(|&&node| problem.is_operation(node)) {
            let cluster = solution.partition.of(node);
            let fit = solution.fits[cluster].as_ref()?;
            let at = solution.partition.members(cluster).iter().position(|&other| other == node)?;
            let mut set = |variable: Option<&usize>, value: f64| {
                if let Some(&variable) = variable {
                    let bounds = &self.model.variables[variable];
                    values[variable] = value.clamp(bounds.lower, bounds.upper);
                }
            };
            set(self.reads.get(&node), f64::from(fit.reads[at]));
            set(self.makes.get(&node), f64::from(fit.makes[at]));
        }
        self.complete_classes(parts, solution, &mut values);
        for &variable in self.again.values() {
            let row = self.model.rows.iter().find(|row| row.terms.iter().any(|&(other, _)| other == variable));
            let row = row?;
            let others: f64 = row
                .terms
                .iter()
                .filter(|&&(other, _)| other != variable)
                .map(|&(other, factor)| factor * values[other])
                .sum();
            values[variable] = (row.lower - others).clamp(0.0, 1.0);
        }
        Some(values)
    }

    /// Values of fi, fo and s: what is fused has one class; a fixed one decides.
    fn complete_classes(&self, parts: &Parts<'_>, solution: &Solution, values: &mut [f64]) {
        let mut unite = Unite::new(self.model.variables.len());
        let fused = crate::objective::fused(solution.fits.iter().flatten());
        for index in self.apart.keys().filter(|index| fused.contains(index)) {
            let pair = &parts.problem.pairs[*index];
            let mut same = |a: Option<&usize>, b: Option<&usize>| {
                if let (Some(&a), Some(&b)) = (a, b) {
                    unite.unite(a, b);
                }
            };
            same(self.segments.get(&pair.a), self.segments.get(&pair.b));
            if !pair.is_vertical() {
                same(self.inner_read.get(&pair.a), self.inner_read.get(&pair.b));
            }
            for &output in &pair.outputs {
                same(self.inner_made.get(&(pair.a, output)), self.inner_read.get(&pair.b));
            }
        }
        let classes: Vec<usize> =
            self.segments.values().chain(self.inner_read.values()).chain(self.inner_made.values()).copied().collect();
        let mut decided: HashMap<usize, f64> = HashMap::new();
        for &variable in &classes {
            let bounds = &self.model.variables[variable];
            if bounds.lower == bounds.upper {
                decided.insert(unite.find(variable), bounds.lower);
            }
        }
        for &variable in &classes {
            values[variable] = decided.get(&unite.find(variable)).copied().unwrap_or(0.0);
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

/// Levels of clusters within a part, by number of the cluster; none if they wait for each other.
fn levels_of(parts: &Parts<'_>, solution: &Solution) -> Option<BTreeMap<usize, u64>> {
    let edges = inner_edges(parts);
    let mut levels: BTreeMap<usize, u64> = BTreeMap::new();
    for _ in 0..=parts.nodes.len() {
        let mut changed = false;
        for (&from, next) in &edges {
            let (cluster, step) = (solution.partition.of(from), u64::from(parts.problem.is_operation(from)));
            let own = levels.get(&cluster).copied().unwrap_or(0);
            for &(to, _) in next {
                let other = solution.partition.of(to);
                let level = levels.entry(other).or_insert(0);
                if other != cluster && *level < own + step {
                    *level = own + step;
                    changed = true;
                }
            }
        }
        if !changed {
            return Some(levels);
        }
    }
    None
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

/// Open pairs among the nodes of an island.
fn pairs_of(parts: &Parts<'_>, island: &[usize], open: &BTreeMap<usize, usize>) -> Vec<usize> {
    let problem = parts.problem;
    let of_node = island
        .iter()
        .flat_map(|&node| problem.of_node[node].iter().copied().filter(move |&index| problem.pairs[index].a == node));
    let all: BTreeSet<usize> = of_node.filter(|index| open.contains_key(index)).collect();
    all.into_iter().collect()
}

/// Nodes that open pairs connect; single ones are left out.
fn islands(parts: &Parts<'_>) -> Vec<Vec<usize>> {
    let position: HashMap<usize, usize> = parts.nodes.iter().enumerate().map(|(at, &node)| (node, at)).collect();
    let mut unite = Unite::new(parts.nodes.len());
    for index in own_pairs(parts).filter(|&index| parts.problem.pairs[index].refused.is_none()) {
        let pair = &parts.problem.pairs[index];
        unite.unite(position[&pair.a], position[&pair.b]);
    }
    let mut islands: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, &node) in parts.nodes.iter().enumerate() {
        islands.entry(unite.find(at)).or_default().push(node);
    }
    islands.into_values().filter(|island| island.len() > 1).collect()
}
