//! The tokens of PTX.

use super::ParseError;

/// Where something stands in the text; both count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: u32,
    pub column: u32,
}

/// A token. Names keep their percent sign, suffixes lose their dot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Name(String),
    /// `.global`, `.f32`, `.L1::evict_last`: part of an opcode, or a directive.
    Suffix(String),
    /// A sign is a token of its own.
    Integer(u64),
    /// The bits of `0f3F800000`.
    Single(u32),
    /// The bits of `0d3FF0000000000000`, and decimal constants.
    Double(u64),
    Text(String),
    Mark(char),
    End,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Suffix(name) => write!(f, "`.{name}`"),
            Self::Integer(value) => write!(f, "`{value}`"),
            Self::Single(bits) => write!(f, "`0f{bits:08X}`"),
            Self::Double(bits) => write!(f, "`0d{bits:016X}`"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Mark(mark) => write!(f, "`{mark}`"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

/// All tokens with their places; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Place)>, ParseError> {
    let mut reader = Reader { rest: text, at: Place { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        reader.skip_blank()?;
        let at = reader.at;
        let Some(first) = reader.rest.chars().next() else {
            tokens.push((Token::End, at));
            return Ok(tokens);
        };
        tokens.push((reader.token(first)?, at));
    }
}

struct Reader<'a> {
    rest: &'a str,
    at: Place,
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

impl<'a> Reader<'a> {
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for c in taken.chars() {
            if c == '\n' {
                self.at = Place { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        taken
    }

    fn length(&self, test: impl Fn(char) -> bool) -> usize {
        self.rest.find(|c| !test(c)).unwrap_or(self.rest.len())
    }

    fn skip_blank(&mut self) -> Result<(), ParseError> {
        loop {
            let length = if self.rest.starts_with("//") {
                self.length(|c| c != '\n')
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/");
                end.ok_or_else(|| ParseError::new(self.at, "this comment does not end"))? + 2
            } else {
                self.length(char::is_whitespace)
            };
            if length == 0 {
                return Ok(());
            }
            self.advance(length);
        }
    }

    fn token(&mut self, first: char) -> Result<Token, ParseError> {
        let at = self.at;
        if first.is_ascii_digit() {
            return self.number();
        }
        if first.is_ascii_alphabetic() || "_$%".contains(first) {
            let length = 1 + self.rest[1..].find(|c| !in_name(c)).unwrap_or(self.rest.len() - 1);
            return Ok(Token::Name(self.advance(length).into()));
        }
        if first == '.' {
            self.advance(1);
            let length = self.length(|c| in_name(c) || c == ':');
            let name = self.rest[..length].trim_end_matches(':');
            let length = name.len();
            if length == 0 {
                return Err(ParseError::new(at, "expected a name after the dot"));
            }
            return Ok(Token::Suffix(self.advance(length).into()));
        }
        if first == '"' {
            let end = self.rest[1..].find('"').ok_or_else(|| ParseError::new(at, "this string does not end"))?;
            let text = self.advance(end + 2);
            return Ok(Token::Text(text[1..=end].into()));
        }
        if "[]{}()<>,;:@!|=+-*".contains(first) {
            self.advance(1);
            return Ok(Token::Mark(first));
        }
        Err(ParseError::new(at, format!("the character `{first}` does not begin anything in PTX")))
    }

    fn number(&mut self) -> Result<Token, ParseError> {
        let at = self.at;
        let bad = |what: &str| ParseError::new(at, format!("`{what}` is no number"));
        let mut length = self.length(in_name);
        let after = &self.rest[length..];
        let word = &self.rest[..length];
        let is_hex = word.starts_with("0x") || word.starts_with("0X");
        let is_bits = word.len() > 1 && word.starts_with('0') && "fFdD".contains(word.as_bytes()[1] as char);
        if !is_hex && !is_bits && (after.starts_with('.') || word.contains(['e', 'E'])) {
            if let Some(fraction) = after.strip_prefix('.') {
                length += 1 + fraction.find(|c| !in_name(c)).unwrap_or(fraction.len());
            }
            if self.rest[..length].ends_with(['e', 'E']) && self.rest[length..].starts_with(['+', '-']) {
                let sign = length + 1;
                length = sign + self.rest[sign..].find(|c| !in_name(c)).unwrap_or(self.rest.len() - sign);
            }
            let word = self.advance(length);
            return word.parse::<f64>().map(|value| Token::Double(value.to_bits())).map_err(|_| bad(word));
        }
        let word = self.advance(length);
        let lower = word.to_ascii_lowercase();
        if is_bits {
            let digits = &lower[2..];
            return match (lower.as_bytes()[1], digits.len()) {
                (b'f', 8) => u32::from_str_radix(digits, 16).map(Token::Single).map_err(|_| bad(word)),
                (b'd', 16) => u64::from_str_radix(digits, 16).map(Token::Double).map_err(|_| bad(word)),
                _ => Err(bad(word)),
            };
        }
        let digits = lower.trim_end_matches('u');
        let value = if let Some(digits) = digits.strip_prefix("0x") {
            u64::from_str_radix(digits, 16)
        } else if let Some(digits) = digits.strip_prefix("0b") {
            u64::from_str_radix(digits, 2)
        } else if digits.len() > 1 && digits.starts_with('0') {
            u64::from_str_radix(digits, 8)
        } else {
            digits.parse()
        };
        value.map(Token::Integer).map_err(|_| bad(word))
    }
}
