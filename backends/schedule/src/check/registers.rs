//! Whether what stays in registers has room there.

use super::bits::Check;
use crate::{
    registers::registers_innermost,
    schedule::{By, Loop},
    target::Cpu,
};

impl Check<'_> {
    /// Accumulators that stay in registers while the innermost of their loops runs, of unrolled gangs and of steps at once, take no more registers than there are.
    pub(super) fn registers(&mut self, cpu: &Cpu) {
        let lanes = self.leaf.loops.iter().find_map(|each| match each.by {
            By::Lanes(lanes) => Some(lanes),
            _ => None,
        });
        // Steps of an innermost level that stand in a row have rules of their own.
        let in_a_row = |each: &Loop| each.by == By::Serial && self.level_of(each.axis) + 1 == self.kernel.levels.len();
        let unrolled = self.leaf.loops.iter().filter(|each| each.unroll.max(each.points) > 1 && !in_a_row(each));
        let gangs = unrolled.clone().fold(1u32, |gangs, each| gangs.saturating_mul(each.unroll));
        // While a row of one iteration has the gangs of one point, it has one gang of each other point.
        let points = self.leaf.loops.last().map_or(1, |each| each.points);
        let own = self.leaf.loops.last().map_or(1, |each| each.unroll);
        let copies = match self.leaf.loops.last() {
            Some(row) if self.is_one_iteration(row) => (gangs / own).saturating_mul(points).saturating_add(own - 1),
            _ => gangs.saturating_mul(points),
        };
        let Some(outermost) = unrolled.map(|each| self.level_of(each.axis)).min() else { return };
        let one = registers_innermost(self.kernel, cpu, (outermost, lanes.unwrap_or(1)), |position| {
            self.leaf.statements.contains(&position)
        });
        let needed = one.saturating_mul(copies);
        if needed > cpu.registers {
            let there = cpu.registers;
            self.fault(format!("accumulators in registers take {needed} vector registers, and there are {there}"));
        }
    }
}
