//! What is told of a token that is not what is expected.

use super::*;
use crate::text::error::Fault;

impl Parser<'_> {
    pub(super) fn unexpected(&self, wanted: &str) -> Box<Fault> {
        let found = match self.token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", shown(self.token.span.text(self.source))),
        };
        let fault = fault(self.token.span, format!("expected {wanted}, found {found}"));
        match self.known_elsewhere() {
            Some(help) => fault.help(help),
            None if self.at(Kind::Assign) && wanted == Kind::BraceOpen.describe() => fault.help("`==` compares"),
            None => fault,
        }
    }

    /// What to write instead of what stands here, where people know it from other languages.
    fn known_elsewhere(&self) -> Option<String> {
        let at = self.token.span.start as usize;
        let before = self.source[..at].trim_end();
        let last = before.rfind(|c| !crate::text::lexer::continues_name(c)).map_or(before, |at| {
            let rest = &before[at..];
            &rest[rest.chars().next().map_or(0, char::len_utf8)..]
        });
        let word = elsewhere::word(self.text(self.token)).or_else(|| elsewhere::word_before(last));
        // An arrow before the results' types is in its place.
        word.or_else(|| if self.braces > 0 { elsewhere::sign(self.source, at) } else { None })
    }

    pub(super) fn no_statement(&self) -> Box<Fault> {
        let fault = self.unexpected("`let` or `return`");
        let name = shown(self.text(self.token));
        if fault.help.is_some() {
            return fault;
        }
        match self.next_kind() {
            _ if self.at_operator() => {
                fault.help("an operation on arrays stands alone: name its result, and compute with the name")
            }
            Kind::Assign | Kind::Colon if self.at(Kind::Name) => fault.help(format!("`let {name} = …` names a value")),
            Kind::BracketOpen if self.at(Kind::Name) => {
                fault.help("arrays do not change: `map`, `generate` or `permute` makes another one")
            }
            _ => fault,
        }
    }

    /// An extent of a type that is computed there.
    pub(super) fn computed_extent(&self, fault: Box<Fault>) -> Box<Fault> {
        if fault.help.is_none() && self.at_operator() {
            return fault.help("an extent in a type is a number, a name or `?`: `let k = n - 1`, then `[k]f32`");
        }
        fault
    }

    /// At an operator of arithmetic.
    fn at_operator(&self) -> bool {
        matches!(self.token.kind, Kind::Plus | Kind::Minus | Kind::Star | Kind::Slash | Kind::Percent)
    }
}
