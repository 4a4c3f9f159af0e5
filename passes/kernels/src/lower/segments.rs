//! Levels over segments, and over the elements of each.

use fusebox_ir::{
    Binary, Constant, ElementType, FailureKind, LevelOrder, PlanExtent, ScalarOp, ScalarOperand, ValueId,
};

use super::Origin;
use crate::{
    locals::scalar_code,
    nest::{KernelBuilder, ProgramPoint},
};

/// A level over segments and one over the elements of each.
pub(super) struct Segments {
    /// The index of the segment.
    pub(super) segment: ScalarOperand,
    /// The segment's first element.
    pub(super) from: ScalarOperand,
    /// One after its last.
    pub(super) to: ScalarOperand,
}

/// A number of steps, or an element.
fn whole(value: i64) -> ScalarOperand {
    ScalarOperand::from(Constant::from(value))
}

/// One less than there are offsets; fails where there is none.
fn number_of_segments(nest: &mut KernelBuilder<'_>, offsets: ValueId, origin: &Origin) -> ScalarOperand {
    let values = nest.known.values;
    let name = values.name(offsets).to_owned();
    let count = values.ty(offsets).extents[0];
    let count = nest.extent(count);
    let start = ProgramPoint::before(0);
    if !nest.is_below(whole(1), count, nest.depth(), true) {
        let some = nest.binary(Binary::Lt, whole(0), count, start);
        nest.check(some, &origin.operation, &origin.place, FailureKind::NoOffsets { offsets: name }, start, None);
        nest.at_most(0, whole(1), count);
    }
    nest.binary(Binary::Sub, count, whole(1), start)
}

/// Opens a level over segments, and says how many there are.
pub(super) fn segment_level(
    nest: &mut KernelBuilder<'_>,
    offsets: ValueId,
    order: LevelOrder,
    origin: &Origin,
) -> ScalarOperand {
    let count = number_of_segments(nest, offsets, origin);
    nest.level(whole(0), count, order);
    count
}

/// Checks offsets, and opens a level over the elements of the segment that the level around it is at. `count` is how many segments there are,
/// if that is known.
pub(super) fn element_level(
    nest: &mut KernelBuilder<'_>,
    offsets: ValueId,
    (count, extent): (Option<ScalarOperand>, PlanExtent),
    order: LevelOrder,
    origin: &Origin,
) -> Segments {
    let name = nest.known.values.name(offsets).to_owned();
    let extent = nest.extent(extent);
    let start = ProgramPoint::before(0);
    let last = count.unwrap_or_else(|| number_of_segments(nest, offsets, origin));
    let offset = |nest: &mut KernelBuilder<'_>, index: ScalarOperand, at: ProgramPoint| {
        let mut code = scalar_code();
        let raw = nest.read(&mut code, offsets, vec![index], &origin.place);
        let wide =
            nest.push(&mut code, ScalarOp::Convert { to: ElementType::I64, a: raw }, ElementType::I64, &origin.place);
        nest.run(code, &[wide], at)[0]
    };
    let check = |nest: &mut KernelBuilder<'_>,
                 condition: ScalarOperand,
                 position: ScalarOperand,
                 value: ScalarOperand,
                 at: ProgramPoint| {
        let fault = FailureKind::Offsets { offsets: name.clone(), position, value, extent };
        nest.check(condition, &origin.operation, &origin.place, fault, at, None);
    };
    let first = offset(nest, whole(0), start);
    let end = offset(nest, last, start);
    let zero = nest.binary(Binary::Eq, first, whole(0), start);
    check(nest, zero, whole(0), first, start);
    let full = nest.binary(Binary::Eq, end, extent, start);
    check(nest, full, last, end, start);

    let segment: ScalarOperand = nest.levels.last().expect("a level over the segments is around").index.id.into();
    let at = ProgramPoint::before(nest.depth());
    let next = nest.binary(Binary::Add, segment, whole(1), at);
    let (from, to) = (offset(nest, segment, at), offset(nest, next, at));
    // Each segment by itself is inside: segments run in any order.
    let above = nest.binary(Binary::Le, whole(0), from, at);
    check(nest, above, segment, from, at);
    let rises = nest.binary(Binary::Le, from, to, at);
    let inside = nest.binary(Binary::Le, to, extent, at);
    let fits = nest.binary(Binary::And, rises, inside, at);
    check(nest, fits, next, to, at);
    nest.at_most(at.depth, whole(0), from);
    nest.at_most(at.depth, from, to);
    nest.at_most(at.depth, to, extent);
    nest.level(from, to, order);
    nest.in_segments(offsets, from);
    Segments { segment, from, to }
}
