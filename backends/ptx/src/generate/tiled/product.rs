//! Products: a block has some steps of what its rows and its columns read in shared memory, and a thread some points in registers.
//!
//! Each point combines its elements in their order, one after the other, as it does alone: nothing is summed by halves.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use fusebox_ir::{Action, LocalId, Statement};

use super::{Staged, Tile, in_turns};
use crate::{
    emit::{Axis, Emitter, Result, parts},
    generate::{around, neighbours::reads},
    state::{Accumulator, Together},
    text::Reg,
    value::Val,
};

/// Statements inside of the steps from which on the steps in shared memory stand in a loop, and not in a row.
const MANY_STATEMENTS: usize = 16;

/// Most steps that stand in a row.
const MOST_IN_A_ROW: i64 = 32;

/// The points of a thread: what locals are at each, row by row.
struct Points {
    /// The row and the column of the first in the tile. Rows are neighbours; columns lie apart, so that those of neighbouring threads are neighbours.
    first: (Val, Val),
    at: Vec<Vec<BTreeMap<LocalId, Val>>>,
    /// Locals that differ from row to row, and from column to column.
    by_row: BTreeSet<LocalId>,
    by_column: BTreeSet<LocalId>,
    /// For each reduce what points combine into, row by row.
    into: BTreeMap<usize, Vec<Vec<Accumulator>>>,
}

/// One tile.
pub(super) fn tile(e: &mut Emitter<'_>, tile: &Tile<'_>, inner: Range<usize>) -> Result {
    let of = tile.own.of();
    let mut range = around(e, 1..of.outer + 1, inner)?;
    let mut points = Points::new(e, tile);
    if of.rows().is_some() {
        let (of_rows, inside, _) = parts(e.kernel, of.outer + 1, range);
        range = inside;
        of_rows.into_iter().try_for_each(|position| points.statement(e, position))?;
    }
    let (before, steps, behind) = parts(e.kernel, of.points(), range);
    before.into_iter().try_for_each(|position| points.statement(e, position))?;
    points.begin(e, steps.clone())?;
    let places = points.places(e, tile);
    let level = e.axis(of.points())?;
    let size = i64::from(tile.own.steps);
    let around = e.locals.clone();
    e.stride_up(0i64.into(), level.steps, size.into(), |e, first| {
        let left = e.c.sub(level.steps, first);
        let count = e.lesser(left, size.into());
        for staged in tile.staged {
            e.locals.clone_from(&around);
            fill(e, tile, staged, (&level, first, count))?;
        }
        e.locals.clone_from(&around);
        e.c.op("bar.sync 0");
        let mut one = |e: &mut Emitter<'_>, step: Val| {
            let at = e.c.add(first, step);
            points.step(e, (tile, &places), (&level, at, step), steps.clone())
        };
        if steps.len() < MANY_STATEMENTS && size <= MOST_IN_A_ROW {
            let (some, behind) = (e.c.label(), e.c.label());
            let whole = e.c.compare("eq", count, size.into());
            e.c.op(format_args!("@!{whole} bra {some}"));
            (0..size).try_for_each(|step| one(e, step.into()))?;
            e.c.op(format_args!("bra {behind}"));
            e.c.place(some);
            e.count_up(count, |e, step| one(e, step))?;
            e.c.place(behind);
        } else {
            e.count_up(count, |e, step| one(e, step))?;
        }
        e.c.op("bar.sync 0");
        Ok(())
    })?;
    points.end(e, tile, behind)?;
    e.locals = around;
    Ok(())
}

/// Some steps of what a load reads come to shared memory. What is beyond the tile's points is that of the last of them, and nobody stores what comes of it.
fn fill(e: &mut Emitter<'_>, tile: &Tile<'_>, staged: &Staged, (level, first, count): (&Axis, Val, Val)) -> Result {
    let own = tile.own;
    let (rows, columns) = &tile.levels;
    let (extent, start, axis) = match (staged.of.row, rows) {
        (true, rows) => (own.extents.0, tile.start.0, rows.as_ref()),
        (false, _) => (own.extents.1, tile.start.1, Some(columns)),
    };
    in_turns(e, (tile.thread, own.threads), extent * own.steps, |e, number| {
        let (point, step) = if staged.of.along_steps {
            e.parted_by(number, own.steps)
        } else {
            let (step, point) = e.parted_by(number, extent);
            (point, step)
        };
        let there = e.c.compare("lt", step, count);
        e.only_if(there, |e| {
            let at = e.c.add(start, point);
            if let Some(axis) = axis {
                enter_or_last(e, axis, at);
            }
            let at = e.c.add(first, step);
            e.enter(level, at);
            let value = e.of_array(staged)?;
            let row = e.c.mul(step, i64::from(own.stride(extent)).into());
            let place = e.c.add(row, point);
            let place = e.address(staged.base, place, staged.ty.bytes() as u64);
            e.store_to("shared", place, 0, value);
            Ok(())
        })
    })
}

