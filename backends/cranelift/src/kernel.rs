//! One kernel to block functions: which parts of it there are, and the code of each.

use fusebox_backend::BackendError;
use fusebox_ir::{
    Action, Kernel, ScalarOperand, ScatterOrder,
    analysis::kernels::{scans_outermost, totals_only},
};
use fusebox_schedule::{Book, Gang, Nest, Preferences, Schedule, Target};
use fusebox_wide::Features;

use crate::{
    emit::{HiddenArgument, Part, emit, identities},
    vector::{Function, Region},
};

/// Bytes of the vectors that schedules are chosen for: those of Cranelift.
pub(crate) const VECTOR_BYTES: usize = 16;

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

impl CompiledKernel {
    /// Drops what the functions do, once it is machine code or another's is taken: where they may fail stays.
    pub(crate) fn drop_bodies(&mut self) {
        for (_, function) in &mut self.parts {
            (function.types, function.body) = (Vec::new(), Region::default());
        }
    }
}

/// The schedules that a kernel has to be run by, for vectors of 16, 32 and 64 bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forced {
    pub(crate) narrow: Option<Schedule>,
    pub(crate) avx2: Option<Schedule>,
    pub(crate) avx512: Option<Schedule>,
}

impl Forced {
    /// What a book has for a kernel.
    pub(crate) fn of(kernel: &Kernel, book: &Book) -> Self {
        let of = |target: &str| book.get(kernel, target).cloned();
        Self { narrow: of("sse"), avx2: of("avx2"), avx512: of("avx512") }
    }

    /// A schedule for its target alone.
    pub(crate) fn by(schedule: Schedule) -> Self {
        let mut forced = Self::default();
        match schedule.target.as_str() {
            "avx512" => forced.avx512 = Some(schedule),
            "avx2" => forced.avx2 = Some(schedule),
            _ => forced.narrow = Some(schedule),
        }
        forced
    }

    /// The one that runs where code may use these features.
    pub(crate) fn in_use(&mut self, features: Option<Features>) -> Option<&mut Schedule> {
        let wide = match features {
            Some(features) if features.avx512 => self.avx512.as_mut(),
            Some(_) => self.avx2.as_mut(),
            None => None,
        };
        wide.or(self.narrow.as_mut())
    }

    /// The one for the vectors of these features.
    pub(crate) fn wide(&self, features: Features) -> Option<&Schedule> {
        if features.avx512 { self.avx512.as_ref() } else { self.avx2.as_ref() }
    }

    /// Whether the kernel is not to have code for the vectors of these features.
    pub(crate) fn is_narrow(&self, features: Features) -> bool {
        self.narrow.is_some() && self.wide(features).is_none()
    }
}

/// How a kernel is to run, before there is any code of it.
#[derive(Clone, Debug)]
pub(crate) struct ScheduledKernel {
    schedule: Schedule,
    target: Target,
    /// Whether the kernel may run over strips of rows: its code then expects some rows of arrays alone.
    pub(crate) in_strips: bool,
}

impl ScheduledKernel {
    /// The best schedule for vectors of so many bytes (16, 32, 64), or without vectors.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] of other vectors.
    pub(crate) fn best(kernel: &Kernel, vector_bytes: Option<usize>) -> Result<Self, BackendError> {
        let bytes = vector_bytes.unwrap_or(VECTOR_BYTES);
        let target = Target::of_vectors(bytes).ok_or_else(|| {
            let what = format!("vectors of {bytes} bytes");
            BackendError::Unsupported { backend: "cpu", what }
        })?;
        let preferences = if vector_bytes.is_some() { Preferences::default() } else { Preferences::scalar() };
        let scheduled = fusebox_schedule::schedule(kernel, &target, preferences);
        Self::checked(kernel, scheduled.schedule, target)
    }

    /// This schedule.
    ///
    /// # Errors
    /// [`BackendError::Compile`] of a schedule that is refused.
    pub(crate) fn checked(kernel: &Kernel, schedule: Schedule, target: Target) -> Result<Self, BackendError> {
        accepted(kernel, &schedule, &target)?;
        Ok(Self { schedule, target, in_strips: false })
    }

    /// Its schedule.
    pub(crate) fn into_schedule(self) -> Schedule {
        self.schedule
    }

    /// For strips of rows, if another is.
    pub(crate) fn for_strips_as(self, other: &Self) -> Self {
        Self { in_strips: other.in_strips, ..self }
    }

    /// The level across lanes; none: scalar code.
    pub(crate) fn gang(&self, kernel: &Kernel) -> Option<Gang> {
        self.schedule.versions.last().and_then(|version| version.nest.gang(kernel.levels.len()))
    }

    /// The block functions.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`], [`BackendError::Compile`].
    pub(crate) fn emit(self, kernel: &Kernel) -> Result<CompiledKernel, BackendError> {
        let gang = self.gang(kernel);
        let Self { schedule, target, in_strips } = self;
        let (Some(version), Some(cpu)) = (schedule.versions.last(), target.cpu()) else {
            return Err(broken(kernel, format!("there is no version of its schedule for {target}")));
        };
        let bytes = cpu.vector_bytes as usize;
        let mut hidden = Vec::new();
        let mut parts = Vec::new();
        for part in parts_of(kernel, &version.nest) {
            let function = match (part, &version.totals) {
                (Part::Totals, totals) => {
                    let lacks = || broken(kernel, "its schedule has no nest for totals".to_owned());
                    let nest = totals.as_ref().ok_or_else(lacks)?;
                    emit(&totals_only(kernel), part, (nest, bytes, in_strips), &mut hidden)?
                }
                _ => emit(kernel, part, (&version.nest, bytes, in_strips), &mut hidden)?,
            };
            parts.push((part, function));
        }
        Ok(CompiledKernel { schedule: Some(schedule), gang, parts, hidden, first: 0 })
    }
}

/// Whether a schedule may run.
///
/// # Errors
/// [`BackendError::Compile`] of one that is refused.
pub(crate) fn accepted(kernel: &Kernel, schedule: &Schedule, target: &Target) -> Result<(), BackendError> {
    fusebox_schedule::check(kernel, schedule, target).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        broken(kernel, format!("the schedule is refused: {}", faults.join("; ")))
    })
}

pub(crate) fn broken(kernel: &Kernel, message: String) -> BackendError {
    BackendError::Compile { kernel: kernel.name.0.clone(), message }
}

/// The block functions of a kernel, scheduled for vectors of so many bytes (16, 32, 64), or without vectors.
///
/// # Errors
/// [`BackendError::Unsupported`], [`BackendError::Compile`].
pub fn compile_kernel(kernel: &Kernel, vector_bytes: Option<usize>) -> Result<CompiledKernel, BackendError> {
    ScheduledKernel::best(kernel, vector_bytes)?.emit(kernel)
}

/// The block functions of a kernel, as a schedule says.
///
/// # Errors
/// [`BackendError::Compile`] of a schedule that is refused; as [`compile_kernel`].
pub fn compile_scheduled(kernel: &Kernel, schedule: Schedule, target: &Target) -> Result<CompiledKernel, BackendError> {
    ScheduledKernel::checked(kernel, schedule, target.clone())?.emit(kernel)
}

/// The parts that a kernel is run by, as a nest says.
fn parts_of(kernel: &Kernel, nest: &Nest) -> Vec<Part> {
    let mut parts = if nest.is_shared() {
        let mut parts = vec![Part::Body];
        if let Some((statement, ..)) = nest.partitioned() {
            parts.extend([Part::Partition(statement), Part::Combine(statement)]);
        }
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
