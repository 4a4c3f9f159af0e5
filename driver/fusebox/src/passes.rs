//! The table of passes.

use std::time::{Duration, Instant};

use fusebox_clustering::{Method, Status};
pub use fusebox_flattening::Flattening;
use fusebox_ir::{Made, Pass, Passed, Plan, Program, Property, ProvedPlan, properties, validate};

use crate::{Error, Fusion, Options};

static SIMPLIFY: Simplify = Simplify { share: true };
static SIMPLIFY_APART: Simplify = Simplify { share: false };
static FLATTENING: Flatten = Flatten { way: Flattening::Regular };
static FLATTENING_IRREGULAR: Flatten = Flatten { way: Flattening::Irregular };
static STREAMS: Streams = Streams;
static FUSION: Producers = Producers;
static STRICTNESS: Strict = Strict;
static CLUSTERING: Clusters = Clusters { method: Method::Optimal };
static CLUSTERING_GREEDY: Clusters = Clusters { method: Method::Greedy };
static KERNELS: Kernels = Kernels;

/// Every pass that runs on programs, in the order in which programs are compiled; after `fusion` they are simplified again.
pub fn passes() -> &'static [&'static dyn Pass] {
    static PASSES: [&dyn Pass; 7] = [&SIMPLIFY, &FLATTENING, &STREAMS, &FUSION, &STRICTNESS, &CLUSTERING, &KERNELS];
    &PASSES
}

/// The passes that programs are compiled by, in order. Where scalar terms are not to be shared, nothing later shares them either.
pub fn pipeline(options: &Options) -> Vec<&'static dyn Pass> {
    explained_pipeline(options).into_iter().map(|pass| -> &'static dyn Pass { pass }).collect()
}

/// The passes that a program is compiled by: what is nested is made flat first, streams are held in memory, and flat programs of arrays
/// take those of [`pipeline`].
pub fn pipeline_of(program: &Program, options: &Options) -> Vec<&'static dyn Pass> {
    explained_pipeline_of(program, options).into_iter().map(|pass| -> &'static dyn Pass { pass }).collect()
}

pub(crate) fn explained_pipeline_of(program: &Program, options: &Options) -> Vec<&'static dyn Explained> {
    let flat = explained_pipeline(options);
    let is_flat = validate(program, &[Property::Flat]).is_ok();
    let flattening: &'static dyn Explained = match options.flattening {
        Flattening::Irregular => &FLATTENING_IRREGULAR,
        _ => &FLATTENING,
    };
    let mut first: Vec<&'static dyn Explained> = Vec::new();
    first.extend((!is_flat).then_some(flattening));
    if fusebox_flattening::has_streams(program) {
        first.push(&STREAMS);
    }
    if first.is_empty() {
        return flat;
    }
    flat.first().copied().into_iter().chain(first).chain(flat).collect()
}

pub(crate) fn explained_pipeline(options: &Options) -> Vec<&'static dyn Explained> {
    let simplify: &'static dyn Explained = if options.sharing { &SIMPLIFY } else { &SIMPLIFY_APART };
    match options.fusion {
        Fusion::None => vec![simplify, &STRICTNESS, &KERNELS],
        Fusion::Greedy => vec![simplify, &FUSION, simplify, &STRICTNESS, &CLUSTERING_GREEDY, &KERNELS],
        Fusion::Optimal => vec![simplify, &FUSION, simplify, &STRICTNESS, &CLUSTERING, &KERNELS],
    }
}

/// A pass with all that it says of what it did.
pub(crate) trait Explained: Pass {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed>;
}

/// What a pass says of what it did, beside numbers.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Details {
    /// Numbers are all.
    #[default]
    None,
    /// Which operations became one, and which did not.
    Fusion(fusebox_fusion::Report),
    /// Which operations share a pass over memory, and which do not.
    Clustering(fusebox_clustering::Report),
}

/// Scalar and size simplification, common subexpressions, dead code.
struct Simplify {
    /// Whether terms that are equal are computed once.
    share: bool,
}

impl Pass for Simplify {
    fn name(&self) -> &'static str {
        "simplify"
    }

    fn summary(&self) -> &'static str {
        "simplifies scalar code and sizes, shares what is equal, drops what is not used, recovers unrolled loops"
    }

    fn run(&self, program: &Program) -> Result<Passed, Failed> {
        let config = fusebox_simplify::Config { share: self.share, ..Default::default() };
        let (program, report) = fusebox_simplify::simplify(program, &config);
        let report = report_of([
            ("rounds", report.rounds),
            ("bindings_before", report.bindings_before),
            ("bindings_after", report.bindings_after),
            ("unfinished", usize::from(report.unfinished)),
        ]);
        Ok(Passed { made: Made::Program(program), report })
    }
}

