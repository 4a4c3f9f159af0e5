//! Operands.

use super::ParseError;
use super::parse::Parser;
use super::token::Token;
use super::tree::Operand;

impl Parser {
    /// One operand.
    pub(super) fn operand(&mut self) -> Result<Operand, ParseError> {
        match self.peek().clone() {
            Token::Mark('[') => {
                self.advance();
                let address = self.address()?;
                self.mark(']')?;
                Ok(address)
            }
            Token::Mark('{') => {
                self.advance();
                let mut parts = vec![self.operand()?];
                while self.takes(',') {
                    parts.push(self.operand()?);
                }
                self.mark('}')?;
                Ok(Operand::Vector(parts))
            }
            Token::Mark('!') => {
                self.advance();
                Ok(Operand::Not(self.name("a predicate")?))
            }
            Token::Mark('-' | '+') | Token::Integer(_) | Token::Single(_) | Token::Double(_) => self.constant(),
            Token::Name(name) if name == "_" => {
                self.advance();
                Ok(if self.takes('|') { Operand::Pair("_".into(), self.name("a predicate")?) } else { Operand::Sink })
            }
            Token::Name(name) => {
                self.advance();
                if self.takes('|') {
                    return Ok(Operand::Pair(name, self.name("a predicate")?));
                }
                // `%tid.x` is one name.
                if let Token::Suffix(part) = self.peek().clone()
                    && matches!(part.as_str(), "x" | "y" | "z" | "w")
                {
                    self.advance();
                    return Ok(Operand::Name(format!("{name}.{part}")));
                }
                Ok(match self.offset()? {
                    Some(offset) => Operand::Offset(name, offset),
                    None => Operand::Name(name),
                })
            }
            _ => Err(self.expected("an operand")),
        }
    }

    /// A number with or without a sign.
    pub(super) fn constant(&mut self) -> Result<Operand, ParseError> {
        let negative = self.takes('-');
        if !negative {
            self.takes('+');
        }
        let operand = match *self.peek() {
            Token::Integer(value) => Operand::Integer(if negative { value.wrapping_neg() } else { value }),
            Token::Single(bits) => Operand::Single(bits ^ (u32::from(negative) << 31)),
            Token::Double(bits) => Operand::Double(bits ^ (u64::from(negative) << 63)),
            _ => return Err(self.expected("a number")),
        };
        self.advance();
        Ok(operand)
    }

    fn address(&mut self) -> Result<Operand, ParseError> {
        if let Token::Name(name) = self.peek().clone() {
            self.advance();
            let offset = self.offset()?.unwrap_or(0);
            return Ok(Operand::Address { base: Some(name), offset });
        }
        match self.constant()? {
            Operand::Integer(value) => Ok(Operand::Address { base: None, offset: value as i64 }),
            _ => Err(self.expected("an address")),
        }
    }

    /// `+ 8`, `- 8`, `+ -8`.
    fn offset(&mut self) -> Result<Option<i64>, ParseError> {
        let minus = match self.peek() {
            Token::Mark('+') => false,
            Token::Mark('-') => true,
            _ => return Ok(None),
        };
        self.advance();
        match self.constant()? {
            Operand::Integer(value) if minus => Ok(Some((value as i64).wrapping_neg())),
            Operand::Integer(value) => Ok(Some(value as i64)),
            _ => Err(self.expected("an offset in bytes")),
        }
    }
}
