//! One kernel: every point of every level in order, every statement at every point.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Action, Constant, DimBoundary, Failure, Fault, IndexMap, Kernel, KernelArrayId, LevelOrder, RunError,
    ScalarOperand, ScatterOrder, Statement, analysis::kernels::idle_without, association::chunks,
};

use super::{
    Counts,
    associate::{Combine, Element, Running},
    machine::KernelMachine,
};
use crate::{
    Error,
    val::{self, Val},
};

/// Runs a kernel on sizes and arrays: the new contents of those that it writes.
pub(super) fn run(
    kernel: &Kernel,
    sizes: &[i64],
    given: &[Val],
    counts: &mut Counts,
) -> Result<Vec<Option<Val>>, Error> {
    counts.launches += 1;
    counts.loops += u64::from(!kernel.levels.is_empty());
    let machine = KernelMachine::new(kernel, sizes, given)?;
    let mut run = KernelRun {
        machine,
        reduces: HashMap::new(),
        scans: HashMap::new(),
        scatters: HashMap::new(),
        appended: 0,
        outer: 0,
        stored: vec![Vec::new(); kernel.arrays.len()],
        writes: 0,
        bytes_written: 0,
        idle: (0..kernel.levels.len()).map(|level| idle_without(kernel, level + 1)).collect(),
    };
    let statements: Vec<usize> = (0..kernel.statements.len()).collect();
    run.point(0, &statements)?;
    run.finish_appends();
    run.finish_scatters()?;
    counts.reads += run.machine.reads.get();
    counts.bytes_read += run.machine.bytes_read.get();
    counts.writes += run.writes;
    counts.bytes_written += run.bytes_written;
    let arrays = run.machine.arrays.into_iter().zip(&kernel.arrays);
    Ok(arrays
        .map(|(bound, array)| {
            (array.access != fusebox_ir::Access::Read).then(|| Val::new(array.element, bound.extents, bound.elements))
        })
        .collect())
}

/// What is kept of a kernel's points does not fit.
fn no_memory(what: &str, count: usize) -> Fault {
    Fault::TooLarge { array: what.to_owned(), extents: vec![i64::try_from(count).unwrap_or(i64::MAX)] }
}

/// A new element for a scatter: the step of the outermost level, the target, the values.
type Scattered = (usize, usize, Vec<Constant>);

struct KernelRun<'k> {
    machine: KernelMachine<'k>,
    /// Elements that reduces have met since their results' depth was entered, by statement.
    reduces: HashMap<usize, Vec<Element>>,
    /// Scans on their way, by statement.
    scans: HashMap<usize, Running>,
    scatters: HashMap<usize, Vec<Scattered>>,
    appended: i64,
    /// The step of the outermost level, from 0.
    outer: usize,
    /// For each array which elements were stored: a bit each.
    stored: Vec<Vec<u64>>,
    writes: u64,
    bytes_written: u64,
    /// For each level, those without whose steps its own do nothing.
    idle: Vec<Vec<usize>>,
}