impl Explained for Simplify {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        Ok((self.run(program)?, Details::None))
    }
}

/// Nested parallelism made flat.
struct Flatten {
    /// How arrays in lanes are held.
    way: Flattening,
}

impl Pass for Flatten {
    fn name(&self) -> &'static str {
        "flattening"
    }

    fn summary(&self) -> &'static str {
        "makes nested parallelism flat: operations of lanes become operations of all lanes at once, regular ones of plain arrays"
    }

    fn gives(&self) -> &'static [Property] {
        &[Property::Flat]
    }

    fn keeps(&self) -> &'static [Property] {
        &[Property::Flat]
    }

    fn run(&self, program: &Program) -> Result<Passed, Failed> {
        let (program, report) = fusebox_flattening::flatten(program, &fusebox_flattening::Config::of(self.way))?;
        let report = report_of([
            ("avoided", report.avoided),
            ("regular", report.regular),
            ("irregular", report.irregular),
            ("lifted", report.lifted),
            ("descriptors", report.descriptors),
        ]);
        Ok(Passed { made: Made::Program(program), report })
    }
}

impl Explained for Flatten {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        Ok((self.run(program)?, Details::None))
    }
}

/// Traversals of streams that are in memory.
struct Streams;

impl Pass for Streams {
    fn name(&self) -> &'static str {
        "streams"
    }

    fn summary(&self) -> &'static str {
        "holds streams in memory: the body of a traversal runs once, on one chunk of all elements"
    }

    fn needs(&self) -> &'static [Property] {
        &[Property::Flat]
    }

    fn keeps(&self) -> &'static [Property] {
        &[Property::Flat]
    }

    fn run(&self, program: &Program) -> Result<Passed, Failed> {
        let program = fusebox_flattening::streams_in_memory(program)?;
        Ok(Passed { made: Made::Program(program), report: Vec::new() })
    }
}

impl Explained for Streams {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        Ok((self.run(program)?, Details::None))
    }
}

/// Producers into what reads them.
struct Producers;

impl Pass for Producers {
    fn name(&self) -> &'static str {
        "fusion"
    }

    fn summary(&self) -> &'static str {
        "makes one operation of producers and what reads them, on an e-graph, where that costs less"
    }

    fn run(&self, program: &Program) -> Result<Passed, Failed> {
        Ok(self.explained(program)?.0)
    }
}

impl Explained for Producers {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        use fusebox_fusion::{Error, Stop, fuse};
        let (program, report) = match fuse(program, &Default::default()) {
            Ok(fused) => fused,
            // Nothing is lost but speed: the program is compiled as it is.
            Err(Error::Cost) => {
                let report = report_of([("gave_up", 1)]);
                return Ok((Passed { made: Made::Program(program.clone()), report }, Details::None));
            }
            Err(error) => return Err(error.into()),
        };
        let counts = report_of([
            ("operations_fused", report.choices.iter().map(|choice| choice.absorbed.len()).sum()),
            ("pairs_apart", report.refusals.len()),
            ("operations_copied", report.duplications.len()),
            ("iterations", report.iterations),
            ("nodes", report.nodes),
            ("classes", report.classes),
            ("limit_reached", usize::from(report.stop != Stop::Saturated)),
        ]);
        Ok((Passed { made: Made::Program(program), report: counts }, Details::Fusion(report)))
    }
}

/// What may fail to where it is needed.
struct Strict;

impl Pass for Strict {
    fn name(&self) -> &'static str {
        "strictness"
    }

    fn summary(&self) -> &'static str {
        "moves what may fail to where it is needed, so that every block may compute all of its bindings in order"
    }

    fn needs(&self) -> &'static [Property] {
        &[Property::Flat]
    }

    fn gives(&self) -> &'static [Property] {
        &[Property::Strict]
    }

    fn run(&self, program: &Program) -> Result<Passed, Failed> {
        let (program, report) = fusebox_strictness::make_strict(program, &Default::default())?;
        let report = report_of([
            ("moved", report.moved),
            ("copied", report.copied),
            ("inlined", report.inlined),
            ("dropped", report.dropped),
            ("cut", report.cut),
            ("guarded", report.guarded),
            ("limit_reached", usize::from(report.limit_reached)),
        ]);
        Ok(Passed { made: Made::Program(program), report })
    }
}

impl Explained for Strict {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        Ok((self.run(program)?, Details::None))
    }
}

/// Operations into clusters.
struct Clusters {
    method: Method,
}

