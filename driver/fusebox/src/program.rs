//! Programs known only when the host runs: compiled from the IR, with values in and out.

use std::{sync::Arc, time::Instant};

use fusebox_backend::{Running, device_memory::Transfers, start};
use fusebox_ir::{Property, Value, validate, validate_plan};

use crate::{
    CompileReport, DeviceValue, Error, Explanation, KernelTimes, Options, PassReport, RunReport, Signature,
    backend::{self, Loading},
    cache::{self, Key},
    explain::explained,
    loaded::Loaded,
};

/// A compiled program: run it as often as you like, from any thread.
#[derive(Clone)]
pub struct Program {
    loaded: Arc<Loaded>,
    cached: bool,
    /// What it was compiled from, and how; none of a plan.
    source: Option<Source>,
}

/// What is needed to go through the passes again.
#[derive(Clone)]
pub(crate) struct Source {
    /// Valid.
    program: Arc<fusebox_ir::Program>,
    options: Options,
}

impl Source {
    pub(crate) fn new(program: &Arc<fusebox_ir::Program>, options: &Options) -> Self {
        Self { program: Arc::clone(program), options: options.clone() }
    }

    pub(crate) fn explain(&self) -> Explanation {
        explained(&self.program, &self.options)
    }
}

/// Compiles a program of the IR.
///
/// ```
/// use fusebox::{Backend, Options, compile_program, ir};
/// let program = ir::text::parse("fn twice(a: [n]i32) -> [n]i32 { let b: [n]i32 = map(|x| x + x, a) return b }")?;
/// let twice = compile_program(&program, &Options::on(Backend::Interp))?;
/// let b = twice.run(&[ir::Array::new(&[3], &[1, 2, 3])?.into()])?;
/// assert_eq!(b, [ir::Array::new(&[3], &[2, 4, 6])?.into()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Programs that are not valid or that the backend does not run; everything but [`Error::Input`] and [`Error::Run`].
pub fn compile_program(program: &fusebox_ir::Program, options: &Options) -> Result<Program, Error> {
    compile_source(&Arc::new(program.clone()), options)
}

/// As [`compile_program`], of a program that is kept for [`Program::explain`].
pub(crate) fn compile_source(program: &Arc<fusebox_ir::Program>, options: &Options) -> Result<Program, Error> {
    validate(program, &[]).map_err(Error::Invalid)?;
    let source = Some(Source::new(program, options));
    let key = options.cache.then(|| Key::new(program, options));
    if let Some(loaded) = key.as_ref().and_then(cache::find) {
        return Ok(Program { loaded, cached: true, source });
    }
    let loaded = assembled(program, || backend::load(program, options))?;
    let loaded = match key {
        Some(key) => cache::insert(key, loaded),
        None => loaded,
    };
    Ok(Program { loaded, cached: false, source })
}

/// Loads a program and notes what that took.
pub(crate) fn assembled(
    program: &fusebox_ir::Program,
    load: impl FnOnce() -> Result<Loading, Error>,
) -> Result<Arc<Loaded>, Error> {
    let begin = Instant::now();
    let Loading { executable, stages, code, passed_over } = load()?;
    let passes = stages.iter().map(PassReport::of).collect();
    let report = CompileReport { passes, code, total: begin.elapsed(), passed_over };
    Ok(Arc::new(Loaded { signature: Signature::of(program), executable, report }))
}

/// Compiles a plan: what `dump --stage kernels` prints and [`fusebox_ir::json::plan_from_json`] reads, as it is or edited.
///
/// No passes run; of the options the backend, the threads and the cache are used. A plan says itself which indices need no check. One that
/// is wrong there fails when it is run and touches no other memory; what is not plainly inside of its array is checked for that.
///
/// # Errors
/// Plans that are not valid or that the backend does not run.
pub fn compile_plan(plan: &fusebox_ir::Plan, options: &Options) -> Result<Program, Error> {
    validate_plan(plan).map_err(Error::InvalidPlan)?;
    let key = options.cache.then(|| Key::of_plan(plan, options));
    if let Some(loaded) = key.as_ref().and_then(cache::find) {
        return Ok(Program { loaded, cached: true, source: None });
    }
    let begin = Instant::now();
    let Loading { executable, stages: _, code, passed_over } = backend::load_plan(plan, options)?;
    let report = CompileReport { passes: Vec::new(), code, total: begin.elapsed(), passed_over };
    let loaded = Arc::new(Loaded { signature: Signature::of_plan(plan), executable, report });
    let loaded = match key {
        Some(key) => cache::insert(key, loaded),
        None => loaded,
    };
    Ok(Program { loaded, cached: false, source: None })
}

impl Program {
    /// One that no cache holds, and that does not say how it came to be.
    pub(crate) fn bare(loaded: Arc<Loaded>) -> Self {
        Self { loaded, cached: false, source: None }
    }

    /// What it takes and gives.
    pub fn signature(&self) -> &Signature {
        &self.loaded.signature
    }

    /// What compiling took, when it was compiled.
    pub fn report(&self) -> &CompileReport {
        &self.loaded.report
    }

    /// Whether it was compiled before.
    pub fn was_cached(&self) -> bool {
        self.cached
    }

    /// How it was compiled: what each pass made of it, which operations became one, which did not and why.
    ///
    /// The passes run again for that, which takes as long as compiling. `None` of a plan ([`compile_plan`]): it does not say how it came
    /// to be, and [`explain_plan`](crate::explain_plan) what it takes.
    pub fn explain(&self) -> Option<Explanation> {
        self.source.as_ref().map(Source::explain)
    }

