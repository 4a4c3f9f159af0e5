//! What each pass makes of a program, why operations became one or did not, and what that is worth.

mod about;
mod diff;
mod dot;
mod drawing;
mod escape;
mod held;
mod html;
mod layout;
mod moves;
mod plan;
mod scheduled;
mod sentences;
mod svg;
mod text;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    io::Write,
    path::Path,
};

use fusebox_ir::{
    Made, Plan, Program, Property,
    analysis::counts::{PlanTraffic, Polynomial, Region, Traffic, plan_traffic},
    text::with_printed_names,
    validate,
};
use fusebox_schedule::Target;
use serde::Serialize;

pub use self::{
    held::Held,
    moves::KernelMoves,
    plan::{KernelCounts, PlanExplanation, TrafficCounts, explain_plan},
    scheduled::{KernelSchedule, Scheduling},
};
use crate::{
    Error, Fusion, Options,
    graph::{self, Graph, Link, Reasons},
    passes::{Details, Line, explained_pipeline_of},
    whole,
};

/// Everything that is known of how a program is compiled: plain data, and what the command `explain` makes of it.
///
/// Its `Display` is the text that the command prints: counts before and after fusion, clusters, a sentence for each pair of operations that
/// is not fused, passes, and the program at every stage.
///
/// ```
/// use fusebox::prelude::*;
///
/// let normalise = fusebox::compile1(|xs: Acc<Vector<f32>>| {
///     let total = sum(xs).named("total").get();
///     xs.map(|x| x / total)
/// })?;
/// let explanation = normalise.explain();
/// assert!(explanation.to_string().contains("`total`"));
/// assert_eq!(explanation.after.unwrap().loops, 2);
/// # Ok::<(), fusebox::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The program's name.
    pub program: String,
    /// How it was fused.
    pub fusion: Fusion,
    /// What it takes without fusion, if it can be compiled so.
    pub before: Option<Counted>,
    /// What it takes with it, if it can be compiled so.
    pub after: Option<Counted>,
    /// Which pass stopped, and why; what comes after it is not known.
    pub stopped: Option<Stopped>,
    /// The program as it was read, then what each pass made.
    pub stages: Vec<Shown>,
    /// What producers were fused with, and what that costs.
    pub producers: Option<fusebox_fusion::Report>,
    /// Which clusters were found, and how.
    pub clustering: Option<fusebox_clustering::Report>,
    /// Pairs of operations that might have been fused and are not, and why.
    pub apart: Vec<Apart>,
    /// The clusters as they stand, block by block.
    pub graphs: Vec<Graph>,
    /// What each kernel moves and computes.
    pub kernels: Vec<KernelMoves>,
    /// How kernels and loops run on a processor, and why.
    pub scheduling: Scheduling,
    /// Sizes of the run whose times are in `kernels`; empty where there are none.
    pub sizes: BTreeMap<String, i64>,
    /// How the values of nests are held, if there are nests.
    pub held: Vec<Held>,
}

/// What a program takes. Counts are polynomials in the names of sizes; each is written as an expression.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counted {
    /// How many kernels there are.
    pub kernels: usize,
    /// Nests of loops over memory.
    pub loops: u64,
    /// Elements read.
    pub reads: String,
    /// Elements written.
    pub writes: String,
    /// Bytes of the elements read.
    pub bytes_read: String,
    /// Bytes of the elements written.
    pub bytes_written: String,
    /// Whether a run takes just that (of arrays no shorter than stencils' taps reach); else of loops one turn is counted, of branches
    /// the larger.
    pub exact: bool,
    /// The same counts in parts.
    pub polynomials: Polynomials,
    /// What each turn of a loop and each branch takes.
    pub regions: Vec<Region>,
}

/// Counts in parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Polynomials {
    /// Elements read.
    pub reads: Polynomial,
    /// Elements written.
    pub writes: Polynomial,
    /// Bytes of the elements read.
    pub bytes_read: Polynomial,
    /// Bytes of the elements written.
    pub bytes_written: Polynomial,
}

/// A pass that could not do its work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stopped {
    /// The pass.
    pub pass: String,
    /// Why.
    pub why: String,
}

/// A stage of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// `read`, or the pass that made it.
    pub stage: String,
    /// What that pass does.
    pub summary: String,
    /// How long it took.
    pub milliseconds: f64,
    /// What it counted.
    pub counts: Vec<(String, u64)>,
    /// The program, or the plan.
    pub text: String,
}

/// Two operations that are not fused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Apart {
    /// The pass that says so.
    pub pass: &'static str,
    /// The producer, or the earlier of two neighbours, by its first result.
    pub first: String,
    /// The consumer, or the later one.
    pub second: String,
    /// Where the first stands in the source; empty where unknown.
    pub place: String,
    /// Where the second stands in the source; empty where unknown.
    pub second_place: String,
    /// A sentence, without the names.
    pub why: String,
}

