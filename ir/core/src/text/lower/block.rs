//! Blocks: statements, patterns, results.

use super::*;
use crate::{ArrayOp, Binding, Block, Lambda, Operand};

/// What surrounds a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// A block: `while(` is the operation.
    Block,
    /// The function of a `map` or `generate` that holds array operations: `while(` is scalar code where it can be.
    Function,
    /// A cluster: a mark stands for `let`.
    Cluster,
}

/// The parameters of a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Params {
    /// So many indices, without types.
    Indices(usize),
    /// With types, whose extents are visible.
    Visible,
    /// With types, whose extents are bound where they are not visible.
    Binding,
    /// An index without type, then as [`Self::Binding`].
    Stepping,
}

impl<'a, 's> Lower<'a, 's> {
    /// A function whose body is a block; `wanted` are types of its results, as far as they are known.
    pub(super) fn block(
        &mut self,
        function: &'a Function<'s>,
        params: Params,
        wanted: &[ElementType],
    ) -> Parsed<Block> {
        self.names.open();
        let mut block = self.open_block(function, params)?;
        self.statements(&function.body.statements, Flavour::Block, &mut block.bindings)?;
        block.results = self.block_results(&function.body, wanted, Some(&mut block.bindings))?;
        self.names.close();
        Ok(block)
    }

    /// Sizes and parameters, in the scope that is open.
    pub(super) fn open_block(&mut self, function: &'a Function<'s>, form: Params) -> Parsed<Block> {
        let mut block = Block::default();
        let patterns = &function.params;
        let indices = match form {
            Params::Indices(count) => count,
            Params::Stepping => 1,
            Params::Visible | Params::Binding => 0,
        };
        let exactly = matches!(form, Params::Indices(_));
        if patterns.len() < indices || (exactly && patterns.len() != indices) {
            let s = if indices == 1 { "index" } else { "indices" };
            return Err(fault(
                function.span,
                format!("this block takes {indices} {s}, and has {} parameters", patterns.len()),
            ));
        }
        let (indices, typed) = patterns.split_at(indices);
        let index = Type::scalar(ElementType::I64);
        if let Some(ty) =
            indices.iter().find_map(|p| p.ty.as_ref().filter(|ty| !ty.is_scalar() || ty.element != ElementType::I64))
        {
            return Err(fault(ty.span, "indices are `i64`, and carry no type"));
        }
        // Sizes come first, so an index is given its id after them.
        if indices.is_empty() {
            (block.sizes, block.params) = self.params(typed, !matches!(form, Params::Visible))?;
            return Ok(block);
        }
        if matches!(form, Params::Stepping) {
            let sizes = self.new_sizes(typed, Some(&indices[0]));
            for word in sizes {
                let var = self.var(word, index.clone())?;
                block.sizes.push(var);
            }
        }
        for pattern in indices {
            block.params.push(self.var(pattern.name, index.clone())?);
        }
        let (_, params) = self.params(typed, false)?;
        block.params.extend(params);
        Ok(block)
    }

