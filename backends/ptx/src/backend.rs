//! The backend of a device: plans to modules, modules to what runs.

use std::sync::Arc;

use fusebox_backend::{Backend, BackendError, Compiled, Extents, Program, Statistics, Stored, check_inputs, execute};
use fusebox_ir::{Array, Constant, Plan, ProvedPlan, ValueId, analysis::with_checks, validate_plan};
use fusebox_schedule::Target;

use crate::{
    device::Device,
    generate::emit,
    machine::{Buffer, Gpu, device_error},
    module::Module,
};

/// Runs plans on a device.
#[derive(Debug)]
pub struct PtxBackend<D> {
    device: Arc<D>,
    target: Target,
}

impl<D: Device> PtxBackend<D> {
    /// A backend for a device, and the description of it that code is made for.
    pub fn new(device: D, target: Target) -> Self {
        Self { device: Arc::new(device), target }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    fn compiled(&self, plan: Arc<Plan>) -> Result<CompiledPlan<D>, BackendError> {
        let modules = plan.kernels.iter().map(|kernel| emit(kernel, &self.target)).collect::<Result<_, _>>()?;
        Ok(CompiledPlan { plan, modules, device: self.device.clone() })
    }

    /// Compiles a plan; accesses that nobody vouches for are checked.
    ///
    /// # Errors
    /// As [`Backend::compile`].
    pub fn compile_plan(&self, plan: &Plan) -> Result<CompiledPlan<D>, BackendError> {
        validate_plan(plan).map_err(|errors| BackendError::BadPlan { message: errors.to_string() })?;
        let mut plan = plan.clone();
        for kernel in &mut plan.kernels {
            *kernel = with_checks(kernel);
        }
        self.compiled(Arc::new(plan))
    }

    /// Compiles a plan that lowering made.
    ///
    /// # Errors
    /// As [`Backend::compile_proved`].
    pub fn compile_proved_plan(&self, plan: &ProvedPlan) -> Result<CompiledPlan<D>, BackendError> {
        self.compiled(plan.shared())
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
    modules: Arc<[Module]>,
    device: Arc<D>,
}

impl<D: Device> CompiledPlan<D> {
    /// The module of each kernel.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Brings the modules to the device.
    ///
    /// # Errors
    /// [`BackendError::Compile`] if it refuses one.
    pub fn load_plan(&self) -> Result<LoadedPlan<D>, BackendError> {
        let load = |(position, module): (usize, &Module)| {
            self.device.load(&module.text).map_err(|error| device_error(&self.plan.kernels[position].name.0, &error))
        };
        let loaded = self.modules.iter().enumerate().map(load).collect::<Result<_, _>>()?;
        Ok(LoadedPlan { plan: self.plan.clone(), modules: self.modules.clone(), loaded, device: self.device.clone() })
    }
}

impl<D: Device> Compiled for CompiledPlan<D> {
    fn text(&self) -> String {
        self.modules.iter().map(|module| module.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn load(&self) -> Result<Box<dyn Program>, BackendError> {
        Ok(Box::new(self.load_plan()?))
    }
}

/// A plan on a device.
pub struct LoadedPlan<D: Device> {
    plan: Arc<Plan>,
    modules: Arc<[Module]>,
    loaded: Vec<D::Module>,
    device: Arc<D>,
}

impl<D: Device> LoadedPlan<D> {
    /// Runs the plan.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_plan(&self, inputs: &[Array]) -> Result<Vec<Array>, BackendError> {
        self.run_with_statistics(inputs).map(|(results, _)| results)
    }
}

impl<D: Device> Program for LoadedPlan<D> {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run_with_statistics(&self, inputs: &[Array]) -> Result<(Vec<Array>, Statistics), BackendError> {
        let references: Vec<&Array> = inputs.iter().collect();
        let sizes = check_inputs(&self.plan, &references)?;
        let gpu = Gpu { plan: &self.plan, modules: &self.modules, loaded: &self.loaded, device: &self.device };
        let mut handed: Vec<(ValueId, Stored<Buffer<D>>)> = Vec::new();
        for (id, size) in sizes {
            let constant = Constant::from(size);
            let buffer = Arc::new(gpu.scalar_buffer(constant)?);
            handed.push((id, Stored { buffer, element: constant.ty(), extents: Extents::new() }));
        }
        for (&id, array) in self.plan.inputs.iter().zip(inputs) {
            let extents = array.extents().iter().map(|&extent| extent as i64).collect();
            let buffer = Arc::new(gpu.uploaded(array.bytes())?);
            handed.push((id, Stored { buffer, element: array.element(), extents }));
        }
        let (results, statistics) = execute(&gpu, &self.plan, handed)?;
        let results: Result<Vec<Array>, _> = (results.into_iter().zip(&self.plan.outputs))
            .map(|(stored, output)| gpu.downloaded(&stored, &output.name))
            .collect();
        Ok((results?, statistics))
    }
}

impl<D: Device> std::fmt::Debug for LoadedPlan<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedPlan").field("plan", &self.plan.name).field("kernels", &self.loaded.len()).finish()
    }
}
