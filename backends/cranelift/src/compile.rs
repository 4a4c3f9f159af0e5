//! Plans to block functions: which parts of a kernel there are, and the code of each.

use std::sync::Arc;

use fusebox_backend::{BackendError, Compiled, Program};
use fusebox_ir::{
    Action, Kernel, Plan, ScalarOperand, ScatterOrder,
    analysis::{
        has_room,
        kernels::{scans_outermost, totals_only},
        with_checks,
    },
};
use fusebox_schedule::{Gang, Preferences, Schedule, Target};
use fusebox_wide::Features;

use crate::{
    Config, Shared,
    alike::Alike,
    emit::{Emitter, HiddenArgument, Part, emit, identities},
    load::LoadedPlan,
    vector::Function,
    wide::{self, WideKernel},
};

/// Bytes of the vectors that schedules are chosen for: those of Cranelift.
const VECTOR_BYTES: usize = 16;

/// The functions of one kernel.
#[derive(Clone, Debug, Default)]
pub struct CompiledKernel {
    /// How it runs.
    pub schedule: Option<Schedule>,
    /// The level across lanes; none: scalar code.
    pub gang: Option<Gang>,
    /// The parts, with their code.
    pub parts: Vec<(Part, Function)>,
    /// The words of the argument table behind sizes and arrays.
    pub hidden: Vec<HiddenArgument>,
    /// In a plan the position of the first kernel that is the same code: another's functions are empty, and tell only where it may fail.
    pub first: usize,
}

/// A compiled plan.
#[derive(Debug)]
pub struct CompiledPlan {
    plan: Arc<Plan>,
    kernels: Vec<CompiledKernel>,
    forced: Vec<Forced>,
    /// What machine code for vectors of 64 or 32 bytes may use; none: there is no such code.
    features: Option<Features>,
    shared: Arc<Shared>,
}

impl CompiledPlan {
    pub(crate) fn new(
        plan: &Plan,
        config: &Config,
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let bytes = config.vectors.then_some(VECTOR_BYTES);
        let forced = forced(plan, config);
        let kernels = compile_kernels(plan, &forced, |_| bytes)?;
        Ok(Self { plan: Arc::new(plan.clone()), kernels, forced, features, shared })
    }

    /// A plan that nobody vouches for: what may be outside of an array is checked. Appends to what may be too short are scalar code, which
    /// looks at the room for each element.
    pub(crate) fn guarded(
        plan: &Plan,
        config: &Config,
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let forced = forced(plan, config);
        let mut plan = plan.clone();
        for kernel in &mut plan.kernels {
            *kernel = with_checks(kernel);
        }
        let bytes = |kernel: &Kernel| (config.vectors && has_room(kernel)).then_some(VECTOR_BYTES);
        let kernels = compile_kernels(&plan, &forced, bytes)?;
        Ok(Self { plan: Arc::new(plan), kernels, forced, features, shared })
    }

    /// The functions of each kernel.
    pub fn kernels(&self) -> &[CompiledKernel] {
        &self.kernels
    }

    /// The wide code of each kernel on processors with these features; none of kernels that have none. The machine at hand plays no part.
    ///
    /// # Errors
    /// [`BackendError::Compile`].
    pub fn wide_code(&self, features: Features) -> Result<Vec<Option<WideKernel>>, BackendError> {
        let kernels = self.plan.kernels.iter().zip(&self.kernels).zip(&self.forced);
        kernels.map(|((kernel, compiled), forced)| wide::kernel(kernel, (compiled, forced), features)).collect()
    }

    /// Machine code for this machine.
    ///
    /// # Errors
    /// [`BackendError::Compile`].
    pub fn load_plan(&self) -> Result<LoadedPlan, BackendError> {
        LoadedPlan::new(self.plan.clone(), (&self.kernels, &self.forced), self.features, self.shared.clone())
    }
}

impl Compiled for CompiledPlan {
    fn text(&self) -> String {
        let own = |(position, kernel): (usize, &CompiledKernel)| {
            let name = &self.plan.kernels[position].name.0;
            if kernel.first != position {
                return format!("{name}: the same code as {}\n", self.plan.kernels[kernel.first].name.0);
            }
            kernel.parts.iter().map(|(_, function)| format!("{function}\n")).collect()
        };
        self.kernels.iter().enumerate().map(own).collect()
    }

    fn load(&self) -> Result<Box<dyn Program>, BackendError> {
        Ok(Box::new(self.load_plan()?))
    }
}

/// The schedules that a kernel has to be run by, for vectors of 16, 32 and 64 bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forced {
    narrow: Option<Schedule>,
    avx2: Option<Schedule>,
    avx512: Option<Schedule>,
}

impl Forced {
    /// The one for the vectors of these features.
    pub(crate) fn wide(&self, features: Features) -> Option<&Schedule> {
        if features.avx512 { self.avx512.as_ref() } else { self.avx2.as_ref() }
    }

    /// Whether the kernel is not to have code for the vectors of these features.
    pub(crate) fn is_narrow(&self, features: Features) -> bool {
        self.narrow.is_some() && self.wide(features).is_none()
    }
}

