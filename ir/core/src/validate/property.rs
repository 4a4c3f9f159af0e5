//! Properties that stages guarantee.

use super::{
    MAX_NESTING, ProgramFault, Property,
    context::{PathStep, Validator, name_of},
};
use crate::{
    ArrayOp, Binding, Block, Part, Program, Type,
    analysis::{
        demand::{ByNeed, by_need},
        makes_elements,
        spine::{Members, spine},
    },
};

impl<'p> Validator<'p> {
    pub fn properties(&mut self, program: &'p Program, properties: &[Property]) {
        if properties.is_empty() {
            return;
        }
        self.within(PathStep::Field("body"), |v| v.block_properties(&program.body, properties, 0));
        // Of what is broken nothing is said.
        if properties.contains(&Property::Strict) && self.is_sound() {
            for ByNeed { binding, why } in by_need(program) {
                self.within_binding(binding, |v| v.report(ProgramFault::ByNeed { why }));
            }
        }
    }

    /// Whether a sound program has a property; what it lacks is not reported.
    pub fn has(&mut self, program: &'p Program, property: Property) -> bool {
        self.properties(program, &[property]);
        self.forget() == 0
    }

    fn block_properties(&mut self, block: &'p Block, properties: &[Property], depth: usize) {
        if depth > MAX_NESTING {
            return;
        }
        let flat = properties.contains(&Property::Flat);
        let clustered = properties.contains(&Property::Clustered);
        for (position, param) in block.params.iter().enumerate() {
            self.within(PathStep::Item("params", position), |v| v.flat_type(flat, &param.ty, &param.name.0));
        }
        for (position, binding) in block.bindings.iter().enumerate() {
            self.within(PathStep::Item("bindings", position), |v| {
                v.within_binding(binding, |v| {
                    if flat {
                        v.flat_operation(&binding.op);
                    }
                    if clustered && makes_elements(&binding.op) {
                        v.report(ProgramFault::Property {
                            property: "clustered",
                            op: binding.op.name(),
                            why: "what makes or reads elements is in a cluster",
                        });
                    }
                    if clustered && let ArrayOp::Cluster { body, .. } = &binding.op {
                        v.one_nest(body);
                    }
                    for (position, var) in binding.results.iter().enumerate() {
                        v.within(PathStep::Item("results", position), |v| v.flat_type(flat, &var.ty, &var.name.0));
                    }
                    // What is in a cluster was looked at with the cluster itself, but for arrays of arrays.
                    let inside: &[Property] = if matches!(binding.op, ArrayOp::Cluster { .. }) && flat {
                        &[Property::Flat]
                    } else {
                        properties
                    };
                    if matches!(binding.op, ArrayOp::Cluster { .. }) && !flat {
                        return;
                    }
                    for part in binding.op.parts() {
                        if let Part::Body(body) = part {
                            v.within(PathStep::Field("body"), |v| v.block_properties(body, inside, depth + 1));
                        }
                    }
                });
            });
        }
    }

    /// A cluster is one nest of loops.
    fn one_nest(&mut self, body: &'p Block) {
        let bindings: Vec<&Binding> = body.bindings.iter().collect();
        // What is broken is reported, and has no nest; so is what is no operation on elements.
        if !self.is_sound() || bindings.iter().any(|binding| !makes_elements(&binding.op)) {
            return;
        }
        let members = Members {
            bindings: &bindings,
            manifest: &|id| body.results.contains(&id),
            type_of: &|id| self.type_of(id),
            sizes: &self.sizes,
        };
        if let Err(conflict) = spine(&members) {
            let name = |position: usize| bindings[position].results.first().map_or(String::new(), name_of);
            let (first, second, why) = (name(conflict.first), name(conflict.second), conflict.why);
            self.report(ProgramFault::Conflict { first, second, why });
        }
    }

    fn flat_type(&mut self, flat: bool, ty: &Type, name: &str) {
        if flat && !ty.inner.is_empty() {
            self.report(ProgramFault::NotFlat { what: format!("`{name}`") });
        }
    }

    fn flat_operation(&mut self, op: &ArrayOp) {
        let why = match op {
            ArrayOp::Nest { .. } => "nested parallelism is flattened",
            ArrayOp::Element { .. } => "there are no arrays of arrays",
            ArrayOp::Consume { chunks: false, .. } if !op.is_lanes() => "its body takes chunks",
            _ => return,
        };
        self.report(ProgramFault::Property { property: "flat", op: op.name(), why });
    }
}