    /// Runs the program: its results, in order.
    ///
    /// # Errors
    /// [`Error::Input`] if the inputs do not fit, [`Error::Run`] for what fails inside.
    pub fn run(&self, inputs: &[Value]) -> Result<Vec<Value>, Error> {
        self.run_with_report(inputs).map(|(results, _)| results)
    }

    /// As [`Self::run`]; says what the run took too.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_with_report(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error> {
        self.loaded.signature.check(inputs)?;
        self.loaded.executable.run(inputs).map_err(|error| self.said(error))
    }

    /// As [`Self::run`], with results in the place of what `results` held, whose memory is used again. On the CPU a program whose launches take lists of usual
    /// length allocates nothing after its first few runs; a result that somebody else holds keeps its memory.
    ///
    /// ```
    /// use fusebox::{Options, compile_program, ir};
    /// let program = ir::text::parse("fn twice(a: [n]i32) -> [n]i32 { let b: [n]i32 = map(|x| x + x, a) return b }")?;
    /// let twice = compile_program(&program, &Options::default())?;
    /// let mut results = Vec::new();
    /// for turn in 0..3 {
    ///     twice.run_into(&[ir::Array::new(&[2], &[turn, 4])?.into()], &mut results)?;
    ///     assert_eq!(results, [ir::Array::new(&[2], &[2 * turn, 8])?.into()]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::run`]; then there are no results.
    pub fn run_into(&self, inputs: &[Value], results: &mut Vec<Value>) -> Result<RunReport, Error> {
        let fits = self.loaded.signature.check(inputs).map_err(Error::from);
        let ran = fits.and_then(|()| self.loaded.executable.run_into(inputs, results));
        if ran.is_err() {
            results.clear();
        }
        ran.map_err(|error| self.said(error))
    }

    /// Begins a run, which goes on while the caller does something else; [`Running::wait`] gives its results.
    ///
    /// On a GPU a run has a stream of its own. On the CPU it has a thread of its own, with which the program's threads share the work of large
    /// kernels. Any number of runs may be under way.
    ///
    /// ```
    /// use fusebox::{Options, compile_program, ir};
    /// let program = ir::text::parse("fn sum(a: [n]i64) -> i64 { let s: i64 = fold(|x, y| x + y, 0, a) return s }")?;
    /// let sum = compile_program(&program, &Options::default())?;
    /// let (first, second) = (ir::Array::new(&[3], &[1i64, 2, 3])?, ir::Array::new(&[2], &[4i64, 5])?);
    /// let (first, second) = (sum.start(&[first.into()]), sum.start(&[second.into()]));
    /// assert_eq!((second.wait()?, first.wait()?), (vec![ir::Array::scalar(9i64).into()], vec![ir::Array::scalar(6i64).into()]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(&self, inputs: &[Value]) -> Running<Result<Vec<Value>, Error>> {
        let (program, inputs) = (self.clone(), inputs.to_vec());
        start(move || program.run(&inputs))
    }

    /// Brings values to where the program runs. There they stay: any number of runs take them, of other programs too.
    ///
    /// # Errors
    /// [`Error::Backend`]: what the device says, or that there is no room.
    pub fn to_device(&self, values: &[Value]) -> Result<Vec<DeviceValue>, Error> {
        self.loaded.executable.to_device(values)
    }

    /// As [`Self::run`], from and to values that stay where the program runs ([`DeviceValue`]).
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_on_device(&self, inputs: &[DeviceValue]) -> Result<Vec<DeviceValue>, Error> {
        self.loaded.signature.check_on_device(inputs)?;
        let results = self.loaded.executable.run_on_device(inputs);
        results.map(|(results, _)| results).map_err(|error| self.said(error))
    }

    /// As [`Self::start`], from and to values that stay where the program runs.
    pub fn start_on_device(&self, inputs: &[DeviceValue]) -> Running<Result<Vec<DeviceValue>, Error>> {
        let (program, inputs) = (self.clone(), inputs.to_vec());
        start(move || program.run_on_device(&inputs))
    }

    /// What was copied so far between the host and the device that runs the program, by all programs on it.
    pub fn transfers(&self) -> Transfers {
        self.loaded.executable.transfers()
    }

    /// As [`Self::run_with_report`]; says what each kernel took too. On the interpreter, which runs no kernels, nothing; on a GPU, which
    /// works on by itself, how long it took to launch them.
    ///
    /// Two looks at the clock for each launch are in the time of the run.
    ///
    /// ```
    /// use fusebox::{Options, compile_program, ir};
    /// let program = ir::text::parse("fn twice(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x * 2.0, a) return b }")?;
    /// let compiled = compile_program(&program, &Options::default())?;
    /// let (_, _, times) = compiled.run_timed(&[ir::Array::new(&[3], &[1.0f32, 2.0, 3.0])?.into()])?;
    /// assert_eq!(times.sizes["n"], 3);
    /// let kernel = &times.kernels[0];
    /// assert_eq!((kernel.launches, kernel.bytes_read, kernel.bytes_written, kernel.flops), (1, Some(12), Some(12), Some(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_timed(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport, KernelTimes), Error> {
        self.loaded.signature.check(inputs)?;
        self.loaded.executable.run_timed(inputs).map_err(|error| self.said(error))
    }

    /// An error of a run; of a nested program in the words of it.
    fn said(&self, error: Error) -> Error {
        let nested = self.source.as_ref().filter(|_| !self.loaded.executable.runs_as_read());
        let nested = nested.map(|source| &source.program);
        match (error, nested.filter(|program| validate(program, &[Property::Flat]).is_err())) {
            (Error::Run(error), Some(program)) => Error::Run(fusebox_flattening::in_words_of_lanes(program, error)),
            (error, _) => error,
        }
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program({})", self.loaded.signature)
    }
}
