//! Branches and loops: what only they need is computed in them, or before a loop.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Constant, ElementType, Name, Operand, Part, Type, Var,
    analysis::{demand::chosen, restrict::with_sizes},
};

use crate::{
    Error,
    block::Maker,
    elements::{Runs, some},
    facts::Item,
    names::Named,
    parts::{Before, before_loop},
};

impl<'p> Maker<'p> {
    pub(crate) fn cond(
        &mut self,
        binding: &'p Binding,
        wanted: &[bool],
        waits: &[Item<'p>],
        out: &mut Vec<Binding>,
    ) -> Result<(), Error> {
        let ArrayOp::Cond { condition, then, otherwise } = &binding.op else { unreachable!("a cond") };
        let mut branch = |block: &'p Block, holds: &[Operand]| {
            self.inside(binding, |maker| {
                let given = chosen(&block.results, wanted);
                let mut bindings = Vec::new();
                maker.block(waits, &block.bindings, &given, holds, &mut bindings)?;
                let results = maker.given(&given, &mut bindings);
                Ok(Block { bindings, results, ..Block::default() })
            })
        };
        let (then, otherwise) = (branch(then, &[*condition])?, branch(otherwise, &[])?);
        let condition = self.operand(*condition);
        let results = self.results(binding, wanted);
        out.push(Binding { results, op: ArrayOp::Cond { condition, then, otherwise }, place: binding.place.clone() });
        Ok(())
    }

    /// A branch that only functions need, computed where one of them has elements, with all that it needs; elsewhere it gives zeros.
    pub(crate) fn only_for(
        &mut self,
        item: &Item<'p>,
        runs: &Runs,
        waits: &[Item<'p>],
        out: &mut Vec<Binding>,
    ) -> Result<(), Error> {
        let binding = item.binding;
        let mut f = some(runs);
        let mut known = true;
        f.outer_uses(&mut |id| known &= matches!(self.names.get(id), Some(Named::Value(_) | Named::Constant(_))));
        let (own, given) = (std::slice::from_ref(binding), chosen(&results_of(binding), &item.wanted));
        if !known {
            return self.block(waits, own, &given, &[], out);
        }
        self.report.asked += 1;
        f.map_outer(&mut |id| self.operand(Operand::Value(id)));
        let some = Var { id: self.fresh.id(), ty: Type::scalar(ElementType::Bool), name: "some".into() };
        let condition = some.id.into();
        out.push(Binding { results: vec![some], op: ArrayOp::Unit { f }, place: binding.place.clone() });
        let then = self.inside(binding, |maker| {
            let mut bindings = Vec::new();
            maker.block(waits, own, &given, &[], &mut bindings)?;
            let results = maker.given(&given, &mut bindings);
            Ok(Block { bindings, results, ..Block::default() })
        })?;
        let mut bindings = Vec::new();
        let vars = binding.results.iter().zip(&item.wanted).filter(|(_, wanted)| **wanted);
        let zeros = vars.map(|(var, _)| Operand::Constant(Constant::zero(var.ty.element)));
        let results = zeros.map(|zero| self.value(zero, &mut bindings)).collect();
        let otherwise = Block { bindings, results, ..Block::default() };
        let results = self.results(binding, &item.wanted);
        out.push(Binding { results, op: ArrayOp::Cond { condition, then, otherwise }, place: binding.place.clone() });
        Ok(())
    }

    /// What a block gives: numbers get a value.
    pub(crate) fn given(&mut self, results: &[ArrayId], out: &mut Vec<Binding>) -> Vec<ArrayId> {
        let operands: Vec<Operand> = results.iter().map(|&id| self.operand(Operand::Value(id))).collect();
        operands.into_iter().map(|operand| self.value(operand, out)).collect()
    }

    fn value(&mut self, operand: Operand, out: &mut Vec<Binding>) -> ArrayId {
        match operand {
            Operand::Value(id) => id,
            Operand::Constant(constant) => {
                let id = self.fresh.id();
                let var = Var { id, ty: Type::scalar(constant.ty()), name: Name::default() };
                let op = ArrayOp::Constant { extents: Vec::new(), values: vec![constant] };
                out.push(Binding { results: vec![var], op, place: Default::default() });
                id
            }
        }
    }

    pub(crate) fn while_loop(
        &mut self,
        item: &Item<'p>,
        waits: &[Item<'p>],
        out: &mut Vec<Binding>,
    ) -> Result<(), Error> {
        let binding = item.binding;
        let before = before_loop(binding, waits, &self.facts);
        if before.fails {
            return self.guarded(item, waits, &before, out);
        }
        self.block(waits, &[], &before.taken, &[], out)?;
        self.plain_loop(binding, &before.remaining, out)
    }

    /// The loop as it is.
    fn plain_loop(&mut self, binding: &'p Binding, waits: &[Item<'p>], out: &mut Vec<Binding>) -> Result<(), Error> {
        let ArrayOp::While { condition, step, starts } = &binding.op else { unreachable!("a loop") };
        let mut body = |block: &'p Block| {
            self.inside(binding, |maker| {
                let (sizes, params) = maker.enter(block);
                let mut bindings = Vec::new();
                maker.block(waits, &block.bindings, &block.results, &[], &mut bindings)?;
                let results = maker.given(&block.results, &mut bindings);
                Ok(Block { sizes, params, bindings, results })
            })
        };
        let (condition, step) = (body(condition)?, body(step)?);
        let starts = starts.iter().map(|&start| self.operand(start)).collect();
        let results = self.results(binding, &vec![true; binding.results.len()]);
        out.push(Binding { results, op: ArrayOp::While { condition, step, starts }, place: binding.place.clone() });
        Ok(())
    }

