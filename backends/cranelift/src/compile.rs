//! Plans to block functions: which parts of a kernel there are, and the code of each.

use std::sync::Arc;

use fusebox_backend::{BackendError, Compiled, Program};
use fusebox_ir::{
    Action, Association, Kernel, Plan, ScalarOperand, ScatterOrder,
    analysis::{has_room, with_checks},
};
use fusebox_wide::Features;

use crate::{
    Shared,
    alike::Alike,
    emit::{Emitter, HiddenArgument, Part, Schedule, emit, has_totals, identities, totals_only},
    load::LoadedPlan,
    vector::Function,
    wide::{self, WideKernel},
};

/// Bytes of the vectors that schedules are chosen for: those of Cranelift.
const VECTOR_BYTES: usize = 16;

/// The functions of one kernel.
#[derive(Clone, Debug, Default)]
pub struct CompiledKernel {
    /// Which level is across lanes.
    pub schedule: Option<Schedule>,
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
    /// What machine code for vectors of 64 bytes may use; none: there is no such code.
    features: Option<Features>,
    shared: Arc<Shared>,
}

impl CompiledPlan {
    pub(crate) fn new(
        plan: &Plan,
        vectors: bool,
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let bytes = vectors.then_some(VECTOR_BYTES);
        let kernels = compile_kernels(plan, |_| bytes)?;
        Ok(Self { plan: Arc::new(plan.clone()), kernels, features, shared })
    }

    /// A plan that nobody vouches for: what may be outside of an array is checked. Appends to what may be too short are scalar code, which
    /// looks at the room for each element.
    pub(crate) fn guarded(
        plan: &Plan,
        vectors: bool,
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let mut plan = plan.clone();
        for kernel in &mut plan.kernels {
            *kernel = with_checks(kernel);
        }
        let bytes = |kernel: &Kernel| (vectors && has_room(kernel)).then_some(VECTOR_BYTES);
        let kernels = compile_kernels(&plan, bytes)?;
        Ok(Self { plan: Arc::new(plan), kernels, features, shared })
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
        let kernels = self.plan.kernels.iter().zip(&self.kernels);
        kernels.map(|(kernel, compiled)| wide::kernel(kernel, compiled, features)).collect()
    }

    /// Machine code for this machine.
    ///
    /// # Errors
    /// [`BackendError::Compile`].
    pub fn load_plan(&self) -> Result<LoadedPlan, BackendError> {
        LoadedPlan::new(self.plan.clone(), &self.kernels, self.features, self.shared.clone())
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

/// The functions of all kernels of a plan, of those that are the same code once.
fn compile_kernels(
    plan: &Plan,
    vector_bytes: impl Fn(&Kernel) -> Option<usize>,
) -> Result<Vec<CompiledKernel>, BackendError> {
    let mut alike = Alike::default();
    for kernel in &plan.kernels {
        alike.add(kernel, compile_kernel(kernel, vector_bytes(kernel))?);
    }
    Ok(alike.finish())
}

/// The block functions of a kernel, in gangs for vectors of so many bytes where that is better.
///
/// # Errors
/// [`BackendError::Unsupported`], [`BackendError::Compile`].
pub fn compile_kernel(kernel: &Kernel, vector_bytes: Option<usize>) -> Result<CompiledKernel, BackendError> {
    let choose = |kernel: &Kernel| vector_bytes.and_then(|bytes| Schedule::choose(kernel, bytes));
    let schedule = choose(kernel);
    let mut hidden = Vec::new();
    let mut parts = Vec::new();
    for part in parts_of(kernel) {
        let function = match part {
            Part::Finish | Part::Carry | Part::Steps => emit(kernel, part, None, &mut hidden)?,
            Part::Totals => {
                let sliced = totals_only(kernel);
                let schedule = choose(&sliced);
                emit(&sliced, part, schedule, &mut hidden)?
            }
            Part::Whole | Part::Body | Part::Merge(_) => emit(kernel, part, schedule, &mut hidden)?,
        };
        parts.push((part, function));
    }
    Ok(CompiledKernel { schedule, parts, hidden, first: 0 })
}

/// The parts that a kernel is run by.
fn parts_of(kernel: &Kernel) -> Vec<Part> {
    let mut parts = if is_split(kernel) {
        let mut parts = vec![Part::Body];
        if has_scan(kernel) {
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
    let mut chunked = Vec::new();
    for (position, statement) in kernel.statements.iter().enumerate() {
        if let Action::Scatter { combine, order, arrays, .. } = &statement.action {
            let copied = *order == ScatterOrder::Chunks || *order == ScatterOrder::Any && identities(combine).is_some();
            if copied && !kernel.levels.is_empty() {
                parts.push(Part::Merge(position));
            }
            if *order == ScatterOrder::Chunks {
                chunked.push(&kernel.arrays[arrays[0].index()].extents);
            }
        }
    }
    // Chunks of targets of different sizes may be different chunks: then one call goes through all.
    if parts.contains(&Part::Body) && chunked.windows(2).any(|pair| pair[0] != pair[1]) {
        parts.retain(|part| matches!(part, Part::Merge(_)));
        parts.insert(0, Part::Whole);
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

/// Whether ranges of the outermost level can be run apart from each other.
fn is_split(kernel: &Kernel) -> bool {
    let mut chunks = false;
    let mut reduces = false;
    let mut scans = false;
    let apart = kernel.statements.iter().all(|statement| match &statement.action {
        Action::Reduce { to: 0, association, .. } => {
            reduces = true;
            statement.depth == 1 && matches!(association, Association::Interleaved { .. } | Association::Runs { .. })
        }
        Action::Scan { .. } if statement.depth == 1 => {
            scans = true;
            true
        }
        Action::Append { .. } => statement.depth > 0,
        Action::Scatter { order, .. } => {
            chunks |= *order == ScatterOrder::Chunks;
            statement.depth > 0
        }
        _ => true,
    });
    let deeper = kernel.statements.iter().any(|statement| statement.depth > 0);
    apart && deeper && !(chunks && (reduces || scans)) && (!scans || has_totals(kernel))
}

/// Whether something is scanned along the outermost level.
pub(crate) fn has_scan(kernel: &Kernel) -> bool {
    kernel.statements.iter().any(|statement| statement.depth == 1 && matches!(statement.action, Action::Scan { .. }))
}

impl CompiledKernel {
    /// Whether copies of a scatter's targets need a byte each.
    pub(crate) fn needs_flags(action: &Action) -> bool {
        Emitter::needs_flags(action)
    }
}
