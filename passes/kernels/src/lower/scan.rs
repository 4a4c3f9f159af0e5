//! Scans: parallel levels, one that runs up or down, a scan.

use fusebox_ir::{
    Access, ArrayId, ArrayOp, Binary, Binding, Constant, Direction, ElementType, LevelOrder, ScalarOperand, ScanForm,
    Step, analysis::algebra,
};

use super::{
    Lower, Origin,
    combine::{Segments, segments},
};
use crate::{
    association,
    components::{groups, restricted},
    error::Error,
    nest::{ScanParts, Spot},
    strict::Code,
};

impl<'p> Lower<'p> {
    pub(super) fn scan(&mut self, binding: &Binding, origin: &Origin, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::Scan { direction, form, combine, seeds, sources, offsets, commutes } = &binding.op else {
            return Ok(());
        };
        let sources: Vec<ArrayId> = sources.iter().map(|&id| self.array(id)).collect();
        let offsets = offsets.map(|id| self.array(id));
        let seeds: Vec<_> = seeds.iter().map(|&seed| self.operand(seed)).collect();
        let results = self.results(&binding.results, origin, steps)?;
        let Some(&first) = sources.first() else { return Ok(()) };
        let extents = self.values.ty(first).extents.clone();
        let Some((&along, outer)) = extents.split_last() else { return Ok(()) };
        let order = if *direction == Direction::Left { LevelOrder::Up } else { LevelOrder::Down };

        let mut nest = self.nest(origin);
        let rows = nest.levels_over(outer);
        let whole = |value: i64| ScalarOperand::from(Constant::from(value));
        let (segment, from, to, element) = match offsets {
            Some(offsets) => {
                let Segments { segment, from, to, element } = segments(&mut nest, offsets, along, order, origin);
                (Some(segment), from, to, element)
            }
            None => {
                let to = nest.extent(along);
                (None, whole(0), to, nest.level(whole(0), to, order))
            }
        };
        let at = Spot::before(nest.depth());
        let around = Spot::after(nest.depth() - 1);
        let row = |last: ScalarOperand| rows.iter().copied().chain([last]).collect::<Vec<_>>();
        let mut code = Code::default();
        let values: Vec<_> =
            sources.iter().map(|&source| nest.read(&mut code, source, row(element), &binding.place)).collect();
        let values = nest.run(code, &values, at);
        let seeds: Vec<ScalarOperand> = seeds.iter().map(|&seed| nest.operand(seed)).collect();
        let exclusive = *form != ScanForm::Inclusive;
        let k = sources.len();
        let mut running: Vec<Option<(ScalarOperand, Option<ScalarOperand>)>> = vec![None; k];
        for group in groups(combine) {
            let own = restricted(combine, &group);
            let of = |list: &[ScalarOperand]| group.iter().filter_map(|&c| list.get(c).copied()).collect::<Vec<_>>();
            let types: Vec<ElementType> = group.iter().map(|&c| self.values.ty(sources[c]).element).collect();
            let commutes = *commutes || algebra(&own).commutes;
            let association = association::of_scan(&nest, &of(&values), &types, commutes);
            let function = nest.function(&own);
            let parts = ScanParts {
                exclusive,
                totals: exclusive,
                association,
                combine: function,
                seeds: of(&seeds),
                values: of(&values),
            };
            let (results, totals) = nest.scan(parts);
            for (at, (&component, result)) in group.iter().zip(results).enumerate() {
                running[component] = Some((result, totals.get(at).copied()));
            }
        }
        // In an exclusive scan segment s has s elements of segments before it too many.
        let (mut target, mut end) = (element, if order == LevelOrder::Up { to } else { from });
        if *form == ScanForm::Exclusive {
            if let Some(segment) = segment {
                target = nest.binary(Binary::Add, target, segment, at);
                end = nest.binary(Binary::Add, end, segment, Spot::before(around.depth));
            }
            if order == LevelOrder::Down {
                target = nest.binary(Binary::Add, target, whole(1), at);
            }
        }
        for (component, running) in running.into_iter().enumerate() {
            let Some((value, total)) = running else { continue };
            nest.store(results[component], Access::Write, &row(target), value, at);
            match (form, total) {
                (ScanForm::Exclusive, Some(total)) => {
                    nest.store(results[component], Access::Write, &row(end), total, around)
                }
                (ScanForm::Body, Some(total)) => {
                    let index: Vec<ScalarOperand> = rows.iter().copied().chain(segment).collect();
                    nest.store(results[k + component], Access::Write, &index, total, around);
                }
                _ => {}
            }
        }
        let launch = nest.finish();
        self.launch(launch, steps);
        Ok(())
    }
}
