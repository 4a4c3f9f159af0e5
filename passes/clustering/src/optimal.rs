//! The best clusters: a model for each part of the graph that nothing connects, unless greedy ones are proved to be the best.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Config, Error, Model, Status, canonical,
    conflict::{conflicts, least_unfused},
    extract::Solution,
    fit::Fitter,
    greedy::{Judge, merged},
    model::{Clusters, Cut, Parts},
    objective::{Measures, Weights, fused, measure_part},
    partition::Partition,
    pieces::{Piece, WHOLE, certain, parts},
    problem::{Problem, Refusal},
    report::sentence,
    solver::{Answer, Relaxed, Solver, solve},
    tighten::tighten,
    unite::Unite,
};

/// What solving says of itself.
pub(crate) struct Found {
    pub(crate) solution: Solution,
    pub(crate) status: Status,
    pub(crate) bound: u64,
    pub(crate) variables: usize,
    pub(crate) constraints: usize,
    pub(crate) nodes: Option<u64>,
    /// Whether a solver was asked.
    pub(crate) solved: bool,
    pub(crate) notes: Vec<String>,
}

/// The most conflicts that a model is tightened by.
const MAX_CONFLICTS: usize = 20_000;

/// Finds the best clusters of a graph; `greedy` are clusters to start from and to fall back to.
pub(crate) fn optimal(
    problem: &Problem<'_>,
    config: &Config,
    weights: &Weights,
    solver: &dyn Solver,
    greedy: &Solution,
    judge: &mut Judge<'_>,
) -> Result<Found, Error> {
    let mut search =
        Search { problem, config, weights, solver, greedy, fitter: Fitter::new(problem), notes: Vec::new() };
    let mut partition = Partition::apart(problem.graph.nodes.len());
    let mut totals = Totals { nodes: Some(0), ..Totals::default() };
    let mut asked = BTreeSet::new();
    let all = parts(problem, weights, WHOLE);
    let decided: BTreeSet<usize> = all.iter().flat_map(|piece| piece.nodes.iter().copied()).collect();
    let rest: Vec<usize> = (0..problem.graph.nodes.len()).filter(|node| !decided.contains(node)).collect();
    totals.bound += Measures { levels: 0, ..search.least(&rest, &[]) }.cost(weights);
    totals.levels = search.least(&problem.sorted, &[]).levels;
    for piece in &all {
        let part = search.part(piece, judge)?;
        part.joined.iter().for_each(|&(a, b)| partition.join(a, b));
        totals.add(&part);
        asked.extend(part.first);
    }
    let solution = Solution::new(problem, &mut search.fitter, partition, &|pair| asked.contains(&pair));
    let Some(mut solution) = solution else {
        // Only what was cut apart may wait for each other in a circle.
        search.notes.push("the clusters of different pieces wait for each other: greedy clusters".to_owned());
        return Ok(totals.found(greedy.clone(), Status::Limit, weights, search.notes));
    };
    if greedy.measures.cost(weights) < solution.measures.cost(weights) {
        solution = greedy.clone();
    }
    let local = all.iter().any(|piece| piece.local);
    let bound = totals.bound + weights.levels * totals.levels;
    let unproved = local && !totals.limited && bound < solution.measures.cost(weights);
    if unproved {
        search.notes.push(format!(
            "pairs and arrays are the best; that {} levels are the fewest was not proved, {} are needed at least",
            solution.measures.levels, totals.levels
        ));
    }
    let status = match (totals.limited, unproved) {
        (true, _) => Status::Limit,
        (false, true) => Status::OptimalButLevels,
        (false, false) => Status::Optimal,
    };
    Ok(totals.found(solution, status, weights, search.notes))
}

/// The models of all parts in which something can be decided.
pub(crate) fn models(problem: &Problem<'_>, weights: &Weights) -> Vec<Model> {
    let model = |piece: Piece| {
        let (fixed, conflicts) = (BTreeSet::new(), conflicts(problem, &piece.nodes, MAX_CONFLICTS));
        let Piece { nodes, waits, .. } = &piece;
        let parts = Parts { problem, nodes, waits, weights, fixed: &fixed, cuts: &[], conflicts: &conflicts };
        Clusters::new(&parts).model
    };
    parts(problem, weights, usize::MAX).into_iter().map(model).collect()
}

#[derive(Default)]
struct Totals {
    /// Bounds without levels, and the largest bound of levels.
    bound: u64,
    levels: u64,
    limited: bool,
    variables: usize,
    constraints: usize,
    nodes: Option<u64>,
    solved: bool,
}

