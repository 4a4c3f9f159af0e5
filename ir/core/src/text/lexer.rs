//! Text to tokens, one at a time: nothing is kept, so that long inputs cost no memory before they are understood.

use super::{
    characters::{continues_name, starts_name},
    error::{Parsed, Span, fault, shown},
};
use crate::ElementType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    /// A name with a prime, such as `scanl'`: an operation and nothing else.
    Primed,
    Number,
    Str,
    Fn,
    Let,
    Return,
    Yield,
    If,
    Else,
    While,
    True,
    False,
    Stream,
    Underscore,
    Element(ElementType),
    Inf(ElementType),
    Nan(ElementType),
    Bits(ElementType),
    ParenOpen,
    ParenClose,
    BracketOpen,
    BracketClose,
    BraceOpen,
    BraceClose,
    Comma,
    Colon,
    Semicolon,
    Question,
    Arrow,
    Assign,
    /// `.flat` before a position.
    Flat,
    OrOr,
    AndAnd,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Or,
    Xor,
    And,
    ShiftLeft,
    ShiftRight,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Bang,
    Tilde,
    End,
}

impl Kind {
    /// How messages call a token that is expected.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::Number => "a number",
            Self::Str => "a string",
            Self::Fn => "`fn`",
            Self::Let => "`let`",
            Self::Return => "`return`",
            Self::Else => "`else`",
            Self::ParenOpen => "`(`",
            Self::ParenClose => "`)`",
            Self::BracketOpen => "`[`",
            Self::BracketClose => "`]`",
            Self::BraceOpen => "`{`",
            Self::BraceClose => "`}`",
            Self::Comma => "`,`",
            Self::Colon => "`:`",
            Self::Arrow => "`->`",
            Self::Assign => "`=`",
            Self::Or => "`|`",
            Self::End => "the end of the text",
            _ => "something else",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub span: Span,
}

#[derive(Clone)]
pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

/// The keyword that is spelled so.
pub(super) fn keyword(text: &str) -> Option<Kind> {
    Some(match text {
        "fn" => Kind::Fn,
        "let" => Kind::Let,
        "return" => Kind::Return,
        "yield" => Kind::Yield,
        "if" => Kind::If,
        "else" => Kind::Else,
        "while" => Kind::While,
        "true" => Kind::True,
        "false" => Kind::False,
        "stream" => Kind::Stream,
        "_" => Kind::Underscore,
        _ => {
            // Types and what is built from them: 2 to 9 bytes from few letters, so that names cost few comparisons.
            if !(2..=9).contains(&text.len()) || !matches!(text.as_bytes()[0], b'b' | b'f' | b'i' | b'n' | b'u') {
                return None;
            }
            if let Some(ty) = ElementType::from_name(text) {
                return Some(Kind::Element(ty));
            }
            let (head, ty) = text.split_once('_')?;
            let ty = ElementType::from_name(ty)?;
            match head {
                "inf" => Kind::Inf(ty),
                "nan" => Kind::Nan(ty),
                "bits" => Kind::Bits(ty),
                _ => return None,
            }
        }
    })
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s str) -> Self {
        Self { source, at: 0 }
    }

    /// From a byte on.
    pub fn from(source: &'s str, at: usize) -> Self {
        Self { source, at }
    }

    /// Goes over what is no token: a character, or the rest of the line behind an open quote.
    pub fn skip(&mut self) {
        self.skip_blank();
        let rest = self.rest();
        self.at += match rest.chars().next() {
            None => 0,
            Some('"') => rest.bytes().position(|b| b == b'\n').unwrap_or(rest.len()),
            Some(c) => c.len_utf8(),
        };
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.source.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) {
        loop {
            while matches!(self.byte(0), b' ' | b'\n') {
                self.at += 1;
            }
            let Some(c) = self.rest().chars().next() else { return };
            if c == '#' {
                let line = self.rest();
                self.at += line.bytes().position(|b| b == b'\n').unwrap_or(line.len());
            } else if c.is_whitespace() || c == '\u{feff}' {
                self.at += c.len_utf8();
            } else {
                return;
            }
        }
    }

    pub fn next(&mut self) -> Parsed<Token> {
        self.skip_blank();
        let start = self.at;
        let kind = self.kind()?;
        Ok(Token { kind, span: Span { start: start as u32, end: self.at as u32 } })
    }

    fn kind(&mut self) -> Parsed<Kind> {
        let Some(c) = self.rest().chars().next() else { return Ok(Kind::End) };
        if starts_name(c) {
            return Ok(self.name());
        }
        if c.is_ascii_digit() {
            self.number();
            return Ok(Kind::Number);
        }
        if c == '"' {
            return self.string();
        }
        let (kind, length) = match (c, self.byte(1)) {
            ('|', b'|') => (Kind::OrOr, 2),
            ('&', b'&') => (Kind::AndAnd, 2),
            ('=', b'=') => (Kind::Equal, 2),
            ('!', b'=') => (Kind::NotEqual, 2),
            ('<', b'=') => (Kind::LessEqual, 2),
            ('>', b'=') => (Kind::GreaterEqual, 2),
            ('<', b'<') => (Kind::ShiftLeft, 2),
            ('>', b'>') => (Kind::ShiftRight, 2),
            ('-', b'>') => (Kind::Arrow, 2),
            ('(', _) => (Kind::ParenOpen, 1),
            (')', _) => (Kind::ParenClose, 1),
            ('[', _) => (Kind::BracketOpen, 1),
            (']', _) => (Kind::BracketClose, 1),
            ('{', _) => (Kind::BraceOpen, 1),
            ('}', _) => (Kind::BraceClose, 1),
            (',', _) => (Kind::Comma, 1),
            (':', _) => (Kind::Colon, 1),
            (';', _) => (Kind::Semicolon, 1),
            ('?', _) => (Kind::Question, 1),
            ('=', _) => (Kind::Assign, 1),
            ('<', _) => (Kind::Less, 1),
            ('>', _) => (Kind::Greater, 1),
            ('|', _) => (Kind::Or, 1),
            ('^', _) => (Kind::Xor, 1),
            ('&', _) => (Kind::And, 1),
            ('+', _) => (Kind::Plus, 1),
            ('-', _) => (Kind::Minus, 1),
            ('*', _) => (Kind::Star, 1),
            ('/', _) => (Kind::Slash, 1),
            ('%', _) => (Kind::Percent, 1),
            ('!', _) => (Kind::Bang, 1),
            ('~', _) => (Kind::Tilde, 1),
            ('.', _) if self.part(self.at + 1) == "flat" => (Kind::Flat, 5),
            _ => {
                let span = Span { start: self.at as u32, end: (self.at + c.len_utf8()) as u32 };
                let fault = fault(span, format!("unexpected character `{}`", c.escape_debug()));
                return Err(match super::elsewhere::sign(self.source, self.at) {
                    Some(help) => fault.help(help),
                    None => fault,
                });
            }
        };
        self.at += length;
        Ok(kind)
    }

    /// Letters, digits and `_` from a byte on.
    fn part(&self, from: usize) -> &'s str {
        let rest = &self.source[from.min(self.source.len())..];
        let ascii = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        if rest.as_bytes().get(ascii).is_none_or(u8::is_ascii) {
            return &rest[..ascii];
        }
        &rest[..rest.find(|c: char| !continues_name(c)).unwrap_or(rest.len())]
    }

    fn name(&mut self) -> Kind {
        let start = self.at;
        self.at += self.part(self.at).len();
        let mut plain = true;
        while self.byte(0) == b'.' {
            let part = self.part(self.at + 1);
            if part.is_empty() || part == "flat" {
                break;
            }
            plain = false;
            self.at += 1 + part.len();
        }
        if plain && self.byte(0) == b'\'' {
            self.at += 1;
            self.at += self.part(self.at).len();
            return Kind::Primed;
        }
        let text = &self.source[start..self.at];
        if plain { keyword(text).unwrap_or(Kind::Name) } else { Kind::Name }
    }

    /// A number with whatever letters follow: what it means is `literal`'s.
    fn number(&mut self) {
        let digits = |lexer: &mut Self| {
            while lexer.byte(0).is_ascii_digit() || lexer.byte(0) == b'_' {
                lexer.at += 1;
            }
        };
        if !(self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'X' | b'b' | b'B')) {
            digits(self);
            if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
                self.at += 1;
                digits(self);
            }
            let signed = matches!(self.byte(1), b'+' | b'-') && self.byte(2).is_ascii_digit();
            if matches!(self.byte(0), b'e' | b'E') && (signed || self.byte(1).is_ascii_digit()) {
                self.at += 2;
                digits(self);
            }
        }
        self.at += self.part(self.at).len();
    }

    fn string(&mut self) -> Parsed<Kind> {
        let start = self.at;
        let bytes = self.source.as_bytes();
        self.at += 1;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Kind::Str);
                }
                // What follows a backslash is never the end; escapes are `unescape`'s.
                Some(b'\\') if bytes.get(self.at + 1).is_some_and(|b| *b != b'\n') => self.at += 2,
                None | Some(b'\n') => {
                    let span = Span { start: start as u32, end: start as u32 + 1 };
                    return Err(fault(span, "a string without end")
                        .help("a string ends on its line; `\\n` stands for a new one"));
                }
                Some(_) => self.at += 1,
            }
        }
    }
}

