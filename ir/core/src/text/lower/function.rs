//! Scalar functions and their bodies, second pass: parameters, variables, results, branches and parts of loops.

use super::{emit::Typed, *};
use crate::{Instruction, Lambda, Local, LocalId, ScalarOp, ScalarOperand};

impl<'a, 's> Lower<'a, 's> {
    /// A whole function: its parameters are of the types `params`, its results of `results`.
    pub(super) fn function(
        &mut self,
        function: &'a Function<'s>,
        params: &[ElementType],
        results: &[ElementType],
    ) -> Parsed<Lambda> {
        self.function_of(function, params, |_| results.to_vec())
    }

    /// The same, where the number of results decides what they are.
    pub(super) fn function_of(
        &mut self,
        function: &'a Function<'s>,
        params: &[ElementType],
        results: impl FnOnce(usize) -> Vec<ElementType>,
    ) -> Parsed<Lambda> {
        self.begin();
        if function.params.len() != params.len() {
            let (wanted, given) = (params.len(), function.params.len());
            let s = if wanted == 1 { "" } else { "s" };
            return Err(fault(
                function.span,
                format!("this function takes {wanted} parameter{s} here, and has {given}"),
            ));
        }
        self.names.open();
        let mut locals = Vec::with_capacity(params.len());
        for (pattern, ty) in function.params.iter().zip(params) {
            if let Some(ty) = &pattern.ty {
                return Err(fault(ty.span, "parameters carry no types here: the arrays tell them"));
            }
            self.declare(pattern.name, *ty)?;
            locals.push(self.local(*ty, pattern.name.text));
        }
        for (variable, local) in self.variables.iter_mut().zip(&locals) {
            variable.operand = local.id.into();
        }
        let inferred = self.infer_body(&function.body)?;
        let results = results(inferred.len());
        self.same_number(inferred.len(), results.len(), end_span(function, self))?;
        let expected: Vec<_> = results.into_iter().map(Some).collect();
        let mut scratch = self.room();
        let results = self.emit_body(&function.body, &expected, &mut scratch)?;
        let instructions = self.whole(scratch);
        self.names.close();
        Ok(Lambda { params: locals, instructions, results: results.into_iter().map(|(operand, _)| operand).collect() })
    }

    /// Scalar code between operations. `declared` are types from a pattern.
    pub(super) fn unit(
        &mut self,
        expr: ExprId,
        declared: &[Option<ElementType>],
    ) -> Parsed<(Lambda, Vec<ElementType>)> {
        self.begin();
        self.names.open();
        let inferred = self.infer_results(expr)?;
        self.same_number(inferred.len(), declared.len(), self.span(expr))?;
        let mut scratch = self.room();
        let results = self.emit_results(expr, declared, &mut scratch)?;
        let instructions = self.whole(scratch);
        self.names.close();
        let (results, types) = results.into_iter().unzip();
        Ok((Lambda { params: Vec::new(), instructions, results }, types))
    }

    /// An empty list with capacity for all instructions of the function. Moving a long list each time that it is full would cost as much as
    /// filling it. Where there is no memory for that, the list grows as it is filled.
    fn room(&mut self) -> Vec<Instruction> {
        let mut scratch = std::mem::take(&mut self.scratch);
        _ = scratch.try_reserve(self.operators);
        scratch
    }

    /// The instructions of a finished function: a copy of the scratch list, or the scratch list itself if it is long.
    fn whole(&mut self, mut scratch: Vec<Instruction>) -> Vec<Instruction> {
        const LONG: usize = 64;
        if scratch.len() > LONG {
            if scratch.capacity() / 2 > scratch.len() {
                scratch.shrink_to_fit();
            }
            return scratch;
        }
        let mut instructions = Vec::with_capacity(scratch.len());
        instructions.append(&mut scratch);
        self.scratch = scratch;
        instructions
    }

    fn begin(&mut self) {
        self.variables.clear();
        self.next_local = 0;
        self.operators = 0;
    }

    pub(super) fn local(&mut self, ty: ElementType, name: &str) -> Local {
        self.next_local += 1;
        Local { id: LocalId(self.next_local - 1), ty, name: Name::from(name) }
    }

    fn emit_body(
        &mut self,
        body: &'a Body<'s>,
        expected: &[Option<ElementType>],
        out: &mut Vec<Instruction>,
    ) -> Parsed<Vec<Typed>> {
        let mut broken = false;
        for statement in &body.statements {
            let Value::Scalar { expr, .. } = &statement.value else { continue };
            let declared: Vec<_> = statement.pattern.iter().map(|p| p.ty.as_ref().map(|ty| ty.element)).collect();
            let before = out.len();
            let values = match self.emit_results(*expr, &declared, out) {
                Ok(values) => values,
                Err(fault) => {
                    self.leave(fault, self.names.depth(), &[])?;
                    broken = true;
                    continue;
                }
            };
            if out.len() > before
                && let Some(last) = out.last_mut()
            {
                for ((local, pattern), value) in last.results.iter_mut().zip(&statement.pattern).zip(&values) {
                    if value.0 == ScalarOperand::Local(local.id) {
                        local.name = Name::from(pattern.name.text);
                    }
                }
            }
            let first = statement.first_variable.get() as usize;
            for (variable, (operand, _)) in self.variables[first..].iter_mut().zip(values) {
                variable.operand = operand;
            }
        }
        let end = self.emit_end(body, expected, out);
        self.ended(broken, end)
    }

