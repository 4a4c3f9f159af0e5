//! The words of a schedule's text.

use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token<'s> {
    Name(&'s str),
    Number(&'s str),
    /// Between quotes, as it is written.
    Text(&'s str),
    Sign(char),
}

/// Tokens as they are asked for, with one looked at ahead.
pub(crate) struct Tokens<'s> {
    source: &'s str,
    /// Where the token before began.
    last: usize,
    /// Where the rest begins.
    at: usize,
}

impl<'s> Tokens<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, last: 0, at: 0 }
    }

    /// The token at or behind a position, where it begins, and where it ends. Comments run from `#` to the end of a line.
    fn token(&self, from: usize) -> Option<(Token<'s>, usize, usize)> {
        let mut start = from;
        loop {
            let rest = &self.source[start..];
            start += rest.len() - rest.trim_start().len();
            if !self.source[start..].starts_with('#') {
                break;
            }
            start += self.source[start..].find('\n').unwrap_or(self.source.len() - start);
        }
        let rest = &self.source[start..];
        let first = rest.chars().next()?;
        let while_of = |f: fn(char) -> bool| rest.find(|c| !f(c)).unwrap_or(rest.len());
        let (token, length) = if first.is_alphabetic() || first == '_' {
            let length = while_of(|c| c.is_alphanumeric() || c == '_' || c == '.' || c == '\'');
            (Token::Name(&rest[..length]), length)
        } else if first.is_ascii_digit() {
            let length = while_of(|c| c.is_ascii_digit());
            (Token::Number(&rest[..length]), length)
        } else if first == '"' {
            let length = quoted(rest);
            (Token::Text(&rest[..length]), length)
        } else {
            (Token::Sign(first), first.len_utf8())
        };
        Some((token, start, start + length))
    }

    fn peek(&self) -> Option<Token<'s>> {
        self.token(self.at).map(|(token, ..)| token)
    }

    /// The token behind the next one.
    pub(crate) fn second(&self) -> Option<Token<'s>> {
        let (.., end) = self.token(self.at)?;
        self.token(end).map(|(token, ..)| token)
    }

    fn next(&mut self) {
        if let Some((_, start, end)) = self.token(self.at) {
            (self.last, self.at) = (start, end);
        }
    }

    fn error(&self, at: usize, message: String) -> ParseError {
        let before = &self.source[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        ParseError { line, column, message }
    }

    /// An error at the next token.
    pub(crate) fn here(&self, message: String) -> ParseError {
        let at = self.token(self.at).map_or(self.source.len(), |(_, start, _)| start);
        self.error(at, message)
    }

    /// An error at the token just taken.
    pub(crate) fn before(&self, message: String) -> ParseError {
        self.error(self.last, message)
    }

    fn expected(&self, what: &str) -> ParseError {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Name(text) | Token::Number(text) | Token::Text(text)) => format!("`{text}`"),
            Some(Token::Sign(sign)) => format!("`{sign}`"),
        };
        self.here(format!("expected {what}, found {found}"))
    }

    pub(crate) fn takes_word(&mut self, word: &str) -> bool {
        let takes = self.peek() == Some(Token::Name(word));
        if takes {
            self.next();
        }
        takes
    }

    pub(crate) fn takes_sign(&mut self, sign: char) -> bool {
        let takes = self.peek() == Some(Token::Sign(sign));
        if takes {
            self.next();
        }
        takes
    }

    pub(crate) fn word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.takes_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// One of these words, at least two: which.
    pub(crate) fn one_of<'w>(&mut self, words: &[&'w str]) -> Result<&'w str, ParseError> {
        if let Some(&found) = words.iter().find(|word| self.takes_word(word)) {
            return Ok(found);
        }
        let all: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let (last, others) = all.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
        Err(self.expected(&format!("{} or {last}", others.join(", "))))
    }

    pub(crate) fn sign(&mut self, sign: char) -> Result<(), ParseError> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    pub(crate) fn name(&mut self, what: &str) -> Result<String, ParseError> {
        let Some(Token::Name(name)) = self.peek() else { return Err(self.expected(what)) };
        self.next();
        Ok(name.to_owned())
    }

    pub(crate) fn string(&mut self) -> Result<String, ParseError> {
        let Some(Token::Text(text)) = self.peek() else { return Err(self.expected("the kernel's name in quotes")) };
        self.next();
        Ok(text.to_owned())
    }

    pub(crate) fn number(&mut self) -> Result<i64, ParseError> {
        let Some(Token::Number(digits)) = self.peek() else { return Err(self.expected("a number")) };
        let number = digits.parse().map_err(|_| self.here(format!("{digits} is too large")))?;
        self.next();
        Ok(number)
    }

    /// A number from 1 to that of `u32`.
    pub(crate) fn small(&mut self) -> Result<u32, ParseError> {
        let number = self.number()?;
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(self.before(format!("{number} is not between 1 and {}", u32::MAX))),
        }
    }

    /// A number from 0 to that of `u32`.
    pub(crate) fn count(&mut self) -> Result<u32, ParseError> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.before(format!("{number} is not between 0 and {}", u32::MAX)))
    }

    /// A number of bytes.
    pub(crate) fn bytes(&mut self) -> Result<u64, ParseError> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| self.before("a number of bytes is not negative".to_owned()))
    }

    pub(crate) fn end(&mut self) -> Result<(), ParseError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.expected("the end")) }
    }
}

/// Bytes of a quoted text, with both quotes if it is closed; a backslash hides a quote.
fn quoted(text: &str) -> usize {
    let mut hidden = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !hidden => return at + 1,
            '\\' => hidden = !hidden,
            _ => hidden = false,
        }
    }
    text.len()
}
