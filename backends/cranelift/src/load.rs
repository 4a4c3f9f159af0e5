//! Plans as machine code in memory of this process.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, atomic::Ordering},
};

use fusebox_backend::{
    BackendError, Course, Program, Recording, Recordings, Statistics, Stored, Values, check_inputs, execute, lock,
};
use fusebox_ir::{
    Array, Plan, Step, ValueId,
    analysis::{IndependentLaunches, RowLoop, RowSequences},
};
use fusebox_wide::Features;

use crate::{
    Cranelift, Shared,
    beside::Beside,
    code_memory::{CodeMemory, DefinedFunction},
    cpu::Cpu,
    kernel::ScheduledKernel,
    lanes::{SmallPlan, scripts::Scripts},
    launch::strips,
    loaded_kernel::{LoadedKernel, LoadedVersion, OneRow},
    making::{Made, Making},
    rounding::Rounding,
    wide,
};

/// A plan as machine code; runs any number of times, from any number of threads at once.
pub struct LoadedPlan {
    plan: Arc<Plan>,
    kernels: Arc<[LoadedKernel]>,
    loops: Arc<HashMap<ValueId, RowLoop>>,
    sequences: Arc<RowSequences>,
    independent: Arc<IndependentLaunches>,
    scripts: Arc<Scripts>,
    /// For runs in which all of the plan is small.
    small: Arc<SmallPlan>,
    /// What runs did on inputs of extents that there were before.
    recordings: Recordings,
    shared: Arc<Shared>,
    /// Owns what the kernels point to.
    memory: Arc<CodeMemory>,
    /// The functions in there.
    codes: usize,
    /// Whether new arrays hold zeros.
    cleared: bool,
    /// Tables of values of runs that are over, for those to come.
    spare: Mutex<Vec<Values<Array>>>,
}

impl LoadedPlan {
    pub(crate) fn new(
        (plan, beside): (Arc<Plan>, &Beside),
        narrow: &[ScheduledKernel],
        features: Option<Features>,
        (shared, cleared): (Arc<Shared>, bool),
    ) -> Result<Self, BackendError> {
        let mut making = Making::new(beside.behind(&plan).collect())?;
        if let Some(features) = features {
            making.all(
                true,
                |position, kernel| wide::emitted(kernel, &narrow[position], &beside.forced[position], features),
                |kernel, functions| wide::codes(kernel, functions, features),
            )?;
        }
        making.all(
            false,
            |position, kernel| narrow[position].clone().emit(kernel).map(Some),
            |_, _| Ok(Some(Vec::new())),
        )?;
        let Making { maker, made, .. } = making;
        let made: Vec<Made> = made.into_iter().flatten().collect();
        let codes = made.iter().flat_map(|own| &own.codes).map(DefinedFunction::number).collect::<HashSet<_>>().len();
        let memory = maker.finish()?;
        let mut loaded = made.into_iter().zip(beside.behind(&plan)).map(|(own, kernel)| own.loaded(kernel, &memory));
        let mut kernels: Vec<LoadedKernel> = loaded.by_ref().take(plan.kernels.len()).collect();
        for ((position, kernel), loaded) in beside.rows.iter().zip(&mut loaded) {
            kernels[*position].row = Some(Arc::new(OneRow { kernel: kernel.clone(), loaded }));
        }
        for (version, loaded) in beside.versions.iter().zip(loaded) {
            let (when, kernel) = (version.when.clone(), version.kernel.clone());
            kernels[version.position].versions.push(Arc::new(LoadedVersion { when, kernel, loaded }));
        }
        let has_rows = |kernel: usize| {
            let in_strips = narrow.get(kernel).is_some_and(|own| own.in_strips);
            in_strips && kernels.get(kernel).is_some_and(strips::has_rows)
        };
        let loops = Arc::new(row_loops(&plan, has_rows));
        let sequences = Arc::new(RowSequences::of(&plan, has_rows));
        let independent = Arc::new(IndependentLaunches::of(&plan));
        let scripts = Arc::new(Scripts::of(&plan, &kernels)?);
        let kernels = kernels.into();
        let recordings = Recordings::of(&plan);
        Ok(Self {
            plan,
            kernels,
            loops,
            sequences,
            independent,
            scripts,
            small: Arc::default(),
            recordings,
            shared,
            memory: Arc::new(memory),
            codes,
            cleared,
            spare: Mutex::default(),
        })
    }