impl Pass for Clusters {
    fn name(&self) -> &'static str {
        "clustering"
    }

    fn summary(&self) -> &'static str {
        "puts operations into clusters, one pass over memory each, so that as little as possible is read and stored"
    }

    fn needs(&self) -> &'static [Property] {
        &[Property::Flat, Property::Strict]
    }

    fn gives(&self) -> &'static [Property] {
        &[Property::Clustered]
    }

    fn keeps(&self) -> &'static [Property] {
        &[Property::Flat, Property::Strict]
    }

    fn run(&self, program: &Program) -> Result<Passed, Failed> {
        Ok(self.explained(program)?.0)
    }
}

impl Explained for Clusters {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        use fusebox_clustering::{Config, cluster};
        // A solver that fails is no reason not to compile: less is asked for, and the report says so.
        let methods = match self.method {
            Method::Optimal => vec![Method::Optimal, Method::Greedy, Method::Apart],
            Method::Greedy => vec![Method::Greedy, Method::Apart],
            Method::Apart => vec![Method::Apart],
        };
        let mut failure: Option<Failed> = None;
        for (fallen, method) in methods.into_iter().enumerate() {
            match cluster(program, &Config { method, ..Config::default() }) {
                Ok((program, report)) => {
                    let regions = || report.regions.iter();
                    let limits = regions().filter(|region| region.status == Status::Limit).count();
                    let counts = report_of([
                        ("operations", regions().map(|region| region.operations).sum()),
                        ("clusters", regions().map(|region| region.clusters.len()).sum()),
                        ("pairs_apart", regions().map(|region| region.apart.len() + region.apart_left_out).sum()),
                        ("variables", regions().map(|region| region.variables).sum()),
                        ("constraints", regions().map(|region| region.constraints).sum()),
                        ("limit_reached", limits),
                        ("fell_back", fallen),
                    ]);
                    return Ok((Passed { made: Made::Program(program), report: counts }, Details::Clustering(report)));
                }
                Err(error) => failure = Some(failure.unwrap_or_else(|| error.into())),
            }
        }
        Err(failure.unwrap_or_else(|| "no method is left".into()))
    }
}

/// From programs to what backends run.
struct Kernels;

impl Kernels {
    fn lowered(&self, program: &Program) -> Result<(ProvedPlan, Vec<(String, u64)>), Failed> {
        let (plan, report) = fusebox_kernels::lower_proved(program, &Default::default())?;
        let report = report_of([
            ("kernels", report.kernels),
            ("launches", report.launches),
            ("allocations", report.allocations),
            ("checks", report.checks),
        ]);
        Ok((plan, report))
    }
}

impl Pass for Kernels {
    fn name(&self) -> &'static str {
        "kernels"
    }

    fn summary(&self) -> &'static str {
        "makes kernels, a nest of loops each, and the plan that runs them; the last pass of every compiling backend"
    }

    fn needs(&self) -> &'static [Property] {
        &[Property::Flat, Property::Strict]
    }

    fn run(&self, program: &Program) -> Result<Passed, Failed> {
        let (plan, report) = self.lowered(program)?;
        Ok(Passed { made: Made::Plan(Box::new(plan.into_plan())), report })
    }
}

impl Explained for Kernels {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        Ok((self.run(program)?, Details::None))
    }
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn report_of<const N: usize>(counts: [(&str, usize); N]) -> Vec<(String, u64)> {
    counts.into_iter().map(|(name, count)| (name.to_owned(), count as u64)).collect()
}

/// The pass that makes programs of the terms of the embedded language: it has no programs to run on.
pub const FRONT_END: (&str, &str) =
    ("sharing", "makes a program of embedded terms in which every shared term is computed once");

/// The pass of this name.
///
/// # Errors
/// [`UnknownPass`], which lists those there are.
pub fn pass(name: &str) -> Result<&'static dyn Pass, UnknownPass> {
    passes().iter().copied().find(|pass| pass.name() == name).ok_or_else(|| UnknownPass { name: name.into() })
}

/// A name of no pass.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", unknown(.name))]
pub struct UnknownPass {
    /// What was asked for.
    pub name: String,
}

fusebox_ir::debug_is_message!(struct UnknownPass { name });

fn unknown(name: &str) -> String {
    if name == FRONT_END.0 {
        return format!("pass `{name}` makes programs of embedded terms, and does not run on programs");
    }
    let names: Vec<_> = passes().iter().map(|pass| pass.name()).collect();
    format!("there is no pass `{name}`; there are {}", names.join(", "))
}

