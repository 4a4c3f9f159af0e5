//! What a plan takes: the sum over its launches, in the sizes of the program.

use std::collections::HashSet;

use serde::Serialize;

use super::{Polynomial, Traffic, kernel, moved, names::Fresh, scalar::constant};
use crate::{Access, Extent, Operand, Plan, PlanExtent, PlanOperand, Step, ValueId, text};

/// Loops nested deeper than this are looked at once: what they do not change is not found out.
const DEEPEST: u32 = 4;

/// What a plan takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanTraffic {
    /// How many kernels there are.
    pub kernels: usize,
    /// All of it: of each loop one turn and one test, of each branch the larger, count by count.
    pub total: Traffic,
    /// What loops and branches take by themselves, from the outside in, in order; what is inside of them is counted in them too.
    pub regions: Vec<Region>,
    /// Each launch that the plan writes down, in order.
    pub launches: Vec<LaunchTraffic>,
}

/// What a launch takes each time, in the sizes of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaunchTraffic {
    /// The position of its kernel.
    pub kernel: usize,
    /// How many regions are around it: where there are none, it happens once.
    pub depth: usize,
    /// What it takes.
    pub each: Traffic,
}

/// A part of a plan that runs as often as control says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// Which part.
    pub kind: RegionKind,
    /// The operation, by its first result.
    pub of: String,
    /// How many regions are around it.
    pub depth: usize,
    /// What it takes each time.
    pub each: Traffic,
}

/// Parts of loops and branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// What decides whether a loop goes on: once more than there are turns.
    Test,
    /// The body of a loop.
    Turn,
    /// Where a condition holds.
    Then,
    /// Where it does not.
    Otherwise,
    /// One lane of lanes that run one at a time.
    Lane,
}

/// Whether something of arrays is read, or run over.
fn moves(traffic: &Traffic) -> bool {
    traffic.loops > 0 || traffic.reads.as_constant() != Some(0)
}

/// The name that counts give to each value of a plan: that which its text has.
pub fn plan_names(plan: &Plan) -> Vec<String> {
    text::unique_names(plan.values.iter().map(|value| value.name.as_str()))
}

/// What `plan` takes, in its sizes and scalar inputs; their names, and those of numbers known only when it runs, are those that the
/// text of the plan has.
pub fn plan_traffic(plan: &Plan) -> PlanTraffic {
    let names = plan_names(plan);
    let fresh = Fresh::of(names.iter().map(String::as_str));
    let symbols: Vec<_> = names.iter().map(|name| Polynomial::named(name)).collect();
    let mut walk = Walk {
        plan,
        values: symbols.clone(),
        symbols,
        names,
        fresh,
        regions: Vec::new(),
        launches: Vec::new(),
        quiet: 0,
        left: HashSet::new(),
    };
    let total = walk.steps(&plan.steps, 0);
    PlanTraffic { kernels: plan.kernels.len(), total, regions: walk.regions, launches: walk.launches }
}

struct Walk<'p> {
    plan: &'p Plan,
    names: Vec<String>,
    /// The symbol of each value.
    symbols: Vec<Polynomial>,
    /// What is known of scalars: as long as nothing is, their symbol.
    values: Vec<Polynomial>,
    fresh: Fresh,
    regions: Vec<Region>,
    launches: Vec<LaunchTraffic>,
    /// State of loops that have ended, where turns change it.
    left: HashSet<ValueId>,
    /// In how many loops only values are of interest.
    quiet: u32,
}

