//! Programs on their way through passes, and what each made of them.

use std::time::{Duration, Instant};

use fusebox_ir::{Made, Pass, Passed, Plan, Program, Property, ProvedPlan, properties, validate};

use super::{
    KERNELS,
    each::{Details, Failed},
    pipeline_of,
};
use crate::{Error, Options};

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
    run_passes_seen(program, list, verify, |_| ())
}

/// The same, where `seen` gets what each pass made before the next one runs.
///
/// # Errors
/// As [`run_passes`].
pub fn run_passes_seen(
    program: &Program,
    list: &[&'static dyn Pass],
    verify: bool,
    mut seen: impl FnMut(&Stage),
) -> Result<Vec<Stage>, Error> {
    let mut line = Line::new(program, verify);
    for &pass in list {
        line.run(pass, |program| Ok((pass.run(program)?, Details::None)))?;
        line.stages.last().into_iter().for_each(&mut seen);
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
