//! What is told of a token that is not what is expected.

use super::*;
use crate::text::error::Fault;

const SLICES: &str =
    "a part of an array is made by `backpermute`: `let k = n - 1`, then `backpermute([k], |i| i + 1, xs)`";

impl Parser<'_> {
    pub(super) fn unexpected(&self, wanted: &str) -> Box<Fault> {
        let (found, span) = match self.token.kind {
            // Behind the last token: the line at the very end may be empty.
            Kind::End => ("the end of the text".to_owned(), Span { start: self.last_end, end: self.last_end }),
            _ => (format!("`{}`", shown(self.token.span.text(self.source))), self.token.span),
        };
        let fault = fault(span, format!("expected {wanted}, found {found}"));
        match self.known_elsewhere() {
            Some(help) => fault.help(help),
            None if self.at(Kind::Assign) && wanted == Kind::BraceOpen.describe() => fault.help("`==` compares"),
            None => match self.out_of_place() {
                Some(help) => fault.help(help),
                None => fault,
            },
        }
    }

    /// What to write instead of a part of the language that stands where it cannot.
    fn out_of_place(&self) -> Option<&'static str> {
        let before = self.source[..self.token.span.start as usize].trim_end();
        Some(match self.token.kind {
            Kind::BracketOpen if before.ends_with('=') => "an array is written out as `constant([1.0, 2.0])`",
            Kind::Colon if self.next_kind() == Kind::BracketClose => SLICES,
            Kind::Colon if before.ends_with('[') || self.begins_part() => SLICES,
            Kind::BracketOpen if self.after_element() => "the extents of an array stand before its elements: `[n]f32`",
            Kind::Plus | Kind::Star if before.ends_with('(') => {
                "a function has parameters: `fold(|x, y| x + y, 0.0, xs)`"
            }
            Kind::If => "`if` stands first, and its values in braces: `if x > 0.0 { x } else { 0.0 }`",
            _ => return None,
        })
    }

    /// Whether what stands before this token, in a bracket behind a name, may be where a part of an array begins: `xs[0` and not `[n`.
    fn begins_part(&self) -> bool {
        let before = &self.source[..self.token.span.start as usize];
        let inside =
            before.rfind(['[', ']', ',', '(', ')', '{', '}', '\n']).filter(|&at| before[at..].starts_with('['));
        inside.is_some_and(|at| before[..at].ends_with(crate::text::characters::continues_name))
    }

    /// Behind the name of an element type.
    fn after_element(&self) -> bool {
        let before = &self.source[..self.last_end as usize];
        crate::ElementType::ALL.iter().any(|ty| before.ends_with(ty.name()))
    }

    /// What to write instead of what stands here, where people know it from other languages.
    fn known_elsewhere(&self) -> Option<String> {
        let at = self.token.span.start as usize;
        let before = self.source[..at].trim_end();
        let last = before.rfind(|c| !crate::text::characters::continues_name(c)).map_or(before, |at| {
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
            Kind::Assign | Kind::Colon if self.at(Kind::Name) => {
                fault.help(format!("`let {name} = …` names a value, which never changes: another one has another name"))
            }
            Kind::BracketOpen if self.at(Kind::Name) => {
                fault.help("arrays do not change: `map`, `generate` or `permute` makes another one")
            }
            _ if self.braces > 1 && (self.at(Kind::Name) || self.at(Kind::Number)) => {
                fault.help("in braces a function gives its value by `return`: `|x| { return x + 1.0 }`, or `|x| x + 1.0` without them")
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
