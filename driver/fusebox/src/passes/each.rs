//! The passes: each a free function of its crate, with what it says of what it did.

use fusebox_clustering::{Method, Status};
use fusebox_flattening::Flattening;
use fusebox_ir::{Made, Pass, Passed, Program, Property, ProvedPlan};

/// A pass with all that it says of what it did.
pub(crate) trait Explained: Pass {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        Ok((self.run(program)?, Details::None))
    }
}

/// What a pass says of what it did, beside numbers.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Details {
    /// Numbers are all.
    #[default]
    None,
    /// How values in lanes are held, and why.
    Flattening(fusebox_flattening::Report),
    /// Which operations became one, and which did not.
    Fusion(fusebox_fusion::Report),
    /// Which operations share a pass over memory, and which do not.
    Clustering(fusebox_clustering::Report),
}

/// Scalar and size simplification, common subexpressions, dead code.
pub(super) struct Simplify {
    /// Whether terms that are equal are computed once.
    pub share: bool,
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

impl Explained for Simplify {}

/// Nested parallelism made flat.
pub(super) struct Flatten {
    /// How arrays in lanes are held.
    pub way: Flattening,
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
        Ok(self.explained(program)?.0)
    }
}

impl Explained for Flatten {
    fn explained(&self, program: &Program) -> Result<(Passed, Details), Failed> {
        let (program, report) = fusebox_flattening::flatten(program, &fusebox_flattening::Config::of(self.way))?;
        let counts = report_of([
            ("avoided", report.avoided),
            ("regular", report.regular),
            ("irregular", report.irregular),
            ("of_one_lane", report.of_one_lane),
            ("lifted", report.lifted),
            ("descriptors", report.descriptors),
            ("alone", report.alone),
        ]);
        Ok((Passed { made: Made::Program(program), report: counts }, Details::Flattening(report)))
    }
}

/// Traversals of streams that are in memory.
pub(super) struct Streams;

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

impl Explained for Streams {}

/// Producers into what reads them.
pub(super) struct Producers;

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
pub(super) struct Strict;

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
            ("asked", report.asked),
            ("limit_reached", usize::from(report.limit_reached)),
        ]);
        Ok(Passed { made: Made::Program(program), report })
    }
}

impl Explained for Strict {}

/// Operations into clusters.
pub(super) struct Clusters {
    pub method: Method,
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
pub(super) struct Kernels;

impl Kernels {
    pub fn lowered(&self, program: &Program) -> Result<(ProvedPlan, Vec<(String, u64)>), Failed> {
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

impl Explained for Kernels {}

pub(super) type Failed = Box<dyn std::error::Error + Send + Sync>;

fn report_of<const N: usize>(counts: [(&str, usize); N]) -> Vec<(String, u64)> {
    counts.into_iter().map(|(name, count)| (name.to_owned(), count as u64)).collect()
}
