//! Whether a program is one, and has the properties that a stage guarantees.

mod block;
mod context;
mod control;
mod errors;
mod kernel;
mod names;
mod operation;
mod plan;
mod property;
mod scalar;
mod sequence;
mod shapes;
mod types;

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::context::{PathStep, Validator};
pub use self::{
    errors::{ProgramFault, ValidationError, ValidationErrors},
    kernel::validate_kernel,
    names::is_name,
    plan::validate_plan,
};
use crate::{Extent, Program};

/// How deep blocks, and bodies of scalar code, may be nested: everything that recurses does so over this alone.
pub const MAX_NESTING: usize = 128;

/// What a stage guarantees of the program it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// No `nest`, no arrays of arrays, every `consume` takes chunks.
    Flat,
    /// What makes or reads elements is in a `cluster`; control, `unit`, `constant`, `foreign`, `sort`, `reshape`, `concat` are not.
    Clustered,
    /// Every block may compute all of its bindings in order: what may fail is needed whenever its block is run.
    Strict,
}

impl Property {
    /// The spelling in JSON and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Clustered => "clustered",
            Self::Strict => "strict",
        }
    }
}

/// Checks that `program` is valid: types and ranks, scopes, dense ids, extents that the size analysis can refute, limits; and that it
/// has `properties`.
///
/// Nothing is assumed of the program: any value of the type gives an answer, in time linear in its size.
///
/// Conventions: in a `consume` that takes chunks the body has, for a stream whose elements have rank r, the parameters
/// values (r = 0), or extents and values (`[c]i64` for r = 1, `[c, r]i64` above), and gives the same for what `tabulate`
/// and `stream_out` take; for `elements` it gives vectors of values, for `accumulate` what its function takes.
///
/// # Errors
/// Every fault, each with its place.
pub fn validate(program: &Program, properties: &[Property]) -> Result<(), ValidationErrors> {
    let mut validator = Validator::new();
    validator.program(program);
    if !validator.stopped() {
        validator.properties(program, properties);
    }
    let errors = validator.finish();
    if errors.is_empty() { Ok(()) } else { Err(ValidationErrors { errors }) }
}

/// The properties that `program` has: none if it is not valid. It is looked at once.
pub fn properties(program: &Program) -> Vec<Property> {
    let mut validator = Validator::new();
    validator.program(program);
    if !validator.is_sound() {
        return Vec::new();
    }
    let all = [Property::Flat, Property::Strict, Property::Clustered];
    all.into_iter().filter(|&property| validator.has(program, property)).collect()
}

impl<'p> Validator<'p> {
    fn program(&mut self, program: &'p Program) {
        if !is_name(&program.name) {
            self.report(ProgramFault::Name { name: program.name.clone(), of: "a program" });
        }
        self.within(PathStep::Field("body"), |v| {
            v.names(program.body.params.iter().map(|param| param.name.0.as_str()), "an input", "inputs");
            v.open_block(&program.body, true, true);
            v.bindings(&program.body);
            if v.stopped() {
                return;
            }
            for (position, &result) in program.body.results.iter().enumerate() {
                v.within(PathStep::Item("results", position), |v| {
                    _ = v.use_value(result, true, &|| "the program".to_owned())
                });
            }
        });
        if self.stopped() {
            return;
        }
        self.count("declared results", program.outputs.len(), program.body.results.len());
        self.names(program.outputs.iter().map(|output| output.name.as_str()), "a result", "results");
        let inputs: HashSet<_> = program.body.sizes.iter().chain(&program.body.params).map(|var| var.id).collect();
        for (position, (output, &result)) in program.outputs.iter().zip(&program.body.results).enumerate() {
            self.within(PathStep::Item("outputs", position), |v| {
                let what = || format!("result `{}`", output.name);
                for (dim, extent) in output.ty.all_extents().enumerate() {
                    if let Extent::Value(id) = extent
                        && !inputs.contains(id)
                    {
                        let value = format!("`{}`", v.name(*id));
                        v.report(ProgramFault::OutputExtent { what: what(), dim, value });
                        return;
                    }
                }
                v.check_type(&output.ty, &what, true, true);
                if let Some(ty) = v.type_of(result) {
                    let want = v.want(ty);
                    v.agree(&output.ty, &want, &HashMap::new(), &what);
                }
            });
        }
        self.close_block();
    }

    /// Names that people give files by: such as text can spell, each once.
    pub(super) fn names(&mut self, names: impl Iterator<Item = &'p str>, of: &'static str, several: &'static str) {
        let mut seen = HashSet::new();
        for name in names {
            if !is_name(name) {
                self.report(ProgramFault::Name { name: name.to_owned(), of });
            } else if !seen.insert(name) {
                self.report(ProgramFault::NameTwice { name: name.to_owned(), of: several });
            }
        }
    }
}
