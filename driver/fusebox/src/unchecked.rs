//! Programs without the checks that they asked for: to measure what checks cost.

use fusebox_ir::validate;

use crate::{Error, Options, Program, backend, program::assembled};

/// As [`compile_program`](crate::compile_program), without the checks of the program's kernels: to measure what they cost.
///
/// No index, no offsets of segments, and no row of a fold without a seed is checked. Sizes still are, and divisions, assertions, and
/// what stands in branches and loops of functions. The cache plays no part, and [`Program::explain`] has nothing to say. The interpreter
/// checks all the same.
///
/// # Safety
/// On no inputs that it is run on would the program fail if it were compiled with its checks. A run that would have failed reads or
/// writes memory that is not its own.
///
/// # Errors
/// As [`compile_program`](crate::compile_program).
#[allow(unsafe_code)]
pub unsafe fn compile_unchecked(program: &fusebox_ir::Program, options: &Options) -> Result<Program, Error> {
    validate(program, &[]).map_err(Error::Invalid)?;
    // SAFETY: the caller promises the same.
    let loaded = assembled(program, || unsafe { backend::load_unchecked(program, options) })?;
    Ok(Program::bare(loaded))
}
