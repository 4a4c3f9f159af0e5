//! Memory of this process that holds machine code: block functions through Cranelift, or as they come.

use std::mem::ManuallyDrop;

use cranelift_codegen::{
    Context, ir::AbiParam, ir::Signature, ir::types, isa::CallConv, isa::OwnedTargetIsa, isa::TargetFrontendConfig,
    settings, settings::Configurable,
};
use cranelift_control::ControlPlane;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleReloc};
use fusebox_backend::BackendError;

use crate::{
    kernel::CompiledKernel,
    lower::{self, helpers, patch::Patches},
    vector::{Function, Site},
};

/// The type of every block function: argument table, range, scratch memory, error slot.
pub(crate) type BlockFunction = unsafe extern "C" fn(*const u64, i64, i64, *mut u8, *mut u64) -> i64;

/// The type of the function of a lane: its frame; 0, or how it stopped.
pub(crate) type LaneFunction = unsafe extern "C" fn(*mut u64) -> i64;

/// One part of a kernel as machine code.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) function: BlockFunction,
    pub(crate) sites: Vec<Site>,
    /// Of each site, bytes of a lane of its mask.
    pub(crate) widths: Vec<u32>,
    pub(crate) scratch: usize,
}

/// Owns memory with machine code.
pub(crate) struct CodeMemory(ManuallyDrop<JITModule>);

impl Drop for CodeMemory {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here; block functions are only reachable through the `LoadedPlan`s that own this memory
        // together, and a run borrows one, so none of them is running.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() }
    }
}

// SAFETY: after loading nothing touches the module until it is dropped; its memory is read and executed only.
#[allow(unsafe_code)]
unsafe impl Sync for CodeMemory {}

fn refused(kernel: &str, error: impl std::fmt::Display) -> BackendError {
    BackendError::Compile { kernel: kernel.to_owned(), message: error.to_string() }
}

/// The code generator for this machine; of code that is not `hot` it takes less care and time.
fn target(hot: bool) -> Result<OwnedTargetIsa, BackendError> {
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    // Allocating registers well takes the square of the code, and most of all time.
    let registers = if hot { "backtracking" } else { "single_pass" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("regalloc_algorithm", registers),
        ("enable_verifier", verify),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
    ] {
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

/// Instructions of the longest function whose registers are allocated with care: beyond, that would take seconds.
const MOST_CAREFUL: usize = 16_000;

/// Generates machine code, with what the code generator does not have put in.
fn define(
    module: &mut JITModule,
    isa: &OwnedTargetIsa,
    id: FuncId,
    context: &mut Context,
    patches: &Patches,
) -> Result<(), String> {
    context.compile(&**isa, &mut ControlPlane::default()).map_err(|error| format!("{:?}", error.inner))?;
    let Some(compiled) = context.compiled_code() else { return Ok(()) };
    let mut code = compiled.code_buffer().to_vec();
    for place in compiled.buffer.get_srclocs_sorted() {
        patches.apply(&mut code, place.start as usize, place.loc)?;
    }
    let relocations: Vec<ModuleReloc> = (compiled.buffer.relocs().iter())
        .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &context.func, id))
        .collect();
    module
        .define_function_bytes(id, compiled.buffer.alignment.into(), &code, &relocations)
        .map_err(|error| format!("{error:?}"))
}

/// A function that is part of code memory to come.
#[derive(Clone)]
pub(crate) struct DefinedFunction {
    id: FuncId,
    widths: Vec<u32>,
}

impl DefinedFunction {
    /// Equal for those that are the same code.
    pub(crate) fn number(&self) -> u32 {
        self.id.as_u32()
    }
}

/// Makes code memory.
pub(crate) struct CodeMemoryBuilder {
    memory: CodeMemory,
    hot: OwnedTargetIsa,
    cold: OwnedTargetIsa,
    exact: FuncId,
    features: lower::Features,
    config: TargetFrontendConfig,
    convention: CallConv,
    contexts: FunctionBuilderContext,
}

