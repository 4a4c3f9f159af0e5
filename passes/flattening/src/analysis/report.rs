//! Which representation each binding of a nested program has when it is lifted, and why.

use std::{collections::HashMap, fmt};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Extent, Part, Place, Program, Var};

use super::{Regularity, regularity, shapes};

/// How a value is held once there are no nests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Representation {
    /// It is the same in all lanes: computed once.
    Avoided,
    /// An array with dimensions for the lanes before its own.
    Regular,
    /// The elements of all lanes one after the other, with the offsets at which those of a lane begin.
    Irregular,
}

impl fmt::Display for Representation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avoided => "avoided",
            Self::Regular => "regular",
            Self::Irregular => "irregular",
        })
    }
}

/// What is said of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The value.
    pub id: ArrayId,
    /// Its name, or its number.
    pub name: String,
    /// The operation that makes it.
    pub operation: &'static str,
    /// Where that stands in the source.
    pub place: Place,
    /// How many nests are around it.
    pub depth: usize,
    /// How it is held.
    pub representation: Representation,
    /// Why, in words.
    pub why: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_unknown() {
            write!(f, "line {}: ", self.place.line)?;
        }
        write!(f, "{} `{}` is {}: {}", self.operation, self.name, self.representation, self.why)
    }
}

/// What becomes of each binding inside of a nest, and of each array of arrays, of a valid program, in order.
pub fn explain(program: &Program) -> Vec<Line> {
    let shapes = shapes(program);
    let found = regularity(program, &shapes);
    let mut writer = Writer { found: &found, vars: HashMap::new(), lines: Vec::new() };
    program.body.for_each_definition(&mut |var| {
        writer.vars.insert(var.id, (var.name.0.clone(), Place::default()));
    });
    writer.block(&program.body);
    writer.lines
}

struct Writer<'a> {
    found: &'a Regularity,
    vars: HashMap<ArrayId, (String, Place)>,
    lines: Vec<Line>,
}

impl Writer<'_> {
    fn name(&self, id: ArrayId) -> String {
        self.vars.get(&id).map(|(name, _)| name.clone()).filter(|name| !name.is_empty()).unwrap_or(id.to_string())
    }

    fn block(&mut self, block: &Block) {
        for binding in &block.bindings {
            for var in &binding.results {
                self.vars.insert(var.id, (var.name.0.clone(), binding.place.clone()));
            }
            for part in binding.op.parts() {
                if let Part::Body(body) = part {
                    self.block(body);
                }
            }
            for var in &binding.results {
                if self.found.depth(var.id) > 0 || !var.ty.inner.is_empty() {
                    self.line(binding, var);
                }
            }
        }
    }

    fn line(&mut self, binding: &Binding, var: &Var) {
        let (representation, why) = self.held(binding, var);
        self.lines.push(Line {
            id: var.id,
            name: self.name(var.id),
            operation: binding.op.name(),
            place: binding.place.clone(),
            depth: self.found.depth(var.id),
            representation,
            why,
        });
    }

    fn held(&self, binding: &Binding, var: &Var) -> (Representation, String) {
        if let Some((extent, varies)) =
            var.ty.all_extents().zip(self.found.extents(var.id)).find(|(_, v)| v.ragged || !v.lanes.is_none())
        {
            let why = match extent {
                Extent::Value(id) if !varies.ragged => {
                    let place = &self.vars.get(id).map(|(_, place)| place.clone()).unwrap_or_default();
                    let line = if place.is_unknown() { String::new() } else { format!(" (line {})", place.line) };
                    format!("the extent `{}`{line} depends on the lane", self.name(*id))
                }
                _ => "its arrays have extents of their own".to_owned(),
            };
            return (Representation::Irregular, why);
        }
        if self.found.lanes(var.id).is_none() && var.ty.inner.is_empty() {
            return (Representation::Avoided, "it is the same in all lanes".to_owned());
        }
        let why = match &binding.op {
            _ if var.ty.extents.is_empty() => "one scalar for each lane",
            ArrayOp::Cond { .. } => "whichever branch a lane takes, the extents are the same",
            ArrayOp::While { .. } => "however many turns a lane takes, the extents are the same",
            _ => "all lanes have the same extents",
        };
        (Representation::Regular, why.to_owned())
    }
}