impl<'k> KernelRun<'k> {
    fn statement(&self, at: usize) -> &'k Statement {
        let kernel: &'k Kernel = self.machine.kernel;
        &kernel.statements[at]
    }

    /// One point of a depth: its statements in order, the loop over what is deeper where that stands.
    fn point(&mut self, depth: usize, statements: &[usize]) -> Result<(), Error> {
        let mut rest = statements;
        while let Some(&first) = rest.first() {
            let deeper = rest.iter().take_while(|&&at| self.statement(at).depth as usize > depth).count();
            if deeper > 0 {
                self.level(depth, &rest[..deeper])?;
                rest = &rest[deeper..];
            } else {
                self.act(first)?;
                rest = &rest[1..];
            }
        }
        Ok(())
    }

    fn level(&mut self, depth: usize, statements: &[usize]) -> Result<(), Error> {
        let kernel: &'k Kernel = self.machine.kernel;
        let level = &kernel.levels[depth];
        let down = level.order == LevelOrder::Down;
        for &at in statements {
            match &self.statement(at).action {
                Action::Reduce { to, .. } if *to as usize == depth => {
                    self.reduces.insert(at, Vec::new());
                }
                Action::Scan { association, seeds, .. } if self.statement(at).depth as usize == depth + 1 => {
                    let seeds = self.seeds(seeds);
                    self.scans.insert(at, Running::new(*association, seeds));
                }
                _ => {}
            }
        }
        let (from, to) = self.bounds(depth);
        let is_empty = |&inner: &usize| {
            let (from, to) = self.bounds(inner);
            from >= to
        };
        let to = if self.idle[depth].iter().any(is_empty) { from } else { to };
        let mut steps: Box<dyn Iterator<Item = i64>> = Box::new(from..to);
        if down {
            steps = Box::new((from..to).rev());
        }
        for (count, step) in steps.enumerate() {
            if depth == 0 {
                self.outer = count;
            }
            self.machine.watch.enter(depth + 1);
            self.machine.set(level.index.id, step.into());
            self.point(depth + 1, statements)?;
        }
        for &at in statements {
            match &self.statement(at).action {
                Action::Reduce { results, to, association, combine, seeds, .. } if *to as usize == depth => {
                    self.machine.operation = kernel.operation(self.statement(at));
                    let elements = self.reduces.remove(&at).unwrap_or_default();
                    let seeds = self.seeds(seeds);
                    let combine = Combine { function: combine, down };
                    let result = combine.reduce(&mut self.machine, *association, seeds, elements)?;
                    self.assign(results, result);
                }
                Action::Scan { totals, combine, .. } if self.statement(at).depth as usize == depth + 1 => {
                    let combine = Combine { function: combine, down };
                    if let Some(running) = self.scans.remove(&at).filter(|_| !totals.is_empty()) {
                        self.machine.operation = kernel.operation(self.statement(at));
                        let result = running.totals(&mut self.machine, &combine)?;
                        self.assign(totals, result);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The first step of a level, and one after the last.
    fn bounds(&self, level: usize) -> (i64, i64) {
        let level = &self.machine.kernel.levels[level];
        let (from, to) = (self.machine.integer(level.from), self.machine.integer(level.to));
        (from, if to.checked_sub(from).is_some() { to } else { from })
    }

    fn seeds(&self, seeds: &[ScalarOperand]) -> Element {
        (!seeds.is_empty()).then(|| self.values(seeds))
    }

    fn values(&self, operands: &[ScalarOperand]) -> Vec<Constant> {
        operands.iter().map(|&operand| self.machine.get(operand)).collect()
    }

    /// Results of something absent may be anything: what uses them takes no part either.
    fn assign(&mut self, results: &[fusebox_ir::Local], element: Element) {
        let element = element.unwrap_or_else(|| results.iter().map(|local| Constant::zero(local.ty)).collect());
        for (local, value) in results.iter().zip(element) {
            self.machine.set(local.id, value);
        }
    }

    fn act(&mut self, at: usize) -> Result<(), Error> {
        let statement = self.statement(at);
        self.machine.operation = self.machine.kernel.operation(statement);
        let holds = statement.when.is_none_or(|when| self.machine.get(when).bits() != 0);
        match &statement.action {
            Action::Reduce { values, .. } => {
                let element = holds.then(|| self.values(values));
                let elements = self.reduces.entry(at).or_default();
                if elements.try_reserve(1).is_err() {
                    let fault = no_memory("elements to combine", elements.len());
                    return Err(self.machine.error(fault, &fusebox_ir::Place::default()).into());
                }
                elements.push(element);
            }
            Action::Scan { results, exclusive, combine, values, .. } => {
                let element = holds.then(|| self.values(values));
                let kernel: &'k Kernel = self.machine.kernel;
                let down = kernel.levels[statement.depth as usize - 1].order == LevelOrder::Down;
                let combine = Combine { function: combine, down };
                let Some(mut running) = self.scans.remove(&at) else { unreachable!("its level has begun") };
                let (before, with) = running.next(&mut self.machine, &combine, element)?;
                self.scans.insert(at, running);
                self.assign(results, if *exclusive { before } else { with });
            }
            _ if !holds => {}
            Action::Load { result, array, map, outside, place } => {
                let value = self.load(*array, map, outside.as_ref(), place)?;
                self.machine.set(result.id, value);
            }
            Action::Scalar(instruction) => self.machine.instruction(instruction)?,
            Action::Check { condition, failure } => {
                if self.machine.get(*condition).bits() == 0 {
                    return Err(self.failure(failure).into());
                }
            }
            Action::Store { array, map, value } => {
                let (index, value) = (self.index(*array, map), self.machine.get(*value));
                let bound = &mut self.machine.arrays[array.index()];
                let position = val::position(&bound.extents, &index);
                let Some(position) = position else {
                    let place = fusebox_ir::Place::default();
                    return Err(match map.checked {
                        true => self.machine.error(self.machine.index_fault(*array, &index), &place).into(),
                        false => self.outside("a store to", *array, &index),
                    });
                };
                bound.elements[position] = value;
                if !self.is_first(*array, position) {
                    return Err(self.broken("stores twice to", *array, position));
                }
                self.count_write(*array);
                self.machine.watch.write(self.machine.kernel, *array, position);
            }
            Action::Append { arrays, count: _, values } => {
                let values = self.values(values);
                for (&array, value) in arrays.iter().zip(values) {
                    let room = self.machine.arrays[array.index()].elements.get_mut(self.appended as usize);
                    let Some(room) = room else { return Err(self.outside("an append to", array, &[self.appended])) };
                    *room = value;
                    self.count_write(array);
                }
                self.appended += 1;
            }
            Action::Scatter { arrays, map, values, place, .. } => {
                let index = self.index(arrays[0], map);
                let Some(position) = val::position(&self.machine.arrays[arrays[0].index()].extents, &index) else {
                    return Err(self.machine.error(self.machine.index_fault(arrays[0], &index), place).into());
                };
                let values = self.values(values);
                arrays.iter().for_each(|&array| self.count_write(array));
                let scattered = self.scatters.entry(at).or_default();
                if scattered.try_reserve(1).is_err() {
                    let fault = no_memory("elements to scatter", scattered.len());
                    return Err(self.machine.error(fault, place).into());
                }
                scattered.push((self.outer, position, values));
            }
        }
        Ok(())
    }

    /// The index along each dimension, boundaries applied.
    fn index(&self, array: KernelArrayId, map: &IndexMap) -> Vec<i64> {
        let extents = &self.machine.arrays[array.index()].extents;
        let along = |(dim, &n): (&fusebox_ir::DimIndex, &i64)| {
            let term = |&(factor, local)| i64::wrapping_mul(factor, self.machine.integer(ScalarOperand::Local(local)));
            let i = dim.terms.iter().map(term).fold(dim.offset, i64::wrapping_add);
            match dim.boundary {
                _ if n <= 0 => i,
                DimBoundary::None => i,
                DimBoundary::Clamp => i.clamp(0, n - 1),
                DimBoundary::Wrap => i.rem_euclid(n),
                DimBoundary::Mirror => crate::operation::mirror(i, n),
            }
        };
        map.dims.iter().zip(extents).map(along).collect()
    }

    fn load(
        &mut self,
        array: KernelArrayId,
        map: &IndexMap,
        outside: Option<&fusebox_ir::Lambda>,
        place: &fusebox_ir::Place,
    ) -> Result<Constant, Error> {
        let index = self.index(array, map);
        let bound = &self.machine.arrays[array.index()];
        match (val::position(&bound.extents, &index), outside) {
            (Some(position), _) => {
                self.machine.count_read(array, Some(position));
                Ok(bound.elements[position])
            }
            (None, Some(outside)) => Ok(self.machine.call(outside, &[])?[0]),
            (None, None) if map.checked => {
                Err(self.machine.error(self.machine.index_fault(array, &index), place).into())
            }
            (None, None) => Err(self.outside("an unchecked load from", array, &index)),
        }
    }

    /// A rule of the kernel is broken.
    fn outside(&self, what: &str, array: KernelArrayId, index: &[i64]) -> Error {
        let (name, extents) =
            (&self.machine.kernel.arrays[array.index()].name, &self.machine.arrays[array.index()].extents);
        let kernel = &self.machine.kernel.name.0;
        Error::BadPlan {
            message: format!("in kernel `{kernel}`, {what} `{name}` at {index:?} is outside of {extents:?}"),
        }
    }

    fn broken(&self, what: &str, array: KernelArrayId, position: usize) -> Error {
        let (kernel, name) = (&self.machine.kernel.name.0, &self.machine.kernel.arrays[array.index()].name);
        Error::BadPlan { message: format!("kernel `{kernel}` {what} `{name}` at {position}") }
    }

    /// Notes that an element is stored; whether it was not before.
    fn is_first(&mut self, array: KernelArrayId, position: usize) -> bool {
        let (word, bit) = (position / 64, 1 << (position % 64));
        let words = &mut self.stored[array.index()];
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        let before = words[word] & bit;
        words[word] |= bit;
        before == 0
    }

    fn failure(&self, failure: &Failure) -> RunError {
        failure.error(|&operand| self.machine.integer(operand))
    }

    fn count_write(&mut self, array: KernelArrayId) {
        if self.machine.counts(array) {
            self.writes += 1;
            self.bytes_written += self.machine.kernel.arrays[array.index()].element.bytes() as u64;
        }
    }

    fn finish_appends(&mut self) {
        let kernel: &'k Kernel = self.machine.kernel;
        for statement in &kernel.statements {
            if let Action::Append { count, .. } = &statement.action {
                self.machine.arrays[count.index()].elements[0] = self.appended.into();
                self.count_write(*count);
            }
        }
    }

    /// Combines scattered elements in, in source order; in chunks where the statement says so.
    fn finish_scatters(&mut self) -> Result<(), Error> {
        let kernel: &'k Kernel = self.machine.kernel;
        for (at, statement) in kernel.statements.iter().enumerate() {
            let Action::Scatter { arrays, combine, order, .. } = &statement.action else { continue };
            self.machine.operation = kernel.operation(statement);
            let elements = self.scatters.remove(&at).unwrap_or_default();
            if *order == ScatterOrder::Unique {
                let mut met = HashSet::new();
                if let Some(&(_, target, _)) = elements.iter().find(|(_, target, _)| !met.insert(*target)) {
                    return Err(self.broken("scatters twice to", arrays[0], target));
                }
            }
            let chunk = match order {
                ScatterOrder::Chunks => self.chunk_steps(arrays[0]),
                ScatterOrder::Any | ScatterOrder::Unique | ScatterOrder::InOrder => usize::MAX,
            };
            let combine = Combine { function: combine, down: false };
            let mut copies: Vec<HashMap<usize, Vec<Constant>>> = Vec::new();
            for (step, target, values) in elements {
                let copy = step / chunk;
                if copy == 0 {
                    self.put(arrays, target, values, &combine)?;
                    continue;
                }
                copies.resize_with(copies.len().max(copy), HashMap::new);
                let old = copies[copy - 1].remove(&target);
                if let Some(combined) = combine.apply(&mut self.machine, Some(values), old)? {
                    copies[copy - 1].insert(target, combined);
                }
            }
            for copy in copies {
                for (target, values) in copy {
                    self.put(arrays, target, values, &combine)?;
                }
            }
        }
        Ok(())
    }

    /// Steps of the outermost level in each chunk.
    fn chunk_steps(&self, array: KernelArrayId) -> usize {
        let Some(level) = self.machine.kernel.levels.first() else { return usize::MAX };
        let steps = self.machine.integer(level.to).saturating_sub(self.machine.integer(level.from)).max(0);
        let targets = val::count(&self.machine.arrays[array.index()].extents);
        chunks(steps, i64::try_from(targets).unwrap_or(i64::MAX)).1 as usize
    }

    fn put(
        &mut self,
        arrays: &[KernelArrayId],
        target: usize,
        values: Vec<Constant>,
        combine: &Combine<'_>,
    ) -> Result<(), RunError> {
        let old = arrays.iter().map(|array| self.machine.arrays[array.index()].elements[target]).collect();
        let combined = combine.apply(&mut self.machine, Some(values), Some(old))?;
        for (array, value) in arrays.iter().zip(combined.into_iter().flatten()) {
            self.machine.arrays[array.index()].elements[target] = value;
        }
        Ok(())
    }
}
