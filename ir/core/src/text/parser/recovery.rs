//! Where reading goes on after an error.
//!
//! A statement that cannot be read is left out, and so is what follows from that: the names that it may have bound are known to be broken.
//! Statements begin with a keyword, so that the next one is found whatever brackets are open. Braces that do not fit are found by layout: a
//! statement that stands no further right than the one around a function is none of the function.

use super::*;
use crate::text::error::Fault;

/// How many tokens are looked at for names that a broken statement may have bound.
const LONGEST_PATTERN: usize = 100;

/// Where a body stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// How many braces are open in it.
    pub braces: u32,
    /// The column of the statement around it, if that begins its line.
    pub column: Option<u32>,
    /// What it is the body of.
    pub of: Of,
}

/// What a body is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Program,
    Function,
    Branch,
}

impl<'s> Parser<'s> {
    /// Goes on in a body after an error in the part that began with `first`. Whether that is the end of the body.
    ///
    /// # Errors
    /// Where the body around has to go on.
    #[cold]
    #[inline(never)]
    pub(super) fn resume(
        &mut self,
        fault: Fault,
        first: Token,
        place: Place,
        statements: &mut Vec<Statement<'s>>,
    ) -> Parsed<bool> {
        self.faults.add(fault);
        let outermost = place.of == Of::Program;
        if self.token.span == first.span && !(self.at(Kind::BraceClose) && self.braces == place.braces) {
            self.skip();
        }
        let was_end = matches!(first.kind, Kind::Return | Kind::Yield | Kind::BraceClose);
        loop {
            match self.token.kind {
                Kind::End if outermost => return Ok(true),
                Kind::End => return Err(follow_up()),
                Kind::BraceClose if self.braces <= place.braces => {
                    // The last brace of the text ends the program, and no other one; functions are arguments.
                    let ends = match place.of {
                        Of::Program => self.next_kind() == Kind::End,
                        Of::Function => matches!(self.next_kind(), Kind::Comma | Kind::ParenClose | Kind::End),
                        Of::Branch => true,
                    };
                    self.skip();
                    if ends {
                        return Ok(true);
                    }
                    self.braces = place.braces;
                    continue;
                }
                Kind::Let | Kind::Return | Kind::Yield => {}
                Kind::Name if self.next_kind() == Kind::Name && self.mark().is_some() => {}
                _ => {
                    self.skip();
                    continue;
                }
            }
            let column = self.begins_line(self.token.span);
            if !outermost && column.is_some_and(|here| place.column.is_some_and(|around| here <= around)) {
                return Err(follow_up());
            }
            let same = column.is_some_and(|here| self.begins_line(first.span).is_some_and(|before| here <= before));
            if same || self.braces == place.braces {
                self.braces = place.braces;
                break;
            }
            self.skip();
        }
        if !was_end {
            statements.push(self.broken(first.span));
        }
        Ok(false)
    }

    /// Goes on behind the inputs' list, or an input that cannot be read: what it may have bound.
    pub(super) fn inputs(&mut self) -> Parsed<(Vec<Pattern<'s>>, Vec<Word<'s>>)> {
        self.expect(Kind::ParenOpen)?;
        if !self.recovers {
            return Ok((self.list(Kind::ParenClose, Self::input)?, Vec::new()));
        }
        let (mut inputs, mut broken) = (Vec::new(), Vec::new());
        if self.eat(Kind::ParenClose)? {
            return Ok((inputs, broken));
        }
        loop {
            let start = self.token.span;
            let input = self.input().and_then(|input| match self.token.kind {
                Kind::Comma if self.next_kind() == Kind::ParenClose => {
                    Err(fault(self.token.span, "a comma after the last one"))
                }
                Kind::Comma | Kind::ParenClose => Ok(input),
                _ => Err(self.unexpected("`,` or `)`")),
            });
            match input {
                Ok(input) => inputs.push(input),
                Err(fault) => {
                    self.faults.add(*fault);
                    // Commas between extents separate no inputs.
                    let mut open = 0;
                    self.tokens(start, |token| match token.kind {
                        Kind::BracketOpen => open += 1,
                        Kind::BracketClose => open -= 1,
                        _ => {}
                    });
                    loop {
                        match self.token.kind {
                            Kind::BracketOpen => open += 1,
                            Kind::BracketClose => open -= 1,
                            Kind::Comma if open <= 0 => break,
                            Kind::ParenClose | Kind::Arrow | Kind::BraceOpen | Kind::End => break,
                            _ => {}
                        }
                        self.skip();
                    }
                    self.tokens(start, |token| {
                        if token.kind == Kind::Name {
                            broken.push(Word { text: token.span.text(self.source), span: token.span });
                        }
                    });
                }
            }
            match self.token.kind {
                Kind::Comma => self.skip(),
                Kind::ParenClose => {
                    self.skip();
                    return Ok((inputs, broken));
                }
                _ => return Ok((inputs, broken)),
            }
            if self.at(Kind::ParenClose) {
                self.skip();
                return Ok((inputs, broken));
            }
        }
    }

    /// Goes on at the body of the program.
    pub(super) fn skip_to_body(&mut self, fault: Box<Fault>) -> Parsed<()> {
        if !self.recovers {
            return Err(fault);
        }
        self.faults.add(*fault);
        while !matches!(self.token.kind, Kind::BraceOpen | Kind::End) {
            self.skip();
        }
        if self.at(Kind::End) { Err(follow_up()) } else { Ok(()) }
    }

    /// Takes a token, and what is no token before the next one.
    fn skip(&mut self) {
        self.last_end = self.token.span.end;
        let kind = self.token.kind;
        self.token = match self.ahead {
            Some(ahead) => ahead,
            None => loop {
                match self.lexer.next() {
                    Ok(token) => break token,
                    Err(_) => self.lexer.skip(),
                }
            },
        };
        self.count_brace(kind);
        self.look();
    }

    /// The column of a token that is the first on its line.
    #[inline(never)]
    pub(super) fn begins_line(&self, span: Span) -> Option<u32> {
        let mut column = 0;
        for c in self.source[..span.start as usize].chars().rev() {
            match c {
                '\n' => break,
                c if c.is_whitespace() => column += 1,
                _ => return None,
            }
        }
        Some(column)
    }

    /// A statement that cannot be read, from its beginning to the current token.
    fn broken(&self, start: Span) -> Statement<'s> {
        let mut pattern = Vec::new();
        self.tokens(start, |token| {
            if token.kind == Kind::Name {
                let name = Word { text: token.span.text(self.source), span: token.span };
                pattern.push(Pattern { name, ty: None });
            }
        });
        Statement { mark: None, pattern, value: Value::Broken, span: self.since(start), first_variable: Cell::new(0) }
    }

    /// The tokens from a place to the current token, up to an `=`.
    fn tokens(&self, start: Span, mut each: impl FnMut(Token)) {
        let mut lexer = Lexer::from(self.source, start.start as usize);
        for _ in 0..LONGEST_PATTERN {
            let Ok(token) = lexer.next() else {
                lexer.skip();
                continue;
            };
            if token.span.start >= self.token.span.start || matches!(token.kind, Kind::Assign | Kind::End) {
                break;
            }
            each(token);
        }
    }
}
