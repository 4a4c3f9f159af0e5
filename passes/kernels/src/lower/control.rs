//! `cond`, `while` and `foreign`: steps around steps.
//!
//! What only a branch needs is computed in the branch. What the body of a loop needs from outside is computed before the loop: at once if
//! computing it cannot fail, else under the loop's own condition (`if` the loop runs at all: compute that, then loop), if the body
//! certainly needs it. What fails and only a branch inside of a body needs is computed there, each time that the branch is taken.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Extent, Operand, Part, ScanForm, Step, Type, Var, analysis::Answer,
};

use super::{Bound, Lower, Origin, name, need, need::Item};
use crate::{error::Error, strict::lambda_can_fail, values::extent};

impl<'p> Lower<'p> {
    /// Types of values that stand for `vars`, whose extents may be of `vars` themselves.
    fn stand_ins(&mut self, vars: &[Var]) -> Result<Vec<ArrayId>, Error> {
        let mut made = Vec::new();
        for var in vars {
            let ty = self.plan_type(var)?;
            let value = self.values.add(name(var), ty);
            self.bindings.bind(var.id, Bound::Plan(value.into()));
            made.push(value);
        }
        Ok(made)
    }

    fn alias(value: ArrayId, source: Operand, origin: &Origin) -> Step {
        Step::Alias { value, source, operation: origin.operation.clone(), place: origin.place.clone() }
    }

    pub(super) fn cond(
        &mut self,
        binding: &'p Binding,
        wanted: &[bool],
        waits: &[Item<'p>],
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let ArrayOp::Cond { condition, then, otherwise } = &binding.op else { return Ok(()) };
        let origin = self.origin(binding);
        let condition = self.operand(*condition);
        let chosen: Vec<usize> = (0..wanted.len()).filter(|&at| wanted[at]).collect();
        let vars: Vec<Var> = chosen.iter().map(|&at| binding.results[at].clone()).collect();
        // Both branches first, so that results are not in their scope.
        let mark = self.bindings.log.len();
        let results = self.stand_ins(&vars)?;
        self.bindings.undo(mark);
        let branch = |this: &mut Self, block: &'p Block| {
            let given: Vec<ArrayId> = chosen.iter().map(|&at| block.results[at]).collect();
            this.branch(waits, block, &given, &mut |this, steps| {
                let sources: Vec<Operand> = given.iter().map(|&id| this.find(id)).collect();
                this.check_types(&sources, &results, &vars, &origin, steps);
                for (&value, &source) in results.iter().zip(&sources) {
                    steps.push(Self::alias(value, source, &origin));
                }
                Ok(())
            })
        };
        let (then, otherwise) = (branch(self, then)?, branch(self, otherwise)?);
        steps.push(Step::If { condition, then, otherwise, results: results.clone() });
        self.made_all(&vars, &results);
        Ok(())
    }

    fn made_all(&mut self, vars: &[Var], values: &[ArrayId]) {
        for (var, &value) in vars.iter().zip(values) {
            let ty = self.values.ty(value).clone();
            self.values.made(&ty);
            self.bindings.bind(var.id, Bound::Plan(value.into()));
        }
    }

    /// `sources` have the extents of the types of `values`, where these name each other what `sources` are.
    fn check_types(
        &mut self,
        sources: &[Operand],
        values: &[ArrayId],
        vars: &[Var],
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) {
        for ((&source, &value), var) in sources.iter().zip(values).zip(vars) {
            let expected: Vec<Extent> = self
                .values
                .ty(value)
                .extents
                .iter()
                .map(|&of| match of {
                    Extent::Value(id) => match values.iter().position(|&value| value == id) {
                        Some(at) => extent(sources[at]),
                        None => of,
                    },
                    Extent::Constant(_) | Extent::Unknown => of,
                })
                .collect();
            self.check_type(source, &expected, &name(var), origin, steps);
        }
    }

