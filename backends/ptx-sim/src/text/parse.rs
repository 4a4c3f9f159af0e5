//! Directives, declarations and statements.

use super::token::{Token, tokens};
use super::tree::{Entry, Instruction, Operand, Space, Statement, Tree, Variable};
use super::{ParseError, Place};
use crate::types::Type;

/// How deep blocks `{ … }` may stand in each other.
const DEPTH: u32 = 64;
/// No variable is larger; launches say what they need beyond.
const MOST_ELEMENTS: u64 = 1 << 32;

/// Parses a whole file.
///
/// # Errors
/// If it is not PTX, with the place of the first fault.
pub(crate) fn parse(text: &str) -> Result<Tree, ParseError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0 };
    let mut tree = Tree::default();
    while *parser.peek() != Token::End {
        parser.top(&mut tree)?;
    }
    Ok(tree)
}

pub(super) struct Parser {
    tokens: Vec<(Token, Place)>,
    next: usize,
}

impl Parser {
    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    pub(super) fn place(&self) -> Place {
        self.tokens[self.next].1
    }

    pub(super) fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn takes(&mut self, mark: char) -> bool {
        let found = *self.peek() == Token::Mark(mark);
        if found {
            self.advance();
        }
        found
    }

    fn takes_suffix(&mut self, name: &str) -> bool {
        let found = matches!(self.peek(), Token::Suffix(suffix) if suffix == name);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expected(&self, what: &str) -> ParseError {
        ParseError::new(self.place(), format!("expected {what}, found {}", self.peek()))
    }

    pub(super) fn mark(&mut self, mark: char) -> Result<(), ParseError> {
        if self.takes(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    pub(super) fn name(&mut self, what: &str) -> Result<String, ParseError> {
        let Token::Name(name) = self.peek().clone() else { return Err(self.expected(what)) };
        self.advance();
        Ok(name)
    }

    fn integer(&mut self, what: &str) -> Result<u64, ParseError> {
        let Token::Integer(value) = *self.peek() else { return Err(self.expected(what)) };
        self.advance();
        Ok(value)
    }

    fn small(&mut self, what: &str) -> Result<u32, ParseError> {
        let at = self.place();
        let value = self.integer(what)?;
        u32::try_from(value).map_err(|_| ParseError::new(at, format!("{value} is too large for {what}")))
    }

    /// A directive at the top of a file.
    fn top(&mut self, tree: &mut Tree) -> Result<(), ParseError> {
        let at = self.place();
        let Token::Suffix(name) = self.peek().clone() else { return Err(self.expected("a directive")) };
        match name.as_str() {
            "version" => {
                self.advance();
                if !matches!(self.peek(), Token::Double(_)) {
                    return Err(self.expected("a version such as 7.0"));
                }
                self.advance();
            }
            "target" => {
                self.advance();
                tree.target = self.name("an architecture such as sm_70")?;
                while self.takes(',') {
                    self.name("an option of the target")?;
                }
            }
            "address_size" => {
                self.advance();
                let at = self.place();
                if self.integer("64")? != 64 {
                    return Err(ParseError::new(at, "addresses have 64 bits here"));
                }
            }
            "visible" | "extern" | "weak" => self.advance(),
            "entry" => {
                self.advance();
                tree.entries.push(self.entry()?);
            }
            "global" | "const" | "shared" => self.variables(&mut |variable| tree.variables.push(variable))?,
            "file" | "pragma" => {
                while !matches!(self.peek(), Token::Mark(';') | Token::End) && self.place().line == at.line {
                    self.advance();
                }
                self.takes(';');
            }
            _ => return Err(ParseError::new(at, format!("the directive `.{name}` is not known here"))),
        }
        Ok(())
    }

    fn entry(&mut self) -> Result<Entry, ParseError> {
        let name = self.name("the name of the entry")?;
        let mut params = Vec::new();
        if self.takes('(') && !self.takes(')') {
            loop {
                if !self.takes_suffix("param") {
                    return Err(self.expected("`.param`"));
                }
                params.push(self.variable(Space::Param)?);
                if self.takes(')') {
                    break;
                }
                self.mark(',')?;
            }
        }
        let mut entry = Entry { name, params, required: None, most: None, body: Vec::new() };
        while let Token::Suffix(directive) = self.peek().clone() {
            self.advance();
            match directive.as_str() {
                "maxntid" => entry.most = Some(self.triple()?.iter().map(|&n| u64::from(n)).product()),
                "reqntid" => entry.required = Some(self.triple()?),
                "maxnreg" | "minnctapersm" | "maxnctapersm" => drop(self.small("a number")?),
                _ => {
                    return Err(ParseError::new(self.place(), format!("`.{directive}` of an entry is not known here")));
                }
            }
        }
        self.mark('{')?;
        entry.body = self.statements(0)?;
        Ok(entry)
    }

    fn triple(&mut self) -> Result<[u32; 3], ParseError> {
        let mut sizes = [self.small("a number of threads")?, 1, 1];
        for size in &mut sizes[1..] {
            if self.takes(',') {
                *size = self.small("a number of threads")?;
            }
        }
        Ok(sizes)
    }

    /// `.shared .align 4 .f32 a[8], b = 1;` after its space.
    fn variables(&mut self, push: &mut dyn FnMut(Variable)) -> Result<(), ParseError> {
        let Token::Suffix(name) = self.peek().clone() else { return Err(self.expected("a space")) };
        let space = Space::named(&name).ok_or_else(|| self.expected("a space"))?;
        self.advance();
        let first = self.variable(space)?;
        let (ty, align) = (first.ty, first.align);
        push(first);
        while self.takes(',') {
            push(self.declared(space, ty, align)?);
        }
        self.mark(';')
    }

    fn variable(&mut self, space: Space) -> Result<Variable, ParseError> {
        let mut align = None;
        loop {
            let at = self.place();
            let Token::Suffix(word) = self.peek().clone() else { return Err(self.expected("a type")) };
            self.advance();
            if word == "align" {
                let value = self.small("an alignment")?;
                if !value.is_power_of_two() {
                    return Err(ParseError::new(at, "an alignment is a power of two"));
                }
                align = Some(value);
            } else if word == "ptr" {
                // `.u64 .ptr .global .align 16 name`: what the parameter points to.
            } else if let Some(ty) = Type::named(&word).filter(|&ty| ty != Type::Pred) {
                let mut pointee = false;
                while let Token::Suffix(word) = self.peek().clone() {
                    pointee |= word == "ptr";
                    if !pointee {
                        return Err(self.expected("a name"));
                    }
                    self.advance();
                    if word == "align" {
                        self.small("an alignment")?;
                    }
                }
                return self.declared(space, ty, align.unwrap_or(ty.bytes()));
            } else {
                return Err(ParseError::new(at, format!("expected a type, found `.{word}`")));
            }
        }
    }

    fn declared(&mut self, space: Space, ty: Type, align: u32) -> Result<Variable, ParseError> {
        let at = self.place();
        let name = self.name("a name")?;
        let mut length = Some(1);
        while self.takes('[') {
            if self.takes(']') {
                length = None;
                continue;
            }
            let extent = self.integer("a number of elements")?;
            self.mark(']')?;
            length = length.and_then(|length: u64| length.checked_mul(extent));
            if length.is_none_or(|length| length > MOST_ELEMENTS) {
                return Err(ParseError::new(at, format!("`{name}` is too large")));
            }
        }
        let mut initial = None;
        if self.takes('=') {
            let mut values = Vec::new();
            self.initial(ty, &mut values, 0)?;
            if length.is_some_and(|length| values.len() as u64 > length) {
                return Err(ParseError::new(at, format!("`{name}` has more initial values than elements")));
            }
            length = length.or(Some(values.len() as u64));
            initial = Some(values);
        }
        Ok(Variable { at, name, space, ty, align: align.max(ty.bytes()), length, initial })
    }

    fn initial(&mut self, ty: Type, values: &mut Vec<u64>, depth: u32) -> Result<(), ParseError> {
        if depth < DEPTH && self.takes('{') {
            loop {
                self.initial(ty, values, depth + 1)?;
                if self.takes('}') {
                    return Ok(());
                }
                self.mark(',')?;
            }
        }
        let at = self.place();
        values.push(bits_of(&self.constant()?, ty).ok_or_else(|| ParseError::new(at, format!("no value of {ty}")))?);
        Ok(())
    }

    /// Up to and with the closing brace.
    fn statements(&mut self, depth: u32) -> Result<Vec<Statement>, ParseError> {
        let mut statements = Vec::new();
        while !self.takes('}') {
            let at = self.place();
            match self.peek().clone() {
                Token::Suffix(name) => self.declaration(&name, at, &mut statements)?,
                Token::Mark('{') if depth < DEPTH => {
                    self.advance();
                    statements.push(Statement::Block(self.statements(depth + 1)?));
                }
                Token::Mark('@') => statements.push(self.instruction()?),
                Token::Mark(';') => self.advance(),
                Token::Name(name) => {
                    if self.tokens[self.next + 1].0 == Token::Mark(':') {
                        self.advance();
                        self.advance();
                        statements.push(Statement::Label(at, name));
                    } else {
                        statements.push(self.instruction()?);
                    }
                }
                _ => return Err(self.expected("a statement or `}`")),
            }
        }
        Ok(statements)
    }

    fn declaration(&mut self, name: &str, at: Place, statements: &mut Vec<Statement>) -> Result<(), ParseError> {
        match name {
            "reg" => {
                self.advance();
                let Token::Suffix(word) = self.peek().clone() else { return Err(self.expected("a type")) };
                let ty = Type::named(&word).ok_or_else(|| self.expected("a type"))?;
                self.advance();
                loop {
                    let at = self.place();
                    let name = self.name("a register")?;
                    let mut count = None;
                    if self.takes('<') {
                        count = Some(self.small("a number of registers")?);
                        self.mark('>')?;
                    }
                    statements.push(Statement::Registers { at, name, count, ty });
                    if !self.takes(',') {
                        return self.mark(';');
                    }
                }
            }
            "shared" | "local" | "global" | "const" => {
                self.variables(&mut |variable| statements.push(Statement::Variable(variable)))
            }
            "extern" => {
                self.advance();
                self.variables(&mut |variable| statements.push(Statement::Variable(variable)))
            }
            "loc" | "pragma" => {
                while !matches!(self.peek(), Token::Mark(';' | '}') | Token::End) && self.place().line == at.line {
                    self.advance();
                }
                self.takes(';');
                Ok(())
            }
            _ => Err(ParseError::new(at, format!("the directive `.{name}` is not known here"))),
        }
    }

    fn instruction(&mut self) -> Result<Statement, ParseError> {
        let at = self.place();
        let mut guard = None;
        if self.takes('@') {
            let negated = self.takes('!');
            guard = Some((self.name("a predicate")?, negated));
        }
        let opcode = self.name("an instruction")?;
        let mut suffixes = Vec::new();
        while let Token::Suffix(suffix) = self.peek().clone() {
            suffixes.push(suffix);
            self.advance();
        }
        let mut operands = Vec::new();
        if !self.takes(';') {
            loop {
                operands.push((self.place(), self.operand()?));
                if self.takes(';') {
                    break;
                }
                if !self.takes(',') {
                    return Err(self.expected("`,` or `;`"));
                }
            }
        }
        Ok(Statement::Instruction(Instruction { at, guard, opcode, suffixes, operands }))
    }
}

/// The bits of a constant as a value of a type; none if there is no such value.
pub(crate) fn bits_of(constant: &Operand, ty: Type) -> Option<u64> {
    match (constant, ty) {
        (Operand::Integer(value), _) if !ty.is_float() => Some(value & ty.mask()),
        (Operand::Single(bits), Type::F32 | Type::B32) => Some(u64::from(*bits)),
        (Operand::Double(bits), Type::F64 | Type::B64) => Some(*bits),
        (Operand::Double(bits), Type::F32) => Some(u64::from((f64::from_bits(*bits) as f32).to_bits())),
        _ => None,
    }
}
