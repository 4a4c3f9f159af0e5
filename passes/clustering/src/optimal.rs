//! The best clusters: a model for each piece of the graph, unless greedy clusters are proved to be the best.

use std::collections::BTreeSet;

use crate::{
    Config, Error, Model, Status,
    bound::least,
    conflict::conflicts,
    extract::Solution,
    fit::Fitter,
    greedy::{Judge, merged},
    model::{Clusters, Parts},
    objective::{Measures, Weights},
    partition::Partition,
    pieces::{Cutting, Piece, WHOLE, parts, windows},
    problem::Problem,
    restrict,
    search::{Found as Part, MAX_CONFLICTS, Search},
    solver::Solver,
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

/// Finds the best clusters of a graph; `greedy` are clusters to start from and to fall back to.
pub(crate) fn optimal(
    problem: &Problem<'_>,
    config: &Config,
    weights: &Weights,
    solver: &dyn Solver,
    greedy: &Solution,
    judge: &mut Judge<'_>,
) -> Result<Found, Error> {
    let mut notes = Vec::new();
    let most = config.max_operations.min(solver.capacity());
    let window = (most / 3).max(WHOLE);
    let mut waiting = parts(problem, weights, Cutting { whole: WHOLE, most });
    waiting.reverse();
    let mut pieces = Vec::new();
    let mut totals = Totals { nodes: Some(0), ..Totals::default() };
    let mut asked = BTreeSet::new();
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    while let Some(piece) = waiting.pop() {
        let graph = restrict::graph(problem, &piece);
        let (inside, positions) = problem.restricted(&piece, &graph);
        let mut whole = |own: &[usize]| {
            let nodes: Vec<usize> = own.iter().map(|&node| piece.nodes[node]).collect();
            judge(&nodes)
        };
        let known = restrict::partition(&greedy.partition, &piece);
        let mut search = Search::new(&inside, (piece.local, piece.cut), config, weights, solver, known, &mut whole)?;
        let part = match piece.large {
            true => search.proved(&search.conflicts()),
            false => Some(search.best(&mut whole)?),
        };
        notes.append(&mut search.notes);
        let Some(part) = part else {
            waiting.extend(windows(problem, piece.nodes, window));
            continue;
        };
        clusters.extend(part.clusters.iter().map(|nodes| nodes.iter().map(|&node| piece.nodes[node]).collect()));
        asked.extend(part.first.iter().map(|&pair| positions[pair]));
        totals.add(&piece, &part);
        pieces.push(piece);
    }
    totals.rest(problem, weights, &pieces);
    let cut: usize = pieces.iter().filter(|piece| piece.cut).map(|piece| piece.nodes.len()).sum();
    if cut > 0 {
        totals.limited = true;
        notes.push(format!(
            "{cut} operations that might be fused with each other are more than the {most} that are clustered at once: they were clustered in pieces of {} and less, and the clusters of these joined greedily",
            window
        ));
    }
    let mut fitter = Fitter::new(problem);
    let first = |pair: usize| asked.contains(&pair);
    let mut solution = assembled(problem, &clusters).and_then(|partition| {
        let partition = if cut > 0 { joined(problem, partition, judge) } else { partition };
        Solution::new(problem, &mut fitter, partition, &first)
    });
    if solution.is_none() {
        notes.push("the clusters of different pieces wait for each other: some were taken apart".to_owned());
        totals.limited = true;
        let partition = joined(problem, one_by_one(problem, &clusters), judge);
        solution = Solution::new(problem, &mut fitter, partition, &first);
    }
    let mut solution = solution.unwrap_or_else(|| greedy.clone());
    if greedy.measures.cost(weights) < solution.measures.cost(weights) {
        solution = greedy.clone();
    }
    let local = pieces.iter().any(|piece| piece.local);
    let bound = totals.bound + weights.levels * totals.levels;
    let unproved = local && !totals.limited && bound < solution.measures.cost(weights);
    if unproved {
        notes.push(format!(
            "pairs and arrays are the best; that {} levels are the fewest was not proved, {} are needed at least",
            solution.measures.levels, totals.levels
        ));
    }
    let status = match (totals.limited, unproved) {
        (true, _) => Status::Limit,
        (false, true) => Status::OptimalButLevels,
        (false, false) => Status::Optimal,
    };
    Ok(totals.found(solution, status, weights, notes))
}

/// These clusters, and each other node by itself, if no two wait for each other.
fn assembled(problem: &Problem<'_>, clusters: &[Vec<usize>]) -> Option<Partition> {
    let mut partition = Partition::apart(problem.graph.nodes.len());
    clusters.iter().for_each(|nodes| _ = partition.merge_all(nodes));
    partition.levels(problem).map(|_| partition)
}

/// As many of these clusters as do not wait for each other, the first of them first.
fn one_by_one(problem: &Problem<'_>, clusters: &[Vec<usize>]) -> Partition {
    let mut partition = Partition::apart(problem.graph.nodes.len());
    for nodes in clusters {
        if partition.circle(problem, std::slice::from_ref(nodes)).is_none() {
            partition.merge_all(nodes);
        }
    }
    partition
}

/// Clusters joined greedily.
fn joined(problem: &Problem<'_>, partition: Partition, judge: &mut Judge<'_>) -> Partition {
    let all: Vec<usize> = (0..problem.pairs.len()).collect();
    merged(problem, partition, &all, usize::MAX, judge)
}

/// The models of all parts in which something can be decided.
pub(crate) fn models(problem: &Problem<'_>, weights: &Weights) -> Vec<Model> {
    let model = |piece: Piece| {
        let (fixed, conflicts) = (BTreeSet::new(), conflicts(problem, &piece.nodes, MAX_CONFLICTS));
        let nodes = &piece.nodes[..];
        let parts = Parts { problem, nodes, weights, fixed: &fixed, cuts: &[], conflicts: &conflicts };
        Clusters::new(&parts).model
    };
    parts(problem, weights, Cutting::NOTHING).into_iter().map(model).collect()
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
    fn add(&mut self, piece: &Piece, part: &Part) {
        self.bound += if piece.cut { 0 } else { part.bound };
        self.limited |= !part.optimal;
        self.variables += part.variables;
        self.constraints += part.constraints;
        self.nodes = self.nodes.zip(part.nodes).map(|(a, b)| a + b);
        self.solved |= part.variables > 0;
    }

    /// What is of no piece: nodes in no piece, pairs that lead out of one and are never fused, levels.
    fn rest(&mut self, problem: &Problem<'_>, weights: &Weights, pieces: &[Piece]) {
        // What is the best of a piece that was cut out says nothing of the whole.
        let mut piece_of = vec![None; problem.graph.nodes.len()];
        for (number, piece) in pieces.iter().enumerate().filter(|(_, piece)| !piece.cut) {
            piece.nodes.iter().for_each(|&node| piece_of[node] = Some(number));
        }
        let rest: Vec<usize> = (0..piece_of.len()).filter(|&node| piece_of[node].is_none()).collect();
        self.bound += Measures { levels: 0, ..least(problem, &rest, &[]) }.cost(weights);
        self.levels = least(problem, &problem.sorted, &[]).levels;
        let leads_out = problem.pairs.iter().filter(|pair| {
            pair.refused.is_some() && piece_of[pair.a].is_some() && piece_of[pair.a] != piece_of[pair.b]
        });
        self.bound += weights.unfused * leads_out.map(|pair| u64::from(pair.weight)).sum::<u64>();
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
