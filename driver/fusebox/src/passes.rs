//! The table of passes.

use std::time::{Duration, Instant};

use fusebox_ir::{Made, Pass, Passed, Plan, Program, Property, validate};

use crate::{Error, Options};

/// Every pass that runs on programs, in the order in which programs are compiled.
pub fn passes() -> &'static [&'static dyn Pass] {
    &[&Simplify { share: true }, &Kernels]
}

/// The passes that programs are compiled by. Where scalar terms are not to be shared, nothing later shares them either.
pub(crate) fn pipeline(options: &Options) -> &'static [&'static dyn Pass] {
    if options.sharing { passes() } else { &[&Simplify { share: false }, &Kernels] }
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

/// From programs to what backends run.
struct Kernels;

impl Pass for Kernels {
    fn name(&self) -> &'static str {
        "kernels"
    }

    fn summary(&self) -> &'static str {
        "makes kernels, a nest of loops each, and the plan that runs them; the last pass of every compiling backend"
    }

    fn needs(&self) -> &'static [Property] {
        &[Property::Flat]
    }

    fn run(&self, program: &Program) -> Result<Passed, Failed> {
        let (plan, report) = fusebox_kernels::lower(program, &Default::default())?;
        let report = report_of([
            ("kernels", report.kernels),
            ("launches", report.launches),
            ("allocations", report.allocations),
            ("checks", report.checks),
        ]);
        Ok(Passed { made: Made::Plan(Box::new(plan)), report })
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", unknown(.name))]
pub struct UnknownPass {
    /// What was asked for.
    pub name: String,
}

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
    let mut stages: Vec<Stage> = Vec::new();
    let mut properties: Vec<Property> = [Property::Flat, Property::Clustered]
        .into_iter()
        .filter(|&property| validate(program, &[property]).is_ok())
        .collect();
    for &pass in list {
        let input = match stages.last() {
            None => program,
            Some(Stage { made: Made::Program(program), .. }) => program,
            Some(Stage { pass: before, made: Made::Plan(_), .. }) => {
                return Err(Error::Pass { pass: pass.name(), source: Box::new(AfterPlan { before }) });
            }
        };
        for &property in pass.needs() {
            validate(input, &[property]).map_err(|errors| Error::Needs {
                pass: pass.name(),
                property: property.name(),
                errors,
            })?;
        }
        let begin = Instant::now();
        let passed = pass.run(input).map_err(|source| Error::Pass { pass: pass.name(), source })?;
        let time = begin.elapsed();
        let Passed { made, report } = passed;
        properties.retain(|property| pass.keeps().contains(property));
        properties.extend(pass.gives());
        if verify {
            let (checked, shown) = match &made {
                Made::Program(program) => (validate(program, &properties), program.to_string()),
                Made::Plan(plan) => (fusebox_ir::validate_plan(plan), plan.to_string()),
            };
            checked.map_err(|errors| Error::InvalidAfter { pass: pass.name(), errors, program: shown })?;
        }
        stages.push(Stage { pass: pass.name(), made, report, time });
    }
    Ok(stages)
}

/// A pass on programs after one that makes something else.
#[derive(Debug, thiserror::Error)]
#[error("it runs on programs, and pass `{before}` before it makes a plan")]
struct AfterPlan {
    before: &'static str,
}
