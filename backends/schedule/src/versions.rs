//! Versions of a kernel for certain lengths of its levels.

use fusebox_ir::{Kernel, ScalarOperand, analysis::kernels::of_lengths};

use crate::schedule::Guard;

/// Versions of a schedule, at most: each is code of its own.
pub(crate) const MOST_VERSIONS: usize = 8;

/// The kernel where these guards hold: the sizes that they give are numbers in it.
///
/// # Errors
/// Why no launch knows one of them.
pub fn guarded(kernel: &Kernel, when: &[Guard]) -> Result<Kernel, String> {
    let lengths: Vec<(usize, i64)> = when.iter().map(|guard| (guard.level as usize, guard.steps)).collect();
    of_lengths(kernel, &lengths).ok_or_else(|| {
        "a guard is for a level whose length no launch knows, or one that no array has, or two are for one".to_owned()
    })
}

/// The guards that hold in a launch with these sizes, of levels of at most so many steps that a version may be for.
pub fn guards(kernel: &Kernel, sizes: &[i64], most: i64) -> Vec<Guard> {
    let size = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(id) => sizes.get(kernel.sizes.iter().position(|size| size.id == id)?).copied(),
        ScalarOperand::Constant(_) | ScalarOperand::Outer(_) => None,
    };
    let guard = |(position, level): (usize, &fusebox_ir::Level)| {
        let ScalarOperand::Constant(from) = level.from else { return None };
        let steps = size(level.to)?.checked_sub(from.as_i64()?)?;
        let guard = Guard { level: position as u32, steps };
        (steps <= most && guarded(kernel, &[guard]).is_ok()).then_some(guard)
    };
    kernel.levels.iter().enumerate().filter_map(guard).collect()
}
