//! Levels: who runs before whom.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{ANY, Clusters, NONE, Parts, inner_edges, own_pairs};

impl Clusters {
    /// pi and P, with the least and the largest level that each node may have.
    pub(super) fn levels(&mut self, parts: &Parts<'_>) -> HashMap<usize, (f64, f64)> {
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
    pub(super) fn acyclic(&mut self, parts: &Parts<'_>, bounds: &HashMap<usize, (f64, f64)>) {
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
}
