//! A block for each tile of the points of two levels; what they read is in its shared memory.

mod product;
mod turned;

use std::ops::Range;

use fusebox_ir::{Action, ElementType, KernelArrayId};
use fusebox_schedule::{
    Form,
    grid::{LEAST_TURNED, Stage, Tiled, stage},
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

/// The tile under way.
struct Tile<'a> {
    own: Tiled,
    staged: &'a [Staged],
    /// The levels around, and the two of the tile.
    axes: &'a [Axis],
    /// The number of the thread in its block.
    thread: Val,
    /// Its first row and its first column.
    start: (Val, Val),
}

impl Building<'_> {
    pub(super) fn tiled(&mut self, own: Tiled, forms: &[Form]) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let outer = own.outer;
        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &[]);
        let (before, inner, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all)?;
        let axes = axes(&mut e, 0..outer + 2)?;
        let mut staged = Vec::new();
        for form in forms {
            let Form::Staged { statement } = *form else { continue };
            let position = statement as usize;
            let of = stage(kernel, (outer, own.steps > 0), position).map_err(|why| super::unsupported(kernel, why))?;
            let base = e.c.memory(Space::Shared, own.bytes(kernel, of));
            staged.push(Staged { position, of, ty: kernel.arrays[of.array].element, base });
        }
        let ((rows, columns), thread) = (own.extents, e.special("tid.x"));
        let (down, across) =
            (e.pieces(axes[outer].steps, rows.into()), e.pieces(axes[outer + 1].steps, columns.into()));
        let around = e.points(&axes[..outer]);
        let tiles = e.c.mul(around, down);
        let tiles = e.c.mul(tiles, across);
        let (block, blocks) = (e.special("ctaid.x"), e.special("nctaid.x"));
        let done = e.c.label();
        if own.steps == 0 {
            in_points(&mut e, &axes, inner.clone(), done)?;
        }
        e.stride_up(block, tiles, blocks, |e, number| {
            let (row, column) = e.parted(number, across);
            let (point, row) = if outer == 0 { (0i64.into(), row) } else { e.parted(row, down) };
            e.enter_all(&axes[..outer], point);
            let start = (e.c.mul(row, i64::from(rows).into()), e.c.mul(column, i64::from(columns).into()));
            let tile = Tile { own, staged: &staged, axes: &axes, thread, start };
            if own.steps == 0 { turned::tile(e, &tile, inner) } else { product::tile(e, &tile, inner) }
        })?;
        e.c.place(done);
        if is_once(kernel, &before, &behind) {
            let (own, alone) = (e.c.compare("eq", block, 0i64.into()), e.c.compare("eq", thread, 0i64.into()));
            let one = e.c.both(own, alone);
            e.only_if(one, |e| once(e, before, behind))?;
        }
        let tiles = Quantity::Times(
            Box::new(Quantity::Steps(outer).pieces(rows.into())),
            Box::new(Quantity::Steps(outer + 1).pieces(columns.into())),
        );
        let tiles = Quantity::Times(Box::new(points_of(0..outer)), Box::new(tiles));
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
    /// The axes of its rows and of its columns.
    fn levels(&self) -> (&Axis, &Axis) {
        (&self.axes[self.own.outer], &self.axes[self.own.outer + 1])
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
