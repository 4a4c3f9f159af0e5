//! What the results of a block certainly need of its bindings, and what only branches and loops inside may need.
//!
//! Programs mean evaluation by need: a binding that no result and no branch taken uses cannot fail. Functions are taken to need the arrays
//! that they read and the scalars that operations give, but not scalar code that may fail (`let q = 10 / n`), which they can hold
//! themselves. [`by_need`] finds the bindings whose meaning would change if every block computed all of its bindings in order.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use crate::{
    ArrayId, ArrayOp, Binary, Binding, Block, Lambda, Operand, Part, Program, ScalarOp, ScalarOperand, ScalarPart,
    analysis::{
        Definitions, Sizes,
        effects::{binding_can_fail, function_can_fail, sizes_are_known},
        need::certainly_executed,
        restrict::{apart, closure, restrict},
    },
};

/// How certainly a value is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// In some branch or loop.
    Perhaps,
    /// By a function, which can hold its code: of units only.
    Inlined,
    /// Certainly.
    Now,
}

/// Results of units that may fail, by their own code or that of such units they use.
pub fn fallible_units(body: &Block) -> HashSet<ArrayId> {
    let mut fallible = HashSet::new();
    // In order of definition: what a block uses from outside is defined before it.
    let mut lists: Vec<std::slice::Iter<'_, Binding>> = vec![body.bindings.iter()];
    while let Some(list) = lists.last_mut() {
        let Some(binding) = list.next() else {
            lists.pop();
            continue;
        };
        if let ArrayOp::Unit { f } = &binding.op {
            let mut fails = function_can_fail(f);
            f.outer_uses(&mut |id| fails |= fallible.contains(&id));
            if fails {
                fallible.extend(binding.results.iter().map(|var| var.id));
            }
        }
        for part in binding.op.parts() {
            if let Part::Body(block) = part {
                lists.push(block.bindings.iter());
            }
        }
    }
    fallible
}

/// What is needed of the values that a block sees, found from its last binding to its first.
#[derive(Clone, Debug)]
pub struct Demand<'a> {
    needs: FxHashMap<ArrayId, Need>,
    fallible: &'a HashSet<ArrayId>,
    /// Conditions that hold wherever the block is run.
    holds: &'a [Operand],
}

impl<'a> Demand<'a> {
    /// Nothing is needed yet. `holds` are conditions that are known to hold: a loop that one of them starts runs once at least.
    pub fn new(fallible: &'a HashSet<ArrayId>, holds: &'a [Operand]) -> Self {
        Self { needs: FxHashMap::default(), fallible, holds }
    }

    /// How certainly a value is needed, if it is.
    pub fn of(&self, id: ArrayId) -> Option<Need> {
        self.needs.get(&id).copied()
    }

    /// Notes that a value is needed.
    pub fn add(&mut self, id: ArrayId, need: Need) {
        let old = self.needs.entry(id).or_insert(need);
        *old = (*old).max(need);
    }

    fn operand(&mut self, operand: Operand, need: Need) {
        if let Operand::Value(id) = operand {
            self.add(id, need);
        }
    }

    /// Which results of a binding are certainly needed.
    pub fn wanted(&self, binding: &Binding) -> Vec<bool> {
        binding.results.iter().map(|var| self.of(var.id) == Some(Need::Now)).collect()
    }

    /// Notes all that a binding may need.
    pub fn perhaps(&mut self, binding: &Binding) {
        binding.for_each_use(&mut |id| self.add(id, Need::Perhaps));
    }

    /// Notes what a function names that is executed.
    pub fn function(&mut self, f: &Lambda) {
        let fallible = self.fallible;
        let arrays = f.arrays_read();
        f.outer_uses(&mut |id| {
            let need = if fallible.contains(&id) && !arrays.contains(&id) { Need::Inlined } else { Need::Now };
            self.add(id, need);
        });
    }

