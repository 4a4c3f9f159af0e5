//! The arrays that a kernel of a group writes: allocated before it, and truncated after it where elements are appended.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, PlanExtent, Step, Type, ValueId, Var,
    analysis::{
        Spine,
        spine::{IterationOrder, follows},
    },
    bug,
};

use super::{Bound, Lower, Origin, name};
use crate::{
    bounds::linear::{Atom, Linear},
    bounds::values::counted,
    error::Error,
};

/// Arrays that were made before a nest.
#[derive(Debug, Default)]
pub(super) struct MadeArrays {
    /// Results that are stored, by their names in the program.
    pub(super) stored: HashMap<ArrayId, ValueId>,
    /// What is appended to: the result, the array that is long enough.
    pub(super) appended: Vec<(Var, ValueId)>,
    /// Where the elements of each source of an expand begin, by its position.
    pub(super) offsets: HashMap<usize, ValueId>,
}

impl<'p> Lower<'p> {
    /// Sizes that operations of a group make, before any of them is stored: those that are not are never in the plan.
    pub(super) fn bind_counted(&mut self, list: &[Binding]) {
        let own: Vec<ArrayId> = list.iter().flat_map(|binding| &binding.results).map(|var| var.id).collect();
        let mut sizes = Vec::new();
        list.iter().flat_map(|binding| &binding.results).for_each(|var| var.ty.for_each_use(&mut |id| sizes.push(id)));
        for id in sizes.into_iter().filter(|id| own.contains(id)) {
            self.bindings.bind(id, Bound::Counted(counted(id)));
        }
    }

    /// Allocates what of an operation is stored.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn allocate_stored(
        &mut self,
        list: &[Binding],
        position: usize,
        spine: &Spine,
        manifest: &dyn Fn(ArrayId) -> bool,
        made: &mut MadeArrays,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let (binding, station) = (&list[position], &spine.placements[position]);
        let stored = |vars: &[Var]| vars.iter().filter(|var| manifest(var.id)).cloned().collect::<Vec<Var>>();
        let appended = match (&binding.op, station.iteration_order) {
            (ArrayOp::Filter { .. }, _) => spine.appended == Some(position),
            (op, IterationOrder::Counted(of)) if follows(op) => spine.appended == Some(of),
            _ => false,
        };
        let vars = match &binding.op {
            ArrayOp::Permute { defaults, .. } | ArrayOp::PermutedExpand { defaults, .. } => {
                let copies = self.copies(binding, defaults, steps)?;
                made.stored.extend(binding.results.iter().map(|var| var.id).zip(copies));
                return Ok(());
            }
            ArrayOp::Expand { .. } if station.stored => {
                made.offsets.insert(position, self.offsets(binding, origin, steps)?);
                made.stored.insert(binding.results[0].id, self.array(binding.results[0].id));
                stored(&binding.results[1..])
            }
            ArrayOp::Filter { .. } if appended => {
                let capacity = self.capacity(list, spine, position);
                self.append_to(&stored(&binding.results[1..]), &capacity, made, origin, steps);
                binding.results[..1].to_vec()
            }
            _ if appended => {
                let capacity = self.capacity(list, spine, position);
                self.append_to(&stored(&binding.results), &capacity, made, origin, steps);
                return Ok(());
            }
            _ => stored(&binding.results),
        };
        let arrays = self.results(&vars, origin, steps)?;
        made.stored.extend(vars.iter().map(|var| var.id).zip(arrays));
        Ok(())
    }

    fn append_to(
        &mut self,
        vars: &[Var],
        capacity: &[PlanExtent],
        made: &mut MadeArrays,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) {
        for var in vars {
            let whole = self.allocate(name(var), Type::array(capacity.to_vec(), var.ty.element), origin, steps);
            made.appended.push((var.clone(), whole));
        }
    }

    /// The extents of what a filter keeps elements of: there are as many at most.
    fn capacity(&self, list: &[Binding], spine: &Spine, mut position: usize) -> Vec<PlanExtent> {
        while let IterationOrder::Counted(of) = spine.placements[position].iteration_order {
            position = of;
        }
        let ArrayOp::Filter { sources, .. } = &list[position].op else {
            unreachable!("what is appended is of filters")
        };
        self.extents(sources[0])
    }

    /// The extents of a value of the program, in the plan or only in a nest.
    pub(super) fn extents(&self, id: ArrayId) -> Vec<PlanExtent> {
        match (super::Scope::array(&self.bindings, id), self.vars.get(&id)) {
            (Some(value), _) => self.values.ty(value).extents.clone(),
            (None, Some(var)) => var.ty.extents.iter().map(|&extent| self.extent(extent)).collect(),
            (None, None) => bug!(self.program(), "{id} is no value"),
        }
    }

    /// What was appended gets the extent that was counted.
    pub(super) fn truncate_appended(
        &mut self,
        list: &[Binding],
        spine: &Spine,
        made: MadeArrays,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let Some(filter) = spine.appended else { return Ok(()) };
        let capacity = self.capacity(list, spine, filter);
        // There are no more than before.
        if let [capacity] = capacity[..] {
            let (count, capacity) = (self.array(list[filter].results[0].id), self.values.form(capacity));
            self.values.note_at_most(&Linear::term(Atom::Value(count)), &capacity);
        }
        for (var, source) in made.appended {
            let ty = self.plan_type(&var)?;
            self.values.made(&ty);
            let value = self.values.add(name(&var), ty);
            self.bindings.bind(var.id, Bound::Plan(value.into()));
            steps.push(Step::Truncate { value, source });
        }
        Ok(())
    }
}
