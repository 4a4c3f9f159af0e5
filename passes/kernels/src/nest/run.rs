//! Scalar code made strict and put into a nest: each instruction as far outside as what it uses allows, if it cannot fail.

use fusebox_ir::{
    Action, Binary, Constant, DimBoundary, ElementType, Instruction, KernelArrayId, Lambda, LambdaBuilder, LocalId,
    Place, PlanType, ScalarOp, ScalarOperand,
    analysis::need::{certainly_executed, free_uses},
};

use super::{KernelBuilder, Known, NestArray, ProgramPoint};
use crate::{
    bounds::linear::Linear,
    expand::Expand,
    locals::scalar_code,
    strict::{Strict, can_fail},
};

impl KernelBuilder<'_> {
    /// Makes `code` strict and executes it at `at`; gives what its results are called.
    pub(crate) fn run(
        &mut self,
        code: LambdaBuilder,
        results: &[ScalarOperand],
        at: ProgramPoint,
    ) -> Vec<ScalarOperand> {
        let Self { ids, known, arrays, .. } = self;
        let safe = |read: &Instruction| is_safe(known, arrays, read, at.depth);
        let mut expand = Expand::new(ids, &known.types);
        let results = Strict::new(&mut expand, &safe).code(code.instructions(), results);
        let instructions = expand.finish(ids);
        for instruction in instructions {
            self.execute(instruction, at);
        }
        results.iter().map(|&result| self.canonical(result)).collect()
    }

    /// The same where `when` holds; elsewhere what its results are is of no account, and it does not fail.
    pub(crate) fn run_when(
        &mut self,
        mut code: LambdaBuilder,
        results: &[ScalarOperand],
        at: ProgramPoint,
        when: Option<ScalarOperand>,
    ) -> Vec<ScalarOperand> {
        // Also what only a branch would execute: what the branch depends on may be anything.
        let fails =
            code.instructions().iter().any(|instruction| can_fail(instruction, &|read| self.is_safe(read, at.depth)));
        let Some(condition) = when.filter(|_| fails) else { return self.run(code, results, at) };
        let types: Vec<ElementType> = results.iter().map(|&result| self.ty(result)).collect();
        let then = Lambda { results: results.to_vec(), ..Lambda::default() };
        let zeros = types.iter().map(|&ty| Constant::zero(ty).into()).collect();
        let otherwise = Lambda { results: zeros, ..Lambda::default() };
        let results = self.push_all(&mut code, ScalarOp::If { condition, then, otherwise }, &types);
        self.run(code, &results, at)
    }

    /// Whether executing `code` for `results` may fail where `needed` are needed anyway.
    pub(crate) fn may_fail(
        &mut self,
        code: &LambdaBuilder,
        results: &[ScalarOperand],
        needed: &[ScalarOperand],
        depth: u32,
    ) -> bool {
        let anyway: std::collections::HashSet<LocalId> = {
            let body =
                Lambda { params: Vec::new(), instructions: code.instructions().to_vec(), results: needed.to_vec() };
            certainly_executed(&body).iter().flat_map(|i| &i.results).map(|result| result.id).collect()
        };
        let body = Lambda { params: Vec::new(), instructions: code.instructions().to_vec(), results: results.to_vec() };
        let certain = certainly_executed(&body);
        certain
            .iter()
            .filter(|instruction| instruction.results.iter().all(|result| !anyway.contains(&result.id)))
            .any(|instruction| can_fail(instruction, &|read| self.is_safe(read, depth)))
    }

    fn is_safe(&self, read: &Instruction, depth: u32) -> bool {
        is_safe(&self.known, &self.arrays, read, depth)
    }

    pub(super) fn canonical(&self, operand: ScalarOperand) -> ScalarOperand {
        match operand {
            ScalarOperand::Local(id) => self.same.get(&id).copied().unwrap_or(id).into(),
            ScalarOperand::Outer(_) | ScalarOperand::Constant(_) => operand,
        }
    }

    fn execute(&mut self, instruction: Instruction, at: ProgramPoint) {
        if let Some((instruction, point)) = self.invariant(&instruction, at) {
            for result in &instruction.results {
                self.define(result, point);
            }
            self.put(point, None, Action::Scalar(instruction));
            return;
        }
        let index = match &instruction.op {
            ScalarOp::Read { array, index } => Some((KernelArrayId::of_code(*array), index.clone())),
            ScalarOp::ReadFlat { array, position } => {
                let array = KernelArrayId::of_code(*array);
                (self.array_type(array).rank() == 1).then(|| (array, vec![*position]))
            }
            _ => None,
        };
        if let (Some((array, index)), [result]) = (index, &instruction.results[..]) {
            let dims = index.iter().map(|&index| (self.known.form(index), DimBoundary::None)).collect::<Vec<_>>();
            self.load_into(result.clone(), array, &dims, None, at, &instruction.place);
            return;
        }
        let natural = free_uses(&instruction)
            .into_iter()
            .map(|id| self.known.point(id.into()))
            .max()
            .unwrap_or(ProgramPoint::before(0));
        let point = if can_fail(&instruction, &|_| false) { at } else { natural.min(at) };
        for result in &instruction.results {
            self.define(result, point);
        }
        self.known.note(&instruction, at.depth);
        self.put(point, None, Action::Scalar(instruction));
    }

    /// An instruction that may fail and is the same at every point of the levels inside some depth: executed once, before these levels,
    /// if there is any point in them. Gives it under that condition, and where it goes.
    fn invariant(&mut self, instruction: &Instruction, at: ProgramPoint) -> Option<(Instruction, ProgramPoint)> {
        let read = if self.is_safe(instruction, at.depth) { return None } else { instruction };
        let point =
            free_uses(read).into_iter().map(|id| self.known.point(id.into())).max().unwrap_or(ProgramPoint::before(0));
        if at.after || point.after || point.depth >= at.depth || !can_fail(instruction, &|_| false) {
            return None;
        }
        let levels = point.depth as usize..at.depth as usize;
        let bounds: Vec<(ScalarOperand, ScalarOperand)> =
            self.levels[levels].iter().map(|level| (level.from, level.to)).collect();
        if bounds.iter().any(|&(from, to)| self.known.point(from).max(self.known.point(to)) > point) {
            return None;
        }
        let mut some: Option<ScalarOperand> = None;
        for (from, to) in bounds {
            if !self.is_below(from, to, point.depth, false) {
                let filled = self.binary(Binary::Lt, from, to, point);
                some = Some(match some {
                    Some(some) => self.binary(Binary::And, some, filled, point),
                    None => filled,
                });
            }
        }
        let Some(condition) = some else {
            // Plain reads become loads, further out.
            return (!matches!(instruction.op, ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. }))
                .then(|| (instruction.clone(), point));
        };
        let then = self.body_of(instruction);
        let zeros = instruction.results.iter().map(|result| Constant::zero(result.ty).into()).collect();
        let otherwise = Lambda { results: zeros, ..Lambda::default() };
        let op = ScalarOp::If { condition, then, otherwise };
        Some((Instruction { results: instruction.results.clone(), op, place: instruction.place.clone() }, point))
    }

    pub(super) fn array_type(&self, array: KernelArrayId) -> &PlanType {
        self.known.values.ty(self.arrays[array.index()].value)
    }

    /// A scalar instruction that cannot fail, as far outside as possible.
    pub(crate) fn compute(&mut self, op: ScalarOp, ty: ElementType, at: ProgramPoint) -> ScalarOperand {
        let mut code = scalar_code();
        let result = self.push(&mut code, op, ty, &Place::default());
        self.run(code, &[result], at)[0]
    }

    /// A function of two operands that cannot fail.
    pub(crate) fn binary(
        &mut self,
        function: Binary,
        a: ScalarOperand,
        b: ScalarOperand,
        at: ProgramPoint,
    ) -> ScalarOperand {
        let ty = if function.is_comparison() { ElementType::Bool } else { self.ty(a) };
        self.compute(ScalarOp::Binary { function, a, b }, ty, at)
    }
}

/// Whether a read is known to be inside.
fn is_safe(known: &Known<'_>, arrays: &[NestArray], read: &Instruction, depth: u32) -> bool {
    let (array, index) = match &read.op {
        ScalarOp::Read { array, index } => (array, index.clone()),
        ScalarOp::ReadFlat { array, position } => (array, vec![*position]),
        _ => return false,
    };
    let ty = known.values.ty(arrays[KernelArrayId::of_code(*array).index()].value);
    let index: Vec<Linear> = index.iter().map(|&index| known.form(index)).collect();
    known.inside(ty, &index, depth)
}
