//! Programs, blocks, statements and types: tokens to the syntax tree.

mod expression;
mod operation;
mod recovery;
mod told;

pub(super) use expression::precedence;

use std::cell::Cell;

use super::{
    elsewhere,
    error::{Faults, Parsed, Span, fault, follow_up, shown},
    lexer::{Kind, Lexer, Token},
    syntax::*,
};
use crate::{ElementType, MAX_NESTING, Mark};

/// How deep brackets, functions, blocks, `if`, calls and prefix operators may nest.
///
/// Enough for every text that the printer writes: a loop in scalar code is two for one body, and around 100 are left for an expression in the
/// innermost. A program that is too deep is refused by validation, not by the parser.
const DEEPEST: u32 = 2 * MAX_NESTING as u32 + 100;

/// How types are written.
const ARRAY_TYPES: &str = "element types are bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64; an array is `[n, 3]f32`";

pub(super) struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    token: Token,
    /// The token after it. An error of the lexer is reported when its token becomes the current one.
    ahead: Option<Token>,
    /// Where the token before ended.
    last_end: u32,
    depth: u32,
    /// How many array operations have been met: functions compare before and after.
    operations: u32,
    /// How many braces are open.
    braces: u32,
    /// The column of the innermost statement around that begins its line.
    column: Option<u32>,
    /// Whether reading goes on after an error, which is then among the faults.
    recovers: bool,
    pub faults: Faults,
    pub exprs: Vec<Expr<'s>>,
}

impl<'s> Parser<'s> {
    pub fn new(source: &'s str, recovers: bool) -> Parsed<Self> {
        if u32::try_from(source.len()).is_err() {
            return Err(fault(Span::default(), "a text of more than 4 GiB"));
        }
        let mut lexer = Lexer::new(source);
        let token = lexer.next()?;
        let mut parser = Self {
            source,
            lexer,
            token,
            ahead: None,
            last_end: 0,
            depth: 0,
            operations: 0,
            braces: 0,
            column: None,
            recovers,
            faults: Faults::default(),
            exprs: Vec::new(),
        };
        parser.look();
        Ok(parser)
    }

    fn at(&self, kind: Kind) -> bool {
        self.token.kind == kind
    }

    fn bump(&mut self) -> Parsed<Token> {
        let token = self.token;
        self.last_end = token.span.end;
        self.token = match self.ahead {
            Some(ahead) => ahead,
            None => self.lexer.next()?,
        };
        self.count_brace(token.kind);
        self.look();
        Ok(token)
    }

    fn count_brace(&mut self, kind: Kind) {
        match kind {
            Kind::BraceOpen => self.braces += 1,
            Kind::BraceClose => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
    }

    fn look(&mut self) {
        let start = self.lexer.clone();
        self.ahead = self.lexer.next().ok();
        if self.ahead.is_none() {
            self.lexer = start;
        }
    }

    fn eat(&mut self, kind: Kind) -> Parsed<bool> {
        let is = self.at(kind);
        if is {
            self.bump()?;
        }
        Ok(is)
    }

    fn expect(&mut self, kind: Kind) -> Parsed<Token> {
        if self.at(kind) { self.bump() } else { Err(self.unexpected(kind.describe())) }
    }

    /// The token after the current one.
    fn next_kind(&self) -> Kind {
        self.ahead.map_or(Kind::End, |token| token.kind)
    }

    fn text(&self, token: Token) -> &'s str {
        token.span.text(self.source)
    }

    fn since(&self, start: Span) -> Span {
        Span { start: start.start, end: self.last_end.max(start.start) }
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return Err(fault(self.token.span, format!("nested more than {DEEPEST} deep"))
                .help("give inner parts names with `let`"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Items with commas between them, up to `close`, which is taken.
    fn list<T>(&mut self, close: Kind, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close)? {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close)? {
                return Ok(items);
            }
            if !self.at(Kind::Comma) {
                return Err(self.unexpected(&format!("`,` or {}", close.describe())));
            }
            let comma = self.bump()?;
            if self.at(close) {
                return Err(fault(comma.span, "a comma after the last one"));
            }
        }
    }

    #[inline(never)]
    fn word(&mut self) -> Parsed<Word<'s>> {
        if !self.at(Kind::Name) {
            let fault = self.unexpected("a name");
            let text = self.text(self.token);
            return Err(match super::lexer::keyword(text) {
                Some(_) => fault.help(format!("`{text}` is a keyword")),
                None => fault.help_if(
                    self.at(Kind::ParenOpen),
                    "several names stand without parentheses: `let a, b = …`, `|x, y| …`",
                ),
            });
        }
        let token = self.bump()?;
        Ok(Word { text: self.text(token), span: token.span })
    }

