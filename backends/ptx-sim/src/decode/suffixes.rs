//! What stands between the dots of an opcode. All of it must be asked for: what is left over is an error.

use crate::code::Scope;
use crate::lanes::exact::Rounding;
use crate::text::ParseError;
use crate::text::tree::Instruction;
use crate::types::Type;

pub(super) struct Suffixes<'a> {
    instruction: &'a Instruction,
    left: Vec<&'a str>,
}

impl<'a> Suffixes<'a> {
    pub fn new(instruction: &'a Instruction) -> Self {
        Self { instruction, left: instruction.suffixes.iter().map(String::as_str).collect() }
    }

    /// Whether this one is there.
    pub fn take(&mut self, name: &str) -> bool {
        self.take_if(|suffix| (suffix == name).then_some(())).is_some()
    }

    /// The first that means something to `read`.
    pub fn take_if<T>(&mut self, read: impl Fn(&'a str) -> Option<T>) -> Option<T> {
        let (at, found) =
            self.left.iter().enumerate().find_map(|(at, suffix)| read(suffix).map(|found| (at, found)))?;
        self.left.remove(at);
        Some(found)
    }

    /// The one of these names that is there.
    pub fn one_of(&mut self, names: &[&str]) -> Option<&'a str> {
        self.take_if(|suffix| names.contains(&suffix).then_some(suffix))
    }

    /// The next type.
    pub fn ty(&mut self) -> Result<Type, ParseError> {
        self.take_if(Type::named).ok_or_else(|| self.error("lacks a type"))
    }

    /// `.rn`, `.rz`, `.rm`, `.rp`.
    pub fn rounding(&mut self) -> Option<Rounding> {
        self.take_if(Rounding::named)
    }

    /// `.cta`, `.gpu`, `.sys`.
    pub fn scope(&mut self) -> Option<Scope> {
        self.take_if(|suffix| match suffix {
            "cta" => Some(Scope::Block),
            "gpu" | "gl" | "sys" => Some(Scope::Device),
            _ => None,
        })
    }

    pub fn error(&self, what: &str) -> ParseError {
        ParseError::new(self.instruction.at, format!("`{}` {what}", self.instruction.opcode))
    }

    /// An error if something was not understood.
    pub fn finish(self) -> Result<(), ParseError> {
        match self.left.first() {
            None => Ok(()),
            Some(suffix) => Err(self.error(&format!("has a modifier `.{suffix}` that does not belong here"))),
        }
    }
}
