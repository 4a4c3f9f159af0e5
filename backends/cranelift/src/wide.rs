//! Kernels in vectors of 64 or 32 bytes, where the machine has them and the kernel is in gangs.

use fusebox_backend::BackendError;
use fusebox_ir::{Action, ElementType, Instruction, Kernel, ScalarOp};
use fusebox_schedule::{Target, gangs::is_counted_before};
use fusebox_wide::{Code, Features, Refusal, compile};

use crate::{
    Config,
    emit::Part,
    kernel::{CompiledKernel, Forced, ScheduledKernel},
};

/// What wide code may use under a configuration; none where there is to be no wide code. Everything that is loaded asks here.
///
/// # Errors
/// [`BackendError::Unsupported`] of features that this machine lacks: their code must not be run.
pub(crate) fn features(config: &Config) -> Result<Option<Features>, BackendError> {
    if let Some(features) = config.features.filter(|features| !features.run_here()) {
        let what = format!("code for a processor with {features}: this machine lacks some of that");
        return Err(BackendError::Unsupported { backend: "cpu", what });
    }
    let wanted = config.vectors && config.wide;
    Ok(if wanted { config.features.or_else(Features::of_this_machine) } else { None })
}

/// A kernel emitted for vectors of 64 or 32 bytes.
#[derive(Clone, Debug)]
pub struct WideKernel {
    /// Its schedule and functions, which replace those for shorter vectors.
    pub compiled: CompiledKernel,
    /// The machine code of each of its parts; none of a part that is not in gangs and that Cranelift has to compile.
    pub codes: Vec<Option<Code>>,
}

/// A kernel as wide code for these features, whatever the machine at hand; none where the kernel stays as it is.
///
/// # Errors
/// [`BackendError`], of code that should have been made.
pub(crate) fn kernel(
    kernel: &Kernel,
    (narrow, forced): (&ScheduledKernel, &Forced),
    features: Features,
) -> Result<Option<WideKernel>, BackendError> {
    let Some(compiled) = emitted(kernel, narrow, forced, features)? else { return Ok(None) };
    let codes = codes(kernel, &compiled, features)?;
    Ok(codes.map(|codes| WideKernel { compiled, codes }))
}

/// The functions of a kernel for the vectors of these features; none where the kernel stays as it is.
///
/// # Errors
/// As of [`compile_kernel`].
pub(crate) fn emitted(
    kernel: &Kernel,
    narrow: &ScheduledKernel,
    forced: &Forced,
    features: Features,
) -> Result<Option<CompiledKernel>, BackendError> {
    let bytes = features.vector_bytes();
    if let (Some(schedule), Some(target)) = (forced.wide(features), Target::of_vectors(bytes)) {
        let scheduled = ScheduledKernel::checked(kernel, schedule.clone(), target)?;
        return scheduled.for_strips_as(narrow).emit(kernel).map(Some);
    }
    // Scalar code is as good from Cranelift, but for rows: what is used in them alone has no register outside.
    let rows = (1..kernel.levels.len()).any(|level| !is_counted_before(kernel, level));
    // Gangs of `f16`, and of what some lanes alone read, may gain in longer vectors alone.
    let halves = kernel.arrays.iter().any(|array| array.element == ElementType::F16);
    let some_read = kernel.statements.iter().any(|statement| match &statement.action {
        Action::Scalar(instruction) => reads_in_branches(instruction),
        _ => false,
    });
    // So may those that keep some of their lanes.
    let appends = kernel.statements.iter().any(|statement| matches!(statement.action, Action::Append { .. }));
    if forced.is_narrow(features) || narrow.gang(kernel).is_none() && !rows && !halves && !some_read && !appends {
        return Ok(None);
    }
    let scheduled = ScheduledKernel::best(kernel, Some(bytes))?.for_strips_as(narrow);
    (scheduled.gang(kernel).is_some() || rows).then(|| scheduled.emit(kernel)).transpose()
}

/// Whether a branch of an `if` reads an array.
fn reads_in_branches(instruction: &Instruction) -> bool {
    let ScalarOp::If { then, otherwise, .. } = &instruction.op else { return false };
    let mut inside = then.instructions.iter().chain(&otherwise.instructions);
    inside
        .any(|inner| matches!(inner.op, ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. }) || reads_in_branches(inner))
}

/// The machine code of these functions, where it is not Cranelift's to make; none where the kernel stays as it is.
///
/// # Errors
/// [`BackendError`], of code that should have been made.
pub(crate) fn codes(
    kernel: &Kernel,
    compiled: &CompiledKernel,
    features: Features,
) -> Result<Option<Vec<Option<Code>>>, BackendError> {
    let mut codes = Vec::new();
    for (part, function) in &compiled.parts {
        match compile(function, features) {
            Ok(code) => codes.push(Some(code)),
            // What is not in gangs can be Cranelift's.
            Err(Refusal::Lacks(_)) if matches!(part, Part::Finish | Part::Carry | Part::Steps) => codes.push(None),
            Err(Refusal::Lacks(_)) => return Ok(None),
            Err(Refusal::Failed(message)) => {
                return Err(BackendError::Compile { kernel: kernel.name.0.clone(), message });
            }
        }
    }
    Ok(Some(codes))
}
