//! One row of a kernel of rows, as a kernel of its own: where a row is much longer than others, all threads share it.

use super::{in_ranges, row_lengths};
use crate::{Action, Association, Kernel, ScatterOrder};

/// The kernel that does what another does at one step of its outermost level: which step it is, is the last of its sizes. Of rows with
/// fewer elements than some reduce needs for its lanes it is none ([`Association::Ragged`]); what long rows give is the same to the bit.
///
/// None where the lengths of rows are not known before ([`row_lengths`]), where something goes along the rows, where what is inside of a row
/// cannot be done in ranges, or where a row of `least` elements may be combined in another order.
pub fn one_row(kernel: &Kernel, least: i64) -> Option<Kernel> {
    row_lengths(kernel)?;
    let mut row = kernel.clone();
    let outermost = row.levels.remove(0);
    row.sizes.push(outermost.index);
    for statement in &mut row.statements {
        match &mut statement.action {
            Action::Reduce { to, association, .. } => {
                *to = to.checked_sub(1)?;
                match *association {
                    Association::Ragged { least: own, .. } if i64::from(own) > least => return None,
                    Association::Ragged { lanes, .. } if *to == 0 => *association = Association::Interleaved { lanes },
                    _ => {}
                }
            }
            Action::Scan { .. } if statement.depth == 1 => return None,
            // What order the elements of one target come in does not matter to these, so that those of a long row may come last.
            Action::Scatter { order: ScatterOrder::Any | ScatterOrder::Unique, .. } => {}
            Action::Append { .. } | Action::Scatter { .. } => return None,
            _ => {}
        }
        statement.depth = statement.depth.saturating_sub(1);
    }
    in_ranges(&row).ok().map(|()| row)
}
