//! The code of the kernels of a plan, for people: what a described machine would run.

use fusebox_ir::{Kernel, Plan};
use fusebox_schedule::Target;

use crate::{Backend, Error, backend::failed};

/// The code that the kernels of a plan get on a target (one of [`Target::NAMES`]), in order, whatever the machine at hand: of processors the
/// block functions in the vector IR, of GPUs PTX.
///
/// # Errors
/// [`Error::UnknownTarget`], [`Error::Backend`] for a kernel that the target's backend does not compile.
pub fn code(plan: &Plan, target: &str) -> Result<Vec<String>, Error> {
    let target = Target::named(target).ok_or_else(|| Error::UnknownTarget { name: target.to_owned() })?;
    plan.kernels.iter().map(|kernel| of(kernel, &target)).collect()
}

fn of(kernel: &Kernel, target: &Target) -> Result<String, Error> {
    let Some(cpu) = target.cpu() else { return ptx(kernel, target) };
    let compiled = fusebox_cranelift::compile_kernel(kernel, Some(cpu.vector_bytes as usize))
        .map_err(|error| failed(Backend::Cpu, error))?;
    Ok(compiled.parts.iter().map(|(_, function)| format!("{function}\n")).collect())
}

#[cfg(feature = "gpu")]
fn ptx(kernel: &Kernel, target: &Target) -> Result<String, Error> {
    fusebox_ptx::emit(kernel, target).map(|module| module.text).map_err(|error| failed(Backend::Cuda, error))
}

#[cfg(not(feature = "gpu"))]
fn ptx(_: &Kernel, _: &Target) -> Result<String, Error> {
    crate::backend::no_gpus("cuda")
}
