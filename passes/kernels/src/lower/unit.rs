//! Scalar code between operations: statements at the end of the kernel that makes what it uses, else a kernel without levels for all that
//! stand together.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Access, ArrayId, ArrayOp, Binding, Lambda, Name, ScalarPart, ScanForm, Step, analysis::makes_elements,
};

use super::{Lower, need::Portion};
use crate::{
    error::Error,
    nest::{Deferred, Learned, Nest, Scope, Source, Spot},
    restrict::{closure, restrict},
    strict::Code,
};

impl<'p> Lower<'p> {
    /// Positions of units behind `from` that can be computed with what is known then and what `list` makes; for those of operations only
    /// where they use any of that. With the units themselves.
    pub(super) fn units_after(
        &self,
        parts: &[Option<Portion<'p>>],
        from: usize,
        list: &[Binding],
    ) -> (Vec<usize>, Vec<Binding>) {
        let of_operations = list.iter().any(|binding| makes_elements(&binding.op));
        let mut scalars: HashSet<ArrayId> = list.iter().flat_map(scalar_results).collect();
        if of_operations && scalars.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let made: HashSet<ArrayId> = list.iter().flat_map(|binding| &binding.results).map(|var| var.id).collect();
        // What depends on what is made, and so is here anyway.
        let mut late = scalars.clone();
        let mut found = Vec::new();
        for (position, part) in parts.iter().enumerate().skip(from) {
            let Some(Portion { now: Some(item), later: None }) = part else { continue };
            if !matches!(item.binding.op, ArrayOp::Unit { .. }) {
                continue;
            }
            let unit = restrict(item.binding, &closure(item.binding, &item.wanted));
            let ArrayOp::Unit { f } = &unit.op else { continue };
            let arrays = arrays_read(f);
            let (mut known, mut waits, mut uses) = (true, !of_operations, HashSet::new());
            f.outer_uses(&mut |id| {
                let own = scalars.contains(&id) && !arrays.contains(&id);
                waits |= own && late.contains(&id);
                known &= own || !made.contains(&id) && self.is_known(id);
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

    fn is_known(&self, id: ArrayId) -> bool {
        self.bindings.bound.contains_key(&id)
            && match self.bindings.find(id) {
                Source::Plan(_) => true,
                // Code that was put off is computed where it is used.
                Source::Deferred(f, _) => {
                    let mut known = true;
                    f.outer_uses(&mut |used| known &= self.bindings.bound.contains_key(&used));
                    known
                }
            }
    }

    /// Makes room for what of units is used elsewhere.
    pub(super) fn unit_results(
        &mut self,
        units: &[Binding],
        manifest: &dyn Fn(ArrayId) -> bool,
        steps: &mut Vec<Step>,
    ) -> Result<HashMap<ArrayId, ArrayId>, Error> {
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
        units: &[Binding],
        manifest: &dyn Fn(ArrayId) -> bool,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let Some(first) = units.first() else { return Ok(()) };
        let origin = self.origin(first);
        let results = self.unit_results(units, manifest, steps)?;
        let mut nest = self.nest(&origin);
        let learned = put_units(&mut nest, self, units, &results, Spot::before(0));
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
    }
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

fn arrays_read(f: &Lambda) -> HashSet<ArrayId> {
    let mut arrays = HashSet::new();
    let mut bodies = vec![f];
    while let Some(body) = bodies.pop() {
        for part in body.instructions.iter().flat_map(|instruction| instruction.op.parts()) {
            match part {
                ScalarPart::Array(id) => _ = arrays.insert(*id),
                ScalarPart::Body(inner) => bodies.push(inner),
                ScalarPart::Operand(_) => {}
            }
        }
    }
    arrays
}

/// Puts units into a nest, outside of its levels; stores what `results` says.
pub(super) fn put_units<'p>(
    nest: &mut Nest<'_, 'p>,
    lower: &Lower<'p>,
    units: &[Binding],
    results: &HashMap<ArrayId, ArrayId>,
    at: Spot,
) -> Learned {
    let mut stored = Vec::new();
    for unit in units {
        let ArrayOp::Unit { f } = &unit.op else { continue };
        nest.operation = Name(lower.origin(unit).operation);
        let mut code = Code::default();
        let values = nest.call(f, &[], &mut Deferred::default(), &mut code);
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
