//! Plans whose launches are all small. What a plan costs beside its launches is most of what such a run takes, and no launch of it is worth more than
//! one thread: the plan runs as a lane does, by the code of its script.
//!
//! A plan gets that code once it has been run some times. A run that comes to a launch or an array that is not small, or that fails, is run as all
//! plans are, from the beginning: a script reads its inputs, and writes nothing that others see before it is done.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use fusebox_backend::{Few, Statistics, is_wanted, lock};
use fusebox_ir::{Array, Plan, PlanExtent, Step, ValueId};

use super::{
    frame::Stop,
    lane::LaneScript,
    lower,
    memory::LaneMemory,
    script::{LaneCode, Script, Slot, Source},
};
use crate::{
    code_memory::{CodeMemory, CodeMemoryBuilder},
    cpu::Cpu,
    estimate::PARTS_OF_NS,
    launch::{self, measured::Measured},
};

/// Fewer launches than these take less time than it takes to begin with a script.
const LEAST_LAUNCHES: usize = 4;

/// Plans of more launches have no script: it would take long to compile.
const MOST_LAUNCHES: usize = 128;

/// How often a launch in a loop is taken to be done.
const TURNS: usize = 4;

/// How many runs go by after one that was not small, before the script is tried again: what it does in vain is little beside them.
const RUNS_APART: u32 = 64;

/// Bytes of memory that a plan keeps for later runs, at most.
const KEPT_BYTES: usize = 4 << 20;

/// What a plan has for runs in which all of it is small.
#[derive(Debug, Default)]
pub(crate) struct SmallPlan {
    /// How often it was run, until it has a script; then how many runs go by before that is tried.
    runs: AtomicU32,
    /// How often the script was run.
    scripted: AtomicU32,
    /// None inside: it cannot have one.
    code: OnceLock<Option<PlanCode>>,
    /// Memory of runs that are over.
    spare: Mutex<Vec<LaneMemory>>,
}

/// The code of a plan's script.
#[derive(Debug)]
struct PlanCode {
    code: LaneCode,
    /// Of the kernels that may take longer than their estimates say.
    measured: Vec<Arc<Measured>>,
    /// Owns what the function is in.
    _memory: CodeMemory,
}

impl SmallPlan {
    /// Runs the plan on these sizes and inputs, which are checked; nothing where it has no script, or stops in it. Then there are no results.
    pub(crate) fn run(
        &self,
        cpu: &Cpu<'_>,
        sizes: &[(ValueId, i64)],
        inputs: &[Array],
        results: &mut Vec<Array>,
    ) -> Option<Statistics> {
        // Who asks what launches take is told by plans.
        if is_wanted() {
            return None;
        }
        let own = self.code_for(cpu, sizes)?;
        let left = self.runs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |runs| runs.checked_sub(1));
        if left.is_ok() {
            return None;
        }
        // Launches are measured in runs by steps: a run that makes none of the long ones is followed by the script again.
        let longest = own.measured.iter().map(|measured| measured.take_longest()).max();
        if longest.is_some_and(|longest| longest >= long_from_ns(cpu)) {
            return None;
        }
        let scripted = self.scripted.fetch_add(1, Ordering::Relaxed);
        let begun = (!own.measured.is_empty() && scripted.is_multiple_of(RUNS_APART)).then(Instant::now);
        let mut memory = lock(&self.spare).pop().unwrap_or_default();
        let ran = run(&own.code, cpu, (sizes, inputs), &mut memory, results);
        if memory.bytes_held() > KEPT_BYTES {
            memory.drop_pieces();
        }
        lock(&self.spare).push(memory);
        if ran.is_none() {
            results.clear();
            self.runs.store(RUNS_APART, Ordering::Relaxed);
            cpu.shared.lanes_stopped.fetch_add(1, Ordering::Relaxed);
        } else if begun.is_some_and(|begun| begun.elapsed() >= Duration::from_nanos(long_from_ns(cpu))) {
            // A launch that looked small may have been long: the next run, by steps, says so.
            self.runs.store(1, Ordering::Relaxed);
        }
        ran
    }

    /// How often the script was run.
    pub(crate) fn scripted(&self) -> u32 {
        self.scripted.load(Ordering::Relaxed)
    }

    /// Whether it has a script, or may get one.
    pub(crate) fn may_have_code(&self) -> bool {
        !matches!(self.code.get(), Some(None))
    }

    /// Whether it has a script.
    pub(crate) fn has_code(&self) -> bool {
        matches!(self.code.get(), Some(Some(_)))
    }

    /// The code, once there were as many runs as it is made after.
    fn code_for(&self, cpu: &Cpu<'_>, sizes: &[(ValueId, i64)]) -> Option<&PlanCode> {
        let code = match self.code.get() {
            Some(code) => code,
            None => {
                let runs = self.runs.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                let from = cpu.shared.script_from_runs;
                // Runs that are not small now may be so later: asked seldom.
                let asked = from > 0 && runs.is_multiple_of(from) && (runs / from).is_power_of_two();
                if !asked || !is_small(cpu, sizes) {
                    return None;
                }
                self.code.get_or_init(|| {
                    self.runs.store(0, Ordering::Relaxed);
                    made(cpu)
                })
            }
        };
        code.as_ref()
    }
}

