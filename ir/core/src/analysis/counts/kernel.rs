//! What a kernel takes: what its statements move, where they stand and their conditions hold.

use std::collections::HashMap;

use super::{
    Polynomial, Traffic,
    names::{Fresh, has, has_index, index_symbol},
    scalar::{Reads, Values, constant, flops, reads},
};
use crate::{
    Action, Binary, IndexMap, Instruction, Kernel, KernelArrayId, KernelExtent, Lambda, LocalId, ScalarOp,
    ScalarOperand, Statement, analysis::walk, text,
};

/// What a launch of `kernel` takes, in its own sizes, by their names.
///
/// What is known only when it runs (elements kept, steps of a ragged level) has a name too: that of the scalar that gets the number,
/// or one made of the kernel's.
pub fn kernel_traffic(kernel: &Kernel) -> Traffic {
    let hints = kernel.sizes.iter().map(|size| size.name.0.as_str()).chain(kernel.arrays.iter().map(|a| &*a.name));
    let names: Vec<Polynomial> = text::unique_names(hints).iter().map(|name| Polynomial::named(name)).collect();
    let (sizes, arrays) = names.split_at(kernel.sizes.len());
    let mut fresh = Fresh::of(names.iter().flat_map(Polynomial::names));
    measure(kernel, sizes, arrays, &mut fresh).traffic
}

/// What a launch of `kernel` takes whose sizes have these values: numbers, but for what only a run knows.
pub fn launch_traffic(kernel: &Kernel, sizes: &[i64]) -> Traffic {
    let sizes: Vec<Polynomial> = sizes.iter().map(|&size| Polynomial::constant(size)).collect();
    let names: Vec<Polynomial> = kernel.arrays.iter().map(|array| Polynomial::named(&array.name)).collect();
    let mut fresh = Fresh::of(kernel.arrays.iter().map(|array| &*array.name));
    measure(kernel, &sizes, &names, &mut fresh).traffic
}

/// What a launch does, as a plan sees it.
pub(super) struct Measured {
    pub traffic: Traffic,
    /// Values of scalars that it writes, where they are known: position in the kernel's arrays, value.
    pub scalars: Vec<(usize, Polynomial)>,
}

/// What a launch takes whose sizes are `sizes`; `scalars` are values of arrays of rank 0, by position (of others anything).
pub(super) fn measure(kernel: &Kernel, sizes: &[Polynomial], scalars: &[Polynomial], fresh: &mut Fresh) -> Measured {
    let mut walk = Walk {
        kernel,
        sizes,
        scalars,
        values: walk::Walk::new(Values),
        defined: HashMap::new(),
        loads: HashMap::new(),
        points: vec![Polynomial::constant(1)],
        traffic: Traffic { loops: u64::from(!kernel.levels.is_empty()), ..Traffic::default() },
        written: Vec::new(),
        fresh,
    };
    for (size, value) in kernel.sizes.iter().zip(sizes) {
        walk.values.set(size.id, Some(value.clone()));
    }
    for level in &kernel.levels {
        walk.values.set(level.index.id, Some(index_symbol(level.index.id)));
    }
    for statement in &kernel.statements {
        walk.define(statement);
    }
    for depth in 0..kernel.levels.len() {
        walk.enter(depth);
    }
    for statement in &kernel.statements {
        walk.count(statement);
    }
    Measured { traffic: walk.traffic, scalars: walk.written }
}

pub(super) struct Walk<'k> {
    pub(super) kernel: &'k Kernel,
    sizes: &'k [Polynomial],
    pub(super) scalars: &'k [Polynomial],
    /// Locals that are polynomials in sizes and indices.
    values: walk::Walk<Values>,
    /// Locals that instructions make.
    pub(super) defined: HashMap<LocalId, &'k Instruction>,
    /// Locals that loads make.
    pub(super) loads: HashMap<LocalId, (KernelArrayId, &'k IndexMap)>,
    /// How often each depth is met.
    pub(super) points: Vec<Polynomial>,
    traffic: Traffic,
    written: Vec<(usize, Polynomial)>,
    fresh: &'k mut Fresh,
}

