//! What is one for a whole cluster: the order in which it runs, classes of inner extents, segments.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{ANY, Clusters, NONE, Parts, own_pairs};
use fusebox_ir::analysis::UnionFind;

use crate::orders::{Domain, meet};

impl Clusters {
    /// in, out, D1, D2, M2; nothing where one order serves all.
    pub(super) fn orders(&mut self, parts: &Parts<'_>, island: &[usize]) {
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
    pub(super) fn inners(&mut self, parts: &Parts<'_>, island: &[usize]) {
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
    pub(super) fn segments(&mut self, parts: &Parts<'_>, island: &[usize]) {
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
pub(super) fn islands(parts: &Parts<'_>) -> Vec<Vec<usize>> {
    let position: HashMap<usize, usize> = parts.nodes.iter().enumerate().map(|(at, &node)| (node, at)).collect();
    let mut unite = UnionFind::new(parts.nodes.len());
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
