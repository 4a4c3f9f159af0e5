//! The backend of a device: plans to modules, modules to what runs.

use std::{cell::RefCell, sync::Arc};

use fusebox_backend::{
    Backend, BackendError, Compiled, DeviceArray, Given, Input, Program, Statistics, Stored, Values, check_inputs,
    device_memory::{Access, DeviceMemory, Transfers},
    execute,
};
use fusebox_ir::{Array, Constant, Kernel, Output, Plan, ProvedPlan, ValueId, analysis::with_checks, validate_plan};
use fusebox_schedule::{Book, Machine, Target};

use crate::{
    core::Core,
    device::{Device, device_error},
    generate::{WIDE_FROM, version},
    gpu::{Buffer, Gpu},
    kernel::{CompiledKernel, LoadedKernel},
    module::Module,
    resident::Resident,
    sort::modules::{Modules, WIDE_FROM as WIDE_ROWS_FROM},
    written_out::WrittenOut,
};

/// Runs plans on a device.
pub struct PtxBackend<D: Device> {
    core: Arc<Core<D>>,
    target: Target,
    schedules: Arc<Book>,
    wide_from: usize,
}

impl<D: Device> PtxBackend<D> {
    /// A backend for a device, and the description of it that code is made for.
    pub fn new(device: D, target: Target) -> Self {
        Self::with_memory(DeviceMemory::new(device), target)
    }

    /// A backend for the memory of a device, which may have a limit: arrays beyond that wait on the host. What is in there is the
    /// backend's, and nobody else's.
    pub fn with_memory(memory: DeviceMemory<D>, target: Target) -> Self {
        let core = Arc::new(Core::new(memory));
        Self { core, target, schedules: Arc::default(), wide_from: usize::MAX }
    }

    /// The same device, with schedules for some kernels; those for other targets are passed over.
    #[must_use]
    pub fn with_schedules(&self, schedules: Arc<Book>) -> Self {
        Self { schedules, target: self.target.clone(), core: self.core.clone(), ..*self }
    }

    /// The same, where positions in arrays, and in rows that are sorted, have 64 bits from so many elements on: they need them from 2^31 on of
    /// arrays, and from 2^32 on of rows.
    #[must_use]
    pub fn with_wide_from(self, wide_from: usize) -> Self {
        Self { wide_from, ..self }
    }

    /// The device.
    pub fn device(&self) -> &D {
        self.core.device()
    }

    /// Its memory: which arrays are there, and what was copied.
    pub fn memory(&self) -> &DeviceMemory<D> {
        &self.core.memory
    }

    /// Compiles the kernels of a plan; `written` are the same before checks were put in.
    fn compiled(&self, plan: Arc<Plan>, written: &[Kernel]) -> Result<CompiledPlan<D>, BackendError> {
        let compiled = |(kernel, written): (&Kernel, &Kernel)| {
            CompiledKernel::new(kernel, self.schedules.get(written, &self.target.name), &self.target)
        };
        let kernels = plan.kernels.iter().zip(written).map(compiled).collect::<Result<_, _>>()?;
        let compute = match &self.target.machine {
            Machine::Gpu(gpu) => gpu.compute,
            // Kernels have been refused for it.
            Machine::Cpu(_) => (0, 0),
        };
        let wide_from = self.wide_from;
        Ok(CompiledPlan { plan, kernels, compute, wide_from, core: self.core.clone() })
    }

    /// Compiles a plan; accesses that nobody vouches for are checked.
    ///
    /// # Errors
    /// As [`Backend::compile`].
    pub fn compile_plan(&self, plan: &Plan) -> Result<CompiledPlan<D>, BackendError> {
        validate_plan(plan).map_err(|errors| BackendError::BadPlan { message: errors.to_string() })?;
        let mut checked = plan.clone();
        for kernel in &mut checked.kernels {
            *kernel = with_checks(kernel);
        }
        self.compiled(Arc::new(checked), &plan.kernels)
    }