    /// A loop under its own condition: `if` it runs at all, what its body certainly needs is computed, then it runs. Its condition is a
    /// part of its state, computed at the end of each turn for the next.
    fn guarded(
        &mut self,
        item: &Item<'p>,
        waits: &[Item<'p>],
        before: &Before<'p>,
        out: &mut Vec<Binding>,
    ) -> Result<(), Error> {
        let binding = item.binding;
        let ArrayOp::While { condition, step, starts } = &binding.op else { unreachable!("a loop") };
        self.report.guarded += 1;
        let wanted = with_sizes(binding, &item.wanted);
        let starts: Vec<Operand> = starts.iter().map(|&start| self.operand(start)).collect();
        // Whether it runs: the condition of what it starts from.
        let mark = self.names.mark();
        for (param, &start) in condition.params.iter().zip(&starts) {
            let named = match start {
                Operand::Constant(constant) if !is_array(condition, param.id) => Named::Constant(constant),
                _ => Named::Value(self.value(start, out)),
            };
            self.names.bind(param.id, named);
        }
        self.block(waits, &condition.bindings, &condition.results, &[], out)?;
        let decided = self.given(&condition.results, out)[0];
        self.names.undo(mark);

        let go = |id: ArrayId| Var { id, ty: Type::scalar(ElementType::Bool), name: "go".into() };
        let then = self.inside(binding, |maker| {
            let mut bindings = Vec::new();
            maker.block(waits, &[], &before.taken, &[], &mut bindings)?;
            let again = maker.inside(binding, |maker| {
                let (sizes, mut params) = maker.enter(condition);
                let own = maker.fresh.id();
                params.push(go(own));
                Ok(Block { sizes, params, bindings: Vec::new(), results: vec![own] })
            })?;
            let turn = maker.inside(binding, |maker| {
                let (sizes, mut params) = maker.enter(step);
                params.push(go(maker.fresh.id()));
                let mut bindings = Vec::new();
                maker.block(&before.remaining, &step.bindings, &step.results, &[], &mut bindings)?;
                let mut results = maker.given(&step.results, &mut bindings);
                for (param, &next) in condition.params.iter().zip(&results) {
                    maker.names.bind(param.id, Named::Value(next));
                }
                maker.block(&before.remaining, &condition.bindings, &condition.results, &[], &mut bindings)?;
                results.extend(maker.given(&condition.results, &mut bindings));
                Ok(Block { sizes, params, bindings, results })
            })?;
            let mut results = maker.results(binding, &vec![true; binding.results.len()]);
            let given = results.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(var, _)| var.id).collect();
            results.push(go(maker.fresh.id()));
            let starts = starts.iter().copied().chain([decided.into()]).collect();
            let op = ArrayOp::While { condition: again, step: turn, starts };
            bindings.push(Binding { results, op, place: binding.place.clone() });
            Ok(Block { bindings, results: given, ..Block::default() })
        })?;
        let otherwise = self.inside(binding, |maker| maker.not_run(item, &wanted, &starts))?;
        let results = self.results(binding, &wanted);
        let op = ArrayOp::Cond { condition: decided.into(), then, otherwise };
        out.push(Binding { results, op, place: binding.place.clone() });
        Ok(())
    }
}

impl<'p> Maker<'p> {
    /// What a loop gives that does not run: what it starts from. All of that is needed, also if nothing needs what becomes of it: where that
    /// might fail it stays a loop.
    fn not_run(&mut self, item: &Item<'p>, wanted: &[bool], starts: &[Operand]) -> Result<Block, Error> {
        let binding = item.binding;
        let ArrayOp::While { condition, step, starts: from } = &binding.op else { unreachable!("a loop") };
        let mut bindings = Vec::new();
        if item.certain.iter().zip(from).all(|(&certain, start)| certain || self.facts.never_fails(start)) {
            let kept = starts.iter().zip(wanted).filter(|(_, wanted)| **wanted);
            let results = kept.map(|(&start, _)| self.value(start, &mut bindings)).collect();
            return Ok(Block { bindings, results, ..Block::default() });
        }
        let never = self.inside(binding, |maker| {
            let (sizes, params) = maker.enter(condition);
            let mut bindings = Vec::new();
            let results = vec![maker.value(Operand::Constant(false.into()), &mut bindings)];
            Ok(Block { sizes, params, bindings, results })
        })?;
        let same = self.inside(binding, |maker| {
            let (sizes, params) = maker.enter(step);
            let results = params.iter().map(|param| param.id).collect();
            Ok(Block { sizes, params, bindings: Vec::new(), results })
        })?;
        let all = self.results(binding, &vec![true; binding.results.len()]);
        let results = all.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(var, _)| var.id).collect();
        let op = ArrayOp::While { condition: never, step: same, starts: starts.to_vec() };
        bindings.push(Binding { results: all, op, place: binding.place.clone() });
        Ok(Block { bindings, results, ..Block::default() })
    }
}

fn results_of(binding: &Binding) -> Vec<ArrayId> {
    binding.results.iter().map(|var| var.id).collect()
}

/// Whether a block uses a value as an array, so that no number can stand for it.
fn is_array(block: &Block, id: ArrayId) -> bool {
    let bindings = block.blocks().flat_map(|block| &block.bindings);
    bindings.flat_map(|binding| binding.op.parts()).any(|part| match part {
        Part::Array(used) => *used == id,
        Part::Function(f) => f.arrays_read().contains(&id),
        _ => false,
    })
}