    #[inline(always)]
    fn emit_end(
        &mut self,
        body: &'a Body<'s>,
        expected: &[Option<ElementType>],
        out: &mut Vec<Instruction>,
    ) -> Parsed<Vec<Typed>> {
        match &body.end {
            End::Expr(expr) => self.emit_results(*expr, expected, out),
            End::Return(items) => {
                self.same_number(items.len(), expected.len(), body.span)?;
                items.iter().zip(expected).map(|((_, expr), ty)| self.emit(*expr, *ty, out)).collect()
            }
            End::Yield(_) => Err(fault(body.span, "a function ends with `return`")),
            End::Broken => Err(follow_up()),
        }
    }

    /// All results of an expression.
    pub(super) fn emit_results(
        &mut self,
        expr: ExprId,
        expected: &[Option<ElementType>],
        out: &mut Vec<Instruction>,
    ) -> Parsed<Vec<Typed>> {
        let exprs = self.exprs;
        let Expr { kind, span } = &exprs[expr.0 as usize];
        match kind {
            ExprKind::If(parts) => {
                let (condition, then, otherwise) = &**parts;
                let (left, right) = (self.inferred(then), self.inferred(otherwise));
                self.same_number(left.len(), expected.len(), *span)?;
                let types: Vec<_> =
                    left.iter().zip(right).zip(expected).map(|((l, r), wanted)| l.or(r).or(*wanted)).collect();
                let condition = self.emit_as(*condition, ElementType::Bool, out)?;
                let (then, found) = self.emit_branch(then, &types, out)?;
                // An untyped literal has stopped it before; what the first branch gives is what the second has to.
                let found: Vec<_> = found.into_iter().map(Some).collect();
                let (otherwise, types) = self.emit_branch(otherwise, &found, out)?;
                self.push(ScalarOp::If { condition, then, otherwise }, types, out, expected, *span)
            }
            ExprKind::While(scalar_loop) => {
                let Loop { condition, step, starts } = &**scalar_loop;
                let types: Vec<_> = step.params.iter().filter_map(|p| p.ty.as_ref().map(|ty| ty.element)).collect();
                if starts.len() != types.len() {
                    return Err(fault(
                        *span,
                        format!("the state has {} values, and {} starts are given", types.len(), starts.len()),
                    ));
                }
                self.same_number(types.len(), expected.len(), *span)?;
                let starts =
                    starts.iter().zip(&types).map(|(e, ty)| self.emit_as(*e, *ty, out)).collect::<Parsed<Vec<_>>>()?;
                let condition = self.emit_loop_part(condition, &[ElementType::Bool], out)?;
                let step = self.emit_loop_part(step, &types, out)?;
                self.push(ScalarOp::While { condition, step, starts }, types, out, expected, *span)
            }
            _ => {
                self.same_number(1, expected.len(), *span)?;
                Ok(vec![self.emit(expr, expected[0], out)?])
            }
        }
    }

    /// What the first pass found of a body's results.
    fn inferred(&self, body: &Body<'s>) -> infer::Inferred {
        match &body.end {
            End::Return(items) => items.iter().map(|(_, expr)| self.types[expr.0 as usize]).collect(),
            End::Expr(expr) => match &self.expr(*expr).kind {
                ExprKind::If(parts) => {
                    let (left, right) = (self.inferred(&parts.1), self.inferred(&parts.2));
                    left.into_iter().zip(right).map(|(left, right)| left.or(right)).collect()
                }
                ExprKind::While(scalar_loop) => {
                    scalar_loop.step.params.iter().map(|p| p.ty.as_ref().map(|ty| ty.element)).collect()
                }
                _ => vec![self.types[expr.0 as usize]],
            },
            End::Yield(_) | End::Broken => Vec::new(),
        }
    }

    /// The instructions of a body lie behind those around it until it is whole, so that each list is made once, of its length.
    fn emit_branch(
        &mut self,
        body: &'a Body<'s>,
        types: &[Option<ElementType>],
        out: &mut Vec<Instruction>,
    ) -> Parsed<(Lambda, Vec<ElementType>)> {
        let start = out.len();
        let (results, types) = self.emit_body(body, types, out)?.into_iter().unzip();
        Ok((Lambda { params: Vec::new(), instructions: out.drain(start..).collect(), results }, types))
    }

    fn emit_loop_part(
        &mut self,
        function: &'a Function<'s>,
        types: &[ElementType],
        out: &mut Vec<Instruction>,
    ) -> Parsed<Lambda> {
        let first = function.first_variable.get() as usize;
        let mut params = Vec::with_capacity(function.params.len());
        for (position, pattern) in function.params.iter().enumerate() {
            let local = self.local(self.variables[first + position].ty, pattern.name.text);
            self.variables[first + position].operand = local.id.into();
            params.push(local);
        }
        self.same_number(self.inferred(&function.body).len(), types.len(), end_span(function, self))?;
        let types: Vec<_> = types.iter().copied().map(Some).collect();
        let start = out.len();
        let results = self.emit_body(&function.body, &types, out)?;
        let instructions = out.drain(start..).collect();
        Ok(Lambda { params, instructions, results: results.into_iter().map(|(operand, _)| operand).collect() })
    }
}

fn end_span(function: &Function<'_>, lower: &Lower<'_, '_>) -> Span {
    match &function.body.end {
        End::Expr(expr) => lower.span(*expr),
        End::Return(items) => match (items.first(), items.last()) {
            (Some(first), Some(last)) => lower.span(first.1).to(lower.span(last.1)),
            _ => function.body.span,
        },
        End::Yield(_) | End::Broken => function.body.span,
    }
}