impl Counted {
    fn of(plan: &Plan) -> Self {
        let PlanTraffic { kernels, total, regions, launches: _ } = plan_traffic(plan);
        let Traffic { loops, reads, writes, bytes_read, bytes_written, flops: _, exact } = total;
        Self {
            kernels,
            loops,
            reads: reads.expression(),
            writes: writes.expression(),
            bytes_read: bytes_read.expression(),
            bytes_written: bytes_written.expression(),
            exact,
            polynomials: Polynomials { reads, writes, bytes_read, bytes_written },
            regions,
        }
    }
}

/// Explains how `program` is compiled with these options: its stages, its clusters, its counts with and without fusion.
///
/// The backend and the number of threads make no difference. A pass that cannot do its work ends the explanation, which says so.
///
/// # Errors
/// [`Error::Invalid`] if the program is not valid.
pub fn explain(program: &Program, options: &Options) -> Result<Explanation, Error> {
    explain_for(program, options, scheduled::TARGET)
}

/// As [`explain`], with the schedules that kernels get on a target ([`fusebox_schedule::Target::NAMES`]).
///
/// # Errors
/// [`Error::Invalid`] if the program is not valid, [`Error::UnknownTarget`].
pub fn explain_for(program: &Program, options: &Options, target: &str) -> Result<Explanation, Error> {
    if Target::named(target).is_none() {
        return Err(Error::UnknownTarget { name: target.to_owned() });
    }
    validate(program, &[]).map_err(Error::Invalid)?;
    Ok(explained_for(program, options, target))
}

/// As [`explain`], of a valid program.
pub(crate) fn explained(program: &Program, options: &Options) -> Explanation {
    explained_for(program, options, scheduled::TARGET)
}

/// As [`explain_for`], of a valid program and a target that there is.
fn explained_for(program: &Program, options: &Options, target: &str) -> Explanation {
    // All stages and reports call a value the same.
    let program = &with_printed_names(program);
    let (line, stopped) = run(program, options);
    let after = line.stages.last().and_then(|stage| stage.plan()).map(Counted::of);
    let before = if options.fusion == Fusion::None {
        after.clone()
    } else {
        let (line, _) = run(program, &Options { fusion: Fusion::None, ..options.clone() });
        line.stages.last().and_then(|stage| stage.plan()).map(Counted::of)
    };
    let (mut producers, mut clustering, mut held) = (None, None, Vec::new());
    for details in &line.details {
        match details {
            Details::Flattening(report) => held = held::held(&report.held),
            Details::Fusion(report) => producers = Some(report.clone()),
            Details::Clustering(report) => clustering = Some(report.clone()),
            Details::None => {}
        }
    }
    let last = line.stages.iter().rev().find_map(|stage| stage.program()).unwrap_or(program);
    let mut reasons = Reasons::new();
    for region in clustering.iter().flat_map(|report: &fusebox_clustering::Report| &report.regions) {
        for pair in &region.apart {
            reasons.insert((pair.first.clone(), pair.second.clone()), pair.why.clone());
        }
    }
    for pair in producers.iter().flat_map(|report: &fusebox_fusion::Report| &report.refusals) {
        let reason = || sentence(&pair.reason);
        reasons.entry((pair.producer.clone(), pair.consumer.clone())).or_insert_with(reason);
    }
    let graphs = graph::graphs(last, &reasons);
    let apart = apart(producers.as_ref(), clustering.as_ref(), &graphs);
    let mut stages = vec![Shown {
        stage: "read".into(),
        summary: "the program as it was read".into(),
        milliseconds: 0.0,
        counts: Vec::new(),
        text: program.to_string(),
    }];
    let summaries: HashMap<&str, &str> =
        explained_pipeline_of(program, options).into_iter().map(|pass| (pass.name(), pass.summary())).collect();
    stages.extend(line.stages.iter().map(|stage| Shown {
        stage: stage.pass.to_owned(),
        summary: summaries.get(stage.pass).copied().unwrap_or_default().to_owned(),
        milliseconds: stage.time.as_secs_f64() * 1e3,
        counts: stage.report.clone(),
        text: match &stage.made {
            Made::Program(program) => program.to_string(),
            Made::Plan(plan) => plan.to_string(),
        },
    }));
    let kernels = line.stages.last().and_then(|stage| stage.plan()).map(moves::kernels).unwrap_or_default();
    let plan = line.stages.last().and_then(|stage| stage.plan());
    let scheduling = plan.map(|plan| Scheduling::of(plan, target)).unwrap_or_default();
    let mut explanation = Explanation {
        program: program.name.clone(),
        fusion: options.fusion,
        before,
        after,
        stopped,
        stages,
        producers,
        clustering,
        apart,
        graphs,
        kernels,
        scheduling,
        sizes: BTreeMap::new(),
        held,
    };
    explanation.name_kernels();
    explanation
}

/// As text, on a terminal.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::text(self))
    }
}

impl Explanation {
    /// As JSON, for tools: what `explain --format json` prints.
    pub fn to_json(&self) -> String {
        json(self)
    }

