//! Few steps: an innermost level whose steps stand in a row, each where it is there. What they combine stays in registers from the step to the
//! result: no accumulator is cleared in memory, loaded and stored for one element.

use fusebox_ir::{Action, Association, Kernel, LevelOrder};

use crate::gangs::inside;

/// Steps in a row, at most.
pub const MOST_FEW: u32 = 16;

/// Whether an innermost level of at most `most` steps may have `count` of them in a row.
///
/// # Errors
/// The first reason why not.
pub fn may_be_few(kernel: &Kernel, level: usize, count: u32, most: Option<i64>) -> Result<(), String> {
    if level == 0 || level + 1 != kernel.levels.len() || kernel.levels[level].order == LevelOrder::Down {
        return Err(format!(
            "steps of level {level} do not stand in a row: those of an inner level without others inside do, which runs up"
        ));
    }
    if !count.is_power_of_two() || count > MOST_FEW {
        return Err(format!("{count} steps in a row are no power of two up to {MOST_FEW}"));
    }
    if most.is_none_or(|most| most > i64::from(count)) {
        return Err(format!("level {level} may have more than {count} steps"));
    }
    for (position, statement) in inside(kernel, level) {
        let fits = match &statement.action {
            Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } | Action::Store { .. } => true,
            // Each accumulator gets one element at most, and each run is one.
            Action::Reduce { to, association, .. } => {
                *to as usize == level
                    && match *association {
                        Association::Interleaved { lanes } | Association::Runs { lanes } => lanes >= count,
                        Association::InOrder => true,
                        Association::Ragged { .. } | Association::Tiles { .. } => false,
                    }
            }
            Action::Scan { .. } | Action::Append { .. } | Action::Scatter { .. } => false,
        };
        if !fits {
            return Err(format!("statement {position} is none of steps in a row"));
        }
    }
    Ok(())
}
