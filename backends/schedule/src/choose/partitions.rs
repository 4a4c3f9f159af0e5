//! Which scatter has its elements put aside, sorted by the parts of the targets that they go to.
//!
//! Threads that combine into the same targets would have to meet at each; with copies for each thread they need not, but copies of more targets than
//! caches hold cost more than they save, and what is in the order of the source cannot have any. Where elements are put aside each is written and read
//! twice more, but all of it in order, and targets are in the caches when they are combined into.

use fusebox_ir::{
    Action, Kernel, KernelExtent,
    analysis::kernels::{Record, in_partitions, in_ranges},
};

use super::Choice;
use crate::{form::Form, schedule::Nest, target::Cpu};

/// The second caches that targets fill at least: there are as many bytes in the third cache of a machine, about.
const SECOND_CACHES: u64 = 16;

/// The scatter of a kernel whose elements may be put aside, with their records.
pub(super) fn scatter(kernel: &Kernel) -> Option<(usize, Record)> {
    (0..kernel.statements.len()).find_map(|position| Some((position, in_partitions(kernel, position).ok()?)))
}

/// The parts of the targets, if elements are to be put aside; `wanted`: whether they are, however few bytes the targets have.
pub(super) fn form(kernel: &Kernel, cpu: &Cpu, wanted: Option<bool>) -> Option<Form> {
    let (position, _) = scatter(kernel).filter(|_| wanted != Some(false))?;
    let Action::Scatter { arrays, .. } = &kernel.statements[position].action else { return None };
    // Where loops make each element, and threads share these anyway, it is not worth so much more code.
    let made_in_loops = kernel.levels.len() > kernel.statements[position].depth as usize;
    if wanted.is_none() && made_in_loops && in_ranges(kernel).is_ok() {
        return None;
    }
    let from = if wanted.is_some() { 0 } else { SECOND_CACHES * cpu.second_cache };
    let bytes: u64 = arrays.iter().map(|array| kernel.arrays[array.index()].element.bytes() as u64).sum();
    let extents = arrays.first().map_or(&[][..], |array| &kernel.arrays[array.index()].extents);
    let known = extents.iter().try_fold(1u64, |targets, extent| match extent {
        KernelExtent::Constant(extent) => targets.checked_mul(u64::try_from(*extent).ok()?),
        KernelExtent::Size(_) => None,
    });
    if known.is_some_and(|targets| targets.saturating_mul(bytes) < from) {
        return None;
    }
    // A quarter of the second cache: what is put aside goes through it too. Parts of few targets are for whoever wants to see them.
    let targets = if wanted.is_some() { 4 } else { (cpu.second_cache / 4 / bytes.max(1)).max(1) };
    let targets = 1 << targets.ilog2().min(u32::BITS - 1);
    Some(Form::Partitioned { statement: position as u32, targets, from })
}

/// What was chosen, for people.
pub(super) fn choice(nest: &Nest) -> Option<Choice> {
    let (statement, targets, from) = nest.partitioned()?;
    Some(Choice {
        about: format!("the scatter of statement {statement}"),
        chosen: format!(
            "on several threads its elements are put aside by parts of {targets} targets, in launches in which these have {from} bytes or more"
        ),
        because: "each part is combined by one thread, in the order of the source, while it is in that thread's cache"
            .to_owned(),
        instead_of: vec!["one thread, or a copy of all targets for each".to_owned()],
    })
}
