//! Scalar code, first pass: names, and types from the leaves up.

use super::*;
use crate::{Binary, LocalId, ScalarOperand, Unary};

/// A parameter or a `let` of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub ty: ElementType,
    /// Known once the second pass has come to it.
    pub operand: ScalarOperand,
}

/// What a name in scalar code is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reference {
    None,
    Array(ArrayId),
    Variable(u32),
}

/// Types of results, where the leaves tell them.
pub(super) type Inferred = Vec<Option<ElementType>>;

impl<'a, 's> Lower<'a, 's> {
    pub(super) fn declare(&mut self, word: Word<'s>, ty: ElementType) -> Parsed<()> {
        let position = self.variables.len() as u32;
        self.variables.push(Variable { ty, operand: ScalarOperand::Local(LocalId(u32::MAX)) });
        self.bind(word, Entry::Variable(position))
    }

    /// Statements and end of a body, in the scope that is open.
    pub(super) fn infer_body(&mut self, body: &'a Body<'s>) -> Parsed<Inferred> {
        let depth = self.names.depth();
        let mut broken = false;
        for statement in &body.statements {
            if let Err(fault) = self.infer_statement(statement) {
                self.leave(fault, depth, &statement.pattern)?;
                broken = true;
            }
        }
        let end = self.infer_end(body);
        self.ended(broken, end)
    }