impl CodeMemoryBuilder {
    /// No functions so far.
    ///
    /// # Errors
    /// [`BackendError::Compile`] on machines that Cranelift does not know.
    pub(crate) fn new() -> Result<Self, BackendError> {
        let (hot, cold) = (target(true)?, target(false)?);
        let features = features(&hot);
        let config = hot.frontend_config();
        let convention = hot.default_call_conv();
        let mut builder = JITBuilder::with_isa(hot.clone(), cranelift_module::default_libcall_names());
        builder.symbol(helpers::NAME, helpers::exact as *const u8);
        // From here on the memory is freed whatever happens.
        let mut memory = CodeMemory(ManuallyDrop::new(JITModule::new(builder)));
        let mut exact = Signature::new(convention);
        exact.params.extend([AbiParam::new(types::I64); 4]);
        exact.returns.push(AbiParam::new(types::I64));
        let exact =
            (memory.0.declare_function(helpers::NAME, Linkage::Import, &exact)).map_err(|error| refused("", error))?;
        Ok(Self { memory, hot, cold, exact, features, config, convention, contexts: FunctionBuilderContext::new() })
    }

    fn declare(&mut self, kernel: &str) -> Result<FuncId, BackendError> {
        let signature = lower::signature(self.convention);
        self.memory.0.declare_anonymous_function(&signature).map_err(|error| refused(kernel, error))
    }

    /// A function through Cranelift; whether it is `hot`: whether most of a run may be spent in it.
    pub(crate) fn make(
        &mut self,
        kernel: &str,
        function: &Function,
        hot: bool,
    ) -> Result<DefinedFunction, BackendError> {
        let id = self.declare(kernel)?;
        let mut context = Context::new();
        context.func.signature = lower::signature(self.convention);
        let helper = self.memory.0.declare_func_in_func(self.exact, &mut context.func);
        let builder = FunctionBuilder::new(&mut context.func, &mut self.contexts);
        let lowered = lower::lower(function, builder, helper, self.features, self.config);
        let careful = hot && function.instructions().len() <= MOST_CAREFUL;
        let isa = if careful { &self.hot } else { &self.cold };
        define(&mut self.memory.0, isa, id, &mut context, &lowered.patches).map_err(|error| refused(kernel, error))?;
        Ok(DefinedFunction { id, widths: lowered.widths })
    }

    /// The function of a lane, which `write` writes, with the signature of [`LaneFunction`].
    pub(crate) fn lane(
        &mut self,
        plan: &str,
        write: impl FnOnce(FunctionBuilder<'_>, TargetFrontendConfig),
    ) -> Result<FuncId, BackendError> {
        let mut signature = Signature::new(self.convention);
        signature.params.push(AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I64));
        let refused = |error| refused(plan, error);
        let id = self.memory.0.declare_anonymous_function(&signature).map_err(|error| refused(error.to_string()))?;
        let mut context = Context::new();
        context.func.signature = signature;
        write(FunctionBuilder::new(&mut context.func, &mut self.contexts), self.config);
        let careful = context.func.dfg.num_insts() <= MOST_CAREFUL;
        let isa = if careful { &self.hot } else { &self.cold };
        define(&mut self.memory.0, isa, id, &mut context, &Patches::default()).map_err(refused)?;
        Ok(id)
    }

    /// A function that is machine code already.
    pub(crate) fn put(&mut self, kernel: &str, code: fusebox_wide::Code) -> Result<DefinedFunction, BackendError> {
        let id = self.declare(kernel)?;
        // Constants behind the code are at multiples of 64 bytes.
        self.memory.0.define_function_bytes(id, 64, &code.bytes, &[]).map_err(|error| refused(kernel, error))?;
        Ok(DefinedFunction { id, widths: code.widths })
    }

