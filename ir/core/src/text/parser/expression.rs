//! Scalar code: expressions by precedence.

use super::{
    super::{
        elsewhere,
        error::{Parsed, Span, fault, shown},
        lexer::{Kind, unescape},
        literal::Literal,
        reference::{OPERATIONS, is_operation},
        suggest::closest,
        syntax::*,
    },
    DEEPEST, Parser,
};
use crate::{Binary, Constant, ElementType, Unary};

/// The operator that a token is, and how tightly it binds, from 1.
fn operator(kind: Kind) -> Option<(Binary, u8)> {
    Some(match kind {
        Kind::OrOr => (Binary::LogicalOr, 1),
        Kind::AndAnd => (Binary::LogicalAnd, 2),
        Kind::Equal => (Binary::Eq, 3),
        Kind::NotEqual => (Binary::Ne, 3),
        Kind::Less => (Binary::Lt, 3),
        Kind::LessEqual => (Binary::Le, 3),
        Kind::Greater => (Binary::Gt, 3),
        Kind::GreaterEqual => (Binary::Ge, 3),
        Kind::Or => (Binary::Or, 4),
        Kind::Xor => (Binary::Xor, 5),
        Kind::And => (Binary::And, 6),
        Kind::ShiftLeft => (Binary::Shl, 7),
        Kind::ShiftRight => (Binary::Shr, 7),
        Kind::Plus => (Binary::Add, 8),
        Kind::Minus => (Binary::Sub, 8),
        Kind::Star => (Binary::Mul, 9),
        Kind::Slash => (Binary::Div, 9),
        Kind::Percent => (Binary::Rem, 9),
        _ => return None,
    })
}

/// How tightly an operator binds, from 1; 0 for functions that are written as calls.
pub(in crate::text) fn precedence(function: Binary) -> u8 {
    match function {
        Binary::LogicalOr => 1,
        Binary::LogicalAnd => 2,
        Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => 3,
        Binary::Or => 4,
        Binary::Xor => 5,
        Binary::And => 6,
        Binary::Shl | Binary::Shr => 7,
        Binary::Add | Binary::Sub => 8,
        Binary::Mul | Binary::Div | Binary::Rem => 9,
        Binary::DivFloor | Binary::ModFloor | Binary::Min | Binary::Max => 0,
        Binary::RotateLeft | Binary::RotateRight | Binary::Pow | Binary::Atan2 | Binary::Hypot => 0,
    }
}

impl<'s> Parser<'s> {
    fn expr(&mut self, kind: ExprKind<'s>, start: Span) -> ExprId {
        let span = self.since(start);
        self.exprs.push(Expr { kind, span });
        ExprId(self.exprs.len() as u32 - 1)
    }

    pub(super) fn expression(&mut self) -> Parsed<ExprId> {
        self.operators(1)
    }

    /// Operators that bind at least as tightly as `least`.
    fn operators(&mut self, least: u8) -> Parsed<ExprId> {
        let start = self.token.span;
        let left = self.prefixed()?;
        self.operators_after(left, least, start)
    }

    /// The same, where the first operand has been read.
    fn operators_after(&mut self, mut left: ExprId, least: u8, start: Span) -> Parsed<ExprId> {
        while let Some((_, level)) = operator(self.token.kind).filter(|(_, level)| *level >= least) {
            let mut rest = Vec::new();
            while let Some((function, _)) = operator(self.token.kind).filter(|(_, other)| *other == level) {
                if level == 3 && !rest.is_empty() {
                    return Err(fault(self.token.span, "comparisons do not chain")
                        .help("put parentheses around one of them, or join two comparisons by `&&`"));
                }
                let span = self.bump()?.span;
                rest.push((function, span, self.operators(level + 1)?));
            }
            left = self.expr(ExprKind::Chain { first: left, rest }, start);
        }
        Ok(left)
    }

    /// What follows an operand in parentheses that might have been a list of arrays, if an operator does.
    pub(super) fn rest_of_expression(&mut self, first: ExprId, start: Span) -> Parsed<Option<ExprId>> {
        if operator(self.token.kind).is_none() {
            return Ok(None);
        }
        self.operators_after(first, 1, start).map(Some)
    }

    fn prefixed(&mut self) -> Parsed<ExprId> {
        let start = self.token.span;
        let function = match self.token.kind {
            Kind::Minus => Unary::Neg,
            Kind::Bang => Unary::Not,
            Kind::Tilde => Unary::Complement,
            _ => return self.primary(),
        };
        self.bump()?;
        if function == Unary::Neg {
            // The minus belongs to the literal, so that the least integers can be written.
            match self.token.kind {
                Kind::Number => {
                    let token = self.bump()?;
                    let literal = Literal::new(self.text(token), true, token.span)?;
                    return Ok(self.expr(ExprKind::Number(literal), start));
                }
                Kind::Inf(_) | Kind::Nan(_) => {
                    let inner = self.primary()?;
                    if let ExprKind::Constant(constant) = &mut self.exprs[inner.0 as usize].kind {
                        *constant =
                            Constant::from_bits(constant.ty(), constant.bits() | 1 << (constant.ty().bits() - 1));
                    }
                    self.exprs[inner.0 as usize].span.start = start.start;
                    return Ok(inner);
                }
                _ => {}
            }
        }
        let inner = self.deeper(Self::prefixed)?;
        Ok(self.expr(ExprKind::Unary(function, inner), start))
    }

