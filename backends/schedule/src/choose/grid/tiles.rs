//! Tiles of points: of which extents, and which loads are staged.

use fusebox_ir::{Kernel, analysis::kernels::trip_count};

use super::THREADS;
use crate::{
    form::Form,
    grid::{Grid, Halo, TileLevels, Tiled, faults_of_tiles, halos, stage, tiled, words_of_accumulators},
};

/// Bytes of shared memory that boxes around tiles take at most: so many leave room for several blocks on a multiprocessor.
const MOST_AROUND: u64 = 24 << 10;

/// Rows and columns of tiles with what is around them, of two levels and of one.
const AROUND: [&[(u32, u32)]; 2] = [&[(32, 64), (16, 64), (8, 64), (8, 32)], &[(1, 1024), (1, 512), (1, 256)]];

/// The loads of a tile that are staged.
pub(super) fn staged(kernel: &Kernel, grid: &Grid) -> Vec<Form> {
    let Grid::Tiled(own) = *grid else { return Vec::new() };
    let form = |position: usize| Form::Staged { statement: position as u32 };
    let loads = (0..kernel.statements.len()).filter(|&position| stage(kernel, own.of(), position).is_ok());
    let mut forms = Vec::new();
    for load in loads {
        forms.push(form(load));
        if !faults_of_tiles(kernel, grid, &forms).is_empty() {
            forms.pop();
        }
    }
    if forms.is_empty() && own.steps == 0 {
        let shared = shared_halos(kernel, own.of(), own.extents);
        let mut loads: Vec<usize> = shared.into_iter().flat_map(|halo| halo.loads).collect();
        loads.sort_unstable();
        forms.extend(loads.into_iter().map(form));
    }
    forms
}

/// What several loads read at points and around them, where the box has fewer elements than they read at the points, and all boxes have room.
fn shared_halos(kernel: &Kernel, of: TileLevels, extents: (u32, u32)) -> Vec<Halo> {
    let loads = (0..kernel.statements.len()).filter(|&position| halos(kernel, of, &[position]).is_ok());
    let Ok(halos) = halos(kernel, of, &loads.collect::<Vec<_>>()) else { return Vec::new() };
    let mut left = MOST_AROUND;
    let pays = |halo: &Halo| {
        let mut read: Vec<Vec<u64>> = halo.loads.iter().map(|&load| halo.distances(kernel, load)).collect();
        read.sort_unstable();
        read.dedup();
        halo.elements(extents) < u64::from(extents.0 * extents.1) * read.len() as u64
    };
    let fits = |halo: &Halo| {
        let room = left.checked_sub(halo.bytes(kernel, extents));
        left = room.unwrap_or(left);
        room.is_some()
    };
    halos.into_iter().filter(pays).filter(fits).collect()
}