    /// Notes what computing these results of a binding needs.
    pub fn computed(&mut self, binding: &Binding, wanted: &[bool]) {
        for (var, _) in binding.results.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
            var.ty.for_each_use(&mut |id| self.add(id, Need::Now));
        }
        match &binding.op {
            ArrayOp::Cond { condition, then, otherwise } => {
                self.operand(*condition, Need::Now);
                let then_certain = certain_outside(then, &chosen(&then.results, wanted), self.fallible);
                let otherwise_certain = certain_outside(otherwise, &chosen(&otherwise.results, wanted), self.fallible);
                then_certain.intersection(&otherwise_certain).for_each(|&id| self.add(id, Need::Now));
                self.perhaps(binding);
            }
            ArrayOp::While { condition, step, starts } => {
                starts.iter().for_each(|&start| self.operand(start, Need::Now));
                let mut certain = certain_outside(condition, &condition.results, self.fallible);
                if runs(condition, starts, self.holds) {
                    certain.extend(certain_outside(step, &step.results, self.fallible));
                }
                certain.into_iter().for_each(|id| self.add(id, Need::Now));
                for var in condition.params.iter().chain(&step.params) {
                    var.ty.for_each_use(&mut |id| self.add(id, Need::Now));
                }
                self.perhaps(binding);
            }
            ArrayOp::Unit { .. } => {
                let reduced = restrict(binding, wanted);
                let ArrayOp::Unit { f } = &reduced.op else { unreachable!("a unit in part is a unit") };
                for instruction in certainly_executed(f) {
                    let decided = matches!(
                        instruction.op,
                        ScalarOp::Binary { function: Binary::LogicalAnd | Binary::LogicalOr, .. }
                    );
                    // The right side of `&&` and `||` is needed if the left one says so.
                    let certain = if decided { 1 } else { usize::MAX };
                    for part in instruction.op.parts().into_iter().take(certain) {
                        if let ScalarPart::Operand(ScalarOperand::Outer(id)) = part {
                            self.add(*id, Need::Now);
                        }
                    }
                }
                for result in &f.results {
                    if let ScalarOperand::Outer(id) = result {
                        self.add(*id, Need::Now);
                    }
                }
                self.function(f);
            }
            ArrayOp::Cluster { body, .. } => {
                let certain = certain_outside(body, &chosen(&body.results, wanted), self.fallible);
                certain.into_iter().for_each(|id| self.add(id, Need::Now));
                self.perhaps(binding);
            }
            ArrayOp::Nest { .. } | ArrayOp::Element { .. } | ArrayOp::Consume { .. } => {
                binding.for_each_use(&mut |id| self.add(id, Need::Now));
            }
            ArrayOp::Foreign { arguments, .. } => {
                arguments.iter().for_each(|&argument| self.operand(argument, Need::Now));
            }
            _ => {
                for part in restrict(binding, wanted).op.parts() {
                    match part {
                        Part::Array(id) => self.add(*id, Need::Now),
                        Part::Value(operand) | Part::Argument(operand) => self.operand(*operand, Need::Now),
                        Part::Function(f) => self.function(f),
                        Part::Body(_) | Part::Inner(_) => {}
                    }
                }
            }
        }
    }
}

/// Whether a loop runs once at least: its condition is a part of its state that starts as something that holds.
fn runs(condition: &Block, starts: &[Operand], holds: &[Operand]) -> bool {
    let state = condition.results.first().and_then(|id| condition.params.iter().position(|param| param.id == *id));
    state.and_then(|at| starts.get(at)).is_some_and(|start| holds.contains(start))
}

/// Those of `results` that are wanted.
pub fn chosen(results: &[ArrayId], wanted: &[bool]) -> Vec<ArrayId> {
    results.iter().zip(wanted).filter_map(|(&id, &wanted)| wanted.then_some(id)).collect()
}

/// What a block certainly needs from outside for these results.
pub fn certain_outside(block: &Block, results: &[ArrayId], fallible: &HashSet<ArrayId>) -> HashSet<ArrayId> {
    let mut demand = Demand::new(fallible, &[]);
    results.iter().for_each(|&id| demand.add(id, Need::Now));
    for binding in block.bindings.iter().rev() {
        let wanted = demand.wanted(binding);
        if wanted.contains(&true) {
            demand.computed(binding, &closure(binding, &wanted));
        }
    }
    let own = block.bindings.iter().flat_map(|binding| &binding.results).chain(&block.params).chain(&block.sizes);
    for var in own {
        demand.needs.remove(&var.id);
    }
    demand.needs.into_iter().filter_map(|(id, need)| (need == Need::Now).then_some(id)).collect()
}

