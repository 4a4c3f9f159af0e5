//! The Python literals that headers are: strings, numbers, truth values, lists, tuples, dictionaries.

/// How deep lists and tuples may be nested.
const MOST_DEEP: usize = 32;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Number(u64),
    Truth(bool),
    /// A list or a tuple.
    List(Vec<Literal>),
    Dictionary(Vec<(Literal, Literal)>),
}

impl Literal {
    /// Reads one literal and nothing behind it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text };
        let literal = parser.literal(0)?;
        parser.space();
        if parser.rest.is_empty() { Ok(literal) } else { Err(parser.unexpected("the end")) }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found: String = self.rest.chars().take(20).collect();
        if found.is_empty() {
            format!("expected {wanted} where it ends")
        } else {
            format!("expected {wanted} at {found:?}")
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn literal(&mut self, depth: usize) -> Result<Literal, String> {
        if depth > MOST_DEEP {
            return Err(format!("lists are nested more than {MOST_DEEP} deep"));
        }
        self.space();
        match self.rest.chars().next() {
            Some('\'' | '"') => Ok(Literal::Text(self.string()?)),
            Some('0'..='9') => {
                let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
                let (digits, rest) = self.rest.split_at(end);
                self.rest = rest.strip_prefix('L').unwrap_or(rest); // as Python 2 wrote long integers
                Ok(Literal::Number(digits.parse().map_err(|_| format!("{digits} is too large"))?))
            }
            Some('(') => self.list("(", ")", depth),
            Some('[') => self.list("[", "]", depth),
            Some('{') => self.dictionary(depth),
            _ if self.take("True") => Ok(Literal::Truth(true)),
            _ if self.take("False") => Ok(Literal::Truth(false)),
            _ => Err(self.unexpected("a literal")),
        }
    }

    fn list(&mut self, open: &str, close: &str, depth: usize) -> Result<Literal, String> {
        self.take(open);
        let mut list = Vec::new();
        while !self.take(close) {
            list.push(self.literal(depth + 1)?);
            if !self.take(",") {
                if !self.take(close) {
                    return Err(self.unexpected(&format!("`,` or `{close}`")));
                }
                // `(3)` is a number in parentheses.
                return Ok(if open == "(" && list.len() == 1 { list.remove(0) } else { Literal::List(list) });
            }
        }
        Ok(Literal::List(list))
    }

    fn dictionary(&mut self, depth: usize) -> Result<Literal, String> {
        self.take("{");
        let mut list = Vec::new();
        while !self.take("}") {
            let key = self.literal(depth + 1)?;
            if !self.take(":") {
                return Err(self.unexpected("`:`"));
            }
            list.push((key, self.literal(depth + 1)?));
            if !self.take(",") {
                if !self.take("}") {
                    return Err(self.unexpected("`,` or `}`"));
                }
                break;
            }
        }
        Ok(Literal::Dictionary(list))
    }

    fn string(&mut self) -> Result<String, String> {
        let mut characters = self.rest.char_indices();
        let quote = characters.next().map(|(_, c)| c);
        let mut text = String::new();
        while let Some((at, c)) = characters.next() {
            match c {
                c if Some(c) == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\\' => match characters.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(c @ ('\\' | '\'' | '"')) => text.push(c),
                    Some('x') => {
                        let digits: String = characters.by_ref().take(2).map(|(_, c)| c).collect();
                        let byte = u8::from_str_radix(&digits, 16).map_err(|_| format!("\\x{digits} in a string"))?;
                        text.push(char::from(byte));
                    }
                    other => return Err(format!("\\{} in a string", other.map_or(String::new(), String::from))),
                },
                c => text.push(c),
            }
        }
        Err("a string does not end".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read() {
        use Literal::{Dictionary, List, Number, Text, Truth};
        let text = |text: &str| Text(text.into());
        assert_eq!(Literal::parse("(3,)"), Ok(List(vec![Number(3)])));
        assert_eq!(Literal::parse("(3)"), Ok(Number(3)));
        assert_eq!(Literal::parse("[3]"), Ok(List(vec![Number(3)])));
        assert_eq!(Literal::parse("()"), Ok(List(vec![])));
        assert_eq!(
            Literal::parse("[ ( 'a\\'', \"<f4\" ,(2L,3)), ]"),
            Ok(List(vec![List(vec![text("a'"), text("<f4"), List(vec![Number(2), Number(3)])])]))
        );
        assert_eq!(
            Literal::parse("{'a': True, 'b': False}"),
            Ok(Dictionary(vec![(text("a"), Truth(true)), (text("b"), Truth(false))]))
        );
        assert_eq!(Literal::parse("'\\xe4'"), Ok(text("ä")));
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        for bad in [
            "",
            "'a",
            "(1",
            "(1 2)",
            "{'a' 1}",
            "{'a': 1",
            "1 1",
            "-1",
            "1e5",
            "None",
            "99999999999999999999",
            "'\\q'",
            "'\\x4",
            "[,]",
        ] {
            assert!(Literal::parse(bad).is_err(), "{bad}");
        }
        assert!(Literal::parse(&"(".repeat(100_000)).is_err());
        assert!(Literal::parse(&"{1:".repeat(100_000)).is_err());
    }
}
