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

/// The same of the reduces that combine innermost: while their loop runs, accumulators of loops around it may wait on the stack.
pub(crate) fn registers_innermost(
    kernel: &Kernel,
    cpu: &Cpu,
    (level, lanes): (usize, u32),
    of: impl Fn(usize) -> bool,
) -> u32 {
    let at = |depth: u32| {
        let own = |position: usize| kernel.statements[position].depth == depth && of(position);
        registers_of_accumulators(kernel, cpu, (level, lanes), own)
    };
    let mut depths = (level as u32 + 1..=kernel.levels.len() as u32).rev();
    depths.find_map(|depth| Some(at(depth)).filter(|&registers| registers > 0)).unwrap_or(0)
}
