//! A block for each tile of the points of two levels, or of one; what they read is in its shared memory.

mod around;
mod product;
mod turned;

use std::ops::Range;

use fusebox_ir::{Action, ElementType, KernelArrayId};
use fusebox_schedule::{
    Form,
    grid::{Halo, LEAST_TURNED, Stage, Tiled, halos, stage},
};

use super::{
    Building, axes, grid, is_once, once,
    points::{self, Taken},
    points_of, prologue,
};
use crate::{
    emit::{Axis, Emitter, Result, parts},
    module::Quantity,
    text::{Label, Reg, Space},
    value::Val,
};

/// A load that is staged.
struct Staged {
    position: usize,
    of: Stage,
    ty: ElementType,
    /// Where its elements are in shared memory.
    base: Reg,
}

/// What several loads read at the points of a tile and around them.
struct Boxed {
    of: Halo,
    ty: ElementType,
    /// Where its elements are in shared memory.
    base: Reg,
}

/// The tile under way.
struct Tile<'a> {
    own: Tiled,
    staged: &'a [Staged],
    boxes: &'a [Boxed],
    /// The number of the thread in its block.
    thread: Val,
    /// Its first row and its first column.
    start: (Val, Val),
    /// The axes of its rows and of its columns; of one level there is one row.
    levels: (Option<Axis>, Axis),
}

impl Building<'_> {
    pub(super) fn tiled(&mut self, own: Tiled, forms: &[Form]) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let (outer, of) = (own.outer, own.of());
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &[]);
        let (before, inner, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all)?;
        let axes = axes(&mut e, 0..of.points())?;
        let (mut staged, mut around) = (Vec::new(), Vec::new());
        for form in forms {
            let Form::Staged { statement } = *form else { continue };
            let position = statement as usize;
            match stage(kernel, of, position) {
                Ok(stage) => {
                    let base = e.c.memory(Space::Shared, own.bytes(kernel, stage));
                    staged.push(Staged { position, of: stage, ty: kernel.arrays[stage.array].element, base });
                }
                Err(_) => around.push(position),
            }
        }
        let halos = halos(kernel, of, &around).map_err(|(_, why)| super::unsupported(kernel, why))?;
        let boxes = halos.into_iter().map(|halo| {
            let base = e.c.memory(Space::Shared, halo.bytes(kernel, own.extents));
            Boxed { ty: kernel.arrays[halo.array].element, of: halo, base }
        });
        let boxes: Vec<Boxed> = boxes.collect();
        let ((rows, columns), thread) = (own.extents, e.special("tid.x"));
        let (row_axis, column_axis) = (of.rows().map(|level| axes[level]), axes[of.columns()]);
        let down = row_axis.map(|axis| e.pieces(axis.steps, rows.into()));
        let across = e.pieces(column_axis.steps, columns.into());
        let mut tiles = e.points(&axes[..outer]);
        for number in down.into_iter().chain([across]) {
            tiles = e.c.mul(tiles, number);
        }
        let (block, blocks) = (e.special("ctaid.x"), e.special("nctaid.x"));
        let done = e.c.label();
        if own.steps == 0 && own.levels == 2 {
            in_points(&mut e, &axes, inner.clone(), done)?;
        }
        e.stride_up(block, tiles, blocks, |e, number| {
            // Of one tile in a row there is nothing to part.
            let (rest, column) =
                if outer == 0 && down.is_none() { (0i64.into(), number) } else { e.parted(number, across) };
            let (point, row) = match down {
                None => (rest, 0i64.into()),
                Some(_) if outer == 0 => (0i64.into(), rest),
                Some(down) => e.parted(rest, down),
            };
            e.enter_all(&axes[..outer], point);
            let start = (e.c.mul(row, i64::from(rows).into()), e.c.mul(column, i64::from(columns).into()));
            let levels = (row_axis, column_axis);
            let tile = Tile { own, staged: &staged, boxes: &boxes, thread, start, levels };
            match own.steps {
                0 if staged.is_empty() => around::tile(e, &tile, inner),
                0 => turned::tile(e, &tile, inner),
                _ => product::tile(e, &tile, inner),
            }
        })?;
        e.c.place(done);
        if is_once(kernel, &before, &behind) {
            let (own, alone) = (e.c.compare("eq", block, 0i64.into()), e.c.compare("eq", thread, 0i64.into()));
            let one = e.c.both(own, alone);
            e.only_if(one, |e| once(e, before, behind))?;
        }
        let tiles = of.rows().map(|level| Quantity::Steps(level).pieces(rows.into())).into_iter();
        let tiles = tiles.chain([Quantity::Steps(of.columns()).pieces(columns.into())]);
        let tiles = tiles.fold(points_of(0..outer), |tiles, more| Quantity::Times(Box::new(tiles), Box::new(more)));
        let made = e.finish("tiled", tiles, own.threads)?;
        self.entries.push(made);
        Ok(())
    }
}