    /// How many functions were made for the kernels: kernels that are alike share theirs.
    pub fn functions(&self) -> usize {
        self.codes
    }

    /// For each kernel of the plan, whether it is code for vectors of 64 or 32 bytes.
    pub fn wide_kernels(&self) -> Vec<bool> {
        self.kernels.iter().map(|kernel| kernel.wide).collect()
    }

    /// How many steps of lanes have a script, which runs a lane without the cost of a plan.
    pub fn scripts(&self) -> usize {
        self.scripts.len()
    }

    /// Whether the plan has code that runs all of its launches in one call, where they are small ([`Config::script_from_runs`](crate::Config)).
    pub fn has_script(&self) -> bool {
        self.small.has_code()
    }

    /// How many runs were begun by that code.
    pub fn scripted(&self) -> u32 {
        self.small.scripted()
    }

    /// Of how many extents of inputs, of the last few, there is a recording: runs on such inputs are replayed ([`Recording`]).
    pub fn recorded(&self) -> usize {
        self.recordings.recorded()
    }

    /// How many replays stopped as what they did failed, and were run as plans are.
    pub fn replays_stopped(&self) -> usize {
        self.recordings.stopped()
    }

    /// How many lanes, and runs, of all plans of the backend stopped in the code of their script so far, as they fail or are large, and were run as
    /// plans are.
    pub fn lanes_stopped(&self) -> usize {
        self.shared.lanes_stopped.load(Ordering::Relaxed)
    }

    /// The same machine code, run by the threads and in the memory of another backend.
    pub fn on(&self, backend: &Cranelift) -> Self {
        let (plan, kernels, loops) = (self.plan.clone(), self.kernels.clone(), self.loops.clone());
        let (sequences, independent, scripts) =
            (self.sequences.clone(), self.independent.clone(), self.scripts.clone());
        let (shared, memory) = (backend.shared.clone(), self.memory.clone());
        Self {
            plan,
            kernels,
            loops,
            sequences,
            independent,
            scripts,
            small: self.small.clone(),
            recordings: Recordings::of(&self.plan),
            shared,
            memory,
            codes: self.codes,
            cleared: self.cleared,
            spare: Mutex::default(),
        }
    }

    /// Runs the plan.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_plan(&self, inputs: &[Array]) -> Result<Vec<Array>, BackendError> {
        self.run(inputs)
    }
}

impl Program for LoadedPlan {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run_into(&self, inputs: &[Array], results: &mut Vec<Array>) -> Result<Statistics, BackendError> {
        let _rounding = Rounding::defaults();
        results.clear();
        let machine = Cpu {
            plan: &self.plan,
            kernels: &self.kernels,
            loops: &self.loops,
            sequences: &self.sequences,
            independent: (self.shared.threads.count() > 1).then_some(&*self.independent),
            scripts: &self.scripts,
            shared: &self.shared,
            cleared: self.cleared,
            asked: None,
            most: None,
        };
        if self.shared.script_from_runs > 0 && self.small.may_have_code() {
            let sizes = check_inputs(&self.plan, inputs)?;
            if let Some(statistics) = self.small.run(&machine, &sizes, inputs, results) {
                return Ok(statistics);
            }
        }
        let course = self.recordings.course(inputs);
        if let Course::Replay(recording) = &course {
            let mut values = lock(&self.spare).pop().unwrap_or_default();
            let inputs = inputs.iter().cloned();
            let ran = recording.replay(&machine, &self.plan, &mut values, inputs, machine.handing_back(results));
            lock(&self.spare).push(values);
            if let Some(statistics) = ran {
                return Ok(statistics);
            }
            self.recordings.count_stopped();
            results.clear();
        }
        let ran = self.by_steps(&machine, inputs, matches!(course, Course::Record), results);
        if ran.is_err() {
            results.clear();
        }
        ran
    }
}

