//! `cond`, `while` and `foreign`: steps around steps.
//!
//! The program is strict, so each block is computed where it stands, all of it.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Extent, PlanExtent, PlanOperand, PlanType, Step, ValueId, Var};

use super::{Bound, Lower, Origin, name};
use crate::error::Error;

impl<'p> Lower<'p> {
    /// Types of values that stand for `vars`, whose extents may be of `vars` themselves.
    fn stand_ins(&mut self, vars: &[Var]) -> Result<Vec<ValueId>, Error> {
        let mut made = Vec::new();
        for var in vars {
            let ty = self.plan_type(var)?;
            let value = self.values.add(name(var), ty);
            self.bindings.bind(var.id, Bound::Plan(value.into()));
            made.push(value);
        }
        Ok(made)
    }

    fn alias(value: ValueId, source: PlanOperand, origin: &Origin) -> Step {
        Step::Alias { value, source, operation: origin.operation.clone(), place: origin.place.clone() }
    }

    pub(super) fn cond(&mut self, binding: &'p Binding, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::Cond { condition, then, otherwise } = &binding.op else { unreachable!("a cond") };
        let origin = self.origin(binding);
        let condition = self.operand(*condition);
        // Both branches first, so that results are not in their scope.
        let mark = self.bindings.log.len();
        let results = self.stand_ins(&binding.results)?;
        self.bindings.undo(mark);
        let branch = |this: &mut Self, block: &'p Block| {
            this.branch(block, &mut |this, steps| {
                let sources: Vec<PlanOperand> = block.results.iter().map(|&id| this.find(id)).collect();
                this.check_types(&sources, &results, &binding.results, &origin, steps);
                for (&value, &source) in results.iter().zip(&sources) {
                    steps.push(Self::alias(value, source, &origin));
                }
                Ok(())
            })
        };
        let (then, otherwise) = (branch(self, then)?, branch(self, otherwise)?);
        steps.push(Step::If { condition, then, otherwise, results: results.clone() });
        self.made_all(&binding.results, &results);
        Ok(())
    }

    fn made_all(&mut self, vars: &[Var], values: &[ValueId]) {
        for (var, &value) in vars.iter().zip(values) {
            let ty = self.values.ty(value).clone();
            self.values.made(&ty);
            self.bindings.bind(var.id, Bound::Plan(value.into()));
        }
    }

    /// `sources` have the extents of the types of `values`, where these name each other what `sources` are.
    fn check_types(
        &mut self,
        sources: &[PlanOperand],
        values: &[ValueId],
        vars: &[Var],
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) {
        for ((&source, &value), var) in sources.iter().zip(values).zip(vars) {
            let expected: Vec<PlanExtent> = self
                .values
                .ty(value)
                .extents
                .iter()
                .map(|&of| match of {
                    Extent::Value(id) => match values.iter().position(|&value| value == id) {
                        Some(at) => self.values.operand_as_extent(sources[at]),
                        None => of,
                    },
                    Extent::Constant(_) | Extent::Unknown => of,
                })
                .collect();
            self.check_type(source, &expected, &name(var), origin, steps);
        }
    }

    /// The state of a loop has the extents that parameters of its blocks declare.
    fn check_params(&mut self, params: &[Var], state: &[ValueId], origin: &Origin, steps: &mut Vec<Step>) {
        for (param, &value) in params.iter().zip(state) {
            let expected: Vec<PlanExtent> = param.ty.extents.iter().map(|&of| self.extent(of)).collect();
            self.check_type(value.into(), &expected, &name(param), origin, steps);
        }
    }

    pub(super) fn while_loop(&mut self, binding: &'p Binding, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::While { condition, step, starts } = &binding.op else { unreachable!("a loop") };
        let origin = self.origin(binding);
        let starts: Vec<PlanOperand> = starts.iter().map(|&start| self.operand(start)).collect();
        let mark = self.bindings.log.len();
        let state = self.stand_ins(&binding.results)?;
        self.bindings.undo(mark);
        self.check_types(&starts, &state, &binding.results, &origin, steps);
        for (&value, &start) in state.iter().zip(&starts) {
            steps.push(Self::alias(value, start, &origin));
        }
        let checkpoint = self.values.checkpoint();
        for &value in &state {
            let ty = self.values.ty(value).clone();
            self.values.made(&ty);
        }
        for (var, &value) in condition.params.iter().zip(&state) {
            self.bindings.bind(var.id, Bound::Plan(value.into()));
        }
        let mut decided = PlanOperand::Constant(false.into());
        let mut condition_steps = Vec::new();
        self.check_params(&condition.params, &state, &origin, &mut condition_steps);
        condition_steps.extend(self.branch(condition, &mut |this, _| {
            decided = this.find(condition.results[0]);
            Ok(())
        })?);
        for (var, &value) in step.params.iter().zip(&state) {
            self.bindings.bind(var.id, Bound::Plan(value.into()));
        }
        let mut next = Vec::new();
        let mut body = Vec::new();
        self.check_params(&step.params, &state, &origin, &mut body);
        body.extend(self.branch(step, &mut |this, steps| {
            next = step.results.iter().map(|&id| this.find(id)).collect();
            this.check_types(&next, &state, &binding.results, &origin, steps);
            Ok(())
        })?);
        self.bindings.undo(mark);
        self.values.restore(checkpoint);
        steps.push(Step::While { state: state.clone(), condition_steps, condition: decided, body, next });
        self.made_all(&binding.results, &state);
        Ok(())
    }

    /// Lanes one at a time: a traversal of numbers whose steps see nothing of each other.
    pub(super) fn lanes(&mut self, binding: &'p Binding, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::Consume { limit: Some(limit), body, .. } = &binding.op else {
            return Err(super::unsupported(binding));
        };
        let (origin, limit) = (self.origin(binding), self.operand(*limit));
        let count = self.values.operand_as_extent(limit);
        let mark = self.bindings.log.len();
        let checkpoint = self.values.checkpoint();
        let lane = self.stand_ins(&body.params)?;
        let mut given = Vec::new();
        let inside = self.branch(body, &mut |this, _| {
            given = body.results.iter().map(|&id| this.find(id)).collect();
            Ok(())
        })?;
        self.bindings.undo(mark);
        self.values.restore(checkpoint);
        let results = self.stand_ins(&binding.results)?;
        let (operation, place) = (origin.operation, origin.place);
        steps.push(Step::Lanes {
            lane: lane[0],
            count,
            body: inside,
            given,
            results: results.clone(),
            operation,
            place,
        });
        self.made_all(&binding.results, &results);
        Ok(())
    }

    /// The fallback.
    pub(super) fn foreign(&mut self, binding: &'p Binding, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::Foreign { fallback, arguments, .. } = &binding.op else { unreachable!("a foreign operation") };
        let origin = self.origin(binding);
        let mark = self.bindings.log.len();
        let arguments: Vec<PlanOperand> = arguments.iter().map(|&argument| self.operand(argument)).collect();
        let mut bound: HashSet<ArrayId> = HashSet::new();
        let sizes: HashMap<ArrayId, &Var> = fallback.sizes.iter().map(|var| (var.id, var)).collect();
        for (param, &argument) in fallback.params.iter().zip(&arguments) {
            let ty: Option<PlanType> =
                if let PlanOperand::Value(id) = argument { Some(self.values.ty(id).clone()) } else { None };
            // A size first met is bound by the argument; met again it is checked.
            for (&declared, &actual) in param.ty.extents.iter().zip(ty.iter().flat_map(|ty| &ty.extents)) {
                if let Extent::Value(id) = declared
                    && let Some(size) = sizes.get(&id)
                    && bound.insert(id)
                {
                    self.bind_operand(size, self.values.extent_as_operand(actual), steps);
                }
            }
            let expected: Vec<PlanExtent> = param.ty.extents.iter().map(|&of| self.extent(of)).collect();
            self.check_type(argument, &expected, &name(param), &origin, steps);
            self.bind_operand(param, argument, steps);
        }
        self.block(&fallback.bindings, &fallback.results, steps)?;
        let results: Vec<PlanOperand> = fallback.results.iter().map(|&id| self.find(id)).collect();
        self.bindings.undo(mark);
        for (var, &result) in binding.results.iter().zip(&results) {
            self.bind_operand(var, result, steps);
        }
        for (var, &result) in binding.results.iter().zip(&results) {
            let expected: Vec<PlanExtent> = var.ty.extents.iter().map(|&of| self.extent(of)).collect();
            self.check_type(result, &expected, &name(var), &origin, steps);
        }
        Ok(())
    }
}
