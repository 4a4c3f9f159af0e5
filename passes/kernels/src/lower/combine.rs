//! Folds: reduces over a level, and levels over segments.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Constant, ElementType, FailureKind, Lambda, LevelOrder, PlanExtent, ScalarOp,
    ScalarOperand, ValueId,
    analysis::{
        algebra,
        components::{groups, restricted},
        spine::IterationOrder,
    },
};

use super::{Origin, fuse::Fusing};
use crate::{
    locals::scalar_code,
    nest::{Associates, KernelBuilder, ProgramPoint},
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

impl Fusing<'_, '_> {
    pub(super) fn fold(&mut self, position: usize) {
        let binding = self.binding(position);
        let ArrayOp::Fold { combine, seeds, sources, offsets, commutes } = &binding.op else {
            unreachable!("asked for by its kind")
        };
        let (station, point, when) = (self.station(position), self.point(position), self.when(position));
        let index = self.index(position);
        let (mut outer, outer_when) = self.outer(position);
        let rows = outer.len();
        let segment = self.segments_of(*offsets).map(|of| of.segment);
        outer.extend(segment);
        let counted = matches!(station.iteration_order, IterationOrder::Counted(_));
        if seeds.is_empty() && !counted {
            self.not_empty(position, &outer, rows, segment.is_some(), outer_when);
        }
        let mut code = scalar_code();
        let values = self.sources(position, sources, &index, &mut code);
        let values = self.nest.run_when(code, &values, point, when);
        let seeds: Vec<ScalarOperand> = seeds.iter().map(|&seed| self.nest.operand(self.lower.operand(seed))).collect();
        if seeds.is_empty() && counted {
            self.some_counted(position, sources);
        }
        for group in groups(combine) {
            let own = restricted(combine, &group);
            let of = |list: &[ScalarOperand]| group.iter().filter_map(|&c| list.get(c).copied()).collect::<Vec<_>>();
            let types: Vec<ElementType> = of(&values).iter().map(|&value| self.nest.ty(value)).collect();
            let associates = Associates { types, commutes: *commutes || algebra(&own).commutes };
            let results = self.reduce(position, &own, associates, of(&seeds), of(&values));
            for (&component, result) in group.iter().zip(results) {
                let var = &binding.results[component];
                self.give_at(position, var, result, &outer, ProgramPoint::after(station.to), outer_when);
            }
        }
    }

    /// A reduce over a level; over several, of the results of the inner ones.
    fn reduce(
        &mut self,
        position: usize,
        combine: &Lambda,
        associates: Associates,
        seeds: Vec<ScalarOperand>,
        values: Vec<ScalarOperand>,
    ) -> Vec<ScalarOperand> {
        let (station, point) = (self.station(position), self.point(position));
        let identity: Option<Vec<ScalarOperand>> =
            algebra(combine).identity.map(|identity| identity.into_iter().map(Into::into).collect());
        let (mut values, mut when, mut at) = (values, self.when(position), point);
        for depth in (station.to..point.depth).rev() {
            let function = self.nest.function(combine);
            let last = depth == station.to;
            let start = if last { seeds.clone() } else { identity.clone().unwrap_or_default() };
            // Without an identity what is made of nothing takes no part.
            let some = (!last && identity.is_none()).then(|| self.some(at, when, depth));
            values = self.nest.reduce(at, when, depth, associates.clone(), function, start, values);
            (when, at) = (some, ProgramPoint::after(depth));
        }
        values
    }

    /// Whether anything takes part, at a depth around.
    fn some(&mut self, at: ProgramPoint, when: Option<ScalarOperand>, to: u32) -> ScalarOperand {
        let combine = self.nest.built_in(Binary::Or, ElementType::Bool);
        let associates = Associates { types: vec![ElementType::Bool], commutes: true };
        let (none, value) = (Constant::from(false).into(), when.unwrap_or(Constant::from(true).into()));
        self.nest.reduce(at, None, to, associates, combine, vec![none], vec![value])[0]
    }

    /// Fails after all where nothing of what is counted took part.
    fn some_counted(&mut self, position: usize, sources: &[ArrayId]) {
        let (station, origin) = (self.station(position), self.origin(position));
        let (mut when, mut at) = (self.when(position), self.point(position));
        for depth in (station.to..at.depth).rev() {
            when = Some(self.some(at, when, depth));
            at = ProgramPoint::after(depth);
        }
        let Some(some) = when else { return };
        let array = self.source_name(sources[0]);
        let fault = FailureKind::EmptyFold { array, row: Constant::from(0i64).into() };
        self.nest.check(some, &origin.operation, &origin.place, fault, at, None);
    }

    /// Fails where a row or a segment is empty.
    fn not_empty(
        &mut self,
        position: usize,
        index: &[ScalarOperand],
        rows: usize,
        segmented: bool,
        when: Option<ScalarOperand>,
    ) {
        let (station, origin) = (self.station(position), self.origin(position));
        let ArrayOp::Fold { sources, offsets, .. } = &self.binding(position).op else {
            unreachable!("asked for by its kind")
        };
        let (extents, array) = (self.lower.extents(sources[0]), self.source_name(sources[0]));
        let (from, to) = match self.segments_of(*offsets) {
            Some(segments) => (segments.from, segments.to),
            None => {
                let along = *extents.last().expect("a fold runs over a dimension");
                (Constant::from(0i64).into(), self.nest.extent(along))
            }
        };
        let nest = &mut self.nest;
        let at = ProgramPoint::before(station.to);
        if nest.is_below(from, to, station.to, false) {
            return;
        }
        let filled = nest.binary(Binary::Lt, from, to, at);
        let row = match (segmented, index.last()) {
            (true, Some(&segment)) => segment,
            _ => index.iter().take(rows).zip(&extents).fold(Constant::from(0i64).into(), |row, (&index, &extent)| {
                let extent = nest.extent(extent);
                let rows = nest.binary(Binary::Mul, row, extent, at);
                nest.binary(Binary::Add, rows, index, at)
            }),
        };
        nest.check(filled, &origin.operation, &origin.place, FailureKind::EmptyFold { array, row }, at, when);
    }
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
    Segments { segment, from, to }
}
