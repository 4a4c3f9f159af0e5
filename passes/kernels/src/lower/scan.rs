//! Scans: along a level that runs up or down.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Constant, Direction, ElementType, ScalarOperand, ScanForm, Var,
    analysis::components::{groups, restricted},
};

use super::fuse::Fusing;
use crate::{
    locals::scalar_code,
    nest::{Associates, Commutes, ProgramPoint, ScanParts},
};

impl Fusing<'_, '_> {
    pub(super) fn scan(&mut self, position: usize) {
        let binding = self.binding(position);
        let ArrayOp::Scan { direction, form, combine, seeds, sources, offsets, commutes } = &binding.op else {
            unreachable!("asked for by its kind")
        };
        let (station, point, when) = (self.station(position), self.point(position), self.when(position));
        let index = self.index(position);
        let (rows, outer_when) = self.outer(position);
        let element = *index.last().expect("a scan runs over a level");
        let down = *direction == Direction::Right;
        let mut code = scalar_code();
        let values = self.sources(position, sources, &index, &mut code);
        let values = self.nest.run_when(code, &values, point, when);
        let seeds: Vec<ScalarOperand> = seeds.iter().map(|&seed| self.nest.operand(self.lower.operand(seed))).collect();
        // With a step for each of n + 1 results, what is before an element when it runs up is with the element when it runs down: the
        // first step then has none.
        let exclusive = *form != ScanForm::Inclusive && !(station.longer && down);
        let totals = *form != ScanForm::Inclusive && !station.longer;
        let k = sources.len();
        let mut running: Vec<Option<(ScalarOperand, Option<ScalarOperand>)>> = vec![None; k];
        for group in groups(combine) {
            let own = restricted(combine, &group);
            let of = |list: &[ScalarOperand]| group.iter().filter_map(|&c| list.get(c).copied()).collect::<Vec<_>>();
            let types: Vec<ElementType> = of(&values).iter().map(|&value| self.nest.ty(value)).collect();
            let associates = Associates { types, commutes: Commutes::of(*commutes, &own) };
            let combine = self.nest.function(&own);
            let (seeds, values) = (of(&seeds), of(&values));
            let parts = ScanParts { exclusive, totals, association: Err(associates), combine, seeds, values };
            let (results, totals) = self.nest.scan(point, when, parts);
            for (at, (&component, result)) in group.iter().zip(results).enumerate() {
                running[component] = Some((result, totals.get(at).copied()));
            }
        }
        let row = |last: ScalarOperand| rows.iter().copied().chain([last]).collect::<Vec<_>>();
        let around = ProgramPoint::after(station.to);
        let (target, end) = match form {
            ScanForm::Exclusive if !station.longer => self.exclusive_targets(position, element, down, *offsets),
            _ => (element, element),
        };
        let value_when = if station.longer { outer_when } else { when };
        for (component, running) in running.into_iter().enumerate() {
            let (value, total) = running.expect("each component is of one group");
            let var: &Var = &binding.results[component];
            self.give_at(position, var, value, &row(target), point, value_when);
            match (form, total) {
                (ScanForm::Exclusive, Some(total)) => self.give_at(position, var, total, &row(end), around, outer_when),
                (ScanForm::Body, Some(total)) => {
                    let segment = self.segments_of(*offsets).map(|of| of.segment);
                    let index: Vec<ScalarOperand> = rows.iter().copied().chain(segment).collect();
                    self.give_at(position, &binding.results[k + component], total, &index, around, outer_when);
                }
                _ => {}
            }
        }
    }

    /// Where the results of an exclusive scan go, and its totals.
    fn exclusive_targets(
        &mut self,
        position: usize,
        element: ScalarOperand,
        down: bool,
        offsets: Option<ArrayId>,
    ) -> (ScalarOperand, ScalarOperand) {
        let (station, point) = (self.station(position), self.point(position));
        let whole = |value: i64| ScalarOperand::from(Constant::from(value));
        let bounds = self.segments_of(offsets).map(|of| (of.segment, of.from, of.to));
        let mut target = element;
        let end = match bounds {
            // Segment s has s elements of segments before it too many.
            Some((segment, from, to)) => {
                target = self.nest.binary(Binary::Add, target, segment, point);
                let end = if down { from } else { to };
                self.nest.binary(Binary::Add, end, segment, ProgramPoint::before(station.to))
            }
            None if down => whole(0),
            None => {
                let extent = station.dims.last().expect("a scan runs over a level").extent;
                self.nest.extent(self.lower.extent(extent))
            }
        };
        if down {
            target = self.nest.binary(Binary::Add, target, whole(1), point);
        }
        (target, end)
    }
}