impl<'k> Walk<'k> {
    pub(super) fn statements(&self) -> &'k [Statement] {
        &self.kernel.statements
    }

    pub(super) fn value(&self, operand: ScalarOperand) -> Option<Polynomial> {
        match operand {
            ScalarOperand::Local(id) => self.values.get(id).cloned().flatten(),
            ScalarOperand::Constant(number) => constant(number),
            ScalarOperand::Outer(_) => None,
        }
    }

    fn define(&mut self, statement: &'k Statement) {
        match &statement.action {
            Action::Load { result, array, map, .. } => {
                self.loads.insert(result.id, (*array, map));
                if map.dims.is_empty()
                    && result.ty.is_integer()
                    && let Some(value) = self.scalars.get(array.index())
                {
                    self.values.set(result.id, Some(value.clone()));
                }
            }
            Action::Scalar(instruction) => {
                self.defined.extend(instruction.results.iter().map(|result| (result.id, instruction)));
                self.values.instruction(instruction);
            }
            _ => {}
        }
    }

    fn extent(&self, extent: KernelExtent) -> Polynomial {
        match extent {
            KernelExtent::Constant(n) => Polynomial::constant(n),
            KernelExtent::Size(id) => {
                self.sizes.get(id.index()).cloned().unwrap_or_else(|| Polynomial::named(&id.to_string()))
            }
        }
    }

    pub(super) fn elements(&self, array: KernelArrayId) -> Option<Polynomial> {
        let extents = &self.kernel.arrays.get(array.index())?.extents;
        extents.iter().try_fold(Polynomial::constant(1), |size, &extent| size.times(&self.extent(extent)))
    }

    /// A number that only a run knows.
    pub(super) fn unknown(&mut self, what: &str) -> Polynomial {
        // Behind the operation's name stands that of its first result.
        let name = &self.kernel.name.0;
        let result = name.split('`').nth(1).unwrap_or(name);
        self.fresh.name(what, result)
    }

    fn points(&self, statement: &Statement) -> Polynomial {
        self.points.get(statement.depth as usize).cloned().unwrap_or_default()
    }

    /// How often a statement happens: at points of its depth where its condition holds. `None` where only a run knows.
    fn times(&self, statement: &Statement) -> Option<Polynomial> {
        match statement.when {
            None => Some(self.points(statement)),
            Some(when) => self.held(when, statement.depth as usize),
        }
    }

    /// At how many points a comparison of one level's index with a size holds.
    fn held(&self, when: ScalarOperand, depth: usize) -> Option<Polynomial> {
        let ScalarOperand::Local(id) = when else { return None };
        let ScalarOp::Binary { function, a, b } = &self.defined.get(&id)?.op else { return None };
        let (a, b) = (self.value(*a)?, self.value(*b)?);
        // Always `0 < margin`, or one step left out.
        let one = Polynomial::constant(1);
        let margin = match function {
            Binary::Lt => b.minus(&a),
            Binary::Le => b.minus(&a).plus(&one),
            Binary::Gt => a.minus(&b),
            Binary::Ge => a.minus(&b).plus(&one),
            Binary::Ne => b.minus(&a),
            _ => return None,
        };
        let along = (0..depth).find(|&at| has(&margin, self.kernel.levels[at].index.id))?;
        let level = &self.kernel.levels[along];
        let (from, to) = (self.value(level.from)?, self.value(level.to)?);
        let all = to.minus(&from);
        let index = index_symbol(level.index.id);
        let steps = if *function == Binary::Ne {
            all.minus(&one)
        } else if !has_index(&margin.plus(&index)) {
            // index < margin + index
            smaller(&to, &margin.plus(&index))?.minus(&from)
        } else {
            // index > index - margin
            to.minus(&smaller(&to, &greater(&from, &index.minus(&margin).plus(&one))?)?)
        };
        if has_index(&steps) {
            return None;
        }
        let mut points = steps;
        for (at, other) in self.kernel.levels[..depth].iter().enumerate() {
            if at != along {
                let steps = self.value(other.to)?.minus(&self.value(other.from)?);
                points = points.times(&steps)?;
            }
        }
        (!has_index(&points)).then_some(points)
    }

    fn read(&mut self, array: KernelArrayId, times: &Polynomial) {
        let Some(declared) = self.kernel.arrays.get(array.index()) else { return };
        if declared.extents.is_empty() && self.kernel.levels.is_empty() {
            return;
        }
        self.traffic.reads.add_assign(times);
        self.traffic.bytes_read.add_assign(&times.scaled(declared.element.bytes() as i64));
    }

    fn write(&mut self, array: KernelArrayId, times: &Polynomial) {
        let Some(declared) = self.kernel.arrays.get(array.index()) else { return };
        if declared.extents.is_empty() && self.kernel.levels.is_empty() {
            return;
        }
        self.traffic.writes.add_assign(times);
        self.traffic.bytes_written.add_assign(&times.scaled(declared.element.bytes() as i64));
    }

    fn count(&mut self, statement: &'k Statement) {
        let points = self.points(statement);
        match &statement.action {
            Action::Load { array, map, outside, .. } => {
                let inside = outside.as_ref().map(|_| self.inside(*array, map, statement.depth as usize));
                let times = match inside {
                    None => points.clone(),
                    Some(Some(inside)) => inside,
                    Some(None) => {
                        self.traffic.exact = false;
                        points.clone()
                    }
                };
                self.read(*array, &times);
                if let Some(outside) = outside {
                    self.function(outside, &points.minus(&times));
                }
            }
            Action::Scalar(instruction) => {
                let instruction = std::slice::from_ref(instruction);
                self.scalar(&reads(instruction), &points);
                self.flops(instruction, &points);
            }
            Action::Check { .. } => {}
            Action::Reduce { combine, .. } | Action::Scan { combine, .. } => self.function(combine, &points),
            Action::Store { array, value, .. } => {
                let declared = self.kernel.arrays.get(array.index()).is_some_and(|array| array.extents.is_empty());
                if declared && let Some(value) = self.value(*value).filter(|value| !has_index(value)) {
                    self.written.push((array.index(), value));
                }
                // Under a condition that nothing is known of, every element is written all the same.
                let whole = || if self.writes_alone(*array) { self.elements(*array) } else { None };
                let times = self.times(statement).or_else(whole).unwrap_or_else(|| self.unknown("stored"));
                self.write(*array, &times);
            }
            Action::Append { arrays, count, values: _ } => {
                let counted = self.scalars.get(count.index()).cloned();
                let times = self.times(statement).or(counted).unwrap_or_else(|| self.unknown("appended"));
                if statement.when.is_none() {
                    self.written.push((count.index(), times.clone()));
                }
                for &array in arrays {
                    self.write(array, &times);
                }
                self.write(*count, &Polynomial::constant(1));
            }
            Action::Scatter { arrays, combine, .. } => {
                let times = self.times(statement).unwrap_or_else(|| self.unknown("scattered"));
                for &array in arrays {
                    self.write(array, &times);
                }
                self.function(combine, &times);
            }
        }
    }

    /// At how many points a tap is inside of its array, dimension by dimension.
    fn inside(&self, array: KernelArrayId, map: &IndexMap, depth: usize) -> Option<Polynomial> {
        let extents = &self.kernel.arrays.get(array.index())?.extents;
        let mut points = Polynomial::constant(1);
        let mut used = Vec::new();
        for (dim, &extent) in map.dims.iter().zip(extents) {
            let [(1, local)] = dim.terms[..] else { return None };
            let at = self.kernel.levels[..depth].iter().position(|level| level.index.id == local)?;
            if used.contains(&at) {
                return None;
            }
            used.push(at);
            let offset = Polynomial::constant(dim.offset);
            let level = &self.kernel.levels[at];
            let from = self.value(level.from)?.plus(&offset);
            let to = self.value(level.to)?.plus(&offset);
            let first = greater(&Polynomial::default(), &from)?;
            let last = smaller(&self.extent(extent), &to)?;
            points = points.times(&last.minus(&first))?;
        }
        for (at, level) in self.kernel.levels[..depth].iter().enumerate() {
            if !used.contains(&at) {
                points = points.times(&self.value(level.to)?.minus(&self.value(level.from)?))?;
            }
        }
        (!has_index(&points)).then_some(points)
    }

    /// Reads of a function that is called so often; as things associate, one call more or less.
    fn function(&mut self, function: &'k Lambda, times: &Polynomial) {
        let reads = reads(&function.instructions);
        self.traffic.exact &= reads.each.is_empty();
        self.scalar(&reads, times);
        self.flops(&function.instructions, times);
    }

    /// Operations on floats of code that runs so often. Scalar code between loops is left out, as its reads are.
    fn flops(&mut self, instructions: &[Instruction], times: &Polynomial) {
        if !self.kernel.levels.is_empty() {
            self.traffic.flops.add_assign(&times.scaled(flops(instructions)));
        }
    }

    fn scalar(&mut self, reads: &Reads, times: &Polynomial) {
        self.traffic.exact &= reads.exact;
        for (&array, &each) in &reads.each {
            self.read(array, &times.scaled(each));
        }
    }
}

fn smaller(a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    Polynomial::function(Binary::Min, a, b)
}

fn greater(a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    Polynomial::function(Binary::Max, a, b)
}
