//! Operations and their arguments, by form alone: what each operation takes is looked at later.

use super::{
    super::{
        error::{Parsed, fault, shown},
        lexer::{Kind, unescape},
        reference::is_operation,
        syntax::*,
    },
    Parser,
};

impl<'s> Parser<'s> {
    /// Whether an array operation starts here.
    pub(super) fn at_operation(&self) -> bool {
        match self.token.kind {
            Kind::Primed => true,
            Kind::Name => is_operation(self.text(self.token)) && self.next_kind() == Kind::ParenOpen,
            _ => false,
        }
    }

    /// `name(arguments, label: argument)`
    pub(super) fn operation(&mut self) -> Parsed<Operation<'s>> {
        if !matches!(self.token.kind, Kind::Name | Kind::Primed) {
            return Err(self.unexpected("an operation"));
        }
        let token = self.bump()?;
        let name = Word { text: self.text(token), span: token.span };
        self.operations += 1;
        self.expect(Kind::ParenOpen)?;
        let mut labelled: Vec<(Word<'s>, Argument<'s>)> = Vec::new();
        let arguments = self.deeper(|p| {
            p.list(Kind::ParenClose, |p| {
                if p.at(Kind::Name) && p.next_kind() == Kind::Colon {
                    let label = p.word()?;
                    p.bump()?;
                    let argument = p.argument()?;
                    labelled.push((label, argument));
                    return Ok(None);
                }
                if let Some((label, _)) = labelled.last() {
                    return Err(p
                        .unexpected("a named argument")
                        .help(format!("those with names, as `{}`, come last", label.text)));
                }
                Ok(Some(p.argument()?))
            })
        })?;
        Ok(Operation {
            name,
            arguments: arguments.into_iter().flatten().collect(),
            labelled,
            span: self.since(name.span),
        })
    }

    fn argument(&mut self) -> Parsed<Argument<'s>> {
        let start = self.token.span;
        let kind = match self.token.kind {
            Kind::Or | Kind::OrOr => ArgumentKind::Function(Box::new(self.function()?)),
            Kind::BracketOpen => ArgumentKind::List(self.items()?),
            Kind::ParenOpen => {
                self.bump()?;
                let items = self.deeper(|p| p.list(Kind::ParenClose, Self::expression))?;
                let whole = match items[..] {
                    [first] => self.rest_of_expression(first, start)?,
                    _ => None,
                };
                whole.map_or(ArgumentKind::Group(items), ArgumentKind::Expr)
            }
            Kind::Str => {
                let token = self.bump()?;
                ArgumentKind::Str(unescape(self.source, token.span)?)
            }
            Kind::Name
                if matches!(self.text(self.token), "function" | "constant") && self.next_kind() == Kind::ParenOpen =>
            {
                let word = self.word()?;
                self.bump()?;
                let inner = self.deeper(Self::argument)?;
                self.expect(Kind::ParenClose)?;
                ArgumentKind::Call(word, Box::new(inner))
            }
            _ => ArgumentKind::Expr(self.expression()?),
        };
        Ok(Argument { kind, span: self.since(start) })
    }

    /// `[n, _, [3]]`
    fn items(&mut self) -> Parsed<Vec<Item>> {
        self.deeper(|p| {
            p.expect(Kind::BracketOpen)?;
            p.list(Kind::BracketClose, |p| {
                let span = p.token.span;
                match p.token.kind {
                    Kind::Underscore => {
                        p.bump()?;
                        Ok(Item::Keep(span))
                    }
                    Kind::BracketOpen => {
                        let items = p.items()?;
                        Ok(Item::List(items, p.since(span)))
                    }
                    _ => Ok(Item::Expr(p.expression()?)),
                }
            })
        })
    }

    /// An operation where only scalar code may stand.
    pub(super) fn misplaced_operation(&self) -> Box<super::super::error::Fault> {
        let name = shown(self.text(self.token));
        fault(self.token.span, format!("`{name}` is an array operation, and this is scalar code"))
            .help(format!("give its result a name before: `let x: … = {name}(…)`"))
    }
}