impl Totals {
    fn add(&mut self, part: &Part) {
        self.bound += part.bound;
        self.limited |= !part.optimal;
        self.variables += part.variables;
        self.constraints += part.constraints;
        self.nodes = self.nodes.zip(part.nodes).map(|(a, b)| a + b);
        self.solved |= part.variables > 0;
    }

    fn found(self, solution: Solution, status: Status, weights: &Weights, notes: Vec<String>) -> Found {
        let cost = solution.measures.cost(weights);
        let bound = match status {
            Status::Optimal => cost,
            _ => (self.bound + weights.levels * self.levels).min(cost),
        };
        Found {
            solution,
            status,
            bound,
            variables: self.variables,
            constraints: self.constraints,
            nodes: self.nodes,
            solved: self.solved,
            notes,
        }
    }
}

/// What was found for a part of a graph.
#[derive(Clone, Default)]
struct Part {
    /// Pairs of nodes that are together.
    joined: Vec<(usize, usize)>,
    /// Pairs to fuse first.
    first: BTreeSet<usize>,
    optimal: bool,
    /// Of the cost without levels.
    bound: u64,
    variables: usize,
    constraints: usize,
    nodes: Option<u64>,
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    config: &'a Config,
    weights: &'a Weights,
    solver: &'a dyn Solver,
    greedy: &'a Solution,
    fitter: Fitter<'a>,
    notes: Vec<String>,
}