/// Enters a step of a level, or its last one where there is no such step.
fn enter_or_last(e: &mut Emitter<'_>, axis: &Axis, step: Val) {
    let last = e.c.add(axis.steps, (-1i64).into());
    let step = e.lesser(step, last);
    e.enter(axis, step);
}

impl Points {
    fn new(e: &mut Emitter<'_>, tile: &Tile<'_>) -> Self {
        let (rows, columns) = &tile.levels;
        let (down, across) = tile.own.points;
        let around = e.locals.clone();
        let (row, column) = e.parted_by(tile.thread, tile.own.extents.1 / across);
        let first = (e.c.mul(row, i64::from(down).into()), column);
        let [row, column] =
            [rows.as_ref(), Some(columns)].map(|axis| axis.map(|axis| e.kernel.levels[axis.level].index.id));
        let mut at = vec![vec![around.clone(); across as usize]; down as usize];
        if let (Some(rows), Some(row)) = (rows, row) {
            for r in 0..down {
                let step = e.c.add(tile.start.0, first.0);
                let step = e.c.add(step, i64::from(r).into());
                enter_or_last(e, rows, step);
                at[r as usize].iter_mut().for_each(|point| _ = point.insert(row, e.locals[&row]));
            }
        }
        for (c, column) in (0..across).zip(column.into_iter().cycle()) {
            let step = e.c.add(tile.start.1, first.1);
            let step = e.c.add(step, i64::from(c * tile.apart()).into());
            enter_or_last(e, columns, step);
            at.iter_mut().for_each(|points| _ = points[c as usize].insert(column, e.locals[&column]));
        }
        e.locals = around;
        let (by_row, by_column) = (row.into_iter().collect(), column.into_iter().collect());
        Self { first, at, by_row, by_column, into: BTreeMap::new() }
    }

    /// Whether a statement differs from row to row, and from column to column.
    fn varies(&self, statement: &Statement) -> (bool, bool) {
        match (&statement.action, reads(statement)) {
            (Action::Load { .. } | Action::Scalar(_), Some(locals)) => {
                let among = |of: &BTreeSet<LocalId>| locals.iter().any(|local| of.contains(local));
                (among(&self.by_row), among(&self.by_column))
            }
            _ => (true, true),
        }
    }

    /// A statement at all points: once where it is the same.
    fn statement(&mut self, e: &mut Emitter<'_>, position: usize) -> Result {
        let statement = &e.kernel.statements[position];
        let varies = self.varies(statement);
        self.note(statement, varies);
        let results: Vec<LocalId> = statement.results().iter().map(|result| result.id).collect();
        for r in 0..self.at.len() {
            for c in 0..self.at[r].len() {
                let (own_row, own_column) = (varies.0 || r == 0, varies.1 || c == 0);
                if !own_row || !own_column {
                    let from = (if varies.0 { r } else { 0 }, if varies.1 { c } else { 0 });
                    for &result in &results {
                        let value = self.at[from.0][from.1].get(&result).copied();
                        value.map(|value| self.at[r][c].insert(result, value));
                    }
                    continue;
                }
                if let Some(into) = self.into.get(&position) {
                    let Accumulator { values, present } = into[r][c].clone();
                    e.together.insert(position, Together::Own { accumulators: values, present });
                }
                std::mem::swap(&mut e.locals, &mut self.at[r][c]);
                let done = e.statement(position);
                std::mem::swap(&mut e.locals, &mut self.at[r][c]);
                e.together.remove(&position);
                done?;
            }
        }
        Ok(())
    }

    fn note(&mut self, statement: &Statement, (by_row, by_column): (bool, bool)) {
        for result in statement.results() {
            if by_row {
                self.by_row.insert(result.id);
            }
            if by_column {
                self.by_column.insert(result.id);
            }
        }
    }

