//! Which rows of its arrays a step of a kernel's outermost level touches.

use crate::{Access, Action, DimIndex, Kernel, KernelArrayId, KernelExtent, LocalId, ScalarOperand, StatementPart};

/// Rows further away than this are not near: no strip of rows holds them, and sums of distances stay small whatever a plan says.
const MOST_DISTANCE: i64 = 1 << 20;

/// What a step of the outermost level touches of an array. A row is what one index of the first dimension leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowUse {
    /// Step r writes all of row r, and nothing else of the array.
    Written,
    /// Step r reads at most these rows around row r; what boundaries put in the place of rows outside comes in addition.
    Near {
        /// Down to row `r - above`.
        above: i64,
        /// Up to row `r + below`.
        below: i64,
    },
    /// It reads anything, or the array is a scalar.
    Anywhere,
}

/// A kernel each of whose steps of the outermost level writes one row of each array that it writes, and combines nothing with other steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByRow {
    /// The size that says how many steps there are: as many rows as the written arrays have.
    pub rows: LocalId,
    /// Of each array.
    pub uses: Vec<RowUse>,
}

/// What each step of the outermost level touches, if every step writes rows of its own.
pub fn by_row(kernel: &Kernel) -> Option<ByRow> {
    let level = kernel.levels.first()?;
    let zero = matches!(level.from, ScalarOperand::Constant(number) if number.as_i64() == Some(0));
    let ScalarOperand::Local(rows) = level.to else { return None };
    if !zero || !kernel.sizes.iter().any(|size| size.id == rows) {
        return None;
    }
    let index = level.index.id;
    let mut uses: Vec<Option<RowUse>> = vec![None; kernel.arrays.len()];
    for statement in &kernel.statements {
        match &statement.action {
            Action::Load { array, map, .. } => {
                let is_near = |offset: i64| (-MOST_DISTANCE..=MOST_DISTANCE).contains(&offset);
                let along = |dim: &&DimIndex| dim.terms == [(1, index)] && is_near(dim.offset);
                let near = map.dims.first().filter(along).filter(|_| statement.depth > 0);
                let own = uses.get_mut(array.index())?;
                *own = Some(match (near, *own) {
                    (Some(dim), None) => RowUse::Near { above: (-dim.offset).max(0), below: dim.offset.max(0) },
                    (Some(dim), Some(RowUse::Near { above, below })) => {
                        RowUse::Near { above: above.max(-dim.offset), below: below.max(dim.offset) }
                    }
                    _ => RowUse::Anywhere,
                });
            }
            Action::Store { array, map, .. } => {
                let own = map.dims.first().is_some_and(|dim| dim.terms == [(1, index)] && dim.offset == 0);
                let declared = kernel.arrays.get(array.index())?;
                let whole =
                    declared.access == Access::Write && declared.extents.first() == Some(&KernelExtent::Size(rows));
                if !own || !whole || statement.depth == 0 {
                    return None;
                }
                uses[array.index()] = Some(RowUse::Written);
            }
            Action::Reduce { to: 0, .. } | Action::Append { .. } | Action::Scatter { .. } => return None,
            Action::Scan { .. } if statement.depth < 2 => return None,
            Action::Scalar(_) | Action::Check { .. } | Action::Reduce { .. } | Action::Scan { .. } => {}
        }
        // Scalar code may read anything.
        for part in statement.parts() {
            match part {
                StatementPart::Array(array, Access::Read) if !matches!(statement.action, Action::Load { .. }) => {
                    *uses.get_mut(array.index())? = Some(RowUse::Anywhere);
                }
                StatementPart::Body(body) => {
                    for id in body.arrays_read() {
                        *uses.get_mut(KernelArrayId::of_code(id).index())? = Some(RowUse::Anywhere);
                    }
                }
                _ => {}
            }
        }
    }
    let written = |(array, own): (&crate::KernelArray, &Option<RowUse>)| {
        (array.access == Access::Read) != matches!(own, Some(RowUse::Written))
    };
    if !kernel.arrays.iter().zip(&uses).all(written) {
        return None;
    }
    Some(ByRow { rows, uses: uses.into_iter().map(|own| own.unwrap_or(RowUse::Anywhere)).collect() })
}