impl Search<'_> {
    fn part(&mut self, piece: &Piece, judge: &mut Judge<'_>) -> Result<Part, Error> {
        let problem = self.problem;
        let nodes = &piece.nodes[..];
        let inside: BTreeSet<usize> = nodes.iter().copied().collect();
        let conflicts = conflicts(problem, nodes, MAX_CONFLICTS);
        let greedy = self.measure(&self.greedy.clone(), &inside);
        let least = self.least(nodes, &conflicts);
        let greedy_part = Part {
            joined: self.joined(&self.greedy.partition, nodes),
            first: fused(self.greedy.fits.iter().flatten()).into_iter().collect(),
            nodes: Some(0),
            ..Part::default()
        };
        let greedy_part = |bound: u64, optimal: bool| Part { optimal, bound, ..greedy_part.clone() };
        let without_levels = |measures: &Measures| Measures { levels: 0, ..*measures }.cost(self.weights);
        let weights = *self.weights;
        let compared = |measures: &Measures| match piece.local {
            true => Measures { levels: 0, ..*measures }.cost(&weights),
            false => measures.cost(&weights),
        };
        if compared(&greedy) <= compared(&least) && !self.config.always_solve {
            return Ok(greedy_part(without_levels(&least), true));
        }
        if self.config.max_nodes == 0 {
            let part = greedy_part(without_levels(&least), false);
            self.notes.push("no branch-and-bound nodes are allowed: greedy clusters".to_owned());
            return Ok(part);
        }
        // Of a piece the levels are not those of the whole: how few there are is left to chance.
        let weights = Weights { levels: if piece.local { 0 } else { self.weights.levels }, ..*self.weights };
        let mut cuts: Vec<Cut> = Vec::new();
        let mut last = Part { nodes: Some(0), ..Part::default() };
        let mut rounds = 0;
        for _ in 0..self.config.max_rounds.max(1) {
            let fixed = if cuts.is_empty() { certain(problem, nodes, self.weights) } else { BTreeSet::new() };
            let parts = Parts {
                problem,
                nodes,
                waits: &piece.waits,
                weights: &weights,
                fixed: &fixed,
                cuts: &cuts,
                conflicts: &conflicts,
            };
            let mut clusters = Clusters::new(&parts);
            last.variables = clusters.model.variables.len();
            last.constraints = clusters.model.rows.len();
            if last.variables > self.config.max_variables {
                let part = greedy_part(without_levels(&least), false);
                self.notes.push(format!(
                    "{} operations need a model of {} variables, and {} are allowed: greedy clusters",
                    nodes.len(),
                    last.variables,
                    self.config.max_variables
                ));
                return Ok(part);
            }
            let (answer, relaxed) = match self.answer(&mut clusters, &parts, judge) {
                Ok(answered) => answered,
                Err(error @ (Error::Infeasible | Error::Solver { .. })) => {
                    // A fault of the model or the solver, and clusters that are right are at hand.
                    let part = greedy_part(without_levels(&least), false);
                    self.notes.push(format!("{}: {error}: greedy clusters", self.solver.name()));
                    return Ok(part);
                }
                Err(error) => return Err(error),
            };
            last.nodes = last.nodes.zip(answer.nodes).map(|(a, b)| a + b);
            last.optimal = answer.optimal;
            let most_levels = nodes.len() as f64;
            let bound = (answer.bound - 1e-3).ceil() - weights.levels as f64 * most_levels;
            last.bound = without_levels(&least).max(if bound > 0.0 { bound as u64 } else { 0 });
            let Some(values) = answer.values else {
                self.limit(nodes);
                return Ok(Part {
                    variables: last.variables,
                    constraints: last.constraints,
                    nodes: last.nodes,
                    ..greedy_part(last.bound, false)
                });
            };
            let (mut partition, mut first) = self.chosen(&clusters, &values);
            let mut new = self.refused(&partition, &first, judge);
            if new.is_empty() && answer.optimal {
                let same = |pair: usize| first.contains(&pair);
                let found = Solution::new(problem, &mut self.fitter, partition.clone(), &same);
                if found.is_some_and(|found| compared(&greedy) <= compared(&self.measure(&found, &inside))) {
                    let Part { variables, constraints, nodes, .. } = last;
                    return Ok(Part { variables, constraints, nodes, ..greedy_part(last.bound, true) });
                }
                if let Some(relaxed) = &relaxed {
                    let cost = clusters.model.cost(&values);
                    clusters.fix(relaxed, cost + slack(cost));
                }
                let pairs: Vec<usize> = clusters.apart.values().copied().collect();
                let most = self.config.max_nodes;
                let lightest = canonical::lightest(self.solver, &clusters.model, &pairs, &values, most);
                let lightest = lightest.unwrap_or_else(|error| {
                    self.notes
                        .push(format!("{}: {error}: of equally good clusters the first found", self.solver.name()));
                    None
                });
                if let Some(values) = lightest {
                    (partition, first) = self.chosen(&clusters, &values);
                    new = self.refused(&partition, &first, judge);
                }
            }
            if new.is_empty() {
                let Some(solution) = Solution::new(problem, &mut self.fitter, partition, &|pair| first.contains(&pair))
                else {
                    let part = greedy_part(last.bound, false);
                    self.notes.push("the solver's clusters wait for each other: greedy clusters".to_owned());
                    return Ok(part);
                };
                let cost = self.measure(&solution, &inside).cost(self.weights);
                if !answer.optimal {
                    self.limit(nodes);
                    if greedy.cost(self.weights) <= cost {
                        return Ok(Part {
                            variables: last.variables,
                            constraints: last.constraints,
                            nodes: last.nodes,
                            ..greedy_part(last.bound, false)
                        });
                    }
                }
                last.joined = self.joined(&solution.partition, nodes);
                last.first = first;
                return Ok(last);
            }
            rounds += 1;
            let known = cuts.len();
            for cut in new {
                if !cuts.contains(&cut) {
                    cuts.push(cut);
                }
            }
            if cuts.len() == known {
                break; // the model keeps its cuts, so it would give the same again
            }
        }
        let part = greedy_part(last.bound, false);
        self.notes.push(format!(
            "after {rounds} rounds the best clusters of {} operations still did not fit into nests of loops: greedy clusters",
            nodes.len()
        ));
        Ok(Part { variables: last.variables, constraints: last.constraints, nodes: last.nodes, ..part })
    }

    /// The clusters that values of a model say, and the pairs that are fused in them.
    fn chosen(&self, clusters: &Clusters, values: &[f64]) -> (Partition, BTreeSet<usize>) {
        let together = clusters.apart.iter().filter(|(_, apart)| values[**apart] < 0.5);
        let first: BTreeSet<usize> = together.map(|(&index, _)| index).collect();
        let mut partition = Partition::apart(self.problem.graph.nodes.len());
        for &index in &first {
            partition.join(self.problem.pairs[index].a, self.problem.pairs[index].b);
        }
        (partition, first)
    }

    /// The best values of a model, which is tightened first, with the relaxation of what it is then.
    fn answer(
        &mut self,
        clusters: &mut Clusters,
        parts: &Parts<'_>,
        judge: &mut Judge<'_>,
    ) -> Result<(Answer, Option<Relaxed>), Error> {
        clusters.model.check()?;
        let moved = self.with_certain(parts.fixed);
        let mut start = better(None, clusters, parts, moved.as_ref().unwrap_or(self.greedy));
        let step = clusters.model.step();
        let enough = start.as_ref().map_or(f64::INFINITY, |(cost, _)| cost - step + slack(*cost));
        let relaxed = tighten(clusters, parts, self.solver, enough)?;
        if let Some(relaxed) = &relaxed {
            if let Some(guided) = self.guided(clusters, relaxed, judge) {
                start = better(start, clusters, parts, &guided);
            }
            if let Some((cost, values)) = &start {
                if relaxed.cost > cost - step + slack(*cost) {
                    let answer = Answer { optimal: true, values: Some(values.clone()), bound: *cost, nodes: Some(0) };
                    return Ok((answer, Some(relaxed.clone())));
                }
                clusters.fix(relaxed, cost + slack(*cost));
            }
        }
        let start = start.as_ref().map(|(_, values)| &values[..]);
        let answer = solve(self.solver, &clusters.model, start, self.config.max_nodes)?;
        Ok((answer, relaxed))
    }

    /// Greedy clusters that merge first what the relaxation of a model does.
    fn guided(&mut self, clusters: &Clusters, relaxed: &Relaxed, judge: &mut Judge<'_>) -> Option<Solution> {
        let mut order: Vec<(usize, f64)> =
            clusters.apart.iter().map(|(&pair, &apart)| (pair, relaxed.values[apart])).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let order: Vec<usize> = order.into_iter().map(|(pair, _)| pair).collect();
        let partition = merged(self.problem, &order, judge);
        Solution::new(self.problem, &mut self.fitter, partition, &|_| true)
    }

    /// The greedy clusters with the producers of these pairs in the clusters of their consumers.
    fn with_certain(&mut self, pairs: &BTreeSet<usize>) -> Option<Solution> {
        let problem = self.problem;
        let count = problem.graph.nodes.len();
        let mut cluster: Vec<usize> = (0..count).map(|node| self.greedy.partition.of(node)).collect();
        // Consumers first, which may be producers of the next.
        let mut pairs: Vec<usize> = pairs.iter().copied().collect();
        pairs.sort_by_key(|&index| std::cmp::Reverse(problem.rank[problem.pairs[index].a]));
        for &index in &pairs {
            cluster[problem.pairs[index].a] = cluster[problem.pairs[index].b];
        }
        let mut partition = Partition::apart(count);
        let mut first: BTreeMap<usize, usize> = BTreeMap::new();
        for (node, &cluster) in cluster.iter().enumerate() {
            let first = *first.entry(cluster).or_insert(node);
            partition.join(first, node);
        }
        let asked: BTreeSet<usize> = fused(self.greedy.fits.iter().flatten()).into_iter().chain(pairs).collect();
        Solution::new(problem, &mut self.fitter, partition, &|pair| asked.contains(&pair))
    }

    fn limit(&mut self, nodes: &[usize]) {
        self.notes.push(format!(
            "{}: the limit of {} branch-and-bound nodes was reached for {} operations: the best clusters found so far",
            self.solver.name(),
            self.config.max_nodes,
            nodes.len()
        ));
    }

    fn measure(&self, solution: &Solution, inside: &BTreeSet<usize>) -> Measures {
        let fused = fused(solution.fits.iter().flatten());
        measure_part(self.problem, &solution.partition, &fused, &|node| inside.contains(&node)).unwrap_or_default()
    }

    /// What no clusters of these nodes are below.
    fn least(&self, nodes: &[usize], conflicts: &[(usize, usize)]) -> Measures {
        let problem = self.problem;
        let mut levels: BTreeMap<usize, u64> = BTreeMap::new();
        let mut sorted = nodes.to_vec();
        sorted.sort_by_key(|&node| problem.rank[node]);
        let refused: BTreeSet<(usize, usize)> = sorted
            .iter()
            .flat_map(|&node| &problem.of_node[node])
            .map(|&index| &problem.pairs[index])
            .filter(|pair| pair.is_vertical() && pair.refused.is_some())
            .map(|pair| (pair.a, pair.b))
            .collect();
        let mut most = 0;
        for &node in &sorted {
            let own = levels.get(&node).copied().unwrap_or(0);
            if problem.is_operation(node) {
                most = most.max(own);
            }
            for &(to, why) in &problem.next[node] {
                let step = problem.is_operation(node) && (why.is_some() || refused.contains(&(node, to)));
                let reached = levels.entry(to).or_insert(0);
                *reached = (*reached).max(own + u64::from(step));
            }
        }
        let operations = nodes.iter().filter(|&&node| problem.is_operation(node));
        let written = operations.map(|&node| {
            let both = problem.written[node].iter().zip(&problem.used[node]);
            both.filter(|(written, used)| **written && **used).count() as u64
        });
        Measures {
            unfused_edges: least_unfused(problem, nodes, conflicts),
            written: written.sum(),
            levels: most,
            ..Measures::default()
        }
    }

    /// Who is with whom among some nodes.
    fn joined(&self, partition: &Partition, nodes: &[usize]) -> Vec<(usize, usize)> {
        nodes.iter().map(|&node| (partition.of(node), node)).filter(|(cluster, node)| cluster != node).collect()
    }

    /// For each cluster that is none a cut.
    fn refused(&mut self, partition: &Partition, first: &BTreeSet<usize>, judge: &mut Judge<'_>) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for cluster in partition.clusters() {
            let members = partition.members(cluster);
            if members.len() < 2 {
                continue;
            }
            let Err(refusal) = self.judged(members, first, judge) else { continue };
            let members = self.smaller(members.to_vec(), partition, first, judge);
            let names: Vec<&str> = members.iter().map(|&node| self.problem.graph.nodes[node].name.as_str()).collect();
            self.notes.push(format!(
                "`{}` do not fit together: {}",
                names.join("`, `"),
                sentence(self.problem.graph, &refusal)
            ));
            cuts.push(self.cut(&members, partition, first));
        }
        cuts
    }

    fn judged(&mut self, nodes: &[usize], first: &BTreeSet<usize>, judge: &mut Judge<'_>) -> Result<(), Refusal> {
        self.fitter.fit(nodes, &|pair| first.contains(&pair))?;
        judge(nodes)
    }

    /// As few of the nodes as still do not fit, as long as what is written stays the same.
    fn smaller(
        &mut self,
        mut nodes: Vec<usize>,
        partition: &Partition,
        first: &BTreeSet<usize>,
        judge: &mut Judge<'_>,
    ) -> Vec<usize> {
        for position in (0..nodes.len()).rev() {
            let mut fewer = nodes.clone();
            let gone = fewer.remove(position);
            // Who loses a consumer must be written already.
            let problem = self.problem;
            let producers_written = problem.of_node[gone].iter().map(|&index| &problem.pairs[index]).all(|pair| {
                !pair.is_vertical()
                    || pair.a == gone
                    || !fewer.contains(&pair.a)
                    || pair.outputs.iter().all(|&output| self.is_written(partition, pair.a, output))
            });
            if fewer.len() >= 2
                && producers_written
                && self.is_connected(&fewer, first)
                && self.judged(&fewer, first, judge).is_err_and(|refusal| refusal != Refusal::Apart)
            {
                nodes = fewer;
            }
        }
        nodes
    }

    fn is_written(&self, partition: &Partition, node: usize, output: usize) -> bool {
        let problem = self.problem;
        problem.written[node][output]
            || problem.of_node[node].iter().map(|&index| &problem.pairs[index]).any(|pair| {
                pair.a == node && pair.outputs.contains(&output) && partition.of(pair.b) != partition.of(node)
            })
    }

    fn is_connected(&self, nodes: &[usize], first: &BTreeSet<usize>) -> bool {
        self.tree(nodes, first).len() + 1 == nodes.len()
    }

    /// Fused pairs that connect nodes, none more than needed.
    fn tree(&self, nodes: &[usize], first: &BTreeSet<usize>) -> Vec<usize> {
        let position: BTreeMap<usize, usize> = nodes.iter().enumerate().map(|(at, &node)| (node, at)).collect();
        let mut unite = Unite::new(nodes.len());
        let mut tree = Vec::new();
        for &index in first {
            let pair = &self.problem.pairs[index];
            if let (Some(&a), Some(&b)) = (position.get(&pair.a), position.get(&pair.b))
                && unite.find(a) != unite.find(b)
            {
                unite.unite(a, b);
                tree.push(index);
            }
        }
        tree
    }

    fn cut(&self, nodes: &[usize], partition: &Partition, first: &BTreeSet<usize>) -> Cut {
        let problem = self.problem;
        let written = nodes.iter().flat_map(|&node| {
            let outputs = 0..problem.written[node].len();
            outputs.filter(move |&output| !problem.written[node][output]).map(move |output| (node, output))
        });
        let written = written.filter(|&(node, output)| self.is_written(partition, node, output)).collect();
        Cut { pairs: self.tree(nodes, first), written }
    }
}

/// By how much a solver's sums may be wrong.
fn slack(cost: f64) -> f64 {
    cost.abs() * 1e-7 + 1e-3
}

/// Of values to start from, with what they cost, and those of a solution, the better ones.
fn better(
    known: Option<(f64, Vec<f64>)>,
    clusters: &Clusters,
    parts: &Parts<'_>,
    solution: &Solution,
) -> Option<(f64, Vec<f64>)> {
    let values = clusters.values(parts, solution).filter(|values| clusters.model.is_satisfied(values));
    let Some(values) = values else { return known };
    let cost = clusters.model.cost(&values);
    if known.as_ref().is_some_and(|(best, _)| *best <= cost) { known } else { Some((cost, values)) }
}
