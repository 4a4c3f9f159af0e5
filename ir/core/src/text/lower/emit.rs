//! Expressions of scalar code, second pass: types from outside down to literals, and instructions.

mod domain;

use super::*;
use crate::{
    Binary, Constant, Instruction, Place, ScalarOp, ScalarOperand, Unary,
    text::takes::{Takes, binary_takes, unary_takes},
};

pub(super) type Typed = (ScalarOperand, ElementType);

impl<'a, 's> Lower<'a, 's> {
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
    pub(super) fn push(
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
                    _ if wanted.is_integer() && found.is_float() => fault.help(format!(
                        "`{wanted}(…)` converts, and rounds towards zero; to compute in `{found}`, convert what is beside it: `{found}(…)`"
                    )),
                    _ => fault.help(format!("`{wanted}(…)` converts")),
                })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn emit_as(
        &mut self,
        expr: ExprId,
        ty: ElementType,
        out: &mut Vec<Instruction>,
    ) -> Parsed<ScalarOperand> {
        Ok(self.emit(expr, Some(ty), out)?.0)
    }

    /// One value; `expected` tells literals their type, and is checked.
    pub(super) fn emit(
        &mut self,
        expr: ExprId,
        expected: Option<ElementType>,
        out: &mut Vec<Instruction>,
    ) -> Parsed<Typed> {
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
            ExprKind::Assert { condition, message, value, shown } => {
                let ty = known(self)?;
                let condition = self.emit_as(*condition, ElementType::Bool, out)?;
                let value = self.emit_as(*value, ty, out)?;
                let shown = shown.iter().map(|number| self.emit_as(*number, ElementType::I64, out));
                let shown = shown.collect::<Result<_, _>>()?;
                (ScalarOp::Assert { condition, message: message.clone(), shown, value }, ty, Some(span))
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

    /// A scalar's name, a literal, or scalar code where an operation takes a scalar of a type.
    pub(super) fn operand(&mut self, expr: ExprId, ty: ElementType) -> Parsed<crate::Operand> {
        let span = self.span(expr);
        match &self.expr(expr).kind {
            ExprKind::Name(_) => {
                let id = self.value_named(expr)?;
                self.scalar_of(id, ty, span, &format!("a scalar of `{ty}` is expected"))?;
                Ok(id.into())
            }
            _ => self.value_of(expr, Some(ty)),
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
