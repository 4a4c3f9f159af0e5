//! Programs to text, such that parsing gives the same program back.

mod kernel;
mod layout;
mod names;
mod operation;
mod plan;
mod scalar;

use std::{collections::HashMap, fmt};

pub use self::kernel::KernelNames;
pub(super) use self::{kernel::kernel_names, names::unique_names};
use self::{layout::Out, names::ArrayNames};
use super::lexer::escape;
use crate::{ArrayId, Binding, Block, Extent, Lambda, Operand, Program, Type, Var};

pub(super) fn value_names(program: &Program) -> HashMap<ArrayId, String> {
    ArrayNames::of_program(program).into_map()
}

/// A program as text, without a line break at the end.
pub fn print(program: &Program) -> String {
    program.to_string()
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printer = Printer { arrays: ArrayNames::of_program(self) };
        let mut out = Out::new(format!("fn {}(", names::legal(&self.name).unwrap_or_else(|| "program".to_owned())));
        out.text(&printer.typed_names(&self.body.params));
        out.text(") -> ");
        let types: Vec<_> = self.outputs.iter().map(|output| printer.ty(&output.ty)).collect();
        types
            .iter()
            .enumerate()
            .for_each(|(at, ty)| out.text(&format!("{ty}{}", if at + 1 < types.len() { ", " } else { " " })));
        let mut statements = printer.bindings(&self.body.bindings);
        let results = self.body.results.iter().enumerate().map(|(position, id)| {
            let name = printer.name(*id);
            match self.outputs.get(position) {
                Some(output) if output.name != name => format!("{}: {name}", output.name),
                _ => name,
            }
        });
        statements.push(returned(&results.collect::<Vec<_>>().join(", ")));
        out.block(statements);
        f.write_str(&out.lines())
    }
}

/// As inside a program, in braces; values from outside are called by their ids.
impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printer = Printer { arrays: ArrayNames::of_block(self) };
        let mut out = Out::new(format!("|{}| ", printer.typed_names(&self.params)));
        out.block(printer.statements(self));
        f.write_str(&out.lines())
    }
}

/// As inside a program; values from outside are called by their ids.
impl fmt::Display for Lambda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printer = Printer { arrays: ArrayNames::default() };
        f.write_str(&printer.function(self).lines())
    }
}

/// As inside a program; extents are called by their ids.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Printer { arrays: ArrayNames::default() }.ty(self))
    }
}

/// Names of values, and what prints with them.
pub(super) struct Printer {
    pub arrays: ArrayNames,
}

impl Printer {
    pub fn name(&self, id: ArrayId) -> String {
        self.arrays.get(id)
    }

    fn names(&self, ids: &[ArrayId]) -> String {
        let names: Vec<_> = ids.iter().map(|id| self.name(*id)).collect();
        names.join(", ")
    }

    /// One name, or several in parentheses.
    fn group(&self, ids: &[ArrayId]) -> String {
        if let [id] = ids { self.name(*id) } else { format!("({})", self.names(ids)) }
    }

    pub fn ty(&self, ty: &Type) -> String {
        type_text(ty, &|id| self.name(id))
    }

    /// `n: i64, a: [n]f32`
    fn typed_names(&self, vars: &[Var]) -> String {
        let vars: Vec<_> = vars.iter().map(|var| format!("{}: {}", self.name(var.id), self.ty(&var.ty))).collect();
        vars.join(", ")
    }

    /// A scalar where its type is known from elsewhere.
    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Value(id) => self.name(*id),
            Operand::Constant(constant) => scalar::bare(*constant),
        }
    }

    /// A start or an argument: literals say their type.
    fn loose(&self, operand: &Operand) -> String {
        match operand {
            Operand::Value(id) => self.name(*id),
            Operand::Constant(constant) => constant.to_string(),
        }
    }

    fn statements(&self, block: &Block) -> Vec<Out> {
        let mut statements = self.bindings(&block.bindings);
        statements.push(returned(&self.names(&block.results)));
        statements
    }

    fn bindings(&self, bindings: &[Binding]) -> Vec<Out> {
        bindings.iter().map(|binding| self.binding(binding, "let", "")).collect()
    }

    /// A string as text spells it.
    fn quoted(text: &str) -> String {
        escape(text)
    }
}

/// A type, with names for values.
pub(crate) fn type_text<V: Copy>(ty: &Type<V>, name: &dyn Fn(V) -> String) -> String {
    let list = |extents: &[Extent<V>]| {
        let extents: Vec<_> = extents.iter().map(|&extent| extent_text(extent, name)).collect();
        format!("[{}]", extents.join(", "))
    };
    let mut text = if ty.stream { "stream ".to_owned() } else { String::new() };
    if !ty.extents.is_empty() || !ty.inner.is_empty() {
        text.push_str(&list(&ty.extents));
    }
    ty.inner.iter().for_each(|level| text.push_str(&list(level)));
    text + ty.element.name()
}

/// An extent, with names for values.
pub(crate) fn extent_text<V>(extent: Extent<V>, name: &dyn Fn(V) -> String) -> String {
    match extent {
        Extent::Constant(value) => value.to_string(),
        Extent::Value(id) => name(id),
        Extent::Unknown => "?".to_owned(),
    }
}

/// The end of a block or of a function.
fn returned(results: &str) -> Out {
    Out::new(if results.is_empty() { "return".to_owned() } else { format!("return {results}") })
}
