//! Folds: parallel levels, one that runs up, a reduce.

use fusebox_ir::{
    Access, ArrayId, ArrayOp, Binary, Binding, Constant, ElementType, FailureKind, LevelOrder, ScalarOp, ScalarOperand,
    Step, analysis::algebra,
};

use super::{Lower, Origin};
use crate::{
    association,
    components::{groups, restricted},
    error::Error,
    nest::{Nest, Spot},
    strict::Code,
};

/// A level over segments and one over the elements of each.
pub(super) struct Segments {
    /// The index of the segment.
    pub(super) segment: ScalarOperand,
    /// The segment's first element.
    pub(super) from: ScalarOperand,
    /// One after its last.
    pub(super) to: ScalarOperand,
    /// The index of the element.
    pub(super) element: ScalarOperand,
}

impl<'p> Lower<'p> {
    pub(super) fn fold(&mut self, binding: &Binding, origin: &Origin, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::Fold { combine, seeds, sources, offsets, commutes } = &binding.op else { return Ok(()) };
        let sources: Vec<ArrayId> = sources.iter().map(|&id| self.array(id)).collect();
        let offsets = offsets.map(|id| self.array(id));
        let seeds: Vec<_> = seeds.iter().map(|&seed| self.operand(seed)).collect();
        let results = self.results(&binding.results, origin, steps)?;
        let Some(&first) = sources.first() else { return Ok(()) };
        let extents = self.values.ty(first).extents.clone();
        let Some((&along, outer)) = extents.split_last() else { return Ok(()) };

        let mut nest = self.nest(origin);
        let mut index = nest.levels_over(outer);
        let (from, to, element) = match offsets {
            Some(offsets) => {
                let Segments { segment, from, to, element } =
                    segments(&mut nest, offsets, along, LevelOrder::Up, origin);
                index.push(segment);
                (from, to, element)
            }
            None => {
                let to = nest.extent(along);
                let zero = Constant::from(0i64).into();
                (zero, to, nest.level(zero, to, LevelOrder::Up))
            }
        };
        let around = nest.depth() - 1;
        if seeds.is_empty() {
            let array = self.values.name(first).to_owned();
            not_empty(&mut nest, from, to, &index, outer, offsets.is_some(), array, origin);
        }
        let at = Spot::before(nest.depth());
        let mut place: Vec<ScalarOperand> = index.iter().take(outer.len()).copied().collect();
        place.push(element);
        let mut code = Code::default();
        let values: Vec<_> =
            sources.iter().map(|&source| nest.read(&mut code, source, place.clone(), &binding.place)).collect();
        let values = nest.run(code, &values, at);
        let seeds: Vec<ScalarOperand> = seeds.iter().map(|&seed| nest.operand(seed)).collect();
        let mut reduced: Vec<Option<ScalarOperand>> = vec![None; values.len()];
        for group in groups(combine) {
            let own = restricted(combine, &group);
            let of = |list: &[ScalarOperand]| group.iter().filter_map(|&c| list.get(c).copied()).collect::<Vec<_>>();
            let types: Vec<ElementType> = group.iter().map(|&c| self.values.ty(sources[c]).element).collect();
            let association = association::of_reduce(&nest, around, &types, *commutes || algebra(&own).commutes);
            let function = nest.function(&own);
            let results = nest.reduce(around, association, function, of(&seeds), of(&values));
            for (&component, result) in group.iter().zip(results) {
                reduced[component] = Some(result);
            }
        }
        for (&result, value) in results.iter().zip(reduced) {
            if let Some(value) = value {
                nest.store(result, Access::Write, &index, value, Spot::after(around));
            }
        }
        let launch = nest.finish();
        self.launch(launch, steps);
        Ok(())
    }
}

/// Fails where a row or a segment is empty.
#[allow(clippy::too_many_arguments)]
fn not_empty(
    nest: &mut Nest<'_, '_>,
    from: ScalarOperand,
    to: ScalarOperand,
    index: &[ScalarOperand],
    outer: &[fusebox_ir::Extent],
    segmented: bool,
    array: String,
    origin: &Origin,
) {
    let around = nest.depth() - 1;
    let at = Spot::before(around);
    let length = nest.known.form(to).plus(-1, &nest.known.form(from)).offset(-1);
    if nest.known.never_negative(&length, around) {
        return;
    }
    let filled = nest.binary(Binary::Lt, from, to, at);
    let row = match (segmented, index.last()) {
        (true, Some(&segment)) => segment,
        _ => index.iter().zip(outer).fold(Constant::from(0i64).into(), |row, (&index, &extent)| {
            let extent = nest.extent(extent);
            let rows = nest.binary(Binary::Mul, row, extent, at);
            nest.binary(Binary::Add, rows, index, at)
        }),
    };
    nest.check(filled, &origin.operation, &origin.place, FailureKind::EmptyFold { array, row }, at);
}

/// Opens a level over segments, checks their offsets, and opens a level over the elements of each.
pub(super) fn segments(
    nest: &mut Nest<'_, '_>,
    offsets: ArrayId,
    extent: fusebox_ir::Extent,
    order: LevelOrder,
    origin: &Origin,
) -> Segments {
    let values = nest.known.values;
    let name = values.name(offsets).to_owned();
    let whole = |value: i64| ScalarOperand::from(Constant::from(value));
    let count = values.ty(offsets).extents.first().copied().unwrap_or(fusebox_ir::Extent::Constant(0));
    let (count, extent) = (nest.extent(count), nest.extent(extent));
    let around = Spot::before(nest.depth());
    let start = Spot::before(0);
    if !nest.known.never_negative(&nest.known.form(count).offset(-1), around.depth) {
        let some = nest.binary(Binary::Lt, whole(0), count, start);
        let fault = FailureKind::NoOffsets { offsets: name.clone() };
        nest.check(some, &origin.operation, &origin.place, fault, start);
        nest.at_most(0, whole(1), count);
    }
    let offset = |nest: &mut Nest<'_, '_>, index: ScalarOperand, at: Spot| {
        let mut code = Code::default();
        let raw = nest.read(&mut code, offsets, vec![index], &origin.place);
        let wide =
            nest.push(&mut code, ScalarOp::Convert { to: ElementType::I64, a: raw }, ElementType::I64, &origin.place);
        nest.run(code, &[wide], at)[0]
    };
    let last = nest.binary(Binary::Sub, count, whole(1), start);
    let check =
        |nest: &mut Nest<'_, '_>, condition: ScalarOperand, position: ScalarOperand, value: ScalarOperand, at: Spot| {
            let fault = FailureKind::Offsets { offsets: name.clone(), position, value, extent };
            nest.check(condition, &origin.operation, &origin.place, fault, at);
        };
    let first = offset(nest, whole(0), start);
    let end = offset(nest, last, start);
    let zero = nest.binary(Binary::Eq, first, whole(0), start);
    check(nest, zero, whole(0), first, start);
    let full = nest.binary(Binary::Eq, end, extent, start);
    check(nest, full, last, end, start);

    let segment = nest.level(whole(0), last, LevelOrder::Parallel);
    let at = Spot::before(nest.depth());
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
    let element = nest.level(from, to, order);
    Segments { segment, from, to, element }
}
