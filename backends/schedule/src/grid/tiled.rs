//! Tiles of points whose block has what they read in its shared memory: products, where many points read the same, transposes, where
//! neighbours in memory are no neighbours in the order of the points, and stencils, where points read what their neighbours read too.

use fusebox_ir::{
    Action, Association, DimBoundary, Kernel, LevelOrder, ScalarOperand, Statement, analysis::kernels::depths,
};

use super::{
    Grid, cannot_fail,
    facts::{flat_levels, free_levels, instruction_cannot_fail, is_early, is_exact, may_be_overwritten},
    halo::halos,
    limits::{MOST_SHARED, OTHER_REGISTERS},
    tile_levels::TileLevels,
};
use crate::{form::Form, target::Gpu};

/// Rows and columns from which on tiles are turned in shared memory: in launches with fewer most of a tile would be empty, and threads take points one by one.
pub const LEAST_TURNED: i64 = 16;

/// A tile, and who takes what of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiled {
    /// How many levels are around those of the tile.
    pub outer: usize,
    /// Levels of the tile: two, rows and columns, or one, whose points are the columns of one row.
    pub levels: usize,
    /// Rows and columns of points.
    pub extents: (u32, u32),
    /// Rows and columns that a thread has at once, in registers.
    pub points: (u32, u32),
    /// Steps of the level inside that are in shared memory at a time; 0: there is no such level.
    pub steps: u32,
    /// Threads of the block.
    pub threads: u32,
}

impl Tiled {
    /// Its levels.
    pub fn of(&self) -> TileLevels {
        TileLevels { outer: self.outer, levels: self.levels, inner: self.steps > 0 }
    }

    /// How many elements apart rows of what is staged are: a few more than there are, so that columns are in different banks.
    pub fn stride(&self, extent: u32) -> u32 {
        match (self.steps, extent) {
            (0, _) => extent + 1,
            (_, 1) => 1,
            _ => extent + 4,
        }
    }

    /// Bytes of shared memory of a load.
    pub fn bytes(&self, kernel: &Kernel, stage: Stage) -> u64 {
        let bytes = kernel.arrays.get(stage.array).map_or(8, |array| array.element.bytes() as u64);
        match (self.steps, stage.row) {
            (0, _) => u64::from(self.stride(self.extents.0) * self.extents.1) * bytes.max(4),
            (steps, true) => u64::from(self.stride(self.extents.0) * steps) * bytes,
            (steps, false) => u64::from(self.stride(self.extents.1) * steps) * bytes,
        }
    }
}

/// A load whose elements may be in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The position of its array.
    pub array: usize,
    /// Of a product: whether rows of the tile read different elements, and columns the same; else it is the other way round.
    pub row: bool,
    /// Of a product: whether neighbours in memory are those of the level inside.
    pub along_steps: bool,
}

/// The levels of tiles of so many levels.
///
/// # Errors
/// Why there are no tiles.
pub fn tiled(kernel: &Kernel, levels: usize) -> Result<TileLevels, &'static str> {
    let free = free_levels(kernel);
    let flat = flat_levels(kernel, free);
    let Some(outer) = flat.checked_sub(levels) else { return Err("points are not numbered by two levels") };
    let inner = kernel.levels.len() - flat;
    if inner > 1 || flat < free {
        return Err("there are several levels inside of the points");
    }
    if (outer..flat).any(|level| kernel.levels[level].order == LevelOrder::Down) {
        return Err("a level of the points runs down");
    }
    let found = TileLevels { outer, levels, inner: inner == 1 };
    let statements = || kernel.statements.iter().enumerate();
    let pure = |statement: &Statement| match &statement.action {
        Action::Load { map, outside, .. } => !map.checked && outside.as_ref().is_none_or(cannot_fail),
        Action::Scalar(instruction) => instruction_cannot_fail(instruction),
        _ => false,
    };
    if inner == 0 {
        let plain = |statement: &Statement| {
            matches!(
                statement.action,
                Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } | Action::Store { .. }
            )
        };
        return if statements().all(|(_, statement)| statement.depth as usize != flat || plain(statement)) {
            Ok(found)
        } else {
            Err("points do more than load, compute and store")
        };
    }
    let known = depths(kernel);
    let early = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(local) => known.get(&local) == Some(&0),
        _ => true,
    };
    let level = &kernel.levels[flat];
    if !early(level.from) || !early(level.to) {
        return Err("points have different numbers of steps");
    }
    let mut reduced = None;
    for (position, statement) in statements() {
        let depth = statement.depth as usize;
        match &statement.action {
            Action::Reduce { to, association, combine, .. } if depth == flat + 1 => {
                let in_order = *association == Association::InOrder || is_exact(combine);
                if *to as usize != flat || !in_order || !cannot_fail(combine) {
                    return Err("a reduce is not in order, or may fail");
                }
                reduced = Some(position);
            }
            Action::Store { .. } if depth == flat && reduced.is_some() => {}
            _ if depth < flat || pure(statement) => {}
            _ => return Err("points do more than load, combine and store"),
        }
    }
    reduced.map(|_| found).ok_or("nothing is combined")
}

