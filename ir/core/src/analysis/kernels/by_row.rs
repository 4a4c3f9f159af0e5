//! Which rows of its arrays a step of a kernel's outermost level touches.

use super::row_lengths::{RowLengths, row_lengths};
use crate::{
    Access, Action, Binary, DimIndex, Kernel, KernelArray, KernelArrayId, KernelExtent, LocalId, ScalarOp,
    ScalarOperand, StatementPart,
};

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
    /// Step r writes all elements of segment r, and nothing else: rows of the array are elements, and segments are rows of elements.
    WritesSegment,
    /// Step r reads at most the elements of segment r.
    Segment,
    /// It reads anything, or the array is a scalar.
    Anywhere,
}

impl RowUse {
    /// Whether the array is written.
    pub fn is_written(self) -> bool {
        matches!(self, Self::Written | Self::WritesSegment)
    }

    /// Whether it is of segments.
    pub fn is_of_segments(self) -> bool {
        matches!(self, Self::WritesSegment | Self::Segment)
    }
}

/// A kernel each of whose steps of the outermost level writes one row, or one segment, of each array that it writes, and combines nothing
/// with other steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByRow {
    /// The size that says how many steps there are.
    pub rows: LocalId,
    /// How much less than that size it is: 1 where the size is that of offsets, else 0. There are as many rows of arrays that are written; where
    /// this is 1 the arrays have a size of their own, and whoever runs the kernel sees whether it is the same.
    pub less: i64,
    /// Where segments begin and end, from step 0 on, if an array is of segments.
    pub offsets: Option<KernelArrayId>,
    /// Of each array.
    pub uses: Vec<RowUse>,
}

/// What each step of the outermost level touches, if every step writes rows or segments of its own.
pub fn by_row(kernel: &Kernel) -> Option<ByRow> {
    let level = kernel.levels.first()?;
    if !matches!(level.from, ScalarOperand::Constant(number) if number.as_i64() == Some(0)) {
        return None;
    }
    let (rows, less) = steps(kernel, level.to)?;
    let segments = match row_lengths(kernel) {
        Some(RowLengths::Offsets { array, first: 0 }) => Some((array, kernel.levels[1].index.id)),
        _ => None,
    };
    let looked = Looked { kernel, rows, less, index: level.index.id, segment: segments.map(|(_, index)| index) };
    let uses = looked.uses()?;
    let of_segments = uses.iter().any(|own| own.is_of_segments());
    Some(ByRow { rows, less, offsets: segments.map(|(array, _)| array).filter(|_| of_segments), uses })
}

/// The size that a number of steps is, or is one less than.
fn steps(kernel: &Kernel, to: ScalarOperand) -> Option<(LocalId, i64)> {
    let is_size = |id: LocalId| kernel.sizes.iter().any(|size| size.id == id);
    let ScalarOperand::Local(id) = to else { return None };
    if is_size(id) {
        return Some((id, 0));
    }
    let made = kernel.statements.iter().find(|statement| statement.results().iter().any(|own| own.id == id))?;
    match &made.action {
        Action::Scalar(instruction) => match instruction.op {
            ScalarOp::Binary {
                function: Binary::Sub,
                a: ScalarOperand::Local(size),
                b: ScalarOperand::Constant(one),
            } if is_size(size) && one.as_i64() == Some(1) => Some((size, 1)),
            _ => None,
        },
        _ => None,
    }
}

struct Looked<'k> {
    kernel: &'k Kernel,
    rows: LocalId,
    less: i64,
    /// The index of the outermost level.
    index: LocalId,
    /// The index of the level inside of it, if that goes over the elements of a segment.
    segment: Option<LocalId>,
}

impl Looked<'_> {
    fn uses(&self) -> Option<Vec<RowUse>> {
        let mut uses: Vec<Option<RowUse>> = vec![None; self.kernel.arrays.len()];
        for statement in &self.kernel.statements {
            match &statement.action {
                Action::Load { array, map, .. } => {
                    let own = uses.get_mut(array.index())?;
                    *own = Some(match (self.loaded(map.dims.first(), statement.depth), *own) {
                        (new, None) => new,
                        (new, Some(known)) => both(new, known),
                    });
                }
                Action::Store { array, map, .. } => {
                    *uses.get_mut(array.index())? = Some(self.stored(*array, map.dims.first(), statement.depth)?);
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
        let written = |(array, own): (&KernelArray, &Option<RowUse>)| {
            (array.access == Access::Read) != own.is_some_and(RowUse::is_written)
        };
        if !self.kernel.arrays.iter().zip(&uses).all(written) {
            return None;
        }
        Some(uses.into_iter().map(|own| own.unwrap_or(RowUse::Anywhere)).collect())
    }

    /// What a load at a depth touches, by its first index.
    fn loaded(&self, first: Option<&DimIndex>, depth: u32) -> RowUse {
        let Some(dim) = first.filter(|_| depth > 0) else { return RowUse::Anywhere };
        let is_near = (-MOST_DISTANCE..=MOST_DISTANCE).contains(&dim.offset);
        if dim.terms == [(1, self.index)] && is_near {
            return RowUse::Near { above: (-dim.offset).max(0), below: dim.offset.max(0) };
        }
        if self.is_in_segment(dim) && depth > 1 { RowUse::Segment } else { RowUse::Anywhere }
    }

    /// What a store at a depth touches, if that is all of a row or of a segment.
    fn stored(&self, array: KernelArrayId, first: Option<&DimIndex>, depth: u32) -> Option<RowUse> {
        let declared = self.kernel.arrays.get(array.index())?;
        let dim = first.filter(|_| declared.access == Access::Write)?;
        if dim.terms == [(1, self.index)] && dim.offset == 0 && depth > 0 {
            let whole = declared.extents.first() == Some(&KernelExtent::Size(self.rows)) || self.less != 0;
            return whole.then_some(RowUse::Written);
        }
        (self.is_in_segment(dim) && depth > 1).then_some(RowUse::WritesSegment)
    }

    fn is_in_segment(&self, dim: &DimIndex) -> bool {
        self.segment.is_some_and(|index| dim.terms == [(1, index)] && dim.offset == 0)
    }
}

/// What two loads touch together.
fn both(one: RowUse, other: RowUse) -> RowUse {
    match (one, other) {
        (RowUse::Near { above, below }, RowUse::Near { above: a, below: b }) => {
            RowUse::Near { above: above.max(a), below: below.max(b) }
        }
        (RowUse::Segment, RowUse::Segment) => RowUse::Segment,
        _ => RowUse::Anywhere,
    }
}