    /// Compiles a plan that lowering made.
    ///
    /// # Errors
    /// As [`Backend::compile_proved`].
    pub fn compile_proved_plan(&self, plan: &ProvedPlan) -> Result<CompiledPlan<D>, BackendError> {
        let plan = plan.shared();
        self.compiled(plan.clone(), &plan.kernels)
    }
}

impl<D: Device> Backend for PtxBackend<D> {
    fn name(&self) -> &'static str {
        self.device().name()
    }

    fn compile(&self, plan: &Plan) -> Result<Box<dyn Compiled>, BackendError> {
        Ok(Box::new(self.compile_plan(plan)?))
    }

    fn compile_proved(&self, plan: &ProvedPlan) -> Result<Box<dyn Compiled>, BackendError> {
        Ok(Box::new(self.compile_proved_plan(plan)?))
    }
}

impl<D: Device> std::fmt::Debug for PtxBackend<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PtxBackend").field("device", &self.device().name()).field("target", &self.target.name).finish()
    }
}

/// A plan as modules.
pub struct CompiledPlan<D: Device> {
    plan: Arc<Plan>,
    kernels: Arc<[CompiledKernel]>,
    compute: (u32, u32),
    wide_from: usize,
    core: Arc<Core<D>>,
}

impl<D: Device> std::fmt::Debug for CompiledPlan<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledPlan").field("plan", &self.plan.name).field("kernels", &self.kernels.len()).finish()
    }
}

impl<D: Device> CompiledPlan<D> {
    /// The module of each kernel, with short positions where there is such a one.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.kernels.iter().map(|kernel| &kernel.module)
    }

    /// Brings the modules to the device.
    ///
    /// # Errors
    /// [`BackendError::Compile`] if it refuses one.
    pub fn load_plan(&self) -> Result<LoadedPlan<D>, BackendError> {
        let load = |(kernel, compiled): (&Kernel, &CompiledKernel)| compiled.load(self.core.device(), &kernel.name.0);
        let loaded = self.plan.kernels.iter().zip(&*self.kernels).map(load).collect::<Result<_, _>>()?;
        let sorts = Modules::new(self.compute, version(self.compute), self.wide_from.min(WIDE_ROWS_FROM));
        let (plan, kernels, core) = (self.plan.clone(), self.kernels.clone(), self.core.clone());
        let wide_from = i64::try_from(self.wide_from).map_or(WIDE_FROM, |from| from.min(WIDE_FROM));
        Ok(LoadedPlan { plan, kernels, loaded, wide_from, sorts, written_out: WrittenOut::default(), core })
    }
}

impl<D: Device> Compiled for CompiledPlan<D> {
    fn text(&self) -> Result<String, BackendError> {
        Ok(self.modules().map(|module| module.text.as_str()).collect::<Vec<_>>().join("\n"))
    }

    fn load(&self) -> Result<Box<dyn Program>, BackendError> {
        Ok(Box::new(self.load_plan()?))
    }
}

/// A plan on a device.
pub struct LoadedPlan<D: Device> {
    plan: Arc<Plan>,
    kernels: Arc<[CompiledKernel]>,
    loaded: Vec<LoadedKernel<D>>,
    wide_from: i64,
    sorts: Modules<D>,
    written_out: WrittenOut<Buffer<D>>,
    core: Arc<Core<D>>,
}

