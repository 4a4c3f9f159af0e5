//! What a block computes at once, and what only its branches and loops compute.
//!
//! A binding is computed where it stands if the block's results certainly need it. What only a branch of a `cond` or the body of a loop
//! needs waits, and is computed in there. Functions are strict in the arrays and scalars they name, but for scalar code that may fail
//! (`let q = 10 / n`): that is computed by the function itself, where it needs it.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block, Extent, Lambda, Operand, Part, ScalarOp, ScalarOperand, ScalarPart,
};

use crate::{
    restrict::{closure, restrict},
    strict::{certainly_executed, lambda_can_fail},
};

/// Some results of a binding.
#[derive(Clone, Debug)]
pub(crate) struct Item<'p> {
    pub(crate) binding: &'p Binding,
    pub(crate) wanted: Vec<bool>,
}

/// A binding of a block: what is computed where it stands, and what waits.
pub(crate) struct Portion<'p> {
    pub(crate) now: Option<Item<'p>>,
    pub(crate) later: Option<Item<'p>>,
}

/// How certainly a value is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// In some branch or loop.
    Perhaps,
    /// By a function, which computes it itself: units only.
    Inlined,
    /// Certainly.
    Now,
}

/// Results of units that may fail, by their own code or that of such units they use.
pub(crate) fn fallible_units(body: &Block) -> HashSet<ArrayId> {
    let mut fallible = HashSet::new();
    // In order of definition: what a block uses from outside is defined before it.
    let mut lists: Vec<std::slice::Iter<'_, Binding>> = vec![body.bindings.iter()];
    while let Some(list) = lists.last_mut() {
        let Some(binding) = list.next() else {
            lists.pop();
            continue;
        };
        if let ArrayOp::Unit { f } = &binding.op {
            let mut fails = lambda_can_fail(f, &|_| false);
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

/// What operations take as an array or a function reads.
pub(crate) fn used_as_arrays(body: &Block) -> HashSet<ArrayId> {
    let mut used = HashSet::new();
    let mut blocks = vec![body];
    while let Some(block) = blocks.pop() {
        for part in block.bindings.iter().flat_map(|binding| binding.op.parts()) {
            match part {
                Part::Array(id) => {
                    used.insert(*id);
                }
                Part::Function(f) => used.extend(arrays_read(f)),
                Part::Body(block) => blocks.push(block),
                Part::Value(_) | Part::Argument(_) | Part::Inner(_) => {}
            }
        }
    }
    used
}

/// Cuts a block, and what waits from outside, into what is computed now and what later; what nothing needs is left out.
pub(crate) fn parts<'p>(
    pending: &[Item<'p>],
    own: &'p [Binding],
    results: &[ArrayId],
    fallible: &HashSet<ArrayId>,
) -> Vec<Portion<'p>> {
    let all = |binding: &'p Binding| Item { binding, wanted: vec![true; binding.results.len()] };
    let items: Vec<Item<'p>> = pending.iter().cloned().chain(own.iter().map(all)).collect();
    let mut needs = Needs { needs: HashMap::new(), fallible };
    results.iter().for_each(|&id| needs.add(id, Need::Now));
    let mut parts = Vec::new();
    for item in items.into_iter().rev() {
        let of = |at: usize, id: ArrayId| if item.wanted[at] { needs.needs.get(&id).copied() } else { None };
        let levels: Vec<Option<Need>> =
            item.binding.results.iter().enumerate().map(|(at, var)| of(at, var.id)).collect();
        let mut now: Vec<bool> = levels.iter().map(|need| *need == Some(Need::Now)).collect();
        let mut part = Portion { now: None, later: None };
        if now.contains(&true) {
            now = closure(item.binding, &now);
            needs.emission(item.binding, &now);
            part.now = Some(Item { binding: item.binding, wanted: now.clone() });
        }
        let later: Vec<bool> = levels.iter().zip(&now).map(|(need, &now)| need.is_some() && !now).collect();
        if later.contains(&true) {
            if let ArrayOp::Unit { f } = &item.binding.op
                && levels.contains(&Some(Need::Inlined))
            {
                needs.function(f);
            }
            needs.perhaps(item.binding);
            part.later = Some(Item { binding: item.binding, wanted: later });
        }
        if part.now.is_some() || part.later.is_some() {
            parts.push(part);
        }
    }
    parts.reverse();
    parts
}

struct Needs<'a> {
    needs: HashMap<ArrayId, Need>,
    fallible: &'a HashSet<ArrayId>,
}

impl Needs<'_> {
    fn add(&mut self, id: ArrayId, need: Need) {
        let old = self.needs.entry(id).or_insert(need);
        *old = (*old).max(need);
    }

    fn operand(&mut self, operand: Operand, need: Need) {
        if let Operand::Value(id) = operand {
            self.add(id, need);
        }
    }

    /// All that a binding may need.
    fn perhaps(&mut self, binding: &Binding) {
        let mut all = Vec::new();
        each_use(binding, &mut |id| all.push(id));
        all.into_iter().for_each(|id| self.add(id, Need::Perhaps));
    }

    /// What a function names that is executed.
    fn function(&mut self, f: &Lambda) {
        let fallible = self.fallible;
        let arrays = arrays_read(f);
        f.outer_uses(&mut |id| {
            let need = if fallible.contains(&id) && !arrays.contains(&id) { Need::Inlined } else { Need::Now };
            self.add(id, need);
        });
    }

    /// What computing these results needs.
    fn emission(&mut self, binding: &Binding, wanted: &[bool]) {
        for (var, _) in binding.results.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
            for extent in &var.ty.extents {
                if let Extent::Value(id) = *extent {
                    self.add(id, Need::Now);
                }
            }
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
                certain_outside(condition, &condition.results, self.fallible)
                    .into_iter()
                    .for_each(|id| self.add(id, Need::Now));
                for var in condition.params.iter().chain(&step.params) {
                    for extent in &var.ty.extents {
                        if let Extent::Value(id) = *extent {
                            self.add(id, Need::Now);
                        }
                    }
                }
                self.perhaps(binding);
            }
            ArrayOp::Unit { .. } => {
                let reduced = restrict(binding, wanted);
                if let ArrayOp::Unit { f } = &reduced.op {
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
            }
            ArrayOp::Nest { .. }
            | ArrayOp::Element { .. }
            | ArrayOp::Consume { .. }
            | ArrayOp::Cluster { .. }
            | ArrayOp::Foreign { .. } => {
                let mut all = Vec::new();
                each_use(binding, &mut |id| all.push(id));
                all.into_iter().for_each(|id| self.add(id, Need::Now));
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

fn chosen(results: &[ArrayId], wanted: &[bool]) -> Vec<ArrayId> {
    results.iter().zip(wanted).filter_map(|(&id, &wanted)| wanted.then_some(id)).collect()
}

/// Arrays that a function reads.
fn arrays_read(f: &Lambda) -> HashSet<ArrayId> {
    let mut arrays = HashSet::new();
    let mut bodies = vec![f];
    while let Some(body) = bodies.pop() {
        for part in body.instructions.iter().flat_map(|instruction| instruction.op.parts()) {
            match part {
                ScalarPart::Array(id) => {
                    arrays.insert(*id);
                }
                ScalarPart::Body(inner) => bodies.push(inner),
                ScalarPart::Operand(_) => {}
            }
        }
    }
    arrays
}

/// What a block certainly needs from outside for these results.
pub(crate) fn certain_outside(block: &Block, results: &[ArrayId], fallible: &HashSet<ArrayId>) -> HashSet<ArrayId> {
    let mut needs = Needs { needs: HashMap::new(), fallible };
    results.iter().for_each(|&id| needs.add(id, Need::Now));
    for binding in block.bindings.iter().rev() {
        let wanted: Vec<bool> =
            binding.results.iter().map(|var| needs.needs.get(&var.id) == Some(&Need::Now)).collect();
        if wanted.contains(&true) {
            needs.emission(binding, &closure(binding, &wanted));
        }
    }
    let own = block.bindings.iter().flat_map(|binding| &binding.results).chain(&block.params).chain(&block.sizes);
    for var in own {
        needs.needs.remove(&var.id);
    }
    needs.needs.into_iter().filter_map(|(id, need)| (need == Need::Now).then_some(id)).collect()
}

/// Every value that a binding names, in blocks too; with those that the blocks define.
pub(crate) fn each_use(binding: &Binding, visit: &mut dyn FnMut(ArrayId)) {
    let mut bindings = vec![binding];
    let types = |vars: &[fusebox_ir::Var], visit: &mut dyn FnMut(ArrayId)| {
        for extent in vars.iter().flat_map(|var| var.ty.all_extents()) {
            if let Extent::Value(id) = *extent {
                visit(id);
            }
        }
    };
    while let Some(binding) = bindings.pop() {
        types(&binding.results, visit);
        for part in binding.op.parts() {
            match part {
                Part::Array(id) | Part::Inner(id) => visit(*id),
                Part::Value(operand) | Part::Argument(operand) => {
                    if let Operand::Value(id) = operand {
                        visit(*id);
                    }
                }
                Part::Function(f) => f.outer_uses(visit),
                Part::Body(block) => {
                    types(&block.params, visit);
                    block.results.iter().for_each(|&id| visit(id));
                    bindings.extend(&block.bindings);
                }
            }
        }
    }
}