    #[inline(always)]
    fn infer_statement(&mut self, statement: &'a Statement<'s>) -> Parsed<()> {
        let expr = match &statement.value {
            Value::Scalar { expr, .. } => *expr,
            Value::Operation(operation) => return Err(self.misplaced(operation)),
            Value::Broken => return Err(follow_up()),
        };
        if statement.mark.is_some() {
            return Err(fault(statement.span, "marks stand in clusters only: write `let`"));
        }
        let types = self.infer_results(expr)?;
        self.same_number(types.len(), statement.pattern.len(), self.span(expr))?;
        Self::remember(&statement.first_variable, &self.variables);
        for (position, (pattern, inferred)) in statement.pattern.iter().zip(types).enumerate() {
            let declared = self.declared_scalar(pattern)?;
            let ty = declared.or(inferred).ok_or_else(|| self.untyped_result(expr, position))?;
            self.declare(pattern.name, ty)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn infer_end(&mut self, body: &'a Body<'s>) -> Parsed<Inferred> {
        match &body.end {
            End::Broken => Err(follow_up()),
            End::Expr(expr) => self.infer_results(*expr),
            End::Return(items) => {
                let mut types = Vec::with_capacity(items.len());
                for (label, expr) in items {
                    if let Some(label) = label {
                        return Err(fault(label.span, "only results of a program are given names"));
                    }
                    types.push(self.infer(*expr)?);
                }
                Ok(types)
            }
            End::Yield(_) => Err(fault(body.span, "`yield` ends the body of a `consume` only: write `return`")),
        }
    }

    pub(super) fn declared_scalar(&self, pattern: &Pattern<'s>) -> Parsed<Option<ElementType>> {
        match &pattern.ty {
            Some(ty) if !ty.is_scalar() => {
                let fault = fault(
                    ty.span,
                    format!("`{}` is scalar code, and its type is an array's", shown(pattern.name.text)),
                );
                Err(fault
                    .help("arrays are made by operations: `map(|x, y| x + y, xs, ys)` adds two, `compute(xs)` is `xs`"))
            }
            ty => Ok(ty.as_ref().map(|ty| ty.element)),
        }
    }

    pub(super) fn same_number(&self, given: usize, wanted: usize, span: Span) -> Parsed<()> {
        if given == wanted {
            return Ok(());
        }
        let s = if given == 1 { "" } else { "s" };
        Err(fault(
            span,
            format!("this gives {given} result{s}, and {wanted} {} expected", if wanted == 1 { "is" } else { "are" }),
        ))
    }

    /// Types of all results of an expression: several of `if` and loops only.
    pub(super) fn infer_results(&mut self, expr: ExprId) -> Parsed<Inferred> {
        let exprs = self.exprs;
        let types = match &exprs[expr.0 as usize].kind {
            ExprKind::If(parts) => {
                let (condition, then, otherwise) = &**parts;
                self.infer(*condition)?;
                let left = self.infer_branch(then)?;
                let right = self.infer_branch(otherwise)?;
                self.same_number(right.len(), left.len(), otherwise.span)?;
                left.into_iter().zip(right).map(|(left, right)| left.or(right)).collect()
            }
            ExprKind::While(scalar_loop) => self.infer_loop(scalar_loop)?,
            _ => return Ok(vec![self.infer_one(expr)?]),
        };
        self.operators += 1;
        if let [one] = types[..] {
            self.types[expr.0 as usize] = one;
        }
        Ok(types)
    }

    fn infer_branch(&mut self, body: &'a Body<'s>) -> Parsed<Inferred> {
        self.names.open();
        let types = self.infer_body(body)?;
        self.names.close();
        Ok(types)
    }

    fn infer_loop(&mut self, scalar_loop: &'a Loop<'s>) -> Parsed<Inferred> {
        let mut state = Vec::new();
        for function in [&scalar_loop.condition, &scalar_loop.step] {
            self.names.open();
            Self::remember(&function.first_variable, &self.variables);
            let mut types = Vec::with_capacity(function.params.len());
            for param in &function.params {
                let ty = self.declared_scalar(param)?.ok_or_else(|| {
                    fault(param.name.span, format!("`{}` needs a type", shown(param.name.text)))
                        .help("the parameters of a loop carry types: `|v: f32, k: i64| …`")
                })?;
                types.push(Some(ty));
                self.declare(param.name, ty)?;
            }
            self.infer_body(&function.body)?;
            self.names.close();
            state.push(types);
        }
        if state[0] != state[1] {
            return Err(fault(
                scalar_loop.step.span,
                "both functions of a loop take the same state, with the same types",
            ));
        }
        for start in &scalar_loop.starts {
            self.infer(*start)?;
        }
        Ok(state.swap_remove(0))
    }

    /// The type of an expression of one result.
    pub(super) fn infer(&mut self, expr: ExprId) -> Parsed<Option<ElementType>> {
        if !matches!(self.expr(expr).kind, ExprKind::If(_) | ExprKind::While(_)) {
            return self.infer_one(expr);
        }
        let types = self.infer_results(expr)?;
        self.same_number(types.len(), 1, self.span(expr))?;
        Ok(types[0])
    }

    fn infer_one(&mut self, expr: ExprId) -> Parsed<Option<ElementType>> {
        let exprs = self.exprs;
        let Expr { kind, span } = &exprs[expr.0 as usize];
        let ty = match kind {
            ExprKind::Number(literal) => literal.suffix,
            ExprKind::Constant(constant) => Some(constant.ty()),
            ExprKind::Name(text) => Some(self.infer_name(expr, Word { text, span: *span })?),
            ExprKind::Read { array, index } => {
                let id = self.infer_read(expr, *array)?;
                let rank = usize::from(self.shape(id).rank);
                if index.len() != rank {
                    let (s, are) = if index.len() == 1 { ("index", "is") } else { ("indices", "are") };
                    return Err(fault(
                        *span,
                        format!("`{}` has rank {rank}, and {} {s} {are} given", shown(array.text), index.len()),
                    ));
                }
                for index in index {
                    self.infer(*index)?;
                }
                Some(self.shape(id).element)
            }
            ExprKind::ReadFlat { array, position } => {
                let id = self.infer_read(expr, *array)?;
                self.infer(*position)?;
                Some(self.shape(id).element)
            }
            ExprKind::Unary(function, a) => {
                let ty = self.infer(*a)?;
                if matches!(function, Unary::Not | Unary::IsNan | Unary::IsInf) { Some(ElementType::Bool) } else { ty }
            }
            ExprKind::Chain { first, rest } => {
                // Itself is counted below.
                self.operators += rest.len() - 1;
                let function = rest[0].0;
                let mut ty = self.infer(*first)?;
                for (_, _, operand) in rest {
                    let other = self.infer(*operand)?;
                    if !function.is_shift() {
                        ty = ty.or(other);
                    }
                }
                if function.is_comparison() || matches!(function, Binary::LogicalAnd | Binary::LogicalOr) {
                    Some(ElementType::Bool)
                } else {
                    ty
                }
            }
            ExprKind::Binary(function, a, b) => {
                let (left, right) = (self.infer(*a)?, self.infer(*b)?);
                if function.is_shift() { left } else { left.or(right) }
            }
            ExprKind::Fma(operands) => {
                let mut ty = None;
                for operand in operands {
                    ty = ty.or(self.infer(*operand)?);
                }
                ty
            }
            ExprKind::Convert(to, a) | ExprKind::Bits(to, a) => {
                self.infer(*a)?;
                Some(*to)
            }
            ExprKind::Assert { condition, value, shown, .. } => {
                self.infer(*condition)?;
                for number in shown {
                    self.infer(*number)?;
                }
                self.infer(*value)?
            }
            // Those of several results are not met here.
            ExprKind::If(_) | ExprKind::While(_) => None,
        };
        self.types[expr.0 as usize] = ty;
        self.operators += usize::from(!matches!(kind, ExprKind::Number(_) | ExprKind::Constant(_) | ExprKind::Name(_)));
        Ok(ty)
    }

    fn infer_name(&mut self, expr: ExprId, word: Word<'s>) -> Parsed<ElementType> {
        match self.lookup(word)? {
            Entry::Broken => Err(follow_up()),
            Entry::Variable(position) => {
                self.references[expr.0 as usize] = Reference::Variable(position);
                Ok(self.variables[position as usize].ty)
            }
            Entry::Array(id) => {
                let shape = self.shape(id);
                if !shape.is_scalar() {
                    let fault = fault(
                        word.span,
                        format!("`{}` is {}, and a scalar is wanted", shown(word.text), shape.describe()),
                    );
                    let reads = shape.rank > 0 && shape.inner == 0 && !shape.stream;
                    return Err(if reads {
                        let index =
                            ["i", "j", "k", "l", "p", "q", "r", "s"][..usize::from(shape.rank).min(8)].join(", ");
                        fault.help(format!("`{}[{index}]` reads an element", shown(word.text)))
                    } else {
                        fault
                    });
                }
                self.references[expr.0 as usize] = Reference::Array(id);
                Ok(shape.element)
            }
        }
    }

    fn infer_read(&mut self, expr: ExprId, array: Word<'s>) -> Parsed<ArrayId> {
        let id = self.array(array)?;
        let shape = self.shape(id);
        if shape.stream || shape.inner > 0 {
            return Err(fault(
                array.span,
                format!("`{}` is {}: its elements are no scalars", shown(array.text), shape.describe()),
            )
            .help_if(shape.inner > 0, "the operation `element` gives one of its arrays"));
        }
        self.references[expr.0 as usize] = Reference::Array(id);
        Ok(id)
    }

    /// The error that a literal inside an expression has no type.
    pub(super) fn untyped(&self, expr: ExprId) -> Box<Fault> {
        let mut at = expr;
        loop {
            let Expr { kind, span } = self.expr(at);
            at = match kind {
                ExprKind::Number(literal) if literal.suffix.is_none() => return literal.untyped(*span, self.source),
                ExprKind::Chain { first, .. } => *first,
                ExprKind::Unary(_, a) | ExprKind::Binary(_, a, _) => *a,
                ExprKind::Fma(operands) => operands[0],
                ExprKind::Assert { value, .. } => *value,
                ExprKind::If(parts) => match &parts.1.end {
                    End::Expr(expr) => *expr,
                    End::Return(items) if !items.is_empty() => items[0].1,
                    _ => return fault(*span, "nothing tells the type of this"),
                },
                _ => return fault(*span, "nothing tells the type of this"),
            };
        }
    }

    fn untyped_result(&self, expr: ExprId, position: usize) -> Box<Fault> {
        match &self.expr(expr).kind {
            ExprKind::If(parts) => match &parts.1.end {
                End::Return(items) if position < items.len() => self.untyped_result(items[position].1, 0),
                End::Expr(inner) => self.untyped_result(*inner, position),
                _ => self.untyped(expr),
            },
            _ => self.untyped(expr),
        }
    }
}
