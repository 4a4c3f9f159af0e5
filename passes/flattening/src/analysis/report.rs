//! Which representation each binding of a nested program has when it is lifted, and why.

use std::{collections::HashMap, fmt};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Extent, Place, Program, Var};

use super::{Lanes, Regularity, regularity, shapes};

/// How a value is held once there are no nests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Representation {
    /// It is the same in all lanes: computed once.
    Avoided,
    /// An array with dimensions for the lanes before its own.
    Regular,
    /// The elements of all lanes one after the other, with the offsets at which those of a lane begin.
    Irregular,
    /// A value of one lane: the lanes run one at a time, each as a program of its own.
    Alone,
}

impl fmt::Display for Representation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avoided => "avoided",
            Self::Regular => "regular",
            Self::Irregular => "irregular",
            Self::Alone => "alone",
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

/// In which ways a program is flattened, other than as the analysis says.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// Whether arrays in lanes are held with offsets, whatever is known of them.
    pub irregular: bool,
    /// Outermost nests whose lanes run one at a time.
    pub alone: Vec<NestAlone>,
}

/// A nest whose lanes run one at a time.
#[derive(Clone, Debug)]
pub(crate) struct NestAlone {
    pub results: Vec<ArrayId>,
    pub place: Place,
    /// Whether they do in any case, and not only where rows are long and many.
    pub always: bool,
    pub why: String,
}

/// What becomes of each binding inside of a nest, and of each array of arrays, of a valid program, in order, if all lanes run together and what
/// is regular is held so. [`Report::held`](crate::Report) says it of a program that was flattened in another way.
pub fn explain(program: &Program) -> Vec<Line> {
    explain_in(program, &Ways::default())
}

/// As [`explain`], of a program that is flattened in these ways.
pub(crate) fn explain_in(program: &Program, ways: &Ways) -> Vec<Line> {
    let shapes = shapes(program);
    let found = regularity(program, &shapes);
    let mut writer = Writer { found: &found, ways, around: None, vars: HashMap::new(), lines: Vec::new() };
    program.body.for_each_definition(&mut |var| {
        writer.vars.insert(var.id, (var.name.0.clone(), Place::default()));
    });
    writer.block(&program.body);
    writer.lines
}

struct Writer<'a> {
    found: &'a Regularity,
    ways: &'a Ways,
    /// The nest around whose lanes run one at a time.
    around: Option<&'a NestAlone>,
    vars: HashMap<ArrayId, (String, Place)>,
    lines: Vec<Line>,
}

impl<'a> Writer<'a> {
    fn name(&self, id: ArrayId) -> String {
        self.vars.get(&id).map(|(name, _)| name.clone()).filter(|name| !name.is_empty()).unwrap_or(id.to_string())
    }

    fn block(&mut self, block: &Block) {
        for binding in &block.bindings {
            for var in &binding.results {
                self.vars.insert(var.id, (var.name.0.clone(), binding.place.clone()));
            }
            let outside = self.around;
            self.around = outside.or_else(|| self.alone(binding));
            binding.op.bodies().for_each(|body| self.block(body));
            self.around = outside;
            for var in &binding.results {
                if self.found.depth(var.id) > 0 || !var.ty.inner.is_empty() {
                    self.line(binding, var);
                }
            }
        }
    }

    /// How the lanes of a nest run one at a time, if they do. Traversals become nests at their place.
    fn alone(&self, binding: &Binding) -> Option<&'a NestAlone> {
        let same = |at: &Place| !at.is_unknown() && (at.line, at.column) == (binding.place.line, binding.place.column);
        let is = |nest: &&NestAlone| match &binding.op {
            ArrayOp::Nest { .. } => binding.results.iter().any(|var| nest.results.contains(&var.id)),
            ArrayOp::Consume { .. } => same(&nest.place),
            _ => false,
        };
        self.ways.alone.iter().find(is)
    }

    fn line(&mut self, binding: &Binding, var: &Var) {
        let (representation, why) = self.held_here(binding, var);
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

    /// How a value is held, and why, whether its lane runs by itself or together with the others.
    fn held_here(&self, binding: &Binding, var: &Var) -> (Representation, String) {
        let Some(nest) = self.around.filter(|_| self.found.depth(var.id) > 0) else {
            return self.held(binding, var, false);
        };
        if !nest.always {
            let (representation, why) = self.held(binding, var, false);
            return (
                representation,
                format!("{why}; where rows are long and many, lanes run one at a time: {}", nest.why),
            );
        }
        if self.found.depth(var.id) == 1 && var.ty.inner.is_empty() {
            return (Representation::Alone, format!("lanes run one at a time: {}", nest.why));
        }
        let (representation, why) = self.held(binding, var, true);
        (representation, format!("in a lane that runs alone, {why}"))
    }

    /// The same where all lanes run together, or of the nests inside of a lane that runs alone.
    fn held(&self, binding: &Binding, var: &Var, in_one: bool) -> (Representation, String) {
        let of = |lanes: Lanes| if in_one { lanes.without(0) } else { lanes };
        if let Some((extent, varies)) =
            var.ty.all_extents().zip(self.found.extents(var.id)).find(|(_, v)| v.ragged || !of(v.lanes).is_none())
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
        if of(self.found.lanes(var.id)).is_none() && var.ty.inner.is_empty() {
            return (Representation::Avoided, "it is the same in all lanes".to_owned());
        }
        let in_lanes =
            if self.found.depth(var.id) > 0 { var.ty.all_extents().count() } else { var.ty.inner.concat().len() };
        if self.ways.irregular && in_lanes > 0 {
            let why = "everything in lanes is held so, though all lanes have the same extents";
            return (Representation::Irregular, why.to_owned());
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
