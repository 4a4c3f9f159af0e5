//! Plans as machine code in memory of this process.

use std::{collections::HashSet, sync::Arc};

use fusebox_backend::{BackendError, Extents, Program, Statistics, Stored, check_inputs, execute};
use fusebox_ir::{Array, Constant, Plan, ValueId};
use fusebox_wide::Features;

use crate::{
    Cranelift, Shared,
    code_memory::{CodeMemory, DefinedFunction},
    kernel::{Forced, ScheduledKernel},
    loaded_kernel::LoadedKernel,
    machine::Cpu,
    making::{Made, Making},
    rounding::Rounding,
    wide,
};

/// A plan as machine code; runs any number of times, from any number of threads at once.
pub struct LoadedPlan {
    plan: Arc<Plan>,
    kernels: Arc<[LoadedKernel]>,
    shared: Arc<Shared>,
    /// Owns what the kernels point to.
    memory: Arc<CodeMemory>,
    /// The functions in there.
    codes: usize,
}

impl LoadedPlan {
    pub(crate) fn new(
        plan: Arc<Plan>,
        (narrow, forced): (&[ScheduledKernel], &[Forced]),
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let mut making = Making::new(&plan)?;
        if let Some(features) = features {
            making.all(
                true,
                |position, kernel| wide::emitted(kernel, &narrow[position], &forced[position], features),
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
        let kernels = made.into_iter().zip(&plan.kernels).map(|(own, kernel)| own.loaded(kernel, &memory)).collect();
        Ok(Self { plan, kernels, shared, memory: Arc::new(memory), codes })
    }

    /// How many functions were made for the kernels: kernels that are alike share theirs.
    pub fn functions(&self) -> usize {
        self.codes
    }

    /// For each kernel of the plan, whether it is code for vectors of 64 or 32 bytes.
    pub fn wide_kernels(&self) -> Vec<bool> {
        self.kernels.iter().map(|kernel| kernel.wide).collect()
    }

    /// The same machine code, run by the threads and in the memory of another backend.
    pub fn on(&self, backend: &Cranelift) -> Self {
        let (plan, kernels) = (self.plan.clone(), self.kernels.clone());
        Self { plan, kernels, shared: backend.shared.clone(), memory: self.memory.clone(), codes: self.codes }
    }

    /// Runs the plan.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_plan(&self, inputs: &[Array]) -> Result<Vec<Array>, BackendError> {
        self.run_with_statistics(inputs).map(|(results, _)| results)
    }
}

impl Program for LoadedPlan {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run_with_statistics(&self, inputs: &[Array]) -> Result<(Vec<Array>, Statistics), BackendError> {
        let _rounding = Rounding::defaults();
        let references: Vec<&Array> = inputs.iter().collect();
        let sizes = check_inputs(&self.plan, &references)?;
        let mut handed: Vec<(ValueId, Stored<Array>)> = Vec::with_capacity(sizes.len() + inputs.len());
        for (id, size) in sizes {
            let constant = Constant::from(size);
            handed.push((
                id,
                Stored { buffer: Arc::new(Array::scalar(size)), element: constant.ty(), extents: Extents::new() },
            ));
        }
        for (&id, array) in self.plan.inputs.iter().zip(inputs) {
            let extents = array.extents().iter().map(|&extent| extent as i64).collect();
            handed.push((id, Stored { buffer: Arc::new(array.clone()), element: array.element(), extents }));
        }
        let machine = Cpu { plan: &self.plan, kernels: &self.kernels, shared: &self.shared };
        let (results, statistics) = execute(&machine, &self.plan, handed)?;
        let results: Result<_, _> = (results.into_iter().zip(&self.plan.outputs))
            .map(|(stored, output)| machine.handed_back(stored, &output.name))
            .collect();
        Ok((results?, statistics))
    }
}

impl std::fmt::Debug for LoadedPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedPlan").field("plan", &self.plan.name).field("kernels", &self.kernels.len()).finish()
    }
}
