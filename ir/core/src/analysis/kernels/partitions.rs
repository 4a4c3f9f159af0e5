//! Scatters in parts: elements are put aside first, a *record* each, sorted by which part of the targets they go to; then each part is combined
//! by one thread. Each target still gets its elements in the order of the source, so that the bits are those of one thread.

use std::collections::HashSet;

use crate::{
    Action, Kernel, LocalId, ScalarOperand, ScatterOrder, Statement,
    analysis::need::{free_uses, local},
};

use super::ranges::{in_ranges_apart_from, scans_outermost};

/// Bytes of a record, at most.
const MOST_BYTES: usize = 32;

/// An element of a scatter on its way: its target, in 32 bits, and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Bytes of it: 8, 16, 24 or 32.
    pub bytes: usize,
    /// Where each value is, in bytes from the beginning; the target is at the beginning. A multiple of the value's own size.
    pub offsets: Vec<usize>,
}

/// The records of a scatter (a statement) that may run in parts.
///
/// A scatter in chunks may, in launches in which it has one chunk alone.
///
/// # Errors
/// Why it may not.
pub fn in_partitions(kernel: &Kernel, position: usize) -> Result<Record, String> {
    let Some(Statement { depth, action: Action::Scatter { arrays, combine, order, .. }, .. }) =
        kernel.statements.get(position)
    else {
        return Err("it is no scatter".to_owned());
    };
    if *depth == 0 {
        return Err("it is outside of all levels".to_owned());
    }
    if *order == ScatterOrder::Unique {
        return Err("no two elements have one target, so that threads write where they like".to_owned());
    }
    let is_known = |operand: ScalarOperand| match operand {
        ScalarOperand::Constant(_) => true,
        ScalarOperand::Local(id) => kernel.sizes.iter().any(|size| size.id == id),
        ScalarOperand::Outer(_) => false,
    };
    if kernel.levels[..*depth as usize].iter().skip(1).any(|level| !is_known(level.from) || !is_known(level.to)) {
        return Err("how many elements a step has is not known before it".to_owned());
    }
    let others = kernel.statements.iter().enumerate().filter(|&(other, _)| other != position);
    for (_, other) in others {
        match &other.action {
            Action::Append { .. } => return Err("something is appended beside it".to_owned()),
            Action::Scatter { order, .. } if *order != ScatterOrder::Unique => {
                return Err("another scatter stands beside it".to_owned());
            }
            _ => {}
        }
    }
    if scans_outermost(kernel) {
        return Err("something is scanned along the outermost level".to_owned());
    }
    in_ranges_apart_from(kernel, Some(position)).map_err(|why| why.to_string())?;
    // Parts are combined when all levels are done.
    let own = combine.params.iter().chain(combine.instructions.iter().flat_map(|own| &own.results));
    let known: HashSet<LocalId> = kernel.sizes.iter().chain(own).map(|local| local.id).collect();
    let mut used = combine.instructions.iter().flat_map(free_uses).chain(combine.results.iter().filter_map(local));
    if used.any(|id| !known.contains(&id)) {
        return Err("its function uses more than the elements that it combines".to_owned());
    }
    let mut bytes = size_of::<u32>();
    let mut offsets = Vec::new();
    for array in arrays {
        let own = kernel.arrays[array.index()].element.bytes();
        bytes = bytes.next_multiple_of(own);
        offsets.push(bytes);
        bytes += own;
    }
    let bytes = bytes.next_multiple_of(8);
    if bytes > MOST_BYTES {
        return Err(format!("an element on its way has {bytes} bytes, and {MOST_BYTES} are the most"));
    }
    Ok(Record { bytes, offsets })
}
