//! Backends that run plans: the passes, then code, then runs. Which backend it is makes no other difference.

use std::{sync::Arc, time::Instant};

use fusebox_backend::{BackendError, Compiled};
use fusebox_ir::{Array, ArrayOp, Nested, Part, Plan, Program, Property, ProvedPlan, RunError, Value, validate};
use smallvec::SmallVec;

use super::{Executable, Loading, cpu, failed::failed, gpu, without_checks::without_checks};
use crate::{Backend, Error, Options, RunReport, Stage, passes::run_to_plan};

/// Compiles and loads a valid program.
pub(super) fn load(program: &Program, options: &Options) -> Result<Loading, Error> {
    let made = MadePlan::of(program, options)?;
    made.load(options).map(|loading| Loading { stages: made.stages, ..loading })
}

/// A plan that the passes have made and that nobody has changed.
pub(crate) struct MadePlan {
    stages: Vec<Stage>,
    plan: ProvedPlan,
    nested: Vec<bool>,
}

impl MadePlan {
    /// The plan of a valid program.
    pub(crate) fn of(program: &Program, options: &Options) -> Result<Self, Error> {
        let (stages, plan) = made(program, options)?;
        Ok(Self { stages, plan, nested: nested_results(program) })
    }

    /// What was made.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Compiles and loads it.
    pub(crate) fn load(&self, options: &Options) -> Result<Loading, Error> {
        loaded(&self.plan, self.nested.clone(), options)
    }
}

/// Which results are arrays of arrays: the flat program gives the extents and the values of each.
fn nested_results(program: &Program) -> Vec<bool> {
    program.outputs.iter().map(|output| !output.ty.inner.is_empty()).collect()
}

/// As [`load`], without the checks of the program's kernels.
///
/// # Safety
/// As [`crate::compile_unchecked`].
#[allow(unsafe_code)]
pub(super) unsafe fn load_unchecked(program: &Program, options: &Options) -> Result<Loading, Error> {
    let (stages, plan) = made(program, options)?;
    // SAFETY: what lowering has left unchecked it has proved; for what it checked the caller vouches.
    let bare = unsafe { ProvedPlan::new(without_checks(&plan)) };
    loaded(&bare, nested_results(program), options).map(|loading| Loading { stages, ..loading })
}

/// What each pass makes of a program.
fn made(program: &Program, options: &Options) -> Result<(Vec<Stage>, ProvedPlan), Error> {
    if has_sequences(program) {
        validate(program, &[Property::Flat])
            .map_err(|errors| Error::NotFlat { backend: options.backend.name(), errors })?;
    }
    run_to_plan(program, options)
}

/// Whether a program reads sequences, which are not made flat.
fn has_sequences(program: &Program) -> bool {
    let mut blocks = vec![&program.body];
    while let Some(block) = blocks.pop() {
        if block.params.iter().any(|var| var.ty.stream)
            || block.bindings.iter().any(|binding| matches!(binding.op, ArrayOp::Consume { .. }))
        {
            return true;
        }
        let parts = block.bindings.iter().flat_map(|binding| binding.op.parts());
        blocks.extend(parts.filter_map(|part| if let Part::Body(body) = part { Some(body) } else { None }));
    }
    false
}

/// The backend that options name, for this plan.
fn backend_for(plan: &Plan, options: &Options) -> Result<Arc<dyn fusebox_backend::Backend>, Error> {
    match options.backend {
        Backend::Cuda => gpu::cuda(plan, options),
        Backend::Sim => gpu::simulator(plan, options),
        Backend::Cpu | Backend::Interp | Backend::Auto => Ok(cpu::backend_for(plan, options)?),
    }
}

/// Compiles and loads a plan that needs no guards.
fn loaded(plan: &ProvedPlan, nested: Vec<bool>, options: &Options) -> Result<Loading, Error> {
    let backend = backend_for(plan, options)?;
    load_by(|| backend.compile_proved(plan), nested, options.backend)
}

/// Compiles and loads a valid plan.
pub(super) fn load_plan(plan: &Plan, options: &Options) -> Result<Loading, Error> {
    let backend = backend_for(plan, options)?;
    load_by(|| backend.compile(plan), vec![false; plan.outputs.len()], options.backend)
}

fn load_by(
    compile: impl FnOnce() -> Result<Box<dyn Compiled>, BackendError>,
    nested: Vec<bool>,
    backend: Backend,
) -> Result<Loading, Error> {
    let begin = Instant::now();
    let loaded = compile().and_then(|compiled| compiled.load()).map_err(|error| failed(backend, error))?;
    let code = begin.elapsed();
    Ok(Loading { executable: Box::new(Loaded { program: loaded, nested, backend }), stages: Vec::new(), code })
}

struct Loaded {
    program: Box<dyn fusebox_backend::Program>,
    /// Of each result whether it is an array of arrays.
    nested: Vec<bool>,
    backend: Backend,
}

impl Executable for Loaded {
    fn run(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error> {
        // Clones share their elements.
        let mut arrays: SmallVec<[Array; 8]> = SmallVec::new();
        for value in inputs {
            match value {
                Value::Array(array) => arrays.push(array.clone()),
                Value::Nested(nested) => arrays.extend([nested.extents.clone(), nested.values.clone()]),
                Value::Stream(_) => {
                    return Err(Error::Run(RunError {
                        operation: "input".into(),
                        place: Default::default(),
                        fault: fusebox_ir::Fault::Assertion { message: "a flat program has arrays as inputs".into() },
                    }));
                }
            }
        }
        let (results, statistics) =
            self.program.run_with_statistics(&arrays).map_err(|error| failed(self.backend, error))?;
        let report = RunReport { peak_bytes: Some(statistics.peak_bytes) };
        let mut flat = results.into_iter();
        let mut results = Vec::with_capacity(self.nested.len());
        for &nested in &self.nested {
            let value = match (nested, flat.next()) {
                (true, Some(extents)) => flat.next().map(|values| Value::Nested(Nested { extents, values })),
                (_, array) => array.map(Value::Array),
            };
            results.extend(value);
        }
        Ok((results, report))
    }
}