/// What a pass made of a program, and how long it took.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The pass.
    pub pass: &'static str,
    /// What it made.
    pub made: Made,
    /// What it says of it.
    pub report: Vec<(String, u64)>,
    /// How long it took, without validation.
    pub time: Duration,
}

impl Stage {
    /// The program that was made, if it is one.
    pub fn program(&self) -> Option<&Program> {
        match &self.made {
            Made::Program(program) => Some(program),
            Made::Plan(_) => None,
        }
    }

    /// The plan that was made, if it is one.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.made {
            Made::Plan(plan) => Some(plan),
            Made::Program(_) => None,
        }
    }
}

/// Runs passes one after the other on a valid program. With `verify`, what they give is validated.
///
/// # Errors
/// [`Error::Needs`], [`Error::Pass`], [`Error::InvalidAfter`]; a pass after one that makes a plan is [`Error::Pass`].
pub fn run_passes(program: &Program, list: &[&'static dyn Pass], verify: bool) -> Result<Vec<Stage>, Error> {
    let mut line = Line::new(program, verify);
    for &pass in list {
        line.run(pass, |program| Ok((pass.run(program)?, Details::None)))?;
    }
    Ok(line.stages)
}

/// Runs the passes that a valid program is compiled by, and gives the plan that the last of them makes with what is proved of it.
///
/// # Errors
/// As [`run_passes`].
pub(crate) fn run_to_plan(program: &Program, options: &Options) -> Result<(Vec<Stage>, ProvedPlan), Error> {
    let mut line = Line::new(program, options.verifies());
    let passes = pipeline_of(program, options);
    // The last one lowers, and says what it proved.
    for &pass in passes.iter().take(passes.len() - 1) {
        line.run(pass, |program| Ok((pass.run(program)?, Details::None)))?;
    }
    let mut proved = None;
    line.run(&KERNELS, |program| {
        let (plan, report) = KERNELS.lowered(program)?;
        let made = Made::Plan(Box::new(Plan::clone(&plan)));
        proved = Some(plan);
        Ok((Passed { made, report }, Details::None))
    })?;
    let Some(proved) = proved else { unreachable!("lowering made a plan, or failed") };
    Ok((line.stages, proved))
}

/// A program on its way through passes.
pub(crate) struct Line<'p> {
    program: &'p Program,
    verify: bool,
    properties: Vec<Property>,
    pub stages: Vec<Stage>,
    /// What each of them said of itself.
    pub details: Vec<Details>,
}

impl<'p> Line<'p> {
    pub(crate) fn new(program: &'p Program, verify: bool) -> Self {
        Self { program, verify, properties: properties(program), stages: Vec::new(), details: Vec::new() }
    }

    /// Runs a pass, as `run` says, on what the last one made.
    pub(crate) fn run(
        &mut self,
        pass: &dyn Pass,
        run: impl FnOnce(&Program) -> Result<(Passed, Details), Failed>,
    ) -> Result<(), Error> {
        let input = match self.stages.last() {
            None => self.program,
            Some(Stage { made: Made::Program(program), .. }) => program,
            Some(Stage { pass: before, made: Made::Plan(_), .. }) => {
                return Err(Error::Pass { pass: pass.name(), source: Box::new(AfterPlan { before }) });
            }
        };
        // Those that are known are not looked at again; the pass itself refuses what it cannot take.
        for &property in pass.needs().iter().filter(|needed| !self.properties.contains(needed)) {
            validate(input, &[property]).map_err(|errors| Error::Needs {
                pass: pass.name(),
                property: property.name(),
                errors,
            })?;
        }
        let begin = Instant::now();
        let (passed, details) = run(input).map_err(|source| Error::Pass { pass: pass.name(), source })?;
        let time = begin.elapsed();
        let Passed { made, report } = passed;
        self.properties.retain(|property| pass.keeps().contains(property));
        self.properties.extend(pass.gives());
        if self.verify {
            let checked = match &made {
                Made::Program(program) => validate(program, &self.properties),
                Made::Plan(plan) => fusebox_ir::validate_plan(plan),
            };
            checked.map_err(|errors| {
                let program = match &made {
                    Made::Program(program) => program.to_string(),
                    Made::Plan(plan) => plan.to_string(),
                };
                Error::InvalidAfter { pass: pass.name(), errors, program }
            })?;
        }
        self.stages.push(Stage { pass: pass.name(), made, report, time });
        self.details.push(details);
        Ok(())
    }
}

/// A pass on programs after one that makes something else.
#[derive(Debug, thiserror::Error)]
#[error("it runs on programs, and pass `{before}` before it makes a plan")]
struct AfterPlan {
    before: &'static str,
}
