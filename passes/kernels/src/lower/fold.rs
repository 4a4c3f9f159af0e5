//! Folds: reduces over a level.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Constant, ElementType, FailureKind, Lambda, MAX_EXTENT, ScalarOperand,
    analysis::{
        algebra,
        components::{groups, restricted},
        spine::IterationOrder,
    },
};

use super::fuse::Fusing;
use crate::{
    locals::scalar_code,
    nest::{Associates, Commutes, ProgramPoint},
    positions,
};

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
            let mut commutes = Commutes::of(*commutes, &own);
            if let Commutes::No = commutes
                && let Some(commuting) = self.commuting(position, &own, &of(&seeds), &of(&values))
            {
                commutes = Commutes::As(self.nest.function(&commuting));
            }
            let associates = Associates { types, commutes };
            let results = self.reduce(position, &own, associates, of(&seeds), of(&values));
            for (&component, result) in group.iter().zip(results) {
                let var = &binding.results[component];
                self.give_at(position, var, result, &outer, ProgramPoint::after(station.to), outer_when);
            }
        }
    }

    /// A function that commutes in the place of one that chooses the first or last of equal elements, if these say which is first: where one
    /// component is the index of the level that is reduced.
    fn commuting(
        &self,
        position: usize,
        combine: &Lambda,
        seeds: &[ScalarOperand],
        values: &[ScalarOperand],
    ) -> Option<Lambda> {
        let (station, point) = (self.station(position), self.point(position));
        let level = self.nest.levels.get(station.to as usize).filter(|_| point.depth == station.to + 1)?;
        let at = values.iter().position(|&value| value == level.index.id.into())?;
        let behind = match seeds.get(at) {
            None => None,
            Some(ScalarOperand::Constant(seed)) => match seed.as_i64()? {
                ..=0 => None,
                seed @ MAX_EXTENT.. => Some(seed),
                _ => return None,
            },
            Some(_) => return None,
        };
        positions::commuting(combine, at, behind)
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
        let associates = Associates { types: vec![ElementType::Bool], commutes: Commutes::Yes };
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
