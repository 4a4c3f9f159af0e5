//! Inequalities that fractional solutions break: without them a model's linear relaxation is far below its best solution.
//!
//! Nodes that are connected by fused pairs are in one cluster. So if two nodes cannot share a cluster, each path between them has a pair that is
//! not fused; and a node between two that share one shares it too. These are path inequalities as those of multicuts (Chopra and Rao,
//! The partition problem, 1993). Ways between what may not be equal are others (`ties`). There are too many to state them all: those are
//! stated that a fractional solution breaks, until none is.

use std::collections::{BTreeMap, HashMap};

use crate::{
    Error,
    model::{Clusters, Parts, Path, inner_edges},
    paths::{LEAST, Near},
    problem::Problem,
    solver::{Relaxation, Relaxed, Solver},
    ties::AllTies,
};

/// How often the relaxation is solved, at most.
const ROUNDS: usize = 40;
/// How many are stated at once for each node.
const EACH: usize = 2;

/// States what fractional solutions break; gives the last of them, which may cost more than `enough`. None if the solver has no relaxations.
pub(crate) fn tighten(
    clusters: &mut Clusters,
    parts: &Parts<'_>,
    solver: &dyn Solver,
    enough: f64,
) -> Result<Option<Relaxed>, Error> {
    let Some(mut relaxation) = solver.relax(&clusters.model)? else { return Ok(None) };
    let ways = Ways::new(parts, clusters.apart.keys().copied());
    let ties = AllTies::new(parts, clusters.apart.keys().copied());
    let mut relaxed = solved(&mut *relaxation, clusters, solver)?;
    for _ in 0..ROUNDS {
        if relaxed.cost > enough {
            break;
        }
        let values = clusters.apart.iter().map(|(&pair, &apart)| (pair, relaxed.values[apart])).collect();
        let mut paths = ways.broken(&values);
        paths.extend(ties.broken(&values, EACH));
        if paths.is_empty() {
            break;
        }
        let known = clusters.model.rows.len();
        clusters.state(&paths);
        for row in &clusters.model.rows[known..] {
            relaxation.add(row)?;
        }
        relaxed = solved(&mut *relaxation, clusters, solver)?;
    }
    Ok(Some(relaxed))
}

/// The relaxation's solution, if it is one of this model in numbers.
fn solved(relaxation: &mut dyn Relaxation, clusters: &Clusters, solver: &dyn Solver) -> Result<Relaxed, Error> {
    let relaxed = relaxation.solve()?;
    let count = clusters.model.variables.len();
    let whole = relaxed.values.len() == count && relaxed.reduced_costs.len() == count && !relaxed.cost.is_nan();
    if !whole || relaxed.values.iter().chain(&relaxed.reduced_costs).any(|value| !value.is_finite()) {
        return Err(Error::Solver {
            solver: solver.name(),
            what: "its relaxation has no numbers for all variables".to_owned(),
        });
    }
    Ok(relaxed)
}

/// What nodes of a part are connected by.
struct Ways<'a> {
    problem: &'a Problem<'a>,
    /// Nodes so that edges lead forwards.
    sorted: Vec<usize>,
    edges: BTreeMap<usize, Vec<(usize, bool)>>,
    /// Open pairs of each node, with the other.
    near: HashMap<usize, Vec<(usize, usize)>>,
    /// Open pairs of a producer and its consumer.
    vertical: HashMap<(usize, usize), usize>,
}

impl<'a> Ways<'a> {
    fn new(parts: &Parts<'a>, open: impl Iterator<Item = usize>) -> Self {
        let problem = parts.problem;
        let mut sorted = parts.nodes.to_vec();
        sorted.sort_by_key(|&node| problem.rank[node]);
        let (mut near, mut vertical) = (HashMap::new(), HashMap::new());
        for index in open {
            let pair = &problem.pairs[index];
            near.entry(pair.a).or_insert_with(Vec::new).push((pair.b, index));
            near.entry(pair.b).or_insert_with(Vec::new).push((pair.a, index));
            if pair.is_vertical() {
                vertical.insert((pair.a, pair.b), index);
            }
        }
        Self { problem, sorted, edges: inner_edges(parts), near, vertical }
    }

    /// Inequalities that values of open pairs (0: fused, 1: apart) break, some for each node.
    fn broken(&self, values: &BTreeMap<usize, f64>) -> Vec<Path> {
        let mut found = Vec::new();
        for (position, &from) in self.sorted.iter().enumerate() {
            let near = Near::new(from, |node| self.near.get(&node).into_iter().flatten(), |pair| values[&pair]);
            // The largest value on a way of edges to each node behind.
            let mut largest: HashMap<usize, (f64, Option<usize>)> = HashMap::from([(from, (0.0, None))]);
            let mut own: Vec<(f64, Path)> = Vec::new();
            for &node in &self.sorted[position..] {
                let Some(&(value, beyond)) = largest.get(&node) else { continue };
                if let Some(length) = near.distance(node)
                    && value - length > LEAST
                {
                    own.push((value - length, Path { pairs: near.pairs(node), beyond }));
                }
                for &(to, complete) in &self.edges[&node] {
                    let step = match self.vertical.get(&(node, to)) {
                        Some(&pair) if !complete => (values[&pair], Some(pair)),
                        _ => (f64::from(self.problem.is_operation(node)), None),
                    };
                    let most = if step.0 > value { step } else { (value, beyond) };
                    let known = largest.entry(to).or_insert(most);
                    if most.0 > known.0 {
                        *known = most;
                    }
                }
            }
            own.sort_by(|a, b| b.0.total_cmp(&a.0));
            found.extend(own.into_iter().take(EACH).map(|(_, path)| path));
        }
        found
    }
}