    pub(super) fn while_loop(
        &mut self,
        binding: &'p Binding,
        waits: &[Item<'p>],
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let ArrayOp::While { condition, step, starts } = &binding.op else { return Ok(()) };
        let origin = self.origin(binding);
        let starts: Vec<Operand> = starts.iter().map(|&start| self.operand(start)).collect();
        let (before, certain) = self.before_loop(condition, step, waits);
        if before.is_empty() {
            let state = self.loop_steps(binding, condition, step, &starts, waits, &origin, steps)?;
            self.made_all(&binding.results, &state);
            return Ok(());
        }
        let fails = waits.iter().zip(&before).any(|(item, &taken)| taken && self.may_fail(item.binding));
        let remaining: Vec<Item<'p>> =
            waits.iter().zip(&before).filter(|(_, taken)| !**taken).map(|(item, _)| item.clone()).collect();
        let taken: Vec<ArrayId> = waits
            .iter()
            .zip(&before)
            .filter(|(_, taken)| **taken)
            .flat_map(|(item, _)| {
                item.binding.results.iter().zip(&item.wanted).filter(|(_, wanted)| **wanted).map(|(var, _)| var.id)
            })
            .collect();
        if !fails || !certain {
            // Nothing of it fails: computed before the loop.
            self.block(waits, &[], &taken, steps)?;
            let state = self.loop_steps(binding, condition, step, &starts, &remaining, &origin, steps)?;
            self.made_all(&binding.results, &state);
            return Ok(());
        }
        // The condition of the start decides whether anything is computed.
        let mark = self.bindings.log.len();
        for (var, &start) in condition.params.iter().zip(&starts) {
            self.bind_operand(var, start, steps);
        }
        self.block(waits, &condition.bindings, &condition.results, steps)?;
        let decided = condition.results.first().map_or(Operand::Constant(false.into()), |&id| self.find(id));
        self.bindings.undo(mark);
        let results = self.stand_ins(&binding.results)?;
        self.bindings.undo(mark);
        let known = self.values.known();
        let mut then = Vec::new();
        self.block(waits, &[], &taken, &mut then)?;
        let state = self.loop_steps(binding, condition, step, &starts, &remaining, &origin, &mut then)?;
        for (&value, &state) in results.iter().zip(&state) {
            then.push(Self::alias(value, state.into(), &origin));
        }
        self.bindings.undo(mark);
        self.values.forget(known);
        let otherwise =
            results.iter().zip(&starts).map(|(&value, &start)| Self::alias(value, start, &origin)).collect();
        steps.push(Step::If { condition: decided, then, otherwise, results: results.clone() });
        self.made_all(&binding.results, &results);
        Ok(())
    }

    /// The loop itself; gives its state.
    #[allow(clippy::too_many_arguments)]
    fn loop_steps(
        &mut self,
        binding: &'p Binding,
        condition: &'p Block,
        step: &'p Block,
        starts: &[Operand],
        waits: &[Item<'p>],
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) -> Result<Vec<ArrayId>, Error> {
        let mark = self.bindings.log.len();
        let state = self.stand_ins(&binding.results)?;
        self.bindings.undo(mark);
        self.check_types(starts, &state, &binding.results, origin, steps);
        for (&value, &start) in state.iter().zip(starts) {
            steps.push(Self::alias(value, start, origin));
        }
        let known = self.values.known();
        for &value in &state {
            let ty = self.values.ty(value).clone();
            self.values.made(&ty);
        }
        for (var, &value) in condition.params.iter().zip(&state) {
            self.bindings.bind(var.id, Bound::Plan(value.into()));
        }
        let mut decided = Operand::Constant(false.into());
        let condition_steps = self.branch(waits, condition, &condition.results, &mut |this, _| {
            decided = condition.results.first().map_or(decided, |&id| this.find(id));
            Ok(())
        })?;
        for (var, &value) in step.params.iter().zip(&state) {
            self.bindings.bind(var.id, Bound::Plan(value.into()));
        }
        let mut next = Vec::new();
        let body = self.branch(waits, step, &step.results, &mut |this, steps| {
            next = step.results.iter().map(|&id| this.find(id)).collect();
            this.check_types(&next, &state, &binding.results, origin, steps);
            Ok(())
        })?;
        self.bindings.undo(mark);
        self.values.forget(known);
        steps.push(Step::While { state: state.clone(), condition_steps, condition: decided, body, next });
        Ok(state)
    }

    /// Which of what waits is computed before a loop, and whether the body certainly needs all of it that may fail.
    fn before_loop(&self, condition: &Block, step: &Block, waits: &[Item<'p>]) -> (Vec<bool>, bool) {
        let mut uses = HashSet::new();
        for block in [condition, step] {
            block.results.iter().for_each(|&id| {
                uses.insert(id);
            });
            block.bindings.iter().for_each(|binding| {
                need::each_use(binding, &mut |id| {
                    uses.insert(id);
                });
            });
        }
        let certain = need::certain_outside(step, &step.results, &self.fallible);
        let mut needed = certain;
        let mut before = vec![false; waits.len()];
        let mut all_certain = true;
        let mut failing: HashSet<ArrayId> = HashSet::new();
        // In order: what uses something that may fail and is not taken cannot be taken either.
        let mut certainly = vec![false; waits.len()];
        for (at, item) in waits.iter().enumerate().rev() {
            let ids = || item.binding.results.iter().map(|var| var.id);
            if ids().any(|id| needed.contains(&id)) {
                certainly[at] = true;
                need::each_use(item.binding, &mut |id| {
                    needed.insert(id);
                });
            }
            if ids().any(|id| uses.contains(&id)) {
                need::each_use(item.binding, &mut |id| {
                    uses.insert(id);
                });
            }
        }
        for (at, item) in waits.iter().enumerate() {
            let used = item.binding.results.iter().any(|var| uses.contains(&var.id));
            let mut fails = self.may_fail(item.binding);
            need::each_use(item.binding, &mut |id| fails |= failing.contains(&id));
            if fails && !certainly[at] {
                failing.extend(item.binding.results.iter().map(|var| var.id));
            } else if used {
                before[at] = true;
                all_certain &= certainly[at] || !fails;
            }
        }
        (before, all_certain)
    }

    /// Whether computing a binding may fail or not end, other than for want of memory.
    fn may_fail(&self, binding: &Binding) -> bool {
        let mut bindings = vec![binding];
        while let Some(binding) = bindings.pop() {
            let harmless = match &binding.op {
                ArrayOp::Constant { .. } | ArrayOp::Unit { .. } | ArrayOp::Cond { .. } => true,
                ArrayOp::Filter { sources, .. } => self.proved_alike(sources),
                ArrayOp::Sort { keys, carry } => self.proved_alike(&[&keys[..], carry].concat()),
                ArrayOp::Compute { sources } => self.proved_alike(sources) && self.proved_like(binding, sources, 0),
                ArrayOp::Map { sources, .. } => sources.iter().all(|source| {
                    let available = self.program_extents(*source);
                    binding.results.iter().all(|var| {
                        var.ty
                            .extents
                            .iter()
                            .zip(available)
                            .all(|(&own, &of)| self.sizes.at_most(own, of) == Answer::Proved)
                    })
                }),
                ArrayOp::Generate { extents, .. } => extents.iter().all(|extent| self.proved_extent(extent)),
                ArrayOp::Fold { seeds, sources, offsets, .. } => {
                    !seeds.is_empty()
                        && offsets.is_none()
                        && self.proved_alike(sources)
                        && self.proved_like(binding, sources, 1)
                }
                ArrayOp::Scan { form: ScanForm::Inclusive, sources, offsets, .. } => {
                    offsets.is_none() && self.proved_alike(sources) && self.proved_like(binding, sources, 0)
                }
                _ => false,
            };
            if !harmless {
                return true;
            }
            for part in binding.op.parts() {
                match part {
                    Part::Function(f) if lambda_can_fail(f, &|_| false) => return true,
                    Part::Body(block) => bindings.extend(&block.bindings),
                    _ => {}
                }
            }
        }
        false
    }

    fn program_extents(&self, id: ArrayId) -> &'p [Extent] {
        self.vars.get(&id).map_or(&[], |var| &var.ty.extents)
    }

    fn proved_extent(&self, operand: &Operand) -> bool {
        self.sizes.operand(operand).is_some_and(|size| self.sizes.not_negative_size(&size) == Answer::Proved)
    }

    fn proved_equal(&self, left: &[Extent], right: &[Extent]) -> bool {
        left.len() == right.len()
            && left.iter().zip(right).all(|(&left, &right)| self.sizes.equal(left, right) == Answer::Proved)
    }

    fn proved_alike(&self, arrays: &[ArrayId]) -> bool {
        arrays.windows(2).all(|pair| self.proved_equal(self.program_extents(pair[0]), self.program_extents(pair[1])))
    }

    /// Whether results have the extents of the first source, but for as many of the innermost dimensions.
    fn proved_like(&self, binding: &Binding, sources: &[ArrayId], without: usize) -> bool {
        let Some(&first) = sources.first() else { return true };
        let extents = self.program_extents(first);
        let outer = &extents[..extents.len().saturating_sub(without)];
        binding.results.iter().all(|var| self.proved_equal(&var.ty.extents, outer))
    }

    /// The fallback, with the wanted results alone.
    pub(super) fn foreign(
        &mut self,
        binding: &'p Binding,
        wanted: &[bool],
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let ArrayOp::Foreign { fallback, arguments, .. } = &binding.op else { return Ok(()) };
        let origin = self.origin(binding);
        let mark = self.bindings.log.len();
        let arguments: Vec<Operand> = arguments.iter().map(|&argument| self.operand(argument)).collect();
        let mut bound: HashSet<ArrayId> = HashSet::new();
        let sizes: HashMap<ArrayId, &Var> = fallback.sizes.iter().map(|var| (var.id, var)).collect();
        for (param, &argument) in fallback.params.iter().zip(&arguments) {
            let ty: Option<Type> =
                if let Operand::Value(id) = argument { Some(self.values.ty(id).clone()) } else { None };
            // A size first met is bound by the argument; met again it is checked.
            for (&declared, &actual) in param.ty.extents.iter().zip(ty.iter().flat_map(|ty| &ty.extents)) {
                if let Extent::Value(id) = declared
                    && let Some(size) = sizes.get(&id)
                    && bound.insert(id)
                {
                    self.bind_operand(size, crate::values::operand(actual), steps);
                }
            }
            let expected: Vec<Extent> = param.ty.extents.iter().map(|&of| self.extent(of)).collect();
            self.check_type(argument, &expected, &name(param), &origin, steps);
            self.bind_operand(param, argument, steps);
        }
        let chosen: Vec<(&Var, ArrayId)> = binding
            .results
            .iter()
            .zip(&fallback.results)
            .zip(wanted)
            .filter_map(|((var, &result), &wanted)| wanted.then_some((var, result)))
            .collect();
        let given: Vec<ArrayId> = chosen.iter().map(|&(_, result)| result).collect();
        self.block(&[], &fallback.bindings, &given, steps)?;
        let results: Vec<Operand> = given.iter().map(|&id| self.find(id)).collect();
        self.bindings.undo(mark);
        for (&(var, _), &result) in chosen.iter().zip(&results) {
            self.bind_operand(var, result, steps);
        }
        for (&(var, _), &result) in chosen.iter().zip(&results) {
            let expected: Vec<Extent> = var.ty.extents.iter().map(|&of| self.extent(of)).collect();
            self.check_type(result, &expected, &name(var), &origin, steps);
        }
        Ok(())
    }
}