fn forced(plan: &Plan, config: &Config) -> Vec<Forced> {
    let of = |kernel: &Kernel, target: &str| config.schedules.get(kernel, target).cloned();
    plan.kernels
        .iter()
        .map(|kernel| Forced { narrow: of(kernel, "sse"), avx2: of(kernel, "avx2"), avx512: of(kernel, "avx512") })
        .collect()
}

/// The functions of all kernels of a plan, of those that are the same code once.
fn compile_kernels(
    plan: &Plan,
    forced: &[Forced],
    vector_bytes: impl Fn(&Kernel) -> Option<usize>,
) -> Result<Vec<CompiledKernel>, BackendError> {
    let mut alike = Alike::default();
    for (kernel, forced) in plan.kernels.iter().zip(forced) {
        let compiled = match (&forced.narrow, Target::of_vectors(VECTOR_BYTES)) {
            (Some(schedule), Some(target)) => compile_scheduled(kernel, schedule.clone(), &target)?,
            _ => compile_kernel(kernel, vector_bytes(kernel))?,
        };
        alike.add(kernel, compiled);
    }
    Ok(alike.finish())
}

/// The block functions of a kernel, scheduled for vectors of so many bytes (16, 32, 64), or without vectors.
///
/// # Errors
/// [`BackendError::Unsupported`], [`BackendError::Compile`].
pub fn compile_kernel(kernel: &Kernel, vector_bytes: Option<usize>) -> Result<CompiledKernel, BackendError> {
    let bytes = vector_bytes.unwrap_or(VECTOR_BYTES);
    let target = Target::of_vectors(bytes).ok_or_else(|| {
        let what = format!("vectors of {bytes} bytes");
        BackendError::Unsupported { backend: "cpu", what }
    })?;
    let preferences = if vector_bytes.is_some() { Preferences::default() } else { Preferences::scalar() };
    let scheduled = fusebox_schedule::schedule(kernel, &target, preferences);
    compile_scheduled(kernel, scheduled.schedule, &target)
}

/// The block functions of a kernel, as a schedule says.
///
/// # Errors
/// [`BackendError::Compile`] of a schedule that is refused; as [`compile_kernel`].
pub fn compile_scheduled(kernel: &Kernel, schedule: Schedule, target: &Target) -> Result<CompiledKernel, BackendError> {
    let broken = |message: String| BackendError::Compile { kernel: kernel.name.0.clone(), message };
    fusebox_schedule::check(kernel, &schedule, target).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        broken(format!("the schedule is refused: {}", faults.join("; ")))
    })?;
    let (Some(version), Some(cpu)) = (schedule.versions.first(), target.cpu()) else {
        return Err(broken(format!("there is no version of its schedule for {target}")));
    };
    let bytes = cpu.vector_bytes as usize;
    let mut hidden = Vec::new();
    let mut parts = Vec::new();
    for part in parts_of(kernel, version.nest.is_shared()) {
        let function = match (part, &version.totals) {
            (Part::Totals, totals) => {
                let nest = totals.as_ref().ok_or_else(|| broken("its schedule has no nest for totals".to_owned()))?;
                emit(&totals_only(kernel), part, (nest, bytes), &mut hidden)?
            }
            _ => emit(kernel, part, (&version.nest, bytes), &mut hidden)?,
        };
        parts.push((part, function));
    }
    let gang = version.nest.gang(kernel.levels.len());
    Ok(CompiledKernel { schedule: Some(schedule), gang, parts, hidden, first: 0 })
}

/// The parts that a kernel is run by, where threads share its outermost level or do not.
fn parts_of(kernel: &Kernel, shared: bool) -> Vec<Part> {
    let mut parts = if shared {
        let mut parts = vec![Part::Body];
        if scans_outermost(kernel) {
            parts.extend([Part::Totals, Part::Carry]);
        }
        let needed = kernel.statements.iter().any(|statement| match &statement.action {
            Action::Load { map, .. } => statement.depth == 0 && map.checked,
            Action::Reduce { to, .. } => *to == 0,
            _ => statement.depth == 0,
        });
        if needed {
            parts.push(Part::Finish);
        }
        parts
    } else {
        vec![Part::Whole]
    };
    for (position, statement) in kernel.statements.iter().enumerate() {
        if let Action::Scatter { combine, order, .. } = &statement.action {
            let copied = *order == ScatterOrder::Chunks || *order == ScatterOrder::Any && identities(combine).is_some();
            if copied && !kernel.levels.is_empty() {
                parts.push(Part::Merge(position));
            }
        }
    }
    if kernel.levels.first().is_some_and(|level| !is_known(kernel, level.from) || !is_known(kernel, level.to)) {
        parts.push(Part::Steps);
    }
    parts
}

/// Whether a bound is the same wherever it is asked for: a number or a size.
fn is_known(kernel: &Kernel, operand: ScalarOperand) -> bool {
    match operand {
        ScalarOperand::Constant(_) => true,
        ScalarOperand::Local(id) => kernel.sizes.iter().any(|size| size.id == id),
        ScalarOperand::Outer(_) => false,
    }
}

impl CompiledKernel {
    /// Whether copies of a scatter's targets need a byte each.
    pub(crate) fn needs_flags(action: &Action) -> bool {
        Emitter::needs_flags(action)
    }
}