    pub fn program(&mut self) -> Parsed<ProgramSyntax<'s>> {
        let name = self.head()?;
        let (inputs, broken) = self.inputs()?;
        let results = match self.results() {
            Ok(results) => Some(results),
            Err(fault) => {
                self.skip_to_body(fault)?;
                None
            }
        };
        let body = self.body(recovery::Of::Program)?;
        if !self.at(Kind::End) {
            let fault = self.unexpected("the end of the text").help("a text holds one program");
            if !self.recovers {
                return Err(fault);
            }
            self.faults.add(*fault);
        }
        Ok(ProgramSyntax { name, inputs, results, body, broken })
    }

    /// `fn NAME`
    fn head(&mut self) -> Parsed<Word<'s>> {
        if let Err(fault) = self.expect(Kind::Fn) {
            let fault = match elsewhere::comment(self.source, self.token.span.start as usize) {
                Some(help) => fault.help(help),
                None => fault,
            };
            // Another word in its place.
            if !self.recovers || !self.at(Kind::Name) || self.next_kind() != Kind::Name {
                return Err(fault);
            }
            self.faults.add(*fault);
            self.bump()?;
        }
        self.word()
    }

    fn input(&mut self) -> Parsed<Pattern<'s>> {
        let name = self.word()?;
        self.expect(Kind::Colon)?;
        Ok(Pattern { name, ty: Some(self.ty()?) })
    }

    /// `-> types`
    fn results(&mut self) -> Parsed<Vec<TypeSyntax<'s>>> {
        self.expect(Kind::Arrow)?;
        let mut results = Vec::new();
        if !self.at(Kind::BraceOpen) {
            results.push(self.ty()?);
            while self.eat(Kind::Comma)? {
                results.push(self.ty()?);
            }
        }
        Ok(results)
    }

    fn ty(&mut self) -> Parsed<TypeSyntax<'s>> {
        let start = self.token.span;
        let stream = self.eat(Kind::Stream)?;
        let mut levels = Vec::new();
        while self.eat(Kind::BracketOpen)? {
            levels.push(self.list(Kind::BracketClose, Self::extent).map_err(|fault| self.computed_extent(fault))?);
        }
        let Kind::Element(element) = self.token.kind else {
            let fault = self.unexpected(if levels.is_empty() { "a type" } else { "an element type" });
            if fault.help.is_some() {
                return Err(fault);
            }
            if self.at(Kind::ParenOpen) {
                return Err(fault.help("types stand without parentheses: `-> [n]f32, i64` gives two results"));
            }
            let name = self.text(self.token);
            return Err(match elsewhere::element(name) {
                Some(ty) => fault.help(format!("`{name}` is written {ty}; {ARRAY_TYPES}")),
                None => fault.help(ARRAY_TYPES),
            });
        };
        self.bump()?;
        let mut levels = levels.into_iter();
        let extents = levels.next().unwrap_or_default();
        Ok(TypeSyntax { stream, extents, inner: levels.collect(), element, span: self.since(start) })
    }

    fn extent(&mut self) -> Parsed<ExtentSyntax<'s>> {
        match self.token.kind {
            Kind::Name => Ok(ExtentSyntax::Name(self.word()?)),
            Kind::Question => {
                self.bump()?;
                Ok(ExtentSyntax::Unknown)
            }
            Kind::Number => {
                let token = self.bump()?;
                let literal = super::literal::Literal::new(self.text(token), false, token.span)?;
                if literal.suffix.is_some_and(|ty| ty != ElementType::I64) {
                    return Err(fault(token.span, "extents are `i64`"));
                }
                let constant = literal.constant(ElementType::I64, token.span, self.source)?;
                Ok(ExtentSyntax::Constant(constant.as_i64().unwrap_or_default()))
            }
            _ => Err(self.unexpected("an extent: a number, a name or `?`").help(ARRAY_TYPES)),
        }
    }

    /// `{ statements return values }`
    fn body(&mut self, of: recovery::Of) -> Parsed<Body<'s>> {
        let start = self.expect(Kind::BraceOpen)?.span;
        let place = recovery::Place { braces: self.braces, column: self.column, of };
        let mut statements = Vec::new();
        loop {
            let first = self.token;
            if self.recovers {
                self.column = self.begins_line(first.span).or(place.column);
            }
            let part = self.part(&mut statements);
            self.column = place.column;
            let end = match part {
                Ok(None) => continue,
                Ok(Some(end)) => end,
                Err(fault) if !self.recovers => return Err(fault),
                Err(fault) => match self.resume(*fault, first, place, &mut statements)? {
                    false => continue,
                    true => End::Broken,
                },
            };
            return Ok(Body { statements, end, span: self.since(start) });
        }
    }

    /// A statement, or the end of a body. Functions of their own, as what nests takes stack.
    fn part(&mut self, statements: &mut Vec<Statement<'s>>) -> Parsed<Option<End<'s>>> {
        match self.token.kind {
            Kind::Let => self.statement(None, statements)?,
            Kind::Name if self.next_kind() == Kind::Name => {
                let Some(mark) = self.mark() else { return Err(self.no_statement()) };
                self.statement(Some(mark), statements)?;
            }
            Kind::Return | Kind::Yield => return self.end().map(Some),
            Kind::BraceClose => return Err(fault(self.token.span, "a block ends with `return`")),
            _ => return Err(self.no_statement()),
        }
        Ok(None)
    }

    /// `return values }` or `yield sinks }`
    #[inline(never)]
    fn end(&mut self) -> Parsed<End<'s>> {
        let returns = self.bump()?.kind == Kind::Return;
        let end = if returns {
            let mut items = Vec::new();
            if !self.at(Kind::BraceClose) && !self.at(Kind::Semicolon) {
                items.push(self.result()?);
                while self.eat(Kind::Comma)? {
                    items.push(self.result()?);
                }
            }
            End::Return(items)
        } else {
            let mut sinks = vec![self.operation()?];
            while self.eat(Kind::Comma)? {
                sinks.push(self.operation()?);
            }
            End::Yield(sinks)
        };
        self.eat(Kind::Semicolon)?;
        self.expect(Kind::BraceClose)?;
        Ok(end)
    }

    /// The mark that stands for `let`.
    fn mark(&self) -> Option<Mark> {
        Some(match self.text(self.token) {
            "vertical" => Mark::Vertical,
            "diagonal" => Mark::Diagonal,
            "horizontal" => Mark::Horizontal,
            "last" => Mark::Last,
            _ => return None,
        })
    }

    fn result(&mut self) -> Parsed<(Option<Word<'s>>, ExprId)> {
        let name = if self.at(Kind::Name) && self.next_kind() == Kind::Colon {
            let name = self.word()?;
            self.bump()?;
            Some(name)
        } else {
            None
        };
        Ok((name, self.expression()?))
    }

    #[inline(never)]
    fn statement(&mut self, mark: Option<Mark>, statements: &mut Vec<Statement<'s>>) -> Parsed<()> {
        let start = self.bump()?.span;
        let pattern = self.pattern()?;
        let value = if self.at_operation() {
            Value::Operation(self.operation()?)
        } else {
            let is_loop = self.at(Kind::While);
            let expr = self.expression()?;
            let bare_loop = is_loop && matches!(self.exprs[expr.0 as usize].kind, ExprKind::While(_));
            Value::Scalar { expr, bare_loop }
        };
        let span = self.since(start);
        while self.eat(Kind::Semicolon)? {}
        statements.push(Statement { mark, pattern, value, span, first_variable: Cell::new(0) });
        Ok(())
    }

    /// `name: type, name =`, up to what is bound.
    #[inline(never)]
    fn pattern(&mut self) -> Parsed<Vec<Pattern<'s>>> {
        let mut pattern = Vec::with_capacity(1);
        loop {
            let name = self.word()?;
            let ty = if self.eat(Kind::Colon)? { Some(self.ty()?) } else { None };
            pattern.push(Pattern { name, ty });
            if !self.eat(Kind::Comma)? {
                break;
            }
        }
        if !self.at(Kind::Assign) {
            let fault = self.unexpected("`=`");
            // `let mut y = …`
            let word = pattern.last().filter(|last| last.ty.is_none()).and_then(|last| elsewhere::word(last.name.text));
            return Err(match word {
                Some(help) => fault.help(help),
                None => fault,
            });
        }
        self.bump()?;
        Ok(pattern)
    }

    /// `|x, y: f32| scalar` or with a body in braces.
    fn function(&mut self) -> Parsed<Function<'s>> {
        self.deeper(|p| {
            let start = p.token.span;
            let before = p.operations;
            let params = if p.eat(Kind::OrOr)? {
                Vec::new()
            } else {
                p.expect(Kind::Or)?;
                p.list(Kind::Or, |p| {
                    let name = p.word()?;
                    let ty = if p.eat(Kind::Colon)? { Some(p.ty()?) } else { None };
                    Ok(Pattern { name, ty })
                })?
            };
            let body = if p.at(Kind::BraceOpen) {
                p.body(recovery::Of::Function)?
            } else {
                let expr = p.expression()?;
                Body { statements: Vec::new(), end: End::Expr(expr), span: p.exprs[expr.0 as usize].span }
            };
            let (holds_operation, span) = (p.operations > before, p.since(start));
            Ok(Function { params, body, holds_operation, span, first_variable: Cell::new(0) })
        })
    }
}
