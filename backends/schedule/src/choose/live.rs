//! How many registers the values of a gang are in at one time.

use std::collections::HashMap;

use fusebox_ir::{
    Action, ElementType, Instruction, Kernel, Lambda, LocalId, ScalarPart,
    analysis::{
        kernels::{AcrossLanes, Lanes},
        need::{free_uses, local},
    },
};

use crate::{gangs::inside, registers::registers_of_accumulators, target::Cpu};

/// Vector registers that gangs along a level need at most for what differs between lanes and is used later, and for accumulators. What conditions
/// say is in registers of its own.
pub(super) fn live_registers(kernel: &Kernel, cpu: &Cpu, (level, lanes): (usize, u32)) -> u32 {
    let classes = Lanes::of(kernel, level);
    let statements: Vec<_> = inside(kernel, level).map(|(_, statement)| statement).collect();
    let used = statements.iter().map(|statement| statement.used_locals().into_iter().collect());
    let made = statements.iter().map(|statement| {
        let results =
            statement.results().into_iter().filter(|result| classes.operand(result.id.into()) == AcrossLanes::Varying);
        results.map(|result| (result.id, registers(cpu, lanes, result.ty))).collect()
    });
    let within = statements.iter().map(|statement| match &statement.action {
        Action::Scalar(instruction) => of_bodies(instruction, cpu, lanes),
        Action::Reduce { combine, .. } | Action::Scan { combine, .. } => of_function(combine, cpu, lanes),
        _ => 0,
    });
    let accumulators = registers_of_accumulators(kernel, cpu, (level, lanes), |_| true);
    accumulators.saturating_add(most_live(used.collect(), made.collect(), within.collect()))
}

/// Registers of what is live at one time, at most. Each step uses some locals, makes some, each in so many registers, and needs registers of its own
/// meanwhile.
fn most_live(used: Vec<Vec<LocalId>>, made: Vec<Vec<(LocalId, u32)>>, within: Vec<u32>) -> u32 {
    let mut last: HashMap<LocalId, usize> = HashMap::new();
    for (at, used) in used.iter().enumerate() {
        last.extend(used.iter().map(|&id| (id, at)));
    }
    // Registers that are free behind each step.
    let mut free = vec![0u32; made.len()];
    let (mut live, mut most) = (0u32, 0);
    for (at, (made, within)) in made.into_iter().zip(within).enumerate() {
        for (id, registers) in made {
            if let Some(&end) = last.get(&id).filter(|&&last| last > at) {
                live = live.saturating_add(registers);
                if let Some(free) = free.get_mut(end) {
                    *free = free.saturating_add(registers);
                }
            }
        }
        most = most.max(live.saturating_add(within));
        live = live.saturating_sub(free[at]);
    }
    most
}

/// The registers of what a function computes.
fn of_function(f: &Lambda, cpu: &Cpu, lanes: u32) -> u32 {
    let results = f.results.iter().filter_map(local).collect();
    let used = f.instructions.iter().map(|instruction| free_uses(instruction).into_iter().collect()).chain([results]);
    let made = f.instructions.iter().map(|instruction| {
        instruction.results.iter().map(|result| (result.id, registers(cpu, lanes, result.ty))).collect()
    });
    let within = f.instructions.iter().map(|instruction| of_bodies(instruction, cpu, lanes));
    most_live(used.collect(), made.collect(), within.collect())
}

/// The registers of the largest body of an instruction.
fn of_bodies(instruction: &Instruction, cpu: &Cpu, lanes: u32) -> u32 {
    let bodies = instruction.op.parts().into_iter();
    let bodies = bodies.filter_map(|part| if let ScalarPart::Body(body) = part { Some(body) } else { None });
    bodies.map(|body| of_function(body, cpu, lanes)).max().unwrap_or(0)
}

/// Those of a value in each lane.
fn registers(cpu: &Cpu, lanes: u32, ty: ElementType) -> u32 {
    if ty == ElementType::Bool { 0 } else { cpu.registers_of(lanes, ty.bytes()) }
}
