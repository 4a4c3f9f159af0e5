//! What a kernel takes: how often each of its depths is met, and what its statements move there.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Polynomial, Traffic};
use crate::{
    Access, Action, Binary, Constant, DimBoundary, DimIndex, ElementType, FailureKind, IndexMap, Instruction, Kernel,
    KernelArrayId, KernelExtent, Lambda, LocalId, ScalarOp, ScalarOperand, Statement, text,
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

/// Names for numbers that have none.
#[derive(Clone)]
pub(super) struct Fresh {
    taken: HashSet<String>,
}

impl Fresh {
    /// Other names than these.
    pub(super) fn of<'n>(taken: impl Iterator<Item = &'n str>) -> Self {
        Self { taken: taken.map(str::to_owned).collect() }
    }

    /// `what` of the first of several things called `of`, `what2` of the next.
    fn name(&mut self, what: &str, of: &str) -> Polynomial {
        let of: String = of.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let of = of.trim_matches('_');
        let mut name = format!("{what}_{of}");
        for number in 2.. {
            if self.taken.insert(name.clone()) {
                break;
            }
            name = format!("{what}{number}_{of}");
        }
        Polynomial::named(&name)
    }
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
        values: HashMap::new(),
        defined: HashMap::new(),
        loads: HashMap::new(),
        points: vec![Polynomial::constant(1)],
        traffic: Traffic { loops: u64::from(!kernel.levels.is_empty()), ..Traffic::default() },
        written: Vec::new(),
        fresh,
    };
    for (size, value) in kernel.sizes.iter().zip(sizes) {
        walk.values.insert(size.id, value.clone());
    }
    for level in &kernel.levels {
        walk.values.insert(level.index.id, index_symbol(level.index.id));
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

/// The symbol of a level's index. No source can spell it; results hold none.
fn index_symbol(id: LocalId) -> Polynomial {
    Polynomial::named(&format!("%{}", id.0))
}

fn has_index(polynomial: &Polynomial) -> bool {
    polynomial.names().iter().any(|name| name.starts_with('%'))
}

struct Walk<'k> {
    kernel: &'k Kernel,
    sizes: &'k [Polynomial],
    scalars: &'k [Polynomial],
    /// Locals that are polynomials in sizes and indices.
    values: HashMap<LocalId, Polynomial>,
    /// Locals that instructions make.
    defined: HashMap<LocalId, &'k Instruction>,
    /// Locals that loads make.
    loads: HashMap<LocalId, (KernelArrayId, &'k IndexMap)>,
    /// How often each depth is met.
    points: Vec<Polynomial>,
    traffic: Traffic,
    written: Vec<(usize, Polynomial)>,
    fresh: &'k mut Fresh,
}

impl<'k> Walk<'k> {
    fn statements(&self) -> &'k [Statement] {
        &self.kernel.statements
    }

    fn value(&self, operand: ScalarOperand) -> Option<Polynomial> {
        match operand {
            ScalarOperand::Local(id) => self.values.get(&id).cloned(),
            ScalarOperand::Constant(constant) => {
                constant.ty().is_integer().then(|| constant.as_i64().map(Polynomial::constant)).flatten()
            }
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
                    self.values.insert(result.id, value.clone());
                }
            }
            Action::Scalar(instruction) => {
                self.defined.extend(instruction.results.iter().map(|result| (result.id, instruction)));
                let value = match &instruction.op {
                    ScalarOp::Binary { function, a, b } if instruction.results[0].ty == ElementType::I64 => {
                        let operands = self.value(*a).zip(self.value(*b));
                        operands.and_then(|(a, b)| Polynomial::function(*function, &a, &b))
                    }
                    // No size is beyond the smaller types: a program that counts in them would fail before.
                    ScalarOp::Convert { to, a } if to.is_integer() => self.value(*a),
                    ScalarOp::Assert { value, .. } => self.value(*value),
                    _ => None,
                };
                if let Some(value) = value {
                    self.values.insert(instruction.results[0].id, value);
                }
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

    fn elements(&self, array: KernelArrayId) -> Option<Polynomial> {
        let extents = &self.kernel.arrays.get(array.index())?.extents;
        extents.iter().try_fold(Polynomial::constant(1), |size, &extent| size.times(&self.extent(extent)))
    }

    /// A number that only a run knows.
    fn unknown(&mut self, what: &str) -> Polynomial {
        // Behind the operation's name stands that of its first result.
        let name = &self.kernel.name.0;
        let result = name.split('`').nth(1).unwrap_or(name);
        self.fresh.name(what, result)
    }

    /// How often what is inside of level `depth` is met: pushed behind those around it.
    fn enter(&mut self, depth: usize) {
        let level = &self.kernel.levels[depth];
        let around = self.points[depth].clone();
        let steps = self.value(level.to).zip(self.value(level.from)).map(|(to, from)| to.minus(&from));
        let known = steps.filter(|steps| !has_index(steps)).and_then(|steps| around.times(&steps));
        let points = known
            .or_else(|| self.stored(depth + 1))
            .or_else(|| self.appended(depth + 1))
            .or_else(|| self.segments(depth))
            .unwrap_or_else(|| self.unknown("steps"));
        self.points.push(points);
    }

    /// The elements of an array that a single store at this depth writes, all of them and each once.
    fn stored(&self, depth: usize) -> Option<Polynomial> {
        let statements = self.statements().iter().filter(|statement| statement.depth as usize == depth);
        statements.filter(|statement| statement.when.is_none()).find_map(|statement| match &statement.action {
            Action::Store { array, .. } if self.writes_alone(*array) => self.elements(*array),
            _ => None,
        })
    }

    /// Whether every element of the array is written, by one store.
    fn writes_alone(&self, array: KernelArrayId) -> bool {
        let stores =
            |statement: &&Statement| matches!(&statement.action, Action::Store { array: to, .. } if *to == array);
        self.kernel.arrays.get(array.index()).is_some_and(|declared| declared.access == Access::Write)
            && self.statements().iter().filter(stores).count() == 1
    }

    /// The number that an append at this depth counts.
    fn appended(&self, depth: usize) -> Option<Polynomial> {
        let statements = self.statements().iter().filter(|statement| statement.depth as usize == depth);
        statements.filter(|statement| statement.when.is_none()).find_map(|statement| match &statement.action {
            Action::Append { count, .. } => self.scalars.get(count.index()).cloned(),
            _ => None,
        })
    }

    /// Of a level that runs from one offset to the next along the level around it: what is cut into segments, each element once. Segments may be
    /// the elements of other segments.
    fn segments(&self, depth: usize) -> Option<Polynomial> {
        let level = &self.kernel.levels[depth];
        let mut around = depth;
        while self.runs_over_segments(around) {
            around -= 1;
        }
        if around == depth {
            return None;
        }
        let cut = self.statements().iter().find_map(|statement| match &statement.action {
            Action::Check { failure, .. } => match &failure.fault {
                FailureKind::Offsets { value, extent, .. } if [level.from, level.to].contains(value) => {
                    self.value(*extent).filter(|extent| !has_index(extent))
                }
                _ => None,
            },
            Action::Load { map, array, .. } if statement.depth as usize == depth + 1 => match &map.dims[..] {
                [DimIndex { offset: 0, terms, boundary: DimBoundary::None }] if terms[..] == [(1, level.index.id)] => {
                    self.elements(*array)
                }
                _ => None,
            },
            _ => None,
        })?;
        self.points[around].times(&cut)
    }

    /// Whether a level runs from one offset to the next along the level around it.
    fn runs_over_segments(&self, depth: usize) -> bool {
        let (Some(around), level) = (depth.checked_sub(1), &self.kernel.levels[depth]) else { return false };
        let outer = self.kernel.levels[around].index.id;
        let offsets = |operand: ScalarOperand, first: i64| {
            let (array, map) = self.loaded(operand)?;
            let [DimIndex { offset, terms, boundary: DimBoundary::None }] = &map.dims[..] else { return None };
            (*offset == first && terms[..] == [(1, outer)]).then_some(array)
        };
        offsets(level.from, 0).zip(offsets(level.to, 1)).is_some_and(|(from, to)| from == to)
    }

    /// The load that an operand is, conversions left out.
    fn loaded(&self, operand: ScalarOperand) -> Option<(KernelArrayId, &'k IndexMap)> {
        let ScalarOperand::Local(mut id) = operand else { return None };
        loop {
            if let Some(&load) = self.loads.get(&id) {
                return Some(load);
            }
            match &self.defined.get(&id)?.op {
                ScalarOp::Convert { a: ScalarOperand::Local(a), .. } => id = *a,
                _ => return None,
            }
        }
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
                let reads = reads(std::slice::from_ref(instruction));
                self.scalar(&reads, &points);
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
    }

    fn scalar(&mut self, reads: &Reads, times: &Polynomial) {
        self.traffic.exact &= reads.exact;
        for (&array, &each) in &reads.each {
            self.read(array, &times.scaled(each));
        }
    }
}

/// Reads of scalar code, for each time that it runs: of an `if` the branch that reads more, of a loop one turn.
struct Reads {
    each: BTreeMap<KernelArrayId, i64>,
    exact: bool,
}

impl Reads {
    fn add(&mut self, other: Self) {
        self.exact &= other.exact;
        for (array, each) in other.each {
            let sum = self.each.entry(array).or_default();
            *sum = sum.saturating_add(each);
        }
    }
}

/// Recursion ends: scalar code nests as deep as validation allows.
fn reads(instructions: &[Instruction]) -> Reads {
    let mut all = Reads { each: BTreeMap::new(), exact: true };
    for instruction in instructions {
        match &instruction.op {
            ScalarOp::Read { array, .. } | ScalarOp::ReadFlat { array, .. } => {
                *all.each.entry(KernelArrayId::of_code(*array)).or_default() += 1;
            }
            ScalarOp::If { then, otherwise, .. } => {
                let (then, otherwise) = (reads(&then.instructions), reads(&otherwise.instructions));
                let exact = then.each == otherwise.each;
                let number = |reads: &Reads| reads.each.values().fold(0, |sum: i64, &each| sum.saturating_add(each));
                let larger = if number(&then) >= number(&otherwise) { then } else { otherwise };
                all.add(Reads { exact: exact && larger.exact, ..larger });
            }
            ScalarOp::While { condition, step, .. } => {
                let mut turn = reads(&condition.instructions);
                turn.add(reads(&step.instructions));
                turn.exact = turn.each.is_empty();
                all.add(turn);
            }
            ScalarOp::Unary { .. }
            | ScalarOp::Binary { .. }
            | ScalarOp::Fma { .. }
            | ScalarOp::Convert { .. }
            | ScalarOp::Bits { .. }
            | ScalarOp::Assert { .. } => {}
        }
    }
    all
}

fn has(polynomial: &Polynomial, index: LocalId) -> bool {
    polynomial.names().contains(&format!("%{}", index.0).as_str())
}

fn smaller(a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    Polynomial::function(Binary::Min, a, b)
}

fn greater(a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    Polynomial::function(Binary::Max, a, b)
}

/// What is known of a constant that a plan gives where a scalar is wanted.
pub(super) fn constant(constant: Constant) -> Option<Polynomial> {
    if constant.ty().is_integer() { constant.as_i64().map(Polynomial::constant) } else { None }
}
