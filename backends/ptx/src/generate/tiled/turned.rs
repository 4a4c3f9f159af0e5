//! Transposes: a tile is loaded along the rows of the array, and used along the rows of the points.

use std::ops::Range;

use fusebox_ir::Constant;

use super::{Tile, in_turns};
use crate::{
    emit::{Emitter, Result},
    generate::{
        around,
        meeting::{agree, phase},
    },
};

/// One tile. Rows of what is staged are one element longer than the tile, so that those of a column are in different banks of shared memory.
pub(super) fn tile(e: &mut Emitter<'_>, tile: &Tile<'_>, inner: Range<usize>) -> Result {
    let own = tile.own;
    let ((rows, columns), threads) = (own.extents, own.threads);
    e.failed = Some(e.c.variable(Constant::from(false).into()));
    in_turns(e, (tile.thread, threads), rows * columns, |e, number| {
        let (column, row) = e.parted_by(number, rows);
        let (x, y) = (e.c.add(tile.start.0, row), e.c.add(tile.start.1, column));
        let there = tile.is_there(e, x, y);
        let stride = own.stride(rows);
        let place = e.c.mul(column, i64::from(stride).into());
        let place = e.c.add(place, row);
        e.only_if(there, |e| {
            tile.enter_row(e, x);
            e.enter(&tile.levels.1, y);
            for staged in tile.staged {
                let value = e.of_array(staged)?;
                let place = e.address(staged.base, place, staged.ty.bytes().max(4) as u64);
                e.store_to("shared", place, 0, value);
            }
            Ok(())
        })
    })?;
    agree(e);
    phase(e, |e| {
        in_turns(e, (tile.thread, threads), rows * columns, |e, number| {
            let (row, column) = e.parted_by(number, columns);
            let (x, y) = (e.c.add(tile.start.0, row), e.c.add(tile.start.1, column));
            let there = tile.is_there(e, x, y);
            let place = e.c.mul(column, i64::from(own.stride(rows)).into());
            let place = e.c.add(place, row);
            e.only_if(there, |e| {
                tile.enter_row(e, x);
                e.enter(&tile.levels.1, y);
                let inside = around(e, 1..own.outer + 2, inner.clone())?;
                for staged in tile.staged {
                    let place = e.address(staged.base, place, staged.ty.bytes().max(4) as u64);
                    let value = e.load_from("shared", staged.ty, place, 0);
                    e.loaded(staged, value);
                    e.left_out[staged.position] = true;
                }
                e.depth(own.outer + 2, inside)?;
                tile.staged.iter().for_each(|staged| e.left_out[staged.position] = false);
                Ok(())
            })
        })
    })?;
    agree(e);
    e.failed = None;
    Ok(())
}