impl LoadedPlan {
    /// Runs the steps of the plan.
    fn by_steps(
        &self,
        machine: &Cpu<'_>,
        inputs: &[Array],
        record: bool,
        results: &mut Vec<Array>,
    ) -> Result<Statistics, BackendError> {
        let sizes = check_inputs(&self.plan, inputs)?;
        let given = inputs.iter().map(|array| {
            let extents = array.extents().iter().map(|&extent| extent as i64).collect();
            Stored { buffer: array.clone(), element: array.element(), extents, scalar: None }
        });
        let result = machine.handing_back(results);
        if record {
            let (statistics, recording) = Recording::record(machine, &self.plan, &sizes, given, result)?;
            self.recordings.keep(inputs, recording);
            return Ok(statistics);
        }
        let mut values = lock(&self.spare).pop().unwrap_or_default();
        let ran = execute(machine, &self.plan, &mut values, &sizes, given.map(Ok), result);
        lock(&self.spare).push(values);
        ran
    }
}

/// The loops of a plan whose kernels all have code for some of their rows, by the first value of their state.
fn row_loops(plan: &Plan, has_rows: impl Fn(usize) -> bool) -> HashMap<ValueId, RowLoop> {
    let steps = plan.steps.iter().flat_map(Step::within);
    let of = |step: &Step| {
        let Step::While { state, body, .. } = step else { return None };
        let row_loop = RowLoop::of(plan, step).ok()?;
        let all = row_loop.launches.iter().all(|launch| {
            let Some(Step::Launch { kernel, .. }) = body.get(launch.step) else { return false };
            has_rows(*kernel)
        });
        all.then_some((*state.first()?, row_loop))
    };
    steps.filter_map(of).collect()
}

impl std::fmt::Debug for LoadedPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedPlan").field("plan", &self.plan.name).field("kernels", &self.kernels.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use fusebox_ir::ScalarOperand;
    use fusebox_schedule::{Book, Guard, Preferences, Target, schedule, with_version};

    use super::*;
    use crate::{Config, launch::version_for};

    #[test]
    fn a_launch_of_the_lengths_of_a_version_has_that_version() {
        let plan = fusebox_conformance::plan(
            "fn f(a: [n, m]f32) -> [n]f32 { let s: [n]f32 = fold(|x, y| x + y, 0.0, a) return s }",
        );
        let kernel = &plan.kernels[0];
        let target = Target::named("sse").unwrap();
        let usual = schedule(kernel, &target, Preferences::default()).schedule;
        let mut book = Book::default();
        book.insert(kernel, with_version(kernel, &usual, &[Guard { level: 1, steps: 4 }], &target).unwrap());
        let config = Config { threads: 1, wide: false, schedules: Arc::new(book), ..Config::default() };
        let loaded = Cranelift::new(config).unwrap().compile_plan(&plan).unwrap().load_plan().unwrap();
        assert_eq!(loaded.kernels[0].versions.len(), 1);
        let ScalarOperand::Local(columns) = kernel.levels[1].to else { panic!("{kernel}") };
        let with_columns = |columns_are: i64| -> Vec<i64> {
            kernel.sizes.iter().map(|size| if size.id == columns { columns_are } else { 7 }).collect()
        };
        for (columns, expected) in [(4, true), (3, false), (5, false), (0, false)] {
            let sizes = with_columns(columns);
            let version = version_for(&loaded.plan.kernels[0], &loaded.kernels[0], &loaded.shared, &sizes);
            assert_eq!(version.is_some(), expected, "{columns}");
        }
    }
}
