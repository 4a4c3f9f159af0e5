//! Which threads of a GPU do what: the grid of a kernel, and the loops that say so.

mod candidates;
mod loops;
mod tiles;

use fusebox_ir::{Kernel, association::BLOCK};

use self::{
    candidates::{Candidates, Found},
    loops::loops,
};
use super::{Choice, Preferences};
use crate::{
    grid::{Grid, LongRows, WARP, facts, faults, long_rows, scatter_forms},
    schedule::Nest,
    target::{Gpu, Target},
};

/// Threads of a block where none of them needs to know of the others, or where the kernel does not say how many combine.
const THREADS: u32 = 256;
/// Threads of a block that combine the steps of a point, where the kernel does not say how many.
const THREADS_OF_ROW: u32 = 64;
/// Warps of a block that know nothing of each other.
const WARPS: u32 = 8;
/// Most steps of a level that a warp reduces, where their number is known.
const FEW_OF_BLOCK: i64 = 1024;
/// Steps from which on a warp reduces a row whose length is its own.
const FEW_OF_ROW: u32 = 8;
/// Steps from which on all warps share those of a row.
const VERY_LONG: u32 = 1 << 15;
/// Steps from which on a warp scans a row.
const SHORT: u32 = 16;
/// Most steps of a level that one thread reduces, where their number is known.
const FEW: i64 = 32;

/// The nest of a kernel on a GPU.
pub(super) fn nest(kernel: &Kernel, gpu: &Gpu, preferences: Preferences, choices: &mut Vec<Choice>) -> Nest {
    let found = if preferences.shared == Some(false) {
        Found { grid: Grid::One, because: "that is what was asked for".to_owned(), instead_of: Vec::new() }
    } else {
        Candidates { kernel, gpu, instead_of: Vec::new() }.best()
    };
    if !kernel.levels.is_empty() {
        choices.push(Choice {
            about: "threads".to_owned(),
            chosen: found.grid.to_string(),
            because: found.because,
            instead_of: found.instead_of,
        });
    }
    let mut nest = loops(kernel, found.grid);
    nest.forms = scatter_forms(kernel, &found.grid, choices);
    nest.forms.extend(tiles::staged(kernel, &found.grid));
    nest
}

/// Whether positions have 32 bits where that is enough.
pub(super) fn is_narrow(kernel: &Kernel, target: &Target, choices: &mut Vec<Choice>) -> bool {
    if target.cpu().is_some() || kernel.levels.is_empty() {
        return false;
    }
    choices.push(Choice {
        about: "positions in arrays".to_owned(),
        chosen: "of 32 bits in launches in which no array has 2^31 elements, else of 64".to_owned(),
        because: "a product of 64 bits takes four of 32".to_owned(),
        instead_of: vec!["always of 64 bits: most arrays are smaller".to_owned()],
    });
    true
}

/// Nests that differ from each other: that of [`nest`] first, then those of other grids.
pub(super) fn alternatives(kernel: &Kernel, gpu: &Gpu) -> Vec<Nest> {
    let mut nests = vec![nest(kernel, gpu, Preferences::default(), &mut Vec::new())];
    let levels = kernel.levels.len();
    let mut grids = vec![Grid::One];
    for threads in [WARP, 64, 128, THREADS, 512] {
        for first in 1..=levels {
            // A row without steps is not long, and one with a step is.
            let any = if threads == WARP { 1 } else { threads - 58 };
            let long = long_rows(kernel, first).map(|rows| match rows {
                LongRows::Reduced(Some(own)) => (own.least, &[0, 5000][..]),
                LongRows::Reduced(None) | LongRows::Apart => (any, &[0, 5000][..]),
                LongRows::Scanned { .. } => (any, &[0][..]),
            });
            grids.extend(long.into_iter().flat_map(|(least, cuts)| {
                cuts.iter().map(move |&cut| Grid::ShortOrLong { outer: first, threads, least, cut })
            }));
            grids.extend([1, 2, 4].map(|items| Grid::Points { levels: first, threads, items }));
            grids.push(Grid::Chunks { levels: first, threads });
            grids.push(Grid::Fold { inner: first, threads });
            grids.extend((1..=levels - first).flat_map(|inner| {
                let warps = Grid::WarpRows { outer: first, inner, warps: threads / WARP };
                [Grid::Rows { outer: first, inner, threads }, warps]
            }));
        }
        grids.extend([1, 2, 8].map(|blocks| Grid::Tiles { steps: blocks * BLOCK as u32, threads }));
    }
    grids.extend(tiles::grids(kernel).into_iter().map(Grid::Tiled));
    grids.push(Grid::Chunks { levels: 0, threads: 1 });
    for grid in grids {
        // One thread goes through the one chunk there is.
        let same = matches!(grid, Grid::Chunks { levels: 0, .. }) && facts::is_one_chunk(kernel);
        if levels > 0 && !same && faults(kernel, &grid, gpu).is_empty() {
            let plain = loops(kernel, grid);
            let mut forms = scatter_forms(kernel, &grid, &mut Vec::new());
            forms.extend(tiles::staged(kernel, &grid));
            for nest in [Nest { forms, ..plain.clone() }, plain] {
                if !nests.contains(&nest) {
                    nests.push(nest);
                }
            }
        }
    }
    nests
}