impl<D: Device> LoadedPlan<D> {
    /// Runs the plan.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_plan(&self, inputs: &[Array]) -> Result<Vec<Array>, BackendError> {
        self.run(inputs)
    }

    fn operation(&self) -> String {
        format!("program `{}`", self.plan.name)
    }

    /// Runs the plan in a queue of its own, to the end of its work; `input` brings an input, `result` gets each result.
    fn run_with<I: Input>(
        &self,
        inputs: &[I],
        input: impl Fn(&Gpu<'_, D>, &str, &I) -> Result<Stored<Buffer<D>>, BackendError>,
        result: impl FnMut(Stored<Given<'_, Buffer<D>>>, &Output<ValueId>) -> Result<(), BackendError>,
    ) -> Result<Statistics, BackendError> {
        let sizes = check_inputs(&self.plan, inputs)?;
        let Self { plan, kernels, loaded, wide_from, sorts, written_out, core } = self;
        let workspace = RefCell::new(core.workspace(&self.operation())?);
        let gpu = Gpu { plan, kernels, loaded, wide_from: *wide_from, sorts, written_out, core, workspace };
        let name = |id: &ValueId| plan.values.get(id.index()).map_or("?", |value| value.name.as_str());
        let inputs = plan.inputs.iter().zip(inputs).map(|(id, given)| input(&gpu, name(id), given));
        let ran = execute(&gpu, plan, &mut Values::default(), &sizes, inputs, result);
        let workspace = gpu.workspace.into_inner();
        // Results are there when they are handed over, whoever uses them in whatever queue.
        let ended = core.device().synchronise(&workspace.queue);
        core.put_back(workspace);
        let statistics = ran?;
        ended.map_err(|error| device_error(&self.operation(), &error))?;
        Ok(statistics)
    }

    /// An array of the host as an input.
    fn imported(gpu: &Gpu<'_, D>, name: &str, array: &Array) -> Result<Stored<Buffer<D>>, BackendError> {
        let extents = array.extents().iter().map(|&extent| extent as i64).collect();
        let scalar: Option<Constant> = array.extents().is_empty().then(|| array.get(0));
        Ok(Stored { buffer: gpu.imported(name, array)?, element: array.element(), extents, scalar })
    }
}

impl<D: Device> Program for LoadedPlan<D> {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run_into(&self, inputs: &[Array], results: &mut Vec<Array>) -> Result<Statistics, BackendError> {
        results.clear();
        let ran = self.run_with(inputs, Self::imported, |stored, output| {
            let Stored { buffer, element, extents, .. } = stored;
            let buffer = match &buffer {
                Given::Own(buffer) => buffer,
                Given::Shared(buffer) => *buffer,
            };
            let extents: Vec<usize> = extents.iter().map(|&extent| extent as usize).collect();
            results.push(buffer.to_host(&self.operation(), &output.name, element, &extents)?);
            Ok(())
        });
        if ran.is_err() {
            results.clear();
        }
        ran
    }

    fn transfers(&self) -> Transfers {
        self.core.memory.transfers()
    }

    fn to_device(&self, array: &Array) -> Result<DeviceArray, BackendError> {
        let failed = |error| crate::core::memory_error("a copy to the device", error);
        let buffer = Buffer::from(self.core.memory.import("an array of the host", array).map_err(failed)?);
        // A scalar stays where the program is steered from, until a kernel needs it.
        if !array.extents().is_empty() {
            drop(self.core.memory.pin(&[(&buffer.array, Access::Read)]).map_err(failed)?);
        }
        Ok(Resident::new(buffer, array).shared())
    }

    fn run_resident(&self, inputs: &[DeviceArray]) -> Result<(Vec<DeviceArray>, Statistics), BackendError> {
        let mut results = Vec::with_capacity(self.plan.results.len());
        let bring = |gpu: &Gpu<'_, D>, name: &str, array: &DeviceArray| match array
            .on::<Resident<D>>()
            .and_then(|resident| resident.stored(gpu.core))
        {
            Some(stored) => Ok(stored),
            None => Self::imported(gpu, name, &array.to_host()?),
        };
        let statistics = self.run_with(inputs, bring, |stored, _| {
            results.push(Resident::of_result(stored).shared());
            Ok(())
        })?;
        Ok((results, statistics))
    }
}

impl<D: Device> std::fmt::Debug for LoadedPlan<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedPlan").field("plan", &self.plan.name).field("kernels", &self.loaded.len()).finish()
    }
}
