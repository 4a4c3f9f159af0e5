//! The best clusters of a piece of a graph: its model, solved again with cuts while clusters do not fit.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Config, Error,
    bound::least,
    canonical,
    conflict::conflicts,
    cuts,
    extract::Solution,
    fit::Fitter,
    greedy::{Judge, greedy, merged},
    model::{Clusters, Cut, Parts},
    objective::{Measures, Weights, fused},
    partition::Partition,
    pieces::certain,
    problem::Problem,
    report::sentence,
    solver::{Answer, Relaxed, Solver, solve},
    tighten::tighten,
};

/// The most conflicts that a model is tightened by.
pub(crate) const MAX_CONFLICTS: usize = 20_000;

/// The most branch-and-bound nodes of a piece that was cut out of something.
const MAX_CUT_NODES: u64 = 16;

/// What was found for a piece.
#[derive(Clone, Default)]
pub(crate) struct Found {
    /// Clusters of more than one node.
    pub(crate) clusters: Vec<Vec<usize>>,
    /// Pairs to fuse first.
    pub(crate) first: BTreeSet<usize>,
    pub(crate) optimal: bool,
    /// Of the cost, without levels of a local piece.
    pub(crate) bound: u64,
    pub(crate) variables: usize,
    pub(crate) constraints: usize,
    pub(crate) nodes: Option<u64>,
}

/// The search for the best clusters of a problem.
pub(crate) struct Search<'a> {
    problem: &'a Problem<'a>,
    /// Whether its levels are not those of the whole.
    local: bool,
    /// Whether it was cut out of something, so that its best is not that of the whole.
    cut: bool,
    config: &'a Config,
    weights: &'a Weights,
    solver: &'a dyn Solver,
    greedy: Solution,
    fitter: Fitter<'a>,
    pub(crate) notes: Vec<String>,
}

impl<'a> Search<'a> {
    /// `known` are clusters to start from and to fall back to, if they fit.
    pub(crate) fn new(
        problem: &'a Problem<'a>,
        (local, cut): (bool, bool),
        config: &'a Config,
        weights: &'a Weights,
        solver: &'a dyn Solver,
        known: Partition,
        judge: &mut Judge<'_>,
    ) -> Result<Self, Error> {
        let mut fitter = Fitter::new(problem);
        let start = Solution::new(problem, &mut fitter, known, &|_| true)
            .or_else(|| Solution::new(problem, &mut fitter, greedy(problem, judge), &|_| true))
            .or_else(|| Solution::new(problem, &mut fitter, Partition::apart(problem.graph.nodes.len()), &|_| true));
        let Some(greedy) = start else {
            return Err(Error::Graph { what: "an operation breaks its own rules".to_owned() });
        };
        Ok(Self { problem, local, cut, config, weights, solver, greedy, fitter, notes: Vec::new() })
    }

    /// The greedy clusters, if they are proved to be the best without a model.
    pub(crate) fn proved(&self, conflicts: &[(usize, usize)]) -> Option<Found> {
        let least = least(self.problem, &self.nodes(), conflicts);
        let proved = self.compared(&self.greedy.measures) <= self.compared(&least);
        let bound = Measures { levels: 0, ..least }.cost(self.weights);
        proved.then(|| self.fallen_back(Found { bound, optimal: true, nodes: Some(0), ..Found::default() }))
    }

    /// Pairs of which one stays unfused.
    pub(crate) fn conflicts(&self) -> Vec<(usize, usize)> {
        conflicts(self.problem, &self.nodes(), MAX_CONFLICTS)
    }

    /// The most branch-and-bound nodes: few where the best is not that of the whole.
    fn max_nodes(&self) -> u64 {
        if self.cut { self.config.max_nodes.min(MAX_CUT_NODES) } else { self.config.max_nodes }
    }

    fn nodes(&self) -> Vec<usize> {
        (0..self.problem.graph.nodes.len()).collect()
    }

