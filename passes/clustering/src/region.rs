//! One model for each block: a program's body, branches, conditions, bodies of loops, fallbacks.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Fresh, Part, PartMut, Program,
    analysis::{Definitions, Sizes, spine, spine::Members},
};

use crate::{
    Clustering, Config, Error, Graph, Method, Model, Objective, Report, SolverChoice, Status,
    again::make_again,
    build::{self, Context},
    extract::{Solution, extract},
    fit::Fitter,
    graph::Source,
    greedy::{Judge, greedy, parted},
    mark::{live, mark},
    objective::Weights,
    optimal::{self, optimal},
    pairing::MAX_BESIDE,
    pairs::Refusal,
    partition::Partition,
    problem::Problem,
    refuse::problem,
    solver::Solver,
};

/// All blocks of a program.
pub(crate) fn program(program: &Program, config: &Config) -> Result<(Program, Report), Error> {
    let context = Context { definitions: Definitions::of(program), sizes: Sizes::of_program(program) };
    let mut regions = Regions { context, config, fresh: Fresh::new(program), report: Report::default() };
    let mut clustered = program.clone();
    clustered.body = regions.block(std::mem::take(&mut clustered.body), "")?;
    Ok((clustered.renumbered(), regions.report))
}

/// The graphs of all blocks that hold operations, in the order of the report.
pub(crate) fn graphs(program: &Program) -> Vec<Graph> {
    let context = Context { definitions: Definitions::of(program), sizes: Sizes::of_program(program) };
    let mut graphs = Vec::new();
    let mut blocks = vec![program.body.clone()];
    while let Some(block) = blocks.pop() {
        let block = live(block);
        let graph = build::graph(&block, &context);
        if graph.nodes.iter().any(|node| node.kind != crate::Kind::Outside) {
            graphs.push(graph);
        }
        let bindings = block.bindings.iter().filter(|binding| !matches!(binding.op, ArrayOp::Cluster { .. }));
        let bodies = bindings.flat_map(|binding| binding.op.parts()).filter_map(|part| match part {
            Part::Body(body) => Some(body.clone()),
            _ => None,
        });
        let bodies: Vec<Block> = bodies.collect();
        blocks.extend(bodies.into_iter().rev());
    }
    graphs
}

struct Regions<'p> {
    context: Context<'p>,
    config: &'p Config,
    fresh: Fresh,
    report: Report,
}

impl Regions<'_> {
    /// A block, then those inside: validation limits how deep they are nested.
    fn block(&mut self, block: Block, path: &str) -> Result<Block, Error> {
        let block = live(block);
        let graph = build::graph(&block, &self.context);
        if graph.nodes.iter().any(|node| node.kind != crate::Kind::Outside) {
            let mut clustering = self::graph(&graph, self.config, &mut nests(&block, &self.context))?;
            clustering.report.path = path.to_owned();
            let block = match self.config.method {
                Method::Apart => block,
                _ => make_again(block, &mut clustering, &self.context, &mut self.fresh),
            };
            let block = mark(block, &clustering, &mut self.fresh);
            self.report.regions.push(clustering.report);
            return self.inside(block, path);
        }
        self.inside(block, path)
    }

    fn inside(&mut self, mut block: Block, path: &str) -> Result<Block, Error> {
        for binding in &mut block.bindings {
            if matches!(binding.op, ArrayOp::Cluster { .. }) {
                continue;
            }
            let name = binding.results.first().map_or(String::new(), |var| var.name.0.clone());
            let what = binding.op.name();
            let mut position = 0;
            for part in binding.op.parts_mut() {
                if let PartMut::Body(body) = part {
                    let path = match path {
                        "" => format!("{what} {name}, block {position}"),
                        _ => format!("{path}: {what} {name}, block {position}"),
                    };
                    *body = self.block(std::mem::take(body), &path)?;
                    position += 1;
                }
            }
        }
        Ok(block)
    }
}

/// Whether bindings of a block, by position, can be one nest of loops.
fn nests<'a>(block: &'a Block, context: &'a Context<'_>) -> impl FnMut(&[usize]) -> Result<(), Refusal> + 'a {
    let mut used_by: HashMap<ArrayId, Vec<usize>> = HashMap::new();
    for (position, binding) in block.bindings.iter().enumerate() {
        binding.for_each_use(&mut |id| used_by.entry(id).or_default().push(position));
    }
    let results: HashSet<ArrayId> = block.results.iter().copied().collect();
    move |nodes| {
        let bindings: Vec<&Binding> = nodes.iter().map(|&node| &block.bindings[node]).collect();
        let manifest = |id: ArrayId| {
            let users = used_by.get(&id).map_or(&[][..], Vec::as_slice);
            results.contains(&id) || users.iter().any(|user| nodes.binary_search(user).is_err())
        };
        let type_of = |id: ArrayId| context.definitions.ty(id);
        let members = Members { bindings: &bindings, manifest: &manifest, type_of: &type_of, sizes: &context.sizes };
        match spine(&members) {
            Ok(_) => Ok(()),
            Err(conflict) => {
                let name = |position: usize| match bindings[position].results.first() {
                    Some(var) if !var.name.is_empty() => var.name.0.clone(),
                    Some(var) => var.id.to_string(),
                    None => String::new(),
                };
                let names = (name(conflict.first), name(conflict.second));
                Err(Refusal::Nest(format!("`{}` and `{}`: {}", names.0, names.1, conflict.why)))
            }
        }
    }
}