/// A binding that means something else if its block computes all of its bindings in order.
#[derive(Clone, Copy, Debug)]
pub struct ByNeed<'p> {
    /// The binding.
    pub binding: &'p Binding,
    /// Why.
    pub why: ByNeedWhy,
}

/// Why a binding is evaluated by need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByNeedWhy {
    /// It may fail, and not every run of its block needs it.
    Fails,
    /// It may fail, and some of its results are not needed, or not in every run.
    InPart,
    /// Its results take arrays whose extents are not known to agree, and which need not, as no result needs both.
    Sizes,
}

impl std::fmt::Display for ByNeedWhy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fails => "it may fail, and is not needed whenever its block is run",
            Self::InPart => "it may fail, and not all of its results are needed whenever its block is run",
            Self::Sizes => "it takes arrays whose extents are not known to be equal for results that do not need both",
        })
    }
}

/// Every binding that means something else if blocks compute all of their bindings in order: none in programs that are strict.
pub fn by_need(program: &Program) -> Vec<ByNeed<'_>> {
    let (definitions, sizes) = (Definitions::of(program), Sizes::of_program(program));
    let finder = Finder { definitions, sizes, fallible: fallible_units(&program.body) };
    let mut found = Vec::new();
    let mut blocks: Vec<(&Block, Vec<ArrayId>, Vec<Operand>)> =
        vec![(&program.body, program.body.results.clone(), Vec::new())];
    while let Some((block, results, holds)) = blocks.pop() {
        let mut demand = Demand::new(&finder.fallible, &holds);
        results.iter().for_each(|&id| demand.add(id, Need::Now));
        for binding in block.bindings.iter().rev() {
            let wanted = demand.wanted(binding);
            if !wanted.contains(&true) {
                if finder.can_fail(binding) {
                    found.push(ByNeed { binding, why: ByNeedWhy::Fails });
                }
                continue;
            }
            let made = closure(binding, &wanted);
            if made.contains(&false) && finder.can_fail_in_part(binding) {
                found.push(ByNeed { binding, why: ByNeedWhy::InPart });
            } else if apart(binding, &finder.sizes, &|id| finder.definitions.ty(id)).len() > 1 {
                found.push(ByNeed { binding, why: ByNeedWhy::Sizes });
            }
            demand.computed(binding, &made);
            let branches =
                matches!(binding.op, ArrayOp::Cond { .. } | ArrayOp::Foreign { .. } | ArrayOp::Cluster { .. });
            for (position, part) in
                binding.op.parts().into_iter().filter(|part| matches!(part, Part::Body(_))).enumerate()
            {
                let Part::Body(body) = part else { continue };
                let results = if branches { chosen(&body.results, &made) } else { body.results.clone() };
                let holds = match &binding.op {
                    ArrayOp::Cond { condition, .. } if position == 0 => vec![*condition],
                    _ => Vec::new(),
                };
                blocks.push((body, results, holds));
            }
        }
    }
    found
}

struct Finder<'p> {
    definitions: Definitions<'p>,
    sizes: Sizes,
    fallible: HashSet<ArrayId>,
}

impl Finder<'_> {
    fn can_fail(&self, binding: &Binding) -> bool {
        binding_can_fail(binding, &self.sizes, &|id| self.definitions.ty(id))
    }

    /// The same of results that are not needed, beside others that are: those of blocks are made by bindings which are looked at themselves.
    fn can_fail_in_part(&self, binding: &Binding) -> bool {
        match &binding.op {
            ArrayOp::Cond { .. } | ArrayOp::Cluster { .. } => {
                !sizes_are_known(binding, &self.sizes, &|id| self.definitions.ty(id))
            }
            _ => self.can_fail(binding),
        }
    }
}
