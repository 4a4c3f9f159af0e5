//! Plans to block functions, and those to machine code.

use std::sync::Arc;

use fusebox_backend::{BackendError, Compiled, Program};
use fusebox_ir::{Kernel, Plan, ProvedPlan, analysis::with_checks};
use fusebox_schedule::Target;
use fusebox_wide::Features;

use crate::{
    Config, Shared,
    alike::Alike,
    beside::Beside,
    kernel::{CompiledKernel, Forced, ScheduledKernel, VECTOR_BYTES},
    launch::strips,
    load::LoadedPlan,
    wide::{self, WideKernel},
};

/// A compiled plan.
#[derive(Debug)]
pub struct CompiledPlan {
    plan: Arc<Plan>,
    beside: Beside,
    /// How each kernel runs with vectors of 16 bytes, or without: those of the plan, then those beside them.
    narrow: Vec<ScheduledKernel>,
    /// What machine code for vectors of 64 or 32 bytes may use; none: there is no such code.
    features: Option<Features>,
    shared: Arc<Shared>,
    /// Whether nobody vouches for the plan.
    guarded: bool,
}

impl CompiledPlan {
    pub(crate) fn new(
        plan: &ProvedPlan,
        config: &Config,
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let bytes = config.vectors.then_some(VECTOR_BYTES);
        let beside = Beside::of(plan, shared.threads.count(), (&config.schedules, features))?;
        let narrow = scheduled(plan, &beside, |_| bytes)?;
        Ok(Self { plan: plan.shared(), beside, narrow, features, shared, guarded: false })
    }

    /// A plan that nobody vouches for: what may be outside of an array is checked. Appends to what may be too short are scalar code, which
    /// looks at the room for each element.
    pub(crate) fn guarded(
        plan: &Plan,
        config: &Config,
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let mut plan = plan.clone();
        for kernel in &mut plan.kernels {
            *kernel = with_checks(kernel);
        }
        let mut beside = Beside::of(&plan, shared.threads.count(), (&config.schedules, features))?;
        beside.scalar_where_room_may_lack(&plan, features)?;
        let narrow = scheduled(&plan, &beside, |_| config.vectors.then_some(VECTOR_BYTES))?;
        Ok(Self { plan: Arc::new(plan), beside, narrow, features, shared, guarded: true })
    }

    /// The functions of each kernel, for vectors of 16 bytes or without; of kernels that are the same code the first has them. They are made
    /// anew for each call: machine code is made of few of them at a time.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`], [`BackendError::Compile`].
    pub fn kernels(&self) -> Result<Vec<CompiledKernel>, BackendError> {
        let mut alike = Alike::default();
        for (kernel, narrow) in self.plan.kernels.iter().zip(&self.narrow) {
            alike.add(kernel, narrow.clone().emit(kernel)?);
        }
        Ok(alike.finish())
    }

    /// The wide code of each kernel on processors with these features; none of kernels that have none. The machine at hand plays no part.
    ///
    /// # Errors
    /// [`BackendError::Compile`].
    pub fn wide_code(&self, features: Features) -> Result<Vec<Option<WideKernel>>, BackendError> {
        let kernels = self.plan.kernels.iter().zip(&self.narrow).zip(&self.beside.forced);
        kernels.map(|((kernel, narrow), forced)| wide::kernel(kernel, (narrow, forced), features)).collect()
    }

    /// Machine code for this machine.
    ///
    /// # Errors
    /// [`BackendError::Compile`].
    pub fn load_plan(&self) -> Result<LoadedPlan, BackendError> {
        LoadedPlan::new(
            (self.plan.clone(), &self.beside),
            &self.narrow,
            self.features,
            (self.shared.clone(), self.guarded),
        )
    }
}

impl Compiled for CompiledPlan {
    fn text(&self) -> Result<String, BackendError> {
        let kernels = self.kernels()?;
        let own = |(position, kernel): (usize, &CompiledKernel)| {
            let name = &self.plan.kernels[position].name.0;
            if kernel.first != position {
                return format!("{name}: the same code as {}\n", self.plan.kernels[kernel.first].name.0);
            }
            kernel.parts.iter().map(|(_, function)| format!("{function}\n")).collect()
        };
        Ok(kernels.iter().enumerate().map(own).collect())
    }

    fn load(&self) -> Result<Box<dyn Program>, BackendError> {
        Ok(Box::new(self.load_plan()?))
    }
}

/// The schedules of kernels for the vectors of Cranelift.
fn scheduled(
    plan: &Plan,
    beside: &Beside,
    vector_bytes: impl Fn(&Kernel) -> Option<usize>,
) -> Result<Vec<ScheduledKernel>, BackendError> {
    let own = |(kernel, forced): (&Kernel, &Forced)| match (&forced.narrow, Target::of_vectors(VECTOR_BYTES)) {
        (Some(schedule), Some(target)) => ScheduledKernel::checked(kernel, schedule.clone(), target),
        _ => ScheduledKernel::best(kernel, vector_bytes(kernel)),
    };
    let mut all = beside.behind(plan).zip(&beside.forced).map(own).collect::<Result<Vec<_>, _>>()?;
    for kernel in strips::kernels(plan) {
        if let Some(own) = all.get_mut(kernel) {
            own.in_strips = true;
        }
    }
    Ok(all)
}
