//! Kernels in vectors of 64 bytes, where the machine has them and the kernel is in gangs.

use fusebox_backend::BackendError;
use fusebox_ir::Kernel;
use fusebox_wide::{Code, Features, Refusal, VECTOR_BYTES, compile};

use crate::{
    compile::{CompiledKernel, compile_kernel},
    emit::Part,
};

/// Machine code for parts of a kernel, by their position; `compiled` becomes what it is of. None of no part: the kernel stays what it is.
///
/// # Errors
/// [`BackendError`], of code that should have been made.
pub(crate) fn kernel(
    kernel: &Kernel,
    compiled: &mut CompiledKernel,
    features: Features,
) -> Result<Vec<Option<Code>>, BackendError> {
    if compiled.schedule.is_none() {
        // Scalar code is as good from Cranelift.
        return Ok(Vec::new());
    }
    let wider = compile_kernel(kernel, Some(VECTOR_BYTES))?;
    if wider.schedule.is_none() {
        return Ok(Vec::new());
    }
    let mut codes = Vec::new();
    for (part, function) in &wider.parts {
        match compile(function, features) {
            Ok(code) => codes.push(Some(code)),
            // What is not in gangs can be Cranelift's.
            Err(Refusal::Lacks(_)) if matches!(part, Part::Finish | Part::Carry | Part::Steps) => codes.push(None),
            Err(Refusal::Lacks(_)) => return Ok(Vec::new()),
            Err(Refusal::Failed(message)) => {
                return Err(BackendError::Compile { kernel: kernel.name.0.clone(), message });
            }
        }
    }
    *compiled = wider;
    Ok(codes)
}
