//! Machine code: vector IR through Cranelift into memory of this process.

use std::{mem::ManuallyDrop, sync::Arc};

use cranelift_codegen::{
    Context, ir::AbiParam, ir::Signature, ir::types, isa::OwnedTargetIsa, settings, settings::Configurable,
};
use cranelift_control::ControlPlane;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleReloc};
use fusebox_backend::{BackendError, Program, Statistics, Stored, check_inputs, execute};
use fusebox_ir::{Array, ArrayId, Constant, Plan};
use fusebox_wide::Features;

use crate::{
    Cranelift, Shared,
    compile::CompiledKernel,
    emit::{Extra, Part},
    lower::{self, exchange::Exchanges, helpers},
    machine::Cpu,
    rounding::Rounding,
    vector::Site,
    wide,
};

/// The type of every block function: argument table, range, scratch memory, error slot.
pub(crate) type BlockFunction = unsafe extern "C" fn(*const u64, i64, i64, *mut u8, *mut u64) -> i64;

/// One part of a kernel as machine code.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) function: BlockFunction,
    pub(crate) sites: Vec<Site>,
    /// Of each site, bytes of a lane of its mask.
    pub(crate) widths: Vec<u32>,
    pub(crate) scratch: usize,
}

/// One kernel as machine code.
#[derive(Clone, Debug)]
pub(crate) struct LoadedKernel {
    pub(crate) parts: Vec<(Part, Code)>,
    pub(crate) extras: Vec<Extra>,
}

impl LoadedKernel {
    pub(crate) fn part(&self, part: Part) -> Option<&Code> {
        self.parts.iter().find(|(own, _)| *own == part).map(|(_, code)| code)
    }
}

/// Owns the pages of machine code.
struct Pages(ManuallyDrop<JITModule>);

impl Drop for Pages {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here; block functions are only reachable through the `LoadedPlan`s that own these pages
        // together, and a run borrows one, so none of them is running.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() }
    }
}

/// A plan as machine code; runs any number of times, from any number of threads at once.
pub struct LoadedPlan {
    plan: Arc<Plan>,
    kernels: Arc<[LoadedKernel]>,
    shared: Arc<Shared>,
    pages: Arc<Pages>,
}

// SAFETY: after loading nothing touches the module until it is dropped; its pages are read and executed only.
#[allow(unsafe_code)]
unsafe impl Sync for Pages {}

fn refused(kernel: &str, error: impl std::fmt::Display) -> BackendError {
    BackendError::Compile { kernel: kernel.to_owned(), message: error.to_string() }
}

/// The code generator for this machine.
fn target() -> Result<OwnedTargetIsa, BackendError> {
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in
        [("opt_level", "speed"), ("enable_verifier", verify), ("is_pic", "false"), ("use_colocated_libcalls", "false")]
    {
        flags.set(name, value).map_err(|error| refused("", error))?;
    }
    let machine = cranelift_native::builder().map_err(|error| refused("", error))?;
    machine.finish(settings::Flags::new(flags)).map_err(|error| refused("", error))
}

fn features(isa: &OwnedTargetIsa) -> lower::Features {
    let has = |name: &str| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
    let arm = isa.triple().architecture.to_string().starts_with("aarch64");
    lower::Features { fma: arm || has("has_fma"), rounding: arm || has("has_sse41"), streaming: !arm }
}

/// Generates machine code, with what the code generator does not have put in.
fn define(module: &mut JITModule, id: FuncId, context: &mut Context, exchanges: &Exchanges) -> Result<(), String> {
    if exchanges.is_empty() {
        return module.define_function(id, context).map_err(|error| format!("{error:?}"));
    }
    context.compile(module.isa(), &mut ControlPlane::default()).map_err(|error| format!("{:?}", error.inner))?;
    let Some(compiled) = context.compiled_code() else { return Ok(()) };
    let mut code = compiled.code_buffer().to_vec();
    for place in compiled.buffer.get_srclocs_sorted() {
        exchanges.apply(&mut code, place.start as usize, place.loc)?;
    }
    let relocations: Vec<ModuleReloc> = (compiled.buffer.relocs().iter())
        .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &context.func, id))
        .collect();
    module
        .define_function_bytes(id, compiled.buffer.alignment.into(), &code, &relocations)
        .map_err(|error| format!("{error:?}"))
}

