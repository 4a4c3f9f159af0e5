//! Scatters in runs: what a gang puts at places one behind the other is packed, and stored together.

use fusebox_ir::{
    Action, Binary, ElementType,
    analysis::kernels::{Run, RunPlace, Runs, in_runs},
};

use crate::{
    emit::{Emitter, Result, Val},
    vector::{Append, Op, Value},
};

impl<'k> Emitter<'k> {
    /// Whether the gang under way stores the elements of a scatter in runs.
    pub(super) fn is_in_runs(&self, position: usize) -> bool {
        let depth = self.kernel.statements[position].depth as usize;
        self.lanes > 1
            && self.gang.is_some_and(|gang| gang.level + 1 == depth)
            && self.nest.in_runs().any(|own| own == position)
    }

    fn runs_of(&self, position: usize) -> Result<Runs<'k>> {
        in_runs(self.kernel, position).map_err(|why| self.broken(&format!("runs of a scatter: {why}")))
    }

    /// The scatter that says how many elements a scan has counted, where nothing else is made of them.
    pub(super) fn counted_by(&self, scan: usize) -> Option<usize> {
        self.nest.in_runs().find(|&position| {
            in_runs(self.kernel, position)
                .is_ok_and(|runs| runs.scan == scan && runs.counts_alone(self.kernel, position))
        })
    }

    /// Packs the elements of each run, and stores them together.
    pub(super) fn scatter_in_runs(&mut self, position: usize, when: Option<Value>) -> Result {
        let kernel = self.kernel;
        let Action::Scatter { arrays, map, values, place, .. } = &kernel.statements[position].action else {
            self.misplaced(position)
        };
        let runs = self.runs_of(position)?;
        let counting = self.scans.get(&runs.scan).filter(|scan| scan.counts()).map(|scan| scan.running());
        let mask = self.b.both(when, self.mask);
        if map.checked && counting.is_none() {
            let index = [self.dim_index(runs.index)?];
            let outer = std::mem::replace(&mut self.mask, mask);
            self.check_index(arrays[0], &index, &[], place)?;
            self.mask = outer;
        }
        let values = values.iter().map(|&value| self.operand(value)).collect::<Result<Vec<_>>>()?;
        let values: Vec<Value> = values.into_iter().map(|value| self.gang(value)).collect();
        let bases: Vec<Value> = arrays.iter().map(|array| self.arrays[array.index()]).collect();
        let firsts = runs.runs.iter().map(|run| self.first_of(run, position)).collect::<Result<Vec<_>>>()?;
        if map.checked && counting.is_some() {
            self.check_runs(position, &runs, &firsts, mask)?;
        }
        let spare = self.scratch_at(self.spare);
        for (run, &first) in runs.runs.iter().zip(&firsts) {
            let condition = self.operand(run.condition)?;
            let condition = self.plain(condition);
            let own = if run.holds { condition } else { self.b.not(condition) };
            let own = self.b.both(Some(own), self.mask).unwrap_or(own);
            let own = self.b.splat(own, self.lanes);
            let next = self.b.fresh(ElementType::I64, 1);
            let (bases, values) = (bases.clone(), values.clone());
            let append = Append { bases, count: first, values, mask: Some(own), spare, whole: false };
            self.b.push(&[next], Op::Append(Box::new(append)));
            if let Some(running) = counting.filter(|_| run.counted) {
                let count = self.b.sub(next, first);
                self.states[running] = self.b.add(self.states[running], count);
            }
        }
        Ok(())
    }

    /// Where the first element of a run goes. What the first lane says is right whichever lane that is.
    fn first_of(&mut self, run: &Run<'k>, position: usize) -> Result<Value> {
        let place = match run.place {
            RunPlace::Index(index) => self.dim_index(index)?,
            RunPlace::Function(function) => match self.lambda(function, &[])?.as_slice() {
                [place] => *place,
                _ => self.misplaced(position),
            },
        };
        Ok(match place {
            Val::Uniform(first) | Val::Linear(first, _) => first,
            Val::Gang(places) => self.b.extract(places, 0),
        })
    }

    /// Fails where an element of a gang is put outside of the targets. Gangs of which all would be inside, whatever run they are in, are told by the
    /// first places; of others the place of each element is made.
    fn check_runs(&mut self, position: usize, runs: &Runs<'k>, firsts: &[Value], mask: Option<Value>) -> Result {
        let kernel = self.kernel;
        let Action::Scatter { arrays, place, .. } = &kernel.statements[position].action else {
            self.misplaced(position)
        };
        let Action::Scan { results, values, .. } = &kernel.statements[runs.scan].action else {
            self.misplaced(runs.scan)
        };
        let Some(scan) = self.scans.get(&runs.scan).cloned() else { self.misplaced(runs.scan) };
        let Some(&extent) = self.extents(arrays[0])?.first() else { self.misplaced(position) };
        let (zero, last) = (self.b.int(0), self.b.add_int(extent, -i64::from(self.lanes)));
        let mut outside = None;
        for &first in firsts {
            let before = self.b.less(first, zero);
            let behind = self.b.less(last, first);
            let own = self.b.binary(Binary::Or, before, behind);
            outside = Some(outside.map_or(own, |all| self.b.binary(Binary::Or, all, own)));
        }
        let Some(outside) = outside else { return Ok(()) };
        let (locals, states) = (self.locals.clone(), self.states.clone());
        self.b.open();
        let outer = self.mask.take();
        self.states[scan.running()] = self.b.splat(self.states[scan.running()], self.lanes);
        let values = values.iter().map(|&value| self.operand(value)).collect::<Result<Vec<_>>>()?;
        let values: Vec<Value> = values.into_iter().map(|value| self.gang(value)).collect();
        let counts = self.scan_gang(&scan, &values, outer, true)?;
        for (local, count) in results.iter().zip(counts) {
            self.locals.insert(local.id, Val::Gang(count));
        }
        for maker in runs.makers(kernel) {
            if let Action::Scalar(instruction) = &kernel.statements[maker].action {
                self.instruction(instruction)?;
            }
        }
        self.mask = mask;
        let index = [self.dim_index(runs.index)?];
        self.check_index(arrays[0], &index, &[], place)?;
        self.mask = outer;
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        self.b.end_if(outside, (then, Vec::new()), (otherwise, Vec::new()));
        (self.locals, self.states) = (locals, states);
        Ok(())
    }
}