    /// The best clusters, by the greedy ones where these are proved to be the best or a limit is reached.
    pub(crate) fn best(&mut self, judge: &mut Judge<'_>) -> Result<Found, Error> {
        let problem = self.problem;
        let (nodes, conflicts) = (self.nodes(), self.conflicts());
        if let Some(found) = self.proved(&conflicts)
            && !self.config.always_solve
        {
            return Ok(found);
        }
        let known_bound = Measures { levels: 0, ..least(problem, &nodes, &conflicts) }.cost(self.weights);
        let mut last = Found { bound: known_bound, nodes: Some(0), ..Found::default() };
        if self.config.max_nodes == 0 {
            self.notes.push("no branch-and-bound nodes are allowed: greedy clusters".to_owned());
            return Ok(self.fallen_back(last));
        }
        // Of a piece the levels are not those of the whole: how few there are is left to chance.
        let weights = Weights { levels: if self.local { 0 } else { self.weights.levels }, ..*self.weights };
        let mut cuts: Vec<Cut> = Vec::new();
        let mut rounds = 0;
        for _ in 0..self.config.max_rounds.max(1) {
            let fixed = if cuts.is_empty() { certain(problem, &nodes, self.weights) } else { BTreeSet::new() };
            let parts =
                Parts { problem, nodes: &nodes, weights: &weights, fixed: &fixed, cuts: &cuts, conflicts: &conflicts };
            let mut clusters = Clusters::new(&parts);
            last.variables = clusters.model.variables.len();
            last.constraints = clusters.model.rows.len();
            if last.variables > self.config.max_variables {
                self.notes.push(format!(
                    "{} operations need a model of {} variables, and {} are allowed: greedy clusters",
                    nodes.len(),
                    last.variables,
                    self.config.max_variables
                ));
                return Ok(self.fallen_back(last));
            }
            let (answer, relaxed) = match self.answer(&mut clusters, &parts, judge) {
                Ok(answered) => answered,
                Err(error @ (Error::Infeasible | Error::Solver { .. })) => {
                    // A fault of the model or the solver, and clusters that are right are at hand.
                    self.notes.push(format!("{}: {error}: greedy clusters", self.solver.name()));
                    return Ok(self.fallen_back(Found { bound: known_bound, optimal: false, ..last }));
                }
                Err(error) => return Err(error),
            };
            last.nodes = last.nodes.zip(answer.nodes).map(|(a, b)| a + b);
            last.optimal = answer.optimal;
            let bound = (answer.bound - 1e-3).ceil() - weights.levels as f64 * nodes.len() as f64;
            last.bound = known_bound.max(if bound > 0.0 { bound as u64 } else { 0 });
            let Some(values) = answer.values else {
                self.limit();
                return Ok(self.fallen_back(Found { optimal: false, ..last }));
            };
            let (mut partition, mut first) = self.chosen(&clusters, &values);
            let mut new = self.refused(&partition, &first, judge);
            if new.is_empty() && answer.optimal {
                let same = |pair: usize| first.contains(&pair);
                let found = Solution::new(problem, &mut self.fitter, partition.clone(), &same);
                if found.is_some_and(|found| self.compared(&self.greedy.measures) <= self.compared(&found.measures)) {
                    return Ok(self.fallen_back(last));
                }
                if let Some(values) = self.lightest(&mut clusters, relaxed.as_ref(), &values) {
                    (partition, first) = self.chosen(&clusters, &values);
                    new = self.refused(&partition, &first, judge);
                }
            }
            if new.is_empty() {
                let Some(solution) = Solution::new(problem, &mut self.fitter, partition, &|pair| first.contains(&pair))
                else {
                    self.notes.push("the solver's clusters wait for each other: greedy clusters".to_owned());
                    return Ok(self.fallen_back(Found { optimal: false, ..last }));
                };
                if !answer.optimal {
                    self.limit();
                    if self.greedy.measures.cost(self.weights) <= solution.measures.cost(self.weights) {
                        return Ok(self.fallen_back(last));
                    }
                }
                return Ok(Found { clusters: solution.partition.several(), first, ..last });
            }
            if rounds == 0 {
                new.extend(cuts::of_pairs(problem, &mut self.fitter, judge));
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
        self.notes.push(format!(
            "after {rounds} rounds the best clusters of {} operations still did not fit into nests of loops: greedy clusters",
            nodes.len()
        ));
        Ok(self.fallen_back(Found { optimal: false, ..last }))
    }

    /// What is compared between clusters: of a local piece not the levels.
    fn compared(&self, measures: &Measures) -> u64 {
        Measures { levels: if self.local { 0 } else { measures.levels }, ..*measures }.cost(self.weights)
    }

    /// The greedy clusters, with what is known of the best.
    fn fallen_back(&self, known: Found) -> Found {
        let first = fused(self.greedy.fits.iter().flatten()).into_iter().collect();
        Found { clusters: self.greedy.partition.several(), first, ..known }
    }

    /// Of values that cost as little as these those that the weights of ties choose; none if a limit was reached.
    ///
    /// Where the piece was cut out of something the solvers do not agree in any case.
    fn lightest(&mut self, clusters: &mut Clusters, relaxed: Option<&Relaxed>, values: &[f64]) -> Option<Vec<f64>> {
        if self.cut {
            return None;
        }
        if let Some(relaxed) = relaxed {
            let cost = clusters.model.cost(values);
            clusters.fix(relaxed, cost + slack(cost));
        }
        let pairs: Vec<usize> = clusters.apart.values().copied().collect();
        canonical::lightest(self.solver, &clusters.model, &pairs, values, self.max_nodes()).unwrap_or_else(|error| {
            let solver = self.solver.name();
            self.notes.push(format!("{solver}: {error}: of equally good clusters the first found"));
            None
        })
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
        let mut start = better(None, clusters, parts, moved.as_ref().unwrap_or(&self.greedy));
        let step = clusters.model.step();
        let enough = start.as_ref().map_or(f64::INFINITY, |(cost, _)| cost - step + slack(*cost));
        let few = clusters.apart.len() <= self.solver.few_pairs();
        let relaxed = if few { None } else { tighten(clusters, parts, self.solver, enough)? };
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
        let answer = solve(self.solver, &clusters.model, start, self.max_nodes())?;
        Ok((answer, relaxed))
    }

    /// Greedy clusters that merge first what the relaxation of a model does.
    fn guided(&mut self, clusters: &Clusters, relaxed: &Relaxed, judge: &mut Judge<'_>) -> Option<Solution> {
        let mut order: Vec<(usize, f64)> =
            clusters.apart.iter().map(|(&pair, &apart)| (pair, relaxed.values[apart])).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let order: Vec<usize> = order.into_iter().map(|(pair, _)| pair).collect();
        let apart = Partition::apart(self.problem.graph.nodes.len());
        let partition = merged(self.problem, apart, &order, usize::MAX, judge);
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

    fn limit(&mut self) {
        self.notes.push(format!(
            "{}: the limit of {} branch-and-bound nodes was reached for {} operations: the best clusters found so far",
            self.solver.name(),
            self.max_nodes(),
            self.problem.operations
        ));
    }

    /// For each cluster that is none a cut.
    fn refused(&mut self, partition: &Partition, first: &BTreeSet<usize>, judge: &mut Judge<'_>) -> Vec<Cut> {
        let found = cuts::of(self.problem, &mut self.fitter, partition, first, judge);
        let names = |nodes: &[usize]| {
            let names: Vec<&str> = nodes.iter().map(|&node| self.problem.graph.nodes[node].name.as_str()).collect();
            names.join("`, `")
        };
        let note = |cut: &cuts::Refused| {
            format!("`{}` do not fit together: {}", names(&cut.nodes), sentence(self.problem.graph, &cut.why))
        };
        self.notes.extend(found.iter().map(note));
        found.into_iter().map(|refused| refused.cut).collect()
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
