//! Stencils: a block loads what its tile reads, and what lies around it, once into shared memory. Boundaries are applied then.

use std::ops::Range;

use fusebox_ir::{Constant, DimBoundary, DimIndex, KernelArrayId};
use fusebox_schedule::grid::{Along, HaloDim, WARP};

use super::{Boxed, Tile};
use crate::{
    emit::{Emitter, Result},
    generate::{
        around,
        meeting::{agree, phase},
    },
    value::Val,
};

/// Bytes that come from memory together.
const SECTOR: i64 = 32;

/// One tile.
pub(super) fn tile(e: &mut Emitter<'_>, tile: &Tile<'_>, inner: Range<usize>) -> Result {
    let own = tile.own;
    let before = e.locals.clone();
    for boxed in tile.boxes {
        fill(e, tile, boxed)?;
        e.locals.clone_from(&before);
    }
    e.failed = Some(e.c.variable(Constant::from(false).into()));
    agree(e);
    phase(e, |e| {
        let points = i64::from(own.extents.0 * own.extents.1);
        e.stride_up(tile.thread, points.into(), i64::from(own.threads).into(), |e, number| {
            let (row, column) =
                if own.levels == 1 { (0i64.into(), number) } else { e.parted_by(number, own.extents.1) };
            let (x, y) = (e.c.add(tile.start.0, row), e.c.add(tile.start.1, column));
            let there = tile.is_there(e, x, y);
            e.only_if(there, |e| {
                tile.enter_row(e, x);
                e.enter(&tile.levels.1, y);
                let inside = around(e, 1..own.of().points(), inner)?;
                for boxed in tile.boxes {
                    places(e, tile, boxed, (row, column));
                }
                e.depth(own.of().points(), inside)?;
                e.in_box.clear();
                Ok(())
            })
        })
    })?;
    // Nobody fills the boxes again before all have read them.
    agree(e);
    e.failed = None;
    e.locals = before;
    Ok(())
}

/// Where in the box the loads of a point are.
fn places(e: &mut Emitter<'_>, tile: &Tile<'_>, boxed: &Boxed, (row, column): (Val, Val)) {
    let strides = strides(tile, boxed);
    let mut position = Val::from(0i64);
    for (dim, &stride) in boxed.of.dims.iter().zip(&strides) {
        let own = match dim.along {
            Along::Rows => row,
            Along::Columns => column,
            Along::One => continue,
        };
        let own = e.c.mul(own, stride.into());
        position = e.c.add(position, own);
    }
    let bytes = boxed.ty.bytes() as u64;
    let address = e.address(boxed.base, position, bytes);
    for &load in &boxed.of.loads {
        let apart = boxed.of.distances(e.kernel, load);
        let offset: u64 = apart.iter().zip(&strides).map(|(apart, &stride)| apart * stride as u64).sum();
        e.in_box.insert(load, (address, offset * bytes));
    }
}

/// How many elements of the box neighbours along each dimension are apart.
fn strides(tile: &Tile<'_>, boxed: &Boxed) -> Vec<i64> {
    let mut strides = vec![1; boxed.of.dims.len()];
    for dim in (1..strides.len()).rev() {
        strides[dim - 1] = strides[dim] * boxed.of.extent(dim, tile.own.extents) as i64;
    }
    strides
}

