//! The backend of a device: plans to modules, modules to what runs.

use std::sync::Arc;

use fusebox_backend::{
    Backend, BackendError, Compiled, Given, Program, Statistics, Stored, Values, check_inputs, execute,
};
use fusebox_ir::{Array, Kernel, Plan, ProvedPlan, analysis::with_checks, validate_plan};
use fusebox_schedule::{Book, Machine, Target};

use crate::{
    device::Device,
    generate::{WIDE_FROM, version},
    gpu::Gpu,
    kernel::{CompiledKernel, LoadedKernel},
    module::Module,
    sort::modules::{Modules, WIDE_FROM as WIDE_ROWS_FROM},
};

/// Runs plans on a device.
#[derive(Debug)]
pub struct PtxBackend<D> {
    device: Arc<D>,
    target: Target,
    schedules: Arc<Book>,
    wide_from: usize,
}

impl<D: Device> PtxBackend<D> {
    /// A backend for a device, and the description of it that code is made for.
    pub fn new(device: D, target: Target) -> Self {
        Self { device: Arc::new(device), target, schedules: Arc::default(), wide_from: usize::MAX }
    }

    /// The same device, with schedules for some kernels; those for other targets are passed over.
    #[must_use]
    pub fn with_schedules(&self, schedules: Arc<Book>) -> Self {
        Self { schedules, target: self.target.clone(), device: self.device.clone(), ..*self }
    }

    /// The same, where positions in arrays, and in rows that are sorted, have 64 bits from so many elements on: they need them from 2^31 on of
    /// arrays, and from 2^32 on of rows.
    #[must_use]
    pub fn with_wide_from(self, wide_from: usize) -> Self {
        Self { wide_from, ..self }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
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
        Ok(CompiledPlan { plan, kernels, compute, wide_from, device: self.device.clone() })
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
        self.device.name()
    }

    fn compile(&self, plan: &Plan) -> Result<Box<dyn Compiled>, BackendError> {
        Ok(Box::new(self.compile_plan(plan)?))
    }

    fn compile_proved(&self, plan: &ProvedPlan) -> Result<Box<dyn Compiled>, BackendError> {
        Ok(Box::new(self.compile_proved_plan(plan)?))
    }
}

/// A plan as modules.
#[derive(Debug)]
pub struct CompiledPlan<D> {
    plan: Arc<Plan>,
    kernels: Arc<[CompiledKernel]>,
    compute: (u32, u32),
    wide_from: usize,
    device: Arc<D>,
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
        let load = |(kernel, compiled): (&Kernel, &CompiledKernel)| compiled.load(&*self.device, &kernel.name.0);
        let loaded = self.plan.kernels.iter().zip(&*self.kernels).map(load).collect::<Result<_, _>>()?;
        let sorts = Modules::new(self.compute, version(self.compute), self.wide_from.min(WIDE_ROWS_FROM));
        let (plan, kernels, device) = (self.plan.clone(), self.kernels.clone(), self.device.clone());
        let wide_from = i64::try_from(self.wide_from).map_or(WIDE_FROM, |from| from.min(WIDE_FROM));
        Ok(LoadedPlan { plan, kernels, loaded, wide_from, sorts, device })
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
    device: Arc<D>,
}

impl<D: Device> LoadedPlan<D> {
    /// Runs the plan.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_plan(&self, inputs: &[Array]) -> Result<Vec<Array>, BackendError> {
        self.run(inputs)
    }
}

impl<D: Device> Program for LoadedPlan<D> {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run_into(&self, inputs: &[Array], results: &mut Vec<Array>) -> Result<Statistics, BackendError> {
        results.clear();
        let sizes = check_inputs(&self.plan, inputs)?;
        let Self { plan, kernels, loaded, wide_from, sorts, device } = self;
        let gpu = Gpu { plan, kernels, loaded, wide_from: *wide_from, device, sorts };
        let inputs = inputs.iter().map(|array| {
            let extents = array.extents().iter().map(|&extent| extent as i64).collect();
            Ok(Stored { buffer: gpu.uploaded(array.bytes())?, element: array.element(), extents })
        });
        let ran = execute(&gpu, &self.plan, &mut Values::default(), &sizes, inputs, |stored, output| {
            let Stored { buffer, element, extents } = stored;
            let buffer = match &buffer {
                Given::Own(buffer) => buffer,
                Given::Shared(buffer) => *buffer,
            };
            results.push(gpu.downloaded(Stored { buffer, element, extents }, &output.name)?);
            Ok(())
        });
        if ran.is_err() {
            results.clear();
        }
        ran
    }
}

impl<D: Device> std::fmt::Debug for LoadedPlan<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedPlan").field("plan", &self.plan.name).field("kernels", &self.loaded.len()).finish()
    }
}
