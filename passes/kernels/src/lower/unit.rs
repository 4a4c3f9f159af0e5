//! Scalar code between operations: statements at the end of the kernel that makes what it uses, else a kernel without levels for all that
//! stand together.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Access, ArrayId, ArrayOp, Binding, Name, ScanForm, Step, ValueId,
    analysis::{effects::function_can_fail, makes_elements},
};

use super::{Lower, cluster::Group};
use crate::{
    error::Error,
    locals::scalar_code,
    nest::{KernelBuilder, Learned, ProgramPoint},
};

impl<'p> Lower<'p> {
    /// Positions of units behind `from` that can be computed with what is known then and what `group` makes, with the units themselves. A kernel of
    /// operations takes them where it makes something outside of its levels anyway; such as may fail, and would do so in front of operations between,
    /// only where they use what it makes.
    pub(super) fn units_after(
        &self,
        bindings: &'p [Binding],
        done: &[bool],
        from: usize,
        group: &Group<'p>,
    ) -> (Vec<usize>, Vec<&'p Binding>) {
        let of_operations = group.list.iter().any(|binding| makes_elements(&binding.op));
        let made = group.list.iter().flat_map(scalar_results).filter_map(|id| group.outside(id));
        let mut scalars: HashSet<ArrayId> = made.collect();
        if of_operations && scalars.is_empty() && !group.list.iter().any(has_last) {
            return (Vec::new(), Vec::new());
        }
        let made: HashSet<ArrayId> = group.given.iter().map(|&(_, outer)| outer).collect();
        // What depends on what is made, and so is here anyway.
        let mut late = scalars.clone();
        let mut found = Vec::new();
        for (position, unit) in bindings.iter().enumerate().skip(from).filter(|(position, _)| !done[*position]) {
            let ArrayOp::Unit { f } = &unit.op else { continue };
            let arrays = f.arrays_read();
            let anyway = !of_operations || !function_can_fail(f);
            let (mut known, mut waits, mut uses) = (true, anyway, HashSet::new());
            f.outer_uses(&mut |id| {
                let own = scalars.contains(&id) && !arrays.contains(&id);
                waits |= own && late.contains(&id);
                known &= own || !made.contains(&id) && self.bindings.has(id);
                uses.insert(id);
            });
            if known {
                let ids: Vec<ArrayId> = unit.results.iter().map(|var| var.id).collect();
                scalars.extend(&ids);
                if waits {
                    late.extend(&ids);
                }
                found.push((position, unit, ids, uses, waits));
            }
        }
        // The others only if those use them.
        let mut needed: HashSet<ArrayId> = HashSet::new();
        let (mut positions, mut units) = (Vec::new(), Vec::new());
        for (position, unit, ids, uses, waits) in found.into_iter().rev() {
            if waits || ids.iter().any(|id| needed.contains(id)) {
                needed.extend(uses);
                positions.push(position);
                units.push(unit);
            }
        }
        units.reverse();
        (positions, units)
    }

    /// Allocates what of units is used elsewhere.
    pub(super) fn unit_results(
        &mut self,
        units: &[&Binding],
        manifest: &dyn Fn(ArrayId) -> bool,
        steps: &mut Vec<Step>,
    ) -> Result<HashMap<ArrayId, ValueId>, Error> {
        let mut results = HashMap::new();
        for unit in units {
            let origin = self.origin(unit);
            let vars: Vec<_> = unit.results.iter().filter(|var| manifest(var.id)).cloned().collect();
            let values = self.results(&vars, &origin, steps)?;
            results.extend(vars.iter().map(|var| var.id).zip(values));
        }
        Ok(results)
    }

    /// A kernel without levels for units that stand together.
    pub(super) fn units(
        &mut self,
        units: &[&Binding],
        manifest: &dyn Fn(ArrayId) -> bool,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let Some(&first) = units.first() else { return Ok(()) };
        let origin = self.origin(first);
        let results = self.unit_results(units, manifest, steps)?;
        let mut nest = self.nest(&origin);
        let learned = put_units(&mut nest, self, units, &results, ProgramPoint::before(0));
        let launch = nest.finish();
        self.launch(launch, steps);
        self.learn(learned);
        Ok(())
    }

    /// Notes what is known of scalars that were made.
    pub(super) fn learn(&mut self, learned: Learned) {
        for (id, form) in learned.forms {
            self.values.define(id, form);
        }
        for fact in learned.facts {
            self.values.facts.add(0, fact);
        }
        for (id, number) in learned.clamped {
            self.values.clamp(id, number);
        }
    }
}

/// Whether it stores an element behind those of all steps.
fn has_last(binding: &Binding) -> bool {
    let of_vector = binding.results.iter().all(|var| var.ty.rank() == 1);
    of_vector && matches!(&binding.op, ArrayOp::Scan { form: ScanForm::Exclusive, offsets: None, .. })
}

/// Results that are known at the end of a kernel, outside of all levels.
fn scalar_results(binding: &Binding) -> Vec<ArrayId> {
    let scalars = |from: usize| {
        binding.results.iter().skip(from).filter(|var| var.ty.is_scalar()).map(|var| var.id).collect::<Vec<_>>()
    };
    match &binding.op {
        ArrayOp::Fold { .. } | ArrayOp::Unit { .. } => scalars(0),
        ArrayOp::Scan { form: ScanForm::Body, sources, .. } => scalars(sources.len()),
        _ => Vec::new(),
    }
}

/// Puts units into a nest, outside of its levels; stores what `results` says.
pub(super) fn put_units(
    nest: &mut KernelBuilder<'_>,
    lower: &Lower<'_>,
    units: &[&Binding],
    results: &HashMap<ArrayId, ValueId>,
    at: ProgramPoint,
) -> Learned {
    let mut stored = Vec::new();
    for unit in units {
        let ArrayOp::Unit { f } = &unit.op else { unreachable!("units alone are put here") };
        nest.operation = Name(lower.origin(unit).operation);
        let mut code = scalar_code();
        let values = nest.call(f, &[], &mut code);
        let values = nest.run(code, &values, at);
        for (var, &value) in unit.results.iter().zip(&values) {
            nest.name(var.id, value);
            if let Some(&result) = results.get(&var.id) {
                stored.push((result, value));
            }
        }
    }
    let (values, made): (Vec<_>, Vec<_>) = stored.iter().map(|&(result, value)| (value, result)).unzip();
    let learned = nest.learned(&values, &made);
    for (result, value) in stored {
        nest.store(result, Access::Write, &[], value, at, None);
    }
    learned
}