/// Where there are few rows or columns, all points one by one, and then on to a label.
fn in_points(e: &mut Emitter<'_>, axes: &[Axis], inner: Range<usize>, done: Label) -> Result {
    let tiles = e.c.label();
    let [.., rows, columns] = axes else { return Err(e.broken("a tile of no levels")) };
    let least = e.lesser(rows.steps, columns.steps);
    let enough = e.c.compare("ge", least, LEAST_TURNED.into());
    e.c.op(format_args!("@{enough} bra {tiles}"));
    let points = e.points(axes);
    let (thread, threads) = grid(e);
    points::each(e, axes, Taken { numbers: (thread, threads, points), items: 1 }, inner)?;
    e.c.op(format_args!("bra {done}"));
    e.c.place(tiles);
    Ok(())
}

impl Tile<'_> {
    /// Enters a row of a tile that has rows.
    fn enter_row(&self, e: &mut Emitter<'_>, step: Val) {
        if let Some(axis) = &self.levels.0 {
            e.enter(axis, step);
        }
    }

    /// Whether there are such a row and such a column.
    fn is_there(&self, e: &mut Emitter<'_>, row: Val, column: Val) -> Reg {
        let down = self.levels.0.map(|axis| e.c.compare("lt", row, axis.steps));
        let across = e.c.compare("lt", column, self.levels.1.steps);
        down.map_or(across, |down| e.c.both(down, across))
    }

    /// How many columns the columns of a thread are apart.
    fn apart(&self) -> u32 {
        self.own.extents.1 / self.own.points.1
    }
}

impl Emitter<'_> {
    /// `number / by` and what is left of it.
    fn parted(&mut self, number: Val, by: Val) -> (Val, Val) {
        let quotient = self.quotient(number, by);
        let product = self.c.mul(quotient, by);
        (quotient, self.c.sub(number, product))
    }

    /// The same by a power of two.
    fn parted_by(&mut self, number: Val, by: u32) -> (Val, Val) {
        let text = self.c.text(number);
        let quotient = self.c.make(ElementType::I64, "shr.u64", &[&text, &by.ilog2().to_string()]);
        (quotient, self.c.make(ElementType::I64, "and.b64", &[&text, &(by - 1).to_string()]))
    }

    /// The lesser of two numbers.
    fn lesser(&mut self, a: Val, b: Val) -> Val {
        let (a, b) = (self.c.text(a), self.c.text(b));
        self.c.make(ElementType::I64, "min.s64", &[&a, &b])
    }

    /// The element that a staged load reads at the point that has been entered, from its array.
    fn of_array(&mut self, staged: &Staged) -> Result<Val> {
        let kernel = self.kernel;
        let Action::Load { map, .. } = &kernel.statements[staged.position].action else {
            return Err(self.broken("a staged load that is none"));
        };
        let array = KernelArrayId::at(staged.of.array);
        let position = self.position_of(array, map)?;
        self.load_at(array, position)
    }

    /// A staged load has a value, where the code stands.
    fn loaded(&mut self, staged: &Staged, value: Val) {
        if let Action::Load { result, .. } = &self.kernel.statements[staged.position].action {
            self.locals.insert(result.id, value);
        }
    }
}

/// Elements that threads take in turn: `inside` gets the number of each.
fn in_turns<'k>(
    e: &mut Emitter<'k>,
    (thread, threads): (Val, u32),
    elements: u32,
    mut inside: impl FnMut(&mut Emitter<'k>, Val) -> Result,
) -> Result {
    for turn in 0..elements.div_ceil(threads) {
        let number = e.c.add(thread, i64::from(turn * threads).into());
        if elements < threads {
            let there = e.c.compare("lt", number, i64::from(elements).into());
            e.only_if(there, |e| inside(e, number))?;
        } else {
            inside(e, number)?;
        }
    }
    Ok(())
}
