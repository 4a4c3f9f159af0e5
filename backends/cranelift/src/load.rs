//! Plans as machine code in memory of this process.

use std::{collections::HashSet, sync::Arc};

use fusebox_backend::{BackendError, Extents, Program, Statistics, Stored, check_inputs, execute};
use fusebox_ir::{
    Array, Constant, Plan, ValueId,
    analysis::{kernels::row_lengths, work_of_statement},
};
use fusebox_wide::Features;

use crate::{
    Cranelift, Shared,
    alike::Alike,
    code_memory::{CodeMemory, CodeMemoryBuilder, DefinedFunction},
    kernel::{CompiledKernel, Forced},
    loaded_kernel::LoadedKernel,
    machine::Cpu,
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
        (narrow, forced): (&[CompiledKernel], &[Forced]),
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let mut maker = CodeMemoryBuilder::new()?;
        let mut made: Vec<Option<Vec<DefinedFunction>>> = vec![None; plan.kernels.len()];
        let (mut wide, positions) = (Alike::default(), &mut Vec::new());
        if let Some(features) = features {
            for (position, (kernel, narrow)) in plan.kernels.iter().zip(narrow).enumerate() {
                if let Some(emitted) = wide::emitted(kernel, narrow, &forced[position], features)? {
                    wide.add(kernel, emitted);
                    positions.push(position);
                }
            }
        }
        let wide = wide.finish();
        // For each kernel its wide functions, where there is code of them.
        let mut chosen: Vec<Option<&CompiledKernel>> = vec![None; plan.kernels.len()];
        for (&position, functions) in positions.iter().zip(&wide) {
            let (first, kernel) = (positions[functions.first], &plan.kernels[position]);
            if first == position
                && let Some(features) = features
                && let Some(codes) = wide::codes(kernel, functions, features)?
            {
                made[position] = Some(maker.all(&kernel.name.0, functions, codes)?);
            }
            if made[first].is_some() {
                made[position] = made[first].clone();
                chosen[position] = Some(functions);
            }
        }
        let wides: Vec<bool> = chosen.iter().map(Option::is_some).collect();
        // A kernel that is wide may be the first of some that are not.
        let mut firsts: Vec<Option<Vec<DefinedFunction>>> = vec![None; plan.kernels.len()];
        for (position, functions) in narrow.iter().enumerate().filter(|(position, _)| !wides[*position]) {
            if firsts[functions.first].is_none() {
                let name = &plan.kernels[functions.first].name.0;
                firsts[functions.first] = Some(maker.all(name, &narrow[functions.first], Vec::new())?);
            }
            made[position] = firsts[functions.first].clone();
        }
        let codes = made.iter().flatten().flatten().map(DefinedFunction::number).collect::<HashSet<_>>().len();
        let memory = maker.finish()?;
        let loaded = |(position, parts): (usize, Vec<DefinedFunction>)| {
            let compiled = chosen[position].unwrap_or(&narrow[position]);
            let functions = compiled.parts.iter();
            LoadedKernel {
                parts: (parts.into_iter().zip(functions))
                    .map(|(made, (part, function))| (*part, memory.code(made, function)))
                    .collect(),
                hidden: compiled.hidden.clone(),
                work: plan.kernels[position].statements.iter().map(|own| (own.depth, work_of_statement(own))).collect(),
                wide: wides[position],
                lengths: (compiled.schedule.iter().flat_map(|schedule| &schedule.versions))
                    .any(|version| version.nest.by_elements())
                    .then(|| row_lengths(&plan.kernels[position]))
                    .flatten(),
                inner_gang: compiled.gang.is_some_and(|gang| gang.level > 0),
                gang: (compiled.gang).filter(|gang| gang.level == 0).map_or(1, |gang| gang.lanes.into()),
            }
        };
        let kernels = made.into_iter().flatten().enumerate().map(loaded).collect();
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