    /// The clusters, for Graphviz: what `explain --format dot` prints. Clusters are boxes; operations whose results are stored have two
    /// frames; lines say how operations are joined.
    pub fn to_dot(&self) -> String {
        dot::dot(self)
    }

    /// As one page for a browser, which needs nothing else.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// Writes the page of [`Self::to_html`] to a file: what `explain --html FILE` does.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write_html(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let page = |out: &mut whole::Draft| out.write_all(self.to_html().as_bytes());
        whole::write(path, page).map_err(|source| Error::Write { path: path.to_owned(), source })
    }
}

/// Plain data as JSON for people to read too.
fn json(data: &impl Serialize) -> String {
    // Keys are strings, and numbers that are none become `null`: nothing is left that JSON has no form for.
    serde_json::to_string_pretty(data).unwrap_or_default()
}

/// Runs the passes as far as they go.
fn run<'p>(program: &'p Program, options: &Options) -> (Line<'p>, Option<Stopped>) {
    let mut line = Line::new(program, options.verifies());
    for pass in explained_pipeline_of(program, options) {
        let named = |program: &Program| {
            let (mut passed, details) = pass.explained(program)?;
            // What was made of one value is several, whose names are told apart from here on.
            if let (true, Made::Program(flat)) = (pass.gives().contains(&Property::Flat), &mut passed.made) {
                *flat = with_printed_names(flat);
            }
            Ok((passed, details))
        };
        if let Err(error) = line.run(pass, named) {
            let why = match &error {
                Error::Pass { source, .. } => source.to_string(),
                Error::Needs { property, errors, .. } => format!("it needs a {property} program:\n{errors}"),
                other => other.to_string(),
            };
            return (line, Some(Stopped { pass: pass.name().to_owned(), why }));
        }
    }
    (line, None)
}

/// A sentence as the middle of one: without its full stop.
fn sentence(reason: &str) -> String {
    reason.trim().trim_end_matches('.').to_owned()
}

/// Pairs that stayed apart to the end: what producer fusion left alone may share a cluster.
fn apart(
    producers: Option<&fusebox_fusion::Report>,
    clustering: Option<&fusebox_clustering::Report>,
    graphs: &[Graph],
) -> Vec<Apart> {
    let mut all = Vec::new();
    for pair in clustering.iter().flat_map(|report| &report.regions).flat_map(|region| &region.apart) {
        all.push(Apart {
            pass: "clustering",
            first: pair.first.clone(),
            second: pair.second.clone(),
            place: pair.first_place.clone(),
            second_place: pair.second_place.clone(),
            why: sentence(&pair.why),
        });
    }
    let known: HashSet<(String, String)> = all.iter().map(|pair| (pair.first.clone(), pair.second.clone())).collect();
    let mut clusters: HashMap<&str, (usize, usize)> = HashMap::new();
    for (block, graph) in graphs.iter().enumerate() {
        for node in &graph.nodes {
            if let Some(cluster) = node.cluster {
                clusters.extend(node.results.iter().map(|name| (name.as_str(), (block, cluster))));
            }
        }
    }
    let places: HashMap<&str, &str> = graphs
        .iter()
        .flat_map(|graph| &graph.nodes)
        .flat_map(|node| node.results.iter().map(|name| (name.as_str(), node.place.as_str())))
        .collect();
    for pair in producers.iter().flat_map(|report| &report.refusals) {
        let (first, second) = (clusters.get(pair.producer.as_str()), clusters.get(pair.consumer.as_str()));
        let together = first.is_some() && first == second;
        // What is a result is stored: there is nothing to fuse it with.
        if together || pair.consumer == "return" || known.contains(&(pair.producer.clone(), pair.consumer.clone())) {
            continue;
        }
        all.push(Apart {
            pass: "fusion",
            first: pair.producer.clone(),
            second: pair.consumer.clone(),
            place: pair.place.to_string(),
            second_place: places.get(pair.consumer.as_str()).copied().unwrap_or_default().to_owned(),
            why: sentence(&pair.reason),
        });
    }
    // What no pass looks at: whatever takes or gives arrays as wholes.
    for graph in graphs {
        let first = |at: usize| graph.nodes[at].results.first().cloned().unwrap_or_default();
        for edge in graph.edges.iter().filter(|edge| edge.link == Link::Infusible) {
            let pair = (first(edge.from), first(edge.to));
            let known = all.iter().any(|known| (&known.first, &known.second) == (&pair.0, &pair.1));
            if let (false, Some(why)) = (known, &edge.why) {
                all.push(Apart {
                    pass: "clustering",
                    first: pair.0,
                    second: pair.1,
                    place: graph.nodes[edge.from].place.clone(),
                    second_place: graph.nodes[edge.to].place.clone(),
                    why: why.clone(),
                });
            }
        }
    }
    let mut seen = HashSet::new();
    all.retain(|pair| seen.insert((pair.first.clone(), pair.second.clone(), pair.why.clone())));
    all
}
