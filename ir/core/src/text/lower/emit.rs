//! Scalar code, second pass: types from outside down to literals, and instructions.

mod domain;

use self::domain::{Takes, binary_takes, unary_takes};
use super::*;
use crate::{Binary, Constant, Instruction, Lambda, Local, LocalId, Place, ScalarOp, ScalarOperand, Unary};

type Typed = (ScalarOperand, ElementType);

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

    /// An empty list with room for all instructions of the function: moving a long one each time that it is full would cost as much as making
    /// it. Without the room it takes longer.
    fn room(&mut self) -> Vec<Instruction> {
        let mut scratch = std::mem::take(&mut self.scratch);
        _ = scratch.try_reserve(self.operators);
        scratch
    }

    /// The list of a whole function: copied out of the room for it, or that itself where it is long.
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

    fn local(&mut self, ty: ElementType, name: &str) -> Local {
        self.next_local += 1;
        Local { id: LocalId(self.next_local - 1), ty, name: Name::from(name) }
    }

    fn emit_body(
        &mut self,
        body: &'a Body<'s>,
        expected: &[Option<ElementType>],
        out: &mut Vec<Instruction>,
    ) -> Parsed<Vec<Typed>> {
        for statement in &body.statements {
            let Value::Scalar { expr, .. } = &statement.value else { continue };
            let declared: Vec<_> = statement.pattern.iter().map(|p| p.ty.as_ref().map(|ty| ty.element)).collect();
            let before = out.len();
            let values = self.emit_results(*expr, &declared, out)?;
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
        match &body.end {
            End::Expr(expr) => self.emit_results(*expr, expected, out),
            End::Return(items) => {
                self.same_number(items.len(), expected.len(), body.span)?;
                items.iter().zip(expected).map(|((_, expr), ty)| self.emit(*expr, *ty, out)).collect()
            }
            End::Yield(_) => Err(fault(body.span, "a function ends with `return`")),
        }
    }

    /// All results of an expression.
    fn emit_results(
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
            End::Yield(_) => Vec::new(),
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

    /// Appends an instruction of one result.
    fn push_one(
        &mut self,
        op: ScalarOp,
        ty: ElementType,
        fails_at: Option<Span>,
        out: &mut Vec<Instruction>,
    ) -> ScalarOperand {
        let local = self.local(ty, "");
        let operand = local.id.into();
        let place = fails_at.map_or_else(Place::default, |span| self.lines.place(span.start));
        out.push(Instruction { results: vec![local], op, place });
        operand
    }

    /// Appends an `if` or a loop, and checks what it gives against what is expected.
    fn push(
        &mut self,
        op: ScalarOp,
        types: Vec<ElementType>,
        out: &mut Vec<Instruction>,
        expected: &[Option<ElementType>],
        span: Span,
    ) -> Parsed<Vec<Typed>> {
        for (ty, wanted) in types.iter().zip(expected) {
            self.fits(*ty, *wanted, span)?;
        }
        let results: Vec<_> = types.into_iter().map(|ty| self.local(ty, "")).collect();
        let values = results.iter().map(|local| (local.id.into(), local.ty)).collect();
        out.push(Instruction { results, op, place: Place::default() });
        Ok(values)
    }

    fn fits(&self, found: ElementType, wanted: Option<ElementType>, span: Span) -> Parsed<()> {
        match wanted {
            Some(wanted) if wanted != found => {
                let fault = fault(span, format!("expected `{wanted}`, found `{found}`"));
                Err(match wanted {
                    ElementType::Bool => fault.help("a comparison gives a `bool`"),
                    _ => fault.help(format!("`{wanted}(…)` converts")),
                })
            }
            _ => Ok(()),
        }
    }

    fn emit_as(&mut self, expr: ExprId, ty: ElementType, out: &mut Vec<Instruction>) -> Parsed<ScalarOperand> {
        Ok(self.emit(expr, Some(ty), out)?.0)
    }

    /// One value; `expected` tells literals their type, and is checked.
    fn emit(&mut self, expr: ExprId, expected: Option<ElementType>, out: &mut Vec<Instruction>) -> Parsed<Typed> {
        let exprs = self.exprs;
        let Expr { kind, span } = &exprs[expr.0 as usize];
        let span = *span;
        let found = self.types[expr.0 as usize];
        let operand = match kind {
            ExprKind::Number(literal) => {
                let ty = literal.suffix.or(expected).ok_or_else(|| self.untyped(expr))?;
                let constant = literal.constant(ty, span, self.source)?;
                (constant.into(), ty)
            }
            ExprKind::Constant(constant) => (ScalarOperand::Constant(*constant), constant.ty()),
            ExprKind::Name(_) => match self.references[expr.0 as usize] {
                Reference::Variable(position) => {
                    let Variable { ty, operand } = self.variables[position as usize];
                    (operand, ty)
                }
                Reference::Array(id) => (ScalarOperand::Outer(id), self.shape(id).element),
                Reference::None => return Err(fault(span, "this name is not known")),
            },
            ExprKind::If(_) | ExprKind::While(_) => return Ok(self.emit_results(expr, &[expected], out)?[0]),
            _ => {
                let (op, ty, fails) = self.instruction(expr, found.or(expected), out)?;
                self.fits(ty, expected, span)?;
                return Ok((self.push_one(op, ty, fails, out), ty));
            }
        };
        self.fits(operand.1, expected, span)?;
        Ok(operand)
    }

    /// The instruction of an expression that is neither leaf nor control, its type, and where it can fail.
    fn instruction(
        &mut self,
        expr: ExprId,
        ty: Option<ElementType>,
        out: &mut Vec<Instruction>,
    ) -> Parsed<(ScalarOp, ElementType, Option<Span>)> {
        let exprs = self.exprs;
        let Expr { kind, span } = &exprs[expr.0 as usize];
        let span = *span;
        let known = |this: &Self| ty.ok_or_else(|| this.untyped(expr));
        Ok(match kind {
            ExprKind::Read { index, .. } => {
                let array = self.read_array(expr)?;
                let index = index.iter().map(|e| self.emit_as(*e, ElementType::I64, out)).collect::<Parsed<_>>()?;
                (ScalarOp::Read { array, index }, self.shape(array).element, Some(span))
            }
            ExprKind::ReadFlat { position, .. } => {
                let array = self.read_array(expr)?;
                let position = self.emit_as(*position, ElementType::I64, out)?;
                (ScalarOp::ReadFlat { array, position }, self.shape(array).element, Some(span))
            }
            ExprKind::Unary(function, a) => {
                let (given, result) = match function {
                    Unary::IsNan | Unary::IsInf => (self.types[a.0 as usize], Some(ElementType::Bool)),
                    Unary::Not => (Some(ElementType::Bool), Some(ElementType::Bool)),
                    _ => (Some(known(self)?), None),
                };
                let (operand, of) = self.emit(*a, given, out)?;
                self.takes(unary_takes(*function), function.text(), of, span)?;
                (ScalarOp::Unary { function: *function, a: operand }, result.unwrap_or(of), None)
            }
            ExprKind::Chain { first, rest } => return self.chain(expr, *first, rest, ty, out),
            ExprKind::Binary(function, a, b) => {
                let ty = known(self)?;
                let a = self.emit_as(*a, ty, out)?;
                self.takes(binary_takes(*function), function.text(), ty, span)?;
                let b = if function.is_shift() { self.amount(*b, ty, out)? } else { self.emit_as(*b, ty, out)? };
                let divides = matches!(function, Binary::DivFloor | Binary::ModFloor);
                (ScalarOp::Binary { function: *function, a, b }, ty, divides.then_some(span))
            }
            ExprKind::Fma(operands) => {
                let ty = known(self)?;
                self.takes(Takes::Floats, "fma", ty, span)?;
                let [a, b, c] = *operands;
                let a = self.emit_as(a, ty, out)?;
                let b = self.emit_as(b, ty, out)?;
                let c = self.emit_as(c, ty, out)?;
                (ScalarOp::Fma { a, b, c }, ty, None)
            }
            ExprKind::Convert(to, a) => {
                let (a, from) = self.emit(*a, None, out)?;
                if *to == ElementType::Bool && from != ElementType::Bool {
                    return Err(fault(span, format!("`{from}` does not convert to `bool`")).help("compare: `x != …`"));
                }
                (ScalarOp::Convert { to: *to, a }, *to, None)
            }
            ExprKind::Bits(to, a) => {
                let (a, from) = self.emit(*a, None, out)?;
                if from.bits() != to.bits() {
                    let (wide, wanted) = (from.bits(), to.bits());
                    return Err(fault(span, format!("`bits_{to}` takes {wanted} bits, and `{from}` has {wide}")));
                }
                (ScalarOp::Bits { to: *to, a }, *to, None)
            }
            ExprKind::Assert { condition, message, value } => {
                let ty = known(self)?;
                let condition = self.emit_as(*condition, ElementType::Bool, out)?;
                let value = self.emit_as(*value, ty, out)?;
                (ScalarOp::Assert { condition, message: message.clone(), value }, ty, Some(span))
            }
            ExprKind::Number(_) | ExprKind::Constant(_) | ExprKind::Name(_) | ExprKind::If(_) | ExprKind::While(_) => {
                return Err(fault(span, "expected an instruction"));
            }
        })
    }

    /// Operators of one precedence: all but the last become instructions here.
    fn chain(
        &mut self,
        expr: ExprId,
        first: ExprId,
        rest: &'a [(Binary, Span, ExprId)],
        ty: Option<ElementType>,
        out: &mut Vec<Instruction>,
    ) -> Parsed<(ScalarOp, ElementType, Option<Span>)> {
        let function = rest[0].0;
        let logical = matches!(function, Binary::LogicalAnd | Binary::LogicalOr);
        let operands = if logical {
            ElementType::Bool
        } else if function.is_comparison() {
            let ty = self.types[first.0 as usize].or(self.types[rest[0].2.0 as usize]);
            ty.ok_or_else(|| self.untyped(expr))?
        } else {
            ty.ok_or_else(|| self.untyped(expr))?
        };
        let result = if function.is_comparison() { ElementType::Bool } else { operands };
        let mut a = self.emit_as(first, operands, out)?;
        for (position, (function, span, right)) in rest.iter().enumerate() {
            self.takes(binary_takes(*function), function.text(), operands, *span)?;
            let b = if function.is_shift() {
                self.amount(*right, operands, out)?
            } else {
                self.emit_as(*right, operands, out)?
            };
            let op = ScalarOp::Binary { function: *function, a, b };
            let divides = matches!(function, Binary::Div | Binary::Rem) && operands.is_integer();
            let fails = divides.then_some(*span);
            if position + 1 == rest.len() {
                return Ok((op, result, fails));
            }
            a = self.push_one(op, result, fails, out);
        }
        Err(fault(self.span(expr), "operands are missing"))
    }

    /// How far to shift: of any integer type, a bare literal of the type of what is shifted.
    fn amount(&mut self, expr: ExprId, ty: ElementType, out: &mut Vec<Instruction>) -> Parsed<ScalarOperand> {
        let (operand, found) = self.emit(expr, self.types[expr.0 as usize].or(Some(ty)), out)?;
        if found.is_integer() {
            Ok(operand)
        } else {
            Err(fault(self.span(expr), format!("shifts go by integers, and `{found}` is given")))
        }
    }

    fn read_array(&self, expr: ExprId) -> Parsed<ArrayId> {
        match self.references[expr.0 as usize] {
            Reference::Array(id) => Ok(id),
            _ => Err(fault(self.span(expr), "this array is not known")),
        }
    }

    /// A literal or a scalar's name where an operation takes a scalar of a type.
    pub(super) fn operand(&mut self, expr: ExprId, ty: ElementType) -> Parsed<crate::Operand> {
        let span = self.span(expr);
        match &self.expr(expr).kind {
            ExprKind::Name(_) => {
                let id = self.value_named(expr)?;
                self.scalar_of(id, ty, span, &format!("a scalar of `{ty}` is expected"))?;
                Ok(id.into())
            }
            _ => self.literal(expr, Some(ty)).map(Into::into),
        }
    }

    /// A literal, and nothing else.
    pub(super) fn literal(&self, expr: ExprId, ty: Option<ElementType>) -> Parsed<Constant> {
        let span = self.span(expr);
        let constant = match &self.expr(expr).kind {
            ExprKind::Number(literal) => {
                let ty = literal.suffix.or(ty).ok_or_else(|| self.untyped(expr))?;
                literal.constant(ty, span, self.source)?
            }
            ExprKind::Constant(constant) => *constant,
            _ => return Err(fault(span, "expected a name or a literal").help("give it a name before: `let x = …`")),
        };
        self.fits(constant.ty(), ty, span)?;
        Ok(constant)
    }
}

fn end_span(function: &Function<'_>, lower: &Lower<'_, '_>) -> Span {
    match &function.body.end {
        End::Expr(expr) => lower.span(*expr),
        End::Return(items) => match (items.first(), items.last()) {
            (Some(first), Some(last)) => lower.span(first.1).to(lower.span(last.1)),
            _ => function.body.span,
        },
        End::Yield(_) => function.body.span,
    }
}