/// Makes the code; nothing if the plan has no script.
fn made(cpu: &Cpu<'_>) -> Option<PlanCode> {
    let launches = launches(&cpu.plan.steps, 1);
    let versions = cpu.kernels.iter().any(|kernel| !kernel.versions.is_empty());
    if !(LEAST_LAUNCHES..=MOST_LAUNCHES).contains(&launches) || versions {
        return None;
    }
    let script = Script::of_plan(cpu.plan, cpu.kernels, cpu.independent)?;
    let mut maker = CodeMemoryBuilder::new().ok()?;
    let made = maker.lane(&cpu.plan.name, |builder, config| lower::lower(&script, builder, config)).ok()?;
    let memory = maker.finish().ok()?;
    let measured = cpu.kernels.iter().filter_map(|kernel| kernel.measured.clone()).collect();
    Some(PlanCode { code: LaneCode { script, function: memory.lane(made) }, measured, _memory: memory })
}

/// How many launches some steps are, those of loops several times.
fn launches(steps: &[Step], times: usize) -> usize {
    let of = |step: &Step| match step {
        Step::Launch { .. } => times,
        Step::While { condition_steps, body, .. } => {
            launches(condition_steps, times * TURNS) + launches(body, times * TURNS)
        }
        Step::If { then, otherwise, .. } => launches(then, times) + launches(otherwise, times),
        _ => 0,
    };
    steps.iter().map(of).sum()
}

/// Whether no launch is long, of those whose sizes are known before all steps.
fn is_small(cpu: &Cpu<'_>, sizes: &[(ValueId, i64)]) -> bool {
    let known = |size: &PlanExtent| match size {
        PlanExtent::Constant(size) => Some(*size),
        PlanExtent::Value(id) => sizes.iter().find(|(own, _)| own == id).map(|&(_, size)| size),
        PlanExtent::Unknown => None,
    };
    cpu.plan.steps.iter().flat_map(Step::within).all(|step| match step {
        Step::Launch { kernel, sizes, .. } => {
            let sizes: Option<Few<i64>> = sizes.iter().map(known).collect();
            let (own, loaded) = (&cpu.plan.kernels[*kernel], &cpu.kernels[*kernel]);
            let work = sizes.and_then(|sizes| launch::work_by_sizes(own, loaded, cpu.shared, &sizes));
            work.is_none_or(|work| work < long_from_ns(cpu))
        }
        _ => true,
    })
}

/// From how many nanoseconds of estimated work on a launch is not small: threads share it, or do it beside others. Those that may be shared from less on
/// ([`launch::trials`]) count as others: scripts of many launches gain more by what they leave out.
fn long_from_ns(cpu: &Cpu<'_>) -> u64 {
    cpu.shared.share_from_ns.min(cpu.shared.at_once_from_ns)
}

/// Runs the script; nothing where it stops.
fn run(
    code: &LaneCode,
    cpu: &Cpu<'_>,
    (sizes, inputs): (&[(ValueId, i64)], &[Array]),
    memory: &mut LaneMemory,
    results: &mut Vec<Array>,
) -> Option<Statistics> {
    let plan: &Plan = cpu.plan;
    let mut script = LaneScript::new(code, memory, std::iter::empty(), (Some(cpu.shared.lane_bytes), cpu.cleared))?;
    script.long = long_from_ns(cpu).saturating_mul(PARTS_OF_NS) as f64;
    for &(id, size) in sizes {
        let Some(&Slot::Scalar(scalar, _)) = code.script.slots.get(&id) else { return None };
        script.set_scalar(scalar, size as u64);
    }
    for (id, input) in plan.inputs.iter().zip(inputs) {
        let extents: Few<i64> = input.extents().iter().map(|&extent| extent as i64).collect();
        script.bind(*code.script.slots.get(id)?, (input.element(), &extents), input)?;
    }
    let ran = script.lane(0, |script, position, bytes| {
        let value = plan.results.get(position).and_then(|id| plan.values.get(id.index())).ok_or(Stop::Failed)?;
        let element = value.ty.element;
        let mut extents: Few<usize> = Few::new();
        if let Source::Slot(Slot::Array(array)) = code.script.given[position].0 {
            extents.extend(script.extents(array).map(|extent| extent as usize));
            let alike = |own: &&Array| own.extents() == extents.as_slice() && own.element() == element;
            if let Some(outside) = script.outside(array).filter(alike) {
                results.push(outside.clone());
                return Ok(());
            }
        }
        let mut array = cpu.shared.memory.take(element, &extents).ok_or(Stop::Failed)?;
        array.bytes_mut().copy_from_slice(bytes);
        results.push(array);
        Ok(())
    });
    let peak_bytes = script.peak_bytes() + code.script.scalar_bytes;
    script.end();
    ran.ok().map(|()| Statistics { peak_bytes })
}
