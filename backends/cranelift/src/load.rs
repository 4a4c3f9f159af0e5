//! Plans as machine code in memory of this process.

use std::{collections::HashSet, sync::Arc};

use fusebox_backend::{BackendError, Program, Statistics, Stored, check_inputs, execute};
use fusebox_ir::{Array, ArrayId, Constant, Kernel, Plan};
use fusebox_wide::Features;

use crate::{
    Cranelift, Shared,
    alike::first_alike,
    compile::CompiledKernel,
    emit::{Extra, Part},
    machine::Cpu,
    pages::{Made, Maker, Pages},
    rounding::Rounding,
    wide,
};

pub(crate) use crate::pages::Code;

/// One kernel as machine code.
#[derive(Clone, Debug)]
pub(crate) struct LoadedKernel {
    pub(crate) parts: Vec<(Part, Code)>,
    pub(crate) extras: Vec<Extra>,
    /// Whether it is code for vectors of 64 bytes.
    wide: bool,
    /// Steps of the outermost level that a gang does.
    pub(crate) gang: i64,
}

impl LoadedKernel {
    pub(crate) fn part(&self, part: Part) -> Option<&Code> {
        self.parts.iter().find(|(own, _)| *own == part).map(|(_, code)| code)
    }
}

/// A plan as machine code; runs any number of times, from any number of threads at once.
pub struct LoadedPlan {
    plan: Arc<Plan>,
    kernels: Arc<[LoadedKernel]>,
    shared: Arc<Shared>,
    /// Owns what the kernels point to.
    pages: Arc<Pages>,
    /// The functions in there.
    codes: usize,
}

impl LoadedPlan {
    pub(crate) fn new(
        plan: Arc<Plan>,
        mut compiled: Vec<CompiledKernel>,
        features: Option<Features>,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let mut maker = Maker::new()?;
        let mut wides = vec![false; compiled.len()];
        let mut made: Vec<Option<Vec<Made>>> = vec![None; compiled.len()];
        if let Some(features) = features {
            let mut emitted = Vec::new();
            for (position, (kernel, narrow)) in plan.kernels.iter().zip(&compiled).enumerate() {
                emitted.extend(wide::emitted(kernel, narrow)?.map(|wide| (position, wide)));
            }
            let (positions, mut functions): (Vec<usize>, Vec<CompiledKernel>) = emitted.into_iter().unzip();
            let kernels: Vec<&Kernel> = positions.iter().map(|&position| &plan.kernels[position]).collect();
            let firsts = first_alike(&kernels, &mut functions);
            for (at, wide) in functions.into_iter().enumerate() {
                let position = positions[at];
                let first = positions[firsts[at]];
                if first == position
                    && let Some(codes) = wide::codes(kernels[at], &wide, features)?
                {
                    made[position] = Some(maker.all(&kernels[at].name.0, &wide, codes)?);
                }
                if made[first].is_some() {
                    made[position] = made[first].clone();
                    compiled[position] = wide;
                    wides[position] = true;
                }
            }
        }
        let narrow: Vec<usize> = (0..compiled.len()).filter(|&position| !wides[position]).collect();
        let kernels: Vec<&Kernel> = narrow.iter().map(|&position| &plan.kernels[position]).collect();
        let mut functions: Vec<CompiledKernel> =
            narrow.iter().map(|&position| std::mem::take(&mut compiled[position])).collect();
        let firsts = first_alike(&kernels, &mut functions);
        for (at, functions) in functions.into_iter().enumerate() {
            let (position, first) = (narrow[at], narrow[firsts[at]]);
            made[position] = match first == position {
                true => Some(maker.all(&kernels[at].name.0, &functions, Vec::new())?),
                false => made[first].clone(),
            };
            compiled[position] = functions;
        }
        let codes = made.iter().flatten().flatten().map(Made::number).collect::<HashSet<_>>().len();
        let pages = maker.finish()?;
        let kernels = (made.into_iter().flatten().zip(compiled).zip(wides))
            .map(|((parts, compiled), wide)| LoadedKernel {
                parts: (parts.into_iter().zip(compiled.parts))
                    .map(|(made, (part, function))| (part, pages.code(made, function)))
                    .collect(),
                extras: compiled.extras,
                wide,
                gang: compiled
                    .schedule
                    .filter(|schedule| schedule.level == 0)
                    .map_or(1, |schedule| schedule.lanes.into()),
            })
            .collect();
        Ok(Self { plan, kernels, shared, pages: Arc::new(pages), codes })
    }

    /// How many functions were made for the kernels: kernels that are alike share theirs.
    pub fn functions(&self) -> usize {
        self.codes
    }

    /// For each kernel of the plan, whether it is code for vectors of 64 bytes.
    pub fn wide_kernels(&self) -> Vec<bool> {
        self.kernels.iter().map(|kernel| kernel.wide).collect()
    }

    /// The same machine code, run by the threads and in the memory of another backend.
    pub fn on(&self, backend: &Cranelift) -> Self {
        let (plan, kernels) = (self.plan.clone(), self.kernels.clone());
        Self { plan, kernels, shared: backend.shared.clone(), pages: self.pages.clone(), codes: self.codes }
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
        let mut handed: Vec<(ArrayId, Stored<Array>)> = Vec::new();
        for (id, size) in sizes {
            let constant = Constant::from(size);
            handed.push((
                id,
                Stored { buffer: Arc::new(Array::scalar(size)), element: constant.ty(), extents: Vec::new() },
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
