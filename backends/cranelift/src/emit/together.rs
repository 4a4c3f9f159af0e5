//! Rows of several points: the level around a row is across lanes, and its points go through their rows one after the other. What the gangs of a
//! point's row have combined is one gang of accumulators; those of all points are folded together, so that each instruction combines accumulators
//! of several points, and a point has its result in its lane.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use fusebox_ir::{LocalId, Statement, analysis::kernels::depths};
use fusebox_schedule::{Gang, Loop};

use super::{
    Emitter, Result, Val,
    rows::Folded,
    statement::reduce::{Maybe, Reduce},
};
use crate::vector::{Memory, Value};

/// A local that the row uses, and that differs between points.
enum ByPoint {
    /// That of a point is here in scratch memory.
    Kept(i64, Value),
    /// `i64`: that of the first point, and how far it is from point to point.
    Linear(Value, Value),
}

/// The accumulators of a reduce, in scratch memory: a gang for the points that are done at once, one behind the other.
struct Accumulators {
    /// Which of the steps that run at once it is of.
    step: usize,
    position: usize,
    reduce: Reduce,
    /// Where those of each component begin, with a value that has their type.
    places: Vec<(i64, Value)>,
}

impl<'k> Emitter<'k> {
    /// The level `depth` around the statements `inner` as a row, for each of the points that are lanes just now; of each of the steps that run at once.
    pub(super) fn rows_together(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        each: &'k Loop,
        bounds: (Value, Value),
    ) -> Result {
        let points = self.lanes;
        if self.mask.is_some() {
            return Err(self.broken("rows of lanes of which some take no part"));
        }
        let (outer, gang, steps) = (self.locals.clone(), self.gang, self.locals_of_steps());
        let shared = self.differ_by_point(depth, inner.clone(), &outer);
        let differ: Vec<_> = steps.iter().map(|step| self.differ_by_point(depth, inner.clone(), step)).collect();
        let jam = self.jam.take();
        let zero = self.b.int(0);
        let behind = self.b.int(points.into());
        let folded = self.b.int(i64::from(points / each.points));
        let open = self.b.begin_loop(zero, behind, i64::from(each.points), &self.states.clone());
        self.states.clone_from(&open.carried);
        self.lanes = 1;
        self.gang = Some(Gang { level: depth, lanes: points, masked: true });
        let mut own = Vec::new();
        for ahead in 0..each.points {
            let number = self.b.add_int(open.index, ahead.into());
            let of_all = self.locals_at(&outer, &shared, number);
            for (step, differ) in steps.iter().zip(&differ) {
                let mut locals = of_all.clone();
                locals.extend(step.iter().map(|(&id, &value)| (id, value)));
                own.push(self.locals_at(&locals, differ, number));
            }
        }
        let mut of_points = self.row_gangs(depth, inner, each, bounds, own)?;
        self.lanes = points;
        let at = self.b.mul(open.index, folded);
        let mut all = Vec::new();
        for step in 0..steps.len() {
            for number in 0..of_points[step].len() {
                let Folded { position, reduce, .. } = of_points[step][number].clone();
                let own = of_points.iter_mut().skip(step).step_by(steps.len());
                let gangs = own.map(|own| std::mem::take(&mut own[number].total)).collect();
                self.operation = self.kernel.operation(&self.kernel.statements[position]);
                let (values, _) = self.fold_points(&reduce, gangs, 1)?;
                let mut places = Vec::new();
                for value in values {
                    let bytes = self.b.element(value).bytes() * (points * points / each.points) as usize;
                    let place = self.b.scratch(bytes);
                    let base = self.scratch_at(place);
                    self.b.store(base, at, value, None);
                    places.push((place, value));
                }
                all.push(Accumulators { step, position, reduce, places });
            }
        }
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        (self.locals, self.gang, self.lanes, self.jam) = (outer, gang, points, jam);
        for Accumulators { step, position, reduce, places } in all {
            self.operation = self.kernel.operation(&self.kernel.statements[position]);
            let mut gangs: Vec<Maybe> = Vec::new();
            for at in (0..points / each.points).map(|number| i64::from(number * points)) {
                let at = self.b.int(at);
                let load = |&(place, like): &(i64, Value)| {
                    let base = self.scratch_at(place);
                    self.b.load(self.b.element(like), points, base, at, Memory::Shared)
                };
                gangs.push((places.iter().map(load).collect(), None));
            }
            let total = self.fold_points(&reduce, gangs, each.points)?;
            let reduce = reduce.in_lanes(points);
            self.at_step(step, position, |this| this.reduce_results(position, &reduce, total))?;
        }
        Ok(())
    }

    /// Those of these locals that statements inside of level `depth` use, and that differ between lanes; what is no line is stored, for each point to
    /// load its own.
    fn differ_by_point(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        locals: &HashMap<LocalId, Val>,
    ) -> Vec<(LocalId, ByPoint)> {
        let known = depths(self.kernel);
        // What is made inside may be known still, from another version of the level.
        let outside = |id: &LocalId| known.get(id).is_some_and(|&own| own <= depth);
        let used = self.kernel.statements[inner].iter().flat_map(Statement::used_locals).filter(outside);
        let used: BTreeSet<LocalId> = used.collect();
        let mut differ = Vec::new();
        for id in used {
            match locals.get(&id) {
                Some(&Val::Gang(value)) => {
                    let place = self.b.scratch(self.b.element(value).bytes() * self.lanes as usize);
                    let (base, zero) = (self.scratch_at(place), self.b.int(0));
                    self.b.store(base, zero, value, None);
                    differ.push((id, ByPoint::Kept(place, value)));
                }
                Some(&Val::Linear(first, stride)) => differ.push((id, ByPoint::Linear(first, stride))),
                Some(Val::Uniform(_)) | None => {}
            }
        }
        differ
    }

    /// What is known at a point, by its number.
    fn locals_at(
        &mut self,
        outer: &HashMap<LocalId, Val>,
        differ: &[(LocalId, ByPoint)],
        number: Value,
    ) -> HashMap<LocalId, Val> {
        let mut locals = outer.clone();
        for (id, own) in differ {
            let own = match *own {
                ByPoint::Kept(place, like) => {
                    let base = self.scratch_at(place);
                    self.b.load(self.b.element(like), 1, base, number, Memory::Shared)
                }
                ByPoint::Linear(first, stride) => {
                    let ahead = self.b.mul(number, stride);
                    self.b.add(first, ahead)
                }
            };
            locals.insert(*id, Val::Uniform(own));
        }
        locals
    }
}