    /// All functions of a kernel, as they come where they are machine code already, and through Cranelift.
    pub(crate) fn all(
        &mut self,
        kernel: &str,
        compiled: &CompiledKernel,
        codes: Vec<Option<fusebox_wide::Code>>,
    ) -> Result<Vec<DefinedFunction>, BackendError> {
        let mut codes = codes.into_iter();
        let parts = compiled.parts.iter();
        parts
            .map(|(part, function)| match codes.next().flatten() {
                Some(code) => self.put(kernel, code),
                None => self.make(kernel, function, part.is_hot()),
            })
            .collect()
    }

    /// The memory, to be executed from here on.
    pub(crate) fn finish(mut self) -> Result<CodeMemory, BackendError> {
        self.memory.0.finalize_definitions().map_err(|error| refused("", error))?;
        Ok(self.memory)
    }
}

impl CodeMemory {
    /// The machine code of a function that is in this memory; of another one that is the same code, its failures.
    #[allow(unsafe_code)]
    pub(crate) fn code(&self, made: DefinedFunction, function: &Function) -> Code {
        let address = self.0.get_finalized_function(made.id);
        // SAFETY: the address is that of a function that was defined with the signature of `BlockFunction`, in the calling convention of
        // the system, and lives as long as this memory does.
        let code = unsafe { std::mem::transmute::<*const u8, BlockFunction>(address) };
        Code { function: code, sites: function.sites.clone(), widths: made.widths, scratch: function.scratch }
    }

    /// The function of a lane that is in this memory.
    #[allow(unsafe_code)]
    pub(crate) fn lane(&self, made: FuncId) -> LaneFunction {
        let address = self.0.get_finalized_function(made);
        // SAFETY: as in `code`, for the signature of `LaneFunction`.
        unsafe { std::mem::transmute::<*const u8, LaneFunction>(address) }
    }
}

/// One block function as machine code, by itself: for tests of code generators.
#[derive(Debug)]
pub struct Block {
    code: Code,
    /// Owns what the code is in.
    _memory: CodeMemory,
}

impl Block {
    fn of(maker: CodeMemoryBuilder, made: DefinedFunction, function: &Function) -> Result<Self, BackendError> {
        let memory = maker.finish()?;
        Ok(Self { code: memory.code(made, function), _memory: memory })
    }

    /// Through Cranelift.
    ///
    /// # Errors
    /// [`BackendError::Compile`].
    pub fn through_cranelift(function: &Function) -> Result<Self, BackendError> {
        let mut maker = CodeMemoryBuilder::new()?;
        let made = maker.make(&function.name, function, true)?;
        Self::of(maker, made, function)
    }

    /// Of machine code that `fusebox-wide` made of the function.
    ///
    /// # Errors
    /// [`BackendError::Compile`].
    pub fn from_code(function: &Function, code: fusebox_wide::Code) -> Result<Self, BackendError> {
        let mut maker = CodeMemoryBuilder::new()?;
        let made = maker.put(&function.name, code)?;
        Self::of(maker, made, function)
    }

    /// Runs it for a range: 0, or the site that fails plus 1.
    ///
    /// # Safety
    /// The function reads and writes nothing outside of memory whose addresses are in the table, given that table and range. `scratch` has
    /// the bytes that the function asks for. Code that was given was made of this function, for features that this machine has.
    #[allow(unsafe_code)]
    pub unsafe fn call(&self, table: &[u64], (from, to): (i64, i64), scratch: &mut [u64], slot: &mut [u64]) -> i64 {
        assert!(scratch.len() * 8 >= self.code.scratch && slot.len() >= crate::failure::SLOT_WORDS);
        // SAFETY: as the caller promises; the slot has room for every failure.
        unsafe { (self.code.function)(table.as_ptr(), from, to, scratch.as_mut_ptr().cast(), slot.as_mut_ptr()) }
    }
}

impl std::fmt::Debug for CodeMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CodeMemory")
    }
}