impl Walk<'_> {
    fn value(&self, id: ValueId) -> Polynomial {
        self.values.get(id.index()).cloned().unwrap_or_else(|| Polynomial::named(&id.to_string()))
    }

    fn operand(&self, operand: PlanOperand) -> Option<Polynomial> {
        match operand {
            Operand::Value(id) => Some(self.value(id)),
            Operand::Constant(number) => constant(number),
        }
    }

    fn extent(&self, extent: PlanExtent) -> Polynomial {
        match extent {
            Extent::Constant(n) => Polynomial::constant(n),
            Extent::Value(id) => self.value(id),
            Extent::Unknown => Polynomial::named("?"),
        }
    }

    fn launch(&mut self, position: usize, sizes: &[PlanExtent], arrays: &[ValueId]) -> Traffic {
        let Some(kernel) = self.plan.kernels.get(position) else { return Traffic::default() };
        let sizes: Vec<_> = sizes.iter().map(|&extent| self.extent(extent)).collect();
        let written = |at: usize| kernel.arrays.get(at).is_some_and(|array| array.access != Access::Read);
        for (at, &id) in arrays.iter().enumerate() {
            if written(at) {
                self.set(id, None);
            }
        }
        let scalars: Vec<_> = arrays.iter().map(|&id| self.value(id)).collect();
        let measured = kernel::measure(kernel, &sizes, &scalars, &mut self.fresh);
        for (at, value) in measured.scalars {
            if let Some(&id) = arrays.get(at) {
                self.set(id, Some(value));
            }
        }
        measured.traffic
    }

    /// Gives the state of a loop the values that it has in every turn: what it starts with, if no turn changes that.
    fn loops(&mut self, state: &[ValueId], test: &[Step], body: &[Step], next: &[PlanOperand], depth: usize) {
        let starts: Vec<_> = state.iter().map(|&id| self.value(id)).collect();
        for &id in state {
            self.set(id, None);
        }
        if self.quiet >= DEEPEST {
            return;
        }
        let (values, fresh) = (self.values.clone(), self.fresh.clone());
        self.quiet += 1;
        self.steps(test, depth);
        self.steps(body, depth);
        self.quiet -= 1;
        let next: Vec<_> = next.iter().map(|&operand| self.operand(operand)).collect();
        (self.values, self.fresh) = (values, fresh);
        for ((&id, start), next) in state.iter().zip(starts).zip(next) {
            if next.is_some_and(|next| next == start || next == self.value(id)) {
                self.set(id, Some(start));
            }
        }
    }

    /// Of anything but whole scalars nothing is known.
    fn set(&mut self, id: ValueId, value: Option<Polynomial>) {
        let known = self.plan.values.get(id.index()).is_some_and(|v| v.ty.is_scalar() && v.ty.element.is_integer());
        if let (Some(old), Some(symbol)) = (self.values.get_mut(id.index()), self.symbols.get(id.index())) {
            *old = value.filter(|_| known).unwrap_or_else(|| symbol.clone());
        }
    }

    fn region(&mut self, kind: RegionKind, of: &[ValueId], depth: usize, steps: &[Step]) -> Traffic {
        let of = of.first().and_then(|id| self.names.get(id.index())).cloned().unwrap_or_default();
        let at = self.regions.len();
        let each = self.steps(steps, depth + 1);
        if self.quiet == 0 {
            self.regions.insert(at, Region { kind, of, depth, each: each.clone() });
        }
        each
    }

    /// Recursion ends: plans nest as deep as validation allows programs to.
    fn steps(&mut self, steps: &[Step], depth: usize) -> Traffic {
        let mut total = Traffic::default();
        for (position, step) in steps.iter().enumerate() {
            match step {
                Step::Launch { kernel, sizes, arrays } => {
                    let each = self.launch(*kernel, sizes, arrays);
                    total.add(&each);
                    if self.quiet == 0 {
                        self.launches.push(LaunchTraffic { kernel: *kernel, depth, each });
                    }
                }
                Step::Alias { value, source, .. } => {
                    // What a loop leaves is not what the name of its state stands for in each turn.
                    let left = matches!(source, Operand::Value(id) if self.left.contains(id));
                    let source = if left { None } else { self.operand(*source) };
                    self.set(*value, source);
                }
                Step::Copy { value, source } => {
                    if Step::free_unused(*source, &steps[position + 1..], &self.plan.values) {
                        // It is taken over, if nothing else has its memory.
                        total.exact &= moved::has_own_memory(self.plan, *source);
                    } else {
                        total.add(&moved::moved(self.plan, &[*value], |extent| self.extent(extent)));
                    }
                    let source = Some(self.value(*source));
                    self.set(*value, source);
                }
                Step::Sort { keys: _, carry: _, results } => {
                    total.add(&moved::moved(self.plan, results, |extent| self.extent(extent)));
                }
                Step::Constant { value, data } => {
                    let data = data.first().and_then(|&data| constant(data));
                    self.set(*value, data);
                }
                Step::If { condition: _, then, otherwise, results } => {
                    let before = self.values.clone();
                    let one = self.region(RegionKind::Then, results, depth, then);
                    let after_one = std::mem::replace(&mut self.values, before);
                    let other = self.region(RegionKind::Otherwise, results, depth, otherwise);
                    for (id, one) in after_one.into_iter().enumerate() {
                        if self.values[id] != one {
                            self.values[id] = self.symbols[id].clone();
                        }
                    }
                    total.add(&one.or(&other));
                }
                Step::While { state, condition_steps, body, next, .. } => {
                    self.loops(state, condition_steps, body, next, depth);
                    let test = self.region(RegionKind::Test, state, depth, condition_steps);
                    let turn = self.region(RegionKind::Turn, state, depth, body);
                    total.exact &= !moves(&test) && !moves(&turn);
                    total.add(&test);
                    total.add(&turn);
                    let varies = |&&id: &&ValueId| self.symbols.get(id.index()) == self.values.get(id.index());
                    self.left.extend(state.iter().filter(varies));
                }
                Step::Lanes { lane, body, results, .. } => {
                    // As of a loop: what one lane takes, and what it takes to put together what all of them give.
                    self.set(*lane, None);
                    let each = self.region(RegionKind::Lane, results.get(1..2).unwrap_or_default(), depth, body);
                    total.exact &= !moves(&each);
                    total.add(&each);
                    for pair in results.chunks_exact(2) {
                        self.set(pair[0], None);
                        total.add(&moved::moved(self.plan, &pair[1..], |extent| self.extent(extent)));
                    }
                }
                Step::Allocate { .. }
                | Step::Truncate { .. }
                | Step::CheckEqual { .. }
                | Step::CheckAtMost { .. }
                | Step::CheckNotNegative { .. }
                | Step::Free { .. } => {}
            }
        }
        total
    }
}