    /// An operand. What is not nested has functions of its own, so that a level takes little of the stack.
    fn primary(&mut self) -> Parsed<ExprId> {
        match self.token.kind {
            Kind::Name => self.name(),
            Kind::Number | Kind::True | Kind::False | Kind::Inf(_) | Kind::Nan(_) => self.literal(),
            Kind::Bits(to) => self.bits(to),
            Kind::Element(to) => self.conversion(to),
            Kind::ParenOpen => {
                self.bump()?;
                let inner = self.deeper(Self::expression)?;
                self.expect(Kind::ParenClose)?;
                Ok(inner)
            }
            Kind::If => self.branches(),
            Kind::While => self.scalar_loop(),
            Kind::Primed => Err(self.misplaced_operation()),
            _ => Err(self.unexpected("a value")),
        }
    }

    /// A number, a truth value, an infinity or a NaN.
    #[inline(never)]
    fn literal(&mut self) -> Parsed<ExprId> {
        let token = self.bump()?;
        let kind = match token.kind {
            Kind::Number => ExprKind::Number(Literal::new(self.text(token), false, token.span)?),
            Kind::Inf(ty) | Kind::Nan(ty) => {
                let (inf, quiet) = match ty {
                    ElementType::F16 => (0x7c00, 0x7e00),
                    ElementType::F32 => (0x7f80_0000, 0x7fc0_0000),
                    ElementType::F64 => (0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000),
                    _ => return Err(fault(token.span, format!("`{ty}` has no infinities and no NaN"))),
                };
                let bits = if matches!(token.kind, Kind::Inf(_)) { inf } else { quiet };
                ExprKind::Constant(Constant::from_bits(ty, bits))
            }
            kind => ExprKind::Constant((kind == Kind::True).into()),
        };
        Ok(self.expr(kind, token.span))
    }

    /// `f32_bits(x)`: the bits of a number as another type.
    #[inline(never)]
    fn bits(&mut self, to: ElementType) -> Parsed<ExprId> {
        let start = self.bump()?.span;
        let a = self.call_of_one()?;
        let (kind, span) = match &self.exprs[a.0 as usize] {
            Expr { kind: ExprKind::Number(literal), span } => {
                let bits = literal.unsigned_bits(to);
                if bits.is_none() && literal.suffix.is_none() {
                    return Err(fault(
                        *span,
                        format!("the bits of `{to}` are an unsigned whole number of {} bits", to.bits()),
                    ));
                }
                (bits.map_or(ExprKind::Bits(to, a), ExprKind::Constant), start)
            }
            _ => (ExprKind::Bits(to, a), start),
        };
        Ok(self.expr(kind, span))
    }

    /// `f32(x)`
    #[inline(never)]
    fn conversion(&mut self, to: ElementType) -> Parsed<ExprId> {
        let start = self.bump()?.span;
        if !self.at(Kind::ParenOpen) {
            return Err(self.unexpected("`(`").help(format!("`{to}(x)` converts")));
        }
        let a = self.call_of_one()?;
        // A bare literal under a conversion is a literal of that type.
        let kind = match self.exprs[a.0 as usize].kind {
            ExprKind::Number(literal) if literal.suffix.is_none() => {
                let literal = Literal { suffix: Some(to), ..literal };
                ExprKind::Constant(literal.constant(to, self.exprs[a.0 as usize].span, self.source)?)
            }
            _ => ExprKind::Convert(to, a),
        };
        Ok(self.expr(kind, start))
    }

    /// A name, a read, or a call.
    #[inline(never)]
    fn name(&mut self) -> Parsed<ExprId> {
        if self.next_kind() == Kind::ParenOpen {
            return self.call();
        }
        let word = self.word()?;
        match self.token.kind {
            Kind::BracketOpen => {
                self.bump()?;
                let index = self.deeper(|p| p.list(Kind::BracketClose, Self::expression))?;
                Ok(self.expr(ExprKind::Read { array: word, index }, word.span))
            }
            Kind::Flat => {
                self.bump()?;
                self.expect(Kind::BracketOpen)?;
                let position = self.deeper(Self::expression)?;
                self.expect(Kind::BracketClose)?;
                Ok(self.expr(ExprKind::ReadFlat { array: word, position }, word.span))
            }
            _ => Ok(self.expr(ExprKind::Name(word.text), word.span)),
        }
    }

    /// `(x)` after a conversion.
    fn call_of_one(&mut self) -> Parsed<ExprId> {
        self.expect(Kind::ParenOpen)?;
        let inner = self.deeper(Self::expression)?;
        self.expect(Kind::ParenClose)?;
        Ok(inner)
    }

