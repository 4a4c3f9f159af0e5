//! How many vector registers accumulators take.

use fusebox_ir::{Action, Kernel};

use crate::{gangs::inside, target::Cpu};

/// Vector registers that an accumulator for each of so many lanes takes, of all reduces inside of a level together, or of some of them.
pub(crate) fn registers_of_accumulators(
    kernel: &Kernel,
    cpu: &Cpu,
    (level, lanes): (usize, u32),
    of: impl Fn(usize) -> bool,
) -> u32 {
    let some = inside(kernel, level).filter(|(position, _)| of(*position));
    let registers = some.map(|(_, statement)| match &statement.action {
        Action::Reduce { combine, values, .. } => {
            let types = combine.params.iter().take(values.len());
            types.map(|param| cpu.registers_of(lanes, param.ty.bytes())).sum()
        }
        _ => 0,
    });
    registers.fold(0, u32::saturating_add)
}
