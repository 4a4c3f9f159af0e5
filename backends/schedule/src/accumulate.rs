//! Which accumulators a level has, and when an iteration may give each of them an element.

use fusebox_ir::{
    Action, Association, Kernel,
    analysis::kernels::{Accumulators, accumulators, shared_reduction},
};

use crate::gangs::inside;

/// The statements right inside of a level that always have interleaved accumulators of their own along it, with those: reduces of this level alone, and
/// scans whose totals are reduced and are not those of a reduce beside them.
pub fn own_accumulators(kernel: &Kernel, level: usize) -> Vec<(usize, Accumulators)> {
    let direct = inside(kernel, level).filter(|(_, statement)| statement.depth as usize == level + 1);
    let own = direct.filter(|(position, _)| shared_reduction(kernel, *position).is_none());
    let with = own.filter_map(|(position, statement)| Some((position, statement, accumulators(kernel, position)?)));
    with.filter(|(_, statement, accumulators)| match &statement.action {
        // A ragged one runs in order where the level is short.
        Action::Reduce { to, association, .. } => {
            let interleaved = matches!(association, Association::Interleaved { .. });
            interleaved && *to as usize == level && accumulators.levels == 1
        }
        _ => true,
    })
    .map(|(position, _, accumulators)| (position, accumulators))
    .collect()
}

/// Whether an iteration of a level across lanes may do `unroll` gangs at once, with all accumulators of the level in registers: it gives each
/// accumulator one element.
///
/// # Errors
/// Why not.
pub fn may_unroll(kernel: &Kernel, level: usize, lanes: u32, unroll: u32) -> Result<(), String> {
    let own = own_accumulators(kernel, level);
    let all = |accepts: fn(&Accumulators) -> bool| own.iter().all(|(_, own)| accepts(own));
    if own.is_empty() {
        return Err(format!("level {level} has no accumulators that unrolled gangs could keep in registers"));
    }
    if !own.iter().all(|(_, own)| own.lanes == lanes.saturating_mul(unroll)) {
        return Err(format!(
            "{unroll} gangs of {lanes} are not the accumulators that the reduces of level {level} have"
        ));
    }
    if !all(|own| own.identity.is_some()) {
        return Err("an accumulator without a known identity is not in a register before its first element".to_owned());
    }
    for (position, statement) in inside(kernel, level) {
        let in_gangs = match &statement.action {
            Action::Reduce { .. } => own.iter().any(|(own, _)| *own == position),
            Action::Scan { association, .. } => matches!(association, Association::Tiles { .. }),
            Action::Append { .. } | Action::Scatter { .. } => false,
            _ => true,
        };
        if statement.depth as usize != level + 1 || !in_gangs {
            return Err(format!("statement {position} goes through gangs lane by lane, or is in a level inside"));
        }
    }
    Ok(())
}
