//! Where the interleaved accumulators of a level across lanes are: all in registers, a batch at a time, or in scratch memory.

use std::collections::BTreeSet;

use fusebox_ir::{Action, Kernel, analysis::kernels};

use super::Accumulators;
use crate::{
    accumulate::{may_unroll, own_accumulators},
    effects::has_effect,
    gangs::inside,
    slice::{MOST_STATEMENTS, free_slice},
    target::Cpu,
};

/// Statements of an unrolled iteration, at most: more of them cost more in code than accumulators in memory do.
const MOST_UNROLLED: usize = 64;

/// Reduces whose accumulators are in registers together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// Reduces of the level, or one scan for its total.
    pub(super) positions: Vec<usize>,
    /// Gangs whose accumulators are in registers at a time.
    pub(super) gangs: u32,
}

/// How the accumulators of a level are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// In scratch memory: each gang loads and stores its own.
    Scratch,
    /// In registers, with so many gangs in an iteration.
    Unrolled(u32),
    /// Batches one after the other over strips of the level; L, and whether there is more to do in the level.
    Strips {
        /// In their order.
        batches: Vec<Batch>,
        /// Accumulators of each component.
        width: u32,
        /// Whether anything but the batches has to run.
        rest: bool,
    },
}

/// What of one level has interleaved accumulators, in gangs of `gang`.
pub(super) struct Level<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) level: usize,
    pub(super) gang: u32,
    pub(super) cpu: &'k Cpu,
}

impl Level<'_> {
    fn registers(&self, accumulators: &kernels::Accumulators) -> u32 {
        accumulators.types.iter().map(|ty| self.cpu.registers_of(self.gang, ty.bytes())).sum()
    }

    fn is_scan(&self, position: usize) -> bool {
        matches!(self.kernel.statements[position].action, Action::Scan { .. })
    }

    /// How accumulators are kept, as wanted or in the best way.
    pub(super) fn kept(&self, wanted: Option<Accumulators>) -> Kept {
        let kept = match wanted {
            None => self.unrolled().or_else(|| self.strips()),
            Some(Accumulators::Scratch) => None,
            Some(Accumulators::Registers) => self.unrolled(),
            Some(Accumulators::Strips) => self.strips(),
        };
        kept.unwrap_or(Kept::Scratch)
    }

    fn unrolled(&self) -> Option<Kept> {
        let own = own_accumulators(self.kernel, self.level);
        let gangs = own.first()?.1.lanes / self.gang;
        let statements = inside(self.kernel, self.level).count();
        let registers: u32 = own.iter().map(|(_, own)| self.registers(own) * gangs).sum();
        let fits = gangs as usize * statements <= MOST_UNROLLED && registers <= self.cpu.accumulator_registers();
        (fits && may_unroll(self.kernel, self.level, self.gang, gangs).is_ok()).then_some(Kept::Unrolled(gangs))
    }

    fn strips(&self) -> Option<Kept> {
        let most = self.cpu.accumulator_registers();
        let mut width = None;
        // With the statements that each needs, and the registers that a gang of its accumulators takes.
        let mut batches: Vec<(Vec<usize>, BTreeSet<usize>, u32)> = Vec::new();
        for (position, own) in own_accumulators(self.kernel, self.level) {
            let registers = self.registers(&own);
            let same = *width.get_or_insert(own.lanes) == own.lanes;
            if own.identity.is_none() || !same || own.lanes < self.gang || registers > most {
                continue;
            }
            let Some(slice) = free_slice(self.kernel, self.level, position) else { continue };
            // Totals of scans are not always wanted: they are alone.
            match batches.last_mut() {
                Some((positions, known, used))
                    if !self.is_scan(position) && *used + registers <= most && !self.is_scan(positions[0]) =>
                {
                    positions.push(position);
                    known.extend(slice);
                    *used += registers;
                }
                _ => batches.push((vec![position], slice, registers)),
            }
        }
        let width = width?;
        let batches: Vec<Batch> = batches
            .into_iter()
            .map(|(positions, slice, registers)| {
                let gangs =
                    (most / registers).min((MOST_STATEMENTS * 2 / slice.len()) as u32).clamp(1, width / self.gang);
                Batch { positions, gangs: 1 << gangs.ilog2() }
            })
            .collect();
        let rest = inside(self.kernel, self.level).any(|(position, statement)| {
            let done = batches.iter().any(|batch| batch.positions.contains(&position));
            let nothing = match &statement.action {
                // More is wanted of a scan than its total, where it has results that something uses.
                Action::Scan { results, .. } => done && !results.iter().any(|result| self.is_used(result.id)),
                _ => done || !has_effect(statement),
            };
            !nothing
        });
        (!batches.is_empty()).then_some(Kept::Strips { batches, width, rest })
    }

    fn is_used(&self, id: fusebox_ir::LocalId) -> bool {
        self.kernel.statements.iter().any(|statement| statement.used_locals().contains(&id))
    }
}