    pub(super) fn statements(
        &mut self,
        statements: &'a [Statement<'s>],
        flavour: Flavour,
        bindings: &mut Vec<Binding>,
    ) -> Parsed<()> {
        for statement in statements {
            let depth = self.names.depth();
            match self.statement(statement, flavour) {
                Ok((before, binding)) => bindings.extend(before.into_iter().flatten().chain([binding])),
                Err(fault) => self.leave(fault, depth, &statement.pattern)?,
            }
        }
        Ok(())
    }

    /// A binding, and what is bound before it. In a cluster each binding has a mark, so that nothing can be.
    #[inline(always)]
    fn statement(&mut self, statement: &'a Statement<'s>, flavour: Flavour) -> Parsed<(Option<Vec<Binding>>, Binding)> {
        let room = (flavour != Flavour::Cluster).then(Vec::new);
        let around = std::mem::replace(&mut self.before, room);
        let binding = self.binding(statement, flavour);
        let before = std::mem::replace(&mut self.before, around);
        Ok((before, binding?))
    }

    fn binding(&mut self, statement: &'a Statement<'s>, flavour: Flavour) -> Parsed<Binding> {
        if matches!(statement.value, Value::Broken) {
            return Err(follow_up());
        }
        if (flavour == Flavour::Cluster) != statement.mark.is_some() {
            return Err(match flavour {
                Flavour::Cluster => fault(statement.span, "a binding of a cluster has a mark instead of `let`")
                    .help("marks are vertical, diagonal, horizontal, last"),
                _ => fault(statement.span, "marks stand in clusters only: write `let`"),
            });
        }
        let pattern = &statement.pattern;
        let exprs = self.exprs;
        let (op, at) = match &statement.value {
            Value::Operation(operation) => {
                let wanted = self.pattern_types(pattern)?;
                (self.operation(operation, pattern, &wanted, flavour)?, operation.name.span)
            }
            Value::Broken => return Err(follow_up()),
            Value::Scalar { expr, bare_loop } => {
                let Expr { kind, span } = &exprs[expr.0 as usize];
                match kind {
                    ExprKind::While(parts)
                        if *bare_loop && (flavour != Flavour::Function || parts.holds_operation()) =>
                    {
                        self.pattern_types(pattern).map_err(|fault| {
                            fault.help(
                                "types tell the state; a loop of scalars stands in parentheses: `let x = (while(…))`",
                            )
                        })?;
                        (self.array_loop(parts)?, *span)
                    }
                    _ => return self.unit_binding(statement, *expr),
                }
            }
        };
        let results = self.bind_pattern(pattern)?;
        Ok(Binding { results, op, place: self.lines.place(at.start) })
    }

    /// The element types that a pattern declares, all of them.
    fn pattern_types(&self, pattern: &[Pattern<'s>]) -> Parsed<Vec<ElementType>> {
        let typed = |p: &Pattern<'s>| {
            p.ty.as_ref().map(|ty| ty.element).ok_or_else(|| {
                let name = shown(p.name.text);
                fault(p.name.span, format!("`{name}` needs a type, as the result of an operation"))
                    .help(format!("`let {name}: [n]f32 = …`, or `let {name}: f32 = …` where it is one number"))
            })
        };
        pattern.iter().map(typed).collect()
    }

    fn bind_pattern(&mut self, pattern: &'a [Pattern<'s>]) -> Parsed<Vec<Var>> {
        let mut results = Vec::with_capacity(pattern.len());
        for Pattern { name, ty } in pattern {
            let Some(ty) = ty else { continue };
            let ty = self.resolve(ty)?;
            results.push(self.var(*name, ty)?);
        }
        Ok(results)
    }

    fn unit_binding(&mut self, statement: &'a Statement<'s>, expr: ExprId) -> Parsed<Binding> {
        let declared = statement.pattern.iter().map(|p| self.declared_scalar(p)).collect::<Parsed<Vec<_>>>()?;
        let (f, types) = self.unit(expr, &declared)?;
        let mut results = Vec::with_capacity(types.len());
        for (pattern, ty) in statement.pattern.iter().zip(types) {
            results.push(self.var(pattern.name, Type::scalar(ty))?);
        }
        Ok(Binding { results, op: ArrayOp::Unit { f }, place: self.lines.place(self.span(expr).start) })
    }

    /// `return` of a block: names, or scalar code, which is bound at its end. `wanted` are types, as far as they are known. In a cluster each binding
    /// has a mark, so that only names are returned.
    pub(super) fn block_results(
        &mut self,
        body: &'a Body<'s>,
        wanted: &[ElementType],
        mut bindings: Option<&mut Vec<Binding>>,
    ) -> Parsed<Vec<ArrayId>> {
        match &body.end {
            End::Return(items) => {
                let mut results = Vec::with_capacity(items.len());
                for (position, (label, expr)) in items.iter().enumerate() {
                    if let Some(label) = label {
                        return Err(fault(label.span, "only results of a program are given names"));
                    }
                    results.push(match &mut bindings {
                        Some(bindings) => self.result(*expr, wanted.get(position).copied(), bindings)?,
                        None => self.value_named(*expr)?,
                    });
                }
                Ok(results)
            }
            End::Broken => Err(follow_up()),
            End::Expr(_) => Err(fault(body.span, "a block is written in braces")
                .help(format!("`{{ return {} }}`", shown(body.span.text(self.source))))),
            End::Yield(_) => Err(fault(body.span, "`yield` ends the body of a `consume` only: write `return`")),
        }
    }

    /// What is returned: a value by name, or scalar code, which is bound after all others.
    pub(super) fn result(
        &mut self,
        expr: ExprId,
        wanted: Option<ElementType>,
        bindings: &mut Vec<Binding>,
    ) -> Parsed<ArrayId> {
        if matches!(self.expr(expr).kind, ExprKind::Name(_)) {
            return self.value_named(expr);
        }
        let (f, types) = self.unit(expr, &[wanted])?;
        let binding = self.unit_of(expr, f, types[0]);
        let id = binding.results[0].id;
        bindings.push(binding);
        Ok(id)
    }

    /// `while(…)` of arrays.
    fn array_loop(&mut self, parts: &'a Loop<'s>) -> Parsed<ArrayOp> {
        let state: Vec<_> = parts.step.params.iter().filter_map(|param| Some(param.ty.as_ref()?.element)).collect();
        let condition = self.part(|lower| lower.block(&parts.condition, Params::Visible, &[ElementType::Bool]));
        let step = self.part(|lower| lower.block(&parts.step, Params::Visible, &state));
        let (condition, step) = (condition?, step?);
        if parts.starts.len() != step.params.len() {
            let (state, starts) = (step.params.len(), parts.starts.len());
            return Err(fault(parts.step.span, format!("the state has {state} values, and {starts} starts are given")));
        }
        let types = self.elements(&step.params.iter().map(|var| var.id).collect::<Vec<_>>());
        let starts = self.loose_operands(&parts.starts, &types)?;
        Ok(ArrayOp::While { condition, step, starts })
    }

    /// Starts, seeds and arguments: arrays and scalars by name, or literals of the types of parameters.
    pub(super) fn loose_operands(&mut self, exprs: &[ExprId], types: &[ElementType]) -> Parsed<Vec<Operand>> {
        let one = |(position, expr): (usize, &ExprId)| match self.expr(*expr).kind {
            ExprKind::Name(_) => self.value_named(*expr).map(Operand::Value),
            _ => self.value_of(*expr, types.get(position).copied()),
        };
        exprs.iter().enumerate().map(one).collect()
    }

    /// A literal, or scalar code, which is bound before the operation.
    pub(super) fn value_of(&mut self, expr: ExprId, ty: Option<ElementType>) -> Parsed<Operand> {
        let literal = matches!(self.expr(expr).kind, ExprKind::Number(_) | ExprKind::Constant(_));
        if literal || self.before.is_none() {
            return self.literal(expr, ty).map(Operand::Constant);
        }
        let (f, types) = self.unit(expr, &[ty])?;
        let binding = self.unit_of(expr, f, types[0]);
        let id = binding.results[0].id;
        self.before.get_or_insert_default().push(binding);
        // Blocks of the operation may have been read before.
        self.out_of_order = true;
        Ok(Operand::Value(id))
    }

    /// Scalar code as a binding without a name.
    fn unit_of(&mut self, expr: ExprId, f: Lambda, ty: ElementType) -> Binding {
        let id = self.value(Shape::scalar(ty));
        let results = vec![Var { id, ty: Type::scalar(ty), name: Name::default() }];
        Binding { results, op: ArrayOp::Unit { f }, place: self.lines.place(self.span(expr).start) }
    }

    /// The function of a `map` or `generate` that holds array operations: a `nest`. Parameters of a `map` become reads of its
    /// sources; results that are no names become scalar code.
    pub(super) fn function_as_block(
        &mut self,
        function: &'a Function<'s>,
        rank: usize,
        sources: Option<&[ArrayId]>,
        wanted: &[ElementType],
    ) -> Parsed<Block> {
        self.names.open();
        let mut block = match sources {
            None => self.open_block(function, Params::Indices(rank))?,
            Some(sources) => {
                let mut block = Block::default();
                let index = Type::scalar(ElementType::I64);
                for _ in 0..rank {
                    let id = self.value(Shape::of(&index));
                    block.params.push(Var { id, ty: index.clone(), name: Name::default() });
                }
                if function.params.len() != sources.len() {
                    let (given, wanted) = (function.params.len(), sources.len());
                    return Err(fault(
                        function.span,
                        format!("this function takes {wanted} parameters here, and has {given}"),
                    ));
                }
                for (pattern, source) in function.params.iter().zip(sources) {
                    let binding = self.element_of(*source, &block.params, pattern.name)?;
                    block.bindings.push(binding);
                }
                block
            }
        };
        self.statements(&function.body.statements, Flavour::Function, &mut block.bindings)?;
        match &function.body.end {
            End::Return(items) => {
                self.same_number(items.len(), wanted.len(), function.body.span)?;
                for ((_, expr), ty) in items.iter().zip(wanted) {
                    let result = self.result(*expr, Some(*ty), &mut block.bindings)?;
                    block.results.push(result);
                }
            }
            _ => block.results = self.block_results(&function.body, &[], None)?,
        }
        self.names.close();
        Ok(block)
    }

    /// `let name = source[indices]`
    fn element_of(&mut self, source: ArrayId, indices: &[Var], name: Word<'s>) -> Parsed<Binding> {
        let element = self.shape(source).element;
        let local = crate::LocalId(0);
        let index = indices.iter().map(|var| crate::ScalarOperand::Outer(var.id)).collect();
        let place = self.lines.place(name.span.start);
        let instruction = crate::Instruction {
            results: vec![crate::Local { id: local, ty: element, name: Name::from(name.text) }],
            op: crate::ScalarOp::Read { array: source, index },
            place: place.clone(),
        };
        let f = Lambda { params: Vec::new(), instructions: vec![instruction], results: vec![local.into()] };
        let var = self.var(name, Type::scalar(element))?;
        Ok(Binding { results: vec![var], op: ArrayOp::Unit { f }, place })
    }
}
