//! Rows: levels of at most one block in gangs of which the last are masked, with all accumulators in registers from the first element to the
//! result. Rows of different lengths then cost nothing but their steps: no accumulator is in memory, and nothing is scalar code.

use fusebox_ir::{
    ALIGNMENT, Action, Association, ElementType, Kernel, LevelOrder, ScatterOrder,
    analysis::{
        algebra::identities,
        kernels::{Lanes, row_lengths},
    },
    association::BLOCK,
};

use crate::{
    gangs::{gang_of_tiles, inside, may_be_lanes},
    jam::is_same_at_all_steps,
    schedule::{By, Loop, Nest, Remainder},
};

impl Nest {
    /// Whether a loop runs over a row: in gangs of which the last are masked, and which no scan asks for.
    pub fn is_row(&self, kernel: &Kernel, each: &Loop) -> bool {
        let By::Lanes(lanes) = each.by else { return false };
        let level = self.level_of(kernel.levels.len(), each.axis);
        each.remainder == Remainder::Masked && level.is_some_and(|level| gang_of_tiles(kernel) != Some((level, lanes)))
    }
}

/// Whether a level of at most `most` steps may run as a row, with `unroll` gangs of `lanes` in an iteration.
///
/// # Errors
/// The first reason why not.
pub fn may_be_row(kernel: &Kernel, level: usize, (lanes, unroll): (u32, u32), most: Option<i64>) -> Result<(), String> {
    may_be_lanes(kernel, level, lanes).map_err(|why| format!("level {level} cannot be across {lanes} lanes: {why}"))?;
    let width = lanes.saturating_mul(unroll);
    if kernel.levels[level].order == LevelOrder::Down {
        return Err(format!("level {level} is no row: it runs down"));
    }
    if most.is_none_or(|most| most > BLOCK) {
        return Err(format!("level {level} is no row: it may have more than {BLOCK} steps"));
    }
    if !unroll.is_power_of_two() {
        return Err(format!("{unroll} gangs of a row are no power of two"));
    }
    for (position, statement) in inside(kernel, level) {
        if statement.depth as usize != level + 1 {
            return Err(format!("level {level} is no row: a level is inside of it"));
        }
        let of_reduce = |own: u32| own == width || own > width && most.is_some_and(|most| most <= i64::from(width));
        let fits = match &statement.action {
            Action::Reduce { to, association: Association::Interleaved { lanes }, combine, .. } => {
                // What ranges of the outermost level leave says nothing of whether there was an element.
                let left = level > 0 || identities(combine).is_some();
                *to as usize == level && of_reduce(*lanes) && left
            }
            Action::Load { array, .. } => lanes as usize * kernel.arrays[array.index()].element.bytes() <= ALIGNMENT,
            Action::Scalar(_) | Action::Check { .. } | Action::Store { .. } | Action::Append { .. } => true,
            Action::Scatter { order, .. } => *order == ScatterOrder::Unique,
            Action::Reduce { .. } | Action::Scan { .. } => false,
        };
        if !fits {
            return Err(format!("statement {position} is none of a row in {unroll} gangs of {lanes}"));
        }
    }
    Ok(())
}

/// Whether each block of a level may run as a row, if a block may: what a row combines goes on to the other blocks, and a row does nothing else.
///
/// # Errors
/// The first reason why not.
pub fn blocks_may_be_rows(kernel: &Kernel, level: usize) -> Result<(), String> {
    for (position, statement) in inside(kernel, level) {
        let fits = match &statement.action {
            Action::Reduce { combine, .. } => statement.when.is_none() && identities(combine).is_some(),
            Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } => true,
            Action::Store { .. } | Action::Scan { .. } | Action::Append { .. } | Action::Scatter { .. } => false,
        };
        if !fits {
            return Err(format!(
                "statement {position} is none of blocks of level {level} that are rows: it is no reduce that has an identity, and everywhere an element"
            ));
        }
    }
    Ok(())
}

/// Bytes of the accumulators that are folded together: all of a vector register, of any target.
const TOGETHER: usize = 64;

/// Whether gangs of accumulators of so many lanes can be folded together: they fill a register of any target, and have lanes that are moved alone.
pub fn fold_together(element: ElementType, lanes: u32) -> bool {
    matches!(element.bytes(), 4 | 8) && element.bytes() * lanes as usize >= TOGETHER
}

/// Whether the accumulators of a level that runs as a row, in gangs of `lanes`, may be folded together with those of other points of the level
/// around, which is across as many lanes: each instruction then combines accumulators of several points.
///
/// # Errors
/// The first reason why not.
pub fn may_be_together(kernel: &Kernel, level: usize, lanes: u32) -> Result<(), String> {
    let Some(around) = level.checked_sub(1) else {
        return Err("the rows of points are those of a level inside of another".to_owned());
    };
    may_be_lanes(kernel, around, lanes)
        .map_err(|why| format!("level {around} cannot be across {lanes} lanes, a row each: {why}"))?;
    for (position, statement) in inside(kernel, level) {
        let Action::Reduce { combine, values, .. } = &statement.action else { continue };
        let mut types = combine.params.iter().take(values.len()).map(|param| param.ty);
        let same = is_same_at_all_steps(kernel, combine, &Lanes::of(kernel, around));
        if identities(combine).is_none() || !types.all(|ty| fold_together(ty, lanes)) || !same {
            return Err(format!(
                "what statement {position} reduces is not folded together: it has no identity, or differs between points, or lanes are not 4 or 8 bytes, {TOGETHER} in all"
            ));
        }
    }
    Ok(())
}

/// Whether threads may take shares of the outermost level that have as many steps of the level inside: where those are known before, and nothing
/// goes along the outermost level by itself.
pub fn may_be_by_elements(kernel: &Kernel) -> bool {
    row_lengths(kernel).is_some()
        && kernel.statements.iter().all(|statement| match &statement.action {
            Action::Reduce { to, .. } => *to > 0,
            Action::Scan { .. } => statement.depth > 1,
            Action::Append { .. } => false,
            Action::Scatter { order, .. } => matches!(order, ScatterOrder::Any | ScatterOrder::Unique),
            _ => true,
        })
}
