//! Steps of a row that threads of a warp share.

use std::ops::Range;

use fusebox_ir::Kernel;
use fusebox_schedule::grid::{LongRows, WARP};

use super::meeting::phase;
use crate::{
    emit::{Axis, Emitter, Result},
    team::Team,
    value::Val,
};

/// The threads of a warp that combine the steps of a long row.
pub(super) fn team(kernel: &Kernel, outer: usize, long: LongRows) -> Team {
    match long {
        LongRows::Reduced(Some(own)) => Team::long_rows(own.lanes),
        _ => Team::warp(kernel, outer),
    }
}

/// Steps that do not depend on each other, from this thread's first up to an end.
pub(super) fn apart_steps(e: &mut Emitter<'_>, axis: &Axis, steps: Range<usize>, (first, end): (Val, Val)) -> Result {
    phase(e, |e| {
        e.stride_up(first, end, i64::from(WARP).into(), |e, step| {
            e.enter(axis, step);
            e.depth(axis.level + 1, steps)
        })
    })
}