impl LoadedPlan {
    #[allow(unsafe_code)]
    pub(crate) fn new(
        plan: Arc<Plan>,
        mut compiled: Vec<CompiledKernel>,
        wide: bool,
        shared: Arc<Shared>,
    ) -> Result<Self, BackendError> {
        let isa = target()?;
        let features = features(&isa);
        let config = isa.frontend_config();
        let convention = isa.default_call_conv();
        let mut builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
        builder.symbol(helpers::NAME, helpers::exact as *const u8);
        // From here on the pages are freed whatever happens.
        let mut pages = Pages(ManuallyDrop::new(JITModule::new(builder)));
        let module: &mut JITModule = &mut pages.0;
        let mut exact = Signature::new(convention);
        exact.params.extend([AbiParam::new(types::I64); 4]);
        exact.returns.push(AbiParam::new(types::I64));
        let exact =
            module.declare_function(helpers::NAME, Linkage::Import, &exact).map_err(|error| refused("", error))?;
        let mut contexts = FunctionBuilderContext::new();
        let mut made: Vec<Vec<(Part, FuncId, Vec<u32>)>> = Vec::new();
        let vectors = if wide { Features::of_this_machine() } else { None };
        for (kernel, compiled) in plan.kernels.iter().zip(&mut compiled) {
            let mut parts = Vec::new();
            let mut codes = match vectors {
                Some(vectors) => wide::kernel(kernel, compiled, vectors)?,
                None => Vec::new(),
            };
            for (position, (part, function)) in compiled.parts.iter().enumerate() {
                if let Some(code) = codes.get_mut(position).and_then(Option::take) {
                    let id = module
                        .declare_anonymous_function(&lower::signature(convention))
                        .map_err(|error| refused(&kernel.name.0, error))?;
                    module
                        .define_function_bytes(id, 64, &code.bytes, &[])
                        .map_err(|error| refused(&kernel.name.0, error))?;
                    parts.push((*part, id, code.widths));
                    continue;
                }
                let mut context = Context::new();
                context.func.signature = lower::signature(convention);
                let helper = module.declare_func_in_func(exact, &mut context.func);
                let builder = FunctionBuilder::new(&mut context.func, &mut contexts);
                let lowered = lower::lower(function, builder, helper, features, config);
                let id = module
                    .declare_anonymous_function(&context.func.signature)
                    .map_err(|error| refused(&kernel.name.0, error))?;
                define(module, id, &mut context, &lowered.exchanges).map_err(|error| refused(&kernel.name.0, error))?;
                parts.push((*part, id, lowered.widths));
            }
            made.push(parts);
        }
        module.finalize_definitions().map_err(|error| refused("", error))?;
        let kernels = (made.into_iter().zip(compiled))
            .map(|(parts, compiled)| LoadedKernel {
                parts: (parts.into_iter().zip(compiled.parts))
                    .map(|((part, id, widths), (_, function))| {
                        let address = module.get_finalized_function(id);
                        // SAFETY: the address is that of a function that was defined with the signature of `BlockFunction`, in the
                        // calling convention of the system, and lives as long as the pages do.
                        let code = unsafe { std::mem::transmute::<*const u8, BlockFunction>(address) };
                        (part, Code { function: code, sites: function.sites, widths, scratch: function.scratch })
                    })
                    .collect(),
                extras: compiled.extras,
            })
            .collect();
        Ok(Self { plan, kernels, shared, pages: Arc::new(pages) })
    }

    /// The same machine code, run by the threads and in the memory of another backend.
    pub fn on(&self, backend: &Cranelift) -> Self {
        let (plan, kernels) = (self.plan.clone(), self.kernels.clone());
        Self { plan, kernels, shared: backend.shared.clone(), pages: self.pages.clone() }
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
        let results: Result<_, _> = results.into_iter().map(|stored| machine.handed_back(stored)).collect();
        Ok((results?, statistics))
    }
}

impl std::fmt::Debug for LoadedPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedPlan").field("plan", &self.plan.name).field("kernels", &self.kernels.len()).finish()
    }
}
