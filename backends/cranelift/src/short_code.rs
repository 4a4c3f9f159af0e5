//! Machine code through Cranelift for a described processor: to be read and counted, not run. The machine at hand plays no part.

use cranelift_codegen::{
    Context,
    ir::{AbiParam, ExtFuncData, ExternalName, LibCall, Signature, types},
    isa::{self, CallConv},
    settings,
    settings::Configurable,
};
use cranelift_control::ControlPlane;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use fusebox_backend::BackendError;

use crate::{lower, vector::Function};

/// Machine code for x86-64.
#[derive(Clone, Debug)]
pub struct ShortCode {
    /// Instructions, and constants behind them.
    pub bytes: Vec<u8>,
    /// Where the last block of instructions begins: constants are behind the jump or return that ends it.
    pub last_block: usize,
}

/// The code of a function as a processor of x86-64 with SSE4.2, and nothing later, would run it.
///
/// # Errors
/// [`BackendError::Compile`]; on machines of other architectures always, as their Cranelift has no code for this one.
pub fn short_code(function: &Function) -> Result<ShortCode, BackendError> {
    made(function).map_err(|message| BackendError::Compile { kernel: function.name.clone(), message })
}

fn made(function: &Function) -> Result<ShortCode, String> {
    let isa = processor()?;
    let convention = CallConv::SystemV;
    let mut context = Context::new();
    context.func.signature = lower::signature(convention);
    let mut exact = Signature::new(convention);
    exact.params.extend([AbiParam::new(types::I64); 4]);
    exact.returns.push(AbiParam::new(types::I64));
    let signature = context.func.import_signature(exact);
    // Any function: that it is called is all that is seen.
    let name = ExternalName::LibCall(LibCall::Probestack);
    let helper = context.func.import_function(ExtFuncData { name, signature, colocated: false, patchable: false });
    let mut contexts = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut contexts);
    let features = lower::Features { fma: false, rounding: true, streaming: true };
    let lowered = lower::lower(function, builder, helper, features, isa.frontend_config());
    let compiled =
        context.compile(&*isa, &mut ControlPlane::default()).map_err(|error| format!("{:?}", error.inner))?;
    let mut bytes = compiled.code_buffer().to_vec();
    for place in compiled.buffer.get_srclocs_sorted() {
        lowered.patches.apply(&mut bytes, place.start as usize, place.loc)?;
    }
    let last_block = compiled.bb_starts.iter().max().map_or(0, |&last| last as usize);
    Ok(ShortCode { bytes, last_block })
}

fn processor() -> Result<isa::OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    for (name, value) in [("opt_level", "speed"), ("is_pic", "false"), ("machine_code_cfg_info", "true")] {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let mut machine = isa::lookup_by_name("x86_64-unknown-linux").map_err(|error| error.to_string())?;
    for feature in ["has_sse3", "has_ssse3", "has_cmpxchg16b", "has_sse41", "has_sse42", "has_popcnt"] {
        machine.enable(feature).map_err(|error| error.to_string())?;
    }
    machine.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())
}
