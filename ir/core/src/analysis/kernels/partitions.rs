//! Scatters in parts: elements are put aside first, a *record* each, sorted by which part of the targets they go to; then each part is combined
//! by one thread. Each target still gets its elements in the order of the source, so that the bits are those of one thread.

use std::{collections::HashSet, fmt};

use crate::{
    Action, Kernel, LocalId, ScalarOperand, ScatterOrder, Statement,
    analysis::need::{free_uses, local},
};

use super::ranges::{OneRange, in_ranges_apart_from, scans_outermost};

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

/// Why a scatter may not run in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPartitioned {
    /// It is no scatter.
    NoScatter,
    /// It is outside of all levels.
    Outside,
    /// No two elements have one target: threads write where they like.
    Unique,
    /// How many elements a step has is not known before it.
    Uneven,
    /// Something is appended beside it.
    Append,
    /// Another scatter stands beside it.
    OtherScatter,
    /// Something is scanned along the outermost level.
    Scan,
    /// Its function uses more than the elements that it combines.
    Captures,
    /// The kernel would run as one range without it, too.
    OneRange(OneRange),
    /// A record would have so many bytes.
    Bytes(usize),
}

impl fmt::Display for NotPartitioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoScatter => "it is no scatter",
            Self::Outside => "it is outside of all levels",
            Self::Unique => "no two elements have one target, so that threads write where they like",
            Self::Uneven => "how many elements a step has is not known before it",
            Self::Append => "something is appended beside it",
            Self::OtherScatter => "another scatter stands beside it",
            Self::Scan => "something is scanned along the outermost level",
            Self::Captures => "its function uses more than the elements that it combines",
            Self::OneRange(why) => return why.fmt(f),
            Self::Bytes(bytes) => {
                return write!(f, "an element on its way has {bytes} bytes, and {MOST_BYTES} are the most");
            }
        })
    }
}

/// The records of a scatter (a statement) that may run in parts.
///
/// A scatter in chunks may, in launches in which it has one chunk alone.
///
/// # Errors
/// Why it may not.
pub fn in_partitions(kernel: &Kernel, position: usize) -> Result<Record, NotPartitioned> {
    let Some(Statement { depth, action: Action::Scatter { arrays, combine, order, .. }, .. }) =
        kernel.statements.get(position)
    else {
        return Err(NotPartitioned::NoScatter);
    };
    if *depth == 0 {
        return Err(NotPartitioned::Outside);
    }
    if *order == ScatterOrder::Unique {
        return Err(NotPartitioned::Unique);
    }
    let is_known = |operand: ScalarOperand| match operand {
        ScalarOperand::Constant(_) => true,
        ScalarOperand::Local(id) => kernel.sizes.iter().any(|size| size.id == id),
        ScalarOperand::Outer(_) => false,
    };
    if kernel.levels[..*depth as usize].iter().skip(1).any(|level| !is_known(level.from) || !is_known(level.to)) {
        return Err(NotPartitioned::Uneven);
    }
    let others = kernel.statements.iter().enumerate().filter(|&(other, _)| other != position);
    for (_, other) in others {
        match &other.action {
            Action::Append { .. } => return Err(NotPartitioned::Append),
            Action::Scatter { order, .. } if *order != ScatterOrder::Unique => {
                return Err(NotPartitioned::OtherScatter);
            }
            _ => {}
        }
    }
    if scans_outermost(kernel) {
        return Err(NotPartitioned::Scan);
    }
    in_ranges_apart_from(kernel, Some(position)).map_err(NotPartitioned::OneRange)?;
    // Parts are combined when all levels are done.
    let own = combine.params.iter().chain(combine.instructions.iter().flat_map(|own| &own.results));
    let known: HashSet<LocalId> = kernel.sizes.iter().chain(own).map(|local| local.id).collect();
    let mut used = combine.instructions.iter().flat_map(free_uses).chain(combine.results.iter().filter_map(local));
    if used.any(|id| !known.contains(&id)) {
        return Err(NotPartitioned::Captures);
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
        return Err(NotPartitioned::Bytes(bytes));
    }
    Ok(Record { bytes, offsets })
}
