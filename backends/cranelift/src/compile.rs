//! Plans to block functions, and those to machine code.

use std::sync::Arc;

use fusebox_backend::{BackendError, Compiled, Program};
use fusebox_ir::{
    Kernel, Plan, ProvedPlan,
    analysis::{has_room, with_checks},
};
use fusebox_schedule::Target;
use fusebox_wide::Features;

use crate::{
    Config, Shared,
    alike::Alike,
    kernel::{CompiledKernel, Forced, VECTOR_BYTES, compile_kernel, compile_scheduled},
    load::LoadedPlan,
    wide::{self, WideKernel},
};

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
        plan: &ProvedPlan,
        config: &Config,
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let bytes = config.vectors.then_some(VECTOR_BYTES);
        let forced = forced(plan, config);
        let kernels = compile_kernels(plan, &forced, |_| bytes)?;
        Ok(Self { plan: plan.shared(), kernels, forced, features, shared })
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
