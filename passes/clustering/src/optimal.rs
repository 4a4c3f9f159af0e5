//! The best clusters: a model for each part of the graph that nothing connects, unless greedy ones are proved to be the best.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Config, Error, Model, Status,
    conflict::{conflicts, least_unfused},
    extract::Solution,
    fit::Fitter,
    greedy::Judge,
    model::{Clusters, Cut, Parts},
    objective::{Measures, Weights, fused, measure_part},
    partition::Partition,
    problem::{Problem, Refusal},
    report::sentence,
    solver::{Solver, solve},
    unite::Unite,
};

/// What solving says of itself.
pub(crate) struct Found {
    pub(crate) solution: Solution,
    pub(crate) status: Status,
    pub(crate) bound: u64,
    pub(crate) variables: usize,
    pub(crate) constraints: usize,
    pub(crate) nodes: u64,
    /// Whether a solver was asked.
    pub(crate) solved: bool,
    pub(crate) notes: Vec<String>,
}

/// Parts of more operations than this are cut where nothing may be fused; how few levels they have is then no longer part of the models.
const WHOLE: usize = 30;

/// Some nodes that are decided by themselves.
struct Piece {
    nodes: Vec<usize>,
    /// Whether edges that must be complete lead out of it.
    local: bool,
    /// Who waits for whom by a way outside.
    waits: Vec<(usize, usize)>,
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
    let mut totals = Totals::default();
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
    nodes: u64,
    solved: bool,
}

impl Totals {
    fn add(&mut self, part: &Part) {
        self.bound += part.bound;
        self.limited |= !part.optimal;
        self.variables += part.variables;
        self.constraints += part.constraints;
        self.nodes += part.nodes;
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
    nodes: u64,
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
            ..Part::default()
        };
        let greedy_part = |bound: u64, optimal: bool| Part { optimal, bound, ..greedy_part.clone() };
        let without_levels = |measures: &Measures| Measures { levels: 0, ..*measures }.cost(self.weights);
        let proved = match piece.local {
            true => without_levels(&greedy) <= without_levels(&least),
            false => greedy.cost(self.weights) <= least.cost(self.weights),
        };
        if proved && !self.config.always_solve {
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
        let mut last = Part::default();
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
            let clusters = Clusters::new(&parts);
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
            let moved = self.with_certain(&fixed);
            let start = clusters.values(&parts, moved.as_ref().unwrap_or(self.greedy));
            let answer = match solve(self.solver, &clusters.model, start.as_deref(), self.config.max_nodes) {
                Ok(answer) => answer,
                Err(error @ (Error::Infeasible | Error::Solver { .. })) => {
                    // A fault of the model or the solver, and clusters that are right are at hand.
                    let part = greedy_part(without_levels(&least), false);
                    self.notes.push(format!("{}: {error}: greedy clusters", self.solver.name()));
                    return Ok(part);
                }
                Err(error) => return Err(error),
            };
            last.nodes += answer.nodes;
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
            let together: Vec<usize> =
                clusters.apart.iter().filter(|(_, apart)| values[**apart] < 0.5).map(|(&index, _)| index).collect();
            let mut partition = Partition::apart(problem.graph.nodes.len());
            for &index in &together {
                partition.join(problem.pairs[index].a, problem.pairs[index].b);
            }
            let first: BTreeSet<usize> = together.iter().copied().collect();
            let new = self.refused(&partition, &first, judge);
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

/// Nodes that an edge or a pair that may be fused connects; parts in which nothing can be decided are left out.
fn parts(problem: &Problem<'_>, weights: &Weights, whole: usize) -> Vec<Piece> {
    let count = problem.graph.nodes.len();
    let mut unite = Unite::new(count);
    for (node, next) in problem.next.iter().enumerate() {
        next.iter().for_each(|&(to, _)| _ = unite.unite(node, to));
    }
    let open: Vec<_> = problem.pairs.iter().filter(|pair| pair.refused.is_none()).collect();
    open.iter().for_each(|pair| _ = unite.unite(pair.a, pair.b));
    // Where the number of levels is what counts, the largest of all parts does, and they are one.
    let levels_first = weights.levels > weights.written;
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for node in 0..count {
        parts.entry(if levels_first { 0 } else { unite.find(node) }).or_default().push(node);
    }
    let decided: BTreeSet<usize> = open.iter().map(|pair| if levels_first { 0 } else { unite.find(pair.a) }).collect();
    let mut near = Unite::new(count);
    open.iter().for_each(|pair| _ = near.unite(pair.a, pair.b));
    let mut pieces = Vec::new();
    for (_, nodes) in parts.into_iter().filter(|(root, _)| decided.contains(root)) {
        let operations = nodes.iter().filter(|&&node| problem.is_operation(node)).count();
        if operations <= whole || levels_first || !problem.knows_waits() {
            pieces.push(Piece { nodes, local: false, waits: Vec::new() });
            continue;
        }
        let mut islands: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        nodes.into_iter().for_each(|node| islands.entry(near.find(node)).or_default().push(node));
        for nodes in islands.into_values().filter(|nodes| nodes.len() > 1) {
            let waits = waits(problem, &nodes);
            pieces.push(Piece { nodes, local: true, waits });
        }
    }
    pieces
}

/// Who waits for whom among some nodes, without what follows from others of them.
fn waits(problem: &Problem<'_>, nodes: &[usize]) -> Vec<(usize, usize)> {
    let mut sorted = nodes.to_vec();
    sorted.sort_by_key(|&node| problem.rank[node]);
    let mut all = Vec::new();
    for (position, &from) in sorted.iter().enumerate() {
        let mut nearest: Vec<usize> = Vec::new();
        for &to in sorted[position + 1..].iter().filter(|&&to| problem.waits(from, to)) {
            if !nearest.iter().any(|&between| problem.waits(between, to)) {
                nearest.push(to);
                all.push((from, to));
            }
        }
    }
    all
}

/// Edges that are fused in some best solution: the producer has no other user, makes elements in any order, and has one other pair at most,
/// which is worth no more.
///
/// Moving the producer out of the cluster of that other pair (of which it is a leaf) into that of its consumer costs nothing: what it loses
/// it gains, and nothing runs between it and its only user.
fn certain(problem: &Problem<'_>, nodes: &[usize], weights: &Weights) -> BTreeSet<usize> {
    let expands = problem.orders > problem.down + 2;
    let mut certain = BTreeSet::new();
    for &node in nodes {
        let free = match problem.graph.nodes[node].kind {
            _ if problem.graph.nodes[node].dear => false,
            crate::Kind::Elementwise => true,
            crate::Kind::Source => !expands,
            _ => false,
        };
        let open: Vec<usize> =
            problem.of_node[node].iter().copied().filter(|&pair| problem.pairs[pair].refused.is_none()).collect();
        let down =
            open.iter().copied().find(|&pair| problem.pairs[pair].is_vertical() && problem.pairs[pair].a == node);
        let Some(down) = down else { continue };
        let only_user = problem.next[node].len() == 1 && !problem.written[node].contains(&true);
        let others: Vec<usize> = open.into_iter().filter(|&pair| pair != down).collect();
        // Another pair with the same node is no leaf's.
        let leaf = others.len() <= 1
            && others.iter().all(|&pair| {
                let (pair, down) = (&problem.pairs[pair], &problem.pairs[down]);
                pair.weight <= down.weight && pair.a != down.b && pair.b != down.b
            });
        if free && only_user && leaf && weights.reads == 0 {
            certain.insert(down);
        }
    }
    certain
}