/// How a load may be staged in tiles of these levels, but for those that points share with their neighbours ([`halos`]).
///
/// # Errors
/// Why it may not.
pub fn stage(kernel: &Kernel, of: TileLevels, position: usize) -> Result<Stage, &'static str> {
    let depth = of.points() + usize::from(of.inner);
    let Some(Statement { depth: own, action: Action::Load { array, map, outside: None, .. }, .. }) =
        kernel.statements.get(position)
    else {
        return Err("it is no load, or one with a boundary");
    };
    if *own as usize != depth || map.checked || !is_early(kernel, map) {
        return Err("where it reads is not known before");
    }
    if map.dims.iter().any(|dim| dim.boundary != DimBoundary::None) {
        return Err("it is no load, or one with a boundary");
    }
    if may_be_overwritten(kernel, *array) {
        return Err("what it reads may be overwritten");
    }
    let index = |level: usize| kernel.levels[level].index.id;
    let reads = |level: usize| map.dims.iter().any(|dim| dim.terms.iter().any(|&(_, local)| local == index(level)));
    let Some(last) = map.dims.last() else { return Err("it reads a scalar") };
    let along = |level: usize| last.terms.contains(&(1, index(level)));
    let array = array.index();
    match (of.rows(), of.inner) {
        (None, false) => Err("one level is not turned"),
        (Some(rows), false) => {
            let apart = !last.terms.iter().any(|&(_, local)| local == index(of.columns()));
            if along(rows) && reads(of.columns()) && apart {
                Ok(Stage { array, row: true, along_steps: false })
            } else {
                Err("neighbouring points do not read what lies apart, and points below each other neighbours")
            }
        }
        (rows, true) => {
            let (inner, column) = (of.points(), reads(of.columns()));
            // Of one level all points are the columns of one row, and share what that row reads.
            let row = rows.map_or(!column, reads);
            if row == column || !reads(inner) {
                return Err("points do not share what it reads");
            }
            Ok(Stage { array, row, along_steps: along(inner) })
        }
    }
}

/// Accumulators of a point in 32-bit registers.
pub(crate) fn words(kernel: &Kernel) -> u32 {
    let of = |statement: &Statement| match &statement.action {
        Action::Reduce { combine, .. } => {
            combine.params.iter().take(combine.results.len()).map(|param| param.ty.bits().div_ceil(32)).sum()
        }
        _ => 0,
    };
    kernel.statements.iter().map(of).sum()
}

/// What is wrong with a tile.
pub(super) fn faults(kernel: &Kernel, own: &Tiled, gpu: &Gpu) -> Vec<String> {
    let mut faults = Vec::new();
    match tiled(kernel, own.levels) {
        _ if !matches!(own.levels, 1 | 2) => {
            faults.push(format!("a tile has one level or two, and not {}", own.levels))
        }
        Err(why) => faults.push(format!("there are no tiles of points: {why}")),
        Ok(of) if of != own.of() => {
            let outer = of.outer;
            faults.push(format!("tiles are of level {outer} and the next, and others are asked for"));
        }
        Ok(_) => {}
    }
    let ((rows, columns), (down, across)) = (own.extents, own.points);
    let most = if own.steps == 0 { 1024 } else { 256 };
    let whole = [rows, columns, down, across].iter().all(|number| number.is_power_of_two() && *number <= most)
        && (own.steps == 0 || own.steps.is_power_of_two() && (2..=256).contains(&own.steps))
        && rows * columns <= 4096
        && down <= 4
        && across <= 4;
    if !whole {
        faults.push("numbers of a tile are small powers of two".to_owned());
        return faults;
    }
    let (points, threads) = (rows * columns, own.threads);
    let shares = if own.steps == 0 {
        (down, across) == (1, 1) && points % threads.max(1) == 0
    } else {
        rows >= down && columns >= across && points == threads * down * across
    };
    if !shares || !threads.is_power_of_two() || threads % super::WARP != 0 {
        faults.push(format!("{threads} threads do not share the points of the tile"));
    }
    let registers = words(kernel) * down * across;
    let most = gpu.registers.saturating_sub(OTHER_REGISTERS);
    if registers > most {
        faults.push(format!("accumulators take {registers} registers of a thread, and there are {most}"));
    }
    faults
}

/// What is wrong with the loads that are staged.
pub fn faults_of_tiles(kernel: &Kernel, grid: &Grid, forms: &[Form]) -> Vec<String> {
    let (mut faults, mut room, mut seen) = (Vec::new(), 0, Vec::new());
    let (mut turned, mut around) = (false, Vec::new());
    for form in forms {
        let Form::Staged { statement } = *form else { continue };
        if seen.contains(&statement) {
            faults.push(format!("statement {statement} is staged twice"));
        }
        seen.push(statement);
        let Grid::Tiled(own) = grid else {
            faults.push("loads are staged in tiles of points".to_owned());
            continue;
        };
        match (stage(kernel, own.of(), statement as usize), own.steps) {
            (Ok(stage), _) => {
                room += own.bytes(kernel, stage);
                turned |= own.steps == 0;
            }
            (Err(_), 0) => around.push(statement as usize),
            (Err(why), _) => faults.push(format!("statement {statement} is not staged: {why}")),
        }
    }
    if let Grid::Tiled(own) = grid {
        match halos(kernel, own.of(), &around) {
            Ok(halos) => room += halos.iter().map(|halo| halo.bytes(kernel, own.extents)).sum::<u64>(),
            Err((position, why)) => faults.push(format!("statement {position} is not staged: {why}")),
        }
        if turned && !around.is_empty() {
            faults.push("tiles are turned, or have what is around them, and not both".to_owned());
        }
        if turned && own.threads < own.extents.0.max(own.extents.1) {
            let threads = own.threads;
            faults.push(format!("{threads} threads do not share the points of the tile"));
        }
    }
    if room > MOST_SHARED {
        faults.push(format!("what is staged takes {room} bytes of shared memory, and there are {MOST_SHARED}"));
    }
    faults
}