/// Tiles that are worth a try, the best first, with the reasons.
///
/// # Errors
/// Why there are none.
pub(super) fn best(kernel: &Kernel) -> Result<Vec<(Tiled, &'static str)>, &'static str> {
    let two = tiled(kernel, 2);
    let mut found = Vec::new();
    let mut why = "points share little of what they read, or are few";
    for of in [two, tiled(kernel, 1)] {
        match of {
            Ok(of) if of.inner => found.extend(product(kernel, of)),
            Ok(of) => found.extend(turned(kernel, of).or_else(|| around(kernel, of))),
            Err(fault) => why = fault,
        }
    }
    if found.is_empty() { Err(why) } else { Ok(found) }
}

/// Whether a level is known to have fewer steps.
fn few(kernel: &Kernel, level: usize, least: i64) -> bool {
    trip_count(&kernel.levels[level]).is_some_and(|steps| steps < least)
}

fn turned(kernel: &Kernel, of: TileLevels) -> Option<(Tiled, &'static str)> {
    let TileLevels { outer, levels, .. } = of;
    if !(0..kernel.statements.len()).any(|at| stage(kernel, of, at).is_ok())
        || (outer..of.points()).any(|level| few(kernel, level, 32))
    {
        return None;
    }
    let tile = Tiled { outer, levels, extents: (32, 32), points: (1, 1), steps: 0, threads: THREADS };
    Some((tile, "neighbours in memory are no neighbouring points: tiles are turned in shared memory"))
}

fn around(kernel: &Kernel, of: TileLevels) -> Option<(Tiled, &'static str)> {
    let TileLevels { outer, levels, .. } = of;
    if (outer..of.points()).any(|level| few(kernel, level, 32)) {
        return None;
    }
    // Of tiles whose boxes have room the one that shares the most.
    let shares = |extents: &(u32, u32)| {
        let halos = shared_halos(kernel, of, *extents);
        let loads: usize = halos.iter().map(|halo| halo.loads.len()).sum();
        (loads > 0).then_some((loads, *extents))
    };
    let all: Vec<(usize, (u32, u32))> = AROUND[usize::from(levels == 1)].iter().filter_map(shares).collect();
    let most = all.iter().map(|(loads, _)| *loads).max()?;
    let (_, extents) = all.into_iter().find(|(loads, _)| *loads == most)?;
    let tile = Tiled { outer, levels, extents, points: (1, 1), steps: 0, threads: THREADS };
    Some((tile, "points read what their neighbours read: a block loads it once, with what is around its tile"))
}

fn product(kernel: &Kernel, of: TileLevels) -> Option<(Tiled, &'static str)> {
    let TileLevels { outer, levels, .. } = of;
    let stages: Vec<_> = (0..kernel.statements.len()).filter_map(|at| stage(kernel, of, at).ok()).collect();
    let words = words_of_accumulators(kernel);
    if levels == 1 {
        if !stages.iter().any(|stage| stage.row) || few(kernel, outer, 64) || few(kernel, outer + 1, 32) {
            return None;
        }
        let tile = Tiled { outer, levels, extents: (1, THREADS), points: (1, 1), steps: 64, threads: THREADS };
        return Some((tile, "all points read the same: a block loads it once, some steps at a time"));
    }
    let both = stages.iter().any(|stage| stage.row) && stages.iter().any(|stage| !stage.row);
    if !both || few(kernel, outer, 16) || few(kernel, outer + 1, 16) || few(kernel, outer + 2, 8) {
        return None;
    }
    // What a thread has in registers of its points.
    let points = [(4, 4), (4, 2), (2, 2)].into_iter().find(|(down, across)| words * down * across <= 64)?;
    let extents = (16 * points.0, 16 * points.1);
    let tile = Tiled { outer, levels, extents, points, steps: 8, threads: THREADS };
    Some((tile, "points share what they read: a block loads it once, and a thread has some points in registers"))
}

/// Tiles of all kinds, for kernels that may have them.
pub(super) fn grids(kernel: &Kernel) -> Vec<Tiled> {
    let mut grids = Vec::new();
    for of in [2, 1].into_iter().filter_map(|levels| tiled(kernel, levels).ok()) {
        let TileLevels { outer, levels, inner } = of;
        let mut tile = |extents, points, steps, threads| {
            grids.push(Tiled { outer, levels, extents, points, steps, threads });
        };
        match (inner, levels) {
            (true, 2) => {
                for (extents, points, threads) in
                    [((64, 64), (4, 4), 256), ((32, 16), (2, 2), 128), ((16, 32), (4, 4), 32)]
                {
                    [2, 8].into_iter().for_each(|steps| tile(extents, points, steps, threads));
                }
            }
            (true, _) => {
                tile((1, 256), (1, 1), 64, 256);
                tile((1, 64), (1, 2), 8, 32);
                tile((1, 128), (1, 4), 256, 32);
            }
            (false, 2) => {
                let turned = (0..kernel.statements.len()).any(|at| stage(kernel, of, at).is_ok());
                if turned {
                    tile((32, 32), (1, 1), 0, 256);
                    tile((16, 64), (1, 1), 0, 128);
                } else {
                    tile((32, 64), (1, 1), 0, 256);
                    tile((8, 32), (1, 1), 0, 64);
                    tile((2, 256), (1, 1), 0, 128);
                }
            }
            (false, _) => {
                tile((1, 1024), (1, 1), 0, 256);
                tile((1, 64), (1, 1), 0, 32);
            }
        }
    }
    grids
}