/// What a string token says.
pub(super) fn unescape(source: &str, span: Span) -> Parsed<String> {
    let whole = span.text(source);
    let text = &whole[1..whole.len() - 1];
    let mut result = String::with_capacity(text.len());
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c != '\\' {
            result.push(c);
            continue;
        }
        let wrong = |length: usize| {
            let start = span.start + 1 + at as u32;
            let span = Span { start, end: start + length as u32 };
            fault(span, format!("unknown escape `{}`", shown(span.text(source))))
                .help("strings know `\\\"`, `\\\\`, `\\n`, `\\r`, `\\t` and `\\u{1f600}`")
        };
        match chars.next() {
            Some((_, '"')) => result.push('"'),
            Some((_, '\\')) => result.push('\\'),
            Some((_, 'n')) => result.push('\n'),
            Some((_, 'r')) => result.push('\r'),
            Some((_, 't')) => result.push('\t'),
            Some((_, 'u')) => {
                let rest = &text[at + 2..];
                let digits = rest.strip_prefix('{').and_then(|rest| rest.get(..rest.find('}')?));
                let digits = digits.filter(|d| !d.is_empty() && d.len() <= 6).ok_or_else(|| wrong(2))?;
                let value = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
                result.push(value.and_then(char::from_u32).ok_or_else(|| wrong(digits.len() + 4))?);
                for _ in 0..digits.len() + 2 {
                    chars.next();
                }
            }
            Some((_, other)) => return Err(wrong(1 + other.len_utf8())),
            None => return Err(wrong(1)),
        }
    }
    Ok(result)
}

/// A string as text spells it.
pub(super) fn escape(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    result.push('"');
    for c in text.chars() {
        match c {
            '"' => result.push_str("\\\""),
            '\\' => result.push_str("\\\\"),
            '\n' => result.push_str("\\n"),
            '\r' => result.push_str("\\r"),
            '\t' => result.push_str("\\t"),
            c if c.is_control() => result.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => result.push(c),
        }
    }
    result.push('"');
    result
}
