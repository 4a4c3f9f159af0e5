//! The values of a model's variables that a solution stands for, to start from.

use std::collections::{BTreeMap, HashMap};

use super::{Clusters, Parts, inner_edges};
use fusebox_ir::analysis::UnionFind;

use crate::extract::Solution;

impl Clusters {
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
        let mut unite = UnionFind::new(self.model.variables.len());
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
