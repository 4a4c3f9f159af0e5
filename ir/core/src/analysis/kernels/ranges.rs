//! Whether ranges of a kernel's outermost level can be run apart from each other, so that threads or blocks share them.

use std::fmt;

use crate::{Action, Association, Kernel, ScatterOrder, Statement, analysis::algebra::identities};

use super::totals::has_totals;

/// Why a kernel runs as one range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneRange {
    /// There is nothing inside of a level.
    NoLevel,
    /// A reduce to depth 0 has elements in order, or more than one level inside of it (a statement).
    Reduce(usize),
    /// A scatter or an append outside of all levels (a statement).
    Outside(usize),
    /// A scatter in the order of the source (a statement).
    InOrder(usize),
    /// A scatter whose function has no identity, so that there is nothing that a copy of its targets could start from (a statement).
    NoIdentity(usize),
    /// A scatter in any order beside a scan of the outermost level: a copy of its targets for each tile would be too many.
    CopiesAndTiles,
    /// A scatter in chunks beside a reduce or a scan of the outermost level: they are cut at different places.
    ChunksAndBlocks,
    /// Scatters in chunks of different sizes.
    DifferentChunks,
    /// A scan of the outermost level takes what another one makes: the total of a tile needs the carry.
    ChainedScans,
}

impl fmt::Display for OneRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLevel => "there is no level",
            Self::Reduce(_) => "a reduce to depth 0 takes its elements in order, or over several levels",
            Self::Outside(_) => "a scatter or an append is outside of all levels",
            Self::InOrder(_) => "a scatter is in the order of the source",
            Self::NoIdentity(_) => {
                "the function of a scatter has no identity, from which copies of its targets could start"
            }
            Self::CopiesAndTiles => "a scatter would need a copy of its targets for each tile of a scan",
            Self::ChunksAndBlocks => {
                "chunks of a scatter and blocks of a reduce or tiles of a scan are cut at different places"
            }
            Self::DifferentChunks => "two scatters have chunks of different sizes",
            Self::ChainedScans => {
                "a scan takes what another makes, so that totals of tiles are not known before carries"
            }
        })
    }
}

/// Whether ranges of the outermost level can be run apart; else why not.
///
/// # Errors
/// The first reason why not.
pub fn in_ranges(kernel: &Kernel) -> Result<(), OneRange> {
    in_ranges_apart_from(kernel, None)
}

/// The same where one scatter (a statement) does not matter, as its elements are put aside.
///
/// # Errors
/// The first reason why not.
pub fn in_ranges_apart_from(kernel: &Kernel, scatter: Option<usize>) -> Result<(), OneRange> {
    if kernel.statements.iter().all(|statement| statement.depth == 0) {
        return Err(OneRange::NoLevel);
    }
    let scans = scans_outermost(kernel);
    let mut chunks: Vec<_> = Vec::new();
    let mut reduces = false;
    for (position, statement) in kernel.statements.iter().enumerate() {
        match &statement.action {
            Action::Reduce { to: 0, association, .. } => {
                reduces = true;
                let blocked = matches!(association, Association::Interleaved { .. } | Association::Runs { .. });
                if statement.depth != 1 || !blocked {
                    return Err(OneRange::Reduce(position));
                }
            }
            Action::Append { .. } | Action::Scatter { .. } if statement.depth == 0 => {
                return Err(OneRange::Outside(position));
            }
            Action::Scatter { order, arrays, combine, .. } => match order {
                ScatterOrder::InOrder | ScatterOrder::Any if scatter == Some(position) => {}
                ScatterOrder::InOrder => return Err(OneRange::InOrder(position)),
                ScatterOrder::Any if identities(combine).is_none() => return Err(OneRange::NoIdentity(position)),
                ScatterOrder::Any if scans => return Err(OneRange::CopiesAndTiles),
                ScatterOrder::Any | ScatterOrder::Unique => {}
                ScatterOrder::Chunks => {
                    chunks.extend(arrays.first().map(|array| &kernel.arrays[array.index()].extents));
                }
            },
            _ => {}
        }
    }
    if !chunks.is_empty() && (reduces || scans) {
        return Err(OneRange::ChunksAndBlocks);
    }
    if chunks.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(OneRange::DifferentChunks);
    }
    if scans && !has_totals(kernel) {
        return Err(OneRange::ChainedScans);
    }
    Ok(())
}

/// Whether something is scanned along the outermost level.
pub fn scans_outermost(kernel: &Kernel) -> bool {
    let scan = |statement: &Statement| statement.depth == 1 && matches!(statement.action, Action::Scan { .. });
    kernel.statements.iter().any(scan)
}