    /// Reduces of these statements start at all points.
    fn begin(&mut self, e: &mut Emitter<'_>, range: Range<usize>) -> Result {
        for position in range {
            let Action::Reduce { combine, seeds, .. } = &e.kernel.statements[position].action else { continue };
            let mut into = Vec::new();
            for row in &self.at {
                let mut own = Vec::new();
                for point in row {
                    e.locals.clone_from(point);
                    let seeds = e.operands(seeds)?;
                    own.push(e.accumulator(combine, &seeds));
                }
                into.push(own);
            }
            self.into.insert(position, into);
        }
        e.locals.clone_from(&self.at[0][0]);
        Ok(())
    }

    /// Where in shared memory this thread's first row or column of each staged load is.
    fn places(&self, e: &mut Emitter<'_>, tile: &Tile<'_>) -> Vec<Reg> {
        let first = |staged: &Staged| if staged.of.row { self.first.0 } else { self.first.1 };
        tile.staged.iter().map(|staged| e.address(staged.base, first(staged), staged.ty.bytes() as u64)).collect()
    }

    /// A step that is in shared memory, at all points.
    fn step(
        &mut self,
        e: &mut Emitter<'_>,
        (tile, places): (&Tile<'_>, &[Reg]),
        (level, at, step): (&Axis, Val, Val),
        range: Range<usize>,
    ) -> Result {
        e.enter(level, at);
        let index = e.kernel.levels[level.level].index.id;
        let value = e.local(index)?;
        self.at.iter_mut().flatten().for_each(|point| _ = point.insert(index, value));
        for position in range {
            let staged = tile.staged.iter().zip(places).find(|(staged, _)| staged.position == position);
            match staged {
                Some((staged, &place)) => self.staged(e, tile, staged, (place, step)),
                None => self.statement(e, position)?,
            }
        }
        Ok(())
    }

    /// A staged load at all points: rows are neighbours in shared memory, and come by as few accesses as there are for them.
    fn staged(&mut self, e: &mut Emitter<'_>, tile: &Tile<'_>, staged: &Staged, (place, step): (Reg, Val)) {
        let own = tile.own;
        self.note(&e.kernel.statements[staged.position], (staged.of.row, !staged.of.row));
        let bytes = staged.ty.bytes();
        let line = i64::from(own.stride(if staged.of.row { own.extents.0 } else { own.extents.1 })) * bytes as i64;
        // Which step it is may be known.
        let (place, skipped) = match step.as_i64() {
            Some(step) => (place, (step * line) as u64),
            None => {
                let skipped = e.c.mul(step, line.into());
                (e.address(place, skipped, 1), 0)
            }
        };
        let mut values = Vec::new();
        if staged.of.row {
            let together = (16 / bytes).min(own.points.0 as usize);
            for part in (0..own.points.0 as usize).step_by(together) {
                let place = (place, skipped + (part * bytes) as u64);
                values.extend(e.load_together("shared", staged.ty, place, together));
            }
        } else {
            for column in 0..own.points.1 {
                let offset = skipped + u64::from(column * tile.apart()) * bytes as u64;
                values.push(e.load_from("shared", staged.ty, place, offset));
            }
        }
        for (r, row) in self.at.iter_mut().enumerate() {
            for (c, point) in row.iter_mut().enumerate() {
                std::mem::swap(&mut e.locals, point);
                e.loaded(staged, values[if staged.of.row { r } else { c }]);
                std::mem::swap(&mut e.locals, point);
            }
        }
    }

    /// What stands behind the steps, at the points that there are.
    fn end(&mut self, e: &mut Emitter<'_>, tile: &Tile<'_>, behind: Range<usize>) -> Result {
        let corner = (e.c.add(tile.start.0, self.first.0), e.c.add(tile.start.1, self.first.1));
        for (r, row) in self.at.iter().enumerate() {
            for (c, point) in row.iter().enumerate() {
                e.locals.clone_from(point);
                for (&position, into) in &self.into {
                    let Action::Reduce { results, .. } = &e.kernel.statements[position].action else { continue };
                    for (result, &reg) in results.iter().zip(&into[r][c].values) {
                        e.locals.insert(result.id, Val::new(result.ty, reg));
                    }
                }
                let across = c as i64 * i64::from(tile.apart());
                let (x, y) = (e.c.add(corner.0, (r as i64).into()), e.c.add(corner.1, across.into()));
                let there = tile.is_there(e, x, y);
                e.only_if(there, |e| e.statements(behind.clone()))?;
            }
        }
        Ok(())
    }
}
