//! Names are hints: here they become legal and unique.

use std::collections::{HashMap, HashSet};

use super::super::{
    characters::{continues_name, starts_name},
    lexer::keyword,
};
use crate::{ArrayId, Block, Kernel, KernelArrayId, Part, Program, Var};

/// Ordinary names that mean something else where an array's name could stand.
const RESERVED: &[&str] = &["clamp", "mirror", "wrap", "constant", "function", "ascending", "descending", "order"];

/// Whether text reads it as one name.
fn is_legal(name: &str) -> bool {
    let part = |(position, part): (usize, &str)| {
        let starts = if position == 0 {
            part.chars().next().is_some_and(starts_name)
        } else {
            !part.is_empty() && part != "flat"
        };
        starts && part.chars().all(continues_name)
    };
    keyword(name).is_none() && name.split('.').enumerate().all(part)
}

/// The hint made legal, if something is left of it.
pub(super) fn legal(hint: &str) -> Option<String> {
    if is_legal(hint) {
        return Some(hint.to_owned());
    }
    let replaced: String = hint.chars().map(|c| if continues_name(c) { c } else { '_' }).collect();
    let named = if replaced.starts_with(starts_name) { replaced } else { format!("_{replaced}") };
    (named.chars().any(char::is_alphanumeric) && is_legal(&named)).then_some(named)
}

/// Names in use, and where to go on looking for free ones.
#[derive(Debug, Default)]
pub(in crate::text) struct Unique {
    taken: HashSet<String>,
    next: HashMap<String, u32>,
}

impl Unique {
    /// The name itself where it is free (`free` says so too), else its stem with the next free number.
    pub fn take(&mut self, name: String, free: impl Fn(&str) -> bool) -> String {
        if free(&name) && !self.taken.contains(&name) {
            self.taken.insert(name.clone());
            return name;
        }
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let stem = if is_legal(stem) && !stem.ends_with('_') { stem } else { &name };
        let number = self.next.entry(stem.to_owned()).or_insert(1);
        loop {
            let candidate = format!("{stem}{number}");
            *number += 1;
            if is_legal(&candidate) && free(&candidate) && !self.taken.contains(&candidate) {
                self.taken.insert(candidate.clone());
                return candidate;
            }
        }
    }

    /// A name for each hint of a list; where nothing of a hint can be used, one that says the position.
    fn list<'n>(&mut self, hints: impl Iterator<Item = &'n str>) -> Vec<String> {
        let name = |(position, hint): (usize, &str)| legal(hint).unwrap_or_else(|| format!("a{position}"));
        hints.enumerate().map(|hint| self.take(name(hint), |_| true)).collect()
    }

    pub fn contains(&self, name: &str) -> bool {
        self.taken.contains(name)
    }
}

/// Names for what is known by its position in a list: hints, made legal and unique.
pub(in crate::text) fn unique_names<'n>(hints: impl Iterator<Item = &'n str>) -> Vec<String> {
    Unique::default().list(hints)
}

/// What every value of a program is called.
#[derive(Debug, Default)]
pub(in crate::text) struct ArrayNames {
    names: HashMap<ArrayId, String>,
    pub unique: Unique,
}

impl ArrayNames {
    /// Inputs and results first, because their names are no hints.
    pub fn of_program(program: &Program) -> Self {
        let mut names = Self::default();
        for input in &program.body.params {
            if is_legal(&input.name.0) && !names.unique.contains(&input.name.0) {
                names.give(input.id, &input.name.0);
            }
        }
        for (id, output) in program.body.results.iter().zip(&program.outputs) {
            if is_legal(&output.name) && !names.names.contains_key(id) && !names.unique.contains(&output.name) {
                names.give(*id, &output.name);
            }
        }
        names.block(&program.body);
        names
    }

    pub fn of_block(block: &Block) -> Self {
        let mut names = Self::default();
        names.block(block);
        names
    }

    /// The arrays of a kernel, as its scalar code names them.
    pub fn of_kernel(kernel: &Kernel) -> Self {
        let mut unique = Unique::default();
        let names = unique.list(kernel.arrays.iter().map(|array| array.name.as_str()));
        let named = names.into_iter().enumerate();
        let names = named.map(|(position, name)| (KernelArrayId::at(position).in_code(), name)).collect();
        Self { names, unique }
    }

    pub fn into_map(self) -> HashMap<ArrayId, String> {
        self.names
    }

    fn give(&mut self, id: ArrayId, name: &str) {
        let name = self.unique.take(name.to_owned(), |_| true);
        self.names.insert(id, name);
    }

    /// Everything else, in order of ids.
    fn block(&mut self, block: &Block) {
        let mut vars: Vec<&Var> = Vec::new();
        let mut blocks = vec![block];
        while let Some(block) = blocks.pop() {
            vars.extend(block.sizes.iter().chain(&block.params));
            for binding in &block.bindings {
                vars.extend(&binding.results);
                blocks.extend(binding.op.parts().into_iter().filter_map(|part| match part {
                    Part::Body(body) => Some(body),
                    _ => None,
                }));
            }
        }
        vars.sort_by_key(|var| var.id);
        for var in vars {
            if !self.names.contains_key(&var.id) {
                let name = legal(&var.name.0).unwrap_or_else(|| var.id.to_string());
                let name = self.unique.take(name, |name| !RESERVED.contains(&name));
                self.names.insert(var.id, name);
            }
        }
    }

    /// The name; of values from outside the id.
    pub fn get(&self, id: ArrayId) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}