/// Brings the box: its rows by warps, whole sectors of memory by neighbouring threads. What the tile's points do not need stays as it is.
fn fill(e: &mut Emitter<'_>, tile: &Tile<'_>, boxed: &Boxed) -> Result {
    let (own, dims) = (tile.own, &boxed.of.dims);
    let has_rows = dims.iter().any(|dim| dim.along == Along::Rows);
    let (warp, lane) = if has_rows { e.parted_by(tile.thread, WARP) } else { (0i64.into(), tile.thread) };
    let (width, warps) = if has_rows { (WARP, own.threads / WARP) } else { (own.threads, 1) };
    let Some(last) = dims.last() else { return Err(e.broken("a box of no dimension")) };
    // The first thread begins where a sector does, if the first point of the tile lies there.
    let in_sector = (SECTOR / boxed.ty.bytes() as i64).max(1);
    let shift = last.index.offset.rem_euclid(in_sector);
    let here = |e: &mut Emitter<'_>, steps: Val, start: Val, extent: u32, more: u32| {
        let left = e.c.sub(steps, start);
        let points = e.lesser(left, i64::from(extent).into());
        e.c.add(points, i64::from(more).into())
    };
    let columns = here(e, tile.levels.1.steps, tile.start.1, own.extents.1, last.more);
    let rows = match (&tile.levels.0, dims.iter().find(|dim| dim.along == Along::Rows)) {
        (Some(axis), Some(dim)) => here(e, axis.steps, tile.start.0, own.extents.0, dim.more),
        _ => 1i64.into(),
    };
    let strides = strides(tile, boxed);
    let turns = (i64::from(own.extents.1) + i64::from(last.more) + shift + i64::from(width) - 1) / i64::from(width);
    let around = e.locals.clone();
    for plane in planes(dims) {
        e.stride_up(warp, rows, i64::from(warps).into(), |e, row| {
            let x = e.c.add(tile.start.0, row);
            tile.enter_row(e, x);
            // All dimensions but the last, and where the row begins in the box.
            let (mut index, mut place) = (Vec::new(), Val::from(0i64));
            for ((dim, skipped), &stride) in dims.iter().zip(&plane).zip(&strides).take(dims.len() - 1) {
                let number = if dim.along == Along::Rows { row } else { (*skipped).into() };
                let offset = dim.index.offset.wrapping_add(*skipped);
                index.push(bounded(e, boxed, index.len(), &DimIndex { offset, ..dim.index.clone() })?);
                let skipped = e.c.mul(number, stride.into());
                place = e.c.add(place, skipped);
            }
            let in_row = e.locals.clone();
            for turn in 0..turns {
                e.locals.clone_from(&in_row);
                let column = e.c.add(lane, (turn * i64::from(width) - shift).into());
                // Those before the first are large as unsigned numbers.
                let needed = e.outside(&[column], &[columns]);
                let put = |e: &mut Emitter<'_>| {
                    let y = e.c.add(tile.start.1, column);
                    e.enter(&tile.levels.1, y);
                    let own = bounded(e, boxed, dims.len() - 1, &last.index)?;
                    let index: Vec<Val> = index.iter().copied().chain([own]).collect();
                    let array = KernelArrayId::at(boxed.of.array);
                    let extents = e.extents(array)?;
                    let load = |e: &mut Emitter<'_>| {
                        let position = e.position(array, &index)?;
                        let value = e.load_at(array, position)?;
                        let place = e.c.add(place, column);
                        let place = e.address(boxed.base, place, boxed.ty.bytes() as u64);
                        e.store_to("shared", place, 0, value);
                        Ok(())
                    };
                    match e.outside(&index, &extents) {
                        Some(outside) => {
                            let inside = e.c.not(outside);
                            e.only_if(inside, load)
                        }
                        None => load(e),
                    }
                };
                match needed {
                    Some(beyond) => {
                        let needed = e.c.not(beyond);
                        e.only_if(needed, put)?;
                    }
                    None => put(e)?,
                }
            }
            e.locals.clone_from(&in_row);
            Ok(())
        })?;
        e.locals.clone_from(&around);
    }
    Ok(())
}

/// The index in a dimension, with its boundary.
fn bounded(e: &mut Emitter<'_>, boxed: &Boxed, dim: usize, index: &DimIndex) -> Result<Val> {
    let at = e.dim_index(index)?;
    if index.boundary == DimBoundary::None {
        return Ok(at);
    }
    let extents = e.extents(KernelArrayId::at(boxed.of.array))?;
    e.bounded(at, extents[dim], index.boundary)
}

/// The numbers of the box in its dimensions along which the tile has one point, together: those of each plane of rows and columns, 0 in other dimensions.
fn planes(dims: &[HaloDim]) -> Vec<Vec<i64>> {
    let mut planes = vec![Vec::new()];
    for dim in dims {
        let numbers = if dim.along == Along::One { 0..=i64::from(dim.more) } else { 0..=0 };
        let with = |plane: &Vec<i64>| {
            let plane = plane.clone();
            numbers.clone().map(move |number| plane.iter().copied().chain([number]).collect())
        };
        planes = planes.iter().flat_map(with).collect();
    }
    planes
}