    #[inline(never)]
    fn call(&mut self) -> Parsed<ExprId> {
        let text = self.text(self.token);
        let unary = Unary::ALL.iter().find(|f| f.text() == text);
        let binary = Binary::ALL.iter().find(|f| f.text() == text);
        if is_operation(text) {
            return Err(self.misplaced_operation());
        }
        let arity = match (unary, binary, text) {
            (Some(_), ..) => 1,
            (_, Some(_), _) => 2,
            (_, _, "fma" | "assert") => 3,
            _ => {
                let functions = Unary::ALL.iter().map(|f| f.text()).chain(Binary::ALL.iter().map(|f| f.text()));
                let known = functions.chain(["fma", "assert"]).chain(OPERATIONS.iter().map(|operation| operation.name));
                let fault = fault(self.token.span, format!("there is no function or operation `{}`", shown(text)));
                return Err(match (elsewhere::call(text), closest(text, known)) {
                    (Some(help), _) => fault.help(help),
                    (None, Some(name)) => fault.help(format!("did you mean `{name}`?")),
                    (None, None) => fault,
                });
            }
        };
        let word = self.word()?;
        self.bump()?;
        let mut message = None;
        let arguments = self.deeper(|p| {
            p.list(Kind::ParenClose, |p| {
                if p.at(Kind::Str) && text == "assert" && message.is_none() {
                    let token = p.bump()?;
                    message = Some(unescape(p.source, token.span)?);
                    return Ok(None);
                }
                Ok(Some(p.expression()?))
            })
        })?;
        let given = arguments.len();
        let arguments: Vec<ExprId> = arguments.into_iter().flatten().collect();
        if text == "assert" {
            let (Some(message), [condition, value, shown @ ..]) = (message, &arguments[..]) else {
                return Err(fault(
                    self.since(word.span),
                    "an assertion is written `assert(condition, \"message\", value)`",
                ));
            };
            let kind = ExprKind::Assert { condition: *condition, message, value: *value, shown: shown.to_vec() };
            return Ok(self.expr(kind, word.span));
        }
        if given != arity {
            let (s, are) = if arity == 1 { ("", "is") } else { ("s", "are") };
            return Err(fault(
                self.since(word.span),
                format!("`{text}` takes {arity} argument{s}, and {given} {are} given"),
            )
            .help_if(given == 1 && arity == 2, "both operands stand in the parentheses"));
        }
        let kind = match (unary, binary, &arguments[..]) {
            (Some(function), _, [a]) => ExprKind::Unary(*function, *a),
            (_, Some(function), [a, b]) => ExprKind::Binary(*function, *a, *b),
            (.., [a, b, c]) => ExprKind::Fma([*a, *b, *c]),
            _ => return Err(fault(word.span, "too few arguments")),
        };
        Ok(self.expr(kind, word.span))
    }

    /// `if c { x } else { y }`
    #[inline(never)]
    fn branches(&mut self) -> Parsed<ExprId> {
        self.deeper(|p| {
            let start = p.bump()?.span;
            let condition = p.expression()?;
            let then = p.branch()?;
            if !p.at(Kind::Else) {
                return Err(p.unexpected("`else`").help("`if` gives a value on both branches"));
            }
            p.bump()?;
            let otherwise = if p.at(Kind::If) {
                if p.depth == DEEPEST {
                    let message = format!("nested more than {DEEPEST} deep: each `else if` is inside of the one before");
                    return Err(fault(p.token.span, message).help(
                        "give the end of the chain a name before: `let rest = if …`, then `else { rest }`; it runs only where it is used",
                    ));
                }
                let expr = p.branches()?;
                Body { statements: Vec::new(), end: End::Expr(expr), span: p.exprs[expr.0 as usize].span }
            } else {
                p.branch()?
            };
            Ok(p.expr(ExprKind::If(Box::new((condition, then, otherwise))), start))
        })
    }

    fn branch(&mut self) -> Parsed<Body<'s>> {
        if self.at(Kind::BraceOpen) && !matches!(self.next_kind(), Kind::Let | Kind::Return) {
            let start = self.bump()?.span;
            let expr = self.expression()?;
            self.expect(Kind::BraceClose)?;
            return Ok(Body { statements: Vec::new(), end: End::Expr(expr), span: self.since(start) });
        }
        self.body(super::recovery::Of::Branch)
    }

    /// `while(|…| …, |…| …, starts)`
    #[inline(never)]
    fn scalar_loop(&mut self) -> Parsed<ExprId> {
        self.deeper(|p| {
            let start = p.bump()?.span;
            p.expect(Kind::ParenOpen)?;
            let condition = p.function()?;
            p.expect(Kind::Comma)?;
            let step = p.function()?;
            let mut starts = Vec::new();
            while p.eat(Kind::Comma)? {
                starts.push(p.expression()?);
            }
            p.expect(Kind::ParenClose)?;
            Ok(p.expr(ExprKind::While(Box::new(Loop { condition, step, starts })), start))
        })
    }
}
