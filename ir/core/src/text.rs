//! Programs as text (`.fbx`), for people and tests: a parser and a printer, exact inverses of each other.
//!
//! `parse(&program.to_string()) == program` for every valid program. Names of inputs and results are kept; all others are hints,
//! which the printer makes legal and unique.

mod advice;
mod characters;
mod elsewhere;
mod error;
mod lexer;
mod literal;
mod lower;
mod parser;
mod printer;
pub mod reference;
mod suggest;
mod syntax;
mod takes;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use self::printer::{extent_text, type_text};
pub use self::{
    advice::advice,
    error::{Error, Errors, marked},
    printer::{KernelNames, print},
    value::{ValueError, scalar, value},
};
use std::collections::HashMap;

use crate::{ArrayId, Kernel, Name, PartMut, Program, Var};

/// What the text of a program calls its values.
pub fn value_names(program: &Program) -> HashMap<ArrayId, String> {
    printer::value_names(program)
}

/// The program with the names as which it is printed, each of its own: names are hints, and several values may have the same.
pub fn with_printed_names(program: &Program) -> Program {
    let names = value_names(program);
    let mut program = program.clone();
    let name = |var: &mut Var| var.name = names.get(&var.id).map_or_else(Name::default, |name| Name(name.clone()));
    let mut blocks = vec![&mut program.body];
    while let Some(block) = blocks.pop() {
        // Inputs keep theirs: they are no hints.
        let inputs = block.sizes.iter_mut().chain(&mut block.params);
        inputs.filter(|var| var.name.is_empty()).for_each(&name);
        for binding in &mut block.bindings {
            binding.results.iter_mut().for_each(&name);
            for part in binding.op.parts_mut() {
                if let PartMut::Body(body) = part {
                    blocks.push(body);
                }
            }
        }
    }
    program
}

/// What the text of a kernel calls its locals and arrays.
pub fn kernel_names(kernel: &Kernel) -> KernelNames {
    printer::kernel_names(kernel)
}

/// What the text of a plan calls its values: their hints, made legal and unique.
pub(crate) fn unique_names<'n>(hints: impl Iterator<Item = &'n str>) -> Vec<String> {
    printer::unique_names(hints)
}

/// Reads a program.
///
/// # Errors
/// The first thing that is wrong, with its place. Names, and types of scalar code are checked here, everything else by
/// validation.
///
/// ```
/// let program = fusebox_ir::text::parse("fn twice(a: [n]i32) -> [n]i32 { let b: [n]i32 = map(|x| x + x, a) return b }").unwrap();
/// assert_eq!(program.name, "twice");
/// assert_eq!(fusebox_ir::text::parse(&program.to_string()).unwrap(), program);
/// ```
pub fn parse(source: &str) -> Result<Program, Error> {
    read(source, None)
}

/// Reads a program; places, of the program and of errors, name the file.
///
/// # Errors
/// As of [`parse`].
pub fn parse_named(source: &str, file_name: &str) -> Result<Program, Error> {
    read(source, Some(file_name))
}

/// Reads a program; of one that cannot be read says everything that is wrong.
///
/// ```
/// let text = "fn f(x: f32) -> f32 {\n  let y = x +\n  let z = y * sqr(x)\n  return z }";
/// let errors = fusebox_ir::text::parse_all(text, Some("f.fbx")).unwrap_err();
/// let places: Vec<_> = errors.errors().iter().map(|error| error.place().to_string()).collect();
/// assert_eq!(places, ["f.fbx:3:3", "f.fbx:3:15"]);
/// ```
///
/// # Errors
/// Those that are independent of each other, in the order of their places; the first [`Errors::MOST`] in full.
pub fn parse_all(source: &str, file_name: Option<&str>) -> Result<Program, Errors> {
    read(source, file_name).map_err(|first| all_errors(without_mark(source), file_name).unwrap_or(first.into()))
}

/// What is wrong with a text, if reading can go on after errors.
fn all_errors(source: &str, file: Option<&str>) -> Option<Errors> {
    let lines = error::Lines::new(source, file);
    let mut parser = parser::Parser::new(source, true).ok()?;
    let syntax = parser.program();
    let parser::Parser { mut faults, exprs, .. } = parser;
    let faults = match syntax {
        Ok(program) => faults.and(lower::Lower::new(source, &exprs, &lines).faults(&program)),
        Err(fault) => {
            faults.add(*fault);
            faults
        }
    };
    (!faults.is_empty()).then(|| faults.errors(&lines))
}

fn read(source: &str, file: Option<&str>) -> Result<Program, Error> {
    let source = without_mark(source);
    let syntax = parser::Parser::new(source, false).and_then(|mut parser| {
        let program = parser.program()?;
        Ok((program, parser.exprs))
    });
    let lines = error::Lines::new(source, file);
    syntax
        .and_then(|(program, exprs)| lower::Lower::new(source, &exprs, &lines).program(&program))
        .map_err(|fault| lines.error(*fault))
}

/// The text of a file that may begin with a byte-order mark, as some editors write it.
pub(crate) fn without_mark(source: &str) -> &str {
    source.strip_prefix('\u{feff}').unwrap_or(source)
}