/// One graph.
pub(crate) fn graph(graph: &Graph, config: &Config, judge: &mut Judge<'_>) -> Result<Clustering, Error> {
    let problem = problem(graph)?;
    let mut fitter = Fitter::new(&problem);
    let weights = weights(&problem, config.objective);
    let alone = |fitter: &mut Fitter<'_>| {
        Solution::new(&problem, fitter, Partition::apart(graph.nodes.len()), &|_| true)
            .ok_or_else(|| Error::Graph { what: "an operation breaks its own rules".to_owned() })
    };
    let first = match config.method {
        Method::Apart => alone(&mut fitter)?,
        Method::Greedy | Method::Optimal => {
            match Solution::new(&problem, &mut fitter, greedy(&problem, judge), &|_| true) {
                Some(solution) => solution,
                None => alone(&mut fitter)?,
            }
        }
    };
    let greedy = first.measures;
    if config.method != Method::Optimal {
        let (first, notes) = within(&problem, first, config, judge);
        let mut clustering = extract(&problem, &first);
        let report = &mut clustering.report;
        report.notes = notes;
        report.greedy = greedy;
        report.status = if config.method == Method::Apart { Status::Apart } else { Status::Greedy };
        report.objective = first.measures.cost(&weights);
        return Ok(clustering);
    }
    let solver = solver(config.solver)?;
    let found = optimal(&problem, config, &weights, &*solver, &first, judge)?;
    let (solution, notes) = within(&problem, found.solution, config, judge);
    let mut clustering = extract(&problem, &solution);
    let report = &mut clustering.report;
    report.greedy = greedy;
    report.status = if notes.is_empty() { found.status } else { Status::Limit };
    report.objective = solution.measures.cost(&weights);
    report.bound = found.bound;
    report.gap = match report.objective {
        0 => 0.0,
        objective => (objective - found.bound.min(objective)) as f64 / objective as f64,
    };
    (report.variables, report.constraints, report.nodes) = (found.variables, found.constraints, found.nodes);
    report.solver = if found.solved { solver.name().to_owned() } else { String::new() };
    report.notes = [found.notes, notes].concat();
    let unweighed = problem.unweighed.iter().map(|&(source, readers)| {
        let name = match source {
            Source::External(external) => &graph.externals[external],
            Source::Output(node, _) => &graph.nodes[node].name,
        };
        format!("`{name}` has {readers} readers: each is weighed with the {MAX_BESIDE} next to it only")
    });
    report.notes.extend(unweighed);
    Ok(clustering)
}

/// The solution with clusters that accumulate no more than is allowed, and what there is to say of it.
fn within(
    problem: &Problem<'_>,
    solution: Solution,
    config: &Config,
    judge: &mut Judge<'_>,
) -> (Solution, Vec<String>) {
    let Some(partition) = parted(problem, &solution.partition, config.max_accumulating, judge) else {
        return (solution, Vec::new());
    };
    let Some(parted) = Solution::new(problem, &mut Fitter::new(problem), partition, &|_| true) else {
        return (solution, Vec::new());
    };
    let note = format!(
        "clusters of more than {} folds (a scan or permute counts as two) were parted: {} clusters instead of {}, {} reads of arrays instead of {}",
        config.max_accumulating,
        parted.measures.clusters,
        solution.measures.clusters,
        parted.measures.reads,
        solution.measures.reads
    );
    (parted, vec![note])
}

fn weights(problem: &Problem<'_>, objective: Objective) -> Weights {
    let pairs = problem.pairs.iter().map(|pair| u64::from(pair.weight)).sum::<u64>();
    let outputs = problem.graph.nodes.iter().map(|node| node.outputs.len() as u64).sum::<u64>();
    objective.weights(problem.operations, pairs + outputs)
}

/// The models of a graph, without those of cuts.
pub(crate) fn models(graph: &Graph, objective: Objective) -> Result<Vec<Model>, Error> {
    let problem = problem(graph)?;
    Ok(optimal::models(&problem, &weights(&problem, objective)))
}

fn solver(choice: SolverChoice) -> Result<Box<dyn Solver>, Error> {
    match choice {
        #[cfg(feature = "highs")]
        SolverChoice::Highs => Ok(Box::new(crate::solver::Highs)),
        #[cfg(not(feature = "highs"))]
        SolverChoice::Highs => Err(Error::Absent("highs")),
        SolverChoice::Microlp => Ok(Box::new(crate::solver::Microlp)),
    }
}
